"""Opens a screen of powertui in a terminal in memory, prints it and leaves: for commands of a page.

python -m tests.e2e.opened_screen logs --power power.csv
"""

from __future__ import annotations

import os
import sys

from .terminal import Terminal

TABS = r"1 Over.*8 Runs"  # of the top line, which every page has


def main(arguments: list[str]) -> int:
    """The exit code of powertui."""
    command = [sys.executable, "-m", "powertui", *arguments]
    with Terminal(
        command, size=(120, 36), env={**os.environ, "TERM": "xterm-256color"}
    ) as terminal:
        terminal.wait_for(TABS)
        terminal.settle()
        print(terminal.text())
        terminal.press("q")
        return terminal.wait_exit()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

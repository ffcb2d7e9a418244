"""How long until an answer: `--version` against an empty Python, the first picture of the demo
against an empty Textual program.

What is compared runs in turns, so that whatever else the machine does strikes both alike.
"""

from __future__ import annotations

import statistics
import sys

from benchmarks.bench_timeline import PLAIN, READY, SIZE, cpu_s
from benchmarks.harness import ROOT, Table, run_process

TURNS = 15
# What an installer writes into bin/powertui.
COMMAND = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from powertui.__main__ import main; "
    "sys.exit(main())"
)
VERSION_LIMIT, PICTURE_LIMIT = 2.0, 2.5


def picture(command: list[str]) -> tuple[float, float]:
    """Seconds from the start of the process to its first picture, and the processor's time until
    then.
    """
    from tests.e2e.terminal import Terminal, environment

    with Terminal(command, size=SIZE, env=environment(extra={"PYTHONPATH": str(ROOT)})) as terminal:
        terminal.wait_for(READY)
        return terminal.last_byte - terminal.started, cpu_s(terminal.pid)


def run(command: list[str]) -> tuple[float, float]:
    """The same for a process that ends by itself."""
    used = run_process(command)
    return used.wall_s, used.cpu_s


def main() -> None:
    """Both tables."""
    # Without -S an editable install makes the empty Python slow, and the ratio small. -m is
    # Python's own search.
    bare, powertui = [sys.executable, "-S"], [sys.executable, "-m", "powertui"]
    table = Table(
        f"Until an answer (median and least of {TURNS} turns)",
        ["what", "s", "÷", "least s", "÷", "CPU s", "÷", "target of the median"],
    )
    version = ([*bare, "-c", "pass"], [*bare, "-c", COMMAND, "--version"])
    first = ([sys.executable, "-c", PLAIN], [*powertui, "demo"])
    for (base, other), measure, names, limit in (
        (version, run, ("python -S -c pass", "powertui --version"), VERSION_LIMIT),
        (first, picture, ("Textual app with one Static", "powertui demo"), PICTURE_LIMIT),
    ):
        turns = [(measure(base), measure(other)) for _ in range(TURNS)]
        whole = [[turn[which][0] for turn in turns] for which in (0, 1)]
        cpu = [statistics.median(turn[which][1] for turn in turns) for which in (0, 1)]
        for which, name in enumerate(names):
            middle, least = statistics.median(whole[which]), min(whole[which])
            table.row(
                name,
                f"{middle:.3f}",
                f"{middle / statistics.median(whole[0]):.2f}",
                f"{least:.3f}",
                f"{least / min(whole[0]):.2f}",
                f"{cpu[which]:.3f}",
                f"{cpu[which] / cpu[0]:.2f}",
                f"≤ {limit}" if which else "",
            )
    table.print()


if __name__ == "__main__":
    main()

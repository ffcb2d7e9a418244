"""`powertui report --html`: what a page costs beside the plain report, and how large it is."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.harness import Table, run_process
from benchmarks.make_big import make

EVENTS = (100_000, 1_000_000)
REPEATS = 3  # of which the least counts: others use the machine, too


def main() -> None:
    """The table."""
    table = Table(
        "CPU seconds of a page ÷ those of the plain report (target: at most 1.3)",
        ["events", "report", "page", "ratio", "size"],
    )
    for events in EVENTS:
        path = make(events)
        command = [sys.executable, "-m", "powertui", "report", str(path)]
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            plain_s = _least_s(command)
            page_s = _least_s([*command, "--html", str(page), "--force"])
            size = page.stat().st_size
        row = (f"{plain_s:.2f}", f"{page_s:.2f}", f"{page_s / plain_s:.2f}", f"{size / 1e3:.0f} kB")
        table.row(f"{events:,}", *row)
    table.print()


def _least_s(command: list[str]) -> float:
    return min(run_process(command).cpu_s for _ in range(REPEATS))


if __name__ == "__main__":
    main()

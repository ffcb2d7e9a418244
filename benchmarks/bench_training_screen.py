"""A week of training on the timeline: the first picture, what keys cost on all of it, and memory.

50 sessions of a million events, ten million scalar records, 100 channels of power every second
(`make_training.py`).
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from benchmarks.bench_timeline import Cost, _press, open_terminal
from benchmarks.harness import Table
from benchmarks.make_training import make

FIRST = "profiles"  # the lane of the sessions: the axis stands
KEYS = {"pan": "d", "zoom in": "w", "zoom out": "s", "cursor": "l"}
TIMES = 9
READ_S = 300.0


def peak_mb(pid: int) -> tuple[float, float]:
    """(resident now, at most) of a process, MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = {
        line.split(":")[0]: float(line.split()[1]) / 1000
        for line in lines
        if line.startswith(("VmRSS", "VmHWM"))
    }
    return found["VmRSS"], found["VmHWM"]


def measure(name: str, arguments: list[str], table: Table) -> None:
    """One line: how long until the axis stands and until all of it is there, what keys cost then,
    and memory.
    """
    terminal = open_terminal(arguments)
    with terminal:  # type: ignore[attr-defined]
        terminal.wait_for(FIRST, limit=120)  # type: ignore[attr-defined]
        first, size = terminal.last_byte - terminal.started, terminal.total  # type: ignore[attr-defined]
        terminal.wait_for(
            lambda text: "reading" not in text.lower() and " % of " not in text, limit=READ_S
        )  # type: ignore[attr-defined]
        whole = time.monotonic() - terminal.started  # type: ignore[attr-defined]
        terminal.settle(3.0)  # type: ignore[attr-defined]
        costs: dict[str, Cost] = {}
        terminal.press("0")  # type: ignore[attr-defined]
        terminal.press("w")  # type: ignore[attr-defined]
        terminal.settle(1.0)  # type: ignore[attr-defined]
        for what, key in KEYS.items():
            found = [_press(terminal, key) for _ in range(TIMES)]
            costs[what] = Cost(
                *(statistics.median_high(values) for values in zip(*found, strict=True))
            )  # type: ignore[arg-type]
        before = terminal.total  # type: ignore[attr-defined]
        terminal.run(3.0)  # type: ignore[attr-defined]
        idle = terminal.total - before  # type: ignore[attr-defined]
        now, most = peak_mb(terminal.pid)  # type: ignore[attr-defined]
        table.row(
            name,
            f"{first:.2f} s",
            f"{size:,}",
            f"{whole:.1f} s",
            *(f"{cost.cpu_ms:.0f} ms, {cost.count:,} B" for cost in costs.values()),
            idle,
            f"{now:.0f} MB",
            f"{most:.0f} MB",
        )


def main() -> None:
    """The table."""
    table = Table(
        "A week of training at 200×50",
        [
            "what",
            "first picture",
            "bytes",
            "all read",
            *KEYS,
            "idle 3 s: bytes",
            "memory",
            "at most",
        ],
    )
    hour = make(sessions=2, events=100_000, records=50_000, channels=2, seconds=3600)
    week = make()
    measure("an hour: 2 sessions, 50,000 records, 2 channels", [str(hour)], table)
    measure("the week without its power", [str(week), "--no-power"], table)
    measure("the week", [str(week)], table)
    table.note(
        "Limits: first picture 1 s and 40,000 bytes, pan 30,000 bytes, idle 0; 300 MB beside "
        "what is in view."
    )
    table.print()


if __name__ == "__main__":
    main()

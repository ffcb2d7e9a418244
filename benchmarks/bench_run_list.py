"""The list of runs while it is looked at: what it costs to stand there, and how soon a run that
comes is in it.

A real program on a real pseudo-terminal. Idle is processor time by the kernel's account (all
threads), of the time by the clock. Runs come in two places: beside the others, and as a further
session deep inside one that has been there for long.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import make_runs
from benchmarks.harness import ASKS_ALL, Amount, Table, asks_all
from tests.e2e.terminal import Terminal, environment

COUNTS = (10, 100, 1000) if asks_all() else (10, 1000)
IDLE_S = Amount(10, 15, "s")
REST_S = 6.0
TRIES = Amount(1, 2, "runs that come to each place")
SIZE = (120, 36)


def used_s(pid: int) -> float:
    """Processor time of all threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """10, 100 and 1,000 runs."""
    table = Table(
        f"The list of runs while it is looked at: idle for {IDLE_S}, {TRIES}",
        [
            "runs",
            "idle: CPU",
            "of a core",
            "bytes",
            "new run beside them",
            "worst",
            "new session in a run",
            "worst",
        ],
    )
    for count in COUNTS:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "logs"
            shutil.copytree(make_runs.make(count), root)
            runs = sorted((root / "trainings").iterdir())
            session = next((runs[0] / "plugins" / "profile").iterdir())
            env = environment(extra={"XDG_STATE_HOME": folder, "LANG": "C.UTF-8"})
            with Terminal(
                [sys.executable, "-m", "powertui", str(root)], size=SIZE, env=env
            ) as terminal:
                terminal.wait_for(rf"{count:,} runs")
                terminal.wait_for(lambda shown: "still to be read" not in shown, 600.0)
                terminal.settle(1.0)
                before, said, begin = used_s(terminal.pid), terminal.total, time.monotonic()
                terminal.run(IDLE_S.count)
                idle, took = used_s(terminal.pid) - before, time.monotonic() - begin
                said = terminal.total - said
                beside, inside = [], []
                for number in range(TRIES.count):
                    coming = Path(folder) / f"late_{number}"
                    shutil.copytree(session, coming / "plugins" / "profile" / session.name)
                    beside.append(_seen(terminal, coming, root / "trainings" / coming.name))
                    coming = Path(folder) / f"2031_01_0{number + 1}_00_00_00"
                    shutil.copytree(session, coming)
                    inside.append(
                        _seen(
                            terminal,
                            coming,
                            runs[(number * 7919 + 5) % count] / "plugins" / "profile" / coming.name,
                        )
                    )
                terminal.press("q")
                terminal.wait_exit()
            seen = [
                f"{of(times):.2f} s"
                for times in (beside, inside)
                for of in (statistics.median, max)
            ]
            table.row(
                f"{count:,}",
                f"{idle:.2f} s in {took:.0f} s",
                f"{idle / took:.2%}",
                f"{said:,}",
                *seen,
            )
    table.note("Targets: 0.5 % of a core, 2 s.")
    if not asks_all():
        table.note(f"{ASKS_ALL}=1 adds 100 runs.")
    table.print()


def _seen(terminal: Terminal, coming: Path, into: Path) -> float:
    """A run comes: after how long the list says so."""
    terminal.run(REST_S)  # it looks again and again for some seconds after one came
    begin = time.monotonic()
    coming.rename(into)
    terminal.wait_for(rf"New: .*{into.name}", 60.0)
    return time.monotonic() - begin


if __name__ == "__main__":
    main()

"""Shared by the benchmarks: run a process and read the kernel's own account of it, repeat, print a
table.

Claims are ratios between things measured in the same run; absolute times are there as illustration,
since they depend on the machine and on what else it does.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import TypeVar

# What is measured starts from compiled files, as an installed program does; the first of several
# runs writes them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

T = TypeVar("T")
Case = TypeVar("Case")
Row = TypeVar("Row")
Column = TypeVar("Column")
ROOT = Path(__file__).resolve().parent.parent
GENERATED = ROOT / "benchmarks" / "generated"
#: recorded profiles that may lie beside a checkout; benchmarks that want them fall back to the demo
EXTRA_DATA = ROOT.parent / "shared" / "data"
#: in the environment: all cases of each topic, where it takes a part of them otherwise
ASKS_ALL = "POWERTUI_BENCH_ALL"


@dataclass(frozen=True)
class Amount:
    """How many cases a topic tries: a part of them, so that a topic ends within three minutes of two
    cores, or, where the environment asks, all, whose figures stand in docs/benchmarks.md.
    """

    usual: int
    full: int
    noun: str

    @property
    def count(self) -> int:
        """So many are tried."""
        return self.full if asks_all() else self.usual

    def __str__(self) -> str:
        """As a title says it."""
        if self.count == self.full:
            return f"{self.full:,} {self.noun}"
        return f"{self.usual:,} of {self.full:,} {self.noun} ({ASKS_ALL}=1 for all)"


def asks_all() -> bool:
    """Whether all cases are asked for."""
    return bool(os.environ.get(ASKS_ALL))


@dataclass(frozen=True)
class Usage:
    """What one process cost, by the kernel's account."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    code: int
    stdout: str


# The kernel counts the memory of the process that starts another one to the peak of the new one. So
# a small process starts it, however large this one has become.
_LAUNCHER = """
import json, os, sys, time
report = int(sys.argv[1])
begin = time.perf_counter()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ, file_actions=[(os.POSIX_SPAWN_CLOSE, report)])
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - begin
cpu, code = usage.ru_utime + usage.ru_stime, os.waitstatus_to_exitcode(status)
os.write(report, json.dumps([wall, cpu, usage.ru_maxrss * 1024, code]).encode())
"""


def run_process(argv: Sequence[str], *, env: dict[str, str] | None = None) -> Usage:
    """Run a process to its end. `env` is added to the environment."""
    with tempfile.TemporaryFile("w+b") as out, tempfile.TemporaryFile("w+b") as report:
        command = [sys.executable, "-c", _LAUNCHER, str(report.fileno()), *argv]
        subprocess.run(
            command,
            stdout=out,
            env={**os.environ, **(env or {})},
            cwd=ROOT,
            pass_fds=[report.fileno()],
            check=True,
        )
        out.seek(0)
        report.seek(0)
        text = out.read().decode(errors="replace")
        wall, cpu, peak, code = json.loads(report.read())
    return Usage(wall, cpu, peak, code, text)


def python(code: str, *, env: dict[str, str] | None = None) -> Usage:
    """Run a piece of Python in a fresh interpreter."""
    return run_process([sys.executable, "-c", code], env=env)


def repeat(times: int, action: Callable[[], T]) -> list[tuple[float, T]]:
    """Run an action several times: (seconds, result) each."""
    results = []
    for _ in range(times):
        begin = time.perf_counter()
        value = action()
        results.append((time.perf_counter() - begin, value))
    return results


def in_processes(answer: Callable[[Case], T], cases: Iterable[Case]) -> list[T]:
    """What is answered in each case, in their order: a case at a time on each core. For cases whose
    answers are no times.
    """
    forked = multiprocessing.get_context("fork")  # what is imported is not imported again
    with ProcessPoolExecutor(os.cpu_count() or 1, forked) as pool:
        return list(pool.map(answer, cases))


def grid(
    answer: Callable[[tuple[Row, Column]], T], rows: Sequence[Row], columns: Sequence[Column]
) -> list[tuple[Row, list[T]]]:
    """Each row of a table with the answers in its cells, which are cases of `in_processes`."""
    answers = iter(in_processes(answer, product(rows, columns)))
    return [(row, list(islice(answers, len(columns)))) for row in rows]


def median_s(times: int, action: Callable[[], object]) -> float:
    """Median seconds of several runs."""
    return statistics.median(seconds for seconds, _ in repeat(times, action))


def least_cpu_s(times: int, action: Callable[[], object]) -> float:
    """Least processor time of several runs in this process: what other work on the machine disturbs
    least.
    """
    taken = []
    for _ in range(times):
        begin = time.process_time()
        action()
        taken.append(time.process_time() - begin)
    return min(taken)


def peak_bytes() -> int:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def machine() -> str:
    """One line on what this ran on."""
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"{time.strftime('%Y-%m-%d')}"
    )


@dataclass
class Table:
    """A Markdown table that is also readable in a terminal: `docs/benchmarks.md` takes it
    as it is.
    """

    title: str
    columns: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def row(self, *cells: object) -> None:
        """Add a row; every cell is turned into text."""
        self.rows.append([str(cell) for cell in cells])

    def note(self, text: str) -> None:
        """A line below the table."""
        self.notes.append(text)

    def print(self) -> None:
        """Write it out."""
        widths = [
            max(len(r[i]) for r in [list(self.columns), *self.rows])
            for i in range(len(self.columns))
        ]
        print(f"\n### {self.title}\n")
        for cells in (list(self.columns), ["-" * w for w in widths], *self.rows):
            print(
                "| "
                + " | ".join(cell.ljust(w) for cell, w in zip(cells, widths, strict=True))
                + " |"
            )
        for text in self.notes:
            print(f"\n{text}")
        sys.stdout.flush()

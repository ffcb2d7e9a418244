"""Shared by the benchmarks: run a process and read the kernel's own account of it, repeat, print a table.

Claims are ratios between things measured in the same run; absolute times are there as illustration, since
they depend on the machine and on what else it does.
"""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
GENERATED = ROOT / "benchmarks" / "generated"
#: recorded profiles that may lie beside a checkout; benchmarks that want them fall back to the demo
EXTRA_DATA = ROOT.parent / "shared" / "data"


@dataclass(frozen=True)
class Usage:
    """What one process cost, by the kernel's account."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    code: int
    stdout: str


def run_process(argv: Sequence[str], *, env: dict[str, str] | None = None) -> Usage:
    """Run a process to its end. `env` is added to the environment."""
    with tempfile.TemporaryFile("w+b") as out:
        begin = time.perf_counter()
        child = subprocess.Popen(list(argv), stdout=out, env={**os.environ, **(env or {})}, cwd=ROOT)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace")
    return Usage(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, child.returncode, text)


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


def median_s(times: int, action: Callable[[], object]) -> float:
    """Median seconds of several runs."""
    return statistics.median(seconds for seconds, _ in repeat(times, action))


def peak_bytes() -> int:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def machine() -> str:
    """One line on what this ran on."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"


@dataclass
class Table:
    """A Markdown table that is also readable in a terminal: `docs/benchmarks.md` takes it as it is."""

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
        widths = [max(len(r[i]) for r in [list(self.columns), *self.rows]) for i in range(len(self.columns))]
        print(f"\n### {self.title}\n")
        for cells in (list(self.columns), ["-" * w for w in widths], *self.rows):
            print("| " + " | ".join(cell.ljust(w) for cell, w in zip(cells, widths, strict=True)) + " |")
        for text in self.notes:
            print(f"\n{text}")
        sys.stdout.flush()

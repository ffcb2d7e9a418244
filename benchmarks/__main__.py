"""`python -m benchmarks [topic …]`: run all benchmarks, or those named (scan, timeline,
power …).

Of several, each runs in a process of its own: one that fails, leaves or is killed neither stops the
others nor takes their memory. A table of what each took ends it.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.harness import ROOT, Table, machine
from powertui.dependencies import one_thread

# As powertui itself starts numpy. On a busy machine the threads of small products wait
# for one another, and a cell of `compare_held_out` did not end.
one_thread()


class Ran(NamedTuple):
    """A topic, and what it took with all processes that it started."""

    topic: str
    wall_s: float
    cpu_s: float
    code: int  # of its process: minus a signal where one ended it


def main() -> int:
    """One topic in this process, several in one each; 1 where any failed."""
    topics = sys.argv[1:] or every_topic()
    if len(topics) == 1:
        print(f"## {machine()}")
        return alone(topics[0])
    print(f"## {machine()}", flush=True)
    begin = time.perf_counter()
    ran = [in_own_process(topic) for topic in topics]
    seconds_table(ran, time.perf_counter() - begin).print()
    return 1 if any(one.code for one in ran) else 0


def every_topic() -> list[str]:
    """Those that have a file."""
    files = (ROOT / "benchmarks").glob("bench_*.py")
    return sorted(path.stem.removeprefix("bench_") for path in files)


def alone(topic: str) -> int:
    """A topic here, and a line of what it took."""
    begin, cpu_begin_s, code = time.perf_counter(), _cpu_s(), 0
    print(f"\n## {topic}", flush=True)
    try:
        importlib.import_module(f"benchmarks.bench_{topic}").main()
    except (Exception, SystemExit) as error:
        code = 1
        print(f"\n**failed**: {type(error).__name__}: {error}", flush=True)
    took_s = time.perf_counter() - begin
    print(f"\n({topic}: {took_s:.0f} s, {_cpu_s() - cpu_begin_s:.0f} CPU s)", flush=True)
    return code


def in_own_process(topic: str) -> Ran:
    """A topic in a process whose account is the kernel's."""
    begin, cpu_begin_s = time.perf_counter(), _cpu_s()
    code = subprocess.call([sys.executable, "-m", "benchmarks", topic])
    if code < 0:
        print(f"\n**failed**: {topic} was ended by signal {-code}", flush=True)
    return Ran(topic, time.perf_counter() - begin, _cpu_s() - cpu_begin_s, code)


def seconds_table(ran: Sequence[Ran], wall_s: float) -> Table:
    """What each topic took, the longest first, and all of them."""
    table = Table("Seconds of each topic", ["topic", "s", "CPU s", "ended"])
    for one in sorted(ran, key=lambda one: -one.wall_s):
        ended = "failed" if one.code else "well"
        table.row(one.topic, f"{one.wall_s:.0f}", f"{one.cpu_s:.0f}", ended)
    failed = sum(bool(one.code) for one in ran)
    cpu_s = sum(one.cpu_s for one in ran)
    words = f"{failed} of {len(ran)} failed" if failed else "all well"
    table.row("all", f"{wall_s:.0f}", f"{cpu_s:.0f}", words)
    return table


def _cpu_s() -> float:
    """CPU seconds of this process and of its children that have ended: what a topic takes, however
    busy the machine is.
    """
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


if __name__ == "__main__":
    raise SystemExit(main())

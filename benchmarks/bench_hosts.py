"""Runs of many hosts: how soon they are listed and the first is seen, what all of them cost beside
the C scan, and whether everyone who may read them gives the same answer.

    python -m benchmarks.bench_hosts [HOSTS] [EVENTS]     (64 50,000; 256 and 512 take minutes)
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import ROOT, Table, least_cpu_s, python, run_process
from benchmarks.make_hosts import make

_HOSTS, _EVENTS = 64, 50_000
_SCANNED_HOSTS = 8  # of which the C scan is measured, and taken as so many of all
_SIZE = (120, 36)
# In this order each changes the picture: pan does nothing where the whole profile is in view.
_KEYS = ("w", "d", "a", "s", "Right", "Left")
_KEY_COUNT = 60
_BETWEEN_KEYS_S = 0.1
_POWERTUI = [sys.executable, "-m", "powertui"]


def list_cpu_s(folder: Path) -> float:
    """To list the run, beyond importing what lists."""
    code = (
        "import time; from powertui.data import logdir; begin = time.process_time();"
        f"logdir.scan({str(folder)!r}); print(time.process_time() - begin)"
    )
    return min(float(python(code).stdout) for _ in range(3))


def scan_cpu_s(profiles: list[Path]) -> float:
    """To read the columns of all events of these files, and nothing else."""
    from powertui.data.formats import registry

    def scan() -> None:
        for path in profiles:
            *_, trace = registry.load(str(path))
            for _, track in trace.tracks():
                assert len(track.events.start) == len(track.events)

    return least_cpu_s(3, scan)


class _Seen(NamedTuple):
    """What a person waits for."""

    first_s: float  # to the first host on the screen
    first_cpu_s: float
    latencies_s: list[float]  # from each key to its first bytes while hosts are read
    key_cpu_s: list[float]  # of all threads of the screen's process in that time
    largest_bytes: int  # of a process
    leaving_s: float


def seen(folder: Path) -> _Seen:
    """The screen while hosts are read, and leaving it."""
    from tests.e2e.processes import family
    from tests.e2e.terminal import Terminal, environment

    latencies: list[float] = []
    key_cpu: list[float] = []
    largest = 0
    env = environment(extra={"PYTHONPATH": str(ROOT)})
    with Terminal([*_POWERTUI, str(folder)], size=_SIZE, env=env) as terminal:
        terminal.wait_for(r"/device:GPU:0")
        first_s, first_cpu_s = time.monotonic() - terminal.started, _cpu_s(terminal.pid)
        for number in range(_KEY_COUNT):
            if "reading" not in terminal.text():
                break
            before, begin = terminal.total, time.monotonic()
            cpu_before_s = _scheduled_s(terminal.pid)
            terminal.press(_KEYS[number % len(_KEYS)])
            while terminal.total == before and time.monotonic() - begin < 5:
                terminal.read(0.002)
            latencies.append(time.monotonic() - begin)
            key_cpu.append(_scheduled_s(terminal.pid) - cpu_before_s)
            terminal.run(_BETWEEN_KEYS_S)
            largest = max(largest, *map(_resident_bytes, family([terminal.pid])))
        begin = time.monotonic()
        terminal.press("q")
        terminal.wait_exit()
        leaving_s = time.monotonic() - begin
    return _Seen(first_s, first_cpu_s, latencies, key_cpu, largest, leaving_s)


def _scheduled_s(pid: int) -> float:
    """CPU s of all threads of a process, finer than the ticks of its times."""
    total_ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # a thread that has just ended
            total_ns += int((task / "schedstat").read_text().split()[0])
    return total_ns / 1e9


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident_bytes(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def answer(folder: Path, executor: Executor | None) -> str:
    """What the hosts' page and the table of steps say."""
    import powertui

    run = powertui.open(folder, executor=executor)[0]
    tables = (run.tool("hosts").frame, run.tool("late_ranks").frame, run.steps)
    return "".join(table.to_json() for table in tables)


def equal_answers(folder: Path) -> dict[str, bool]:
    """Whether each of those who can read hosts gives the answer that copies of this process do."""
    expected = answer(folder, None)
    makers: dict[str, Callable[[], Executor]] = {
        "threads": partial(ThreadPoolExecutor, 2),
        "another executor": partial(ProcessPoolExecutor, 2),
    }
    equal = {}
    for name, make_executor in makers.items():
        with make_executor() as executor:
            equal[name] = answer(folder, executor) == expected
    return equal


def main() -> None:
    """Print the table."""
    is_own = __name__ == "__main__" or sys.argv[0].endswith("bench_hosts.py")
    numbers = [int(word.replace(",", "")) for word in sys.argv[1:]] if is_own else []
    hosts, events = (*numbers, *(_HOSTS, _EVENTS)[len(numbers) :])
    folder = make(hosts, events)
    profiles = sorted(folder.rglob("*.xplane.pb"))[:_SCANNED_HOSTS]
    scan_s = scan_cpu_s(profiles) * hosts / len(profiles)
    screen = seen(folder)
    tool = run_process([*_POWERTUI, "report", str(folder), "--tool", "hosts", "--json"])
    assert tool.code == 0
    table = Table(f"{hosts} hosts of {events:,} events", ("what", "measured"))
    table.row("listed", f"{list_cpu_s(folder):.2f} CPU s")
    table.row("first host on the screen", f"{screen.first_s:.2f} s, {screen.first_cpu_s:.2f} CPU s")
    if screen.latencies_s:
        count = len(screen.latencies_s)
        for what, times_s in (("ms", screen.latencies_s), ("CPU ms", screen.key_cpu_s)):
            median_ms, worst_ms = 1000 * statistics.median(times_s), 1000 * max(times_s)
            words = f"{count} keys while reading, {what}: median, worst"
            table.row(words, f"{median_ms:.0f}, {worst_ms:.0f}")
    table.row("leaving while reading", f"{screen.leaving_s:.2f} s")
    table.row("largest process with a screen", f"{screen.largest_bytes >> 20} MB")
    table.row("report --tool hosts", f"{tool.cpu_s:.1f} CPU s, {tool.wall_s:.1f} s")
    table.row("of the C scan", f"{tool.cpu_s / scan_s:.1f} × ({scan_s:.2f} CPU s)")
    table.row("largest process", f"{tool.peak_bytes >> 20} MB")
    for name, is_equal in equal_answers(folder).items():
        table.row(f"same answer from {name}", "yes" if is_equal else "**no**")
    table.print()


if __name__ == "__main__":
    main()

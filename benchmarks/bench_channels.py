"""`live` and `record` with 1, 64 and 1,000 channels: CPU of a second, bytes a tick, memory now and
after days.

A program appends a row a second to a CSV, as a site's own logger does, and `--source csv:` follows
it. The days are told to the real classes, one reading a channel and second.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import ASKS_ALL, ROOT, Amount, Table, asks_all

CHANNELS = (1, 64, 1000)
SIZE = (200, 50)
WARM_S = 8.0  # until the first readings are drawn and the page has its width
SECONDS = Amount(8, 20, "s")
TICK_S = 0.5  # of the live screen
DAY_S = 86_400
# (days, channels): 1x64 takes minutes; 7x100 and 1x1000 are 60 and 86 million readings, half an hour
# for each process.
_USUAL_TIMES = "1x1,1x64" if asks_all() else "1x1,1x8"
TIMES = [
    tuple(map(int, one.split("x")))
    for one in os.environ.get("POWERTUI_BENCH_DAYS", _USUAL_TIMES).split(",")
]

# The real classes, fed with what such a time brings, and nothing of it kept by the one that feeds.
_RECORDER = """
from powertui.sampler import child  # what the recorder's process imports
from powertui.sampler.recorder import Recorder
from powertui.sampler.source import Channel, Info, Reading
import sys
channels, seconds = int(sys.argv[1]), int(sys.argv[2])

class Silent:
    min_period = reconnects = 0
    def __init__(self, name): self.name, self.channels = name, (Channel("power", name, "node"),)

recorder = Recorder([Silent(f"node{n}") for n in range(channels)])
states = list(recorder.states.values())
for state in states: recorder._intake.take_info(state, Info("test", "test:", state.name, state.source.channels))
def feed(n):
    for state in states:
        recorder._intake.take_readings(state, [Reading(1.8e9 + n, float(n), 200.0 + n % 7, 0.01, state.name, "power")])
"""
_SCREEN = """
import sys
import powertui.screens.shell, powertui.screens.live  # what the screen's process imports
from powertui.feed import RecorderFeed
from powertui.sampler.process import RecorderProcess
channels, seconds = int(sys.argv[1]), int(sys.argv[2])
recorder = RecorderProcess([])
feeder = RecorderFeed(recorder, "a week")
def feed(n):
    for i in range(channels):
        reading = [1.8e9 + n, float(n), 200.0 + n % 7, 0.01, f"node{i}", "power", "ok", None]
        recorder._take({"readings": [reading], "reconnects": 0, "missed": 0})
    feeder.drain()
"""
_MEASURE = """
import os
def resident(): return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
feed(0)
before = resident()
for n in range(1, seconds): feed(n)
print(before, resident())
"""


def resident_after(seconds: int, channels: int) -> list[tuple[int, int]]:
    """(bytes at the beginning, at the end) of the recorder's process and of the screen's, after so
    long at 1 Hz.
    """
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code + _MEASURE, str(channels), str(seconds)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        for code in (_RECORDER, _SCREEN)
    ]
    answers = [process.communicate()[0].split() for process in running]
    return [(int(before), int(after)) for before, after in answers]


class Share(NamedTuple):
    """What a program took while it was watched."""

    cores: float
    bytes_a_tick: float
    resident: int  # bytes, with its children


@contextmanager
def growing_log(channels: int) -> Iterator[Path]:
    """A wide CSV that gains a row a second."""
    ended = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "site.csv"
        names = ",".join(f"node{channel:04}_power_w" for channel in range(channels))
        path.write_text(f"time_unix_s,{names}\n")
        writer = threading.Thread(target=_append_rows, args=(path, channels, ended), daemon=True)
        writer.start()
        try:
            yield path
        finally:
            ended.set()
            writer.join()


def _append_rows(path: Path, channels: int, ended: threading.Event) -> None:
    while not ended.is_set():
        now = time.time()
        watts = (250 + 40 * math.sin(now / 5 + channel) for channel in range(channels))
        row = ",".join(f"{value:.1f}" for value in watts)
        with path.open("a") as log:
            log.write(f"{now:.3f},{row}\n")
        ended.wait(1.0)


def watched(verb: str, channels: int) -> Share:
    """A verb beside so many channels, for some seconds, in a terminal."""
    from tests.e2e.terminal import Terminal, environment

    env = environment(extra={"PYTHONPATH": str(ROOT)})
    with growing_log(channels) as log, tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "power.csv"
        command = [sys.executable, "-m", "powertui", verb, "--source", f"csv:{log}"]
        with Terminal([*command, "-o", str(output)], size=SIZE, env=env) as terminal:
            terminal.run(WARM_S)
            cpu_s, sent, begin = _cpu_s(terminal.pid), terminal.total, time.monotonic()
            terminal.run(SECONDS.count)
            took_s = time.monotonic() - begin
            cores = (_cpu_s(terminal.pid) - cpu_s) / took_s
            bytes_a_tick = (terminal.total - sent) / (took_s / TICK_S)
            resident = sum(map(_resident, _family(terminal.pid)))
            rows = _rows(output)
            terminal.press("q" if verb == "live" else "C-c")
            terminal.wait_exit()
    if rows < channels * SECONDS.count / 2:
        raise RuntimeError(f"{verb} wrote {rows} rows of {channels} channels")
    return Share(cores, bytes_a_tick, resident)


def _rows(output: Path) -> int:
    return sum(line[:1].isdigit() for line in output.read_text().splitlines())


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    family, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        family.append(one)
        for task in Path(f"/proc/{one}/task").iterdir():
            waiting += map(int, (task / "children").read_text().split())
    return family


def _cpu_s(pid: int) -> float:
    """User and system seconds of a process and of all below it that run."""
    ticks = 0
    for one in _family(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def now_table() -> None:
    """1. What a second takes."""
    table = Table(
        f"`live` at 200×50 and `record` beside a log that gains a row a second, watched for {SECONDS}",
        ["channels", "live: of a core", "bytes a tick", "memory", "record: of a core", "memory"],
    )
    for channels in CHANNELS:
        live, record = watched("live", channels), watched("record", channels)
        table.row(
            f"{channels:,}",
            f"{live.cores:.1%}",
            f"{live.bytes_a_tick:,.0f}",
            f"{live.resident / 1e6:.0f} MB",
            f"{record.cores:.1%}",
            f"{record.resident / 1e6:.0f} MB",
        )
    table.note("Target: at most 4,096 bytes a tick. Both processes of `live` count.")
    table.print()


def memory_table() -> None:
    """2. What days leave in memory."""
    table = Table(
        "Memory of both processes of `live`, 1 Hz, simulated readings through the real classes",
        ["days", "channels", "recorder: at first", "at last", "screen: at first", "at last"],
    )
    for days, channels in TIMES:
        memory = [size for process in resident_after(days * DAY_S, channels) for size in process]
        table.row(days, f"{channels:,}", *(f"{size / 1e6:.0f} MB" for size in memory))
    table.note(
        f"Target: a week of 100 channels in less than 200 MB. {ASKS_ALL}=1 adds 64 channels, "
        "POWERTUI_BENCH_DAYS=7x100,1x1000 measures it whole (an hour)."
    )
    table.print()


def main() -> None:
    """Both tables."""
    sys.path.insert(0, str(ROOT))
    now_table()
    memory_table()


if __name__ == "__main__":
    main()

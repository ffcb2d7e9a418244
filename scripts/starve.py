"""Tests on a machine that is busy: one process or thread after another of theirs gets hardly any
processor for a while.

    python scripts/starve.py --seed 3 tests/e2e -n 2            what follows is for pytest
    python scripts/starve.py --seed 3 --stop tests/unit/sampler

Every 0.1 to 0.5 s one of pytest's descendants, or one thread of it, is made to wait behind
everything else, for 0.2 to 3 s: it runs at the kernel's idle priority, beside as many loops as
there are processors. With `--stop` whole processes are stopped and continued instead, which needs
no loops; tests of job control are disturbed by that. What fails depends on time, or is a fault that
only a busy machine shows: look closely.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

LOOP = "import os\nos.nice(8)\nwhile True: pass"
EVERY_S, LONG_S = (0.1, 0.5), (0.2, 3.0)
ONE_THREAD = 0.6  # of the times; else the whole process


def descendants(root: int) -> list[int]:
    """Processes that live below this one."""
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state not in "TZ":
                    below.setdefault(int(parent), []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += below.get(pid, [])
    return found[1:]


def _threads(pid: int) -> list[int]:
    return [int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()]


def slow(pid: int, stop: bool, chance: random.Random) -> None:
    """Let it wait."""
    if stop:
        os.kill(pid, signal.SIGSTOP)
        return
    threads = _threads(pid)
    for thread in [chance.choice(threads)] if chance.random() < ONE_THREAD else threads:
        os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))


def go_on(pid: int, stop: bool) -> None:
    """Let it go on."""
    if stop:
        os.kill(pid, signal.SIGCONT)
        return
    for thread in _threads(pid):
        os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def main() -> int:
    """pytest's exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stop", action="store_true", help="stop whole processes")
    options, words = parser.parse_known_args()
    chance = random.Random(options.seed)
    loops = (
        []
        if options.stop
        else [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(os.cpu_count() or 1)]
    )
    waiting: dict[int, tuple[float, float]] = {}  # since when, until when
    resting: dict[int, float] = {}  # what waited is left alone for as long
    count = 0
    tests = subprocess.Popen(
        [sys.executable, "-m", "pytest", *words], start_new_session=True
    )  # some send signals to their group
    try:
        while tests.poll() is None:
            now = time.monotonic()
            for pid, (since, until) in list(waiting.items()):
                if until <= now:
                    with contextlib.suppress(OSError):
                        go_on(pid, options.stop)
                    del waiting[pid]
                    resting[pid] = now + (until - since)
            them = [
                pid
                for pid in descendants(tests.pid)
                if pid not in waiting and resting.get(pid, 0.0) < now
            ]
            if them:
                pid = chance.choice(them)
                with contextlib.suppress(OSError):  # it has ended
                    slow(pid, options.stop, chance)
                    waiting[pid] = now, now + chance.uniform(*LONG_S)
                    count += 1
            time.sleep(chance.uniform(*EVERY_S))
    finally:
        for pid in waiting:
            with contextlib.suppress(OSError):
                go_on(pid, options.stop)
        for loop in loops:
            loop.kill()
            loop.wait()
    print(f"{count} times something waited (--seed {options.seed})")
    return tests.returncode


if __name__ == "__main__":
    raise SystemExit(main())

"""Logs with wrong clocks on trainings that nobody profiled: noticed, doubted, sure and wrong.

`python -m benchmarks.clock_answers [--first SEED] [--count N]`: each training with every sensor in
turn, scalars every few batches or once an epoch, its log's clock off by each of these times, drifting,
or without wall time. Tune on some seeds and judge on others.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

from benchmarks.harness import Table
from benchmarks.power_world import (
    SENSORS,
    Taken,
    make_whole,
    record,
    write_log,
    write_whole,
)
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.energy.log_alignment import Alignment
from powertui.data.training.training import Training

OFF_S = (0.0, 0.1, 0.5, -0.5, 2.0, -2.0, 15.0, -15.0, 30.0, -30.0)
DRIFT, RELATIVE = "50 ppm", "relative"
_PPM = 50e-6
_SLACK_S = 0.02  # a drifting clock is right in the middle of its log only


def judge(
    logs: Path, taken: Taken, off: float | str, folder: Path
) -> tuple[Alignment, float, float]:
    """The alignment of a log whose clock is off, and its interval around the truth (s)."""
    times = taken.unix
    if isinstance(off, float):
        times = times + off
    elif off == DRIFT:
        times = times + (times - times[len(times) // 2]) * _PPM
    true = float(times[0]) if off == DRIFT else float(taken.unix[0])
    form = "relative" if off == RELATIVE else "wall"
    log = write_log(replace(taken, unix=times), folder / f"{off}.csv", form)
    (entry,) = [one for one in logdir.scan(logs).trainings if one.tfevents]
    training = Training(entry, ReadOptions(power=(str(log),), find_power=False))
    (channel,) = training.power
    found = channel.alignment
    if found.lo_s is None or found.hi_s is None:
        return found, 0.0, 0.0
    zero = channel.base_ns / 1e9 - true
    return found, zero + found.lo_s, zero + found.hi_s


def run(first: int, count: int) -> dict[tuple[str, str], Counter[str]]:
    """What came of all of them, by scalars and clock."""
    cells: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    names = list(SENSORS)
    for seed in range(first, first + count):
        for batches in (True, False):
            course = make_whole(seed, batches=batches, burst=seed % 3 != 2)
            taken = record(course.world, SENSORS[names[seed % len(names)]], seed)
            with tempfile.TemporaryDirectory() as folder:
                logs = write_whole(course, Path(folder))
                for off in (*OFF_S, DRIFT, RELATIVE):
                    found, lo, hi = judge(logs, taken, off, Path(folder))
                    cell = cells["batches" if batches else "epochs", str(off)]
                    cell[found.status] += 1
                    holds = lo <= _SLACK_S and hi >= -taken.delay_s - _SLACK_S
                    cell["sure and wrong"] += found.is_sure and not holds
    return dict(cells)


def answers(first: int, count: int) -> Table:
    """How many of so many trainings got which answer, by scalars and by what the clock is off."""
    shown = ("aligned", "clock corrected", "ambiguous", "cannot tell", "none", "sure and wrong")
    table = Table(f"{count} trainings with wrong clocks", ("scalars", "clock off by", *shown))
    for key, cell in run(first, count).items():
        table.row(*key, *(cell[name] for name in shown))
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clock_answers", description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=8)
    args = parser.parse_args()
    answers(args.first, args.count).print()


if __name__ == "__main__":
    main()

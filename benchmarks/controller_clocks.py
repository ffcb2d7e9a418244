"""Logs that a BMC stamped by its own clock, which nobody sets: what is claimed of their place.

`python -m benchmarks.controller_clocks [--first SEED] [--count N]`: `ipmitool dcmi power reading` in a
loop, beside trainings that nobody profiled (scalars every few batches, or once an epoch) and beside
profiles; the clock right, and off by up to 70 s. Its stamps are whole seconds without a zone.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import powertui
from benchmarks.harness import Table
from benchmarks.power_world import (
    SENSORS,
    World,
    make,
    make_whole,
    plan,
    record,
    write,
    write_log,
    write_whole,
)
from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import account
from powertui.data.energy.log_alignment import Alignment
from powertui.data.training.training import Training

OFF_S = (0.0, 5.0, -40.0, 70.0)
_SENSORS = ("mean 0.5 s, 1 W", "mean 1 s, 1 W", "mean 3 s, 7 W", "mean 10 s (PDU)")
_KINDS = ("scalars every few batches", "scalars once an epoch", "a profile")
# A stamp is up to a second old, and what it stamps as old as the sensor's refresh and its delay are.
_STAMP_S = 1.0


class Case(NamedTuple):
    """One log with one clock, and what was claimed of it."""

    kind: str
    sensor: str
    off_s: float
    status: str
    lo_s: float  # of what is claimed, around the truth
    hi_s: float
    late_s: float  # how much later than its readings the log may well have been written

    @property
    def is_sure(self) -> bool:
        return self.status in ("aligned", "clock corrected")

    @property
    def is_placed(self) -> bool:
        return self.status != "none"

    @property
    def holds(self) -> bool:
        """Whether the claimed interval contains the truth."""
        return self.lo_s <= _STAMP_S and self.hi_s >= -self.late_s


def run(first: int, count: int) -> Iterator[Case]:
    """Each training and each profile with one sensor, and each clock."""
    for seed in range(first, first + count):
        for number, kind in enumerate(_KINDS):
            sensor = _SENSORS[(seed + number) % len(_SENSORS)]
            with tempfile.TemporaryDirectory() as folder:
                yield from _of_one(seed, kind, sensor, Path(folder))


def _of_one(seed: int, kind: str, sensor: str, folder: Path) -> Iterator[Case]:
    world, logs = _written(seed, kind, folder)
    taken = record(world, SENSORS[sensor], seed)
    model = taken.model
    late_s = _STAMP_S + model.poll_s + taken.delay_s
    for off_s in OFF_S:
        stamped = taken.unix + off_s
        log = write_log(replace(taken, unix=stamped), folder / f"{off_s}.txt", "ipmitool")
        zero_s, alignment = _placed(kind, logs, log)
        # The log begins at its first stamp.
        beside_s = zero_s - (int(stamped[0]) - off_s)
        lo_s, hi_s = alignment.lo_s or 0.0, alignment.hi_s or 0.0
        yield Case(
            kind=kind,
            sensor=sensor,
            off_s=off_s,
            status=alignment.status,
            lo_s=beside_s + lo_s,
            hi_s=beside_s + hi_s,
            late_s=late_s,
        )


def _written(seed: int, kind: str, folder: Path) -> tuple[World, Path]:
    """A training, and the logdir that it wrote."""
    if kind == "a profile":
        world = make(plan(seed))
        return world, write(world, folder)
    course = make_whole(seed, batches="batches" in kind, burst=seed % 3 != 2)
    return course.world, write_whole(course, folder)


def _placed(kind: str, logs: Path, log: Path) -> tuple[float, Alignment]:
    """From when the seconds of the alignment count (Unix s), and the alignment."""
    if kind == "a profile":
        profile = powertui.open(logs, power=log, tz="UTC")[0].opened.profiles[0]
        alignment = account.energy_account(profile, Aligning()).alignment
        assert alignment is not None
        return profile.clock.mid_ns / 1e9, alignment
    (entry,) = [one for one in logdir.scan(logs).trainings if one.tfevents]
    training = Training(entry, ReadOptions(power=(str(log),), find_power=False))
    (channel,) = training.power
    return channel.base_ns / 1e9, channel.alignment


def answers(cases: list[Case]) -> Table:
    """What was claimed, by what the log lies beside and its sensor."""
    shown = ("logs", "placed", "sure", "sure and wrong", "hold", "median width, s")
    table = Table("logs that a BMC stamped by its own clock", ("beside", "sensor", *shown))
    cells: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        cells[case.kind, case.sensor].append(case)
    for key, cell in sorted(cells.items()):
        placed = [case for case in cell if case.is_placed]
        counted = Counter[str]()
        for case in placed:
            counted["sure"] += case.is_sure
            counted["wrong"] += case.is_sure and not case.holds
            counted["hold"] += case.holds
        widths = sorted(case.hi_s - case.lo_s for case in placed)
        table.row(
            *key,
            len(cell),
            len(placed),
            counted["sure"],
            counted["wrong"],
            counted["hold"],
            f"{widths[len(widths) // 2]:.1f}" if widths else "–",
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.controller_clocks", description=__doc__
    )
    parser.add_argument("--first", type=int, default=25_000)
    parser.add_argument("--count", type=int, default=12)
    arguments = parser.parse_args()
    answers(list(run(arguments.first, arguments.count))).print()


if __name__ == "__main__":
    main()

"""What powertui says of trainings that nobody profiled, held against what really happened:
findings, epochs' joules, places.

`python -m benchmarks.training_answers [--count N]`: each training with several sensors, scalars
every few batches or once an epoch, power by wall clock or in seconds since its start. The worst
cells stand below the table.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.harness import Table
from benchmarks.power_world import (
    SENSORS,
    Burst,
    Course,
    Taken,
    make_whole,
    record,
    write_log,
    write_whole,
)
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.energy.findings.finding import Finding, Findings
from powertui.data.model import PS_PER_S
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy

ASKED = ("25 ms of 0.1 s", "mean 0.5 s, 1 W", "mean 1 s, 1 W", "mean 3 s, 7 W", "mean 10 s (PDU)")
FORMS = ("wall", "relative")


class Case(NamedTuple):
    """One recording."""

    seed: int
    batches: bool
    burst: bool
    sensor: str
    form: str

    @property
    def cell(self) -> tuple[str, str, str]:
        return ("batches" if self.batches else "epochs", self.sensor, self.form)


@dataclass
class Cell:
    """What came of the recordings of one kind."""

    due: int = 0  # bursts that were said to be findable
    found: int = 0
    epoch_right: int = 0
    batches_due: int = 0
    batches_right: int = 0
    false: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    quiet: int = 0
    windows: int = 0
    inside: int = 0
    outside: list[str] = field(default_factory=list)
    sure: int = 0  # places called aligned
    wrong: list[str] = field(default_factory=list)  # of them outside their interval
    cases: int = 0


def cases(count: int, sensors: tuple[str, ...] = ASKED) -> Iterator[Case]:
    """Seeds, each with every kind of scalars, sensor and clock; every third without a burst."""
    for seed in range(count):
        for batches in (True, False):
            for sensor in sensors:
                for form in FORMS:
                    yield Case(seed, batches, seed % 3 != 2, sensor, form)


def judge(case: Case, cell: Cell, folder: Path) -> None:
    """One recording written, read and held against its truth."""
    course = make_whole(case.seed, batches=case.batches, burst=case.burst)
    model = SENSORS[case.sensor]
    taken = record(course.world, model, case.seed)
    logs = write_whole(course, folder)
    log = write_log(taken, folder / "power.csv", "wall" if case.form == "wall" else "relative")
    (entry,) = [one for one in logdir.scan(logs).trainings if one.tfevents]
    training = Training(entry, ReadOptions(power=(str(log),), find_power=False))
    cell.cases += 1
    name = f"seed {case.seed} {'/'.join(case.cell)}"
    seen = training.seen_from()
    shift = seen.zero_ns / 1e9 - course.world.plan.unix_s  # of the axis' zero on the world's clock
    (channel,) = training.power
    if channel.status == "aligned" and case.form == "relative" and channel.zero is not None:
        cell.sure += 1
        off = channel.zero.ns / 1e9 - float(taken.unix[0]) + taken.delay_s
        if abs(off) > channel.zero.half_ns / 1e9:
            cell.wrong.append(
                f"{name}: off {off:+.2f} s, said ± {channel.zero.half_ns / 1e9:.2f} s"
            )
    whole = training_energy(seen)
    for one in whole.epochs():
        if (
            one.energy is not None
            and one.energy.lo is not None
            and one.energy.hi is not None
            and one.epoch is not None
        ):
            lo, hi = course.world.epochs[one.epoch]
            true = float(course.world.joules(lo, hi)) * taken.gain
            cell.windows += 1
            if one.energy.lo <= true <= one.energy.hi:
                cell.inside += 1
            else:
                cell.outside.append(
                    f"{name}: epoch {one.epoch} {true:.0f} J, told {one.energy.lo:.0f} … "
                    f"{one.energy.hi:.0f}"
                )
    _findings(case, cell, course, taken, whole.findings, shift, name)


def _findings(
    case: Case, cell: Cell, course: Course, taken: Taken, found: Findings, shift: float, name: str
) -> None:
    """Bursts that were found, missed, invented."""
    spare = taken.model.window_s + taken.model.refresh_s + (0 if case.form == "wall" else 1.0)
    told = [
        (one.start_ps / PS_PER_S + shift, one.end_ps / PS_PER_S + shift, one)
        for one in found.findings
    ]
    cell.quiet += not course.world.bursts
    right = []
    for a, b, one in told:
        if any(
            a < burst.end + spare and b > burst.start - spare and (one.delta_watts or 0) > 0
            for burst in course.world.bursts
        ):
            right.append((a, b, one))
        else:
            cell.false.append(f"{name}: {one.text} at {a:.1f} … {b:.1f} s")
    for burst in course.world.bursts:
        over = sum(max(0.0, min(b, burst.end) - max(a, burst.start)) for a, b, _ in right)
        looked = course.every or burst.start >= course.world.epochs[0][0] + 0.4 * (
            course.world.epochs[0][1] - course.world.epochs[0][0]
        )
        due = bool(looked) and any(
            limit.watts <= burst.watts and limit.seconds <= burst.seconds for limit in found.limits
        )
        apart = sum(
            max(0.0, min(b + shift, burst.end) - max(a + shift, burst.start))
            for a, b in found.apart
        )
        due &= apart <= burst.seconds / 3  # nothing is promised of stretches that are named
        hit = over > 0.5 * burst.seconds
        cell.due += due
        cell.found += due and hit
        if due and not hit:
            cell.missed.append(
                f"{name}: {burst.watts:.0f} W for {burst.seconds:.1f} s at {burst.start:.1f}, "
                f"{found.could}"
            )
        if hit:
            _place(cell, course, burst, [one for _, _, one in right], name)


def _place(cell: Cell, course: Course, burst: Burst, right: list[Finding], name: str) -> None:
    """Whether the epoch is right, and the batches within what is told of them."""
    touched = {
        n for n, (lo, hi) in enumerate(course.world.epochs) if burst.start < hi and burst.end > lo
    }
    cell.epoch_right += all(one.epoch in touched for one in right)
    for one in right:
        if one.step_lo is None or one.step_hi is None or one.epoch is None:
            continue
        lo = max(burst.start, course.world.epochs[one.epoch][0])
        hi = min(burst.end, course.world.epochs[one.epoch][1])
        first, last = (
            int(np.searchsorted(course.done, at)) - one.epoch * course.per_epoch for at in (lo, hi)
        )
        cell.batches_due += 1
        half = (one.step_half or 0) + 1
        if (
            abs(one.step_lo - first) <= half
            and abs(one.step_hi - min(last, course.per_epoch - 1)) <= half
        ):
            cell.batches_right += 1
        else:
            told = f"batches {one.step_lo}-{one.step_hi} ± {one.step_half}"
            cell.missed.append(f"{name}: {told}, truth {first}-{last} (epoch {one.epoch})")


def run(count: int, sensors: tuple[str, ...] = ASKED) -> dict[tuple[str, str, str], Cell]:
    """All of them."""
    found: dict[tuple[str, str, str], Cell] = defaultdict(Cell)
    for case in cases(count, sensors):
        with tempfile.TemporaryDirectory() as folder:
            judge(case, found[case.cell], Path(folder))
    return dict(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.training_answers", description=__doc__
    )
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--sensor", action="append", default=[])
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()
    found = run(args.count, tuple(args.sensor) or ASKED)
    table = Table(
        f"{args.count} trainings of which nothing was profiled",
        (
            "scalars",
            "sensor",
            "clock",
            "bursts found",
            "epoch right",
            "batches right",
            "findings that were none",
            "joules inside",
            "sure, wrong",
        ),
    )
    for key, cell in sorted(found.items()):
        table.row(
            *key,
            f"{cell.found}/{cell.due}",
            cell.epoch_right,
            f"{cell.batches_right}/{cell.batches_due}",
            f"{len(cell.false)} of {cell.cases}",
            f"{cell.inside}/{cell.windows}",
            f"{len(cell.wrong)}/{cell.sure}",
        )
    table.print()
    if args.v:
        for _, cell in sorted(found.items()):
            for kind in ("false", "missed", "outside", "wrong"):
                for line in getattr(cell, kind):
                    print(kind.upper(), line)


if __name__ == "__main__":
    main()

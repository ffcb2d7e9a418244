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
from typing import NamedTuple

from benchmarks.harness import Table, in_processes
from benchmarks.power_world import (
    SENSORS,
    Course,
    Taken,
    course_levels,
    make_whole,
    record,
    shift_bound,
    write_log,
    write_whole,
)
from benchmarks.power_world.reachable import REJECTED_AT, contradictions
from benchmarks.power_world.shift_bound import errors_of_shift, own_error_s
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.energy.log_alignment import Alignment
from powertui.data.training.training import Training

NOTICED = ("clock corrected", "ambiguous", "none")
OFF_S = (0.0, 0.1, 0.5, -0.5, 2.0, -2.0, 15.0, -15.0, 30.0, -30.0, 3600.0)
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


class Case(NamedTuple):
    """One log with one clock: what was answered, and what could be known."""

    seed: int
    scalars: str
    sensor: str
    off: float | str
    status: str
    lo_s: float  # of what is claimed, around the truth
    hi_s: float
    is_sure_and_wrong: bool
    errors_by_truth: float  # by how many of the readings' errors they would fit worse
    own_error_s: float  # of the place, by log and records alone
    worse_by: float  # how much worse its own readings fit where this clock puts them

    @property
    def is_shown(self) -> bool:
        """Whether the readings themselves show that the clock is wrong."""
        return self.off != 0.0 and self.worse_by >= REJECTED_AT

    @property
    def is_noticed(self) -> bool:
        return self.status in NOTICED

    @property
    def is_asked(self) -> bool:
        """Whether log and records show that the clock is wrong."""
        return self.own_errors >= shift_bound.ASKED_ERRORS

    @property
    def own_errors(self) -> float:
        """How many of the signal's own errors the clock is off."""
        if isinstance(self.off, str):
            return 0.0
        return abs(self.off) / self.own_error_s

    @property
    def holds(self) -> bool:
        """Whether the claimed interval contains the truth."""
        return self.lo_s <= 0.0 <= self.hi_s

    @property
    def is_right_and_doubted(self) -> bool:
        return self.off == 0.0 and self.is_noticed


def run(first: int, count: int) -> list[Case]:
    """What came of all of them."""
    worlds = [(seed, batches) for seed in range(first, first + count) for batches in (True, False)]
    return [case for cases in in_processes(_cases_of, worlds) for case in cases]


def _cases_of(world: tuple[int, bool]) -> list[Case]:
    """A training with its log by every clock."""
    seed, batches = world
    course = make_whole(seed, batches=batches, burst=seed % 3 != 2)
    sensor = list(SENSORS)[seed % len(SENSORS)]
    taken = record(course.world, SENSORS[sensor], seed)
    by_truth, error_s = _errors(course, taken)
    shown = contradictions(course_levels(course), taken, OFF_S)
    worse_by = dict(zip(OFF_S, shown, strict=True))
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        logs = write_whole(course, Path(folder))
        for off in (*OFF_S, DRIFT, RELATIVE):
            found, lo, hi = judge(logs, taken, off, Path(folder))
            holds = lo <= _SLACK_S and hi >= -taken.delay_s - _SLACK_S
            case = Case(
                seed=seed,
                scalars="batches" if batches else "epochs",
                sensor=sensor,
                off=off,
                status=found.status,
                lo_s=lo,
                hi_s=hi,
                is_sure_and_wrong=found.is_sure and not holds,
                errors_by_truth=by_truth.get(off, 0.0),
                own_error_s=error_s,
                worse_by=worse_by.get(off, 0.0) if isinstance(off, float) else 0.0,
            )
            cases.append(case)
    return cases


def _errors(course: Course, taken: Taken) -> tuple[dict[object, float], float]:
    """By how many errors each clock is off by the truth; the error of the place by its records."""
    measured = taken.measured
    assert measured is not None
    template = course_levels(course)
    watts = measured.watts / taken.gain
    readings = shift_bound.readings(
        template, measured.lo_s, measured.hi_s, watts, taken.model.quantum
    )
    late_s = taken.model.poll_s + taken.model.delay * taken.model.refresh_s
    late_s += shift_bound.RECORD_LATE_S
    by_truth: dict[object, float] = {}
    for off in OFF_S:
        by_truth[off] = errors_of_shift(template, readings, off)
    return by_truth, own_error_s(template, readings, late_s)


def answers(cases: list[Case]) -> Table:
    """How many trainings got which answer, by scalars and by what the clock is off."""
    shown = ("aligned", "clock corrected", "ambiguous", "cannot tell", "none", "sure and wrong")
    table = Table("trainings with wrong clocks", ("scalars", "clock off by", *shown))
    cells: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for case in cases:
        cell = cells[case.scalars, str(case.off)]
        cell[case.status] += 1
        cell["sure and wrong"] += case.is_sure_and_wrong
    for key, cell in cells.items():
        table.row(*key, *(cell[name] for name in shown))
    return table


def noticed(cases: list[Case]) -> Table:
    """Wrong clocks that a matched filter tells, and how many of them are noticed.

    `by the truth` knows each edge and the watts of all work; `shown` are those that the readings
    themselves contradict (`reachable`); `asked` has the log and the records alone: the clock is off
    by three errors of the place that these show. A clock that is believed with an interval that
    holds the truth is honest and yet not noticed: `held` of those that are missed.
    """
    columns = (
        *("clock off by", "by the truth", "noticed"),
        *("shown", "noticed", "asked", "noticed", "held", "missed"),
    )
    table = Table(f"off by more than {shift_bound.ASKED_ERRORS:g} of the signal's errors", columns)
    wrong = [case for case in cases if isinstance(case.off, float) and case.off != 0.0]
    for off_s in sorted({abs(case.off) for case in wrong if isinstance(case.off, float)}):
        _row_of_noticed(table, f"{off_s:g} s", [case for case in wrong if _is_off(case, off_s)])
    _row_of_noticed(table, "all", wrong)
    return table


def missed_ones(cases: list[Case]) -> Table:
    """Each clock that log and records show to be wrong and that is not noticed, and each right one
    that is doubted.
    """
    columns = ("seed", "scalars", "sensor", "off by", "errors", "answer", "from", "to")
    table = Table("missed, and doubted though right", columns)
    for case in cases:
        if (case.is_asked and not case.is_noticed) or case.is_right_and_doubted:
            errors = f"{case.own_errors:.1f}"
            claim = (f"{case.lo_s:.2f}", f"{case.hi_s:.2f}")
            table.row(case.seed, case.scalars, case.sensor, case.off, errors, case.status, *claim)
    return table


def _is_off(case: Case, off_s: float) -> bool:
    return isinstance(case.off, float) and abs(case.off) == off_s


def _row_of_noticed(table: Table, name: str, cases: list[Case]) -> None:
    by_truth = [case for case in cases if case.errors_by_truth >= shift_bound.ASKED_ERRORS]
    shown = [case for case in cases if case.is_shown]
    by_records = [case for case in cases if case.is_asked]
    unnoticed = [case for case in by_records if not case.is_noticed]
    missed = Counter(case.sensor for case in unnoticed)
    table.row(
        name,
        len(by_truth),
        sum(case.is_noticed for case in by_truth),
        len(shown),
        sum(case.is_noticed for case in shown),
        len(by_records),
        sum(case.is_noticed for case in by_records),
        sum(case.holds for case in unnoticed),
        ", ".join(f"{count} of {sensor}" for sensor, count in missed.most_common()),
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clock_answers", description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--missed", action="store_true", help="list the missed clocks one by one")
    args = parser.parse_args()
    cases = print_tables(args.first, args.count)
    if args.missed:
        missed_ones(cases).print()


def print_tables(first: int, count: int) -> list[Case]:
    """The tables of so many trainings; the answer is what they are made of."""
    cases = run(first, count)
    answers(cases).print()
    noticed(cases).print()
    return cases


if __name__ == "__main__":
    main()

"""One quantity of several runs: its values, and the intervals that they give.

From three runs on, the runs decide: each counts as one value, and the interval is Student's on
their mean. Of one run or two nothing is known of a further run. Then the interval covers what each
run's own drift lets expect of another stretch of it (`data/compare/drift.py`), and every answer
says "within-run only".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.compare import drift, relabeling, run_scatter, student
from powertui.data.compare.figure import Basis
from powertui.data.gate import quantities
from powertui.data.gate.run_values import GatedRun, GateValue
from powertui.value_types import dataclass

# Of these, a run without the name spent no time in it where other runs did.
_ZERO_WHERE_MISSING = (quantities.DEVICE, quantities.INPUT_SHARE)
# Five trainings of one network on one machine had median steps of 42.6, 46.4, 48.4, 49.0 and
# 52.2 ms: a standard deviation of 7.6 %, so 95 % of pairs of such runs lie within 30 %
# (t with 4 degrees of freedom, √2). Busy machines differ by more, so it makes no job red.
_RUN_TO_RUN_SHARE = 0.30
_MAX_RUNS_NAMED = 100  # more than nobody records
_POWER_80_SIGMA = 0.84  # standard errors on top: so many runs decide in 80 of 100 cases


@dataclass(frozen=True)
class GateInterval:
    """What a quantity, or a difference, may be."""

    value: float
    lo: float | None = None
    hi: float | None = None
    basis: Basis = Basis.NONE
    p: float | None = None  # of a difference: how often chance alone gives as much
    is_different: bool = False  # whether 0 is outside by what the scatter alone shows


@dataclass(frozen=True)
class GateSamples:
    """The runs of one side that have the quantity."""

    values: tuple[GateValue, ...]

    @property
    def numbers(self) -> list[float]:
        return [value.value for value in self.values]

    @property
    def mean(self) -> float:
        return float(np.mean(self.numbers))

    @property
    def decides_by_runs(self) -> bool:
        return len(self.values) >= run_scatter.MIN_RUNS

    @property
    def deviation(self) -> float:
        """From run to run."""
        return float(np.std(self.numbers, ddof=1))

    @property
    def margins(self) -> tuple[float, float]:
        """How well the mean can be measured at all: a sensor errs alike in all runs."""
        below = float(np.mean([value.below for value in self.values]))
        above = float(np.mean([value.above for value in self.values]))
        return below, above


def samples_of_runs(runs: Sequence[GatedRun], name: str) -> GateSamples:
    """The values of one quantity, run by run."""
    values = [run.values[name] for run in runs if name in run.values]
    if values and (quantities.prefix_of(name) or name in _ZERO_WHERE_MISSING):
        absent = [run for run in runs if name not in run.values and run.steps]
        values += [GateValue(0.0)] * len(absent)
    return GateSamples(tuple(values))


def mean_interval(samples: GateSamples) -> GateInterval:
    """What the quantity is. None can be less than 0."""
    if not samples.decides_by_runs:
        return _within_runs(samples)
    # Runs are independent of each other, as the steps of one are not.
    half = student.quantile_95(len(samples.values) - 1) * samples.deviation
    half /= math.sqrt(len(samples.values))
    below, above = samples.margins
    return GateInterval(
        value=samples.mean,
        lo=max(0.0, samples.mean - math.hypot(half, below)),
        hi=samples.mean + math.hypot(half, above),
        basis=Basis.RUN_TO_RUN,
    )


def _within_runs(samples: GateSamples) -> GateInterval:
    """What covers each run by itself: none of them stands for the others."""
    lows, highs = [], []
    for value in samples.values:
        half = _drift_reach(value)
        if half is None:
            return GateInterval(samples.mean)
        lows.append(value.value - math.hypot(half, value.below))
        highs.append(value.value + math.hypot(half, value.above))
    return GateInterval(samples.mean, max(0.0, min(lows)), max(highs), Basis.WITHIN_RUN)


def _drift_reach(value: GateValue) -> float | None:
    """How far another stretch of the run may be by drift; None where nothing shows it."""
    if value.is_fact:
        return 0.0
    if len(value.blocks) < drift.MIN_STEPS:
        return None
    return drift.reach(value.blocks, value.blocks)


def difference_interval(
    base: GateSamples, new: GateSamples, *, with_margins: bool = False
) -> GateInterval:
    """New less base. `with_margins`: the sensors differ, so their gains do not cancel."""
    if base.decides_by_runs and new.decides_by_runs:
        scatter = run_scatter.welch(base.numbers, new.numbers)
        interval = _by_scatter(scatter.difference, scatter.half, scatter.p)
        if not relabeling.is_rare(base.numbers, new.numbers):
            interval = replace(interval, is_different=False)
    elif base.decides_by_runs or new.decides_by_runs:
        interval = _by_one_side(base, new)
    else:
        interval = _by_drift(base, new)
    if not with_margins or interval.lo is None or interval.hi is None:
        return interval
    # Two sensors err independently of each other, and of how the runs vary.
    margin = math.hypot(max(base.margins), max(new.margins))
    return GateInterval(
        value=interval.value,
        lo=interval.value - math.hypot(interval.value - interval.lo, margin),
        hi=interval.value + math.hypot(interval.hi - interval.value, margin),
        basis=interval.basis,
        p=interval.p,
        is_different=interval.is_different and abs(interval.value) > margin,
    )


def _by_scatter(difference: float, half: float, p: float) -> GateInterval:
    return GateInterval(
        value=difference,
        lo=difference - half,
        hi=difference + half,
        basis=Basis.RUN_TO_RUN,
        p=p,
        is_different=p <= 0.05,
    )


def _by_one_side(base: GateSamples, new: GateSamples) -> GateInterval:
    """One or two runs against several: they are taken to vary as much as those do."""
    several = base if base.decides_by_runs else new
    difference = new.mean - base.mean
    df = len(several.values) - 1
    error = several.deviation * math.sqrt(1 / len(base.values) + 1 / len(new.values))
    # Values that are equal to nine digits are counts, which do not vary.
    if error <= 1e-9 * max(abs(base.mean), abs(new.mean)):
        return _by_scatter(difference, 0.0, 1.0 if abs(difference) <= error else 0.0)
    half = student.quantile_95(df) * error
    return _by_scatter(difference, half, student.two_sided_p(difference / error, df))


def _by_drift(base: GateSamples, new: GateSamples) -> GateInterval:
    """Few runs on either side: two runs of one program may differ by `_RUN_TO_RUN_SHARE`."""
    difference = new.mean - base.mean
    half = _RUN_TO_RUN_SHARE * abs(base.mean)
    for value in (*base.values, *new.values):
        run_half = _drift_reach(value)
        if run_half is None:
            return GateInterval(difference)
        half = max(half, run_half)
    return GateInterval(
        value=difference,
        lo=difference - half,
        hi=difference + half,
        basis=Basis.WITHIN_RUN,
    )


def runs_for_limit(samples: GateSamples, limit: float) -> int | None:
    """How many runs would decide, if the mean stays; None for more than anyone records."""
    distance = abs(limit - samples.mean)
    margin = max(samples.margins)
    if distance <= margin:
        return None
    room = math.sqrt(distance**2 - margin**2)
    for count in range(run_scatter.MIN_RUNS, _MAX_RUNS_NAMED + 1):
        reach = student.quantile_95(count - 1) + _POWER_80_SIGMA
        if reach * samples.deviation / math.sqrt(count) <= room:
            return count
    return None


def runs_for_difference(base: GateSamples, new: GateSamples, difference: float) -> str:
    """Which recording would show such a difference, as words; "" where none does."""
    if not base.decides_by_runs and not new.decides_by_runs:
        return f"{run_scatter.MIN_RUNS} runs in the baseline, and as many to check"
    if base.decides_by_runs and not new.decides_by_runs:
        count = _runs_beside(base, len(new.values), difference)
        if count is not None:
            return f"about {count} runs to check"
    deviations = [side.deviation for side in (base, new) if side.decides_by_runs]
    sigma = math.sqrt(sum(deviation**2 for deviation in deviations) / len(deviations))
    most_runs = min(len(base.values), len(new.values))
    count_a_side = run_scatter.runs_to_find(difference, sigma, more_than=most_runs)
    if count_a_side is None:
        return ""
    return f"about {count_a_side} runs to check and as many in the baseline"


def _runs_beside(base: GateSamples, checked_runs: int, difference: float) -> int | None:
    """How many runs would do beside a baseline that shows how runs vary; None for too many."""
    reach = student.quantile_95(len(base.values) - 1) + _POWER_80_SIGMA
    for count in range(checked_runs + 1, _MAX_RUNS_NAMED + 1):
        error = base.deviation * math.sqrt(1 / len(base.values) + 1 / count)
        if reach * error <= difference:
            return count
    return None

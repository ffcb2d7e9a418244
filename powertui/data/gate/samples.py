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

from powertui.data import student
from powertui.data.compare import drift, relabeling, run_scatter, turns
from powertui.data.compare.figure import Basis, FigureSamples
from powertui.data.gate import quantities
from powertui.data.gate.run_values import GatedRun, GateValue
from powertui.value_types import dataclass

# Of these, a run without the name spent no time in it where other runs did.
_ZERO_WHERE_MISSING = (quantities.DEVICE, quantities.INPUT_SHARE)
# Five trainings of one network on one machine had median steps of 42.6, 46.4, 48.4, 49.0 and
# 52.2 ms: a standard deviation of 7.6 %, so 95 % of pairs of such runs lie within 30 %
# (t with 4 degrees of freedom, √2). Busy machines differ by more, so it makes no job red.
_RUN_TO_RUN_SHARE = 0.30
_ERROR_SHARE = 0.05
_MAX_RUNS_NAMED = 100  # more than anybody records
# With five runs on each of five days a loss of three times the scatter was red in 89 of 100 jobs of
# the day after, on ten days in 97; with one run on each of ten days in 83; of one day, in none.
_DAYS_OF_BASELINE = "5 to 10"
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
    starts: tuple[int | None, ...] = ()  # when each run was recorded, where that is known

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
        margins_below = [value.below for value in self.values]
        margins_above = [value.above for value in self.values]
        below = float(np.mean(margins_below))
        above = float(np.mean(margins_above))
        return below, above


def samples_of_runs(runs: Sequence[GatedRun], name: str) -> GateSamples:
    """The values of one quantity, run by run."""
    is_counted_by_name = bool(quantities.prefix_of(name))
    having = [run for run in runs if name in run.values]
    values = [run.values[name] for run in having]
    if values and (is_counted_by_name or name in _ZERO_WHERE_MISSING):
        absent = [run for run in runs if name not in run.values and run.steps]
        having += absent
        values += [GateValue(0.0)] * len(absent)
    starts = tuple(run.start_ns for run in having)
    return GateSamples(tuple(values), starts)


def mean_interval(samples: GateSamples) -> GateInterval:
    """What the quantity is. None can be less than 0."""
    if not samples.decides_by_runs:
        return _within_runs(samples)
    # Runs are independent of each other, as the steps of one are not.
    quantile = student.quantile_95(len(samples.values) - 1)
    half = quantile * samples.deviation
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
    lows = []
    highs = []
    for value in samples.values:
        half = _drift_reach(value)
        if half is None:
            return GateInterval(samples.mean)
        below = math.hypot(half, value.below)
        above = math.hypot(half, value.above)
        lows.append(value.value - below)
        highs.append(value.value + above)
    return GateInterval(
        value=samples.mean,
        lo=max(0.0, min(lows)),
        hi=max(highs),
        basis=Basis.WITHIN_RUN,
    )


def _drift_reach(value: GateValue) -> float | None:
    """How far another stretch of the run may be by drift; None where nothing shows it."""
    if value.is_fact:
        return 0.0
    if len(value.blocks) < drift.MIN_STEPS:
        return None
    return drift.reach(value.blocks, value.blocks)


def difference_interval(base: GateSamples, new: GateSamples, *, with_margins: bool) -> GateInterval:
    """New less base. `with_margins`: the sensors differ, so their gains do not cancel."""
    if base.decides_by_runs or new.decides_by_runs:
        interval = _by_runs(base, new)
    else:
        interval = _by_drift(base, new)
    if not with_margins or interval.lo is None or interval.hi is None:
        return interval
    # Two sensors err independently of each other, and of how the runs vary.
    margin = math.hypot(max(base.margins), max(new.margins))
    below = math.hypot(interval.value - interval.lo, margin)
    above = math.hypot(interval.hi - interval.value, margin)
    return GateInterval(
        value=interval.value,
        lo=interval.value - below,
        hi=interval.value + above,
        basis=interval.basis,
        p=interval.p,
        is_different=interval.is_different and abs(interval.value) > margin,
    )


def _as_recorded(base: GateSamples, new: GateSamples) -> tuple[FigureSamples, FigureSamples]:
    """Both sides as `compare` judges them: the values, and in which order they were recorded."""
    places_base, places_new = _places(base, new)
    return (
        FigureSamples(tuple(base.numbers), places=places_base),
        FigureSamples(tuple(new.numbers), places=places_new),
    )


def _places(base: GateSamples, new: GateSamples) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """When the runs of both sides began, as far as that is known."""
    return turns.places_by_start(base.starts, new.starts)


def _by_runs(base: GateSamples, new: GateSamples) -> GateInterval:
    """By the rule of `compare`; where one side has few runs, by the scatter of the other."""
    of_base, of_new = _as_recorded(base, new)
    if base.decides_by_runs and new.decides_by_runs:
        scatter = turns.scatter_as_recorded(of_base, of_new)
    elif base.decides_by_runs:
        scatter = turns.few_beside_several(of_base, of_new)
    else:
        back = turns.few_beside_several(of_new, of_base)
        scatter = replace(back, difference=-back.difference)
    p = run_scatter.p_to_believe(scatter.p, len(of_base.runs), len(of_new.runs))
    is_count = scatter.half == 0  # which never varies, so one run is enough
    if not is_count and not relabeling.is_rare(of_base, of_new):
        p = 1.0
    difference = new.mean - base.mean
    # What is slower beside a drift alone, or without it alone, is neither.
    is_same_way = scatter.difference * difference > 0
    return GateInterval(
        value=difference,
        lo=scatter.difference - scatter.half,
        hi=scatter.difference + scatter.half,
        basis=Basis.RUN_TO_RUN,
        p=p,
        is_different=is_same_way and p <= _ERROR_SHARE,
    )


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
    squares = sum(deviation**2 for deviation in deviations)
    sigma = math.sqrt(squares / len(deviations))
    is_one_after_other = may_hide_drift(base, new)
    # In turns as many runs may do as did not one side after the other.
    fewer_runs = min(len(base.values), len(new.values))
    most_runs = fewer_runs - is_one_after_other
    count_a_side = run_scatter.runs_to_find(difference, sigma, more_than=most_runs)
    if count_a_side is None:
        return ""
    words = f"about {count_a_side} runs to check and as many in the baseline"
    if is_one_after_other:
        words += ", recorded in turns with them"
    if turns.long_pause_ns(*_places(base, new)):
        words += f", or a baseline with runs of {_DAYS_OF_BASELINE} days"
    return words


def may_hide_drift(base: GateSamples, new: GateSamples) -> bool:
    """Whether the runs of both sides are known not to have been recorded in turns."""
    of_base, of_new = _as_recorded(base, new)
    is_judged = base.decides_by_runs and new.decides_by_runs
    if not is_judged or not of_base.places:
        return False
    return not turns.are_in_turns(of_base.places, of_new.places)


def _runs_beside(base: GateSamples, checked_runs: int, difference: float) -> int | None:
    """How many runs would do beside a baseline that shows how runs vary; None for too many."""
    base_runs = len(base.values)
    reach = student.quantile_95(base_runs - 1) + _POWER_80_SIGMA
    for count in range(checked_runs + 1, _MAX_RUNS_NAMED + 1):
        if not relabeling.can_show(base_runs, count):
            continue
        inverse_runs = 1 / base_runs + 1 / count
        error = base.deviation * math.sqrt(inverse_runs)
        if reach * error <= difference:
            return count
    return None

"""Figures of both sides brought together by name; what has no counterpart is listed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from powertui.data.compare import drift, turns
from powertui.data.compare.figure import (
    ComparedFigure,
    Family,
    FigureSamples,
    FigureVerdict,
    Judgement,
)
from powertui.data.compare.judging import WithinRun, judge
from powertui.data.compare.measured import Measured
from powertui.data.compare.run_scatter import MIN_RUNS
from powertui.data.compare.values import ZERO_WHERE_MISSING, ComparedValue, ValueKey
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Sums of a window, which has more of them with more steps.
_TOTALS = (Family.DEVICE_TIME, Family.OPERATOR, Family.KERNEL, Family.KERNEL_NAME)
# Of these a window has dozens, or thousands, and one of them is far off by chance.
_MANY_FIGURES = (Family.OP, *_TOTALS)
_PARTS_OF_A_STEP = (Family.OP, Family.CATEGORY)


@dataclass(frozen=True)
class Unmatched:
    """A figure that one side alone has."""

    side: str  # "a" or "b"
    family: Family
    name: str
    unit: str
    value: float
    within: str = ""
    judgement: Judgement | None = (
        None  # of a part of a step: beside runs without it, which took 0 s
    )

    @property
    def differs(self) -> bool:
        """Whether runs without it stand out from runs with it."""
        return self.judgement is not None and self.judgement.verdict is FigureVerdict.DIFFERS


@dataclass(frozen=True)
class Matched:
    """The figures of both sides, and those of one alone."""

    figures: tuple[ComparedFigure, ...]
    unmatched: tuple[Unmatched, ...]

    def figure(self, key: ValueKey) -> ComparedFigure | None:
        """The figure of this name, where both sides have it."""
        for figure in self.figures:
            if (figure.family, figure.name, figure.within) == (key.family, key.name, key.within):
                return figure
        return None


@dataclass(frozen=True)
class MatchedStretches:
    """Two stretches of one run."""

    length: int  # steps of one of them
    gap: float  # what lies between them, in lengths
    is_even: bool = True  # whether both have as many steps


def matched(
    a: Sequence[Measured],
    b: Sequence[Measured],
    stretches: MatchedStretches | None,
) -> Matched:
    """Every figure that both sides have, judged, in the order of A; then those of one side."""
    figures, unmatched = [], []
    places = _places(a, b)
    if stretches is not None:
        counts = _counts_with_blocks(a, b)
    else:
        counts = Counter()
    for key in dict.fromkeys(key for run in (*a, *b) for key in run.values):
        samples_a = _samples(a, key, places.of_a)
        samples_b = _samples(b, key, places.of_b)
        if samples_a.runs and samples_b.runs:
            within_run = None
            if stretches is not None:
                value_a = a[0].values[key]
                value_b = b[0].values[key]
                within_run = _within_run(value_a, value_b, stretches)
                within_run = replace(
                    within_run,
                    figures=counts[key.family],
                    needs_share=key.family in _MANY_FIGURES,
                    is_other_total=key.family in _TOTALS and not stretches.is_even,
                )
            figures.append(
                ComparedFigure(
                    family=key.family,
                    name=key.name,
                    unit=key.unit,
                    a=samples_a.mean,
                    b=samples_b.mean,
                    judgement=judge(samples_a, samples_b, within_run, name=key.name),
                    within=key.within,
                    name_b=_name_in_b(b, key),
                )
            )
            continue
        unmatched.append(_one_sided(key, samples_a, samples_b, places))
    return Matched(tuple(figures), tuple(unmatched))


def _counts_with_blocks(a: Sequence[Measured], b: Sequence[Measured]) -> Counter[Family]:
    """How many figures of each family two stretches of one run can be told apart by."""
    counts: Counter[Family] = Counter()
    for key, value in a[0].values.items():
        other = b[0].values.get(key)
        # The three figures of a step's time, and joules and watts, are nearly one.
        if key.family in _MANY_FIGURES and value.blocks and other is not None and other.blocks:
            counts[key.family] += 1
    return counts


def _name_in_b(b: Sequence[Measured], key: ValueKey) -> str:
    """What B calls it, where that is another name than A's."""
    names = []
    for run in b:
        if key in run.values:
            names.append(run.values[key].own_name or key.name)
    if names and names[0] != key.name:
        return names[0]
    return ""


def _one_sided(key: ValueKey, a: FigureSamples, b: FigureSamples, sides: _Places) -> Unmatched:
    """A figure that one side has; in the account of a step its runs are held against zeros."""
    if a.runs:
        side, samples = ("a", a)
    else:
        side, samples = ("b", b)
    judgement = None
    if key.family in _PARTS_OF_A_STEP and min(sides.runs) >= MIN_RUNS:
        runs_a, runs_b = sides.runs
        zeros_a = FigureSamples(a.runs or (0.0,) * runs_a, places=sides.of_a)
        zeros_b = FigureSamples(b.runs or (0.0,) * runs_b, places=sides.of_b)
        judgement = judge(zeros_a, zeros_b, name=key.name)
    return Unmatched(
        side=side,
        family=key.family,
        name=key.name,
        unit=key.unit,
        value=samples.mean,
        within=key.within,
        judgement=judgement,
    )


def _within_run(a: ComparedValue, b: ComparedValue, stretches: MatchedStretches) -> WithinRun:
    """How two stretches of one run lie, and how many pairs of such windows differ as much."""
    share = None
    if a.series is not None and a.value > 0 and b.value > 0:
        ratio = math.log(b.value / a.value)
        length = max(1, round(stretches.length / a.steps_per_value))
        share = drift.share_as_far_apart(a.series, length, ratio)
    return WithinRun(stretches.gap, share)


class _Places(NamedTuple):
    """How many runs the sides have, and where each lies by when it was recorded."""

    runs: tuple[int, int]
    of_a: tuple[float, ...]  # empty where that is not known
    of_b: tuple[float, ...]


def _places(a: Sequence[Measured], b: Sequence[Measured]) -> _Places:
    starts_a = [run.start_ns for run in a]
    starts_b = [run.start_ns for run in b]
    of_a, of_b = turns.places_by_start(starts_a, starts_b)
    return _Places((len(a), len(b)), of_a, of_b)


def _samples(runs: Sequence[Measured], key: ValueKey, places: Sequence[float]) -> FigureSamples:
    having = [at for at, run in enumerate(runs) if key in run.values]
    if not having:
        return FigureSamples(())
    if key.family in ZERO_WHERE_MISSING:
        having = list(range(len(runs)))
    numbers = []
    for at in having:
        value = runs[at].values.get(key)
        numbers.append(0.0 if value is None else value.value)
    blocks: tuple[float, ...] = ()
    if len(runs) == 1:
        blocks = runs[0].values[key].blocks
    if places:
        places_of_runs = [places[at] for at in having]
    else:
        places_of_runs = []
    return FigureSamples(tuple(numbers), blocks, tuple(places_of_runs))

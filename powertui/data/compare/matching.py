"""Figures of both sides brought together by name; what has no counterpart is listed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from powertui.data.compare import drift
from powertui.data.compare.figure import ComparedFigure, Family, FigureSamples
from powertui.data.compare.judging import WithinRun, judge
from powertui.data.compare.measured import Measured
from powertui.data.compare.values import ComparedValue, ValueKey
from powertui.value_types import dataclass

# Of these a run that lacks the name spent no time in it; of others it did not measure it.
_ZERO_WHERE_MISSING = (
    Family.OP,
    Family.OPERATOR,
    Family.KERNEL,
    Family.KERNEL_NAME,
    Family.CATEGORY,
)


@dataclass(frozen=True)
class Unmatched:
    """A figure that one side alone has."""

    side: str  # "a" or "b"
    family: Family
    name: str
    unit: str
    value: float
    within: str = ""


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


def matched(
    a: Sequence[Measured], b: Sequence[Measured], stretches: MatchedStretches | None
) -> Matched:
    """Every figure that both sides have, judged, in the order of A; then those of one side."""
    figures, unmatched = [], []
    for key in dict.fromkeys(key for run in (*a, *b) for key in run.values):
        samples_a, samples_b = _samples(a, key), _samples(b, key)
        if samples_a.runs and samples_b.runs:
            within_run = None
            if stretches is not None:
                within_run = _within_run(a[0].values[key], b[0].values[key], stretches)
            figures.append(
                ComparedFigure(
                    family=key.family,
                    name=key.name,
                    unit=key.unit,
                    a=samples_a.mean,
                    b=samples_b.mean,
                    judgement=judge(samples_a, samples_b, within_run),
                    within=key.within,
                )
            )
            continue
        side, samples = ("a", samples_a) if samples_a.runs else ("b", samples_b)
        unmatched.append(Unmatched(side, key.family, key.name, key.unit, samples.mean, key.within))
    return Matched(tuple(figures), tuple(unmatched))


def _within_run(a: ComparedValue, b: ComparedValue, stretches: MatchedStretches) -> WithinRun:
    """How two stretches of one run lie, and how many pairs of such windows differ as much."""
    share = None
    if a.series is not None and a.value > 0 and b.value > 0:
        ratio = math.log(b.value / a.value)
        share = drift.share_as_far_apart(a.series, stretches.length, ratio)
    return WithinRun(stretches.gap, share)


def _samples(runs: Sequence[Measured], key: ValueKey) -> FigureSamples:
    values = [run.values[key] for run in runs if key in run.values]
    if not values:
        return FigureSamples(())
    numbers = [value.value for value in values]
    if key.family in _ZERO_WHERE_MISSING:
        numbers += [0.0] * (len(runs) - len(values))
    blocks = values[0].blocks if len(runs) == 1 else ()
    return FigureSamples(tuple(numbers), blocks)

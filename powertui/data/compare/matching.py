"""Figures of both sides brought together by name; what has no counterpart is listed."""

from __future__ import annotations

from collections.abc import Sequence

from powertui.data.compare.figure import Family, Figure, Samples
from powertui.data.compare.judging import WithinRun, judge
from powertui.data.compare.measured import Measured
from powertui.data.compare.values import Key
from powertui.value_types import dataclass

# Of these a run that lacks the name spent no time in it; of others it did not measure it.
_ZERO_WHERE_MISSING = (Family.OP, Family.KERNEL, Family.KERNEL_NAME, Family.CATEGORY)


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

    figures: tuple[Figure, ...]
    unmatched: tuple[Unmatched, ...]

    def figure(self, key: Key) -> Figure | None:
        """The figure of this name, where both sides have it."""
        for figure in self.figures:
            if (figure.family, figure.name, figure.within) == (key.family, key.name, key.within):
                return figure
        return None


def matched(a: Sequence[Measured], b: Sequence[Measured], within_run: WithinRun | None) -> Matched:
    """Every figure that both sides have, judged, in the order of A; then those of one side."""
    figures, unmatched = [], []
    for key in dict.fromkeys(key for run in (*a, *b) for key in run.values):
        samples_a, samples_b = _samples(a, key), _samples(b, key)
        if not samples_a.runs or not samples_b.runs:
            side, samples = ("a", samples_a) if samples_a.runs else ("b", samples_b)
            unmatched.append(
                Unmatched(side, key.family, key.name, key.unit, samples.mean, key.within)
            )
            continue
        judgement = judge(samples_a, samples_b, within_run)
        figures.append(
            Figure(
                key.family,
                key.name,
                key.unit,
                samples_a.mean,
                samples_b.mean,
                judgement,
                key.within,
            )
        )
    return Matched(tuple(figures), tuple(unmatched))


def _samples(runs: Sequence[Measured], key: Key) -> Samples:
    values = [run.values[key] for run in runs if key in run.values]
    if not values:
        return Samples(())
    numbers = [value.value for value in values]
    if key.family in _ZERO_WHERE_MISSING:
        numbers += [0.0] * (len(runs) - len(values))
    blocks = values[0].blocks if len(runs) == 1 else ()
    return Samples(tuple(numbers), blocks)

"""Two sides compared: measured run by run, matched by name, judged, and put into a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.compare import causes as cause_accounts
from powertui.data.compare import configuration, drift, sentence
from powertui.data.compare.causes import Cause
from powertui.data.compare.configuration import Setting
from powertui.data.compare.figure import Family, Figure
from powertui.data.compare.judging import WithinRun, judge_family
from powertui.data.compare.matching import Matched, Unmatched, matched
from powertui.data.compare.measured import Measured, StepSeries, measure, merged
from powertui.data.compare.part import Side
from powertui.errors import UsageError
from powertui.value_types import dataclass


@dataclass(frozen=True)
class ComparedSide:
    """A side as it was compared."""

    name: str
    runs: tuple[str, ...]


@dataclass(frozen=True)
class ConclusionChange:
    """A kind of conclusion that one side has and the other lacks."""

    change: str  # "came" or "went"
    kind: str
    sentence: str
    runs: int  # of its side that have it
    of: int


@dataclass(frozen=True)
class Comparison:
    """The answer. `causes` add up to the difference of the mean step."""

    a: ComparedSide
    b: ComparedSide
    sentence: str
    configuration: tuple[Setting, ...]
    figures: tuple[Figure, ...]
    causes: tuple[Cause, ...]
    conclusions: tuple[ConclusionChange, ...]
    unmatched: tuple[Unmatched, ...]
    notes: tuple[str, ...]


def compare(a: Side, b: Side) -> Comparison:
    """What differs from A to B. Raises `UsageError` where a side holds no run."""
    runs_a, runs_b = _measured(a), _measured(b)
    within_run = _within_run(runs_a, runs_b)
    together = matched(runs_a, runs_b, within_run)
    figures = _judged_families(together.figures)
    together = Matched(figures, together.unmatched)
    causes = cause_accounts.causes(together)
    sides = sentence.Counts(len(runs_a), len(runs_b), within_run is not None)
    return Comparison(
        a=_compared(a, runs_a),
        b=_compared(b, runs_b),
        sentence=sentence.answer(together, causes, sides),
        configuration=configuration.differing_settings(
            [run.settings for run in runs_a], [run.settings for run in runs_b]
        ),
        figures=figures,
        causes=causes,
        conclusions=_conclusion_changes(runs_a, runs_b),
        unmatched=together.unmatched,
        notes=_notes(runs_a, runs_b),
    )


def _compared(side: Side, runs: Sequence[Measured]) -> ComparedSide:
    return ComparedSide(side.name, tuple(run.name for run in runs))


def _measured(side: Side) -> list[Measured]:
    """One for each start of a program."""
    by_program: dict[str, list[Measured]] = {}
    for part in side.parts:
        session = measure(part)
        by_program.setdefault(session.program, []).append(session)
    if not by_program:
        raise UsageError(f"{side.name} holds no run to compare.", hint="powertui doctor PATH")
    return [merged(sessions) for sessions in by_program.values()]


def _judged_families(figures: Sequence[Figure]) -> tuple[Figure, ...]:
    out: list[Figure] = []
    for family in Family:
        out += judge_family([figure for figure in figures if figure.family is family])
    return tuple(out)


def _within_run(a: Sequence[Measured], b: Sequence[Measured]) -> WithinRun | None:
    """How the two stretches lie in their run; None where they are of different runs."""
    if len(a) != 1 or len(b) != 1 or a[0].series is None or b[0].series is None:
        return None
    first, second = sorted((a[0].series, b[0].series), key=lambda series: series.first)
    if first.run != second.run:
        return None
    length = (first.count + second.count) // 2
    return WithinRun(
        gap=max(0.0, (second.first - first.last - 1) / length),
        alike_share=_alike_share(first, second, length),
    )


def _alike_share(first: StepSeries, second: StepSeries, length: int) -> float | None:
    means = [
        float(series.seconds[series.first : series.last + 1].mean()) for series in (first, second)
    ]
    if min(means) <= 0:
        return None
    return drift.share_as_far_apart(first.seconds, length, float(np.log(means[1] / means[0])))


def _conclusion_changes(
    a: Sequence[Measured], b: Sequence[Measured]
) -> tuple[ConclusionChange, ...]:
    changes = []
    for change, having, lacking in (("went", a, b), ("came", b, a)):
        for kind in dict.fromkeys(kind for run in having for kind in run.conclusions):
            if any(kind in run.conclusions for run in lacking):
                continue
            sentences = [run.conclusions[kind] for run in having if kind in run.conclusions]
            changes.append(
                ConclusionChange(change, kind, sentences[0], len(sentences), len(having))
            )
    return tuple(changes)


def _notes(a: Sequence[Measured], b: Sequence[Measured]) -> tuple[str, ...]:
    notes = [note for run in (*a, *b) for note in run.notes]
    for label, runs in (("A", a), ("B", b)):
        reasons = [run.no_power for run in runs if run.no_power]
        if reasons:
            which = (
                label if len(reasons) == len(runs) else f"{len(reasons)} of {len(runs)} in {label}"
            )
            notes.append(f"No joules for {which}: {reasons[0]}.")
    return tuple(dict.fromkeys(notes))

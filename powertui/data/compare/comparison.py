"""Two sides compared: measured run by run, matched by name, judged, and put into a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from powertui.data.compare import causes as cause_accounts
from powertui.data.compare import configuration, run_scatter, sentence
from powertui.data.compare.causes import Cause
from powertui.data.compare.configuration import Setting
from powertui.data.compare.figure import (
    Basis,
    ComparedFigure,
    Family,
    FigureVerdict,
    Judgement,
)
from powertui.data.compare.joint_kernels import with_joint_kernels
from powertui.data.compare.judging import judge_family
from powertui.data.compare.matching import Matched, MatchedStretches, Unmatched, matched
from powertui.data.compare.measured import Measured, measure, merged
from powertui.data.compare.op_counterparts import with_common_names
from powertui.data.compare.part import AskedSide
from powertui.data.logdir import RunEntry
from powertui.data.logdir.copies import Recordings
from powertui.errors import UnreadableFile
from powertui.value_types import dataclass

_SAME_STEPS_ANSWER = "A and B are the same steps of the same run, so nothing can differ."
_SAME_RUNS_ANSWER = "A and B are the same runs, so nothing can differ."
_COPIES_ANSWER = (
    "A and B have the same figures to the last digit: they are copies of one recording."
)
_COPIED_RUNS_ANSWER = (
    "The runs of A and B are copies of the same recordings, so nothing can differ."
)
_MIN_FIGURES_OF_COPIES = 8  # that must be equal: two runs of one program may share a few counts


@dataclass(frozen=True)
class ComparedSide:
    """A side as it was compared."""

    name: str
    runs: tuple[str, ...]
    entries: tuple[RunEntry, ...] = ()  # of the runs, for who looks for notes on them


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
    figures: tuple[ComparedFigure, ...]
    causes: tuple[Cause, ...]
    conclusions: tuple[ConclusionChange, ...]
    unmatched: tuple[Unmatched, ...]
    notes: tuple[str, ...]


def compare(a: AskedSide, b: AskedSide) -> Comparison:
    """What differs from A to B. Raises `UnreadableFile` where a side holds no run."""
    runs_a = _measured(a)
    runs_b = _measured(b)
    together = judged(runs_a, runs_b)
    recordings = Recordings()
    same = _why_the_same(runs_a, runs_b, together, recordings)
    if same:
        together = _of_same_steps(together)
    causes = cause_accounts.causes(together)
    same_run = _stretches(runs_a, runs_b) is not None
    sides = sentence.Counts(
        a=len(runs_a), b=len(runs_b), same_run=same_run, is_a_first=_is_a_first(runs_a, runs_b)
    )
    answer = same or sentence.answer(together, causes, sides)
    return Comparison(
        a=_compared(a, runs_a),
        b=_compared(b, runs_b),
        sentence=answer,
        configuration=configuration.differing_settings(
            [run.settings for run in runs_a], [run.settings for run in runs_b]
        ),
        figures=together.figures,
        causes=causes,
        conclusions=_conclusion_changes(runs_a, runs_b),
        unmatched=together.unmatched,
        notes=_notes((a, b), runs_a, runs_b, recordings),
    )


def _why_the_same(
    a: Sequence[Measured],
    b: Sequence[Measured],
    together: Matched,
    recordings: Recordings,
) -> str:
    """That both sides are one thing, which was most likely named twice unmeant; "" where not."""
    if len(a) > 1 or len(b) > 1:
        if _identities(a) == _identities(b):
            return _SAME_RUNS_ANSWER
        copies_in_a = _in_both(a, b, recordings)
        copies_in_b = _in_both(b, a, recordings)
        if len(copies_in_a) == len(a) and len(copies_in_b) == len(b):
            return _COPIED_RUNS_ANSWER
        return ""
    first = a[0].stretch
    second = b[0].stretch
    if first is not None and first == second:
        return _SAME_STEPS_ANSWER
    is_equal = all(figure.difference == 0 for figure in together.figures)
    is_copy = is_equal and not together.unmatched
    if is_copy and len(together.figures) >= _MIN_FIGURES_OF_COPIES:
        return _COPIES_ANSWER
    return ""


def _identities(runs: Sequence[Measured]) -> set[tuple[tuple[str, ...], str]]:
    """The files of each run, and what it is called with its window."""
    identities = set()
    for run in runs:
        paths = tuple(entry.path for entry in run.entries)
        identities.add((paths, run.name))
    return identities


def _in_both(a: Sequence[Measured], b: Sequence[Measured], recordings: Recordings) -> list[str]:
    """The names of the runs of A that are runs of B, too, or copies of such."""
    names = []
    for run in a:
        if any(_is_same_stretch(run, run_of_b, recordings) for run_of_b in b):
            names.append(run.name)
    return names


def _is_same_stretch(run: Measured, other: Measured, recordings: Recordings) -> bool:
    """Whether both are the same part of one recording."""
    if len(run.entries) != len(other.entries):
        return False
    if _window_words(run) != _window_words(other):
        return False
    return all(map(recordings.are_copies, run.entries, other.entries))


def _window_words(run: Measured) -> str:
    """What stands behind the name of the recording: which stretch of it is meant."""
    if run.entries:
        return run.name.removeprefix(run.entries[0].name)
    return run.name


def _of_same_steps(compared: Matched) -> Matched:
    """Figures that are held against themselves: there is nothing to tell."""
    nothing = Judgement(FigureVerdict.WITHIN_NOISE, Basis.NONE, why="both are the same steps")
    return Matched(
        tuple(replace(figure, judgement=nothing) for figure in compared.figures),
        compared.unmatched,
    )


def _compared(side: AskedSide, runs: Sequence[Measured]) -> ComparedSide:
    names = tuple(run.name for run in runs)
    entries = tuple(entry for run in runs for entry in run.entries)
    return ComparedSide(side.name, names, entries)


def _measured(side: AskedSide) -> list[Measured]:
    """One for each start of a program."""
    by_program: dict[str, list[Measured]] = {}
    for session in side.each(measure):
        by_program.setdefault(session.program, []).append(session)
    if not by_program:
        raise UnreadableFile(side.name, "holds no run that can be read")
    return [merged(sessions) for sessions in by_program.values()]


def judged(a: Sequence[Measured], b: Sequence[Measured]) -> Matched:
    """All figures of both sides with their verdicts, family by family."""
    runs = with_common_names([*a, *b])
    runs_a = runs[: len(a)]
    runs_b = runs[len(a) :]
    sides = with_joint_kernels(runs_a, runs_b)
    together = matched(*sides, _stretches(a, b))
    figures: list[ComparedFigure] = []
    unmatched: list[Unmatched] = []
    for family in Family:
        rows = [row for row in together.figures if row.family is family]
        one_sided = [row for row in together.unmatched if row.family is family]
        # What one side lacks is judged with its family: chance makes such differences, too.
        beside_zero = [_beside_zero(row) for row in one_sided]
        judged_rows = judge_family([*rows, *beside_zero])
        figures += judged_rows[: len(rows)]
        judged_one_sided = judged_rows[len(rows) :]
        for row, figure in zip(one_sided, judged_one_sided, strict=True):
            judgement = row.judgement and figure.judgement
            unmatched.append(replace(row, judgement=judgement))
    return Matched(tuple(figures), tuple(unmatched))


def _beside_zero(row: Unmatched) -> ComparedFigure:
    """What one side alone has as a figure, so that it is judged with the others of its family."""
    nothing = Judgement(FigureVerdict.CANNOT_TELL, Basis.NONE)
    return ComparedFigure(
        family=row.family,
        name=row.name,
        unit=row.unit,
        a=row.value if row.side == "a" else 0.0,
        b=row.value if row.side == "b" else 0.0,
        judgement=row.judgement or nothing,
        within=row.within,
    )


def _stretches(a: Sequence[Measured], b: Sequence[Measured]) -> MatchedStretches | None:
    """How the two sides lie in their run; None where they are of different runs."""
    if len(a) != 1 or len(b) != 1:
        return None
    first = a[0].stretch
    second = b[0].stretch
    if first is None or second is None or first.run != second.run:
        return None
    if second.first < first.first:
        first, second = second, first
    length = (first.count + second.count) // 2
    steps_between = max(0, second.first - first.last - 1)
    return MatchedStretches(
        length=length,
        gap=steps_between / length,
        is_even=first.count == second.count,
    )


def _conclusion_changes(
    a: Sequence[Measured],
    b: Sequence[Measured],
) -> tuple[ConclusionChange, ...]:
    went = _one_sided("went", a, b)
    came = _one_sided("came", b, a)
    return (*went, *came)


def _one_sided(
    change: str,
    having: Sequence[Measured],
    lacking: Sequence[Measured],
) -> Iterator[ConclusionChange]:
    """Kinds of conclusions that no run of the other side has."""
    sentences: dict[str, list[str]] = {}
    for run in having:
        for kind, text in run.conclusions.items():
            sentences.setdefault(kind, []).append(text)
    for kind, texts in sentences.items():
        if not any(kind in run.conclusions for run in lacking):
            yield ConclusionChange(
                change=change,
                kind=kind,
                sentence=texts[0],
                runs=len(texts),
                of=len(having),
            )


def _notes(
    sides: tuple[AskedSide, AskedSide],
    a: Sequence[Measured],
    b: Sequence[Measured],
    recordings: Recordings,
) -> tuple[str, ...]:
    side_a, side_b = sides
    notes: list[str] = [*side_a.notes, *side_b.notes]
    notes += _shared_runs(a, b, recordings)
    notes += _left_out_steps((*a, *b))
    for label, runs in (("A", a), ("B", b)):
        reasons = [run.no_power for run in runs if run.no_power]
        if not reasons:
            continue
        which = label
        if len(reasons) < len(runs):
            which = f"{len(reasons)} of {len(runs)} in {label}"
        notes.append(f"No joules for {which}: {reasons[0]}.")
    if _is_a_first(a, b) is not None:
        notes.append(
            "All runs of one side were recorded before those of the other: what changed on the "
            "machine in between would look the same. Record them in turns."
        )
    return tuple(dict.fromkeys(notes))


def _shared_runs(
    a: Sequence[Measured],
    b: Sequence[Measured],
    recordings: Recordings,
) -> Iterator[str]:
    """Runs that two patterns both match, and copies of a run of the other side."""
    if len(a) == 1 and len(b) == 1:
        return
    shared = sorted(_in_both(a, b, recordings))
    if not shared:
        return
    count = len(shared)
    if count == 1:
        which = "1 run is"
    else:
        which = f"{count} runs are"
    if count > 1:
        others = f" and {count - 1} more"
    else:
        others = ""
    yield f"{which} on both sides, which hides a difference: {shared[0]}{others}."


def _left_out_steps(runs: Sequence[Measured]) -> Iterator[str]:
    """Steps that are not compared; runs that lack as many together."""
    by_count: dict[int, list[str]] = {}
    for run in runs:
        for name, count in run.left_out:
            by_count.setdefault(count, []).append(name)
    for count, names in by_count.items():
        first, *others = dict.fromkeys(names)
        if others:
            each = f" and {len(others)} more, each"
        else:
            each = ""
        if count == 1:
            steps = "1 step is"
            why = "it traces, or its work is"
        else:
            steps = f"{count:,} steps are"
            why = "they trace, or their work is"
        yield f"{first}{each}: {steps} left out: {why} not in the file."


def _is_a_first(a: Sequence[Measured], b: Sequence[Measured]) -> bool | None:
    """Whether two groups of runs were recorded as two blocks, A's first. None where they were not,
    or where that is not known.
    """
    starts_a = [run.start_ns for run in a if run.start_ns is not None]
    starts_b = [run.start_ns for run in b if run.start_ns is not None]
    if len(starts_a) < len(a) or len(starts_b) < len(b):
        return None
    if min(len(a), len(b)) < run_scatter.MIN_RUNS:
        return None
    if max(starts_a) < min(starts_b):
        return True
    if max(starts_b) < min(starts_a):
        return False
    return None

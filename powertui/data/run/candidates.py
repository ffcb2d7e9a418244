"""What could mark the steps of a trace: events with step numbers, lines that collectors drew, and
whatever runs again and again.

Each is found by itself; `marker_choice` judges them. Launches are looked for only when nothing else
convinces: that asks every name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from powertui.data.model import Bools, Int64s, Process, ProcessKind, Trace, Track, TrackKind
from powertui.data.run import marks
from powertui.data.run.marks import Marks
from powertui.value_types import dataclass

# What a candidate's numbers are worth.
OWN_NUMBERS, NAMED, TITLED, _ROOT, NONE = 1.0, 0.9, 0.7, 0.4, 0.0

_PROFILER_STEP = re.compile(r"^ProfilerStep\s*#?\s*\d+$")
_OPTIMIZER = "Optimizer.step#"
_DIGITS = re.compile(r"\d+")
_IMPLICIT = frozenset(
    {"FunctionRun", "SessionRun", "RunGraph", "ExecutorState::Process", "Session::Run"}
)
# Two kinds of marks are two series where one is so many times as frequent, this share of each
# counts one by one, and a mark of one kind takes this part of the other's time at least. Chosen,
# not measured: GANs recorded with 3 and 4 critics for each generator are far from all of them.
_MIN_TURN_RATIO = 1.2
_MIN_COUNTED_SHARE = 0.9
_MIN_ALIKE_LENGTH = 0.1
# Fewer launches repeat nothing.
MIN_LAUNCHES = 3


@dataclass(frozen=True, eq=False)
class Candidate:
    """Marks that could be steps."""

    title: str  # for a person: Steps.source
    pattern: str  # what --step-marker takes to choose them
    marks: Marks  # by start
    numbering: float  # how much its numbers are worth
    device: bool = False  # the marks lie on devices
    apart: bool = False  # each line is one device's own steps
    inferred: bool = False  # nothing marks steps: it only repeats
    repeats: str = "launches"  # what does
    doubt: str = ""  # why it may be something else
    whole: bool = False  # the mark is the step by definition: no device's stretch takes its place
    share: float | None = (
        None  # of XLA's ops on the host that its launches ran, where that is known
    )
    trains: bool = False  # its program computes gradients
    by_kind: bool = False  # several series, each with numbers of its own


def explicit_candidates(found_marks: Marks) -> list[Candidate]:
    """One candidate for each kind of event that carries a step number, a step name or a
    root level.
    """
    families: dict[str, list[int]] = {}
    carrying = found_marks.numbered | (found_marks.epoch >= 0) | found_marks.explicit
    family = {kind: _DIGITS.sub("#", kind) for kind in set(found_marks.kinds)}
    if carrying.any():
        for row in np.flatnonzero(carrying).tolist():
            families.setdefault(family[found_marks.kinds[row]], []).append(row)
    elif len(
        found_marks
    ):  # roots without a mark of the program's: the steps where there are no others
        families[""] = list(range(len(found_marks)))
    made = [_of_family(found_marks.take(np.array(rows, np.int64))) for rows in families.values()]
    return made + list(_joint(made))


def _of_family(family: Marks) -> Candidate:
    numbered = bool((family.numbered | (family.epoch >= 0)).any())
    numbering = OWN_NUMBERS if numbered else TITLED if family.titled.any() else _ROOT
    return Candidate(_describe(family), pattern_of(family.kinds), family, numbering)


def _joint(made: list[Candidate]) -> Iterator[Candidate]:
    """Two kinds of marks that share the work: each counts some of the steps, or both are parts of
    every step.
    """
    numbered = [first for first in made if first.numbering == OWN_NUMBERS and len(first.marks) > 1]
    for index, first in enumerate(numbered):
        for second in numbered[index + 1 :]:
            together = marks.join_marks([first.marks, second.marks])
            if len(together.outermost()) < 0.95 * len(together):
                continue
            shared = float(np.isin(second.marks.number, first.marks.number).mean())
            first_ps, second_ps = (
                float(first.marks.duration.sum()),
                float(second.marks.duration.sum()),
            )
            alike = min(first_ps, second_ps) > 0.5 * max(first_ps, second_ps)
            in_turn = interleaved(first.marks, second.marks)
            two_counters = _two_counters(first.marks, second.marks)
            if not two_counters and not (in_turn and alike and (shared < 0.1 or shared > 0.9)):
                continue
            by_kind = two_counters or (shared > 0.9 and len(first.marks) != len(second.marks))
            names = f"{first.marks.kinds[0][:60]} and {second.marks.kinds[0][:60]}"
            doubt = (
                f"{names} share the time, each with numbers of its own: two halves of "
                "a step, or two tasks"
            )
            yield Candidate(
                _describe(together),
                pattern_of(together.kinds),
                together,
                OWN_NUMBERS,
                doubt=doubt if shared > 0.9 and not by_kind else "",
                by_kind=by_kind,
            )


def _two_counters(first: Marks, second: Marks) -> bool:
    """Whether two kinds of marks take turns, one of them more often, and each counts its own: the
    critic of a GAN that runs five times for each run of its generator.

    What a program does besides, every few steps, has the number of its step.
    """
    rarer, other = sorted((first, second), key=len)
    if len(rarer) < MIN_LAUNCHES or len(other) < _MIN_TURN_RATIO * len(rarer):
        return False
    counts_itself = all(
        (np.diff(kind.number) == 1).mean() >= _MIN_COUNTED_SHARE for kind in (rarer, other)
    )
    lengths = sorted(float(np.median(kind.duration)) for kind in (rarer, other))
    # Between two of the rarer kind lies one of the other, nearly always.
    between = np.diff(other.start.searchsorted(rarer.start)) > 0
    return (
        counts_itself
        and lengths[0] > _MIN_ALIKE_LENGTH * lengths[1]
        and bool(between.mean() >= _MIN_COUNTED_SHARE)
    )


def pattern_of(kinds: list[str]) -> str:
    """A regex that these names match, and hardly any other."""
    names = sorted({_DIGITS.sub("#", kind) for kind in set(kinds)})[:4]
    texts = [escaped(name).replace(r"\#", r"\d+") for name in names]
    return f"^{texts[0]}$" if len(texts) == 1 else f"^({'|'.join(texts)})$"


def escaped(name: str) -> str:
    """A regex of this name, as a person would write it."""
    return re.escape(name).replace(r"\ ", " ").replace(r"\-", "-")


def _describe(chosen: Marks) -> str:
    """What marks these steps, for a person."""
    kinds = Counter(chosen.kinds)
    names = sorted(kinds, key=lambda kind: -kinds[kind])
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more names" if len(names) > 3 else "")
    stat = (
        "step_num" if chosen.numbered.any() else "step_name" if chosen.titled.any() else "root mark"
    )
    extra = " and an epoch_num" if (chosen.epoch >= 0).any() else ""
    return f"events named {shown} with a {stat}{extra}"


def cut_marks(roots: Marks, chosen: Marks) -> Marks:
    """Roots of groups before the first and after the last of the chosen marks: steps whose own mark
    the profile's end cut off.
    """
    if not len(chosen) or not (chosen.group >= 0).any():
        return marks.join_marks([])
    implicit = np.fromiter((kind in _IMPLICIT for kind in roots.kinds), np.bool_, len(roots))
    beyond = (roots.start >= int((chosen.start + chosen.duration).max())) | (
        roots.start + roots.duration <= int(chosen.start.min())
    )
    unmarked = (
        roots.titled
        & ~roots.numbered
        & ~roots.explicit
        & implicit
        & beyond
        & ~np.isin(roots.group, chosen.group)
    )
    bare = roots.take(unmarked).outermost()
    return replace(bare, number=np.full(len(bare), -1, np.int64))


def without_undrawn(all_marks: Marks, lines: Candidate | None) -> Marks:
    """Without the roots of groups that ran on no device, where collectors drew the devices' steps:
    a loader's graphs.
    """
    if lines is None:
        return all_marks
    implicit = np.fromiter(
        (kind in _IMPLICIT for kind in all_marks.kinds), np.bool_, len(all_marks)
    )
    bare = (
        implicit
        & all_marks.titled
        & ~all_marks.numbered
        & ~all_marks.explicit
        & (all_marks.group >= 0)
    )
    drawn = np.where(
        lines.marks.group >= 0, lines.marks.group, lines.marks.number
    )  # old lines are labelled by the group
    return all_marks.take(~(bare & ~np.isin(all_marks.group, drawn)))


# ── lines and names ──────────────────────────────────────────────────────────────────────────────


def device_lines(trace: Trace) -> Candidate | None:
    """`Steps` lines that the collector drew, one for each device."""
    parts: list[Marks] = []
    planes: list[str] = []
    for line, (process, track) in enumerate(trace.tracks()):
        if (
            track.kind is TrackKind.STEPS
            and process.kind is ProcessKind.DEVICE
            and len(track.events)
        ):
            parts.append(_drawn(trace, line, process, track))
            planes.append(process.name)
    every_line = marks.join_marks(parts)
    if not len(every_line):
        return None
    names = sorted(dict.fromkeys(planes))
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return Candidate(
        f"the Steps line of {shown}", r"^\d+$", every_line, NAMED, device=True, apart=True
    )


def _drawn(trace: Trace, line: int, process: Process, track: Track) -> Marks:
    events = track.lane(0)
    made = marks.of_events(trace, line, events)
    columns = process.source.columns(events.position, ("group_id", "step_name", "step_num"))
    named = [columns["step_name"].text(row) for row in range(len(events))]
    number = marks.whole_numbers(columns["step_num"])
    for row, text in enumerate(named):
        if number[row] < 0:
            title_number = marks.trailing_number(text) if text is not None else -1
            number[row] = title_number if title_number >= 0 else made.number[row]
    labels = [text or label for text, label in zip(named, made.labels, strict=True)]
    phase = np.array([marks.phase_of(label) for label in labels], np.int32).reshape(-1)
    return replace(
        made,
        number=number,
        group=marks.whole_numbers(columns["group_id"]),
        labels=labels,
        phase=phase,
    )


def profiler_steps(trace: Trace) -> Candidate | None:
    """`ProfilerStep#N`, on the host where it is there."""
    for kinds in ((ProcessKind.HOST,), (ProcessKind.DEVICE, ProcessKind.OTHER)):
        profiler_marks = marks.marks_by_name(
            trace, lambda name: _PROFILER_STEP.match(name) is not None, kinds=kinds
        )
        if len(profiler_marks):
            return Candidate(
                "events named ProfilerStep#N", r"^ProfilerStep", profiler_marks, NAMED, whole=True
            )
    return None


def optimizer_steps(trace: Trace) -> Candidate | None:
    """PyTorch marks by itself where an optimizer steps: what lies between the ends of two of these
    is one step of the program.
    """
    optimizer_marks = marks.marks_by_name(
        trace, lambda name: name.startswith(_OPTIMIZER), kinds=(ProcessKind.HOST,)
    )
    which = list(zip(optimizer_marks.kinds, optimizer_marks.lines.tolist(), strict=True))
    if not which:
        return None
    often = Counter(which).most_common(1)[0][
        0
    ]  # several optimizers step once a step each: one of them is enough
    mine = [row for row, kind_on_line in enumerate(which) if kind_on_line == often]
    chosen = optimizer_marks.take(np.array(mine, np.int64)).outermost()
    if len(chosen) < MIN_LAUNCHES + 1:
        return None
    ends = chosen.start + chosen.duration
    between = replace(
        chosen.take(np.arange(1, len(chosen))), start=ends[:-1], duration=np.diff(ends)
    )
    numbered = replace(
        between, number=np.arange(len(between)), labels=[f"step {i}" for i in range(len(between))]
    )
    title = f"the time between two {often[0][:80]} (no step marker in the profile)"
    return Candidate(title, rf"^{escaped(often[0])}$", numbered, NONE, inferred=True)


def interleaved(first: Marks, second: Marks) -> bool:
    """Whether marks of each kind lie between those of the other."""
    return bool(first.start[0] < second.start[-1] and second.start[0] < first.start[-1])


def in_marks(outer: Marks, moments: Int64s) -> Bools:
    """Which moments lie in any of these marks."""
    if not len(outer):
        return np.zeros(len(moments), np.bool_)
    until = np.maximum.accumulate(outer.start + outer.duration)
    place = outer.start.searchsorted(moments, side="right") - 1
    return np.asarray((place >= 0) & (moments < until[np.maximum(place, 0)]))

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
from itertools import combinations

import numpy as np

from powertui.data.model import Bools, Int64s, Process, ProcessKind, Trace, Track, TrackKind
from powertui.data.quantiles import median_of_column
from powertui.data.run import marks
from powertui.data.run.marks import Marks, family
from powertui.data.run.stat_carriers import whole_numbers
from powertui.data.sorted_columns import open_at
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

# What a candidate's numbers are worth, a part of its score (`marker_choice`). Chosen, not measured:
# what matters is their order, and that none outweighs how much of the work a marker covers.
OWN_NUMBERS = 1.0  # a stat holds the number of each step
NAMED = 0.9  # the number is in each name
TITLED = 0.7  # the profiler wrote a `step_name`, but no number
_ROOT = 0.4  # roots of the profiler's groups (`_r`), without number and name
NONE = 0.0  # only counted

_PROFILER_STEP = late_pattern(r"^ProfilerStep\s*#?\s*\d+$")
STEP_NAMES = late_pattern(
    r"^(train|TraceContext|Profiled batch|ProfilerStep|train_step|step)\b", re.IGNORECASE
)
BESIDES = late_pattern(
    r"(data|read|load|input|fetch|next|log|metric|callback|summary)(?![a-z])", re.IGNORECASE
)
AROUND = late_pattern(r"(epoch|fit|loop|session)(?![a-z])", re.IGNORECASE)
_OPTIMIZER = "Optimizer.step#"
_IMPLICIT = frozenset(
    {"FunctionRun", "SessionRun", "RunGraph", "ExecutorState::Process", "Session::Run"}
)
# When two kinds of marks are two series. Chosen, not measured: GANs recorded with 3 and 4 critics
# for each generator are far from all of these.
_MIN_TURN_RATIO = 1.2  # one is so many times as frequent as the other
_MIN_COUNTED_SHARE = 0.9  # of each kind counts one by one
_MIN_LENGTH_RATIO = 0.1  # of a mark of one kind to one of the other
# When two kinds of marks share the work of a step. Chosen, not measured.
_MIN_BESIDE_SHARE = 0.95  # of the marks is inside none of the other kind
_MIN_TIME_RATIO = 0.5  # of all marks of one kind to those of the other
_MAX_COMMON_SHARE_APART = 0.1  # of the numbers: each kind counts steps of its own
_MIN_COMMON_SHARE = 0.9  # of the numbers: both kinds count the same steps
# Letters of a mark's name that a sentence shows.
_MAX_NAME = 60
_MAX_NAMES = 3  # that a sentence shows
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
    share: float | None = None  # of XLA's ops on the host: what its launches ran, where known
    trains: bool = False  # its program computes gradients
    by_kind: bool = False  # several series, each with numbers of its own


def explicit_candidates(every_mark: Marks) -> list[Candidate]:
    """One candidate for each kind of event that carries a step number, a step name or a
    root level.
    """
    rows_of_family: dict[str, list[int]] = {}
    carrying = every_mark.numbered | (every_mark.epoch >= 0) | every_mark.explicit
    family_of_kind = {kind: family(kind) for kind in set(every_mark.kinds)}
    for row in np.flatnonzero(carrying).tolist():
        kind = every_mark.kinds[row]
        rows_of_family.setdefault(family_of_kind[kind], []).append(row)
    if not rows_of_family and len(every_mark):
        # Roots without a mark of the program's: the steps where there are no others.
        rows_of_family[""] = list(range(len(every_mark)))
    made = []
    for rows in rows_of_family.values():
        marks_of_family = every_mark.take(np.array(rows, np.int64))
        made.append(_of_family(marks_of_family))
    return made + list(_joint_candidates(made))


def _of_family(family: Marks) -> Candidate:
    numbering = _ROOT
    if (family.numbered | (family.epoch >= 0)).any():
        numbering = OWN_NUMBERS
    elif family.titled.any():
        numbering = TITLED
    return Candidate(
        title=_describe(family),
        pattern=pattern_of(family.kinds),
        marks=family,
        numbering=numbering,
    )


def _joint_candidates(made: list[Candidate]) -> Iterator[Candidate]:
    """Two kinds of marks that share the work: each counts some of the steps, or both are parts of
    every step.
    """
    numbered = [
        candidate.marks
        for candidate in made
        if candidate.numbering == OWN_NUMBERS and len(candidate.marks) > 1
    ]
    for first, second in combinations(numbered, 2):
        candidate = _joint(first, second)
        if candidate is not None:
            yield candidate


def _joint(first: Marks, second: Marks) -> Candidate | None:
    together = marks.join_marks([first, second])
    if len(together.outermost()) < _MIN_BESIDE_SHARE * len(together):
        return None
    common = float(np.isin(second.number, first.number).mean())
    counts_the_same = common > _MIN_COMMON_SHARE
    two_counters = _two_counters(first, second)
    if not two_counters:
        first_ps = float(first.duration.sum())
        second_ps = float(second.duration.sum())
        least_ps = min(first_ps, second_ps)
        most_ps = max(first_ps, second_ps)
        if not interleaved(first, second) or least_ps <= _MIN_TIME_RATIO * most_ps:
            return None
        if not counts_the_same and common >= _MAX_COMMON_SHARE_APART:
            return None
    by_kind = two_counters or (counts_the_same and len(first) != len(second))
    doubt = ""
    if counts_the_same and not by_kind:
        first_kind = first.kinds[0][:_MAX_NAME]
        second_kind = second.kinds[0][:_MAX_NAME]
        doubt = (
            f"{first_kind} and {second_kind} share the time, each with numbers of its own: two "
            "halves of a step, or two tasks"
        )
    return Candidate(
        title=_describe(together),
        pattern=pattern_of(together.kinds),
        marks=together,
        numbering=OWN_NUMBERS,
        doubt=doubt,
        by_kind=by_kind,
    )


def _two_counters(first: Marks, second: Marks) -> bool:
    """Whether two kinds of marks take turns, one of them more often, and each counts its own: the
    critic of a GAN that runs five times for each run of its generator.

    What a program does besides, every few steps, has the number of its step.
    """
    rarer, frequent = sorted((first, second), key=len)
    if len(rarer) < MIN_LAUNCHES or len(frequent) < _MIN_TURN_RATIO * len(rarer):
        return False
    for kind in (rarer, frequent):
        counts_by_one = np.diff(kind.number) == 1
        if counts_by_one.mean() < _MIN_COUNTED_SHARE:
            return False
    shorter, longer = sorted(median_of_column(kind.duration) for kind in (rarer, frequent))
    if shorter <= _MIN_LENGTH_RATIO * longer:
        return False
    # Between two of the rarer kind is one of the frequent, nearly always.
    frequent_before = frequent.start.searchsorted(rarer.start)
    has_one_between = np.diff(frequent_before) > 0
    return bool(has_one_between.mean() >= _MIN_COUNTED_SHARE)


def pattern_of(kinds: list[str]) -> str:
    """A regex that these names match, and hardly any other."""
    names = sorted({family(kind) for kind in set(kinds)})[:4]
    texts = [escaped(name).replace(r"\#", r"\d+") for name in names]
    if len(texts) == 1:
        return f"^{texts[0]}$"
    return f"^({'|'.join(texts)})$"


def escaped(name: str) -> str:
    """A regex of this name, as a person would write it."""
    return re.escape(name).replace(r"\ ", " ").replace(r"\-", "-")


def _describe(chosen: Marks) -> str:
    """What marks these steps, for a person."""
    by_count = [kind for kind, _ in Counter(chosen.kinds).most_common()]
    stat = "root mark"
    if chosen.numbered.any():
        stat = "step_num"
    elif chosen.titled.any():
        stat = "step_name"
    if (chosen.epoch >= 0).any():
        extra = " and an epoch_num"
    else:
        extra = ""
    return f"events named {_first_names(by_count, 'more names')} with a {stat}{extra}"


def _first_names(names: list[str], rest: str) -> str:
    """The first names, and how many `rest` there are."""
    shown = ", ".join(names[:_MAX_NAMES])
    if len(names) > _MAX_NAMES:
        shown += f" and {len(names) - _MAX_NAMES} {rest}"
    return shown


def cut_marks(roots: Marks, chosen: Marks) -> Marks:
    """Roots of groups before the first and after the last of the chosen marks: steps whose own mark
    the profile's end cut off.
    """
    if not len(chosen) or not (chosen.group >= 0).any():
        return marks.join_marks([])
    first_start = int(chosen.start.min())
    last_end = int(chosen.end.max())
    is_after = roots.start >= last_end
    is_before = roots.end <= first_start
    is_beyond = is_after | is_before
    of_other_group = ~np.isin(roots.group, chosen.group)
    is_cut = _bare_roots(roots) & is_beyond & of_other_group
    cut = roots.take(is_cut).outermost()
    return replace(cut, number=np.full(len(cut), -1, np.int64))


def _bare_roots(roots: Marks) -> Bools:
    """Which are titled by the collector alone: the runtime made them, and no program numbered
    them.
    """
    by_runtime = np.array([kind in _IMPLICIT for kind in roots.kinds], np.bool_)
    return by_runtime & roots.titled & ~roots.numbered & ~roots.explicit


def without_undrawn(all_marks: Marks, lines: Candidate | None) -> Marks:
    """Without the roots of groups that ran on no device, where collectors drew the devices' steps:
    a loader's graphs.
    """
    if lines is None:
        return all_marks
    # Lines of old files are labeled by the group.
    line_marks = lines.marks
    drawn = np.where(line_marks.group >= 0, line_marks.group, line_marks.number)
    has_group = all_marks.group >= 0
    is_drawn = np.isin(all_marks.group, drawn)
    is_undrawn_root = _bare_roots(all_marks) & has_group & ~is_drawn
    return all_marks.take(~is_undrawn_root)


# ── lines and names ──────────────────────────────────────────────────────────────────────────────


def device_lines(trace: Trace) -> Candidate | None:
    """`Steps` lines that the collector drew, one for each device."""
    parts: list[Marks] = []
    devices: set[str] = set()
    for line, (process, track) in enumerate(trace.tracks()):
        if track.kind is not TrackKind.STEPS or process.kind is not ProcessKind.DEVICE:
            continue
        if len(track.events):
            parts.append(_drawn(trace, line, process, track))
            devices.add(process.name)
    every_line = marks.join_marks(parts)
    if not len(every_line):
        return None
    return Candidate(
        title=f"the Steps line of {_first_names(sorted(devices), 'more')}",
        pattern=r"^\d+$",
        marks=every_line,
        numbering=NAMED,
        device=True,
        apart=True,
    )


def _drawn(trace: Trace, line: int, process: Process, track: Track) -> Marks:
    events = track.lane(0)
    by_name = marks.of_events(trace, line, events)
    columns = process.source.columns(events.position, ("group_id", "step_name", "step_num"))
    step_name = columns["step_name"]
    number = whole_numbers(columns["step_num"])
    labels = []
    for row in range(len(events)):
        title = step_name.text(row) or ""
        labels.append(title or by_name.labels[row])
        if number[row] < 0:
            title_number = marks.trailing_number(title)
            number[row] = title_number if title_number >= 0 else by_name.number[row]
    return replace(
        by_name,
        number=number,
        group=whole_numbers(columns["group_id"]),
        labels=labels,
        phase=np.array([marks.phase_of(label) for label in labels], np.int32).reshape(-1),
    )


def profiler_steps(trace: Trace) -> Candidate | None:
    """`ProfilerStep#N`, on the host where it is there."""
    for kinds in ((ProcessKind.HOST,), (ProcessKind.DEVICE, ProcessKind.OTHER)):
        profiler_marks = marks.marks_by_name(
            trace, lambda name: _PROFILER_STEP.match(name) is not None, kinds=kinds
        )
        if len(profiler_marks):
            return Candidate(
                title="events named ProfilerStep#N",
                pattern=r"^ProfilerStep",
                marks=profiler_marks,
                numbering=NAMED,
                whole=True,
            )
    return None


def optimizer_steps(trace: Trace) -> Candidate | None:
    """PyTorch marks by itself where an optimizer steps: what is between the ends of two of these
    is one step of the program.
    """
    optimizer_marks = marks.marks_by_name(
        trace, lambda name: name.startswith(_OPTIMIZER), kinds=(ProcessKind.HOST,)
    )
    kind_and_line = list(zip(optimizer_marks.kinds, optimizer_marks.lines.tolist(), strict=True))
    if not kind_and_line:
        return None
    # Several optimizers step once a step each: one of them is enough.
    most_frequent, _ = Counter(kind_and_line).most_common(1)[0]
    rows = [row for row, pair in enumerate(kind_and_line) if pair == most_frequent]
    chosen = optimizer_marks.take(np.array(rows, np.int64)).outermost()
    if len(chosen) < MIN_LAUNCHES + 1:
        return None
    ends = chosen.end
    count = len(chosen) - 1
    between = replace(
        chosen.take(np.arange(1, len(chosen))),
        start=ends[:-1],
        duration=np.diff(ends),
        number=np.arange(count),
        labels=[f"step {i}" for i in range(count)],
    )
    name = most_frequent[0]
    title = f"the time between two {name[:80]} (no step marker in the profile)"
    return Candidate(
        title=title,
        pattern=rf"^{escaped(name)}$",
        marks=between,
        numbering=NONE,
        inferred=True,
    )


def interleaved(first: Marks, second: Marks) -> bool:
    """Whether marks of each kind lie between those of the other."""
    first_begins_before = first.start[0] < second.start[-1]
    second_begins_before = second.start[0] < first.start[-1]
    return bool(first_begins_before and second_begins_before)


def in_marks(outer: Marks, moments: Int64s) -> Bools:
    """Which moments lie in any of these marks."""
    reached = np.maximum.accumulate(outer.end)
    is_inside, _ = open_at(outer.start, reached, moments)
    return is_inside

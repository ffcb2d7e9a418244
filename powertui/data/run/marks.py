"""Which events of a profile mark steps: found by their stats and names, without decoding every
event's stats.

A marker carries `step_num`, `epoch_num` or `step_name`, and all events of one name are of one kind.
So a sample of every line says which names can be markers, and only events of those names are
decoded whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from powertui.data import wire
from powertui.data.model import (
    Bools,
    Events,
    Int32s,
    Int64s,
    Process,
    ProcessKind,
    StatColumn,
    Trace,
    Track,
)
from powertui.data.run.stat_carriers import MARK_STATS, carried, names_of_line, whole_numbers
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

_CARRIES = ("step_num", "step_name", "epoch_num")
_ROOTS = ("_r", "group_id")


STEP_MARKS = ("train", "test", "TraceContext")
_DIGITS = late_pattern(r"\d+")
_TRAILING = late_pattern(r"(-?\d+)\D*$")

# What a mark's name says of the work it marks: Marks.phase counts in these.
PHASES = ("training", "validation", "evaluation", "prediction", "checkpoint", "tracing")
TRAINING = PHASES.index("training")
EVALUATIONS = tuple(PHASES.index(phase) for phase in ("validation", "evaluation", "prediction"))
_WORDS = {
    "validation": "val|valid|validate|validating|validation",
    "evaluation": "test|testing|eval|evaluate|evaluating|evaluation",
    "prediction": "predict|predicting|prediction|infer|inference",
    "checkpoint": "(?:save|write|load|restore)?[_ ]?(?:checkpoint|checkpointing|ckpt)|save",
    "tracing": "tracing|compile|compiling|compilation",
}
_NAMED = tuple(
    (PHASES.index(phase), late_pattern(rf"^(?:(?:run|do|model)[._ ])?(?i:{words})(?![a-z])"))
    for phase, words in _WORDS.items()
)


# The columns of `Marks`: those that are arrays, and those that are lists of texts.
_ARRAYS = (
    "start",
    "duration",
    "number",
    "epoch",
    "explicit",
    "titled",
    "numbered",
    "phase",
    "lines",
    "group",
)
_LISTS = ("labels", "kinds")


@dataclass(frozen=True, eq=False)
class Marks:
    """Candidates for steps, by start. -1 stands for a number that the event does not carry."""

    start: Int64s
    duration: Int64s
    number: Int64s
    epoch: Int64s  # the program's own epoch number
    labels: list[str]  # names for a person
    kinds: list[str]  # the event's name
    explicit: Bools  # named train/test/TraceContext
    # has a step_name: collectors that grouped the events gave it to the root of each group
    titled: Bools
    numbered: Bools  # has a step_num
    phase: Int32s  # what it marks: an index into PHASES
    lines: Int32s  # which line of the trace (index over Trace.tracks())
    group: Int64s  # the collector's group_id

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> Int64s:
        return self.start + self.duration

    def by_line(self) -> Iterator[tuple[int, Int64s]]:
        """Each line with the rows of its marks."""
        for line in wire.distinct(self.lines).tolist():
            yield line, np.flatnonzero(self.lines == line)

    def take(self, rows: Int64s | Bools) -> Marks:
        """Some of them, in their order."""
        if rows.dtype == np.bool_ and rows.all():
            return self
        index = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        if len(index) == len(self) and (index == np.arange(len(self))).all():
            return self
        columns: dict[str, Any] = {}
        for name in _ARRAYS:
            columns[name] = getattr(self, name)[index]
        for name in _LISTS:
            texts = getattr(self, name)
            columns[name] = [texts[i] for i in index.tolist()]
        return Marks(**columns)

    def outermost(self) -> Marks:
        """Without those that lie inside another: a marker within a marker is a detail of it."""
        return self.take(~inside_earlier(self.start, self.end))


def family(kind: str) -> str:
    """A mark's name without its numbers."""
    return _DIGITS.sub("#", kind)


def inside_earlier(start: Int64s, end: Int64s) -> Bools:
    """Which of these stretches, by start, lie inside one that began before."""
    inside = np.zeros(len(start), np.bool_)
    reached = np.maximum.accumulate(end)[:-1]
    inside[1:] = (end[1:] <= reached) & (start[1:] < reached)
    return inside


_NO_MARKS = Marks(
    start=np.empty(0, np.int64),
    duration=np.empty(0, np.int64),
    number=np.empty(0, np.int64),
    epoch=np.empty(0, np.int64),
    labels=[],
    kinds=[],
    explicit=np.empty(0, np.bool_),
    titled=np.empty(0, np.bool_),
    numbered=np.empty(0, np.bool_),
    phase=np.empty(0, np.int32),
    lines=np.empty(0, np.int32),
    group=np.empty(0, np.int64),
)


def marked_events(trace: Trace) -> Marks:
    """All host events with a step number, an epoch number or a step name; of other planes when no
    host has any.
    """
    for on_hosts in (True, False):
        parts: list[Marks] = []
        for process, lines in _planes(trace):
            if (process.kind is ProcessKind.HOST) == on_hosts:
                parts += _marked_of_plane(trace, process, lines)
        if any(len(part) for part in parts):
            return join_marks(parts)
    return join_marks([])


def _marked_of_plane(
    trace: Trace,
    process: Process,
    lines: list[tuple[int, Track]],
) -> Iterator[Marks]:
    tracks = [track for _, track in lines]
    names_with = carried(trace, process, tracks, (*_CARRIES, *_ROOTS))
    rooted = np.logical_or.reduce([names_with[stat] for stat in _ROOTS])
    marking = np.logical_or.reduce([names_with[stat] for stat in _CARRIES])
    marking |= _explicit(trace, rooted, names_with["_r"])
    # Lines without such a name are not read: any of the sampled names shows that.
    with_marks = [
        (line, track)
        for line, track in lines
        if any(marking[names].any() for names in names_of_line(track))
    ]
    return _of_names(trace, process, with_marks, marking, must_carry=True)


def marks_by_name(
    trace: Trace,
    matches: Callable[[str], bool],
    *,
    kinds: Iterable[ProcessKind],
) -> Marks:
    """All events whose full or display name matches, on planes of these kinds."""
    names = trace.names
    matching = np.zeros(len(names), np.bool_)
    for index in range(len(names)):
        matching[index] = matches(names.full(index)) or matches(names.display(index))
    if not matching.any():
        return join_marks([])
    allowed = set(kinds)
    parts: list[Marks] = []
    for process, lines in _planes(trace):
        if process.kind in allowed:
            parts += _of_names(trace, process, lines, matching, must_carry=False)
    return join_marks(parts)


def join_marks(parts: Sequence[Marks]) -> Marks:
    """Several sets as one, by start; of equal starts the longer first."""
    if not parts:
        return _NO_MARKS
    if len(parts) == 1:
        return _in_order(parts[0])
    columns: dict[str, Any] = {}
    for name in _ARRAYS:
        columns[name] = np.concatenate([getattr(part, name) for part in parts])
    for name in _LISTS:
        columns[name] = list(chain.from_iterable(getattr(part, name) for part in parts))
    return _in_order(Marks(**columns))


def _in_order(marks: Marks) -> Marks:
    """By start; of equal starts the longer first."""
    return marks.take(np.lexsort((-marks.duration, marks.start)))


def of_events(trace: Trace, line: int, events: Events) -> Marks:
    """Events that are known to be steps, without a look at their stats."""
    names = [trace.names.full(int(i)) for i in events.name.tolist()]
    count = len(events)
    unknown = np.full(count, -1, np.int64)
    no = np.zeros(count, np.bool_)
    return Marks(
        start=events.start,
        duration=events.duration,
        number=np.array([trailing_number(name) for name in names], np.int64).reshape(-1),
        epoch=unknown,
        labels=names,
        kinds=names,
        explicit=no,
        titled=no,
        numbered=no,
        phase=np.zeros(count, np.int32),
        lines=np.full(count, line, np.int32),
        group=unknown,
    )


def trailing_number(text: str) -> int:
    """The last whole number in a name ("train 30" → 30); -1 when there is none, or none
    that fits.
    """
    match = _TRAILING.search(text[-40:])
    number = int(match[1]) if match else -1
    if 0 <= number < 1 << 62:
        return number
    return -1


def _planes(trace: Trace) -> Iterator[tuple[Process, list[tuple[int, Track]]]]:
    """Each plane with its lines that hold events, numbered as Trace.tracks() does."""
    next_line = 0
    for process in trace.processes:
        numbered = enumerate(process.tracks, next_line)
        next_line += len(process.tracks)
        lines = [
            (line, track) for line, track in numbered if len(track.events) and not track.derived
        ]
        if lines:
            yield process, lines


def _explicit(trace: Trace, names: Bools, roots: Bools) -> Bools:
    """Those of these names that are a step marker's; of roots also those that name another phase
    than training.
    """
    out = np.zeros(len(names), np.bool_)
    for index in np.flatnonzero(names).tolist():
        name = trace.names.full(index)
        out[index] = is_explicit(name) or (roots[index] and phase_of(name) != TRAINING)
    return out


def is_explicit(name: str) -> bool:
    """Whether a name is that of a step marker of TensorFlow or JAX."""
    return name.startswith(STEP_MARKS) and "/" not in name


def phase_of(name: str) -> int:
    """What kind of work a mark of this name marks: an index into PHASES."""
    return next((phase for phase, pattern in _NAMED if pattern.match(name)), TRAINING)


def _of_names(
    trace: Trace,
    process: Process,
    lines: Sequence[tuple[int, Track]],
    chosen: Bools,
    must_carry: bool,
) -> Iterator[Marks]:
    for line, track in lines:
        rows = np.flatnonzero(chosen[track.events.name])
        if not len(rows):
            continue
        events = track.events[rows]
        columns = process.source.columns(events.position, MARK_STATS)
        marks_of_line = _marks(trace, line, events, columns)
        if must_carry:
            carries = np.logical_or.reduce([columns[name].present for name in _CARRIES])
            marks_of_line = marks_of_line.take(marks_of_line.explicit | carries)
        yield marks_of_line


def _marks(trace: Trace, line: int, events: Events, columns: dict[str, StatColumn]) -> Marks:
    count = len(events)
    text_of_name = {name: trace.names.full(name) for name in wire.distinct(events.name).tolist()}
    kinds = [text_of_name[name] for name in events.name.tolist()]
    titles = _texts(columns["step_name"])
    graphs = _texts(columns["graph_type"])
    numbers = whole_numbers(columns["step_num"])
    for row in np.flatnonzero(numbers < 0).tolist():
        title = titles[row]
        numbers[row] = trailing_number(kinds[row] if title is None else title)
    labels = []
    phase_by_text: dict[str, int] = {}
    phase = np.zeros(count, np.int32)
    for row, number in enumerate(numbers.tolist()):
        graph_or_kind = graphs[row] or kinds[row]
        labels.append(titles[row] or _numbered_label(graph_or_kind, number))
        text = graphs[row] or titles[row] or kinds[row]
        if text not in phase_by_text:
            phase_by_text[text] = phase_of(text)
        if phase_by_text[text]:
            phase[row] = phase_by_text[text]
    root_stats = ("step_num", "epoch_num", *_ROOTS)
    rooted = np.logical_or.reduce([columns[stat].present for stat in root_stats])
    explicit_by_kind = {kind: is_explicit(kind) for kind in text_of_name.values()}
    has_explicit_name = np.array([explicit_by_kind[kind] for kind in kinds], np.bool_)
    is_other_root = columns["_r"].present & (phase != TRAINING)
    return Marks(
        start=events.start,
        duration=events.duration,
        number=numbers,
        epoch=whole_numbers(columns["epoch_num"]),
        labels=labels,
        kinds=kinds,
        explicit=(rooted & has_explicit_name) | is_other_root,
        titled=columns["step_name"].present,
        numbered=columns["step_num"].present,
        phase=phase,
        lines=np.full(count, line, np.int32),
        group=whole_numbers(columns["group_id"]),
    )


def _numbered_label(prefix: str, number: int) -> str:
    if number < 0 or prefix.endswith(str(number)):
        return prefix
    return f"{prefix} {number}"


def _texts(column: StatColumn) -> list[str | None]:
    texts: list[str | None] = [None] * len(column)
    for row in np.flatnonzero(column.present).tolist():
        texts[row] = column.text(row)
    return texts

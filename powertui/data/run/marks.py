"""Which events of a profile mark steps: found by their stats and names, without decoding every
event's stats.

A marker carries `step_num`, `epoch_num` or `step_name`, and all events of one name are of one kind.
So a sample of every line says which names can be markers, and only events of those names are
decoded whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from weakref import WeakKeyDictionary

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
    UInt32s,
)
from powertui.value_types import dataclass

_STATS = ("step_num", "step_name", "epoch_num", "graph_type", "_r", "group_id")
_CARRIES = ("step_num", "step_name", "epoch_num")
_ROOTS = ("_r", "group_id")

# Lines up to this length are sampled whole; of longer ones the first and last event of each name
# and a comb.
_WHOLE = 20_000
_COMB = 5_000
_AT_ONCE = 1 << 18  # rows that are looked at in one call
_DECODED = 1 << 14  # … and decoded

# Whoever samples a line for some stats samples it for these as well: reading it again costs more.
_TOOLS_ASK = (
    *_STATS,
    *_CARRIES,
    "correlation_id",
    "run_id",
    "_pt",
    "_p",
    "_pid",
    "_ct",
    "_c",
    "_a",
    "id",
    "iter_num",
    "shape",
    "_ipl_stage_id",
    "tf_op",
    "hlo_op",
    "is_eager",
    "is_func",
    "tf_function_call",
)

_EXPLICIT = ("train", "test", "TraceContext")
_TRAILING = re.compile(r"(-?\d+)\D*$")

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
    (PHASES.index(phase), re.compile(rf"^(?:(?:run|do|model)[._ ])?(?i:{words})(?![a-z])"))
    for phase, words in _WORDS.items()
)


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

    def take(self, rows: Int64s | Bools) -> Marks:
        """Some of them, in their order."""
        index = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        if len(index) == len(self) and (index == np.arange(len(self))).all():
            return self
        picked = index.tolist()
        return Marks(
            self.start[index],
            self.duration[index],
            self.number[index],
            self.epoch[index],
            [self.labels[i] for i in picked],
            [self.kinds[i] for i in picked],
            self.explicit[index],
            self.titled[index],
            self.numbered[index],
            self.phase[index],
            self.lines[index],
            self.group[index],
        )

    def outermost(self) -> Marks:
        """Without those that lie inside another: a marker within a marker is a detail of it."""
        if not len(self):
            return self
        end = self.start + self.duration
        before = np.maximum.accumulate(end)
        inside = np.zeros(len(self), np.bool_)
        inside[1:] = (end[1:] <= before[:-1]) & (self.start[1:] < before[:-1])
        return self.take(~inside)


def marked_events(trace: Trace) -> Marks:
    """All host events with a step number, an epoch number or a step name; of other planes when no
    host has any.
    """
    for hosts in (True, False):
        parts = []
        for process, lines in _planes(trace):
            if (process.kind is ProcessKind.HOST) == hosts:
                tracks = [track for _, track in lines]
                carry = carried(trace, process, tracks, (*_CARRIES, *_ROOTS))
                rooted = np.logical_or.reduce([carry[name] for name in _ROOTS])
                names = np.logical_or.reduce([carry[name] for name in _CARRIES]) | _explicit(
                    trace, rooted, carry["_r"]
                )
                held = [
                    line
                    for line in lines
                    if any(
                        names[carrying].any() for carrying in _KNOWN[trace][id(line[1])].values()
                    )
                ]
                parts += list(_of_names(trace, process, held, names, must_carry=True))
        if any(len(part) for part in parts):
            return join_marks(parts)
    return join_marks([])


def marks_by_name(
    trace: Trace, matches: Callable[[str], bool], *, kinds: Iterable[ProcessKind]
) -> Marks:
    """All events whose full or display name matches, on planes of these kinds."""
    matching = np.fromiter(
        (
            matches(trace.names.full(i)) or matches(trace.names.display(i))
            for i in range(len(trace.names))
        ),
        np.bool_,
        len(trace.names),
    )
    if not matching.any():
        return join_marks([])
    allowed = set(kinds)
    parts = [
        part
        for process, lines in _planes(trace)
        if process.kind in allowed
        for part in _of_names(trace, process, lines, matching, must_carry=False)
    ]
    return join_marks(parts)


def join_marks(parts: Sequence[Marks]) -> Marks:
    """Several sets as one, by start; of equal starts the longer first."""
    if not parts:
        empty = np.empty(0, np.int64)
        none = np.empty(0, np.bool_)
        codes = np.empty(0, np.int32)
        return Marks(empty, empty, empty, empty, [], [], none, none, none, codes, codes, empty)
    joined = Marks(
        np.concatenate([p.start for p in parts]),
        np.concatenate([p.duration for p in parts]),
        np.concatenate([p.number for p in parts]),
        np.concatenate([p.epoch for p in parts]),
        [label for p in parts for label in p.labels],
        [kind for p in parts for kind in p.kinds],
        np.concatenate([p.explicit for p in parts]),
        np.concatenate([p.titled for p in parts]),
        np.concatenate([p.numbered for p in parts]),
        np.concatenate([p.phase for p in parts]),
        np.concatenate([p.lines for p in parts]),
        np.concatenate([p.group for p in parts]),
    )
    return joined.take(np.lexsort((-joined.duration, joined.start)))


def of_events(trace: Trace, line: int, events: Events) -> Marks:
    """Events that are known to be steps, without a look at their stats."""
    names = [trace.names.full(int(i)) for i in events.name.tolist()]
    count = len(events)
    none = np.full(count, -1, np.int64)
    numbers = np.array([trailing_number(name) for name in names], np.int64).reshape(-1)
    no = np.zeros(count, np.bool_)
    return Marks(
        events.start,
        events.duration,
        numbers,
        none,
        names,
        names,
        no,
        no,
        no,
        np.zeros(count, np.int32),
        np.full(count, line, np.int32),
        none,
    )


def trailing_number(text: str) -> int:
    """The last whole number in a name ("train 30" → 30); -1 when there is none, or none
    that fits.
    """
    match = _TRAILING.search(text[-40:])
    number = int(match[1]) if match else -1
    return number if 0 <= number < 1 << 62 else -1


def _planes(trace: Trace) -> Iterator[tuple[Process, list[tuple[int, Track]]]]:
    """Each plane with its lines that hold events, numbered as Trace.tracks() does."""
    line = 0
    for process in trace.processes:
        lines = []
        for track in process.tracks:
            if len(track.events) and not track.derived:
                lines.append((line, track))
            line += 1
        if lines:
            yield process, lines


def _explicit(trace: Trace, names: Bools, roots: Bools) -> Bools:
    """Those of these names that are a step marker's; of roots also those that name another phase
    than training.
    """
    out = np.zeros(len(names), np.bool_)
    for index in np.flatnonzero(names).tolist():
        name = trace.names.full(index)
        out[index] = _is_explicit(name) or (roots[index] and phase_of(name) != TRAINING)
    return out


def _is_explicit(name: str) -> bool:
    return name.startswith(_EXPLICIT) and "/" not in name


def phase_of(name: str) -> int:
    """What kind of work a mark of this name marks: an index into PHASES."""
    return next((phase for phase, pattern in _NAMED if pattern.match(name)), TRAINING)


def carriers(
    trace: Trace, process: Process, tracks: Sequence[Track], stats: Sequence[str] = _CARRIES
) -> Bools:
    """Which names carry one of these stats, judged by a sample of each line."""
    names: Bools = np.logical_or.reduce(list(carried(trace, process, tracks, stats).values()))
    return names


def carried(
    trace: Trace, process: Process, tracks: Sequence[Track], stats: Sequence[str]
) -> dict[str, Bools]:
    """For each of these stats which names carry it, judged by a sample of each line.

    Each line is sampled once.
    """
    sampled = _KNOWN.setdefault(trace, {})
    names = {name: np.zeros(len(trace.names), np.bool_) for name in stats}
    for track in tracks:
        by_stat = sampled.setdefault(id(track), {})
        missing = [name for name in stats if name not in by_stat]
        if missing:
            asked = list(
                dict.fromkeys((*missing, *(name for name in _TOOLS_ASK if name not in by_stat)))
            )
            by_stat.update(_carried(process, track.events, len(trace.names), asked))
        for name in stats:
            if len(by_stat[name]):
                names[name][by_stat[name]] = True
    return names


# Which names carry a stat, line by line: {id of the track: {stat: names}}.
_KNOWN: WeakKeyDictionary[Trace, dict[int, dict[str, Int32s]]] = WeakKeyDictionary()


def _carried(
    process: Process, events: Events, name_count: int, stats: Sequence[str]
) -> dict[str, Int32s]:
    rows = _sample(events, name_count)
    names_of: dict[str, list[UInt32s]] = {}
    nothing: StatColumn | None = None  # a source has one column for all that it does not know
    for at in range(0, len(rows), _DECODED):
        some = rows[at : at + _DECODED]
        names = events.name[some]
        for name, column in process.source.columns(events.positions(some), stats).items():
            if column is nothing:
                continue
            if not column.present.any():
                nothing = column
            else:
                names_of.setdefault(name, []).append(names[column.present])
    no_names = dict.fromkeys(stats, np.empty(0, np.int32))
    return no_names | {
        name: wire.distinct(np.concatenate(parts)).astype(np.int32)
        for name, parts in names_of.items()
    }


def rows_named(names: UInt32s, chosen: Bools) -> Int64s:
    """Rows with one of these names, without a mask as long as the line."""
    parts = [
        np.flatnonzero(chosen[names[at : at + _AT_ONCE]]) + at
        for at in range(0, len(names), _AT_ONCE)
    ]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _sample(events: Events, name_count: int) -> Int64s:
    """Rows that tell of all names of a line: every name is there."""
    count = len(events)
    if count <= _WHOLE:
        return np.arange(count)
    chosen = np.zeros(
        count, np.bool_
    )  # not the rows sorted: with a million names that alone took seconds
    for ends in wire.ends(events.name, name_count):
        chosen[ends[ends >= 0]] = True
    chosen[:: max(1, count // _COMB)] = True
    return np.flatnonzero(chosen)


def _of_names(
    trace: Trace,
    process: Process,
    lines: Sequence[tuple[int, Track]],
    chosen: Bools,
    must_carry: bool,
) -> Iterator[Marks]:
    for line, track in lines:
        rows = np.flatnonzero(chosen[track.events.name])
        if len(rows):
            events = track.events[rows]
            columns = process.source.columns(events.position, _STATS)
            found_marks = _marks(trace, line, events, columns)
            if must_carry:
                found_marks = found_marks.take(
                    found_marks.explicit
                    | np.logical_or.reduce([columns[name].present for name in _CARRIES])
                )
            yield found_marks


def _marks(trace: Trace, line: int, events: Events, columns: dict[str, StatColumn]) -> Marks:
    texts = {int(i): trace.names.full(int(i)) for i in wire.distinct(events.name).tolist()}
    kinds = [texts[i] for i in events.name.tolist()]
    numbers = whole_numbers(columns["step_num"])
    epochs = whole_numbers(columns["epoch_num"])
    labels = []
    phase_of_text: dict[str, int] = {}
    phase = np.zeros(len(events), np.int32)
    names, graphs = _texts(columns["step_name"]), _texts(columns["graph_type"])
    for row in np.flatnonzero(numbers < 0).tolist():
        step_name = names[row]
        numbers[row] = trailing_number(step_name if step_name is not None else kinds[row])
    for row, (kind, number, step_name, graph) in enumerate(
        zip(kinds, numbers.tolist(), names, graphs, strict=True)
    ):
        prefix = graph or kind
        labels.append(
            step_name
            or (
                f"{prefix} {number}" if number >= 0 and not prefix.endswith(str(number)) else prefix
            )
        )
        text = graph or step_name or kind
        if text not in phase_of_text:
            phase_of_text[text] = phase_of(text)
        if phase_of_text[text]:
            phase[row] = phase_of_text[text]
    rooted = np.logical_or.reduce(
        [columns[name].present for name in ("step_num", "epoch_num", *_ROOTS)]
    )
    named = {kind: _is_explicit(kind) for kind in texts.values()}
    explicit = rooted & np.array([named[kind] for kind in kinds], np.bool_) | columns[
        "_r"
    ].present & (phase != TRAINING)
    return Marks(
        events.start,
        events.duration,
        numbers,
        epochs,
        labels,
        kinds,
        explicit,
        columns["step_name"].present,
        columns["step_num"].present,
        phase,
        np.full(len(events), line, np.int32),
        whole_numbers(columns["group_id"]),
    )


def _texts(column: StatColumn) -> list[str | None]:
    texts: list[str | None] = [None] * len(column)
    for row in np.flatnonzero(column.present).tolist():
        texts[row] = column.text(row)
    return texts


def whole_numbers(column: StatColumn) -> Int64s:
    """The numbers of a column; -1 where it has none.

    Texts that are numbers (TF 2.2's JSON) count as such.
    """
    numbers = np.isfinite(column.floats) & column.present
    out = np.where(numbers, column.ints, -1)
    for row in np.flatnonzero(column.present & ~numbers).tolist():
        text = column.text(row)
        if text is not None and text.lstrip("-").isdigit() and len(text) < 19:
            out[row] = int(text)
    return np.asarray(out, np.int64)

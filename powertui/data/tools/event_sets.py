"""Events by name, as a set: how many, how long in all and each, how they spread, the first and the
last.

What a window touches belongs to its sets with its whole length: the part inside would say nothing
of how long such events are. (`op_stats` counts the parts inside, and self time.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data import search
from powertui.data.columns import Column, Lazy
from powertui.data.model import Bools, Events, Floats, Int64s, Trace, Track
from powertui.data.table import Fact, Place, Result, Table, if_missing
from powertui.data.texts import CancelCheck, unhindered
from powertui.data.tools.registry import Question
from powertui.data.window import lane_rows
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

PERCENTILES = (50, 90, 95, 99)
_AT_ONCE = 1 << 20  # events looked at, or sorted, together


@dataclass(frozen=True, eq=False)
class EventSets:
    """One row for each name. Times in ps; a deviation needs two events, else it is NaN."""

    trace: Trace
    name: Int64s  # into Trace.names
    count: Int64s
    total: Int64s
    shortest: Int64s
    longest: Int64s
    deviation: Floats  # of a sample
    percentiles: Floats  # [rows × PERCENTILES]
    first: Int64s  # start of the first one
    last: Int64s  # start of the last one

    def __len__(self) -> int:
        return len(self.name)

    @property
    def mean(self) -> Floats:
        """Average length of each."""
        return self.total / np.maximum(self.count, 1)

    def take(self, rows: Int64s) -> EventSets:
        """These rows, in this order."""
        return EventSets(
            trace=self.trace,
            name=self.name[rows],
            count=self.count[rows],
            total=self.total[rows],
            shortest=self.shortest[rows],
            longest=self.longest[rows],
            deviation=self.deviation[rows],
            percentiles=self.percentiles[rows],
            first=self.first[rows],
            last=self.last[rows],
        )


def answer(question: Question) -> Result:
    """The sets of the window, most time first; of names that match, where the question says
    which.
    """
    trace = question.profile.trace
    lo, hi = question.window
    if question.match:
        names = search.find(trace, question.match, regex=True).names
    else:
        names = None
    sets = event_sets(trace, lo, hi, names)
    if names is not None:
        facts = _facts(trace, lo, hi, names, question.match)
    else:
        facts = ()
    return Result(
        id="event_sets",
        title="Event sets",
        tables=(_table(sets, question),),
        facts=facts,
    )


def event_sets(
    trace: Trace,
    lo: int,
    hi: int,
    names: Bools | None = None,
    check: CancelCheck = unhindered,
) -> EventSets:
    """The sets of [lo, hi), of these names alone where some are given."""
    size = len(trace.names)
    count = np.zeros(size, np.int64)
    first = np.full(size, np.iinfo(np.int64).max)
    last = np.full(size, np.iinfo(np.int64).min)
    for events in _parts(trace, lo, hi, check):
        count += np.bincount(events.name, minlength=size)
        np.minimum.at(first, events.name, events.start)
        np.maximum.at(last, events.name, events.start)
    if names is not None:
        # Names that are not asked for are counted all the same: a test of each event takes longer.
        count[~names] = 0
    used = np.flatnonzero(count)
    spread = _Spread.of_size(len(used))
    row_of_name = np.full(size, -1, np.int64)
    row_of_name[used] = np.arange(len(used))
    for first_row, last_row in _groups(count[used]):
        check()
        rows = slice(first_row, last_row)
        lengths, row = _lengths(
            trace=trace,
            lo=lo,
            hi=hi,
            row_of_name=row_of_name,
            rows=rows,
            check=check,
        )
        in_sets = lengths[np.lexsort((lengths, row))]
        spread.fill(rows, in_sets, count[used[rows]])
    return EventSets(
        trace=trace,
        name=used,
        count=count[used],
        total=spread.total,
        shortest=spread.shortest,
        longest=spread.longest,
        deviation=spread.deviation,
        percentiles=spread.percentiles,
        first=first[used],
        last=last[used],
    )


class _Spread(NamedTuple):
    """How the lengths of each set spread, a row for each set."""

    total: Int64s
    shortest: Int64s
    longest: Int64s
    deviation: Floats
    percentiles: Floats

    @classmethod
    def of_size(cls, size: int) -> _Spread:
        return cls(
            total=np.zeros(size, np.int64),
            shortest=np.zeros(size, np.int64),
            longest=np.zeros(size, np.int64),
            deviation=np.full(size, np.nan),
            percentiles=np.zeros((size, len(PERCENTILES))),
        )

    def fill(self, rows: slice, lengths: Int64s, sizes: Int64s) -> None:
        """Of some sets their lengths, set after set, ascending in each, and how many each has."""
        first = np.cumsum(sizes) - sizes
        last = first + sizes - 1
        total = np.add.reduceat(lengths, first)
        self.total[rows] = total
        self.shortest[rows] = lengths[first]
        self.longest[rows] = lengths[last]
        self.deviation[rows] = _deviations(lengths, first, sizes, total / sizes)
        for column, percent in enumerate(PERCENTILES):
            # Between the two nearest lengths, as numpy's percentile does.
            place = (sizes - 1) * percent / 100
            below = np.floor(place).astype(np.int64)
            above = np.minimum(below + 1, sizes - 1)
            part_above = place - below
            low = lengths[first + below]
            high = lengths[first + above]
            self.percentiles[rows, column] = low + (high - low) * part_above


def _deviations(lengths: Int64s, first: Int64s, sizes: Int64s, mean: Floats) -> Floats:
    """The sample deviation of each set of lengths; NaN for a set of one."""
    difference = lengths - np.repeat(mean, sizes)
    squares = np.add.reduceat(difference * difference, first)
    degrees = np.maximum(sizes - 1, 1)
    deviations = np.sqrt(squares / degrees)
    deviations[sizes < 2] = np.nan
    return np.asarray(deviations)


def _parts(trace: Trace, lo: int, hi: int, check: CancelCheck) -> Iterator[Events]:
    """The events of the window, some at a time. Lines that were drawn from others are left out."""
    for _, track in trace.tracks():
        if track.derived:
            continue
        for depth in range(track.lane_count):
            for rows in _rows(track, depth, lo, hi):
                check()
                yield track.events[rows]


def _rows(track: Track, depth: int, lo: int, hi: int) -> Iterator[slice]:
    lane_begin = int(track.lanes[depth])
    first, last = lane_rows(track.lane(depth), lo, hi)
    first_row = lane_begin + first
    after_last = lane_begin + last
    for begin in range(first_row, after_last, _AT_ONCE):
        end = min(begin + _AT_ONCE, after_last)
        yield slice(begin, end)


def _groups(count: Int64s) -> Iterator[tuple[int, int]]:
    """Rows that are sorted together: as many names as hold about a million events, so that no more
    lie in memory.
    """
    events_so_far = np.cumsum(count)
    events_before = np.concatenate(([0], events_so_far))
    lo = 0
    while lo < len(count):
        limit = events_before[lo] + _AT_ONCE
        last_within = int(events_before.searchsorted(limit, side="right")) - 1
        hi = max(lo + 1, last_within)  # a name that alone has more stands by itself
        yield lo, hi
        lo = hi


def _lengths(
    trace: Trace,
    lo: int,
    hi: int,
    row_of_name: Int64s,
    rows: slice,
    check: CancelCheck,
) -> tuple[Int64s, Int64s]:
    """(the lengths of the events of some sets, the row of the set of each)."""
    lengths = [np.empty(0, np.int64)]
    set_rows = [np.empty(0, np.int64)]
    for events in _parts(trace, lo, hi, check):
        row = row_of_name[events.name]
        is_here = (row >= rows.start) & (row < rows.stop)
        chosen = np.flatnonzero(is_here)
        if len(chosen):
            lengths.append(events.duration[chosen])
            set_rows.append(row[chosen])
    return np.concatenate(lengths), np.concatenate(set_rows)


# ── one set ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class OneSet:
    """Events taken together. Times in ps."""

    count: int
    total: int
    mean: float
    deviation: float | None
    shortest: int
    longest: int
    percentiles: tuple[float, ...]
    first: int
    last: int


def together(
    trace: Trace,
    lo: int,
    hi: int,
    names: Bools | None = None,
    check: CancelCheck = unhindered,
) -> OneSet | None:
    """All events of these names in [lo, hi) as one set; None where there are none."""
    parts = [np.empty(0, np.int64)]
    first = np.iinfo(np.int64).max
    last = np.iinfo(np.int64).min
    for events in _parts(trace, lo, hi, check):
        if names is None:
            rows = np.arange(len(events))
        else:
            rows = np.flatnonzero(names[events.name])
        if len(rows):
            start = events.start[rows]
            parts.append(events.duration[rows])
            first = min(first, int(start.min()))
            last = max(last, int(start.max()))
    lengths = np.concatenate(parts)
    if not len(lengths):
        return None
    return OneSet(
        count=len(lengths),
        total=int(lengths.sum()),
        mean=float(lengths.mean()),
        deviation=float(lengths.std(ddof=1)) if len(lengths) > 1 else None,
        shortest=int(lengths.min()),
        longest=int(lengths.max()),
        percentiles=tuple(float(value) for value in np.percentile(lengths, PERCENTILES)),
        first=int(first),
        last=int(last),
    )


def touching(trace: Trace, lo: int, hi: int) -> int:
    """How many events [lo, hi) touches: at the cost of a search in each lane."""
    count = 0
    for _, track in trace.tracks():
        if track.derived:
            continue
        for depth in range(track.lane_count):
            first, last = lane_rows(track.lane(depth), lo, hi)
            count += max(0, last - first)
    return count


def _facts(trace: Trace, lo: int, hi: int, names: Bools, match: str) -> tuple[Fact, ...]:
    union = together(trace, lo, hi, names)
    if union is None:
        why = f"no event of this window has a name like {match}"
        return (Fact("count", "events that match", 0, "integer", why=why),)
    if union.deviation is None:
        deviation = None
    else:
        deviation = round(union.deviation)
    why_no_deviation = if_missing(union.deviation, "one event alone")
    return (
        Fact("count", "events that match", union.count, "integer"),
        Fact("total", "in all", union.total, "duration"),
        Fact("mean", "average", round(union.mean), "duration"),
        Fact("deviation", "deviation", deviation, "duration", why=why_no_deviation),
        Fact("shortest", "shortest", union.shortest, "duration"),
        Fact("longest", "longest", union.longest, "duration"),
        *(
            Fact(f"p{percent}", f"{percent} % are shorter than", round(value), "duration")
            for percent, value in zip(PERCENTILES, union.percentiles, strict=True)
        ),
        Fact("first", "first", union.first, "instant"),
        Fact("last", "last", union.last, "instant"),
    )


# ── as a table ───────────────────────────────────────────────────────────────────────────────────


def _table(sets: EventSets, question: Question) -> Table:
    by_total = np.lexsort((sets.name, -sets.total))
    most_time_first = sets.take(by_total)

    def place(row: int) -> Place:
        """Where the longest one is."""
        name = int(most_time_first.name[row])
        return _first_of_length(question, name, int(most_time_first.longest[row]))

    return Table(
        id="event_sets",
        title="Events by name, most time first",
        columns=tuple(_columns(most_time_first)),
        place=place,
        order=("total_s", True),
        empty="No event in this window.",
        key=("full_name",),
        noun="name",
    )


def _columns(sets: EventSets) -> Iterator[Column]:
    names = sets.trace.names
    shown = Lazy(len(sets), lambda row: names.display(int(sets.name[row])))
    recorded = Lazy(len(sets), lambda row: names.full(int(sets.name[row])))

    yield Column("name", "name", "text", shown, weight=9)
    yield Column("count", "count", "integer", sets.count, weight=8)
    lengths: list[tuple[str, str, Int64s | Floats, int]] = [
        ("total_s", "total", sets.total, 9),
        ("mean_s", "average", sets.mean, 8),
        ("deviation_s", "deviation", sets.deviation, 6),
        ("min_s", "shortest", sets.shortest, 5),
    ]
    for percent, of_percent in zip(PERCENTILES, sets.percentiles.T, strict=True):
        if percent in (50, 95):
            weight = 4
        else:
            weight = 2
        lengths.append((f"p{percent}_s", f"p{percent}", of_percent, weight))
    lengths.append(("max_s", "longest", sets.longest, 7))
    for id, label, values, weight in lengths:
        yield Column(id, label, "duration", values, weight=weight)
    yield Column("first_s", "first", "instant", sets.first, weight=2)
    yield Column("last_s", "last", "instant", sets.last, weight=1)
    # Of no weight: it identifies a row in what is written out, and is on no screen.
    yield Column("full_name", "recorded as", "text", recorded, weight=0)


def _first_of_length(question: Question, name: int, length: int) -> Place:
    """The first event of this name in the window that is so long."""
    lo, hi = question.window
    for number, (_, track) in enumerate(question.profile.trace.tracks()):
        if track.derived:
            continue
        for depth in range(track.lane_count):
            for rows in _rows(track, depth, lo, hi):
                events = track.events[rows]
                is_alike = (events.name == name) & (events.duration == length)
                alike = np.flatnonzero(is_alike)
                if not len(alike):
                    continue
                start = int(events.start[alike[0]])
                return Place(
                    run=question.opened.name,
                    host=question.host,
                    lo=start,
                    hi=start + length,
                    track=number,
                    event=rows.start + int(alike[0]),
                )
    return Place(question.opened.name, question.host)

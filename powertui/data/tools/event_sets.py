"""Events by name, as a set: how many, how long in all and each, how they spread, the first and the
last.

What a window touches belongs to its sets with its whole length: the part inside would say nothing
of how long such events are. (`op_stats` counts the parts inside, and self time.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data import search
from powertui.data.model import Bools, Events, Floats, Int64s, Trace, Track
from powertui.data.table import Column, Fact, Lazy, Place, Result, Table, if_missing
from powertui.data.texts import CancelCheck, unhindered
from powertui.data.tools.registry import Question
from powertui.data.window import lane_rows
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


def answer(question: Question) -> Result:
    """The sets of the window, most time first; of names that match, where the question says
    which.
    """
    trace = question.profile.trace
    lo, hi = question.window
    names = search.find(trace, question.match, regex=True).names if question.match else None
    sets = event_sets(trace, lo, hi, names)
    facts = _facts(trace, lo, hi, names, question.match) if names is not None else ()
    return Result("event_sets", "Event sets", (_table(sets, question),), facts)


def event_sets(
    trace: Trace, lo: int, hi: int, names: Bools | None = None, check: CancelCheck = unhindered
) -> EventSets:
    """The sets of [lo, hi), of these names alone where some are given."""
    size = len(trace.names)
    count = np.zeros(size, np.int64)
    first, last = np.full(size, np.iinfo(np.int64).max), np.full(size, np.iinfo(np.int64).min)
    for some in _parts(trace, lo, hi, check):
        name = some.name
        count += np.bincount(name, minlength=size)
        np.minimum.at(first, name, some.start)
        np.maximum.at(last, name, some.start)
    if names is not None:
        count[~names] = 0
    used = np.flatnonzero(count)
    total = np.zeros(len(used), np.int64)
    shortest, longest = np.zeros(len(used), np.int64), np.zeros(len(used), np.int64)
    deviation = np.full(len(used), np.nan)
    spread = np.zeros((len(used), len(PERCENTILES)))
    group = np.full(size, -1, np.int64)
    group[used] = np.arange(len(used))
    for lo_row, hi_row in _groups(count[used]):
        check()
        lengths, which = _lengths(trace, lo, hi, group, lo_row, hi_row, check)
        order = np.lexsort((lengths, which))
        lengths = lengths[order]
        sizes = count[used[lo_row:hi_row]]
        start = np.cumsum(sizes) - sizes
        rows = slice(lo_row, hi_row)
        total[rows] = np.add.reduceat(lengths, start)
        shortest[rows], longest[rows] = lengths[start], lengths[start + sizes - 1]
        off = lengths - np.repeat(total[rows] / sizes, sizes)
        squares = np.add.reduceat(off * off, start)
        deviation[rows] = np.where(sizes > 1, np.sqrt(squares / np.maximum(sizes - 1, 1)), np.nan)
        for column, percent in enumerate(PERCENTILES):
            at = (sizes - 1) * percent / 100
            low = np.floor(at).astype(np.int64)
            high = np.minimum(low + 1, sizes - 1)
            spread[rows, column] = lengths[start + low] + (
                lengths[start + high] - lengths[start + low]
            ) * (at - low)
    return EventSets(
        trace=trace,
        name=used,
        count=count[used],
        total=total,
        shortest=shortest,
        longest=longest,
        deviation=deviation,
        percentiles=spread,
        first=first[used],
        last=last[used],
    )


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
    begin = int(track.lanes[depth])
    first, last = lane_rows(track.lane(depth), lo, hi)
    for at in range(begin + first, begin + last, _AT_ONCE):
        yield slice(at, min(at + _AT_ONCE, begin + last))


def _groups(count: Int64s) -> Iterator[tuple[int, int]]:
    """Rows that are sorted together: as many names as hold about a million events, so that no more
    lie in memory.
    """
    before = np.concatenate(([0], np.cumsum(count)))
    lo = 0
    while lo < len(count):
        hi = max(lo + 1, int(before.searchsorted(before[lo] + _AT_ONCE, side="right")) - 1)
        yield lo, hi
        lo = hi


def _lengths(
    trace: Trace, lo: int, hi: int, group: Int64s, first: int, last: int, check: CancelCheck
) -> tuple[Int64s, Int64s]:
    lengths, which = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for some in _parts(trace, lo, hi, check):
        number = group[some.name]
        mine = np.flatnonzero((number >= first) & (number < last))
        if len(mine):
            lengths.append(some.duration[mine])
            which.append(number[mine])
    return np.concatenate(lengths), np.concatenate(which)


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
    trace: Trace, lo: int, hi: int, names: Bools | None = None, check: CancelCheck = unhindered
) -> OneSet | None:
    """All events of these names in [lo, hi) as one set; None where there are none."""
    lengths = [np.empty(0, np.int64)]
    first, last = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    for some in _parts(trace, lo, hi, check):
        mine = np.flatnonzero(names[some.name]) if names is not None else np.arange(len(some))
        if len(mine):
            lengths.append(some.duration[mine])
            first, last = (
                min(first, int(some.start[mine].min())),
                max(last, int(some.start[mine].max())),
            )
    all_lengths = np.concatenate(lengths)
    if not len(all_lengths):
        return None
    return OneSet(
        count=len(all_lengths),
        total=int(all_lengths.sum()),
        mean=float(all_lengths.mean()),
        deviation=float(all_lengths.std(ddof=1)) if len(all_lengths) > 1 else None,
        shortest=int(all_lengths.min()),
        longest=int(all_lengths.max()),
        percentiles=tuple(float(value) for value in np.percentile(all_lengths, PERCENTILES)),
        first=int(first),
        last=int(last),
    )


def touching(trace: Trace, lo: int, hi: int) -> int:
    """How many events [lo, hi) touches: at the cost of a search in each lane."""
    count = 0
    for _, track in trace.tracks():
        for depth in range(0 if track.derived else track.lane_count):
            first, last = lane_rows(track.lane(depth), lo, hi)
            count += max(0, last - first)
    return count


def _facts(trace: Trace, lo: int, hi: int, names: Bools, match: str) -> tuple[Fact, ...]:
    union = together(trace, lo, hi, names)
    if union is None:
        return (
            Fact(
                "count",
                "events that match",
                0,
                "integer",
                why=f"no event of this window has a name like {match}",
            ),
        )
    return (
        Fact("count", "events that match", union.count, "integer"),
        Fact("total", "in all", union.total, "duration"),
        Fact("mean", "average", round(union.mean), "duration"),
        Fact(
            "deviation",
            "deviation",
            None if union.deviation is None else round(union.deviation),
            "duration",
            why=if_missing(union.deviation, "one event alone"),
        ),
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
    order = np.lexsort((sets.name, -sets.total))
    names = sets.trace.names
    at = sets.name[order].tolist()
    columns = (
        Column("name", "name", "text", Lazy(len(at), lambda row: names.display(at[row])), weight=9),
        Column("count", "count", "integer", sets.count[order], weight=8),
        Column("total_s", "total", "duration", sets.total[order], weight=9),
        Column("mean_s", "average", "duration", sets.mean[order], weight=8),
        Column("deviation_s", "deviation", "duration", sets.deviation[order], weight=6),
        Column("min_s", "shortest", "duration", sets.shortest[order], weight=5),
        *(
            Column(
                f"p{percent}_s",
                f"p{percent}",
                "duration",
                sets.percentiles[order, i],
                weight=4 if percent in (50, 95) else 2,
            )
            for i, percent in enumerate(PERCENTILES)
        ),
        Column("max_s", "longest", "duration", sets.longest[order], weight=7),
        Column("first_s", "first", "instant", sets.first[order], weight=2),
        Column("last_s", "last", "instant", sets.last[order], weight=1),
        Column(
            "full_name",
            "recorded as",
            "text",
            Lazy(len(at), lambda row: names.full(at[row])),
            weight=0,
        ),
    )

    def place(row: int) -> Place:
        """Where the longest one is."""
        name, length = at[row], int(sets.longest[order[row]])
        lo, hi = question.window
        for number, (_, track) in enumerate(sets.trace.tracks()):
            if track.derived:
                continue
            for depth in range(track.lane_count):
                for rows in _rows(track, depth, lo, hi):
                    some = track.events[rows]
                    mine = np.flatnonzero((some.name == name) & (some.duration == length))
                    if len(mine):
                        start = int(some.start[mine[0]])
                        return Place(
                            run=question.opened.name,
                            host=question.host,
                            lo=start,
                            hi=start + length,
                            track=number,
                            event=rows.start + int(mine[0]),
                        )
        return Place(question.opened.name, question.host)

    return Table(
        "event_sets",
        "Events by name, most time first",
        columns,
        place=place,
        order=("total_s", True),
        empty="No event in this window.",
        key=("full_name",),
        noun="name",
    )

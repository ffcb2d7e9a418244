"""The hits of a search by name: how often each ran, its time, and where its longest is.

What ran on devices and what ran on the host are rows of their own, for the two run at the same
time. Calls of one name in one another count their time once, and the self time of a row is what no
event inside it covers: only that adds up over names.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from powertui import units
from powertui.data import wire
from powertui.data.columns import Column, Lazy, Value
from powertui.data.model import Bools, Int64s, ProcessKind, Trace, Track
from powertui.data.search import Hits
from powertui.data.sorted_columns import ends_run
from powertui.data.table import Place, Table, TablePart
from powertui.data.texts import CancelCheck, unhindered
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_WHERE = ("host", "device", "derived line")  # the last repeats what another line holds
_HOST, _DEVICE, _DERIVED = range(len(_WHERE))


class _LineHits(NamedTuple):
    """The hits of one line."""

    number: int  # of the line, as `Trace.tracks` counts
    rows: Int64s  # of the line's events
    group: Int64s  # the row of the table that each belongs to
    duration: Int64s
    self_time: Int64s
    outer: Int64s  # which of these hits each lies in, the nearest; -1: in none


@dataclass(frozen=True, eq=False)
class _Sums:
    """Hits by name and by where they ran."""

    names: Int64s  # of the rows
    where: Int64s
    count: Int64s
    total: Int64s
    self_time: Int64s
    longest: Int64s
    longest_at: Int64s  # line and event of the longest, side by side
    lines: tuple[_LineHits, ...]

    def covered(self, keep: Bools) -> Int64s:
        """Time of some rows' hits by where they ran, what lies in another of them left out."""
        time = np.zeros(len(_WHERE), np.int64)
        for line in self.lines:
            counted = keep[line.group]
            outer = line.outer
            has_outer = outer >= 0
            while has_outer.any():
                outer_counts = keep[line.group[outer]]
                counted &= ~(has_outer & outer_counts)
                outer = np.where(has_outer, line.outer[outer], -1)
                has_outer = outer >= 0
            if counted.any():
                first_group = line.group[counted][0]
                where = int(self.where[first_group])
                time[where] += int(line.duration[counted].sum())
        return time


def hit_table(trace: Trace, hits: Hits, check: CancelCheck = unhindered) -> Table:
    """One row a name and place to run, the most time first."""
    sums = _summed(trace, hits, check)
    tracks = [track for _, track in trace.tracks()]
    row_count = len(sums.names)
    names = Lazy(row_count, lambda row: trace.names.full(int(sums.names[row])))
    places = [_WHERE[where] for where in sums.where]
    average = sums.total // np.maximum(sums.count, 1)
    columns = (
        Column("name", "name", "text", names, weight=9),
        Column("where", "ran on", "text", places, weight=8),
        Column("count", "count", "integer", sums.count, weight=9),
        Column("total_s", "total", "duration", sums.total, weight=9),
        Column("self_s", "self", "duration", sums.self_time, weight=8),
        Column("average_s", "average", "duration", average, weight=7),
        Column("longest_s", "longest", "duration", sums.longest, weight=6),
    )

    def place(row: int) -> Place:
        track, event = sums.longest_at[row].tolist()
        events = tracks[track].events
        lo = int(events.start[event])
        hi = lo + int(events.duration[event])
        return Place(
            run="",
            host=None,
            lo=lo,
            hi=hi,
            track=track,
            event=event,
        )

    def totals(rows: Int64s) -> Mapping[str, Value]:
        is_counted = np.zeros(row_count, np.bool_)
        is_counted[rows] = True
        count = int(sums.count[rows].sum())
        if len(wire.distinct(sums.where[rows])) > 1:
            return {"count": count}  # host and devices run at the same time
        total = int(sums.covered(is_counted).sum())
        self_time = int(sums.self_time[rows].sum())
        return {"count": count, "total_s": total, "self_s": self_time}

    return Table(
        id="hits",
        title="Hits by name",
        columns=columns,
        place=place,
        order=("total_s", True),
        empty="No name matches.",
        key=("name", "where"),
        noun="name",
        summary=_in_words(sums),
        parts=_parts(sums),
        total=totals,
        layer=True,
    )


def _in_words(sums: _Sums) -> str:
    """The time of all hits, devices and host apart."""
    time = sums.covered(np.ones(len(sums.names), np.bool_))
    parts = []
    for where, words in ((_DEVICE, "devices"), (_HOST, "the host")):
        if (sums.where == where).any():
            parts.append(f"{units.duration(int(time[where]))} on {words}")
    return ", ".join(parts)


def _parts(sums: _Sums) -> tuple[TablePart, ...]:
    """Devices, host, and both: none where there is but one of them."""
    if len(wire.distinct(sums.where)) < 2:
        return ()
    every = np.ones(len(sums.names), np.bool_)
    on_device = sums.where == _DEVICE
    on_host = sums.where == _HOST
    parts = [TablePart("devices and host", lambda _check: every)]
    if on_device.any():
        parts.append(TablePart("devices", lambda _check: on_device))
    if on_host.any():
        parts.append(TablePart("host", lambda _check: on_host))
    return tuple(parts)


def _summed(trace: Trace, hits: Hits, check: CancelCheck) -> _Sums:
    lines = _lines_with_hits(trace, hits, check)
    # A group is a name and where it ran.
    group_count = len(trace.names) * len(_WHERE)
    count = np.zeros(group_count, np.int64)
    total = np.zeros(group_count, np.int64)
    self_time = np.zeros(group_count, np.int64)
    longest = np.full(group_count, -1, np.int64)
    longest_at = np.zeros((group_count, 2), np.int64)
    for line in lines:
        check()
        count += np.bincount(line.group, minlength=group_count)
        np.add.at(self_time, line.group, line.self_time)
        is_outermost = ~_in_its_own_name(line)
        outermost_groups = line.group[is_outermost]
        np.add.at(total, outermost_groups, line.duration[is_outermost])
        candidates = _longest_of_groups(line)
        longest_so_far = longest[line.group[candidates]]
        is_longer = line.duration[candidates] > longest_so_far
        better = candidates[is_longer]
        groups = line.group[better]
        longest[groups] = line.duration[better]
        numbers = np.full(len(better), line.number)
        longest_at[groups] = np.stack([numbers, line.rows[better]], axis=1)
    rows = np.flatnonzero(count)
    most_time_first = np.argsort(-total[rows], kind="stable")
    rows = rows[most_time_first]
    row_of_group = np.zeros(group_count, np.int64)
    row_of_group[rows] = np.arange(len(rows))
    return _Sums(
        names=rows // len(_WHERE),
        where=rows % len(_WHERE),
        count=count[rows],
        total=total[rows],
        self_time=self_time[rows],
        longest=longest[rows],
        longest_at=longest_at[rows],
        lines=tuple(line._replace(group=row_of_group[line.group]) for line in lines),
    )


def _lines_with_hits(trace: Trace, hits: Hits, check: CancelCheck) -> list[_LineHits]:
    lines: list[_LineHits] = []
    for number, (process, track) in enumerate(trace.tracks()):
        check()
        is_hit = hits.names[track.events.name]
        if not is_hit.any():
            continue
        where = _HOST
        if track.derived:
            where = _DERIVED
        elif process.kind is ProcessKind.DEVICE:
            where = _DEVICE
        lines.append(_line_hits(number, track, is_hit, where))
    return lines


def _longest_of_groups(line: _LineHits) -> Int64s:
    """The longest hit of each group of a line, the last of equals."""
    order = np.lexsort((line.duration, line.group))
    is_last = ends_run(line.group[order])
    return order[is_last]


def _line_hits(number: int, track: Track, is_hit: Bools, where: int) -> _LineHits:
    """The hits of a line: lane by lane, for an event lies in one of the lane above."""
    events = track.events
    event_count = len(events)
    self_time = events.duration.copy()
    # The nearest hit that an event is, or lies in; -1 where there is none.
    nearest = np.where(is_hit, np.arange(event_count), -1)
    outer = np.full(event_count, -1, np.int64)
    first_rows = track.lanes.tolist()
    for depth in range(1, track.lane_count):
        above = track.lane(depth - 1)
        here = track.lane(depth)
        if not len(above) or not len(here):
            continue
        last_started = above.start.searchsorted(here.start, side="right") - 1
        holder = np.maximum(last_started, 0)
        # An event of no length holds what starts with it.
        holder_length = np.maximum(above.duration[holder], 1)
        holder_end = above.start[holder] + holder_length
        is_inside = here.start < holder_end
        parent = holder + first_rows[depth - 1]
        np.subtract.at(self_time, parent[is_inside], here.duration[is_inside])
        lane = slice(first_rows[depth], first_rows[depth + 1])
        outer[lane] = np.where(is_inside, nearest[parent], -1)
        nearest[lane] = np.where(is_hit[lane], nearest[lane], outer[lane])
    rows = np.flatnonzero(is_hit)
    hit_of_row = np.full(event_count + 1, -1, np.int64)  # the last is for "in none"
    hit_of_row[rows] = np.arange(len(rows))
    name = events.name[rows].astype(np.int64)
    return _LineHits(
        number=number,
        rows=rows,
        group=name * len(_WHERE) + where,
        duration=events.duration[rows],
        self_time=np.maximum(self_time[rows], 0),
        outer=hit_of_row[outer[rows]],
    )


def _in_its_own_name(line: _LineHits) -> Bools:
    """Which hits lie in one of the same name: calls that call themselves."""
    is_inside = np.zeros(len(line.rows), np.bool_)
    outer = line.outer
    has_outer = outer >= 0
    while has_outer.any():
        has_its_name = line.group[outer] == line.group
        is_inside |= has_outer & has_its_name
        outer = np.where(has_outer, line.outer[outer], -1)
        has_outer = outer >= 0
    return is_inside

"""The events that can make a difference to the breakdown of steps, line by line: rows and groups,
in as few bytes as can be.

Times and types are looked up when a part of the groups is swept, so that only that part ever lies
in memory as columns. An event inside another that counts for the same is left out: it changes
nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from powertui.data.model import Bools, Int32s, Int64s, UInt8s
from powertui.data.run.device_intervals import extents
from powertui.data.run.grouping import Groups
from powertui.data.run.line_nodes import Nodes
from powertui.data.sorted_columns import among, begins_run, rows_of_ranges
from powertui.data.tools import sweep
from powertui.data.tools.covered_time import CoveredTime
from powertui.data.tools.event_types import KINDS, MARK, NOTHING, EventType
from powertui.data.tools.typed_events import Typed
from powertui.named_tuples import NamedTuple

# Events that are swept in one go, where that many groups have so many. Chosen, not measured.
_CHUNK_EVENTS = 1 << 17
_NONE = np.empty(0, np.int64)
_NO_KINDS = np.empty(0, np.uint8)


class LinePiece(NamedTuple):
    """Events of one line with their groups, by group."""

    line: Typed
    row: Int32s
    group: Int32s

    def within(self, first: int, last: int) -> Int32s:
        """The rows of groups first … last - 1."""
        lo, hi = self.group.searchsorted((first, last))
        return self.row[lo:hi]


class _PieceColumns(NamedTuple):
    """Events as columns."""

    group: Int64s
    start: Int64s
    end: Int64s
    kind: UInt8s


class Marked(NamedTuple):
    """The marks of steps among the events."""

    group: Int64s
    start: Int64s
    end: Int64s


def line_pieces(groups: Groups, lines: Iterable[Typed]) -> tuple[list[LinePiece], Marked]:
    """(the events that count and belong to a group, the marks among them)."""
    pieces: list[LinePiece] = []
    marks = [Marked(_NONE, _NONE, _NONE)]
    for line in lines:
        rows, group = _rows_and_groups(groups, line)
        kind = line.types_for(rows)
        is_in_group = group >= 0
        counts = is_in_group & (kind != NOTHING)
        is_mark = counts & (kind == MARK)
        if is_mark.any():
            start, end = line.times(rows[is_mark])
            group_of_mark = group[is_mark].astype(np.int64)
            marks.append(Marked(group_of_mark, start, end))
        counts &= ~is_mark
        if counts.any():
            piece = _by_group(line, rows[counts], group[counts])
            pieces.append(piece)
    columns = zip(*marks, strict=True)
    return pieces, Marked(*map(np.concatenate, columns))


def _rows_and_groups(groups: Groups, line: Typed) -> tuple[Int32s, Int64s | Int32s]:
    """(the events of a line that can make a difference, their groups)."""
    nodes = groups.nodes(line.number)
    if nodes is not None:
        return _grouped(nodes, line)
    # Here each event of the line names its group itself, or none has any.
    rows = np.arange(len(line.track.events), dtype=np.int32)
    return rows, groups.groups_on_line(line.number)


def _by_group(line: Typed, rows: Int64s | Int32s, group: Int64s | Int32s) -> LinePiece:
    if (group[1:] < group[:-1]).any():
        order = np.argsort(group, kind="stable")
        rows = rows[order]
        group = group[order]
    return LinePiece(
        line=line,
        row=rows.astype(np.int32, copy=False),
        group=group.astype(np.int32, copy=False),
    )


def renumbered(pieces: Iterable[LinePiece], number: Int64s) -> list[LinePiece]:
    """The same events under other numbers of their groups; those of a negative number are
    left out.
    """
    out = []
    for piece in pieces:
        group = number[piece.group]
        stays = group >= 0
        if stays.any():
            piece_of_stays = _by_group(piece.line, piece.row[stays], group[stays])
            out.append(piece_of_stays)
    return out


def chosen(pieces: Iterable[LinePiece], groups: Bools) -> list[LinePiece]:
    """Those of these groups."""
    same_number = np.arange(len(groups))
    return renumbered(pieces, np.where(groups, same_number, -1))


def bounds(pieces: Iterable[LinePiece], count: int) -> tuple[Int64s, Int64s]:
    """(first start, last end) of each of `count` groups; the last end lies before the first start
    of those without events.
    """
    lo, hi = extents(_NONE, _NONE, _NONE, count)
    for piece in pieces:
        start, end = piece.line.times(piece.row)
        firsts = np.flatnonzero(begins_run(piece.group))
        group = piece.group[firsts]
        first_start = np.minimum.reduceat(start, firsts)
        last_end = np.maximum.reduceat(end, firsts)
        lo[group] = np.minimum(lo[group], first_start)
        hi[group] = np.maximum(hi[group], last_end)
    return lo, hi


def _columns(pieces: Sequence[LinePiece], first: int, last: int) -> _PieceColumns:
    """The events of groups first … last - 1, counted from the first."""
    parts: list[_PieceColumns] = []
    for piece in pieces:
        lo, hi = piece.group.searchsorted((first, last))
        if hi <= lo:
            continue
        rows = piece.row[lo:hi]
        group = piece.group[lo:hi].astype(np.int64)
        start, end = piece.line.times(rows)
        columns = _PieceColumns(
            group=group - first,
            start=start,
            end=end,
            kind=piece.line.types_for(rows),
        )
        parts.append(columns)
    if not parts:
        return _PieceColumns(
            group=_NONE,
            start=_NONE,
            end=_NONE,
            kind=_NO_KINDS,
        )
    if len(parts) == 1:
        return parts[0]
    columns_of_parts = zip(*parts, strict=True)
    return _PieceColumns(*map(np.concatenate, columns_of_parts))


def swept(
    pieces: Sequence[LinePiece],
    lo: Int64s,
    hi: Int64s,
    python: CoveredTime | None = None,
) -> tuple[Int64s, Bools]:
    """(how much of [lo, hi) of each group every type has, which types are ever the most telling one
    in each group).

    `python`: when a thread ran Python. It belongs to the group in whose stretch it lies.
    """
    count = len(lo)
    parts = np.zeros((count, KINDS), np.int64)
    present = np.zeros((count, KINDS), np.bool_)
    for first, last in _portions(pieces, count):
        portion_lo = lo[first:last]
        portion_hi = hi[first:last]
        events = _columns(pieces, first, last)
        if python is not None:
            events = _with_python(events, python, portion_lo, portion_hi)
        group, start, end, kind = events
        sweep_axis = sweep.sweep_events(
            group=group,
            start=start,
            end=end,
            kind=kind,
            lo=portion_lo,
            hi=portion_hi,
        )
        groups = np.arange(last - first)
        parts[first:last] = sweep_axis.inside(groups, portion_lo, portion_hi)
        # A type is present where any event has it, also outside the group's stretch [lo, hi).
        begin, stop = extents(group, start, end, last - first)
        # A group without events has no place on the axis but its own stretch.
        has_events = stop > begin
        begin = np.where(has_events, begin, portion_lo)
        stop = np.where(has_events, stop, portion_lo)
        inside = sweep_axis.inside(groups, begin, stop)
        present[first:last] = inside > 0
    return parts, present


def _with_python(
    events: _PieceColumns, python: CoveredTime, lo: Int64s, hi: Int64s
) -> _PieceColumns:
    """The same events and the moments in [lo, hi) of each group at which a thread ran Python."""
    if not len(python.start):
        return events
    first = python.end.searchsorted(lo, side="right")
    after_last = python.start.searchsorted(hi, side="left")
    count = np.maximum(0, after_last - first)
    group, row = rows_of_ranges(first, count)
    python_start = python.start[row]
    python_end = python.end[row]
    start = np.maximum(python_start, lo[group])
    end = np.minimum(python_end, hi[group])
    kind = np.full(len(row), EventType.PYTHON, np.uint8)
    return _PieceColumns(
        group=np.concatenate([events.group, group]),
        start=np.concatenate([events.start, start]),
        end=np.concatenate([events.end, end]),
        kind=np.concatenate([events.kind, kind]),
    )


def _portions(pieces: Sequence[LinePiece], count: int) -> Iterator[tuple[int, int]]:
    """Runs of groups with about as many events."""
    events = np.zeros(count, np.int64)
    for piece in pieces:
        events += np.bincount(piece.group, minlength=count)
    portion = np.cumsum(events) // _CHUNK_EVENTS
    is_next = portion[1:] != portion[:-1]
    borders = np.flatnonzero(is_next) + 1
    edges = [0, *borders.tolist(), count]
    for first, last in itertools.pairwise(edges):
        if last > first:
            yield first, last


# ── which events of a line can make a difference ─────────────────────────────────────────────────


def _grouped(nodes: Nodes, line: Typed) -> tuple[Int32s, Int32s]:
    """(events of a line that can make a difference, their groups).

    Those that are nodes, those that are more than the host's computing, and of its computing what
    no event around it counts for: an event inside another of its group that counts changes nothing.
    """
    node_rows = np.sort(nodes.row)
    telling = line.telling()
    telling = telling[~among(node_rows, telling)]
    if len(nodes.row):
        holder = nodes.around(line.track, telling)
        telling_group = np.where(
            holder >= 0,
            nodes.inner[np.maximum(holder, 0)],
            -1,
        )
    else:
        telling_group = np.full(len(telling), -1)
    plain, plain_group = _bare(nodes, node_rows, line)
    is_new = ~among(telling, plain)
    rows = [
        nodes.row,
        telling.astype(np.int32),
        plain[is_new].astype(np.int32),
    ]
    group = [
        nodes.own,
        telling_group.astype(np.int32),
        plain_group[is_new].astype(np.int32),
    ]
    return np.concatenate(rows), np.concatenate(group)


def _bare(nodes: Nodes, node_rows: Int32s, line: Typed) -> tuple[Int64s, Int64s]:
    """(the outermost events that count below marks and events that count nowhere, their groups),
    lane by lane.
    """
    is_work = _is_work(line.types_for(nodes.row))
    is_open = ~is_work & (nodes.inner >= 0)
    if not is_open.any():
        return _NONE, _NONE
    track = line.track
    rows_of_open = nodes.row[is_open].astype(np.int64)
    groups_of_open = nodes.inner[is_open].astype(np.int64)
    open_rows, open_group = _ascending(rows_of_open, groups_of_open)
    rows_by_lane: list[Int64s] = []
    groups_by_lane: list[Int64s] = []
    # What in the lane above counts nowhere itself: the events inside it may count.
    above = _NONE
    above_group = _NONE
    for depth in range(track.lane_count):
        lane = track.rows_of_lane(depth)
        rows, group = _inside(line, above, above_group, lane)
        is_new = ~among(node_rows, rows)
        rows = rows[is_new]
        group = group[is_new]
        counts = _is_work(line.types_for(rows))
        rows_by_lane.append(rows[counts])
        groups_by_lane.append(group[counts])
        lo, hi = open_rows.searchsorted((lane.start, lane.stop))
        holders = [open_rows[lo:hi], rows[~counts]]
        groups_of_holders = [open_group[lo:hi], group[~counts]]
        above, above_group = _ascending(
            np.concatenate(holders),
            np.concatenate(groups_of_holders),
        )
    return np.concatenate(rows_by_lane), np.concatenate(groups_by_lane)


def _is_work(kind: UInt8s) -> Bools:
    """Which of these types stand for work: no mark, and nothing that counts nowhere."""
    return np.asarray((kind != NOTHING) & (kind != MARK))


def _ascending(rows: Int64s, group: Int64s) -> tuple[Int64s, Int64s]:
    """Both columns in the order of the rows."""
    order = np.argsort(rows, kind="stable")
    return rows[order], group[order]


def _inside(
    line: Typed,
    holders: Int64s,
    group: Int64s,
    lane: slice,
) -> tuple[Int64s, Int64s]:
    """(events of one lane that lie inside these of the lane above, the groups of those)."""
    lane_start = line.track.events.start[lane]
    lo, hi = line.times(holders)
    begin = lane_start.searchsorted(lo, side="left")
    stop = lane_start.searchsorted(hi, side="right")
    count = np.maximum(0, stop - begin)
    holder, rows = rows_of_ranges(lane.start + begin, count)
    _, end = line.times(rows)
    lies_inside = end <= hi[holder]
    if len(rows):
        # On the border of two: the later one's.
        is_last_of_equal = rows[:-1] != rows[1:]
        lies_inside[:-1] &= is_last_of_equal
    return rows[lies_inside], group[holder[lies_inside]]

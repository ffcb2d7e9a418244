"""The events that can make a difference to the breakdown of steps, line by line: rows and groups,
in as few bytes as can be.

Times and types are looked up when a part of the groups is swept, so that only that part ever lies
in memory as columns. An event inside another that counts for the same is left out: it changes
nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from powertui.data.model import Bools, Int32s, Int64s, Track, UInt8s
from powertui.data.run.device_intervals import extents
from powertui.data.run.grouping import Groups, Nodes
from powertui.data.tools import sweep
from powertui.data.tools.covered_time import CoveredTime, union
from powertui.data.tools.event_types import KINDS, MARK, NOTHING, EventType, Typed

# Events that are swept in one go, where that many groups have so many. Chosen, not measured.
_CHUNK_EVENTS = 1 << 17
_NONE = np.empty(0, np.int64)


class LinePiece(NamedTuple):
    """Events of one line with their groups, by group."""

    line: Typed
    row: Int32s
    group: Int32s

    def within(self, first: int, last: int) -> Int32s:
        """The rows of groups first … last - 1."""
        lo, hi = self.group.searchsorted((first, last))
        return self.row[lo:hi]


class PieceColumns(NamedTuple):
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
    marks: list[tuple[Int64s, Int64s, Int64s]] = [(_NONE, _NONE, _NONE)]
    for line in lines:
        events = line.track.events
        if (nodes := groups.nodes(line.number)) is not None:
            rows, group = _grouped(nodes, line)
        else:
            rows, group = np.arange(len(events), dtype=np.int32), groups.groups_on_line(line.number)
        kind = line.types_for(rows)
        has = (group >= 0) & (kind != NOTHING)
        mark = has & (kind == MARK)
        if mark.any():
            start = events.start[rows[mark]]
            marks.append((group[mark].astype(np.int64), start, start + events.duration[rows[mark]]))
        has &= ~mark
        if has.any():
            pieces.append(_by_group(line, rows[has], group[has]))
    return pieces, Marked(*(np.concatenate(column) for column in zip(*marks, strict=True)))


def _by_group(line: Typed, rows: Int64s | Int32s, group: Int64s | Int32s) -> LinePiece:
    if (group[1:] < group[:-1]).any():
        order = np.argsort(group, kind="stable")
        rows, group = rows[order], group[order]
    return LinePiece(line, rows.astype(np.int32, copy=False), group.astype(np.int32, copy=False))


def renumbered(pieces: Iterable[LinePiece], number: Int64s) -> list[LinePiece]:
    """The same events under other numbers of their groups; those of a negative number are
    left out.
    """
    out = []
    for piece in pieces:
        group = number[piece.group]
        has = group >= 0
        if has.any():
            out.append(_by_group(piece.line, piece.row[has], group[has]))
    return out


def chosen(pieces: Iterable[LinePiece], groups: Bools) -> list[LinePiece]:
    """Those of these groups."""
    return renumbered(pieces, np.where(groups, np.arange(len(groups)), -1))


def bounds(pieces: Iterable[LinePiece], count: int) -> tuple[Int64s, Int64s]:
    """(first start, last end) of each of `count` groups; the last end lies before the first start
    of those without events.
    """
    lo, hi = extents(_NONE, _NONE, _NONE, count)
    for piece in pieces:
        start = piece.line.track.events.start[piece.row]
        end = start + piece.line.track.events.duration[piece.row]
        firsts = np.flatnonzero(np.append(True, piece.group[1:] != piece.group[:-1]))
        which = piece.group[firsts]
        lo[which] = np.minimum(lo[which], np.minimum.reduceat(start, firsts))
        hi[which] = np.maximum(hi[which], np.maximum.reduceat(end, firsts))
    return lo, hi


def columns(pieces: Sequence[LinePiece], first: int, last: int) -> PieceColumns:
    """The events of groups first … last - 1, counted from the first."""
    parts: list[tuple[Int64s, Int64s, Int64s, UInt8s]] = [
        (_NONE, _NONE, _NONE, np.empty(0, np.uint8))
    ]
    for piece in pieces:
        lo, hi = piece.group.searchsorted((first, last))
        if hi > lo:
            rows, events = piece.row[lo:hi], piece.line.track.events
            start = events.start[rows]
            parts.append(
                (
                    piece.group[lo:hi].astype(np.int64) - first,
                    start,
                    start + events.duration[rows],
                    piece.line.types_for(rows),
                )
            )
    return PieceColumns(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def swept(
    pieces: Sequence[LinePiece], lo: Int64s, hi: Int64s, python: CoveredTime | None = None
) -> tuple[Int64s, Bools]:
    """(how much of [lo, hi) of each group every type has, which types are ever the most telling one
    in each group).

    `python`: when a thread ran Python. It belongs to the group in whose stretch it lies.
    """
    count = len(lo)
    parts = np.zeros((count, KINDS), np.int64)
    present = np.zeros((count, KINDS), np.bool_)
    for first, last in _portions(pieces, count):
        portion_lo, portion_hi = lo[first:last], hi[first:last]
        group, start, end, kind = columns(pieces, first, last)
        if python is not None:
            group, start, end, kind = with_python(
                PieceColumns(group, start, end, kind), python, portion_lo, portion_hi
            )
        sweep_axis = sweep.sweep_events(group, start, end, kind, portion_lo, portion_hi)
        groups = np.arange(last - first)
        parts[first:last] = sweep_axis.inside(groups, portion_lo, portion_hi)
        begin, stop = extents(group, start, end, last - first)
        # A group without events has no place on the axis but its own stretch.
        has_events = stop > begin
        begin = np.where(has_events, begin, portion_lo)
        stop = np.where(has_events, stop, portion_lo)
        present[first:last] = sweep_axis.inside(groups, begin, stop) > 0
    return parts, present


def with_python(events: PieceColumns, python: CoveredTime, lo: Int64s, hi: Int64s) -> PieceColumns:
    """The same events and the moments in [lo, hi) of each group at which a thread ran Python."""
    first = python.end.searchsorted(lo, side="right")
    count = np.maximum(0, python.start.searchsorted(hi, side="left") - first)
    group = np.repeat(np.arange(len(lo)), count)
    offset = np.arange(len(group)) - np.repeat(np.cumsum(count) - count, count)
    row = np.repeat(first, count) + offset
    return PieceColumns(
        np.concatenate([events.group, group]),
        np.concatenate([events.start, np.maximum(python.start[row], lo[group])]),
        np.concatenate([events.end, np.minimum(python.end[row], hi[group])]),
        np.concatenate([events.kind, np.full(len(row), EventType.PYTHON, np.uint8)]),
    )


def _portions(pieces: Sequence[LinePiece], count: int) -> Iterator[tuple[int, int]]:
    """Runs of groups with about as many events."""
    events = np.zeros(count, np.int64)
    for piece in pieces:
        events += np.bincount(piece.group, minlength=count)
    portion = np.cumsum(events) // _CHUNK_EVENTS
    edges = np.flatnonzero(portion[1:] != portion[:-1]) + 1
    for first, last in itertools.pairwise([0, *edges.tolist(), count]):
        if last > first:
            yield first, last


# ── which events of a line can make a difference ─────────────────────────────────────────────────


def _grouped(nodes: Nodes, line: Typed) -> tuple[Int32s, Int32s]:
    """(events of a line that can make a difference, their groups).

    Those that are nodes, those that are more than the host's computing, and of its computing what
    no event around it counts for: an event inside another of its group that counts changes nothing.
    """
    telling = line.telling()
    is_node = np.sort(nodes.row)
    telling = telling[~_among(is_node, telling)]
    plain, plain_group = _bare(nodes, is_node, line)
    new = ~_among(telling, plain)
    inner = nodes.around(line.track, telling)
    group = (
        np.where(inner >= 0, nodes.inner[np.maximum(inner, 0)], -1)
        if len(nodes.row)
        else np.full(len(telling), -1)
    )
    rows = np.concatenate([nodes.row, telling.astype(np.int32), plain[new].astype(np.int32)])
    return rows, np.concatenate(
        [nodes.own, group.astype(np.int32), plain_group[new].astype(np.int32)]
    )


def _among(ascending: Int64s | Int32s, values: Int64s) -> Bools:
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    return np.asarray(
        ascending[np.minimum(ascending.searchsorted(values), len(ascending) - 1)] == values
    )


def _bare(nodes: Nodes, is_node: Int32s, line: Typed) -> tuple[Int64s, Int64s]:
    """(the outermost events that count below marks and events that count nowhere, their groups),
    lane by lane.
    """
    kind = line.types_for(nodes.row)
    through = np.isin(kind, (MARK, NOTHING)) & (nodes.inner >= 0)
    if not through.any():
        return _NONE, _NONE
    track = line.track
    order = np.argsort(nodes.row[through], kind="stable")
    open_rows, open_group = (
        nodes.row[through][order].astype(np.int64),
        nodes.inner[through][order].astype(np.int64),
    )
    parts: list[tuple[Int64s, Int64s]] = []
    above, above_group = _NONE, _NONE
    for depth in range(track.lane_count):
        first, last = int(track.lanes[depth]), int(track.lanes[depth + 1])
        rows, group = _inside(track, above, above_group, first, last)
        new = ~_among(is_node, rows)
        rows, group = rows[new], group[new]
        counts = ~np.isin(line.types_for(rows), (MARK, NOTHING))
        parts.append((rows[counts], group[counts]))
        here = slice(*open_rows.searchsorted((first, last)).tolist())
        above = np.concatenate([open_rows[here], rows[~counts]])
        above_group = np.concatenate([open_group[here], group[~counts]])
        order = np.argsort(above, kind="stable")
        above, above_group = above[order], above_group[order]
    return np.concatenate([rows for rows, _ in parts]), np.concatenate(
        [group for _, group in parts]
    )


def _inside(
    track: Track, holders: Int64s, group: Int64s, first: int, last: int
) -> tuple[Int64s, Int64s]:
    """(events of one lane that lie inside these of the lane above, the groups of those)."""
    events = track.events
    lane = events.start[first:last]
    lo, hi = events.start[holders], events.start[holders] + events.duration[holders]
    a, b = lane.searchsorted(lo, side="left"), lane.searchsorted(hi, side="right")
    count = np.maximum(0, b - a)
    whose = np.repeat(np.arange(len(holders)), count)
    rows = (
        np.arange(int(count.sum()))
        - np.repeat(np.cumsum(count) - count, count)
        + np.repeat(a, count)
        + first
    )
    keep = events.start[rows] + events.duration[rows] <= hi[whose]
    if len(rows):  # on the border of two: the later one's
        keep[:-1] &= rows[:-1] != rows[1:]
    return rows[keep], group[whose[keep]]


def whenever(lines: Iterable[Typed]) -> list[LinePiece]:
    """All that counts, as one group: events of the host's computing only where none around them
    says the same.
    """
    out = []
    for line in lines:
        rows = _outermost(line)
        if len(rows):
            out.append(LinePiece(line, rows, np.zeros(len(rows), np.int32)))
    return out


def _outermost(line: Typed) -> Int32s:
    """Lane by lane, a part at a time: what lies inside an event of the lanes above that computes as
    well is left out.
    """
    track = line.track
    parts = [np.empty(0, np.int32)]
    cover = _NONE, _NONE  # where the host computes, by the lanes so far
    for depth in range(track.lane_count):
        starts, ends = [cover[0]], [cover[1]]
        for at in range(int(track.lanes[depth]), int(track.lanes[depth + 1]), _CHUNK_EVENTS):
            rows = np.arange(
                at, min(at + _CHUNK_EVENTS, int(track.lanes[depth + 1])), dtype=np.int32
            )
            kind = line.types_for(rows)
            counts = (kind != NOTHING) & (kind != MARK)
            rows, kind = rows[counts], kind[counts]
            start = track.events.start[rows]
            end = start + track.events.duration[rows]
            computes = kind == EventType.HOST_COMPUTE
            new = ~(computes & _held(cover, start, end))
            parts.append(rows[new])
            longer = new & computes & (end > start)
            starts.append(start[longer])
            ends.append(end[longer])
        if depth + 1 < track.lane_count:
            cover = union(np.concatenate(starts), np.concatenate(ends))
    return np.concatenate(parts)


def _held(cover: tuple[Int64s, Int64s], start: Int64s, end: Int64s) -> Bools:
    """Which of these lie inside one of the stretches of a cover."""
    if not len(cover[0]):
        return np.zeros(len(start), np.bool_)
    at = cover[0].searchsorted(start, side="right") - 1
    until = cover[1][np.maximum(at, 0)]
    return np.asarray((at >= 0) & (start < until) & (end <= until))

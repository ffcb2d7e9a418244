"""The nodes of one line, the events that decide which group others belong to, and how they nest."""

from __future__ import annotations

import numpy as np

from powertui.data import wire
from powertui.data.formats.builder import is_sorted
from powertui.data.model import Int32s, Int64s, Process, Track, UInt8s, UInt32s
from powertui.data.sorted_columns import places_among
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass


class NodeLine(NamedTuple):
    """One line with events."""

    number: int  # over Trace.tracks()
    process: Process
    track: Track


class LineNodes(NamedTuple):
    """The nodes of one line, by start, the longest first."""

    line: NodeLine
    row: Int32s  # of the track's events
    depth: UInt8s
    first: int  # of them in the common numbering

    def among(self, nodes: Int64s) -> Int64s:
        """Those of these nodes, ascending, that are of this line."""
        first, after = nodes.searchsorted((self.first, self.first + len(self.row)))
        return nodes[first:after]

    def rows_of(self, nodes: Int64s) -> Int32s:
        """The events of these nodes of this line."""
        return self.row[nodes - self.first]

    def names_of(self, nodes: Int64s) -> UInt32s:
        """The names of these nodes of this line."""
        return self.line.track.events.name[self.rows_of(nodes)]


def nested_nodes(line: NodeLine, rows: Int64s, first: int) -> tuple[LineNodes, Int32s]:
    """(the nodes of one line, the innermost node that holds each)."""
    starts = line.track.events.start[rows]
    durations = line.track.events.duration[rows]
    order = np.argsort(starts, kind="stable")  # a few ascending runs, one a lane: quick
    start = starts[order]
    duration = durations[order]
    if not is_sorted(start, duration):
        order = np.lexsort((-durations, starts))
        start = starts[order]
        duration = durations[order]
    depth = wire.nest(start, duration)
    nodes = LineNodes(
        line=line,
        row=rows[order].astype(np.int32),
        depth=depth,
        first=first,
    )
    return nodes, _holders(start, start + duration, depth, first)


def _holders(
    start: Int64s,
    end: Int64s,
    depth: UInt8s,
    first: int,
) -> Int32s:
    """The innermost node of the same line that holds each, in the common numbering; -1 for none."""
    parent = np.full(len(start), -1, np.int32)
    above = np.flatnonzero(depth == 0)
    deepest = int(depth.max())
    for level in range(1, deepest + 1):
        nodes = np.flatnonzero(depth == level)
        # Nodes come by start: of the level above it is the last that comes before.
        place = above.searchsorted(nodes) - 1
        has_parent = place >= 0
        children = nodes[has_parent]
        parent[children] = above[place[has_parent]]
        above = nodes
    # Where events overlap partly, that one may end too early: one further up holds the node.
    rest = np.flatnonzero(parent >= 0)
    while len(rest):
        parent_end = end[parent[rest]]
        ends_early = parent_end < end[rest]
        rest = rest[ends_early]
        parent[rest] = parent[parent[rest]]
        rest = rest[parent[rest] >= 0]
    parent[parent >= 0] += np.int32(first)
    return parent


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of one line, by start, the longest first."""

    row: Int32s  # of the track's events
    parent: Int32s  # the node around each; -1 for none
    own: Int32s  # the group of each
    inner: Int32s  # of what lies in it and in no node deeper

    def groups(self, track: Track, rows: Int64s) -> Int32s:
        """The groups of any events of the line."""
        node_around = self.around(track, rows)
        inside = node_around >= 0
        out = np.full(len(rows), -1, np.int32)
        out[inside] = self.inner[node_around[inside]]
        by_row = np.argsort(self.row, kind="stable")
        place, is_node = places_among(self.row[by_row], rows)
        node = by_row[place[is_node]]
        out[is_node] = self.own[node]
        return out

    def around(self, track: Track, rows: Int64s) -> Int64s:
        """The innermost node that holds each event; -1 for none.

        Of equal stretches the one in the higher lane holds the other.
        """
        starts = track.events.start
        lengths = track.events.duration
        start = starts[rows]
        end = start + lengths[rows]
        begun = starts[self.row].searchsorted(start, side="right")
        around: Int64s = begun - 1
        # A node that began before may have ended as well: climb until one holds the event.
        rest = np.flatnonzero(around >= 0)
        while len(rest):
            node = self.row[around[rest]]
            node_start = starts[node]
            node_end = node_start + lengths[node]
            rest_end = end[rest]
            starts_before = (node_start < start[rest]) | (node < rows[rest])
            ends_with_it = (node_end == rest_end) & starts_before
            holds = (node_end > rest_end) | ends_with_it
            rest = rest[~holds]
            around[rest] = self.parent[around[rest]]
            rest = rest[around[rest] >= 0]
        return around

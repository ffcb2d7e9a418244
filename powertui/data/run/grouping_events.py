"""The events that decide which group others belong to, all lines in one numbering: how they nest,
and who hands work to whom.

Such events are nodes: they hand work on, take it, or can start a group; one event in ten. Of a node
only its row and the node around it are kept. Stats are read twice, a part at a time: first of those
that hand work on, which are few, then of those that take it; of these nothing is kept but which
hand-over each one answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from powertui.data import texts, wire
from powertui.data.formats.builder import is_sorted
from powertui.data.model import Bools, Int32s, Int64s, Process, ProcessKind, Trace, Track, UInt8s
from powertui.data.run.marks import rows_named
from powertui.data.run.row_numbers import KeyRows

_OF_NODES = ("_p", "_c", "_r", "_a", "step_num", "iter_num")  # what makes an event a node
_MAKES = ("_pt", "_p", "_pid", "_r", "_a", "id", "iter_num", "step_num")
_TAKES = ("_ct", "_c", "_pid", "id", "iter_num")
STATS = tuple(dict.fromkeys((*_MAKES, *_TAKES)))
_AT_ONCE = 1 << 16  # events decoded in one call
_POOLS = "ThreadpoolListener::"  # marks of no length: they hand on nothing that lasts
# A context with this many on both sides connects nothing with anything. Chosen, not measured.
_CROWD_SIZE = 64
EXECUTOR = "ExecutorState::Process"
_GET_NEXT = frozenset({"IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute"})
_LEVELS = {"ProcessBatch": 2, "BatchingSessionRun": 1, "TraceContext": 1}
_MISSING = -(1 << 62)

Said = dict[str, Bools]  # which names carry a stat


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


class HandOver(NamedTuple):
    """Producers and consumers of one kind of hand-over: parallel (context, node) pairs, producers
    by context.
    """

    size: int
    producers: Int32s
    producer_starts: Int64s  # where each context's producers begin
    consumers: Int32s  # each once
    consumer_of: Int32s


class _Pairs:
    """Nodes with a number each, collected piece by piece."""

    def __init__(self) -> None:
        self._nodes: list[Int32s] = [np.empty(0, np.int32)]
        self._values: list[Int32s] = [np.empty(0, np.int32)]

    def add(self, nodes: Int64s, values: Int64s) -> None:
        """Some more; those with a negative number are left out."""
        has = values >= 0
        if has.any():
            self._nodes.append(nodes[has].astype(np.int32))
            self._values.append(values[has].astype(np.int32))

    def all(self) -> tuple[Int32s, Int32s]:
        """(nodes, numbers)."""
        return np.concatenate(self._nodes), np.concatenate(self._values)


class NodeForest:
    """All nodes of a trace in one numbering, line by line."""

    def __init__(
        self, trace: Trace, processes: list[tuple[list[NodeLine], Said]], *, lasting: bool = False
    ) -> None:
        """`lasting`: without the marks of thread pools."""
        self.trace = trace
        self._known: dict[tuple[str, ...], Bools] = {}
        self.parts: list[LineNodes] = []
        self.launches: list[tuple[NodeLine, Int64s]] = []
        self.kernels = False
        self._said = {id(lines[0].process): carriers for lines, carriers in processes}
        special = self._names(_LEVELS)
        pools = np.zeros(len(trace.names), np.bool_)
        if lasting:
            pools = texts.beginning(trace.names, _POOLS)
        parents: list[Int32s] = [np.empty(0, np.int32)]
        self.count = 0
        for lines, carriers in processes:
            node_names = (
                np.logical_or.reduce([special, *(carriers[stat] for stat in _OF_NODES)]) & ~pools
            )
            for line in lines:
                if line.process.kind is ProcessKind.DEVICE or line.track.derived:
                    self.kernels = self.kernels or bool(carriers["correlation_id"].any())
                    continue
                if carriers["correlation_id"].any():
                    calls = rows_named(line.track.events.name, carriers["correlation_id"])
                    if len(calls):
                        self.launches.append((line, calls))
                rows = rows_named(line.track.events.name, node_names)
                if len(rows):
                    part, parent = _nested(line, rows, self.count)
                    self.parts.append(part)
                    parents.append(parent)
                    self.count += len(rows)
        self.parent: Int32s = np.concatenate(parents)
        self._levels: list[tuple[Int64s, Int64s]] = []  # (nodes, root levels)
        self.apart: Int64s = np.empty(0, np.int64)  # nodes that hold nothing and that nothing holds
        self.markers: Int64s = np.empty(0, np.int64)  # nodes with a step's number
        self.contexts: list[HandOver] = []
        if self.count:
            self._read()

    def forget(self) -> None:
        """Let go of what grouping alone needs: what stays tells where a node lies."""
        self.contexts = []
        self.parent = np.empty(0, np.int32)
        self._levels = []

    # ── times and names ──────────────────────────────────────────────────────────────────────────

    def start_of(self, nodes: Int64s) -> Int64s:
        """When these nodes, ascending, begin."""
        return self._gathered(nodes, lambda part, rows: part.line.track.events.start[rows])

    def length_of(self, nodes: Int64s) -> Int64s:
        """How long these nodes, ascending, last."""
        return self._gathered(nodes, lambda part, rows: part.line.track.events.duration[rows])

    def _gathered(self, nodes: Int64s, take: Callable[[LineNodes, Int32s], Int64s]) -> Int64s:
        out = [np.empty(0, np.int64)]
        for part in self.parts:
            lo, hi = nodes.searchsorted((part.first, part.first + len(part.row)))
            if hi > lo:
                out.append(take(part, part.row[nodes[lo:hi] - part.first]))
        return np.concatenate(out)

    def _names(self, names: Iterable[str]) -> Bools:
        key = tuple(names)
        if key not in self._known:
            self._known[key] = texts.beginning(self.trace.names, *key, whole=True)
        return self._known[key]

    def named(self, names: Iterable[str], nodes: Int64s | None = None) -> Int64s:
        """The nodes with one of these names, ascending; of all, or of these (ascending)."""
        with_name = self._names(names)
        out = [np.empty(0, np.int64)]
        for part in self.parts:
            if nodes is None:
                out.append(
                    np.flatnonzero(with_name[part.line.track.events.name[part.row]]) + part.first
                )
            else:
                lo, hi = nodes.searchsorted((part.first, part.first + len(part.row)))
                mine = nodes[lo:hi]
                out.append(
                    mine[with_name[part.line.track.events.name[part.row[mine - part.first]]]]
                )
        return np.concatenate(out)

    def locate(self, node: int) -> tuple[NodeLine, int]:
        """The line of a node and its row there."""
        place = int(np.searchsorted([part.first for part in self.parts], node, side="right")) - 1
        part = self.parts[place]
        return part.line, int(part.row[node - part.first])

    def rows_by_line(self, nodes: Int64s) -> dict[int, Int32s]:
        """The rows of these nodes, ascending, by the numbers of their lines; rows ascend too."""
        rows = {}
        for part in self.parts:
            lo, hi = nodes.searchsorted((part.first, part.first + len(part.row)))
            if hi > lo:
                rows[part.line.number] = np.sort(part.row[nodes[lo:hi] - part.first])
        return rows

    def name_of(self, node: int) -> str:
        """Its name."""
        line, row = self.locate(node)
        return self.trace.names.full(int(line.track.events.name[row]))

    def text(self, node: int, name: str) -> str | None:
        """One stat of one node as text."""
        line, row = self.locate(node)
        position = line.track.events.position_of(row)
        return next(
            (
                str(stat.value)
                for stat in line.process.source.event_stats(position)
                if stat.name == name
            ),
            None,
        )

    def levels(self, *, by_number: bool = True) -> tuple[Int64s, Int64s]:
        """(nodes that can start a group, ascending; the level of each, above 0).

        `by_number`: those too that carry a step's number and no level.
        """
        named = [(self.named({name}), rank) for name, rank in _LEVELS.items()]
        markers = self.markers if by_number else np.empty(0, np.int64)
        nodes = np.concatenate(
            [*(nodes for nodes, _ in self._levels), *(nodes for nodes, _ in named), markers]
        )
        ranks = np.concatenate(
            [
                *(ranks for _, ranks in self._levels),
                *(np.full(len(nodes), rank) for nodes, rank in named),
                np.ones(len(markers), np.int64),
            ]
        )
        order = np.lexsort((-ranks, nodes))
        nodes, ranks = nodes[order], ranks[order]
        highest = np.append(True, nodes[1:] != nodes[:-1])[: len(nodes)] & (ranks > 0)
        return nodes[highest], ranks[highest]

    # ── stats ────────────────────────────────────────────────────────────────────────────────────

    def _stats(
        self, stats: Sequence[str], *names: Bools
    ) -> Iterator[tuple[Int64s, dict[str, Int64s]]]:
        """(nodes, their stats; _MISSING where one has none) of the nodes with a name among these,
        part by part.
        """
        chosen_names: Bools = np.logical_or.reduce(names)
        for part in self.parts:
            carriers = self._said[id(part.line.process)]
            asked = [stat for stat in stats if carriers[stat].any()]
            events = part.line.track.events
            mine = (
                np.flatnonzero(chosen_names[events.name[part.row]])
                if asked
                else np.empty(0, np.int64)
            )
            for at in range(0, len(mine), _AT_ONCE):
                some = mine[at : at + _AT_ONCE]
                columns = part.line.process.source.columns(events.positions(part.row[some]), asked)
                stats_of = {
                    name: np.where(
                        column.present & np.isfinite(column.floats), column.ints, _MISSING
                    )
                    for name, column in columns.items()
                }
                missing = np.full(len(some), _MISSING, np.int64)
                yield some + part.first, {name: stats_of.get(name, missing) for name in stats}

    def _carriers(self, *stats: str) -> Bools:
        names: Bools = np.logical_or.reduce(
            [carriers[stat] for carriers in self._said.values() for stat in stats]
        )
        return names

    def _read(self) -> None:
        executors, inputs = self._names({EXECUTOR}), self._names(_GET_NEXT)
        makes = _Collected(("_pt", "_pid", "_p"))
        asks = _Collected(("iter_num", "id"))
        apart, markers = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        identified = self._carriers("id")
        for nodes, stats in self._stats(
            _MAKES, self._carriers("_p", "_r", "_a", "step_num"), inputs & identified
        ):
            makes.add(nodes, stats, stats["_p"] != _MISSING)
            ranked = stats["_r"] != _MISSING
            self._levels.append((nodes[ranked], stats["_r"][ranked]))
            apart.append(nodes[(stats["_a"] != _MISSING) & (stats["_a"] != 0)])
            markers.append(nodes[stats["step_num"] != _MISSING])
            asks.add(
                nodes,
                stats,
                (stats["id"] != _MISSING) & (stats["iter_num"] >= 0) & self._have(nodes, inputs),
            )
        self.apart, self.markers = np.concatenate(apart), np.concatenate(markers)
        made, asked = KeyRows(makes.columns()), KeyRows(asks.columns())
        takers_of, iterations = _Pairs(), _Pairs()
        takers = self._carriers("_c") if made.count else np.zeros(len(self.trace.names), np.bool_)
        runs = executors & identified if asked.count else np.zeros(len(self.trace.names), np.bool_)
        for nodes, stats in self._stats(_TAKES, takers, runs):
            if made.count:
                number = made.find((_plain(stats["_ct"]), _plain(stats["_pid"]), stats["_c"]))
                takers_of.add(nodes, np.where(stats["_c"] != _MISSING, number, -1))
            if asked.count:
                number = asked.find((stats["iter_num"], stats["id"]))
                iterations.add(
                    nodes,
                    np.where((stats["id"] != _MISSING) & self._have(nodes, executors), number, -1),
                )
        for context in (
            _context(made.count, makes.nodes(), made.codes, *takers_of.all(), crowd=True),
            # an executor's iteration → the input that it asked for
            _context(asked.count, *iterations.all(), asks.nodes(), asked.codes),
        ):
            if context.size:
                self.contexts.append(context)

    def _have(self, nodes: Int64s, names: Bools) -> Bools:
        """Which of these nodes, all of one line, have one of these names."""
        if not len(nodes):
            return np.zeros(0, np.bool_)
        place = (
            int(np.searchsorted([part.first for part in self.parts], nodes[0], side="right")) - 1
        )
        part = self.parts[place]
        return np.asarray(
            names[part.line.track.events.name[part.row[nodes - part.first]]], np.bool_
        )

    def loops(self) -> Int64s:
        """The first executor event of each iteration, of those loops that iterate at all."""
        executors = self._names({EXECUTOR}) & self._carriers("iter_num")
        turning = [np.empty(0, np.int64)]
        for nodes, stats in self._stats(("id", "iter_num"), executors):
            turning.append(
                np.unique(stats["id"][(stats["iter_num"] > 0) & self._have(nodes, executors)])
            )
        looping = np.unique(np.concatenate(turning))
        if not len(looping):
            return np.empty(0, np.int64)
        turns_of = _Collected(("id", "iter_num"))
        for nodes, stats in self._stats(("id", "iter_num"), executors):
            turns_of.add(nodes, stats, np.isin(stats["id"], looping) & self._have(nodes, executors))
        ids, turns = (_plain(column) for column in turns_of.columns())
        nodes = turns_of.nodes()
        order = np.lexsort((self.start_of(nodes), turns, ids))
        new = np.ones(len(order), np.bool_)
        new[1:] = (ids[order][1:] != ids[order][:-1]) | (turns[order][1:] != turns[order][:-1])
        return nodes[order[new]]


def _plain(values: Int64s) -> Int64s:
    """What is missing counts as -1."""
    return np.where(values == _MISSING, -1, values)


class _Collected:
    """Nodes with some of their stats, collected piece by piece."""

    def __init__(self, stats: Sequence[str]) -> None:
        self._stats = stats
        self._nodes: list[Int64s] = [np.empty(0, np.int64)]
        self._columns: list[list[Int64s]] = [[np.empty(0, np.int64)] for _ in stats]

    def add(self, nodes: Int64s, stats: dict[str, Int64s], rows: Bools) -> None:
        """Those of these nodes."""
        self._nodes.append(nodes[rows])
        for column, stat in zip(self._columns, self._stats, strict=True):
            column.append(_plain(stats[stat][rows]))

    def nodes(self) -> Int64s:
        """All of them."""
        return np.concatenate(self._nodes)

    def columns(self) -> tuple[Int64s, ...]:
        """Their stats, -1 where one has none."""
        return tuple(np.concatenate(column) for column in self._columns)


def _nested(line: NodeLine, rows: Int64s, first: int) -> tuple[LineNodes, Int32s]:
    """(the nodes of one line, the innermost node that holds each)."""
    events = line.track.events
    start = events.start[rows]
    order = np.argsort(start, kind="stable")  # a few ascending runs, one for each lane: quick
    start, duration = start[order], events.duration[rows[order]]
    if not is_sorted(start, duration):
        order = np.lexsort((-events.duration[rows], events.start[rows]))
        start, duration = events.start[rows[order]], events.duration[rows[order]]
    depth = wire.nest(start, duration)
    return LineNodes(line, rows[order].astype(np.int32), depth, first), _holders(
        start, start + duration, depth, first
    )


def _holders(start: Int64s, end: Int64s, depth: UInt8s, first: int) -> Int32s:
    """The innermost node of the same line that holds each, in the common numbering; -1 for none."""
    parent = np.full(len(start), -1, np.int32)
    above = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max()) + 1):
        here = np.flatnonzero(depth == level)
        at = (
            above.searchsorted(here) - 1
        )  # they come by start: the last one above that began before
        parent[here] = np.where(at >= 0, above[np.maximum(at, 0)], -1)
        above = here
    rest = np.flatnonzero(parent >= 0)
    while len(rest):  # files that overlap partly: look further up
        rest = rest[end[parent[rest]] < end[rest]]
        parent[rest] = parent[parent[rest]]
        rest = rest[parent[rest] >= 0]
    parent[parent >= 0] += np.int32(first)
    return parent


_Some = Int32s | Int64s


def _context(
    count: int, makers: _Some, made: _Some, users: _Some, used: _Some, *, crowd: bool = False
) -> HandOver:
    """Bring the nodes that hand over, and those that take, together by the number of what is handed
    over.
    """
    by, of = np.bincount(made, minlength=count), np.bincount(used, minlength=count)
    both = (by > 0) & (of > 0)
    if crowd:
        both &= ~((by >= _CROWD_SIZE) & (of >= _CROWD_SIZE))
    renumber = (np.cumsum(both) - 1).astype(np.int32)
    keep = both[made]
    makers, made = makers[keep].astype(np.int32), renumber[made[keep]]
    if (made[1:] < made[:-1]).any():
        order = np.argsort(made, kind="stable")
        makers, made = makers[order], made[order]
    starts = np.searchsorted(made, np.arange(int(both.sum()), dtype=np.int32))
    keep = both[used]
    return HandOver(len(starts), makers, starts, users[keep].astype(np.int32), renumber[used[keep]])

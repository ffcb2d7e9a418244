"""The events that decide which group others belong to, all lines in one numbering: how they nest,
and who hands work to whom.

Such events are nodes: they hand work on, take it, or can start a group; one event in ten. Of a node
only its row and the node around it are kept. Stats are read twice, a part at a time: first of those
that hand work on, which are few, then of those that take it; of these nothing is kept but which
hand-over each one answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from powertui.data import texts, wire
from powertui.data.formats.builder import is_sorted
from powertui.data.model import (
    Bools,
    Int32s,
    Int64s,
    Process,
    ProcessKind,
    Trace,
    Track,
    UInt8s,
    UInt32s,
)
from powertui.data.run.hand_overs import (
    MISSING,
    HandOver,
    NodePairs,
    NodesOfContexts,
    NodeStats,
    hand_over,
    or_minus_one,
)
from powertui.data.run.row_numbers import KeyRows
from powertui.data.run.stat_carriers import rows_named
from powertui.data.sorted_columns import are_among, begins_run
from powertui.named_tuples import NamedTuple

_OF_NODES = ("_p", "_c", "_r", "_a", "step_num", "iter_num")  # what makes an event a node
_MAKES = ("_pt", "_p", "_pid", "_r", "_a", "id", "iter_num", "step_num")
_TAKES = ("_ct", "_c", "_pid", "id", "iter_num")
STATS = tuple(dict.fromkeys((*_MAKES, *_TAKES)))
_LOOP_STATS = ("id", "iter_num")  # which loop an executor's event is of, and which iteration
_DECODED_ROWS = 1 << 16  # in one call
_POOLS = "ThreadpoolListener::"  # marks of no length: they hand on nothing that lasts
EXECUTOR = "ExecutorState::Process"
_GET_NEXT = frozenset({"IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute"})
_LEVELS = {"ProcessBatch": 2, "BatchingSessionRun": 1, "TraceContext": 1}
# tf.data runs functions of its own by these; what carries the id of such a run is its work.
_INPUT_FUNCTIONS = (
    "InstantiatedCapturedFunction::Run",
    "InstantiatedCapturedFunction::RunAsync",
    "InstantiatedCapturedFunction::RunInstantiated",
    "InstantiatedCapturedFunction::RunWithBorrowedArgs",
)

NamesWith = dict[str, Bools]  # of each stat which names carry it


class NodeLine(NamedTuple):
    """One line with events."""

    number: int  # over Trace.tracks()
    process: Process
    track: Track


_NO_NODES = np.empty(0, np.int64)


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


class NodeForest:
    """All nodes of a trace in one numbering, line by line."""

    def __init__(
        self,
        trace: Trace,
        processes: list[tuple[list[NodeLine], NamesWith]],
        *,
        lasting: bool = False,
    ) -> None:
        """`lasting`: without the marks of thread pools."""
        self.trace = trace
        self._rows_with_name: dict[tuple[str, ...], Bools] = {}
        self.parts: list[LineNodes] = []
        self.launches: list[tuple[NodeLine, Int64s]] = []
        self.kernels = False
        self._names_with: dict[int, NamesWith] = {}
        self.count = 0
        self._levels: list[tuple[Int64s, Int64s]] = []  # (nodes, root levels)
        self._run_ids: list[tuple[Int64s, Int64s]] = []  # (roots, ids of the runs they belong to)
        self.apart: Int64s = np.empty(0, np.int64)  # nodes that hold nothing and that nothing holds
        self.markers: Int64s = np.empty(0, np.int64)  # nodes with a step's number
        self.contexts: list[HandOver] = []
        has_level = self._names(_LEVELS)
        is_pool = np.zeros(len(trace.names), np.bool_)
        if lasting:
            is_pool = texts.beginning(trace.names, _POOLS)
        parents: list[Int32s] = [np.empty(0, np.int32)]
        for lines, names_with in processes:
            self._names_with[id(lines[0].process)] = names_with
            node_names = np.logical_or.reduce(
                [has_level, *(names_with[stat] for stat in _OF_NODES)]
            )
            node_names &= ~is_pool
            for line in lines:
                parents.append(self._add_line(line, node_names, names_with["correlation_id"]))
        self.parent: Int32s = np.concatenate(parents)
        if self.count:
            self._read()

    def _add_line(self, line: NodeLine, node_names: Bools, launch_names: Bools) -> Int32s:
        """The node around each node of one line."""
        none = np.empty(0, np.int32)
        launches = bool(launch_names.any())
        if line.process.kind is ProcessKind.DEVICE or line.track.derived:
            self.kernels = self.kernels or launches
            return none
        if launches:
            calls = rows_named(line.track.events.name, launch_names)
            if len(calls):
                self.launches.append((line, calls))
        rows = rows_named(line.track.events.name, node_names)
        if not len(rows):
            return none
        part, parent = _nested(line, rows, self.count)
        self.parts.append(part)
        self.count += len(rows)
        return parent

    def forget(self) -> None:
        """Let go of what grouping alone needs: what stays tells where a node lies."""
        self.contexts = []
        self.parent = np.empty(0, np.int32)
        self._levels = []
        self._run_ids = []

    # ── times and names ──────────────────────────────────────────────────────────────────────────

    def start_of(self, nodes: Int64s) -> Int64s:
        """When these nodes, ascending, begin."""
        return self._gathered(nodes, lambda part, rows: part.line.track.events.start[rows])

    def length_of(self, nodes: Int64s) -> Int64s:
        """How long these nodes, ascending, last."""
        return self._gathered(nodes, lambda part, rows: part.line.track.events.duration[rows])

    def _gathered(self, nodes: Int64s, take: Callable[[LineNodes, Int32s], Int64s]) -> Int64s:
        parts = [np.empty(0, np.int64)]
        for part in self.parts:
            of_line = part.among(nodes)
            if len(of_line):
                parts.append(take(part, part.rows_of(of_line)))
        return np.concatenate(parts)

    def _names(self, names: Iterable[str]) -> Bools:
        key = tuple(names)
        if key not in self._rows_with_name:
            self._rows_with_name[key] = texts.beginning(self.trace.names, *key, whole=True)
        return self._rows_with_name[key]

    def named(self, names: Iterable[str], nodes: Int64s | None = None) -> Int64s:
        """The nodes with one of these names, ascending; of all, or of these (ascending)."""
        has_name = self._names(names)
        parts = [np.empty(0, np.int64)]
        for part in self.parts:
            if nodes is None:
                with_name = np.flatnonzero(has_name[part.line.track.events.name[part.row]])
                parts.append(with_name + part.first)
            else:
                of_line = part.among(nodes)
                parts.append(of_line[has_name[part.names_of(of_line)]])
        return np.concatenate(parts)

    def locate(self, node: int) -> tuple[NodeLine, int]:
        """The line of a node and its row there."""
        part = self._part_with(node)
        return part.line, int(part.row[node - part.first])

    def _part_with(self, node: int) -> LineNodes:
        firsts = [part.first for part in self.parts]
        return self.parts[int(np.searchsorted(firsts, node, side="right")) - 1]

    def rows_by_line(self, nodes: Int64s) -> dict[int, Int32s]:
        """The rows of these nodes, ascending, by the numbers of their lines; rows ascend too."""
        rows = {}
        for part in self.parts:
            of_line = part.among(nodes)
            if len(of_line):
                rows[part.line.number] = np.sort(part.rows_of(of_line))
        return rows

    def name_of(self, node: int) -> str:
        """Its name."""
        line, row = self.locate(node)
        return self.trace.names.full(int(line.track.events.name[row]))

    def text(self, node: int, name: str) -> str | None:
        """One stat of one node as text."""
        line, row = self.locate(node)
        for stat in line.process.source.event_stats(line.track.events.position_of(row)):
            if stat.name == name:
                return str(stat.value)
        return None

    def levels(self, *, by_number: bool = True) -> tuple[Int64s, Int64s]:
        """(nodes that can start a group, ascending; the level of each, above 0).

        `by_number`: those too that carry a step's number and no level.
        """
        parts = list(self._levels)
        for name, level in _LEVELS.items():
            named = self.named({name})
            parts.append((named, np.full(len(named), level)))
        if by_number:
            parts.append((self.markers, np.ones(len(self.markers), np.int64)))
        nodes = np.concatenate([part_nodes for part_nodes, _ in parts])
        level_of = np.concatenate([part_levels for _, part_levels in parts])
        order = np.lexsort((-level_of, nodes))
        nodes = nodes[order]
        level_of = level_of[order]
        highest = begins_run(nodes) & (level_of > 0)
        return nodes[highest], level_of[highest]

    def input_roots(self) -> Int64s:
        """The nodes with a root level that are work of tf.data: to the collectors they start
        nothing.
        """
        runs = self._input_runs()
        roots = [np.empty(0, np.int64)]
        for nodes, run_ids in self._run_ids:
            roots.append(nodes[are_among(run_ids, runs)])
        return np.concatenate(roots)

    def _input_runs(self) -> Int64s:
        """The ids of the runs of tf.data's own functions."""
        is_input = self._names(_INPUT_FUNCTIONS)
        run_ids = [np.empty(0, np.int64)]
        if not is_input.any():
            return run_ids[0]
        for process, track in self.trace.tracks():
            if process.kind is ProcessKind.DEVICE or track.derived:
                continue
            events = track.events
            rows = rows_named(events.name, is_input)
            if len(rows):
                ids = process.source.columns(events.positions(rows), ("id",))["id"]
                run_ids.append(ids.ints[ids.present])
        return wire.distinct(np.concatenate(run_ids))

    # ── stats ────────────────────────────────────────────────────────────────────────────────────

    def _stats(
        self, stats: Sequence[str], *names: Bools
    ) -> Iterator[tuple[Int64s, dict[str, Int64s]]]:
        """(nodes, their stats; MISSING where one has none) of the nodes with a name among these,
        part by part.
        """
        chosen_names: Bools = np.logical_or.reduce(names)
        for part in self.parts:
            process = part.line.process
            events = part.line.track.events
            names_with = self._names_with[id(process)]
            asked = [stat for stat in stats if names_with[stat].any()]
            if not asked:
                continue
            chosen = np.flatnonzero(chosen_names[events.name[part.row]])
            for first in range(0, len(chosen), _DECODED_ROWS):
                some = chosen[first : first + _DECODED_ROWS]
                values = dict.fromkeys(stats, np.full(len(some), MISSING, np.int64))
                columns = process.source.columns(events.positions(part.row[some]), asked)
                for stat, column in columns.items():
                    is_number = column.present & np.isfinite(column.floats)
                    values[stat] = np.where(is_number, column.ints, MISSING)
                yield some + part.first, values

    def _carriers(self, *stats: str) -> Bools:
        """Which names carry one of these stats, on any process."""
        carrying = [names_with[stat] for names_with in self._names_with.values() for stat in stats]
        names: Bools = np.logical_or.reduce(carrying)
        return names

    def _read(self) -> None:
        produced = NodeStats(("_pt", "_pid", "_p"))
        inputs = NodeStats(("iter_num", "id"))  # what an executor's iteration asked for
        self._read_makers(produced, inputs)
        produced_keys = KeyRows(produced.columns())
        input_keys = KeyRows(inputs.columns())
        consumers = NodePairs()
        iterations = NodePairs()
        self._read_takers(produced_keys, input_keys, consumers, iterations)
        hand_overs = (
            hand_over(
                produced_keys.count,
                NodesOfContexts(produced.nodes(), produced_keys.codes),
                consumers.all(),
                without_crowds=True,
            ),
            hand_over(
                input_keys.count,
                iterations.all(),
                NodesOfContexts(inputs.nodes(), input_keys.codes),
            ),
        )
        self.contexts = [context for context in hand_overs if context.size]

    def _read_makers(self, produced: NodeStats, inputs: NodeStats) -> None:
        """Read the stats of what hands work on or starts a group."""
        is_input = self._names(_GET_NEXT)
        apart = []
        markers = []
        making = self._carriers("_p", "_r", "_a", "step_num")
        asking = is_input & self._carriers("id")
        for nodes, stats in self._stats(_MAKES, making, asking):
            has_id = stats["id"] != MISSING
            produced.add(nodes, stats, stats["_p"] != MISSING)
            level = stats["_r"]
            is_root = level != MISSING
            self._levels.append((nodes[is_root], level[is_root]))
            is_of_run = is_root & has_id
            self._run_ids.append((nodes[is_of_run], stats["id"][is_of_run]))
            is_apart = (stats["_a"] != MISSING) & (stats["_a"] != 0)
            apart.append(nodes[is_apart])
            is_marker = stats["step_num"] != MISSING
            markers.append(nodes[is_marker])
            has_iteration = has_id & (stats["iter_num"] >= 0)
            asks = has_iteration & self._have(nodes, is_input)
            inputs.add(nodes, stats, asks)
        self.apart = np.concatenate([_NO_NODES, *apart])
        self.markers = np.concatenate([_NO_NODES, *markers])

    def _read_takers(
        self, produced: KeyRows, inputs: KeyRows, consumers: NodePairs, iterations: NodePairs
    ) -> None:
        """Read the stats of what takes work: of each only which hand-over it answers is kept."""
        is_executor = self._names({EXECUTOR})
        # Where nothing hands work on, nothing takes it: then no event is read.
        taking = iterating = np.zeros(len(self.trace.names), np.bool_)
        if produced.count:
            taking = self._carriers("_c")
        if inputs.count:
            iterating = is_executor & self._carriers("id")
        for nodes, stats in self._stats(_TAKES, taking, iterating):
            if produced.count:
                kind = or_minus_one(stats["_ct"])
                pid = or_minus_one(stats["_pid"])
                context = stats["_c"]
                number = produced.find((kind, pid, context))
                answered = np.where(context != MISSING, number, -1)
                consumers.add(nodes, answered)
            if inputs.count:
                number = inputs.find((stats["iter_num"], stats["id"]))
                is_iteration = (stats["id"] != MISSING) & self._have(nodes, is_executor)
                answered = np.where(is_iteration, number, -1)
                iterations.add(nodes, answered)

    def _have(self, nodes: Int64s, names: Bools) -> Bools:
        """Which of these nodes, all of one line, have one of these names."""
        if not len(nodes):
            return np.zeros(0, np.bool_)
        part = self._part_with(int(nodes[0]))
        return np.asarray(names[part.names_of(nodes)], np.bool_)

    def loops(self) -> Int64s:
        """The first executor event of each iteration, of those loops that iterate at all."""
        is_executor = self._names({EXECUTOR}) & self._carriers("iter_num")
        loop_ids = self._iterating_loops(is_executor)
        if not len(loop_ids):
            return np.empty(0, np.int64)
        iterations = NodeStats(_LOOP_STATS)
        for nodes, stats in self._stats(_LOOP_STATS, is_executor):
            is_of_loop = np.isin(stats["id"], loop_ids) & self._have(nodes, is_executor)
            iterations.add(nodes, stats, is_of_loop)
        loop, iteration = (or_minus_one(column) for column in iterations.columns())
        nodes = iterations.nodes()
        order = np.lexsort((self.start_of(nodes), iteration, loop))
        is_first = begins_run(loop[order], iteration[order])
        return nodes[order[is_first]]

    def _iterating_loops(self, is_executor: Bools) -> Int64s:
        """The ids of loops with a second iteration: an executor that runs once counts none."""
        loops = [np.empty(0, np.int64)]
        for nodes, stats in self._stats(_LOOP_STATS, is_executor):
            iterates = (stats["iter_num"] > 0) & self._have(nodes, is_executor)
            loops.append(wire.distinct(stats["id"][iterates]))
        return wire.distinct(np.concatenate(loops))


def _nested(line: NodeLine, rows: Int64s, first: int) -> tuple[LineNodes, Int32s]:
    """(the nodes of one line, the innermost node that holds each)."""
    events = line.track.events
    order = np.argsort(events.start[rows], kind="stable")  # a few ascending runs, one a lane: quick
    start = events.start[rows[order]]
    duration = events.duration[rows[order]]
    if not is_sorted(start, duration):
        order = np.lexsort((-events.duration[rows], events.start[rows]))
        start = events.start[rows[order]]
        duration = events.duration[rows[order]]
    depth = wire.nest(start, duration)
    nodes = LineNodes(line, rows[order].astype(np.int32), depth, first)
    return nodes, _holders(start, start + duration, depth, first)


def _holders(start: Int64s, end: Int64s, depth: UInt8s, first: int) -> Int32s:
    """The innermost node of the same line that holds each, in the common numbering; -1 for none."""
    parent = np.full(len(start), -1, np.int32)
    above = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max()) + 1):
        nodes = np.flatnonzero(depth == level)
        # Nodes come by start: of the level above it is the last that comes before.
        place = above.searchsorted(nodes) - 1
        has_parent = place >= 0
        parent[nodes[has_parent]] = above[place[has_parent]]
        above = nodes
    # Where events overlap partly, that one may end too early: one further up holds the node.
    rest = np.flatnonzero(parent >= 0)
    while len(rest):
        parent_end = end[parent[rest]]
        rest = rest[parent_end < end[rest]]
        parent[rest] = parent[parent[rest]]
        rest = rest[parent[rest] >= 0]
    parent[parent >= 0] += np.int32(first)
    return parent

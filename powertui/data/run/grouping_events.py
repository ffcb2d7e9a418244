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

from powertui.data import name_shapes, wire
from powertui.data.model import (
    Bools,
    Int32s,
    Int64s,
    ProcessKind,
    Trace,
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
from powertui.data.run.line_nodes import LineNodes, NodeLine, nested_nodes
from powertui.data.run.row_numbers import KeyRows
from powertui.data.run.stat_carriers import rows_named
from powertui.data.sorted_columns import are_among, begins_run

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


_NO_NODES = np.empty(0, np.int64)


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
            is_pool = name_shapes.beginning(trace.names, _POOLS)
        parents: list[Int32s] = [np.empty(0, np.int32)]
        for lines, names_with in processes:
            self._names_with[id(lines[0].process)] = names_with
            carriers = [names_with[stat] for stat in _OF_NODES]
            node_names = np.logical_or.reduce([has_level, *carriers])
            node_names &= ~is_pool
            launch_names = names_with["correlation_id"]
            for line in lines:
                parents.append(self._add_line(line, node_names, launch_names))
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
        names = line.track.events.name
        if launches:
            calls = rows_named(names, launch_names)
            if len(calls):
                self.launches.append((line, calls))
        rows = rows_named(names, node_names)
        if not len(rows):
            return none
        part, parent = nested_nodes(line, rows, self.count)
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
            if not len(of_line):
                continue
            rows = part.rows_of(of_line)
            parts.append(take(part, rows))
        return np.concatenate(parts)

    def _names(self, names: Iterable[str]) -> Bools:
        key = tuple(names)
        if key not in self._rows_with_name:
            self._rows_with_name[key] = name_shapes.beginning(self.trace.names, *key, whole=True)
        return self._rows_with_name[key]

    def named(self, names: Iterable[str], nodes: Int64s | None = None) -> Int64s:
        """The nodes with one of these names, ascending; of all, or of these (ascending)."""
        has_name = self._names(names)
        parts = [np.empty(0, np.int64)]
        for part in self.parts:
            if nodes is None:
                line_names = part.line.track.events.name
                with_name = np.flatnonzero(has_name[line_names[part.row]])
                parts.append(with_name + part.first)
            else:
                of_line = part.among(nodes)
                is_named = has_name[part.names_of(of_line)]
                parts.append(of_line[is_named])
        return np.concatenate(parts)

    def locate(self, node: int) -> tuple[NodeLine, int]:
        """The line of a node and its row there."""
        part = self._part_with(node)
        return part.line, int(part.row[node - part.first])

    def _part_with(self, node: int) -> LineNodes:
        firsts = [part.first for part in self.parts]
        after = np.searchsorted(firsts, node, side="right")
        return self.parts[int(after) - 1]

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
        name = int(line.track.events.name[row])
        return self.trace.names.full(name)

    def text(self, node: int, name: str) -> str | None:
        """One stat of one node as text."""
        line, row = self.locate(node)
        position = line.track.events.position_of(row)
        for stat in line.process.source.event_stats(position):
            if stat.name == name:
                return str(stat.value)
        return None

    def levels(self, *, by_number: bool = True) -> tuple[Int64s, Int64s]:
        """(nodes that can start a group, ascending; the level of each, above 0).

        `by_number`: those too that carry a step's number and no level.
        """
        node_parts = []
        level_parts = []
        for nodes, levels in self._levels:
            node_parts.append(nodes)
            level_parts.append(levels)
        for name, level in _LEVELS.items():
            nodes = self.named({name})
            node_parts.append(nodes)
            level_parts.append(np.full(len(nodes), level))
        if by_number:
            node_parts.append(self.markers)
            level_parts.append(np.ones(len(self.markers), np.int64))
        node = np.concatenate(node_parts)
        level_of = np.concatenate(level_parts)
        order = np.lexsort((-level_of, node))
        node = node[order]
        level_of = level_of[order]
        highest = begins_run(node) & (level_of > 0)
        return node[highest], level_of[highest]

    def input_roots(self) -> Int64s:
        """The nodes with a root level that are work of tf.data: to the collectors they start
        nothing.
        """
        input_runs = self._input_runs()
        roots = [np.empty(0, np.int64)]
        for nodes, run_ids in self._run_ids:
            is_input = are_among(run_ids, input_runs)
            roots.append(nodes[is_input])
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
            if not len(rows):
                continue
            columns = process.source.columns(events.positions(rows), ("id",))
            ids = columns["id"]
            run_ids.append(ids.ints[ids.present])
        return wire.distinct(np.concatenate(run_ids))

    # ── stats ────────────────────────────────────────────────────────────────────────────────────

    def _stats(
        self,
        stats: Sequence[str],
        *names: Bools,
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
            node_names = events.name[part.row]
            chosen = np.flatnonzero(chosen_names[node_names])
            for first in range(0, len(chosen), _DECODED_ROWS):
                nodes = chosen[first : first + _DECODED_ROWS]
                positions = events.positions(part.row[nodes])
                columns = process.source.columns(positions, asked)
                missing = np.full(len(nodes), MISSING, np.int64)
                values = dict.fromkeys(stats, missing)
                for stat, column in columns.items():
                    is_number = column.present & np.isfinite(column.floats)
                    values[stat] = np.where(is_number, column.ints, MISSING)
                yield nodes + part.first, values

    def _carriers(self, *stats: str) -> Bools:
        """Which names carry one of these stats, on any process."""
        carrying = []
        for names_with in self._names_with.values():
            carrying += [names_with[stat] for stat in stats]
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
        to_consumers = hand_over(
            produced_keys.count,
            NodesOfContexts(produced.nodes(), produced_keys.codes),
            consumers.all(),
            without_crowds=True,
        )
        to_inputs = hand_over(
            input_keys.count,
            iterations.all(),
            NodesOfContexts(inputs.nodes(), input_keys.codes),
        )
        self.contexts = [context for context in (to_consumers, to_inputs) if context.size]

    def _read_makers(self, produced: NodeStats, inputs: NodeStats) -> None:
        """Read the stats of what hands work on or starts a group."""
        is_input = self._names(_GET_NEXT)
        apart = [_NO_NODES]
        markers = [_NO_NODES]
        making = self._carriers("_p", "_r", "_a", "step_num")
        asking = is_input & self._carriers("id")
        for nodes, stats in self._stats(_MAKES, making, asking):
            is_produced = stats["_p"] != MISSING
            produced.add(nodes, stats, is_produced)
            run_id = stats["id"]
            has_id = run_id != MISSING
            level = stats["_r"]
            is_root = level != MISSING
            self._levels.append((nodes[is_root], level[is_root]))
            is_of_run = is_root & has_id
            self._run_ids.append((nodes[is_of_run], run_id[is_of_run]))
            apart_flag = stats["_a"]
            is_apart = (apart_flag != MISSING) & (apart_flag != 0)
            apart.append(nodes[is_apart])
            is_marker = stats["step_num"] != MISSING
            markers.append(nodes[is_marker])
            has_iteration = stats["iter_num"] >= 0
            asks = has_id & has_iteration & self._have(nodes, is_input)
            inputs.add(nodes, stats, asks)
        self.apart = np.concatenate(apart)
        self.markers = np.concatenate(markers)

    def _read_takers(
        self,
        produced: KeyRows,
        inputs: KeyRows,
        consumers: NodePairs,
        iterations: NodePairs,
    ) -> None:
        """Read the stats of what takes work: of each only which hand-over it answers is kept."""
        is_executor = self._names({EXECUTOR})
        # Where nothing hands work on, nothing takes it: then no event is read.
        taking = np.zeros(len(self.trace.names), np.bool_)
        iterating = taking
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
                run_id = stats["id"]
                number = inputs.find((stats["iter_num"], run_id))
                is_iteration = (run_id != MISSING) & self._have(nodes, is_executor)
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
            is_of_loop = np.isin(stats["id"], loop_ids)
            is_of_loop &= self._have(nodes, is_executor)
            iterations.add(nodes, stats, is_of_loop)
        loop, iteration = (or_minus_one(column) for column in iterations.columns())
        nodes = iterations.nodes()
        start = self.start_of(nodes)
        order = np.lexsort((start, iteration, loop))
        is_first = begins_run(loop[order], iteration[order])
        firsts = order[is_first]
        return nodes[firsts]

    def _iterating_loops(self, is_executor: Bools) -> Int64s:
        """The ids of loops with a second iteration: an executor that runs once counts none."""
        loops = [np.empty(0, np.int64)]
        for nodes, stats in self._stats(_LOOP_STATS, is_executor):
            is_later = stats["iter_num"] > 0
            iterates = is_later & self._have(nodes, is_executor)
            loop_ids = stats["id"][iterates]
            loops.append(wire.distinct(loop_ids))
        return wire.distinct(np.concatenate(loops))

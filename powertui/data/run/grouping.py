"""Which step an event belongs to: group ids for files that carry none (new TensorFlow and JAX), in
numpy throughout.

Old files hold a `group_id` with each event, computed by the collector; it is taken as it is. For
the others the same is done here: events nest in their line; producers (`_pt`, `_p`) hand work to
consumers (`_ct`, `_c`) on other lines; `ExecutorState::Process` leads to the `IteratorGetNext` of
its iteration, and a kernel launch to its kernel. Roots are the events that mark steps, and those
with a root level (`_r`). Every event gets the first root that reaches it.

Only events that hand work on, take it or start a group are looked at, the nodes (`run.nodes`): one
in ten. What is none of them belongs where the node around it does. The graph is never walked event
by event: a context is a node between its producers and its consumers, and labels (the rank of the
best root so far) flow down the nesting and through the contexts until nothing changes: as many
rounds as the longest chain of hand-overs, each a few numpy calls over all nodes. Kernels hand
nothing on: each has the group of its launch.

Unlike the collectors, a loop inside the graph does not take the place of the program's own step
markers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple, overload

import numpy as np

from powertui.data.model import Bools, Int32s, Int64s, Process, ProcessKind, Trace, Track
from powertui.data.run.grouping_events import EXECUTOR, STATS, HandOver, NodeForest, NodeLine, Said
from powertui.data.run.marks import carried, whole_numbers
from powertui.value_types import dataclass

_NO_LABEL = np.iinfo(np.int32).max
_IMPLICIT = frozenset({"FunctionRun", "SessionRun", "RunGraph", EXECUTOR})
# No chain of hand-overs is longer. Chosen, not measured.
_MAX_ROUNDS = 200


class EventGroup(NamedTuple):
    """One group: usually a step."""

    name: str  # as TensorBoard shows it: "train 12"
    start: int  # of its root
    duration: int
    marked: bool  # its root marks a step; False for implicit roots (FunctionRun …)
    number: int  # the collector's own, or its place among the groups


@dataclass(frozen=True, eq=False)
class Groups:
    """Group ids for every event of a trace; -1 for events of no group."""

    groups: Sequence[EventGroup]
    source: str
    starts: Int64s  # of each group's root
    marked: Bools  # whether that marks a step
    _trace: Trace
    _of: dict[int, Int32s]  # lines whose events all say it themselves
    _nodes: dict[int, Nodes]  # the others
    _launched: tuple[Int64s, Int64s] | None = None  # ids of launches, ascending, and their groups
    # Rows of the events that start a marked group, by line, ascending. Empty of a file that says
    # the groups itself: there the root carries the group's name.
    roots: dict[int, Int32s] = field(default_factory=dict)

    def groups_on_line(self, line: int, rows: Int64s | None = None) -> Int32s:
        """The group of each event of one line (its index over Trace.tracks()), or of these, in the
        line's own order.
        """
        if line in self._of:
            return self._of[line] if rows is None else self._of[line][rows]
        process, track = _line_at(self._trace, line)
        rows = np.arange(len(track.events)) if rows is None else rows
        if line in self._nodes:
            return self._nodes[line].groups(track, rows)
        out = np.full(len(rows), -1, np.int32)
        if (
            self._launched is not None
            and process.kind is ProcessKind.DEVICE
            and not track.derived
            and len(rows)
        ):
            ids, groups = self._launched
            mine = whole_numbers(
                process.source.columns(track.events.positions(rows), ("correlation_id",))[
                    "correlation_id"
                ]
            )
            at = np.minimum(ids.searchsorted(mine), len(ids) - 1)
            matches = (ids[at] == mine) & (mine >= 0)
            out[matches] = groups[at[matches]]
        return out

    def nodes(self, line: int) -> Nodes | None:
        """The events of a line that decide where the others belong; None where all say it
        themselves, or none does.
        """
        return self._nodes.get(line)


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of one line, by start, the longest first."""

    row: Int32s  # of the track's events
    parent: Int32s  # the node around each; -1 for none
    own: Int32s  # the group of each
    inner: Int32s  # of what lies in it and in no node deeper

    def groups(self, track: Track, rows: Int64s) -> Int32s:
        """The groups of any events of the line."""
        at = self.around(track, rows)
        inside = at >= 0
        out = np.full(len(rows), -1, np.int32)
        out[inside] = self.inner[at[inside]]
        order = np.argsort(self.row, kind="stable")
        place = np.minimum(self.row[order].searchsorted(rows), max(0, len(self.row) - 1))
        is_node = self.row[order][place] == rows if len(self.row) else np.zeros(len(rows), np.bool_)
        out[is_node] = self.own[order[place[is_node]]]
        return out

    def around(self, track: Track, rows: Int64s) -> Int64s:
        """The innermost node that holds each event; -1 for none.

        Of equal stretches the one in the higher lane holds the other.
        """
        starts, lengths = track.events.start, track.events.duration
        start = starts[rows]
        end = start + lengths[rows]
        at: Int64s = starts[self.row].searchsorted(start, side="right") - 1
        rest = np.flatnonzero(at >= 0)
        while len(rest):
            node = self.row[at[rest]]
            begins, ends = starts[node], starts[node] + lengths[node]
            holds = ends > end[rest]
            even = ends == end[rest]
            holds |= even & ((begins < start[rest]) | (node < rows[rest]))
            rest = rest[~holds]
            at[rest] = self.parent[at[rest]]
            rest = rest[at[rest] >= 0]
        return at


def _line_at(trace: Trace, line: int) -> tuple[Process, Track]:
    return next(pair for number, pair in enumerate(trace.tracks()) if number == line)


def find_groups(trace: Trace, *, lasting: bool = False, by_number: bool = True) -> Groups:
    """The groups of a trace: those in the file, or computed as TensorBoard would.

    `lasting`: leave out the marks of thread pools, which have no length: only what lasts is asked
    for. `by_number`: a step's number alone starts a group; to TensorBoard only a root level does.
    """
    lines = [
        (n, process, track)
        for n, (process, track) in enumerate(trace.tracks())
        if len(track.events)
    ]
    if not lines:
        return _no_groups(trace, "no event")
    by_process: dict[int, list[NodeLine]] = {}
    for number, process, track in lines:
        by_process.setdefault(id(process), []).append(NodeLine(number, process, track))
    carry = [
        carried(
            trace,
            those[0].process,
            [line.track for line in those],
            ("group_id", "step_name", "correlation_id", *STATS),
        )
        for those in by_process.values()
    ]
    if any(carriers["group_id"].any() for carriers in carry):
        return _stored(trace, list(zip(by_process.values(), carry, strict=True)))
    return _computed(
        NodeForest(trace, list(zip(by_process.values(), carry, strict=True)), lasting=lasting),
        by_number=by_number,
    )


# ── ids that the file carries ────────────────────────────────────────────────────────────────────


def _stored(trace: Trace, processes: list[tuple[list[NodeLine], Said]]) -> Groups:
    ids: dict[int, Int64s] = {}
    for lines, carriers in processes:
        for number, process, track in lines:
            rows = np.flatnonzero(carriers["group_id"][track.events.name])
            ids[number] = np.full(len(track.events), -1, np.int64)
            if len(rows):
                ids[number][rows] = whole_numbers(
                    process.source.columns(track.events.positions(rows), ("group_id",))["group_id"]
                )
    values = np.unique(np.concatenate([column[column >= 0] for column in ids.values()]))
    first, last = (
        np.full(len(values), np.iinfo(np.int64).max),
        np.full(len(values), np.iinfo(np.int64).min),
    )
    of: dict[int, Int32s] = {}
    titles: dict[int, str] = {}
    for lines, carriers in processes:
        for number, process, track in lines:
            has = np.flatnonzero(ids[number] >= 0)
            which = values.searchsorted(ids[number][has])
            np.minimum.at(first, which, track.events.start[has])
            np.maximum.at(last, which, track.events.start[has] + track.events.duration[has])
            of[number] = np.full(len(track.events), -1, np.int32)
            of[number][has] = which
            titled = np.flatnonzero(carriers["step_name"][track.events.name] & (of[number] >= 0))
            if len(titled):  # the collector gave it to the root of each group
                column = process.source.columns(track.events.positions(titled), ("step_name",))[
                    "step_name"
                ]
                for row in np.flatnonzero(column.present).tolist():
                    titles.setdefault(int(of[number][titled[row]]), column.text(row) or "")
    groups = tuple(
        EventGroup(
            name=titles.get(i, str(int(value))),
            start=int(first[i]),
            duration=int(last[i] - first[i]),
            marked=i in titles,
            number=int(value),
        )
        for i, value in enumerate(values.tolist())
    )
    marked = np.array([group.marked for group in groups], np.bool_)
    return Groups(groups, "group_id in the file", first, marked, trace, of, {})


# ── ids that are computed ────────────────────────────────────────────────────────────────────────


def _computed(forest: NodeForest, *, by_number: bool) -> Groups:
    loose = np.zeros(forest.count, np.bool_)
    loose[forest.apart] = True
    parent = _past(forest.parent, loose) if len(forest.apart) else forest.parent
    roots, how = _roots(forest, by_number=by_number)
    if not len(roots):
        why = "nothing marks a group: there is no step marker and no root level"
        return _no_groups(forest.trace, why)
    label = np.full(forest.count, _NO_LABEL, np.int32)
    label[roots] = np.arange(len(roots), dtype=np.int32)
    _flow(
        label,
        np.where(loose, np.int32(-1), parent) if len(forest.apart) else parent,
        _depths(forest),
        forest.contexts,
    )
    # A root that another root reached starts no group of its own.
    is_root = label[roots] == np.arange(len(roots))
    number = np.full(len(roots) + 1, -1, np.int32)
    number[:-1][is_root] = np.arange(int(is_root.sum()), dtype=np.int32)
    label[label == _NO_LABEL] = len(roots)
    mine = number[label]
    inner = (
        np.where(loose, np.where(parent >= 0, mine[parent], np.int32(-1)), mine)
        if len(forest.apart)
        else mine
    )
    nodes = {}
    for part in forest.parts:
        these = slice(part.first, part.first + len(part.row))
        above = forest.parent[these]
        above = np.where(above >= 0, above - np.int32(part.first), np.int32(-1))
        nodes[part.line.number] = Nodes(part.row, above, mine[these], inner[these])
    groups = _Titled(forest, roots[is_root])
    ascending = np.sort(roots[is_root])
    place = ascending.searchsorted(roots[is_root])
    marked = ~np.isin(roots[is_root], forest.named(_IMPLICIT, ascending))
    launched = _launched(forest, nodes)
    forest.forget()
    return Groups(
        groups=groups,
        source=how,
        starts=forest.start_of(ascending)[place],
        marked=marked,
        _trace=forest.trace,
        _of={},
        _nodes=nodes,
        _launched=launched,
        roots=forest.rows_by_line(np.sort(roots[is_root][marked])),
    )


class _Titled(Sequence[EventGroup]):
    """The groups that these nodes start: what they are called is looked up when somebody asks."""

    def __init__(self, forest: NodeForest, roots: Int64s) -> None:
        self._forest, self._roots = forest, roots

    def __len__(self) -> int:
        return len(self._roots)

    @overload
    def __getitem__(self, group: int) -> EventGroup: ...
    @overload
    def __getitem__(self, group: slice) -> list[EventGroup]: ...
    def __getitem__(self, group: int | slice) -> EventGroup | list[EventGroup]:
        if isinstance(group, slice):
            return [self[i] for i in range(*group.indices(len(self)))]
        node = int(self._roots[range(len(self))[group]])
        name, marked = _title(self._forest, node, group)
        line, row = self._forest.locate(node)
        return EventGroup(
            name=name,
            start=int(line.track.events.start[row]),
            duration=int(line.track.events.duration[row]),
            marked=marked,
            number=group,
        )


def _no_groups(trace: Trace, why: str) -> Groups:
    return Groups((), why, np.empty(0, np.int64), np.empty(0, np.bool_), trace, {}, {})


def _depths(forest: NodeForest) -> list[Int32s]:
    """Nodes by nesting depth, all lines together: those that hold others before those."""
    deepest = max((int(part.depth.max()) for part in forest.parts), default=0)
    return [
        np.concatenate(
            [
                (np.flatnonzero(part.depth == depth) + part.first).astype(np.int32)
                for part in forest.parts
            ]
        )
        for depth in range(1, deepest + 1)
    ]


def _past(parent: Int32s, loose: Bools) -> Int32s:
    """The node that holds each, past those that hold nothing (`_a`)."""
    out: Int32s = parent.copy()
    for _ in range(_MAX_ROUNDS):
        skip = (out >= 0) & loose[out]
        if not skip.any():
            break
        out[skip] = out[out[skip]]
    return out


def _launched(forest: NodeForest, nodes: dict[int, Nodes]) -> tuple[Int64s, Int64s] | None:
    """(ids of launches ascending, the group of the last launch with each)."""
    if not forest.kernels or not forest.launches:
        return None
    ids, starts, groups = [], [], []
    for line, rows in forest.launches:
        events = line.track.events
        launch_ids = whole_numbers(
            line.process.source.columns(events.positions(rows), ("correlation_id",))[
                "correlation_id"
            ]
        )
        rows, launch_ids = rows[launch_ids >= 0], launch_ids[launch_ids >= 0]
        if len(rows) and line.number in nodes:
            ids.append(launch_ids)
            starts.append(events.start[rows])
            groups.append(nodes[line.number].groups(line.track, rows).astype(np.int64))
    if not ids:
        return None
    every, start, group = (np.concatenate(parts) for parts in (ids, starts, groups))
    order = np.lexsort((start, every))
    last = np.append(every[order][1:] != every[order][:-1], True)
    return every[order][last], group[order][last]


def _roots(forest: NodeForest, *, by_number: bool) -> tuple[Int64s, str]:
    """(the events that can start a group, best first; what they are)."""
    how = "root levels and step markers"
    nodes, level = forest.levels(by_number=by_number)
    if not len(forest.markers):
        loops = forest.loops()
        if len(
            loops
        ):  # nothing else marks steps: the iterations of a loop in the graph are the steps
            nodes = np.sort(loops)
            level = np.ones(len(nodes), np.int64)
            how = "iterations of a loop inside the graph"
    return nodes[np.lexsort((-forest.length_of(nodes), forest.start_of(nodes), -level))], how


def _flow(
    label: Int32s, parent: Int32s, depths: Sequence[Int32s], contexts: Sequence[HandOver]
) -> None:
    """Let the best label run down the lanes and through the contexts until nothing changes."""
    levels = [rows[parent[rows] >= 0] for rows in depths]
    for _ in range(_MAX_ROUNDS):
        before = label.copy()
        for rows in levels:
            label[rows] = np.minimum(label[rows], label[parent[rows]])
        for context in contexts:
            best = np.minimum.reduceat(label[context.producers], context.producer_starts)
            consumers = context.consumers  # each once
            label[consumers] = np.minimum(label[consumers], best[context.consumer_of])
        if np.array_equal(before, label):
            return


def _title(forest: NodeForest, event: int, group: int) -> tuple[str, bool]:
    """(TensorBoard's name of the group that this root starts, whether it marks a step)."""
    name = forest.name_of(event)
    marked = name not in _IMPLICIT
    prefix = (forest.text(event, "graph_type") or name) + " " if marked else ""
    number = forest.text(event, "iter_num") or forest.text(event, "step_num") or str(group)
    return f"{prefix}{number}", marked

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

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import overload

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Int32s, Int64s, Process, ProcessKind, Trace, Track
from powertui.data.run.grouping_events import (
    EXECUTOR,
    STATS,
    NamesWith,
    NodeForest,
)
from powertui.data.run.hand_overs import HandOver
from powertui.data.run.line_nodes import NodeLine, Nodes
from powertui.data.run.stat_carriers import carried, numbers_of_line, stat_numbers
from powertui.data.sorted_columns import are_among, ends_run, places_among
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_NO_IDS = np.empty(0, np.int64)
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
    # Of lines whose events all carry the id themselves.
    _stored: dict[int, Int32s] = field(default_factory=dict)
    _nodes: dict[int, Nodes] = field(default_factory=dict)  # of the other lines
    _launched: tuple[Int64s, Int64s] | None = None  # ids of launches, ascending, and their groups
    # Rows of the events that start a marked group, by line, ascending. Empty of a file that says
    # the groups itself: there the root carries the group's name.
    roots: dict[int, Int32s] = field(default_factory=dict)

    def groups_on_line(self, line: int, rows: Int64s | None = None) -> Int32s:
        """The group of each event of one line (its index over Trace.tracks()), or of these, in the
        line's own order.
        """
        if line in self._stored:
            groups = self._stored[line]
            return groups if rows is None else groups[rows]
        process, track = _line_at(self._trace, line)
        if rows is None:
            rows = np.arange(len(track.events))
        if line in self._nodes:
            return self._nodes[line].groups(track, rows)
        is_device_line = process.kind is ProcessKind.DEVICE and not track.derived
        if is_device_line and len(rows):
            return self._groups_of_launches(process, track, rows)
        return np.full(len(rows), -1, np.int32)

    def _groups_of_launches(self, process: Process, track: Track, rows: Int64s) -> Int32s:
        """The group of the call that launched each of these kernels."""
        out = np.full(len(rows), -1, np.int32)
        if self._launched is None:
            return out
        launch_ids, groups = self._launched
        ids = stat_numbers(process, track, rows, "correlation_id")
        place, matches = places_among(launch_ids, ids)
        matches &= ids >= 0
        out[matches] = groups[place[matches]]
        return out

    def nodes(self, line: int) -> Nodes | None:
        """The events of a line that decide where the others belong; None where all say it
        themselves, or none does.
        """
        return self._nodes.get(line)


def _line_at(trace: Trace, line: int) -> tuple[Process, Track]:
    for number, process_and_track in enumerate(trace.tracks()):
        if number == line:
            return process_and_track
    raise IndexError(line)


def find_groups(
    trace: Trace,
    *,
    lasting: bool = False,
    by_number: bool = True,
    input_roots: bool = True,
) -> Groups:
    """The groups of a trace: those in the file, or computed as TensorBoard would.

    `lasting`: leave out the marks of thread pools, which have no length: only what lasts is asked
    for. `by_number`: a step's number alone starts a group; to TensorBoard only a root level does.
    `input_roots`: functions that tf.data runs start groups, too; to TensorBoard they do not.
    """
    by_process: dict[int, list[NodeLine]] = {}
    for number, (process, track) in enumerate(trace.tracks()):
        if len(track.events):
            line = NodeLine(number, process, track)
            by_process.setdefault(id(process), []).append(line)
    if not by_process:
        return _no_groups(trace, "no event")
    stats = ("group_id", "step_name", "correlation_id", *STATS)
    has_stored_ids = False
    processes: list[tuple[list[NodeLine], NamesWith]] = []
    for lines in by_process.values():
        tracks = [line.track for line in lines]
        names_with = carried(trace, lines[0].process, tracks, stats)
        processes.append((lines, names_with))
        has_stored_ids |= bool(names_with["group_id"].any())
    if has_stored_ids:
        return _stored(trace, processes)
    forest = NodeForest(trace, processes, lasting=lasting)
    return _computed(forest, by_number=by_number, input_roots=input_roots)


# ── ids that the file carries ────────────────────────────────────────────────────────────────────


def _stored(trace: Trace, processes: list[tuple[list[NodeLine], NamesWith]]) -> Groups:
    ids: dict[int, Int64s] = {}
    valid_ids = [_NO_IDS]
    for lines, names_with in processes:
        carriers = names_with["group_id"]
        for line in lines:
            line_ids = numbers_of_line(line.process, line.track, carriers, "group_id")
            if line_ids is not None:
                ids[line.number] = line_ids
                valid_ids.append(line_ids[line_ids >= 0])
    distinct_ids = wire.distinct(np.concatenate(valid_ids))
    start = np.full(len(distinct_ids), np.iinfo(np.int64).max)
    end = np.full(len(distinct_ids), np.iinfo(np.int64).min)
    groups_of: dict[int, Int32s] = {}
    titles: dict[int, str] = {}
    for lines, names_with in processes:
        for line in lines:
            events = line.track.events
            group_of_event = np.full(len(events), -1, np.int32)
            groups_of[line.number] = group_of_event
            if line.number not in ids:
                continue
            line_ids = ids[line.number]
            has_id = np.flatnonzero(line_ids >= 0)
            group = distinct_ids.searchsorted(line_ids[has_id])
            np.minimum.at(start, group, events.start[has_id])
            np.maximum.at(end, group, events.end[has_id])
            group_of_event[has_id] = group
            # Roots may be on several lines: the first title counts.
            for title_group, title in _titles(line, names_with, group_of_event):
                titles.setdefault(title_group, title)
    groups = []
    for i, group_id in enumerate(distinct_ids.tolist()):
        groups.append(
            EventGroup(
                name=titles.get(i, str(group_id)),
                start=int(start[i]),
                duration=int(end[i] - start[i]),
                marked=i in titles,
                number=group_id,
            )
        )
    return Groups(
        groups=tuple(groups),
        source="group_id in the file",
        starts=start,
        marked=np.array([group.marked for group in groups], np.bool_),
        _trace=trace,
        _stored=groups_of,
    )


def _titles(line: NodeLine, names_with: NamesWith, groups: Int32s) -> Iterator[tuple[int, str]]:
    """(group, the name that the collector gave to its root) of roots on this line."""
    events = line.track.events
    may_have_title = names_with["step_name"][events.name]
    rows = np.flatnonzero(may_have_title & (groups >= 0))
    if not len(rows):
        return
    columns = line.process.source.columns(events.positions(rows), ("step_name",))
    step_name = columns["step_name"]
    for place in np.flatnonzero(step_name.present).tolist():
        group = int(groups[rows[place]])
        yield group, step_name.text(place) or ""


# ── ids that are computed ────────────────────────────────────────────────────────────────────────


def _computed(forest: NodeForest, *, by_number: bool, input_roots: bool) -> Groups:
    no_group = np.int32(-1)
    parent = forest.parent
    holds_nothing = np.zeros(forest.count, np.bool_)
    holds_nothing[forest.apart] = True
    if len(forest.apart):
        parent = _past(parent, holds_nothing)
    roots, how = _roots(forest, by_number=by_number)
    if not input_roots:
        is_input = are_among(roots, forest.input_roots())
        roots = roots[~is_input]
    root_count = len(roots)
    if not root_count:
        why = "nothing marks a group: there is no step marker and no root level"
        return _no_groups(forest.trace, why)
    label = np.full(forest.count, _NO_LABEL, np.int32)
    label[roots] = np.arange(root_count, dtype=np.int32)
    held_by = np.where(holds_nothing, no_group, parent)
    _flow(label, held_by, _depths(forest), forest.contexts)
    # A root that another root reached starts no group of its own.
    is_root = label[roots] == np.arange(root_count)
    roots_of_groups = roots[is_root]
    # The last entry is that of nodes that no root reached: no group.
    group_of_label = np.full(root_count + 1, -1, np.int32)
    group_of_label[:-1][is_root] = np.arange(len(roots_of_groups), dtype=np.int32)
    label[label == _NO_LABEL] = root_count
    group = group_of_label[label]
    inner_group = group
    if len(forest.apart):
        group_of_parent = np.where(parent >= 0, group[parent], no_group)
        inner_group = np.where(holds_nothing, group_of_parent, group)
    nodes = _nodes_by_line(forest, group, inner_group)
    ascending = np.sort(roots_of_groups)
    place = ascending.searchsorted(roots_of_groups)
    starts = forest.start_of(ascending)
    implicit = forest.named(_IMPLICIT, ascending)
    marked = ~are_among(roots_of_groups, implicit)
    marked_roots = np.sort(roots_of_groups[marked])
    groups = Groups(
        groups=_TitledGroups(forest, roots_of_groups),
        source=how,
        starts=starts[place],
        marked=marked,
        _trace=forest.trace,
        _nodes=nodes,
        _launched=_launched(forest, nodes),
        roots=forest.rows_by_line(marked_roots),
    )
    forest.forget()
    return groups


def _nodes_by_line(forest: NodeForest, group: Int32s, inner_group: Int32s) -> dict[int, Nodes]:
    """The nodes of each line, in a numbering of its own."""
    no_parent = np.int32(-1)
    nodes = {}
    for part in forest.parts:
        first = part.first
        of_line = slice(first, first + len(part.row))
        parent = forest.parent[of_line]
        place_of_parent = parent - np.int32(first)
        nodes[part.line.number] = Nodes(
            row=part.row,
            parent=np.where(parent >= 0, place_of_parent, no_parent),
            own=group[of_line],
            inner=inner_group[of_line],
        )
    return nodes


class _TitledGroups(Sequence[EventGroup]):
    """The groups that these nodes start: what they are called is looked up when somebody asks."""

    def __init__(self, forest: NodeForest, roots: Int64s) -> None:
        self._forest = forest
        self._roots = roots

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
    return Groups(
        groups=(),
        source=why,
        starts=np.empty(0, np.int64),
        marked=np.empty(0, np.bool_),
        _trace=trace,
    )


def _depths(forest: NodeForest) -> list[Int32s]:
    """Nodes by nesting depth, all lines together: those that hold others before those."""
    deepest = 0
    for part in forest.parts:
        deepest = max(deepest, int(part.depth.max()))
    by_depth = []
    for depth in range(1, deepest + 1):
        nodes = [np.flatnonzero(part.depth == depth) + part.first for part in forest.parts]
        by_depth.append(np.concatenate(nodes).astype(np.int32))
    return by_depth


def _past(parent: Int32s, holds_nothing: Bools) -> Int32s:
    """The node that holds each, past those that hold nothing (`_a`)."""
    holder: Int32s = parent.copy()
    for _ in range(_MAX_ROUNDS):
        skip = (holder >= 0) & holds_nothing[holder]
        if not skip.any():
            break
        holder[skip] = holder[holder[skip]]
    return holder


def _launched(forest: NodeForest, nodes: dict[int, Nodes]) -> tuple[Int64s, Int64s] | None:
    """(ids of launches ascending, the group of the last launch with each)."""
    if not forest.kernels:
        return None
    id_parts = []
    start_parts = []
    group_parts = []
    for line, rows in forest.launches:
        if line.number not in nodes:
            continue
        ids = stat_numbers(line.process, line.track, rows, "correlation_id")
        has_id = ids >= 0
        if not has_id.any():
            continue
        launches = rows[has_id]
        groups = nodes[line.number].groups(line.track, launches)
        id_parts.append(ids[has_id])
        start_parts.append(line.track.events.start[launches])
        group_parts.append(groups.astype(np.int64))
    if not id_parts:
        return None
    launch_id = np.concatenate(id_parts)
    start = np.concatenate(start_parts)
    group = np.concatenate(group_parts)
    order = np.lexsort((start, launch_id))
    launch_id = launch_id[order]
    group = group[order]
    is_last = ends_run(launch_id)
    return launch_id[is_last], group[is_last]


def _roots(forest: NodeForest, *, by_number: bool) -> tuple[Int64s, str]:
    """(the events that can start a group, best first; what they are)."""
    nodes, level = forest.levels(by_number=by_number)
    how = "root levels and step markers"
    # Where nothing else marks steps, the iterations of a loop in the graph are the steps.
    if not len(forest.markers):
        loops = forest.loops()
        if len(loops):
            nodes = np.sort(loops)
            level = np.ones(len(nodes), np.int64)
            how = "iterations of a loop inside the graph"
    start = forest.start_of(nodes)
    length = forest.length_of(nodes)
    best_first = np.lexsort((-length, start, -level))
    return nodes[best_first], how


def _flow(
    label: Int32s,
    parent: Int32s,
    depths: Sequence[Int32s],
    contexts: Sequence[HandOver],
) -> None:
    """Let the best label run down the lanes and through the contexts until nothing changes."""
    levels = [rows[parent[rows] >= 0] for rows in depths]
    for _ in range(_MAX_ROUNDS):
        before = label.copy()
        for rows in levels:
            label_of_parent = label[parent[rows]]
            label[rows] = np.minimum(label[rows], label_of_parent)
        for context in contexts:
            produced = label[context.producers]
            best = np.minimum.reduceat(produced, context.producer_starts)
            handed = best[context.consumer_of]
            consumers = context.consumers  # each once
            label[consumers] = np.minimum(label[consumers], handed)
        if np.array_equal(before, label):
            return


def _title(forest: NodeForest, event: int, group: int) -> tuple[str, bool]:
    """(TensorBoard's name of the group that this root starts, whether it marks a step)."""
    name = forest.name_of(event)
    number = forest.text(event, "iter_num") or forest.text(event, "step_num") or str(group)
    if name in _IMPLICIT:
        return number, False
    graph = forest.text(event, "graph_type") or name
    return f"{graph} {number}", True

"""Which step an event belongs to: group ids for files that carry none (new TensorFlow and JAX), in numpy throughout.

Old files hold a `group_id` with each event, computed by the collector; it is taken as it is. For the others the same is
done here: events nest in their line; producers (`_pt`, `_p`) hand work to consumers (`_ct`, `_c`) on other lines;
`ExecutorState::Process` leads to the `IteratorGetNext` of its iteration, and a kernel launch to its kernel. Roots are
the events that mark steps, and those with a root level (`_r`). Every event gets the first root that reaches it.

Only events that hand work on, take it or start a group are looked at, the nodes: one in ten. What is none of them belongs where
the node around it does. The graph is never walked event by event: a context is a node between its producers and its consumers, and
labels (the rank of the best root so far) flow down the nesting and through the contexts until nothing changes: as many rounds as
the longest chain of hand-overs, each a few numpy calls over all nodes. Kernels hand nothing on: each has the group of its launch.

Unlike the collectors, a loop inside the graph does not take the place of the program's own step markers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Int32s, Int64s, Process, ProcessKind, Trace, Track
from powertui.data.run.marks import carried, whole

_OF_NODES = ("_p", "_c", "_r", "_a", "step_num", "iter_num")  # what makes an event a node
_STATS = ("_pt", "_p", "_pid", "_ct", "_c", "_r", "_a", "id", "iter_num", "step_num")
_AT_ONCE = 1 << 16  # events decoded in one call
_POOLS = "ThreadpoolListener::"  # marks of no length: they hand on nothing that lasts
_NONE = np.iinfo(np.int32).max
_CROWD = 64  # a context with this many on both sides connects nothing with anything
_IMPLICIT = frozenset({"FunctionRun", "SessionRun", "RunGraph", "ExecutorState::Process"})
_EXECUTOR = "ExecutorState::Process"
_GET_NEXT = frozenset({"IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute"})
_LEVELS = {"ProcessBatch": 2, "BatchingSessionRun": 1, "TraceContext": 1}
_ROUNDS = 200


class EventGroup(NamedTuple):
    """One group: usually a step."""

    name: str  # as TensorBoard shows it: "train 12"
    start: int  # of its root
    duration: int
    marked: bool  # its root marks a step; False for implicit roots (FunctionRun …)


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

    def of(self, line: int, rows: Int64s | None = None) -> Int32s:
        """The group of each event of one line (its index over Trace.tracks()), or of these, in the line's own order."""
        if line in self._of:
            return self._of[line] if rows is None else self._of[line][rows]
        process, track = _line_at(self._trace, line)
        rows = np.arange(len(track.events)) if rows is None else rows
        if line in self._nodes:
            return self._nodes[line].groups(track, rows)
        out = np.full(len(rows), -1, np.int32)
        if self._launched is not None and process.kind is ProcessKind.DEVICE and not track.derived and len(rows):
            ids, groups = self._launched
            mine = whole(process.source.columns(track.events.positions(rows), ("correlation_id",))["correlation_id"])
            at = np.minimum(ids.searchsorted(mine), len(ids) - 1)
            known = (ids[at] == mine) & (mine >= 0)
            out[known] = groups[at[known]]
        return out

    def nodes(self, line: int) -> Nodes | None:
        """The events of a line that decide where the others belong; None where all say it themselves, or none does."""
        return self._nodes.get(line)


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of one line, by start, the longest first."""

    row: Int64s  # of the track's events
    start: Int64s
    end: Int64s
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
        """The innermost node that holds each event; -1 for none. Of equal stretches the one in the higher lane holds the other."""
        start = track.events.start[rows]
        end = start + track.events.duration[rows]
        at = self.start.searchsorted(start, side="right") - 1
        left = np.flatnonzero(at >= 0)
        while len(left):
            node = at[left]
            holds = self.end[node] > end[left]
            even = self.end[node] == end[left]
            holds |= even & ((self.start[node] < start[left]) | (self.row[node] < rows[left]))
            left = left[~holds]
            at[left] = self.parent[at[left]]
            left = left[at[left] >= 0]
        return at


def _line_at(trace: Trace, line: int) -> tuple[Process, Track]:
    return next(pair for number, pair in enumerate(trace.tracks()) if number == line)


def find(trace: Trace, *, lasting: bool = False) -> Groups:
    """The groups of a trace: those in the file, or computed as TensorBoard would.

    `lasting`: leave out the marks of thread pools, which have no length: only what lasts is asked for.
    """
    lines = [(n, process, track) for n, (process, track) in enumerate(trace.tracks()) if len(track.events)]
    if not lines:
        return _no_groups(trace, "no event")
    by_process: dict[int, list[_Line]] = {}
    for number, process, track in lines:
        by_process.setdefault(id(process), []).append(_Line(number, process, track))
    carry = [carried(trace, those[0].process, [one.track for one in those], ("group_id", "step_name", "correlation_id", *_STATS))
             for those in by_process.values()]  # fmt: skip
    if any(said["group_id"].any() for said in carry):
        return _stored(trace, list(zip(by_process.values(), carry, strict=True)))
    return _computed(_Forest(trace, list(zip(by_process.values(), carry, strict=True)), lasting=lasting))


class _Line(NamedTuple):
    number: int  # over Trace.tracks()
    process: Process
    track: Track


_Said = dict[str, Bools]  # which names carry a stat


# ── ids that the file carries ────────────────────────────────────────────────────────────────────


def _stored(trace: Trace, processes: list[tuple[list[_Line], _Said]]) -> Groups:
    ids: dict[int, Int64s] = {}
    for lines, said in processes:
        for number, process, track in lines:
            rows = np.flatnonzero(said["group_id"][track.events.name])
            ids[number] = np.full(len(track.events), -1, np.int64)
            if len(rows):
                ids[number][rows] = whole(process.source.columns(track.events.positions(rows), ("group_id",))["group_id"])
    values = np.unique(np.concatenate([column[column >= 0] for column in ids.values()]))
    first, last = np.full(len(values), np.iinfo(np.int64).max), np.full(len(values), np.iinfo(np.int64).min)
    of: dict[int, Int32s] = {}
    titles: dict[int, str] = {}
    for lines, said in processes:
        for number, process, track in lines:
            has = np.flatnonzero(ids[number] >= 0)
            which = values.searchsorted(ids[number][has])
            np.minimum.at(first, which, track.events.start[has])
            np.maximum.at(last, which, track.events.start[has] + track.events.duration[has])
            of[number] = np.full(len(track.events), -1, np.int32)
            of[number][has] = which
            titled = np.flatnonzero(said["step_name"][track.events.name] & (of[number] >= 0))
            if len(titled):  # the collector gave it to the root of each group
                column = process.source.columns(track.events.positions(titled), ("step_name",))["step_name"]
                for row in np.flatnonzero(column.present).tolist():
                    titles.setdefault(int(of[number][titled[row]]), column.text(row) or "")
    groups = tuple(
        EventGroup(titles.get(i, str(int(value))), int(first[i]), int(last[i] - first[i]), i in titles)
        for i, value in enumerate(values.tolist())
    )
    marked = np.array([group.marked for group in groups], np.bool_)
    return Groups(groups, "group_id in the file", first, marked, trace, of, {})


# ── all nodes in one numbering ───────────────────────────────────────────────────────────────────


class _Part(NamedTuple):
    """The nodes of one line."""

    line: _Line
    row: Int64s
    depth: Int64s
    first: int  # of them in the common numbering


class _Forest:
    """All nodes of a trace in one numbering, line by line, with the stats that matter for grouping."""

    def __init__(self, trace: Trace, processes: list[tuple[list[_Line], _Said]], *, lasting: bool = False) -> None:
        self.trace = trace
        self.parts: list[_Part] = []
        self._stats: dict[str, list[tuple[Int64s, Int64s]]] = {}
        self.launches: list[tuple[_Line, Int64s]] = []
        self.kernels = False
        special = np.zeros(len(trace.names), np.bool_)
        pools = np.zeros(len(trace.names), np.bool_)
        for index in range(len(trace.names)):
            name = trace.names.full(index)
            special[index] = name in _LEVELS
            pools[index] = lasting and name.startswith(_POOLS)
        starts, ends, parents = [], [], []
        total = 0
        for lines, said in processes:
            wanted = np.logical_or.reduce([special, *(said[stat] for stat in _OF_NODES)]) & ~pools
            for line in lines:
                if line.process.kind is ProcessKind.DEVICE or line.track.derived:
                    self.kernels = self.kernels or bool(said["correlation_id"].any())
                    continue
                calls = np.flatnonzero(said["correlation_id"][line.track.events.name]) if said["correlation_id"].any() else None
                if calls is not None and len(calls):
                    self.launches.append((line, calls))
                rows = np.flatnonzero(wanted[line.track.events.name])
                if not len(rows):
                    continue
                start, duration = line.track.events.start[rows], line.track.events.duration[rows]
                order = np.lexsort((rows, -duration, start))
                rows, start, duration = rows[order], start[order], duration[order]
                depth = wire.nest(start, duration).astype(np.int64)
                starts.append(start)
                ends.append(start + duration)
                parents.append(_holders(start, start + duration, depth, total))
                self._read(line, rows, total, [stat for stat in _STATS if said[stat].any()])
                self.parts.append(_Part(line, rows, depth, total))
                total += len(rows)
        none = np.empty(0, np.int64)
        self.count = total
        self.start, self.end, self.parent = (np.concatenate([none, *parts]) for parts in (starts, ends, parents))

    def _read(self, line: _Line, rows: Int64s, first: int, stats: list[str]) -> None:
        for at in range(0, len(rows), _AT_ONCE):
            some = rows[at : at + _AT_ONCE]
            columns = line.process.source.columns(line.track.events.positions(some), stats)
            for name, column in columns.items():
                has = np.flatnonzero(column.present & np.isfinite(column.floats))
                if len(has):
                    self._stats.setdefault(name, []).append((has + (first + at), column.ints[has]))

    def stat(self, name: str) -> tuple[Int64s, Int64s] | None:
        """(nodes, values) of one stat that is a whole number; None when no node has it."""
        parts = self._stats.get(name)
        if not parts:
            return None
        return np.concatenate([nodes for nodes, _ in parts]), np.concatenate([values for _, values in parts])

    def dense(self, name: str, missing: int = -1) -> Int64s:
        """One stat for all nodes."""
        out = np.full(self.count, missing, np.int64)
        found = self.stat(name)
        if found is not None:
            out[found[0]] = found[1]
        return out

    def forget(self) -> None:
        """Let go of the stats: where everything belongs is known."""
        self._stats.clear()

    def named(self, names: frozenset[str] | set[str]) -> Bools:
        """Which nodes have one of these names."""
        known = np.fromiter(
            (self.trace.names.full(i) in names for i in range(len(self.trace.names))), np.bool_, len(self.trace.names)
        )
        return np.concatenate([np.empty(0, np.bool_), *(known[part.line.track.events.name[part.row]] for part in self.parts)])

    def locate(self, node: int) -> tuple[_Line, int]:
        """The line of a node and its row there."""
        place = int(np.searchsorted([part.first for part in self.parts], node, side="right")) - 1
        part = self.parts[place]
        return part.line, int(part.row[node - part.first])

    def name_of(self, node: int) -> str:
        line, row = self.locate(node)
        return self.trace.names.full(int(line.track.events.name[row]))

    def text(self, node: int, name: str) -> str | None:
        """One stat of one node as text."""
        line, row = self.locate(node)
        position = line.track.events.position_of(row)
        return next((str(stat.value) for stat in line.process.source.of(position) if stat.name == name), None)


def _holders(start: Int64s, end: Int64s, depth: Int64s, first: int) -> Int64s:
    """The innermost node of the same line that holds each, in the common numbering; -1 for none."""
    parent = np.full(len(start), -1, np.int64)
    above = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max()) + 1):
        here = np.flatnonzero(depth == level)
        at = above.searchsorted(here) - 1  # they come by start: the last one above that began before
        parent[here] = np.where(at >= 0, above[np.maximum(at, 0)], -1)
        above = here
    left = np.flatnonzero(parent >= 0)
    while len(left):  # files that overlap partly: look further up
        left = left[end[parent[left]] < end[left]]
        parent[left] = parent[parent[left]]
        left = left[parent[left] >= 0]
    return np.where(parent >= 0, parent + first, -1)


# ── ids that are computed ────────────────────────────────────────────────────────────────────────


class _Context(NamedTuple):
    """Producers and consumers of one kind of hand-over: parallel (context, event) pairs, producers by context."""

    size: int
    producers: Int64s
    producer_starts: Int64s  # where each context's producers begin
    consumers: Int64s
    consumer_of: Int64s


def _computed(forest: _Forest) -> Groups:
    parent, loose = _parents(forest)
    contexts = [c for c in (*_hand_overs(forest), _executor(forest)) if c is not None and c.size]
    roots, how = _roots(forest)
    if not len(roots):
        why = "nothing marks a group: there is no step marker and no root level"
        return _no_groups(forest.trace, why)
    label = np.full(forest.count, _NONE, np.int64)
    label[roots] = np.arange(len(roots))
    _flow(label, np.where(loose, -1, parent), _depths(forest), contexts)
    # A root that another root reached starts no group of its own.
    own = label[roots] == np.arange(len(roots))
    number = np.full(len(roots) + 1, -1, np.int64)
    number[:-1][own] = np.arange(int(own.sum()))
    label[label == _NONE] = len(roots)
    groups = _Titled(forest, roots[own])
    mine = number[label].astype(np.int32)
    inner = np.where(loose, np.where(parent >= 0, mine[parent], -1), mine).astype(np.int32)
    nodes = {}
    for part in forest.parts:
        these = slice(part.first, part.first + len(part.row))
        above = forest.parent[these]
        above = np.where(above >= 0, above - part.first, -1).astype(np.int32)
        nodes[part.line.number] = Nodes(part.row, forest.start[these], forest.end[these], above, mine[these], inner[these])
    marked = ~forest.named(_IMPLICIT)[roots[own]]
    forest.forget()
    return Groups(groups, how, forest.start[roots[own]], marked, forest.trace, {}, nodes, _launched(forest, nodes))


class _Titled(Sequence[EventGroup]):
    """The groups that these nodes start: what they are called is looked up when somebody asks."""

    def __init__(self, forest: _Forest, roots: Int64s) -> None:
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
        return EventGroup(name, int(self._forest.start[node]), int(self._forest.end[node] - self._forest.start[node]), marked)


def _no_groups(trace: Trace, why: str) -> Groups:
    return Groups((), why, np.empty(0, np.int64), np.empty(0, np.bool_), trace, {}, {})


def _depths(forest: _Forest) -> list[Int64s]:
    """Nodes by nesting depth, all lines together: those that hold others before those."""
    deepest = max((int(part.depth.max()) for part in forest.parts), default=0)
    return [
        np.concatenate([np.flatnonzero(part.depth == depth) + part.first for part in forest.parts])
        for depth in range(1, deepest + 1)
    ]


def _parents(forest: _Forest) -> tuple[Int64s, Bools]:
    """(the node that holds each, past those that hold nothing (`_a`); which those are: nothing holds them)."""
    parent = forest.parent.copy()
    loose = np.zeros(forest.count, np.bool_)
    apart = forest.stat("_a")
    if apart is not None:
        loose[apart[0][apart[1] != 0]] = True
        for _ in range(_ROUNDS):
            skip = (parent >= 0) & loose[parent]
            if not skip.any():
                break
            parent[skip] = parent[parent[skip]]
    return parent, loose


def _launched(forest: _Forest, nodes: dict[int, Nodes]) -> tuple[Int64s, Int64s] | None:
    """(ids of launches ascending, the group of the last launch with each)."""
    if not forest.kernels or not forest.launches:
        return None
    ids, starts, groups = [], [], []
    for line, rows in forest.launches:
        events = line.track.events
        told = whole(line.process.source.columns(events.positions(rows), ("correlation_id",))["correlation_id"])
        rows, told = rows[told >= 0], told[told >= 0]
        if len(rows) and line.number in nodes:
            ids.append(told)
            starts.append(events.start[rows])
            groups.append(nodes[line.number].groups(line.track, rows).astype(np.int64))
    if not ids:
        return None
    every, start, group = (np.concatenate(parts) for parts in (ids, starts, groups))
    order = np.lexsort((start, every))
    last = np.append(every[order][1:] != every[order][:-1], True)
    return every[order][last], group[order][last]


def _context(
    producer_key: Int64s, producers: Int64s, consumer_key: Int64s, consumers: Int64s, *, crowd: bool = False
) -> _Context | None:
    """Bring producers and consumers with equal keys (rows of integers) together."""
    if not len(producers) or not len(consumers):
        return None
    few, many = (producer_key, consumer_key) if len(producers) <= len(consumers) else (consumer_key, producer_key)
    first, code = np.unique(few, axis=0, return_index=True, return_inverse=True)[1:]
    code, keys = code.ravel(), few[first]
    by_id = np.argsort(keys[:, -1], kind="stable")
    ids = keys[by_id, -1]
    if (ids[1:] == ids[:-1]).any():  # one number in several tongues: all columns have to tell
        count, which = _codes(np.concatenate([producer_key, consumer_key]))
        made, used = which[: len(producers)], which[len(producers) :]
    else:
        others = by_id[np.minimum(ids.searchsorted(many[:, -1]), len(ids) - 1)]
        same = np.flatnonzero((keys[others] == many).all(axis=1))
        count = len(keys)
        if few is producer_key:
            made, used, consumers = code, others[same], consumers[same]
        else:
            made, used, producers = others[same], code, producers[same]
    makers, users = np.bincount(made, minlength=count), np.bincount(used, minlength=count)
    both = (makers > 0) & (users > 0)
    if crowd:
        both &= ~((makers >= _CROWD) & (users >= _CROWD))
    renumber = np.cumsum(both) - 1
    keep_made, keep_used = both[made], both[used]
    order = np.argsort(renumber[made[keep_made]], kind="stable")
    made_in = renumber[made[keep_made]][order]
    starts = np.searchsorted(made_in, np.arange(int(both.sum())))
    return _Context(int(both.sum()), producers[keep_made][order], starts, consumers[keep_used], renumber[used[keep_used]])


def _codes(rows: Int64s) -> tuple[int, Int64s]:
    """(how many different rows, the number of each row). Column by column: sorting whole rows is ten times slower."""
    codes = np.zeros(len(rows), np.int64)
    count = 1
    for column in rows.T:
        if len(column) and (column == column[0]).all():
            continue
        values, which = np.unique(column, return_inverse=True)
        values, codes = np.unique(codes * len(values) + which.ravel(), return_inverse=True)
        codes = codes.ravel()
        count = len(values)
    return count, codes


def _hand_overs(forest: _Forest) -> list[_Context | None]:
    """`_pt`, `_p` → `_ct`, `_c`, within one process id where the program gave one."""
    made, used = forest.stat("_p"), forest.stat("_c")
    if made is None or used is None:
        return []
    kind_made, kind_used = forest.dense("_pt"), forest.dense("_ct")
    program = forest.dense("_pid")
    left = np.stack([kind_made[made[0]], program[made[0]], made[1]], axis=1)
    right = np.stack([kind_used[used[0]], program[used[0]], used[1]], axis=1)
    return [_context(left, made[0], right, used[0], crowd=True)]


def _executor(forest: _Forest) -> _Context | None:
    """An executor's iteration → the input it asked for, by (id, iter_num)."""
    executors, inputs = forest.named({_EXECUTOR}), forest.named(_GET_NEXT)
    if not executors.any() or not inputs.any():
        return None
    key = np.stack([forest.dense("iter_num"), forest.dense("id")], axis=1)
    valid = (forest.dense("id", -(1 << 62)) != -(1 << 62)) & (key[:, 0] >= 0)
    left, right = np.flatnonzero(executors & valid), np.flatnonzero(inputs & valid)
    return _context(key[left], left, key[right], right)


def _roots(forest: _Forest) -> tuple[Int64s, str]:
    """(the events that can start a group, best first; what they are)."""
    level = forest.dense("_r", 0)
    for name, rank in _LEVELS.items():
        level[forest.named({name})] = np.maximum(level[forest.named({name})], rank)
    how = "root levels and step markers"
    markers = forest.stat("step_num")
    if markers is not None:
        level[markers[0]] = np.maximum(level[markers[0]], 1)
    else:
        loops = _loops(forest)
        if len(loops):  # nothing else marks steps: the iterations of a loop in the graph are the steps
            level[:] = 0
            level[loops] = 1
            how = "iterations of a loop inside the graph"
    candidates = np.flatnonzero(level > 0)
    start, length = forest.start[candidates], (forest.end - forest.start)[candidates]
    return candidates[np.lexsort((-length, start, -level[candidates]))], how


def _loops(forest: _Forest) -> Int64s:
    """The first executor event of each iteration, of those loops that iterate at all."""
    rows = np.flatnonzero(forest.named({_EXECUTOR}))
    if not len(rows):
        return np.empty(0, np.int64)
    ids, turns, start = forest.dense("id")[rows], forest.dense("iter_num")[rows], forest.start[rows]
    looping = np.isin(ids, np.unique(ids[turns > 0]))
    rows, ids, turns, start = rows[looping], ids[looping], turns[looping], start[looping]
    order = np.lexsort((start, turns, ids))
    new = np.ones(len(order), np.bool_)
    new[1:] = (ids[order][1:] != ids[order][:-1]) | (turns[order][1:] != turns[order][:-1])
    return rows[order[new]]


def _flow(label: Int64s, parent: Int64s, depths: Sequence[Int64s], contexts: Sequence[_Context]) -> None:
    """Let the best label run down the lanes and through the contexts until nothing changes."""
    levels = [rows[parent[rows] >= 0] for rows in depths]
    holders = [parent[rows] for rows in levels]
    for _ in range(_ROUNDS):
        before = label.copy()
        for rows, above in zip(levels, holders, strict=True):
            label[rows] = np.minimum(label[rows], label[above])
        for context in contexts:
            best = np.minimum.reduceat(label[context.producers], context.producer_starts)
            np.minimum.at(label, context.consumers, best[context.consumer_of])
        if np.array_equal(before, label):
            return


def _title(forest: _Forest, event: int, group: int) -> tuple[str, bool]:
    """(TensorBoard's name of the group that this root starts, whether it marks a step)."""
    name = forest.name_of(event)
    marked = name not in _IMPLICIT
    prefix = (forest.text(event, "graph_type") or name) + " " if marked else ""
    number = forest.text(event, "iter_num") or forest.text(event, "step_num") or str(group)
    return f"{prefix}{number}", marked

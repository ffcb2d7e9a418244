"""Which step an event belongs to: group ids for files that carry none (new TensorFlow and JAX), in numpy throughout.

Old files hold a `group_id` with each event, computed by the collector; it is taken as it is. For the others the same is
done here: events nest in their line; producers (`_pt`, `_p`) hand work to consumers (`_ct`, `_c`) on other lines;
`ExecutorState::Process` leads to the `IteratorGetNext` of its iteration, and a kernel launch to its kernel. Roots are
the events that mark steps, and those with a root level (`_r`). Every event gets the first root that reaches it.

The graph is never walked event by event. A context is a node between its producers and its consumers, and labels
(the rank of the best root so far) flow down the lanes and through the contexts until nothing changes: as many rounds
as the longest chain of hand-overs, each a few numpy calls over all events.

Unlike the collectors, a loop inside the graph does not take the place of the program's own step markers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from powertui.data.model import Bools, Events, Int32s, Int64s, Process, ProcessKind, StatColumn, Trace, Track
from powertui.data.run.marks import STATS, carriers

_STATS = ("group_id", "_pt", "_p", "_pid", "_ct", "_c", "_r", "_a", "id", "iter_num", "correlation_id", *STATS)
_NONE = np.iinfo(np.int32).max
_CROWD = 64  # a context with this many on both sides connects nothing with anything
_IMPLICIT = frozenset({"FunctionRun", "SessionRun", "RunGraph", "ExecutorState::Process"})
_EXECUTOR = "ExecutorState::Process"
_GET_NEXT = frozenset({"IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute"})
_LEVELS = {"ProcessBatch": 2, "BatchingSessionRun": 1, "TraceContext": 1}
_ROUNDS = 200


class Group(NamedTuple):
    """One group: usually a step."""

    name: str  # as TensorBoard shows it: "train 12"
    start: int  # of its root
    duration: int
    marked: bool  # its root marks a step; False for implicit roots (FunctionRun …)


@dataclass(frozen=True, eq=False)
class Groups:
    """Group ids for every event of a trace; -1 for events of no group."""

    groups: tuple[Group, ...]
    source: str
    _of: dict[int, Int32s]

    def of(self, line: int) -> Int32s:
        """The group of each event of one line (its index over Trace.tracks()), in the line's own order."""
        return self._of.get(line, np.empty(0, np.int32))


def find(trace: Trace) -> Groups:
    """The groups of a trace: those in the file, or computed as TensorBoard would."""
    forest = _Forest(trace)
    if not forest.lines:
        return Groups((), "no event", {})
    if forest.stat("group_id") is not None:
        return _stored(forest)
    return _computed(forest)


# ── all events in one numbering ──────────────────────────────────────────────────────────────────


class _Line(NamedTuple):
    number: int  # over Trace.tracks()
    process: Process
    track: Track
    first: int  # of its events in the common numbering


class _Forest:
    """All events of a trace in one numbering, line by line, with the stats that matter for grouping."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.lines: list[_Line] = []
        total = 0
        for index, (process, track) in enumerate(trace.tracks()):
            if len(track.events):
                self.lines.append(_Line(index, process, track, total))
                total += len(track.events)
        self.count = total
        self._stats: dict[str, tuple[Int64s, Int64s]] = {}
        if self.lines:
            self._read()

    def whole(self, column: str) -> Int64s:
        """One column of all events."""
        return np.concatenate([getattr(line.track.events, column) for line in self.lines]).astype(np.int64)

    def stat(self, name: str) -> tuple[Int64s, Int64s] | None:
        """(events, values) of one stat that is a whole number; None when no event has it."""
        return self._stats.get(name)

    def _read(self) -> None:
        """Decode the stats of those names that carry any, one pass a line."""
        found: dict[str, list[tuple[Int64s, Int64s]]] = {}
        by_process: dict[int, list[_Line]] = {}
        for line in self.lines:
            by_process.setdefault(id(line.process), []).append(line)
        for lines in by_process.values():
            process = lines[0].process
            wanted = carriers(self.trace, process, [line.track for line in lines], _STATS)
            for line in lines:
                rows = np.flatnonzero(wanted[line.track.events.name])
                if not len(rows):
                    continue
                columns = process.source.columns(line.track.events.positions(rows), _STATS)
                for name, column in columns.items():
                    rows_with = _whole_numbers(column)
                    if rows_with.any():
                        found.setdefault(name, []).append((rows[rows_with] + line.first, column.ints[rows_with]))
        for name, parts in found.items():
            self._stats[name] = (np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))

    def dense(self, name: str, missing: int = -1) -> Int64s:
        """One stat for all events."""
        out = np.full(self.count, missing, np.int64)
        found = self.stat(name)
        if found is not None:
            out[found[0]] = found[1]
        return out

    def named(self, names: frozenset[str] | set[str]) -> Bools:
        """Which events have one of these names."""
        known = np.fromiter(
            (self.trace.names.full(i) in names for i in range(len(self.trace.names))), np.bool_, len(self.trace.names)
        )
        return np.concatenate([known[line.track.events.name] for line in self.lines])

    def split(self, values: Int64s) -> dict[int, Int32s]:
        """A column of all events, line by line."""
        return {line.number: values[line.first : line.first + len(line.track.events)].astype(np.int32) for line in self.lines}

    def locate(self, event: int) -> tuple[_Line, int]:
        """The line of an event and its row there."""
        place = int(np.searchsorted([line.first for line in self.lines], event, side="right")) - 1
        return self.lines[place], event - self.lines[place].first

    def name_of(self, event: int) -> str:
        line, row = self.locate(event)
        return self.trace.names.full(int(line.track.events.name[row]))

    def text(self, event: int, name: str) -> str | None:
        """One stat of one event as text."""
        line, row = self.locate(event)
        position = line.track.events.position_of(row)
        return next((str(stat.value) for stat in line.process.source.of(position) if stat.name == name), None)


def _whole_numbers(column: StatColumn) -> Bools:
    return np.asarray(column.present & np.isfinite(column.floats))


# ── ids that the file carries ────────────────────────────────────────────────────────────────────


def _stored(forest: _Forest) -> Groups:
    ids = forest.dense("group_id")
    start, duration = forest.whole("start"), forest.whole("duration")
    rows = np.flatnonzero(ids >= 0)
    values, which = np.unique(ids[rows], return_inverse=True)
    which = which.ravel()
    first = np.full(len(values), np.iinfo(np.int64).max)
    np.minimum.at(first, which, start[rows])
    last = np.full(len(values), np.iinfo(np.int64).min)
    np.maximum.at(last, which, start[rows] + duration[rows])
    dense = np.full(forest.count, -1, np.int64)
    dense[rows] = which
    titles = _stored_titles(forest, values)
    groups = tuple(
        Group(titles.get(int(value), str(int(value))), int(first[i]), int(last[i] - first[i]), int(value) in titles)
        for i, value in enumerate(values.tolist())
    )
    return Groups(groups, "group_id in the file", forest.split(dense))


def _stored_titles(forest: _Forest, values: Int64s) -> dict[int, str]:
    """step_name by group: the collector gave it to the root of each group."""
    out: dict[int, str] = {}
    for line in forest.lines:
        columns = line.process.source.columns(line.track.events.position, ("step_name", "group_id"))
        for row in np.flatnonzero(columns["step_name"].present & columns["group_id"].present).tolist():
            out.setdefault(int(columns["group_id"].ints[row]), columns["step_name"].text(row) or "")
    return {group: name for group, name in out.items() if group in set(values.tolist())}


# ── ids that are computed ────────────────────────────────────────────────────────────────────────


class _Context(NamedTuple):
    """Producers and consumers of one kind of hand-over: parallel (context, event) pairs, producers by context."""

    size: int
    producers: Int64s
    producer_starts: Int64s  # where each context's producers begin
    consumers: Int64s
    consumer_of: Int64s


def _computed(forest: _Forest) -> Groups:
    parent = _parents(forest)
    contexts = [c for c in (*_hand_overs(forest), _executor(forest), *_launches(forest)) if c is not None and c.size]
    roots, how = _roots(forest)
    if not len(roots):
        return Groups(
            (),
            "nothing marks a group: there is no step marker and no root level",
            forest.split(np.full(forest.count, -1, np.int64)),
        )
    label = np.full(forest.count, _NONE, np.int64)
    label[roots] = np.arange(len(roots))
    _flow(label, parent, _depths(forest), contexts)
    # A root that another root reached starts no group of its own.
    own = label[roots] == np.arange(len(roots))
    number = np.full(len(roots) + 1, -1, np.int64)
    number[:-1][own] = np.arange(int(own.sum()))
    label[label == _NONE] = len(roots)
    start, duration = forest.whole("start"), forest.whole("duration")
    groups = []
    for group, event in enumerate(roots[own].tolist()):
        name, marked = _title(forest, event, group)
        groups.append(Group(name, int(start[event]), int(duration[event]), marked))
    return Groups(tuple(groups), how, forest.split(number[label]))


def _depths(forest: _Forest) -> list[Int64s]:
    """Events by nesting depth, all lines together: parents before children."""
    deepest = max(line.track.lane_count for line in forest.lines)
    out = []
    for depth in range(1, deepest):
        rows = [
            np.arange(int(line.track.lanes[depth]), int(line.track.lanes[depth + 1])) + line.first
            for line in forest.lines
            if depth < line.track.lane_count
        ]
        out.append(np.concatenate(rows))
    return out


def _parents(forest: _Forest) -> Int64s:
    """The innermost event of the same line that holds each event; -1 for none. `_a` marks events that hold nothing."""
    parent = np.full(forest.count, -1, np.int64)
    for line in forest.lines:
        if line.track.derived:
            continue
        for depth in range(1, line.track.lane_count):
            lane = line.track.lane(depth)
            first = int(line.track.lanes[depth]) + line.first
            left = np.arange(len(lane))
            for above in range(depth - 1, -1, -1):  # files that overlap partly: look further up
                holder = _holders(line.track.lane(above), lane, left)
                found = holder >= 0
                parent[first + left[found]] = holder[found] + int(line.track.lanes[above]) + line.first
                left = left[~found]
                if not len(left):
                    break
    apart = forest.stat("_a")
    if apart is not None:
        loose = np.zeros(forest.count + 1, np.bool_)
        loose[apart[0][apart[1] != 0]] = True
        for _ in range(_ROUNDS):
            skip = loose[parent]
            if not skip.any():
                break
            parent[skip] = parent[parent[skip]]
        parent[loose[:-1]] = -1
    return parent


def _holders(above: Events, lane: Events, rows: Int64s) -> Int64s:
    start = lane.start[rows]
    holder = np.searchsorted(above.start, start, side="right") - 1
    inside = holder >= 0
    place = np.maximum(holder, 0)
    inside &= lane.start[rows] + lane.duration[rows] <= above.start[place] + above.duration[place]
    return np.where(inside, holder, -1)


def _context(
    producer_key: Int64s, producers: Int64s, consumer_key: Int64s, consumers: Int64s, *, crowd: bool = False
) -> _Context | None:
    """Bring producers and consumers with equal keys (rows of integers) together."""
    if not len(producers) or not len(consumers):
        return None
    count, which = _codes(np.concatenate([producer_key, consumer_key]))
    made, used = which[: len(producers)], which[len(producers) :]
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
    left = np.stack([kind_made[made[0]], made[1], program[made[0]]], axis=1)
    right = np.stack([kind_used[used[0]], used[1], program[used[0]]], axis=1)
    return [_context(left, made[0], right, used[0], crowd=True)]


def _executor(forest: _Forest) -> _Context | None:
    """An executor's iteration → the input it asked for, by (id, iter_num)."""
    executors, inputs = forest.named({_EXECUTOR}), forest.named(_GET_NEXT)
    if not executors.any() or not inputs.any():
        return None
    key = np.stack([forest.dense("id"), forest.dense("iter_num")], axis=1)
    valid = (forest.dense("id", -(1 << 62)) != -(1 << 62)) & (key[:, 1] >= 0)
    left, right = np.flatnonzero(executors & valid), np.flatnonzero(inputs & valid)
    return _context(key[left], left, key[right], right)


def _launches(forest: _Forest) -> list[_Context | None]:
    """A launch on the host → its kernels, by correlation id, device by device; the last launch with an id counts."""
    found = forest.stat("correlation_id")
    if found is None:
        return []
    events, ids = found
    kind = np.concatenate([
        np.full(len(line.track.events), 1 if line.process.kind is ProcessKind.DEVICE else 0) for line in forest.lines
    ])  # fmt: skip
    start = forest.whole("start")
    host = kind[events] == 0
    launch_events, launch_ids = events[host], ids[host]
    order = np.lexsort((start[launch_events], launch_ids))
    last = np.append(launch_ids[order][1:] != launch_ids[order][:-1], True) if len(order) else np.empty(0, np.bool_)
    launch_events, launch_ids = launch_events[order][last], launch_ids[order][last]
    out = []
    for process in {id(line.process): line.process for line in forest.lines if line.process.kind is ProcessKind.DEVICE}.values():
        mine = np.zeros(forest.count, np.bool_)
        for line in forest.lines:
            if line.process is process:
                mine[line.first : line.first + len(line.track.events)] = True
        kernels = mine[events] & ~host
        out.append(_context(launch_ids[:, None], launch_events, ids[kernels][:, None], events[kernels]))
    return out


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
    start = forest.whole("start")
    order = np.lexsort((-forest.whole("duration")[candidates], start[candidates], -level[candidates]))
    return candidates[order], how


def _loops(forest: _Forest) -> Int64s:
    """The first executor event of each iteration, of those loops that iterate at all."""
    rows = np.flatnonzero(forest.named({_EXECUTOR}))
    if not len(rows):
        return np.empty(0, np.int64)
    ids, turns, start = forest.dense("id")[rows], forest.dense("iter_num")[rows], forest.whole("start")[rows]
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

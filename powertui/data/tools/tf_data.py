"""tf.data's pipelines: the iterators of each as a tree with their own time, which of them is too
slow, and what to do about it.

Every call of an iterator is an event that names the whole path from the root. Iterators that work
ahead run on threads of their own: what they produce (`PrefetchProduce`) and who consumes it carry
the same element's number. The own time of a call is what none of its children's calls overlaps; a
child blocks its parent as far as their calls overlap. Of each call of a root the blocking iterator
with the most time of its own is the bottleneck. A pipeline with a call of more than 50 µs may hold
the program up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator as Iterable
from typing import NamedTuple

import numpy as np

from powertui import units
from powertui.data import wire
from powertui.data.model import PS_PER_US, Bools, Int64s, ProcessKind, Trace
from powertui.data.run.marks import whole_numbers
from powertui.data.table import Column, Fact, Place, Result, Table, if_missing, int_column, optional
from powertui.data.tools import breakdown
from powertui.data.tools.advice import INPUT_SOME
from powertui.data.tools.registry import Question
from powertui.data.window import touches

_SLOW = 50 * PS_PER_US  # a call of a root that takes longer holds the program up

_HANDS = re.compile(r"^(\w+?)(Produce|Consume)$")
_WORKS_AHEAD = frozenset(
    (
        "Prefetch",
        "ParallelInterleave",
        "ParallelMap",
        "ParseExample",
        "MapAndBatch",
        "DataService",
        "LegacyParallelInterleave",
        "ParallelBatch",
    )
)
_VERSION = re.compile(r"V\d+$")
_INDEX = re.compile(r"\[\d+\]$")

_SOURCES = frozenset(
    (
        "TFRecord",
        "TextLine",
        "FixedLengthRecord",
        "FromTensor",
        "TensorSlice",
        "Generator",
        "SSTable",
        "RecordIO",
        "ArrayRecord",
        "Range",
        "Tensor",
        "SparseTensorSlice",
        "Csv",
    )
)
_PARALLEL = frozenset(("Map", "Interleave"))
_ONE_BY_ONE = frozenset(
    (
        "Filter",
        "Batch",
        "Unbatch",
        "PaddedBatch",
        "Shuffle",
        "FlatMap",
        "Zip",
        "Concatenate",
        "Window",
    )
)


class IteratorCalls(NamedTuple):
    """Every call of an iterator, as columns. Times in ps."""

    name: Int64s  # index into the trace's names
    start: Int64s
    end: Int64s
    track: Int64s
    id: Int64s  # of the iterator; -1 where the file does not tell
    parent: (
        Int64s  # the call that asked for it, by row; -1 for roots and for what nothing ties to one
    )
    overlap: Int64s  # with that call
    own: Int64s  # what no child's call overlaps
    root: Int64s  # the root's call that it belongs to, by row; -1 for none
    blocking: Bools  # it held its root's call up

    def __len__(self) -> int:
        return len(self.start)


class _Pipeline(NamedTuple):
    """One pipeline: the calls of one root."""

    name: str
    calls: Int64s  # rows of the root's calls
    slow: int
    mean: float  # ps
    least: int
    most: int
    slowest: int  # its row
    bottleneck: int  # the name of the iterator that held the slowest call up
    latency: int  # its own time then
    blamed: dict[int, int]  # by name: of how many calls it was the bottleneck


# ── what a person asks ───────────────────────────────────────────────────────────────────────────


def answer(question: Question) -> Result:
    """The pipelines of one host in the window, the slowest first."""
    trace = question.profile.trace
    calls = iterator_calls(trace, *question.window)
    pipelines = _pipelines(trace, calls)
    slow = [pipeline for pipeline in pipelines if pipeline.most > _SLOW]
    words, little = _conclusion(question, trace, calls, pipelines)
    is_slow = bool(slow) if pipelines else None
    why_no_share = if_missing(little, "no step was measured")
    facts = (
        Fact("conclusion", "tf.data", words),
        Fact(
            "is_input_bound",
            "some call over 50 µs",
            is_slow,
            "flag",
            why=if_missing(is_slow, "not recorded"),
        ),
        Fact("share", "waiting for it", little, "share", why=why_no_share),
        Fact("pipelines", "pipelines", len(pipelines), "integer"),
    )
    return Result(
        "tf_data_bottleneck_analysis",
        "tf.data",
        (_table(question, trace, calls, pipelines), _iterators(question, trace, calls)),
        facts,
        mode=question.compat,
    )


def _conclusion(
    question: Question, trace: Trace, calls: IteratorCalls, pipelines: list[_Pipeline]
) -> tuple[str, float | None]:
    """(whether the pipelines hold the program up, in a sentence; the part of the steps' time that
    goes into waiting for them).
    """
    if not len(calls):
        return "No pipeline of tf.data was recorded.", None
    if not pipelines:
        return "Iterators of tf.data ran, but no call of a root was recorded.", None
    worst = pipelines[0]
    if worst.most <= _SLOW:
        return "The input pipeline delays nothing: every batch was ready within 50 µs.", None
    late = (
        f"up to {units.duration(worst.most)} a call, {worst.slow:,} of {len(worst.calls):,} "
        "calls over 50 µs"
    )
    steps = breakdown.step_breakdown(question.profile, question.compat)
    share = None
    if len(steps):
        steps = steps.take(touches(steps.start, steps.start + steps.length, *question.window))
    step_time = int(steps.length.sum()) if len(steps) else 0
    if step_time:
        share = min(1.0, float(steps.category("input").sum()) / step_time)
        late += f", input {100 * share:.1f} % of the steps' time"
        if share < INPUT_SOME:
            return (
                f"The input pipeline delays the program slightly: {late}. There is little to gain.",
                share,
            )
    path = trace.names.full(worst.bottleneck)
    return (
        (
            f"The input pipeline delays the program: {late}. {_kind(path)} is the bottleneck: "
            f"{suggestion(path)}"
        ),
        share,
    )


def suggestion(long_name: str) -> str:
    """What to do about an iterator that is the bottleneck."""
    kind = _kind(long_name)
    if kind in _SOURCES:
        return (
            "reading the source is slow. Keep the data nearer (local disk, memory), "
            "interleave files, or cache() after it."
        )
    if kind == "DataService":
        return (
            "the data service is slow. Give it more workers, or look there for its own bottleneck."
        )
    if kind in _PARALLEL:
        return "it works on one element at a time. Give it num_parallel_calls=tf.data.AUTOTUNE."
    if kind in (
        "ParallelMap",
        "ParallelInterleave",
        "MapAndBatch",
        "LegacyParallelInterleave",
        "ParseExample",
        "ParallelBatch",
    ):
        return (
            "its function takes longer than the step. Raise its parallelism if cores are "
            "free, make it cheaper, or cache() it."
        )
    if kind == "Prefetch":
        return (
            "it waits for what is before it. Speed that up; a larger buffer only helps with "
            "uneven times."
        )
    if kind in _ONE_BY_ONE:
        return (
            "it works element by element. Batch before it and work on whole batches, or "
            "move it before cache()."
        )
    return "see what it does, whether it can run ahead (prefetch) or in parallel, or once (cache)."


def _kind(long_name: str) -> str:
    """The type of the iterator at the end of a path: "ParallelMapV2[0]" is a ParallelMap."""
    return _VERSION.sub("", _INDEX.sub("", long_name.rpartition("::")[2]))


# ── the calls ────────────────────────────────────────────────────────────────────────────────────

_ITERATOR, _PRODUCE, _CONSUME = 0, 1, 2


def iterator_calls(trace: Trace, lo: int, hi: int) -> IteratorCalls:
    """All calls that touch the window, each with the one that asked for it."""
    rows = _rows(trace, lo, hi)
    start, duration, track, role, family, ident, element, name = rows
    end = start + duration
    holder = _holders(track, start, end)
    # Who consumes an element: the iterator's call around the consumption.
    key = np.stack([family, element], axis=1)
    consumed = np.flatnonzero((role == _CONSUME) & (element >= 0) & (holder >= 0))
    consumed = consumed[role[holder[consumed]] == _ITERATOR]
    asked: dict[tuple[int, int], int] = {}
    for row, pair in zip(consumed.tolist(), key[consumed].tolist(), strict=True):
        asked.setdefault((pair[0], pair[1]), int(holder[row]))
    asks = holder.copy()
    inside = np.flatnonzero((role == _ITERATOR) & (holder >= 0))
    inside = inside[role[holder[inside]] != _ITERATOR]
    for row in inside.tolist():
        by = int(holder[row])
        while by >= 0 and role[by] == _CONSUME:
            by = int(holder[by])
        if by >= 0 and role[by] == _PRODUCE:
            by = asked.get((int(family[by]), int(element[by])), -1)
        asks[row] = by
    calls = np.flatnonzero(role == _ITERATOR)
    place = np.full(len(role) + 1, -1, np.int64)
    place[calls] = np.arange(len(calls))
    parent = place[asks[calls]]
    start, end = start[calls], end[calls]
    has = parent >= 0
    overlap = np.zeros(len(calls), np.int64)
    overlap[has] = np.maximum(
        0, np.minimum(end[has], end[parent[has]]) - np.maximum(start[has], start[parent[has]])
    )
    self_time = end - start
    np.subtract.at(self_time, parent[has], overlap[has])
    names_of_calls, which = np.unique(name[calls], return_inverse=True)
    is_root = np.array(
        [trace.names.full(int(i)).count("::") == 1 for i in names_of_calls.tolist()], np.bool_
    )[which.ravel()]
    root = np.where(is_root, np.arange(len(calls)), -1)
    blocking = is_root.copy()
    for _ in range(64):  # as deep as a pipeline is
        after = np.where((root < 0) & has, root[np.maximum(parent, 0)], root)
        blocks = blocking | (has & blocking[np.maximum(parent, 0)] & (overlap > 0))
        if np.array_equal(after, root) and np.array_equal(blocks, blocking):
            break
        root, blocking = after, blocks
    return IteratorCalls(
        name=name[calls],
        start=start,
        end=end,
        track=track[calls],
        id=ident[calls],
        parent=parent,
        overlap=overlap,
        own=np.maximum(0, self_time),
        root=root,
        blocking=blocking,
    )


def _rows(trace: Trace, lo: int, hi: int) -> tuple[Int64s, ...]:
    """(start, duration, track, role, family, id, element, name) of all calls and hand-overs, line
    by line.
    """
    count = len(trace.names)
    role_of, family_of = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    families: dict[str, int] = {}
    for index in range(count):
        name = trace.names.full(index)
        if name.startswith("Iterator::"):
            role_of[index] = _ITERATOR
        elif (
            name.endswith(("Produce", "Consume"))
            and (handed := _HANDS.match(name)) is not None
            and handed[1] in _WORKS_AHEAD
        ):
            role_of[index] = _PRODUCE if handed[2] == "Produce" else _CONSUME
            family_of[index] = families.setdefault(handed[1], len(families))
    parts: list[tuple[Int64s, ...]] = []
    for number, (process, track) in enumerate(trace.tracks()):
        events = track.events
        if process.kind is not ProcessKind.HOST or track.derived or not len(events):
            continue
        rows = np.flatnonzero(role_of[events.name] >= 0)
        rows = rows[(events.start[rows] < hi) & (events.start[rows] + events.duration[rows] >= lo)]
        if not len(rows):
            continue
        rows = rows[np.lexsort((-events.duration[rows], events.start[rows]))]
        columns = process.source.columns(events.positions(rows), ("id", "element_id"))
        numbers = events.name[rows].astype(np.int64)
        parts.append(
            (
                events.start[rows],
                events.duration[rows],
                np.full(len(rows), number, np.int64),
                role_of[numbers],
                family_of[numbers],
                np.where(columns["id"].present, columns["id"].ints, -1),
                whole_numbers(columns["element_id"]),
                numbers,
            )
        )
    if not parts:
        return tuple(np.empty(0, np.int64) for _ in range(8))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _holders(track: Int64s, start: Int64s, end: Int64s) -> Int64s:
    """The innermost event of the same line around each; -1 for none.

    Rows come line by line, each by start.
    """
    out = np.full(len(start), -1, np.int64)
    bounds = np.flatnonzero(np.diff(track)) + 1
    for rows in np.split(np.arange(len(start)), bounds) if len(start) else ():
        depth = wire.nest(start[rows], end[rows] - start[rows])
        above = rows[depth == 0]
        for level in range(1, int(depth.max()) + 1):
            here = rows[depth == level]
            at = (
                np.searchsorted(above, here) - 1
            )  # rows are in order of start: the last one above that began before
            out[here] = np.where(at >= 0, above[np.maximum(at, 0)], -1)
            above = here
    held = out >= 0
    out[held] = np.where(end[held] <= end[out[held]], out[held], -1)
    return out


def _pipelines(trace: Trace, calls: IteratorCalls) -> list[_Pipeline]:
    """The calls of each root, and what held them up; the pipeline with the slowest call first."""
    roots = np.flatnonzero(calls.root == np.arange(len(calls)))
    if not len(roots):
        return []
    # Of each root's call, the blocking call with the most time of its own.
    held = np.flatnonzero(calls.blocking & (calls.root >= 0))
    order = np.lexsort((-calls.own[held], calls.root[held]))
    which, first = np.unique(calls.root[held][order], return_index=True)
    worst = np.full(len(calls), -1, np.int64)
    worst[which] = held[order[first]]
    out = []
    _, group = np.unique(
        np.stack([calls.name[roots], calls.id[roots]], axis=1), axis=0, return_inverse=True
    )
    for number in range(int(group.max()) + 1):
        mine = roots[group.ravel() == number]
        took = calls.end[mine] - calls.start[mine]
        slowest = int(mine[int(took.argmax())])
        if _is_device(trace, calls, mine):
            continue
        blamed: dict[int, int] = {}
        for row in worst[mine].tolist():
            blamed[int(calls.name[row])] = blamed.get(int(calls.name[row]), 0) + 1
        held_up = int(worst[slowest])
        out.append(
            _Pipeline(
                name=trace.names.full(int(calls.name[slowest])),
                calls=mine,
                slow=int((took > _SLOW).sum()),
                mean=float(took.mean()),
                least=int(took.min()),
                most=int(took.max()),
                slowest=slowest,
                bottleneck=int(calls.name[held_up]),
                latency=int(calls.own[held_up]),
                blamed=blamed,
            )
        )
    return sorted(out, key=lambda pipeline: -pipeline.most)


def _is_device(trace: Trace, calls: IteratorCalls, roots: Int64s) -> bool:
    """Whether a root only hands on to a device what another pipeline made."""
    return trace.names.full(int(calls.name[roots[0]])) == "Iterator::Prefetch" and any(
        trace.names.full(int(name)) == "Iterator::Prefetch::Generator"
        for name in np.unique(calls.name[np.isin(calls.root, roots)]).tolist()
    )


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def _table(
    question: Question, trace: Trace, calls: IteratorCalls, pipelines: list[_Pipeline]
) -> Table:
    names = [trace.names.full(pipeline.bottleneck) for pipeline in pipelines]
    columns = (
        Column(
            "pipeline",
            "pipeline",
            "text",
            [f"{number + 1}: {pipeline.name}" for number, pipeline in enumerate(pipelines)],
            weight=8,
        ),
        int_column(
            "calls",
            "calls",
            "integer",
            [len(pipeline.calls) for pipeline in pipelines],
            weight=5,
        ),
        int_column(
            "slow_calls",
            "over 50 µs",
            "integer",
            [pipeline.slow for pipeline in pipelines],
            weight=7,
        ),
        Column(
            "avg_latency_us",
            "mean",
            "duration",
            np.array([round(pipeline.mean) for pipeline in pipelines], np.int64),
            unit="us",
            weight=6,
        ),
        Column(
            "min_latency_us",
            "shortest",
            "duration",
            np.array([pipeline.least for pipeline in pipelines], np.int64),
            unit="us",
            weight=2,
        ),
        Column(
            "max_latency_us",
            "longest",
            "duration",
            np.array([pipeline.most for pipeline in pipelines], np.int64),
            unit="us",
            weight=8,
        ),
        Column(
            "bottleneck",
            "bottleneck of the longest",
            "text",
            [_kind(name) for name in names],
            weight=9,
        ),
        int_column(
            "bottleneck_s",
            "its own time",
            "duration",
            [pipeline.latency for pipeline in pipelines],
            weight=5,
        ),
        Column("bottleneck_path", "its path", "text", names, weight=3),
        Column("suggestion", "what to do", "text", [suggestion(name) for name in names], weight=4),
    )

    def place(row: int) -> Place:
        at = pipelines[row].slowest
        return Place(
            question.opened.name,
            question.host,
            int(calls.start[at]),
            int(calls.end[at]),
            int(calls.track[at]),
        )

    return Table(
        "pipelines",
        "Pipelines, the slowest call first",
        columns,
        place=place,
        order=("max_latency_us", True),
        empty="No call of a pipeline's root was recorded.",
        key=("pipeline",),
        noun="pipeline",
    )


class _Node(NamedTuple):
    path: str
    depth: int
    rows: Int64s


def _tree(trace: Trace, calls: IteratorCalls) -> Iterable[_Node]:
    """The iterators by their paths, each below its parent.

    `ForeverRepeat[7]` counts its rounds: they are one iterator.
    """
    by_path: dict[str, list[Int64s]] = {}
    order = np.argsort(calls.name, kind="stable")
    names, first = np.unique(calls.name[order], return_index=True)
    for name, rows in zip(
        names.tolist(), np.split(order, first[1:]) if len(names) else (), strict=True
    ):
        path = re.sub(r"(Repeat)\[\d+\]", r"\1", trace.names.full(int(name)))
        by_path.setdefault(path, []).append(rows)
    for path in sorted(by_path, key=lambda path: path.split("::")):
        yield _Node(path, path.count("::") - 1, np.concatenate(by_path[path]))


def _iterators(question: Question, trace: Trace, calls: IteratorCalls) -> Table:
    nodes = list(_tree(trace, calls))
    blamed: dict[str, int] = {}
    for pipeline in _pipelines(trace, calls):
        for name, times in pipeline.blamed.items():
            path = re.sub(r"(Repeat)\[\d+\]", r"\1", trace.names.full(name))
            blamed[path] = blamed.get(path, 0) + times
    total = np.array(
        [int((calls.end[node.rows] - calls.start[node.rows]).sum()) for node in nodes], np.int64
    )
    self_time = np.array([int(calls.own[node.rows].sum()) for node in nodes], np.int64)
    count = np.array([len(node.rows) for node in nodes], np.int64)
    blocks = [int(calls.blocking[node.rows].sum()) for node in nodes]
    columns = (
        Column(
            "iterator",
            "iterator",
            "text",
            ["  " * node.depth + node.path.rpartition("::")[2] for node in nodes],
            weight=9,
        ),
        Column("calls", "calls", "integer", count, weight=5),
        Column("total_s", "total", "duration", total, weight=6),
        Column("self_s", "self", "duration", self_time, weight=9),
        Column(
            "avg_self_s", "self a call", "duration", self_time // np.maximum(1, count), weight=7
        ),
        Column("blocking", "delayed a step", "integer", np.array(blocks, np.int64), weight=4),
        optional(
            "bottleneck",
            "bottleneck",
            "integer",
            [blamed.get(node.path) for node in nodes],
            weight=8,
        ),
        Column(
            "ahead",
            "works ahead",
            "flag",
            np.array([_kind(node.path) in _WORKS_AHEAD for node in nodes], np.bool_),
            weight=3,
        ),
        Column("path", "path", "text", [node.path for node in nodes], weight=0),
    )

    def place(row: int) -> Place:
        rows = nodes[row].rows
        at = int(rows[int(calls.own[rows].argmax())])
        return Place(
            question.opened.name,
            question.host,
            int(calls.start[at]),
            int(calls.end[at]),
            int(calls.track[at]),
        )

    return Table(
        "iterators",
        "Iterators, each below the one that asks it",
        columns,
        place=place,
        order=None,
        empty="No iterator of tf.data ran.",
        key=("path",),
        noun="iterator",
    )

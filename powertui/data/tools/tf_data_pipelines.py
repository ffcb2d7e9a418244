"""The pipelines of tf.data, what held each up, and what to do about it.

Of each call of a root the blocking iterator with the most time of its own is the bottleneck.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data import wire
from powertui.data.model import PS_PER_US, Int64s, Trace
from powertui.data.tools.iterator_calls import IteratorCalls
from powertui.named_tuples import NamedTuple

SLOW_CALL_PS = 50 * PS_PER_US  # a call of a root that takes longer holds the program up

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
_PARALLEL = frozenset(("Map", "Interleave"))  # which can be made parallel
_ALREADY_PARALLEL = frozenset(
    (
        "ParallelMap",
        "ParallelInterleave",
        "MapAndBatch",
        "LegacyParallelInterleave",
        "ParseExample",
        "ParallelBatch",
    )
)
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


class Pipeline(NamedTuple):
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


def find_pipelines(trace: Trace, calls: IteratorCalls) -> list[Pipeline]:
    """The calls of each root, and what held them up; the pipeline with the slowest call first."""
    rows = np.arange(len(calls))
    roots = np.flatnonzero(calls.root == rows)
    if not len(roots):
        return []
    bottleneck = _bottlenecks(calls)
    pipelines: list[Pipeline] = []
    # Two iterators of one type are told apart by their ids.
    name_and_id = np.stack([calls.name[roots], calls.id[roots]], axis=1)
    _, group = np.unique(name_and_id, axis=0, return_inverse=True)
    for number in range(int(group.max()) + 1):
        rows = roots[group.ravel() == number]
        if not _feeds_device(trace, calls, rows):
            pipelines.append(_pipeline(trace, calls, rows, bottleneck))
    return sorted(pipelines, key=lambda pipeline: -pipeline.most)


def _bottlenecks(calls: IteratorCalls) -> Int64s:
    """Of each root's call the blocking call with the most time of its own; -1 for other calls."""
    blocking = np.flatnonzero(calls.blocking & (calls.root >= 0))
    by_root = np.lexsort((-calls.own[blocking], calls.root[blocking]))
    most_time_first = blocking[by_root]
    roots, first = np.unique(calls.root[most_time_first], return_index=True)
    bottleneck = np.full(len(calls), -1, np.int64)
    bottleneck[roots] = most_time_first[first]
    return bottleneck


def _pipeline(trace: Trace, calls: IteratorCalls, rows: Int64s, bottleneck: Int64s) -> Pipeline:
    """The pipeline whose root made these calls."""
    took = calls.end[rows] - calls.start[rows]
    slowest = int(rows[int(took.argmax())])
    blamed: dict[int, int] = {}
    for name in calls.name[bottleneck[rows]].tolist():
        blamed[name] = blamed.get(name, 0) + 1
    held_up_by = int(bottleneck[slowest])
    return Pipeline(
        name=trace.names.full(int(calls.name[slowest])),
        calls=rows,
        slow=int((took > SLOW_CALL_PS).sum()),
        mean=float(took.mean()),
        least=int(took.min()),
        most=int(took.max()),
        slowest=slowest,
        bottleneck=int(calls.name[held_up_by]),
        latency=int(calls.own[held_up_by]),
        blamed=blamed,
    )


def _feeds_device(trace: Trace, calls: IteratorCalls, roots: Int64s) -> bool:
    """Whether a root only hands on to a device what another pipeline made."""
    if trace.names.full(int(calls.name[roots[0]])) != "Iterator::Prefetch":
        return False
    is_of_root = np.isin(calls.root, roots)
    names = wire.distinct(calls.name[is_of_root]).tolist()
    return any(trace.names.full(name) == "Iterator::Prefetch::Generator" for name in names)


def suggestion(long_name: str) -> str:
    """What to do about an iterator that is the bottleneck."""
    kind = iterator_kind(long_name)
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
    if kind in _ALREADY_PARALLEL:
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


def iterator_kind(long_name: str) -> str:
    """The type of the iterator at the end of a path: "ParallelMapV2[0]" is a ParallelMap."""
    own_name = long_name.rpartition("::")[2]
    return _VERSION.sub("", _INDEX.sub("", own_name))

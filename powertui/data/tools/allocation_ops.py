"""For which operator memory was taken, where the trace marks allocations without a word on that.

It is PyTorch's innermost operator around the mark, on the thread of the mark. One that only
allocates for another (`aten::empty` inside `aten::mul`) counts where nothing else is around it.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Int64s, Process, Trace, Track, UInt32s
from powertui.data.model.allocations import AllocatorLog
from powertui.data.sorted_columns import last_begun
from powertui.named_tuples import NamedTuple

_OPERATORS = frozenset(("cpu_op", "operator"))  # categories of operators, old and new
_ALLOCATING = (
    "aten::empty",
    "aten::new_empty",
    "aten::resize_",
)  # how names begin of those that only allocate
_SHAPES, _TYPES = "Input Dims", "Input type"


class AroundAllocations(NamedTuple):
    """The operator around each event of a log: its name and its event; -1 for none."""

    name: Int64s  # into Trace.names
    event: Int64s  # the row on the event's line


def operators_around(trace: Trace, log: AllocatorLog) -> AroundAllocations:
    """The operators around the marks of a log."""
    name = np.full(len(log), -1, np.int64)
    event = np.full(len(log), -1, np.int64)
    has_line = log.track >= 0
    lines = wire.distinct(log.track[has_line]).tolist()
    if lines:
        tracks = list(trace.tracks())
    else:
        tracks = []
    for line in lines:
        rows = np.flatnonzero(log.track == line)
        moments = log.times[rows]
        _, track = tracks[line]
        is_operator, only_allocates = _operators(trace, track.events.name)
        # A deeper lane holds what is inside, so the last that fits is the innermost.
        for depth in range(track.lane_count):
            lane = track.lane(depth)
            begun, last = last_begun(lane.start, moments)
            end = lane.start[last] + lane.duration[last]
            is_open = begun & (end >= moments)
            last_name = lane.name[last]
            # What only allocates says nothing of why, where an operator around it is known.
            has_none_yet = name[rows] < 0
            counts = is_operator[last_name] & (has_none_yet | ~only_allocates[last_name])
            chosen = np.flatnonzero(is_open & counts)
            name[rows[chosen]] = last_name[chosen]
            rows_of_lane = track.rows_of_lane(depth)
            event[rows[chosen]] = rows_of_lane.start + last[chosen]
    return AroundAllocations(name, event)


def _operators(trace: Trace, names: UInt32s) -> tuple[Bools, Bools]:
    """Which names are those of operators, and which of those only allocate."""
    is_operator = np.zeros(len(trace.names), np.bool_)
    only_allocates = np.zeros(len(trace.names), np.bool_)
    for index in wire.distinct(names).tolist():
        for stat in trace.names.stats(index):
            if stat.name == "cat":
                is_operator[index] = str(stat.value).lower() in _OPERATORS
                only_allocates[index] = trace.names.full(index).startswith(_ALLOCATING)
                break
    return is_operator, only_allocates


class OperatorInputs(NamedTuple):
    """What an operator was given: shapes and types, as the trace has them."""

    shapes: str
    types: str


def operator_inputs(process: Process, track: Track, event: int) -> OperatorInputs:
    """The inputs of an operator; empty where the trace does not hold them."""
    shapes = types = ""
    for stat in process.source.event_stats(track.events.position_of(event)):
        if stat.name == _SHAPES:
            shapes = str(stat.value)[1:-1]
        elif stat.name == _TYPES:
            quoted = re.findall(r'"([^"]*)"', str(stat.value))
            types = ", ".join(filter(None, quoted))
    return OperatorInputs(shapes, types)

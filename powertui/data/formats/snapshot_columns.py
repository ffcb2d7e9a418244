"""Columns of a memory snapshot: what was in use after each event, and the segments at its end."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from powertui.data.formats.json_stats import clean
from powertui.data.formats.snapshot_records import (
    SEGMENT_ALLOC,
    SEGMENT_FREE,
    SEGMENT_MAP,
    SEGMENT_UNMAP,
    BlockColumns,
    Segment,
)
from powertui.data.model import (
    Bools,
    Floats,
    Int32s,
    Int64s,
    Trace,
    UInt8s,
)
from powertui.data.model.allocations import AllocatorLog, MemorySegments
from powertui.named_tuples import NamedTuple


class DeviceEvents(NamedTuple):
    """The events of one device, by time, and what the snapshot found there at its end."""

    number: int
    rows: Int32s  # of the records
    times: Int64s  # ps
    action: UInt8s
    size: Int64s
    segments: list[Segment]
    blocks: BlockColumns


def stacks_with_lines(stack: Int32s, lines: list[str]) -> Int32s:
    """The stacks whose line is known; -1 for the others."""
    is_known = list(map(bool, lines))
    is_known.append(False)  # of events without a stack
    has_line = np.array(is_known, np.bool_)[stack]
    return np.where(has_line, stack, -1).astype(np.int32)


def is_alive(wanted: Int64s, address: Int64s, taken: Bools) -> Bools:
    """Which of these addresses the events leave allocated at their end."""
    _, from_end = np.unique(address[::-1], return_index=True)
    last_events = len(address) - 1 - from_end
    taken_last = last_events[taken[last_events]]
    alive: Bools = np.isin(wanted, address[taken_last])
    return alive


def with_earlier(earlier: Int64s, column: Int64s, is_event: Bools) -> Int64s:
    """Some values of a column behind others, without a copy on the way."""
    earlier_count = len(earlier)
    event_count = int(is_event.sum())
    values = np.empty(earlier_count + event_count, np.int64)
    values[:earlier_count] = earlier
    np.compress(is_event, column, out=values[earlier_count:])
    return values


def levels_in_use(in_use: int, size: Int64s, taken: Bools, before: int) -> Floats:
    """Bytes in use after each event, counted back from the end; `before` of them lead, which were
    there at the first event.
    """
    delta = size.copy()
    np.negative(delta, out=delta, where=~taken)
    levels = np.empty(before + len(delta))
    levels[:before] = in_use - int(delta.sum())
    later = _sums_after(delta)
    np.subtract(in_use, later, out=levels[before:])
    return levels


def levels_reserved(device: DeviceEvents, is_event: Bools, before: int) -> Floats:
    """Bytes in segments after each of these events, after as many as lead as before the first."""
    action = device.action
    sign = np.zeros(len(action), np.int8)
    sign[np.isin(action, (SEGMENT_ALLOC, SEGMENT_MAP))] = 1
    sign[np.isin(action, (SEGMENT_FREE, SEGMENT_UNMAP))] = -1
    delta = device.size.copy()
    delta *= sign
    end = sum(segment.size for segment in device.segments)
    event_count = int(is_event.sum())
    levels = np.empty(before + event_count)
    levels[:before] = end - int(delta.sum())
    after_events = levels[before:]
    after_events[:] = _sums_after(delta)[is_event]
    np.subtract(end, after_events, out=after_events)
    return levels


def fragmentation(device: DeviceEvents) -> float:
    """1 - the largest free block / all that is free, as it is known after the last event."""
    is_free = device.blocks.active == 0
    free = device.blocks.size[is_free]
    total = free.sum()
    if not total > 0:
        return math.nan
    return 1 - float(free.max()) / float(total)


def segment_columns(device: DeviceEvents, lines: list[str]) -> MemorySegments:
    """The segments of a device as columns."""
    segments = device.segments
    used = []
    largest_free = []
    block_counts = []
    segment_lines = []
    first = 0
    for segment in segments:
        block_count = sum(map(len, segment.blocks))
        end = first + block_count
        is_active = device.blocks.active[first:end] > 0
        size = device.blocks.size[first:end]
        used.append(int(size[is_active].sum()))
        largest_free.append(int(size[~is_active].max(initial=0)))
        block_counts.append(block_count)
        segment_lines.append(lines[segment.stack] if segment.stack >= 0 else "")
        first = end
    return MemorySegments(
        address=np.array([segment.address for segment in segments], np.int64),
        size=np.array([segment.size for segment in segments], np.int64),
        active=np.array(used, np.int64),
        largest_free=np.array(largest_free, np.int64),
        blocks=np.array(block_counts, np.int64),
        stream=np.array([segment.stream for segment in segments], np.int64),
        kinds=tuple(clean(segment.kind) for segment in segments),
        lines=tuple(map(clean, segment_lines)),
    )


def on_lines(trace: Trace, log: AllocatorLog) -> AllocatorLog:
    """The log, with the line and row of each event in the trace."""
    track = np.full(len(log), -1, np.int32)
    event = np.full(len(log), -1, np.int32)
    orders = log.order
    row_of = None
    if (orders[1:] < orders[:-1]).any():  # events of one device are written by time, nearly always
        row_of = np.argsort(orders, kind="stable")
        orders = orders[row_of]
    last = len(orders) - 1
    for number, (process, line) in enumerate(trace.tracks()):
        if process.name != f"{log.allocator} memory" or not len(line.events):
            continue
        if not len(orders):
            continue
        records = line.events.position.astype(np.int64) - 1
        place = np.minimum(np.searchsorted(orders, records), last)
        is_logged = orders[place] == records
        place = place[is_logged]
        if row_of is not None:
            place = row_of[place]
        track[place] = number
        event[place] = np.flatnonzero(is_logged)
    return replace(log, track=track, event=event)


def _sums_after(delta: Int64s) -> Int64s:
    """What all later values add up to, for each; in the place of the values."""
    if not len(delta):
        return delta
    np.cumsum(delta, out=delta)
    return np.subtract(int(delta[-1]), delta, out=delta)

"""A memory snapshot of PyTorch as a trace: see `torch_snapshot`."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from powertui import units
from powertui.data.formats import snapshot_records
from powertui.data.formats.builder import LineEvents, TraceBuilder
from powertui.data.formats.json_stats import PairNames, clean
from powertui.data.formats.json_times import clock_of
from powertui.data.formats.registry import Progress
from powertui.data.formats.snapshot_records import (
    ALLOC,
    FREE,
    OOM,
    SEGMENT_ALLOC,
    SEGMENT_FREE,
    SEGMENT_MAP,
    SEGMENT_UNMAP,
    BlockColumns,
    Segment,
    SnapshotRecords,
    columns_of_blocks,
)
from powertui.data.formats.snapshot_stats import EventStats
from powertui.data.formats.source import OpenedFile
from powertui.data.formats.user_line import user_line
from powertui.data.formats.xplane_allocations import counters_of_log
from powertui.data.model import (
    PS_PER_US,
    Bools,
    Floats,
    Int32s,
    Int64s,
    Trace,
    UInt8s,
)
from powertui.data.model.allocations import AllocationTexts, AllocatorLog, MemorySegments
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

_MAX_DEVICES = 1000  # no machine has more
_MEMORY_TIMES = 4  # bytes of memory for each byte of a snapshot: 3.97 of the shortest records
_MAX_OOM = 20  # that are told one by one
# The lines of a device, and the actions on each.
_LINES = (
    ("allocations", (ALLOC,)),
    ("frees", (FREE,)),
    ("segments", (SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP)),
    ("out of memory", (OOM,)),
)


def load(source: OpenedFile, progress: Progress, format: str) -> Trace:
    """Read it. Raises `UnreadableFile` for a pickle that is no snapshot, or not plain data."""
    source.limit.check(source.path, _MEMORY_TIMES * source.size)
    records = SnapshotRecords(source.path)
    records.machine.progress = lambda: progress(source.done, source.size, len(records.action))
    top = records.machine.load(source.chunks())
    segments = list(records.segment_rows(top))
    devices = records.event_rows(top)
    if not segments and not any(map(len, devices)) and not snapshot_records.is_snapshot(top):
        raise UnreadableFile(
            source.path,
            "is a pickle of plain data, but not a memory snapshot of PyTorch",
            hint="Write one with torch.cuda.memory._dump_snapshot.",
        )
    return _Assembly(source, records, segments, devices, format).trace()


class _Device(NamedTuple):
    """The events of one device, by time, and what the snapshot found there at its end."""

    number: int
    rows: Int32s  # of the records
    times: Int64s  # ps
    action: UInt8s
    size: Int64s
    segments: list[Segment]
    blocks: BlockColumns


class _Assembly:
    """From the records to the trace."""

    def __init__(
        self,
        source: OpenedFile,
        records: SnapshotRecords,
        segments: list[Segment],
        devices: list[Int32s],
        format: str,
    ) -> None:
        self._records = records
        self._segments = segments
        self._devices = devices[:_MAX_DEVICES]
        self._builder = TraceBuilder(source.path, format, size=source.size)
        self._warnings = source.warnings
        self._lines = [
            user_line([records.frames[frame] for frame in stack]) for stack in records.stacks
        ]
        self._time_us = np.frombuffer(records.time_us, np.int64)
        self._action = np.frombuffer(records.action, np.uint8)
        self._size = np.frombuffer(records.size, np.int64)
        known = self._time_us[self._time_us > 0]
        self._timed = len(known) == len(self._time_us)
        if len(known):
            self._base_us = int(known.min())
        else:
            self._base_us = 0
        if not self._timed:
            self._forget_times()

    def trace(self) -> Trace:
        """The trace of all devices."""
        records = self._records
        builder = self._builder
        if self._timed and self._base_us:
            builder.clock = clock_of(float(self._base_us), None)
        elif len(records.action):
            builder.findings.add("the snapshot has no times: events are drawn one µs apart")
        builder.findings.add("records with impossible sizes were left out", "", records.damaged)
        names = PairNames()
        stats = EventStats(records)
        code_of_stack = [names.index(line, line) for line in map(_or_unknown, self._lines)]
        code_of_stack.append(names.index("no stack recorded", "no stack recorded"))
        codes = np.array(code_of_stack, np.uint32)
        stacks = np.frombuffer(records.stack, np.int32)
        logs = []
        last = self._last_device()
        for device in self._with_blocks():
            process = builder.process(f"{self._device_name(device.number)} memory", (), stats)
            for key, (label, actions) in enumerate(_LINES):
                on_line = np.isin(device.action, actions)
                rows = device.rows[on_line]
                line = LineEvents(
                    device.times[on_line],
                    np.zeros(len(rows), np.int64),
                    codes[stacks[rows]],
                    (rows + 1).astype(np.uint32),
                )
                process.add(key, label, line)
            self._tell_out_of_memory(device)
            is_last = device.number == last
            logs.append(self._log(device, is_last=is_last))
            del device, rows, on_line, line
        stats.logs = tuple(logs)
        # Columns of a large snapshot: an event takes about fifty bytes in the file, and eight in
        # each of them.
        self._devices = []
        self._forget_times()
        trace = builder.build(names, complete=True, warnings=self._warnings)
        logs = [_on_lines(trace, log) for log in logs]
        counters = tuple(counter for log in logs for counter in counters_of_log(log))
        span = trace.span
        return replace(trace, allocators=tuple(logs), counters=counters, span=span)

    def _forget_columns(self) -> None:
        """Let go of what the logs hold now."""
        self._size = np.zeros(0, np.int64)
        self._records.address = array("q")
        self._records.size = array("q")

    def _forget_times(self) -> None:
        self._time_us = np.zeros(0, np.int64)
        self._records.time_us = array("q")

    def _last_device(self) -> int:
        """The number of the last device that anything is known of."""
        with_events = [number for number, rows in enumerate(self._devices) if len(rows)]
        with_segments = [min(segment.device, _MAX_DEVICES) for segment in self._segments]
        return max([*with_events, *with_segments], default=-1)

    def _device_name(self, number: int) -> str:
        """A snapshot that PyTorch made from a profile lists the host behind the devices."""
        if self._records.categories and number == len(self._devices) - 1:
            return "CPU"
        return f"GPU {number}"

    def _with_blocks(self) -> Iterator[_Device]:
        by_device: dict[int, list[Segment]] = {}
        for segment in self._segments:
            by_device.setdefault(min(segment.device, _MAX_DEVICES), []).append(segment)
        for number in range(max([len(self._devices), *(n + 1 for n in by_device)], default=0)):
            if number < len(self._devices):
                rows = self._devices[number]
            else:
                rows = np.zeros(0, np.int32)
            segments = by_device.get(number, [])
            if not len(rows) and not segments:
                continue
            times = np.arange(len(rows), dtype=np.int64) * PS_PER_US
            if self._timed:
                times = (self._time_us[rows] - self._base_us) * PS_PER_US
                order = np.argsort(times, kind="stable")
                rows = rows[order]
                times = times[order]
            blocks = columns_of_blocks(self._records, segments)
            action = self._action[rows]
            size = self._size[rows]
            yield _Device(
                number=number,
                rows=rows,
                times=times,
                action=action,
                size=size,
                segments=segments,
                blocks=blocks,
            )

    def _tell_out_of_memory(self, device: _Device) -> None:
        """Each time that the device had no memory left, as a warning."""
        records = self._records
        failures = np.flatnonzero(device.action == OOM)
        for place in failures[:_MAX_OOM].tolist():
            row = int(device.rows[place])
            asked = units.quantity(float(device.size[place]), "B")
            at = units.instant(int(device.times[place]), PS_PER_US)
            warning = f"out of memory at {at}: {asked} were asked for"
            free = records.free.get(row, -1)
            if free >= 0:
                free_bytes = units.quantity(float(free), "B")
                warning += f", {free_bytes} were free"
            stack = records.stack[row]
            line = self._lines[stack] if stack >= 0 else ""
            if line:
                warning += f" ({line})"
            self._builder.findings.add(warning, self._device_name(device.number))

    def _log(self, device: _Device, *, is_last: bool) -> AllocatorLog:
        """The allocations of a device, those from before its first event first.

        `is_last`: no other device needs the records' columns any more.
        """
        records = self._records
        is_event = np.isin(device.action, (ALLOC, FREE))
        rows = device.rows[is_event]
        taken = device.action[is_event] == ALLOC
        blocks = device.blocks
        active = blocks.active > 0
        # Each column is put together by itself: what is made on the way is not kept.
        address = np.frombuffer(records.address, np.int64)[rows]
        before = np.flatnonzero(active & ~_is_alive(blocks.address, address, taken))
        address = np.concatenate((blocks.address[before], address))
        if is_last:
            self._forget_columns()
        size = _with_earlier(blocks.requested[before], device.size, is_event)
        in_use = int(blocks.requested[active].sum())
        allocated = _levels(in_use, size[len(before) :], taken, len(before))
        if len(device.times):
            start = int(device.times[0])
        else:
            start = 0
        log_reserved = _reserved(device, is_event, len(before))
        stack = np.frombuffer(records.stack, np.int32)[rows]
        stack = np.concatenate((blocks.stack[before].astype(np.int32), stack))
        count = len(before) + len(rows)
        impossible = (allocated < 0) | (log_reserved < 0)
        self._builder.findings.add(
            "bytes in use come out below 0, as events are missing: they are not shown",
            self._device_name(device.number),
            int(impossible.sum()),
        )
        allocated[allocated < 0] = np.nan
        log_reserved[log_reserved < 0] = np.nan
        unknown = np.broadcast_to(np.float64("nan"), count)
        none: Int32s = np.broadcast_to(np.int32(-1), count)
        pool = [clean(line) for line in [*self._lines, *records.categories]]
        return AllocatorLog(
            allocator=self._device_name(device.number),
            times=_with_earlier(np.full(len(before), start), device.times, is_event),
            taken=np.concatenate((np.ones(len(before), np.bool_), taken)),
            size=size,
            address=address,
            allocated=allocated,
            reserved=log_reserved,
            stated_free=None,
            stated_fragmentation=None,
            lifetime_peak=unknown,
            requested=unknown,
            step=np.broadcast_to(np.int64(-1), count),
            words=AllocationTexts(
                texts=tuple(pool),
                op=_known(stack, pool[: len(self._lines)]),
                region=self._regions(rows, count),
                dtype=none,
                shape=none,
            ),
            track=none,
            event=none,
            order=np.concatenate((np.full(len(before), -1, np.int32), rows)),
            segments=_segment_columns(device, self._lines),
            last_fragmentation=_fragmentation(device),
            is_timed=self._timed,
        )

    def _regions(self, rows: Int32s, count: int) -> Int32s:
        """What the last of these allocations are for, as texts behind the lines of the stacks; -1
        where the snapshot says nothing.
        """
        records = self._records
        if not records.categories:
            return np.broadcast_to(np.int32(-1), count)
        by_row = np.full(len(records.action), -1, np.int32)
        by_row[: len(records.category)] = np.frombuffer(records.category, np.int8)
        # "unknown" is a category of PyTorch's, and no answer.
        is_known = np.array([name != "unknown" for name in records.categories] + [False], np.bool_)
        by_row = np.where(is_known[by_row], by_row + np.int32(len(self._lines)), np.int32(-1))
        regions = np.full(count, -1, np.int32)
        regions[count - len(rows) :] = by_row[rows]
        return regions


def _or_unknown(line: str) -> str:
    return line or "no stack recorded"


def _known(stack: Int32s, lines: list[str]) -> Int32s:
    """The stacks whose line is known; -1 for the others."""
    known = np.array([bool(line) for line in lines] + [False], np.bool_)
    return np.where(known[stack], stack, -1).astype(np.int32)


def _sums_after(delta: Int64s) -> Int64s:
    """What all later values add up to, for each; in the place of the values."""
    if not len(delta):
        return delta
    np.cumsum(delta, out=delta)
    return np.subtract(int(delta[-1]), delta, out=delta)


def _is_alive(wanted: Int64s, address: Int64s, taken: Bools) -> Bools:
    """Which of these addresses the events leave allocated at their end."""
    _, last = np.unique(address[::-1], return_index=True)
    last = len(address) - 1 - last
    alive: Bools = np.isin(wanted, address[last[taken[last]]])
    return alive


def _with_earlier(earlier: Int64s, column: Int64s, is_event: Bools) -> Int64s:
    """Some values of a column behind others, without a copy on the way."""
    values = np.empty(len(earlier) + int(is_event.sum()), np.int64)
    values[: len(earlier)] = earlier
    np.compress(is_event, column, out=values[len(earlier) :])
    return values


def _levels(in_use: int, size: Int64s, taken: Bools, before: int) -> Floats:
    """Bytes in use after each event, counted back from the end; `before` of them lead, which were
    there at the first event.
    """
    delta = size.copy()
    np.negative(delta, out=delta, where=~taken)
    levels = np.empty(before + len(delta))
    levels[:before] = in_use - int(delta.sum())
    np.subtract(in_use, _sums_after(delta), out=levels[before:])
    return levels


def _reserved(device: _Device, is_event: Bools, before: int) -> Floats:
    """Bytes in segments after each of these events, after as many as lead as before the first."""
    sign = np.zeros(len(device.action), np.int8)
    sign[np.isin(device.action, (SEGMENT_ALLOC, SEGMENT_MAP))] = 1
    sign[np.isin(device.action, (SEGMENT_FREE, SEGMENT_UNMAP))] = -1
    delta = device.size.copy()
    delta *= sign
    end = sum(segment.size for segment in device.segments)
    at_start = end - int(delta.sum())
    levels = np.empty(before + int(is_event.sum()))
    levels[:before] = at_start
    levels[before:] = _sums_after(delta)[is_event]
    np.subtract(end, levels[before:], out=levels[before:])
    return levels


def _fragmentation(device: _Device) -> float:
    """1 - the largest free block / all that is free, as it is known after the last event."""
    free = device.blocks.size[device.blocks.active == 0]
    if not free.sum() > 0:
        return math.nan
    return 1 - float(free.max()) / float(free.sum())


def _segment_columns(device: _Device, lines: list[str]) -> MemorySegments:
    """The segments of a device as columns."""
    used = []
    largest = []
    count = []
    line = []
    at = 0
    for segment in device.segments:
        blocks = sum(len(run) for run in segment.blocks)
        active = device.blocks.active[at : at + blocks] > 0
        size = device.blocks.size[at : at + blocks]
        used.append(int(size[active].sum()))
        largest.append(int(size[~active].max(initial=0)))
        count.append(blocks)
        line.append(lines[segment.stack] if segment.stack >= 0 else "")
        at += blocks
    return MemorySegments(
        address=np.array([segment.address for segment in device.segments], np.int64),
        size=np.array([segment.size for segment in device.segments], np.int64),
        active=np.array(used, np.int64),
        largest_free=np.array(largest, np.int64),
        blocks=np.array(count, np.int64),
        stream=np.array([segment.stream for segment in device.segments], np.int64),
        kinds=tuple(clean(segment.kind) for segment in device.segments),
        lines=tuple(clean(each) for each in line),
    )


def _on_lines(trace: Trace, log: AllocatorLog) -> AllocatorLog:
    """The log, with the line and row of each event in the trace."""
    track = np.full(len(log), -1, np.int32)
    event = np.full(len(log), -1, np.int32)
    orders = log.order
    row_of = None
    if (orders[1:] < orders[:-1]).any():  # events of one device are written by time, nearly always
        row_of = np.argsort(orders, kind="stable")
        orders = orders[row_of]
    for number, (process, line) in enumerate(trace.tracks()):
        if process.name != f"{log.allocator} memory" or not len(line.events):
            continue
        wanted = line.events.position.astype(np.int64) - 1
        if not len(orders):
            continue
        place = np.minimum(np.searchsorted(orders, wanted), len(orders) - 1)
        is_found = orders[place] == wanted
        place = place[is_found]
        if row_of is not None:
            place = row_of[place]
        track[place] = number
        event[place] = np.flatnonzero(is_found)
    return replace(log, track=track, event=event)

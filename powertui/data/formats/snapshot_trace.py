"""A memory snapshot of PyTorch as a trace: see `torch_snapshot`."""

from __future__ import annotations

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
from powertui.data.formats.snapshot_columns import (
    DeviceEvents,
    fragmentation,
    is_alive,
    levels_in_use,
    levels_reserved,
    on_lines,
    segment_columns,
    stacks_with_lines,
    with_earlier,
)
from powertui.data.formats.snapshot_records import (
    ALLOC,
    FREE,
    OOM,
    SEGMENT_ALLOC,
    SEGMENT_FREE,
    SEGMENT_MAP,
    SEGMENT_UNMAP,
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
    Counter,
    Int32s,
    Trace,
)
from powertui.data.model.allocations import AllocationTexts, AllocatorLog
from powertui.errors import UnreadableFile

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

    def report_progress() -> None:
        progress(source.done, source.size, len(records.action))

    records.machine.progress = report_progress
    top = records.machine.load(source.chunks())
    segments = list(records.segment_rows(top))
    devices = records.event_rows(top)
    is_empty = not segments and not any(map(len, devices))
    if is_empty and not snapshot_records.is_snapshot(top):
        raise UnreadableFile(
            source.path,
            "is a pickle of plain data, but not a memory snapshot of PyTorch",
            hint="Write one with torch.cuda.memory._dump_snapshot.",
        )
    return _Assembly(source, records, segments, devices, format).trace()


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
        names_of_stacks = list(map(_or_unknown, self._lines))
        names_of_stacks.append("no stack recorded")
        code_of_stack = [names.index(name, name) for name in names_of_stacks]
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
        placed_logs = []
        counters: list[Counter] = []
        for log in logs:
            placed_log = on_lines(trace, log)
            placed_logs.append(placed_log)
            counters += counters_of_log(placed_log)
        return replace(
            trace,
            allocators=tuple(placed_logs),
            counters=tuple(counters),
            span=trace.span,
        )

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
        last = -1
        for number, rows in enumerate(self._devices):
            if len(rows):
                last = number
        for segment in self._segments:
            last = max(last, min(segment.device, _MAX_DEVICES))
        return last

    def _device_name(self, number: int) -> str:
        """A snapshot that PyTorch made from a profile lists the host behind the devices."""
        if self._records.categories and number == len(self._devices) - 1:
            return "CPU"
        return f"GPU {number}"

    def _with_blocks(self) -> Iterator[DeviceEvents]:
        by_device: dict[int, list[Segment]] = {}
        for segment in self._segments:
            number = min(segment.device, _MAX_DEVICES)
            by_device.setdefault(number, []).append(segment)
        device_count = max(len(self._devices), max(by_device, default=-1) + 1)
        for number in range(device_count):
            if number < len(self._devices):
                rows = self._devices[number]
            else:
                rows = np.zeros(0, np.int32)
            segments = by_device.get(number, [])
            if not len(rows) and not segments:
                continue
            times = np.arange(len(rows), dtype=np.int64) * PS_PER_US
            if self._timed:
                since_base_us = self._time_us[rows] - self._base_us
                times = since_base_us * PS_PER_US
                order = np.argsort(times, kind="stable")
                rows = rows[order]
                times = times[order]
            yield DeviceEvents(
                number=number,
                rows=rows,
                times=times,
                action=self._action[rows],
                size=self._size[rows],
                segments=segments,
                blocks=columns_of_blocks(self._records, segments),
            )

    def _tell_out_of_memory(self, device: DeviceEvents) -> None:
        """Each time that the device had no memory left, as a warning."""
        records = self._records
        device_name = self._device_name(device.number)
        failures = np.flatnonzero(device.action == OOM)
        for place in failures[:_MAX_OOM].tolist():
            row = int(device.rows[place])
            asked_bytes = float(device.size[place])
            asked = units.quantity(asked_bytes, "B")
            moment = units.instant(int(device.times[place]), PS_PER_US)
            warning = f"out of memory at {moment}: {asked} were asked for"
            free_bytes = records.free.get(row, -1)
            if free_bytes >= 0:
                free = units.quantity(float(free_bytes), "B")
                warning += f", {free} were free"
            stack = records.stack[row]
            line = self._lines[stack] if stack >= 0 else ""
            if line:
                warning += f" ({line})"
            self._builder.findings.add(warning, device_name)

    def _log(self, device: DeviceEvents, *, is_last: bool) -> AllocatorLog:
        """The allocations of a device, those from before its first event first.

        `is_last`: no other device needs the records' columns any more.
        """
        records = self._records
        device_name = self._device_name(device.number)
        is_event = np.isin(device.action, (ALLOC, FREE))
        rows = device.rows[is_event]
        taken = device.action[is_event] == ALLOC
        blocks = device.blocks
        active = blocks.active > 0
        # Each column is put together by itself: what is made on the way is not kept.
        address = np.frombuffer(records.address, np.int64)[rows]
        is_older = active & ~is_alive(blocks.address, address, taken)
        before = np.flatnonzero(is_older)
        before_count = len(before)
        address = np.concatenate((blocks.address[before], address))
        if is_last:
            self._forget_columns()
        size = with_earlier(blocks.requested[before], device.size, is_event)
        in_use = int(blocks.requested[active].sum())
        allocated = levels_in_use(in_use, size[before_count:], taken, before_count)
        start = int(device.times[0]) if len(device.times) else 0
        reserved = levels_reserved(device, is_event, before_count)
        stack = np.frombuffer(records.stack, np.int32)[rows]
        stack = np.concatenate((blocks.stack[before].astype(np.int32), stack))
        count = before_count + len(rows)
        impossible = (allocated < 0) | (reserved < 0)
        self._builder.findings.add(
            "bytes in use come out below 0, as events are missing: they are not shown",
            device_name,
            int(impossible.sum()),
        )
        allocated[allocated < 0] = np.nan
        reserved[reserved < 0] = np.nan
        unknown = np.broadcast_to(np.float64("nan"), count)
        none: Int32s = np.broadcast_to(np.int32(-1), count)
        pool = [clean(line) for line in (*self._lines, *records.categories)]
        lines = pool[: len(self._lines)]
        starts = np.full(before_count, start)
        was_taken = np.ones(before_count, np.bool_)
        no_order = np.full(before_count, -1, np.int32)
        return AllocatorLog(
            allocator=device_name,
            times=with_earlier(starts, device.times, is_event),
            taken=np.concatenate((was_taken, taken)),
            size=size,
            address=address,
            allocated=allocated,
            reserved=reserved,
            stated_free=None,
            stated_fragmentation=None,
            lifetime_peak=unknown,
            requested=unknown,
            step=np.broadcast_to(np.int64(-1), count),
            words=AllocationTexts(
                texts=tuple(pool),
                op=stacks_with_lines(stack, lines),
                region=self._regions(rows, count),
                dtype=none,
                shape=none,
            ),
            track=none,
            event=none,
            order=np.concatenate((no_order, rows)),
            segments=segment_columns(device, self._lines),
            last_fragmentation=fragmentation(device),
            is_timed=self._timed,
        )

    def _regions(self, rows: Int32s, count: int) -> Int32s:
        """What the last of these allocations are for, as texts behind the lines of the stacks; -1
        where the snapshot says nothing.
        """
        records = self._records
        if not records.categories:
            return np.broadcast_to(np.int32(-1), count)
        category_count = len(records.category)
        by_row = np.full(len(records.action), -1, np.int32)
        by_row[:category_count] = np.frombuffer(records.category, np.int8)
        # "unknown" is a category of PyTorch's, and no answer.
        is_known = [name != "unknown" for name in records.categories]
        is_known.append(False)  # of rows without a category
        is_known_row = np.array(is_known, np.bool_)[by_row]
        text_of_row = by_row + np.int32(len(self._lines))
        by_row = np.where(is_known_row, text_of_row, np.int32(-1))
        regions = np.full(count, -1, np.int32)
        regions[count - len(rows) :] = by_row[rows]
        return regions


def _or_unknown(line: str) -> str:
    return line or "no stack recorded"

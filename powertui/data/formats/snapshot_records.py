"""The records of PyTorch's memory snapshots, as columns.

torch/cuda/_memory_viz.py describes them:

    snapshot  segments, device_traces (a list of events for each device)
    segment   device, address, total_size, stream, segment_type, blocks, frames
    block     address, size, requested_size, state, frames; older ones: history
    event     action, addr, size, stream, time_us (newer), device_free (of "oom"), frames,
              category (of those that PyTorch makes from a profile)
    frame     filename, line, name; of those made from a profile all of it is in the name

Dicts and lists are folded into these columns as they close, so that a snapshot of a gigabyte takes
no more than some gigabytes.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from powertui.data.formats.pickle_containers import FoldedAway, ItemList, items_of
from powertui.data.formats.plain_pickle import PlainPickle
from powertui.data.formats.stat_columns import wrap
from powertui.data.model import Floats, Int32s, Int64s
from powertui.named_tuples import NamedTuple

# What events do, by the allocator's words. `free_requested` comes before `free_completed`, when no
# stream uses the memory any more.
_ACTIONS = (
    "alloc",
    "free_completed",
    "free_requested",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
    "oom",
    "snapshot",
)
ALLOC, FREE, FREE_REQUESTED, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP, OOM, _ = (
    range(9)
)
_OTHER_ACTION = len(_ACTIONS)
_ACTION_NUMBERS = {action: number for number, action in enumerate(_ACTIONS)}
_MAX_BYTES = 1 << 60  # more than any device has
_MAX_CATEGORIES = 100  # PyTorch has eight of them; a number of one takes a byte
# The frames of a snapshot that PyTorch makes from a profile have no file: "train.py(31): step".
_NO_FILE = "none"
_CALL_OF_PROFILE = re.compile(r"(?P<file>.+)\((?P<line>\d{1,9})\): (?P<function>.*)", re.DOTALL)
_ADDRESS = re.compile(r"(?<=\S) at 0x[0-9a-fA-F]+(?=>)")
_NOTHING = -1
_NO_TIME = -1


class StackFrame(NamedTuple):
    """One call of a stack."""

    file: str
    line: int
    function: str


class Segment(NamedTuple):
    """Memory that the allocator reserved in one piece."""

    device: int
    address: int
    size: int
    stream: int
    kind: str  # "small", "large"
    blocks: tuple[range, ...]  # rows of the blocks
    stack: int


class _Rows(FoldedAway):
    """Records in a list, row by row."""

    __slots__ = ("start", "stop")

    def __init__(self, row: int) -> None:
        self.start = row
        self.stop = row + 1

    @property
    def rows(self) -> range:
        return range(self.start, self.stop)


class _Event(_Rows):
    """Events."""

    __slots__ = ()


class _Block(_Rows):
    """Blocks."""

    __slots__ = ()


class _SegmentRow(_Rows):
    """Segments."""

    __slots__ = ()


class _Reference(FoldedAway):
    """A frame or a stack, by its number; many records refer to the same."""

    __slots__ = ("number",)
    shared = True

    def __init__(self, number: int) -> None:
        self.number = number


class _FrameReference(_Reference):
    __slots__ = ()


class _StackReference(_Reference):
    __slots__ = ()


class SnapshotRecords:
    """Everything that a snapshot holds, as it comes (`plain_pickle.Folding`)."""

    def __init__(self, path: str) -> None:
        self.machine = PlainPickle(path, self)
        self.frames: list[StackFrame] = []
        self.stacks: list[tuple[int, ...]] = []  # the frames of each, the innermost first
        self.action = array("B")
        self.address = array("q")
        self.size = array("q")
        self.time_us = array("q")
        self.free: dict[int, int] = {}  # bytes that were free, by row: of those that ran out
        self.stack = array("i")
        self.category = array("b")  # by row, up to the last event that has one
        self.categories: list[str] = []
        self.block_address = array("q")
        self.block_size = array("q")
        self.block_requested = array("q")
        self.block_active = array("B")
        self.block_stack = array("i")
        self.segments: list[Segment] = []
        self.damaged = 0  # records that say impossible things
        self._no_stack = _StackReference(_NOTHING)
        self._frame_numbers: dict[StackFrame, _FrameReference] = {}
        self._stack_numbers: dict[tuple[int, ...], _StackReference] = {}

    # ── folding ──

    def dict_closed(self, items: dict[Any, Any]) -> Any:
        """A record as a row of its columns; other dicts as they are."""
        if "action" in items:
            return self._event(items)
        if "filename" in items and "line" in items:
            return self._frame(items)
        if "state" in items and "size" in items:
            return self._block(items)
        if "total_size" in items and "blocks" in items:
            return self._segment(items)
        return items

    def items_closed(self, items: list[Any]) -> list[Any]:
        """Rows of one kind that follow each other, as one."""
        if not isinstance(items[0] if items else None, _Rows):
            return items
        kept: list[Any] = []
        last: Any = None
        for item in items:
            if isinstance(item, _Rows) and type(item) is type(last) and item.start == last.stop:
                last.stop = item.stop
                continue
            kept.append(item)
            last = item
        return kept

    def _event(self, items: dict[Any, Any]) -> FoldedAway:
        row = len(self.action)
        size = _bytes(items.get("size"))
        action = _ACTION_NUMBERS.get(_text(items.get("action")), _OTHER_ACTION)
        if size == _NOTHING and action != _OTHER_ACTION:
            action, size = _OTHER_ACTION, 0
            self.damaged += 1
        self.action.append(action)
        self.address.append(_address(items.get("addr", items.get("address"))))
        self.size.append(size)
        self.time_us.append(_time(items.get("time_us")))
        if "device_free" in items:
            self.free[row] = _bytes(items["device_free"])
        if "category" in items:
            self._add_category(row, _text(items["category"]))
        self.stack.append(self._stack(items.get("frames")))
        return _Event(row)

    def _add_category(self, row: int, category: str) -> None:
        """What an allocation is for, by the profile that the snapshot was made from."""
        if category not in self.categories and len(self.categories) < _MAX_CATEGORIES:
            self.categories.append(category)
        rows_without = row - len(self.category)
        self.category.extend([_NOTHING] * rows_without)
        number = _NOTHING
        if category in self.categories:
            number = self.categories.index(category)
        self.category.append(number)

    def _block(self, items: dict[Any, Any]) -> FoldedAway:
        row = len(self.block_size)
        size = _bytes(items.get("size"))
        if size == _NOTHING:
            size = 0
            self.damaged += 1
        self.block_size.append(size)
        self.block_address.append(_address(items.get("address")))
        self.block_requested.append(_bytes(items.get("requested_size")))
        self.block_active.append(_text(items.get("state")).startswith("active"))
        frames = items.get("frames")
        history = items.get("history")
        if frames is None and isinstance(history, ItemList) and history.items:
            frames = items_of(history.items[0]).get("frames")
        self.block_stack.append(self._stack(frames))
        return _Block(row)

    def _segment(self, items: dict[Any, Any]) -> FoldedAway:
        row = len(self.segments)
        size = _bytes(items.get("total_size"))
        if size == _NOTHING:
            size = 0
            self.damaged += 1
        blocks = items.get("blocks")
        rows = blocks.items if isinstance(blocks, ItemList) else []
        self.segments.append(
            Segment(
                device=max(0, _integer(items.get("device"))),
                address=_address(items.get("address")),
                size=size,
                stream=_integer(items.get("stream")),
                kind=_text(items.get("segment_type")),
                blocks=tuple(item.rows for item in rows if isinstance(item, _Block)),
                stack=self._stack(items.get("frames")),
            )
        )
        return _SegmentRow(row)

    def _frame(self, items: dict[Any, Any]) -> FoldedAway:
        frame = StackFrame(
            _text(items["filename"]),
            _integer(items["line"]),
            _text(items.get("name")),
        )
        if frame.file == _NO_FILE and not frame.line:
            frame = _frame_of_profile(frame.function)
        reference = self._frame_numbers.get(frame)
        if reference is None:
            reference = _FrameReference(len(self.frames))
            self._frame_numbers[frame] = reference
            self.frames.append(frame)
        return reference

    def _stack(self, value: Any) -> int:
        """The number of a list of frames; -1 for none."""
        if isinstance(value, _StackReference):
            return value.number
        if not isinstance(value, ItemList):
            return _NOTHING
        if not value.items:
            self.machine.forget(value, self._no_stack)
            return _NOTHING
        numbers = tuple(item.number for item in value.items if isinstance(item, _FrameReference))
        reference = self._stack_numbers.get(numbers)
        if reference is None:
            reference = _StackReference(len(self.stacks))
            self._stack_numbers[numbers] = reference
            self.stacks.append(numbers)
        self.machine.forget(value, reference)
        return reference.number

    # ── the whole ──

    def segment_rows(self, top: Any) -> Iterator[Segment]:
        """The segments of the snapshot: of its own list, or of a bare list of segments."""
        listed = top
        if not isinstance(top, ItemList):
            listed = items_of(top).get("segments")
        for rows in _runs(listed, _SegmentRow):
            yield from self.segments[rows.start : rows.stop]

    def event_rows(self, top: Any) -> list[Int32s]:
        """The rows of the events of each device, in their order: no file holds 2³¹ of them."""
        traces = items_of(top).get("device_traces")
        if not isinstance(traces, ItemList):
            return []
        devices = []
        left = len(self.action)  # no event is listed twice
        for listed in traces.items:
            rows = [np.zeros(0, np.int32)]
            for run in _runs(listed, _Event):
                rows.append(np.arange(run.start, run.stop, dtype=np.int32))
                left -= len(run)
            if left < 0:
                break
            devices.append(np.concatenate(rows))
        return devices


def is_snapshot(top: Any) -> bool:
    """Whether this is what a snapshot is at its top, even where nothing is in it."""
    items = items_of(top)
    return "segments" in items and "device_traces" in items


def columns_of_blocks(records: SnapshotRecords, segments: Sequence[Segment]) -> BlockColumns:
    """The blocks of these segments, in their order."""
    parts = [np.zeros(0, np.int64)]
    addresses = [np.zeros(0, np.int64)]
    for segment in segments:
        runs = [np.arange(run.start, run.stop, dtype=np.int64) for run in segment.blocks]
        parts += runs
        addresses.append(_block_addresses(records, segment, runs))
    rows = np.concatenate(parts)
    size = np.frombuffer(records.block_size, np.int64)[rows]
    requested = np.frombuffer(records.block_requested, np.int64)[rows]
    active = np.frombuffer(records.block_active, np.uint8)[rows]
    stack = np.frombuffer(records.block_stack, np.int32)[rows]
    return BlockColumns(
        address=np.concatenate(addresses),
        size=size,
        requested=np.where(requested >= 0, requested, size),
        active=active.astype(np.float64),
        stack=stack.astype(np.int64),
    )


def _block_addresses(records: SnapshotRecords, segment: Segment, runs: Sequence[Int64s]) -> Int64s:
    """Where the blocks of a segment begin.

    Older snapshots, and those made from a profile, have no addresses: the blocks of a segment
    follow each other.
    """
    rows = np.concatenate([np.zeros(0, np.int64), *runs])
    address: Int64s = np.frombuffer(records.block_address, np.int64)[rows]
    if not address.any():
        size = np.frombuffer(records.block_size, np.int64)[rows]
        address = segment.address + np.cumsum(size) - size
    return address


class BlockColumns(NamedTuple):
    """Pieces of a segment."""

    address: Int64s
    size: Int64s
    requested: Int64s  # bytes that were asked for; the size where that is not known
    active: Floats  # 1: in use
    stack: Int64s


def _runs(listed: Any, kind: type[_Rows]) -> Iterator[range]:
    if not isinstance(listed, ItemList):
        return
    for item in listed.items:
        if isinstance(item, kind):
            yield item.rows


def _frame_of_profile(call: str) -> StackFrame:
    """A call as the profiler writes it: "train.py(31): step", or one of C without its address."""
    match = _CALL_OF_PROFILE.fullmatch(call)
    if match is None:
        function = _ADDRESS.sub("", call)
        return StackFrame("", 0, function)
    return StackFrame(
        match["file"],
        int(match["line"]),
        match["function"],
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _integer(value: Any) -> int:
    """A whole number that fits a column; -1 for all else."""
    if isinstance(value, int) and -(1 << 62) < value < 1 << 62:
        return int(value)
    return -1


def _bytes(value: Any) -> int:
    """A number of bytes; -1 for what cannot be one."""
    if isinstance(value, int) and 0 <= value < _MAX_BYTES:
        return value
    return _NOTHING


def _address(value: Any) -> int:
    return wrap(value) if isinstance(value, int) else 0


def _time(value: Any) -> int:
    if isinstance(value, float) and abs(value) < 1e17:
        number = int(value)
    else:
        number = _integer(value)
    return number if number > 0 else _NO_TIME

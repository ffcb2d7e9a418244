"""Events of Chrome-like JSON traces, by thread."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from powertui.data.formats import stat_columns
from powertui.data.formats.builder import LineEvents
from powertui.data.formats.file_warnings import LineQuota
from powertui.data.formats.pairing import pair
from powertui.data.model import (
    Int32s,
    Int64s,
    UInt8s,
    UInt32s,
    UInt64s,
)
from powertui.data.sorted_columns import numbered

__all__ = [
    "BEGINS",
    "ENDS",
    "OPEN_DURATION",
    "LeftOut",
    "ThreadEvents",
    "distinct_rows",
    "give_to_threads",
    "thread_number",
]

BEGINS, ENDS = 1, 2  # marks of `give_to_threads`
OPEN_DURATION = -(1 << 62)  # the duration of a begin that waits for its end
_RADIX_THREADS = 1 << 16  # numpy sorts 16-bit numbers with a radix sort


def thread_number(tid: Any) -> int:
    """A number for any tid: Chrome traces name threads by text, too."""
    if isinstance(tid, int):
        if -(1 << 63) <= tid < 1 << 63:
            return tid
        return stat_columns.wrap(tid)
    text = str(tid)
    if text.isdecimal() and text.isascii() and len(text) < 18:
        return int(text)
    return zlib.crc32(text.encode("utf-8", "replace"))


class ThreadEvents:
    """The events of one (pid, tid) as they come: ps from the trace's `Origin`."""

    def __init__(self) -> None:
        self.start = array("q")
        self.duration = array("q")
        self.name = array("I")
        self.position = array("Q")
        self.marks = array("q")  # begins (their rows) and ends (-1) in the order of the file
        self.ends = array("q")  # the times of those ends
        # Known once `line` was called.
        self.stray = 0  # ends without a begin
        self.unclosed = 0  # begins without an end
        self.label = ""

    def __len__(self) -> int:
        return len(self.start)

    def add(self, start: int, duration: int, name: int, position: int) -> None:
        """One event."""
        self.start.append(start)
        self.duration.append(duration)
        self.name.append(name)
        self.position.append(position)

    def extend(self, start: Int64s, duration: Int64s, name: UInt32s, position: UInt64s) -> None:
        """Several events at once."""
        self.start.frombytes(start.tobytes())
        self.duration.frombytes(duration.tobytes())
        self.name.frombytes(name.tobytes())
        self.position.frombytes(position.tobytes())

    def begin(self) -> None:
        """The last event waits for its end."""
        self.marks.append(len(self) - 1)

    def end(self, at: int) -> None:
        """The last event that waits ends."""
        self.marks.append(-1)
        self.ends.append(at)

    def _fill_durations(self, start: Int64s, duration: Int64s) -> None:
        """The durations of begins that have an end."""
        marks = np.array(self.marks, np.int64)
        ends = np.array(self.ends, np.int64)
        is_begin = marks >= 0
        paired = pair(is_begin)
        closed = paired.end >= 0
        self.stray = paired.stray
        self.unclosed = int((~closed).sum())
        begin_marks = paired.begin[closed]
        end_marks = paired.end[closed]
        rows = marks[begin_marks]
        end_number = np.cumsum(~is_begin) - 1  # the index into `ends` of each mark
        end = ends[end_number[end_marks]]
        duration[rows] = np.maximum(end - start[rows], 0)

    def span(self) -> tuple[int, int]:
        """When the first of them begins and the last one ends, ps from the origin."""
        start = np.array(self.start, np.int64)
        end = start + np.array(self.duration, np.int64)
        return int(start.min()), int(end.max())

    def line(self, shift_ps: int, last_ps: int, *, final: bool) -> LineEvents:
        """The events as columns, counted from `shift_ps`.

        Begins without an end last until `last_ps`. `final`: no more events will come, and the
        columns are given away.
        """
        arrays = (self.start, self.duration, self.name, self.position)
        kinds = (np.int64, np.int64, np.uint32, np.uint64)
        start, duration, name, position = (
            np.frombuffer(column, kind) if final else np.array(column, kind)
            for column, kind in zip(arrays, kinds, strict=True)
        )
        if self.marks:
            self._fill_durations(start, duration)
        if final:
            self.start = array("q")
            self.duration = array("q")
            self.name = array("I")
            self.position = array("Q")
            self.marks = array("q")
            self.ends = array("q")
        open_rows = np.flatnonzero(duration == OPEN_DURATION)
        duration[open_rows] = np.maximum(last_ps - start[open_rows], 0)
        # TensorFlow's writer makes 1 ps of a duration of 0. No profiler's clock resolves 1 ps.
        duration[duration == 1] = 0
        if shift_ps:
            start -= shift_ps
        return LineEvents(start, duration, name, position)


class LeftOut(ThreadEvents):
    """Stands for every thread that is not read: its events are counted in `quota` and forgotten."""

    def __init__(self, quota: LineQuota) -> None:
        super().__init__()
        self._quota = quota

    def add(self, start: int, duration: int, name: int, position: int) -> None:
        """One event."""
        self._quota.left_out += 1

    def begin(self) -> None:
        """Nothing waits here."""

    def end(self, at: int) -> None:
        """Nothing ends here."""


def give_to_threads(
    threads: Sequence[ThreadEvents | None],
    thread_of: Int64s,
    *,
    start: Int64s,
    duration: Int64s,
    name: UInt32s,
    position: UInt64s,
    marks: UInt8s | None = None,
) -> None:
    """Give each thread its events of a batch, in their order.

    `thread_of` is the index into `threads` of each event; events of no thread (None) are dropped.
    `marks` says which events are begins and ends (B, E).
    """
    sort_key = thread_of
    if len(threads) < _RADIX_THREADS:
        sort_key = thread_of.astype(np.uint16)
    order = np.argsort(sort_key, kind="stable")
    thread_edges = np.arange(len(threads) + 1)
    bounds = np.searchsorted(thread_of[order], thread_edges).tolist()
    for thread, (lo, hi) in zip(threads, pairwise(bounds), strict=True):
        if thread is None or isinstance(thread, LeftOut):
            continue
        rows = order[lo:hi]
        if marks is not None and marks[rows].any():
            thread_marks = marks[rows]
            drawn = thread_marks != ENDS
            thread_row = len(thread) + np.cumsum(drawn) - 1
            mark_rows = np.where(drawn, thread_row, -1)
            is_mark = thread_marks > 0
            end_rows = rows[~drawn]
            thread.marks.frombytes(mark_rows[is_mark].tobytes())
            thread.ends.frombytes(start[end_rows].tobytes())
            rows = rows[drawn]
        thread.extend(
            start[rows],
            duration[rows],
            name[rows],
            position[rows],
        )


def distinct_rows(*columns: Int64s | Int32s) -> tuple[list[tuple[int, ...]], Int64s]:
    """(each combination of the columns once, the index of every row's combination)."""
    row_codes = _row_codes(columns)
    if row_codes is None:
        return _distinct_by_sorting(columns)
    code, size = row_codes
    last = len(code) - 1
    # Written from the last row to the first, so that the first row of each code stays.
    first_row = np.full(size, -1, np.int64)
    first_row[code[::-1]] = np.arange(last, -1, -1)
    occurs = first_row >= 0
    number = np.cumsum(occurs) - 1
    combinations = _combinations(columns, first_row[occurs])
    return combinations, number[code]


def _combinations(columns: Sequence[Int64s | Int32s], rows: Int64s) -> list[tuple[int, ...]]:
    cells = [column[rows].tolist() for column in columns]
    return list(zip(*cells, strict=True))


def _row_codes(columns: Sequence[Int64s | Int32s]) -> tuple[Int64s, int] | None:
    """(the combination of each row as one number, its limit); None where a table is too large."""
    rows = len(columns[0])
    if not rows:
        return None
    code = np.zeros(rows, np.int64)
    size = 1
    for column in columns:
        least = int(column.min())
        width = int(column.max()) - least + 1
        size *= width
        if size > 16 * rows + 1024:  # then sorting is cheaper; chosen, not measured
            return None
        code = code * width + (column - least)
    return code, size


def _distinct_by_sorting(
    columns: Sequence[Int64s | Int32s],
) -> tuple[list[tuple[int, ...]], Int64s]:
    number = np.zeros(len(columns[0]), np.int64)  # of the combination of the columns so far
    first_row = number[:1]
    for column in columns:
        code = number << 32 | (column.astype(np.int64) + 1)
        number, first_row = numbered(code)
    return _combinations(columns, first_row), number

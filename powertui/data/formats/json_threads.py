"""Events of Chrome-like JSON traces, by thread."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from powertui.data.formats import stat_columns
from powertui.data.formats.builder import LineEvents, LineQuota
from powertui.data.formats.pairing import pair
from powertui.data.model import (
    Int32s,
    Int64s,
    UInt8s,
    UInt32s,
    UInt64s,
)

__all__ = ["BEGINS", "ENDS", "OPEN_DURATION", "LeftOut", "ThreadEvents", "distinct_rows", "thread_number", "give_to_threads"]

BEGINS, ENDS = 1, 2  # of `spread`
OPEN_DURATION = -(1 << 62)  # the duration of a begin that waits for its end


def thread_number(tid: Any) -> int:
    """A number for any tid: Chrome traces name threads by text, too."""
    if isinstance(tid, int):
        return tid if -(1 << 63) <= tid < 1 << 63 else stat_columns.wrap(tid)
    text = str(tid)
    return (
        int(text)
        if text.isdecimal() and text.isascii() and len(text) < 18
        else zlib.crc32(text.encode("utf-8", "replace"))
    )


class ThreadEvents:
    """The events of one (pid, tid) as they come: ps from the trace's `Origin`."""

    def __init__(self) -> None:
        self.start, self.duration = array("q"), array("q")
        self.name, self.position = array("I"), array("Q")
        self.marks, self.ends = (
            array("q"),
            array("q"),
        )  # begins (their rows) and ends (-1) as they came, and when those ended
        self.stray = self.left = (
            0  # ends without a begin, begins without an end: known once `line` was asked
        )
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
        """Many."""
        self.start.frombytes(start.tobytes())
        self.duration.frombytes(duration.tobytes())
        self.name.frombytes(name.tobytes())
        self.position.frombytes(position.tobytes())

    def begin(self) -> None:
        """The last event waits for its end."""
        self.marks.append(len(self) - 1)

    def end(self, at: int) -> None:
        """The last one that waits ends."""
        self.marks.append(-1)
        self.ends.append(at)

    def _paired(self, start: Int64s, duration: Int64s) -> None:
        """Durations of what began and ended."""
        marks, ends = np.array(self.marks, np.int64), np.array(self.ends, np.int64)
        found = pair(marks >= 0)
        self.stray, self.left = found.stray, int((found.end < 0).sum())
        closed = found.end >= 0
        rows = marks[found.begin[closed]]
        number = np.cumsum(marks < 0) - 1  # of each end among `ends`
        duration[rows] = np.maximum(ends[number[found.end[closed]]] - start[rows], 0)

    def line(self, shift_ps: int, last_ps: int, *, final: bool) -> LineEvents:
        """The events as columns. `shift_ps`: the trace's zero; what still waits for its end lasts
        until `last_ps`.

        `final`: no more of them will come, and the columns are given away.
        """
        arrays = (self.start, self.duration, self.name, self.position)
        kinds = (np.int64, np.int64, np.uint32, np.uint64)
        start, duration, name, position = (
            np.frombuffer(column, kind) if final else np.array(column, kind)
            for column, kind in zip(arrays, kinds, strict=True)
        )
        if self.marks:
            self._paired(start, duration)
        if final:
            self.start, self.duration, self.name, self.position = (
                array("q"),
                array("q"),
                array("I"),
                array("Q"),
            )
            self.marks, self.ends = array("q"), array("q")
        waits = np.flatnonzero(duration == OPEN_DURATION)
        duration[waits] = np.maximum(last_ps - start[waits], 0)
        # TensorFlow's writer makes 1 ps of a duration of nothing. No clock of a profiler resolves 1
        # ps.
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
    threads: Sequence[ThreadEvents],
    which: Int64s,
    start: Int64s,
    duration: Int64s,
    name: UInt32s,
    position: UInt64s,
    marks: UInt8s | None = None,
) -> None:
    """Give each thread its events of a batch, in their order; `which` counts `threads`, `marks`
    tells begins and ends (B, E).
    """
    order = np.argsort(
        which.astype(np.uint16) if len(threads) < 1 << 16 else which, kind="stable"
    )  # of short numbers a radix sort
    bounds = np.searchsorted(which[order], np.arange(len(threads) + 1))
    for thread, lo, hi in zip(threads, bounds.tolist()[:-1], bounds.tolist()[1:], strict=True):
        if isinstance(thread, LeftOut):
            continue
        rows = order[lo:hi]
        if marks is not None and (mine := marks[rows]).any():
            drawn = mine != ENDS
            row = len(thread) + np.cumsum(drawn) - 1
            thread.marks.frombytes(np.where(drawn, row, -1)[mine > 0].tobytes())
            thread.ends.frombytes(start[rows[~drawn]].tobytes())
            rows = rows[drawn]
        thread.extend(start[rows], duration[rows], name[rows], position[rows])


def distinct_rows(*columns: Int64s | Int32s) -> tuple[list[tuple[int, ...]], Int64s]:
    """Each combination once, and which of them every row has."""
    together = _one_number(columns)
    if together is not None:
        code, size = together
        first_row = np.full(size, -1, np.int64)
        first_row[code[::-1]] = np.arange(len(code) - 1, -1, -1)
        there = first_row >= 0
        first = first_row[there]
        number = np.cumsum(there) - 1
        return list(zip(*(column[first].tolist() for column in columns), strict=True)), number[code]
    return _sorted(columns)


def _one_number(columns: Sequence[Int64s | Int32s]) -> tuple[Int64s, int] | None:
    """The combination of each row as one number below a limit; None where that would be large."""
    rows = len(columns[0])
    code, size = np.zeros(rows, np.int64), 1
    for column in columns if rows else ():
        least = int(column.min())
        width = int(column.max()) - least + 1
        size *= width
        if size > 16 * rows + 1024:
            return None
        code = code * width + (column - least)
    return (code, size) if rows else None


def _sorted(columns: Sequence[Int64s | Int32s]) -> tuple[list[tuple[int, ...]], Int64s]:
    which = np.zeros(len(columns[0]), np.int64)
    first = which[:1]
    for column in columns:
        code = which << 32 | (column.astype(np.int64) + 1)
        order = np.argsort(code, kind="stable")
        new = np.ones(len(order), np.bool_)
        new[1:] = np.diff(code[order]) != 0
        which = np.empty(len(order), np.int64)
        which[order] = np.cumsum(new) - 1
        first = order[new]
    return list(zip(*(column[first].tolist() for column in columns), strict=True)), which

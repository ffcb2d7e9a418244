"""Which event each moment of a PyTorch thread belongs to.

PyTorch records a thread twice: its operators and calls on one line, the Python frames around them
on another. An operator runs inside the frame that called it, so two lines that are counted one by
one count its time twice. Here both lines are one thread, and each moment of it belongs to one
event: of those that run, the one that began last.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping

import numpy as np

from powertui.data import wire
from powertui.data.model import Int64s, Process, ProcessKind, Trace, Track
from powertui.data.window import touches
from powertui.named_tuples import NamedTuple

FRAME_LINE_SUFFIX = " Python"  # "thread 7 (python) Python" holds the frames of "thread 7 (python)"

_THREADS: weakref.WeakKeyDictionary[Track, FramedThread] = weakref.WeakKeyDictionary()


class EventTimes(NamedTuple):
    """Events of a window: the name of each, its length there, and its self time."""

    name: Int64s
    total: Int64s
    self_time: Int64s


class FramedThread:
    """The events of a thread by start, and a list of stretches that each belong to one event."""

    def __init__(self, frames: Track, calls: tuple[Track, ...]) -> None:
        lines = [frames.events, *(line.events for line in calls)]
        start = np.concatenate([events.start for events in lines])
        duration = np.concatenate([events.duration for events in lines])
        name = np.concatenate([events.name for events in lines])
        # Of a frame and an operator of the same extent the operator is the inner one: it stays
        # behind the frame.
        order = np.lexsort((-duration, start))
        self._start = start[order]
        self._end = self._start + duration[order]
        self._name = name[order].astype(np.int64)
        borders = np.concatenate([self._start, self._end])
        moments = wire.distinct(borders)
        owner = self._running(moments)
        is_owned = owner[:-1] >= 0
        owned = np.flatnonzero(is_owned)
        self._from = moments[owned]
        self._until = moments[owned + 1]
        self._owner = owner[owned]

    def inside(self, lo: int, hi: int) -> EventTimes:
        """The events that touch [lo, hi), by the part inside."""
        rows = np.flatnonzero(touches(self._start, self._end, lo, hi))
        return EventTimes(
            name=self._name[rows],
            total=_length_inside(self._start[rows], self._end[rows], lo, hi),
            self_time=self._self_times(rows, lo, hi),
        )

    def _self_times(self, rows: Int64s, lo: int, hi: int) -> Int64s:
        """How long each of these events was the inner one; they are all that touch [lo, hi)."""
        first = int(self._until.searchsorted(lo, side="right"))
        after_last = int(self._from.searchsorted(hi, side="left"))
        touching = slice(first, max(first, after_last))
        length = _length_inside(
            self._from[touching],
            self._until[touching],
            lo,
            hi,
        )
        row_of_owner = rows.searchsorted(self._owner[touching])
        self_times = np.zeros(len(rows), np.int64)
        np.add.at(self_times, row_of_owner, length)
        return self_times

    def _running(self, moments: Int64s) -> Int64s:
        """The last begun of the events that run at each moment; -1 for none."""
        outlasting = _outlasting(self._end)
        begun = self._start.searchsorted(moments, side="right")
        owner = (begun - 1).astype(np.int64)
        # Where the last begun has ended, one that began before and lasts longer may go on.
        unsure = np.flatnonzero(owner >= 0)
        while len(unsure):
            end_of_owner = self._end[owner[unsure]]
            has_ended = end_of_owner <= moments[unsure]
            ended = unsure[has_ended]
            owner[ended] = outlasting[owner[ended]]
            unsure = ended[owner[ended] >= 0]
        return owner


def _length_inside(start: Int64s, end: Int64s, lo: int, hi: int) -> Int64s:
    """How much of each stretch is inside [lo, hi)."""
    return np.minimum(end, hi) - np.maximum(start, lo)


def _outlasting(end: Int64s) -> Int64s:
    """For each event the last one before it that ends later; -1 for none.

    Only nested events end in the order of their nesting. These may overlap in any way: a profiler's
    mark of a step begins inside the frame that sets it and outlasts that frame.
    """
    ends = end.tolist()
    outlasting = np.full(len(ends), -1, np.int64)
    open_rows: list[int] = []
    for row, moment in enumerate(ends):
        while open_rows and ends[open_rows[-1]] <= moment:
            open_rows.pop()
        if open_rows:
            outlasting[row] = open_rows[-1]
        open_rows.append(row)
    return outlasting


def framed_threads(process: Process) -> dict[FramedThread, tuple[Track, ...]]:
    """The threads of a process whose frames have a line of their own, each with its lines."""
    lines_by_thread: dict[FramedThread, tuple[Track, ...]] = {}
    if process.kind is not ProcessKind.HOST:
        return lines_by_thread
    for frames, calls in _pairs(process):
        thread = _THREADS.get(frames)
        if thread is None:
            thread = _THREADS[frames] = FramedThread(frames, calls)
        lines_by_thread[thread] = (frames, *calls)
    return lines_by_thread


def other_lines(process: Process, threads: Mapping[FramedThread, tuple[Track, ...]]) -> list[Track]:
    """The lines of a process that belong to none of its framed threads."""
    framed_lines: set[int] = set()
    for lines in threads.values():
        framed_lines.update(map(id, lines))
    return [track for track in process.tracks if id(track) not in framed_lines]


def frame_names(trace: Trace) -> Int64s:
    """The names of the frames that have a line of their own."""
    used = [np.empty(0, np.int64)]
    for process in trace.processes:
        if process.kind is not ProcessKind.HOST:
            continue
        for frames, _ in _pairs(process):
            used.append(wire.distinct(frames.events.name).astype(np.int64))
    return np.concatenate(used)


def _pairs(process: Process) -> Iterator[tuple[Track, tuple[Track, ...]]]:
    for frames in process.tracks:
        if frames.derived or not frames.name.endswith(FRAME_LINE_SUFFIX):
            continue
        thread_name = frames.name.removesuffix(FRAME_LINE_SUFFIX)
        calls = tuple(
            line
            for line in process.tracks
            if line.name == thread_name and line.key == frames.key and not line.derived
        )
        if calls and len(frames.events):
            yield frames, calls

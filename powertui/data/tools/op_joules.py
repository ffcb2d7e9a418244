"""Joules of each op of a device whose trace holds the device's own power between short stretches
(IBM's AIU).

An op's joules are those that its device drew while it ran, whatever ran beside it. An op that is
not wholly within known power has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from powertui.data.model import (
    PS_PER_S,
    CountedEvents,
    Counter,
    Floats,
    Int64s,
    Process,
    ProcessKind,
    Trace,
)
from powertui.data.tools import op_sums
from powertui.data.tools.op_stats import OpStats
from powertui.data.window import touches
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Of an op's time that may be without power: ends of ops are rounded to the ns, stretches to the ps.
_MAX_UNKNOWN_SHARE = 1e-3
_MAX_UNKNOWN_PS = 1_000  # a short op may lie a rounded ns beside its stretch


@dataclass(frozen=True, eq=False)
class OpJoules:
    """What each row of an op table drew, in joules; NaN where nothing is known."""

    joules: Floats  # of the calls that have any
    calls: Int64s  # how many those are

    @property
    def per_call(self) -> Floats:
        """The mean of those calls."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.joules / self.calls

    def take(self, rows: Int64s) -> OpJoules:
        """Some rows, in this order."""
        return OpJoules(self.joules[rows], self.calls[rows])


class _DevicePower(NamedTuple):
    """The power of a device over stretches of time, as sums before each of their ends."""

    start: Int64s  # ps
    end: Int64s
    watts: Floats
    joules_before: Floats  # each stretch
    known_before: Int64s  # ps

    def joules(self, lo: Int64s, hi: Int64s) -> Floats:
        """What was drawn in these windows; NaN where a part of it is not known."""
        drawn_to, known_to = self._until(hi)
        drawn_from, known_from = self._until(lo)
        drawn = drawn_to - drawn_from
        length = hi - lo
        unknown = length - (known_to - known_from)
        allowed = np.maximum(_MAX_UNKNOWN_PS, _MAX_UNKNOWN_SHARE * length)
        # An instant draws nothing; a window within one stretch is exact by its watts.
        is_known = (unknown <= allowed) & (length > 0)
        return np.where(is_known, self._within(lo, hi, drawn), np.nan)

    def _stretch_at(self, at: Int64s) -> Int64s:
        """The last stretch that begins by then, else the first."""
        begun = np.searchsorted(self.start, at, side="right")
        return np.maximum(begun - 1, 0)

    def _until(self, at: Int64s) -> tuple[Floats, Int64s]:
        row = self._stretch_at(at)
        start = self.start[row]
        inside = np.clip(at, start, self.end[row]) - start
        drawn = self.watts[row] * (inside / PS_PER_S)
        return self.joules_before[row] + drawn, self.known_before[row] + inside

    def _within(self, lo: Int64s, hi: Int64s, otherwise: Floats) -> Floats:
        """By the watts of the one stretch that holds a window: sums lose digits in a long trace."""
        row = self._stretch_at(lo)
        is_one = (lo >= self.start[row]) & (hi <= self.end[row])
        seconds = (hi - lo) / PS_PER_S
        return np.where(is_one, self.watts[row] * seconds, otherwise)


def _device_power(trace: Trace, process: Process) -> _DevicePower | None:
    """What a device counted of its own power; None where it did not."""
    for counter in trace.counters:
        counted = _power(counter)
        if counter.process == process.name and counted is not None:
            start, end, watts = counted
            lengths = end - start
            joules = np.cumsum(watts * (lengths / PS_PER_S))
            return _DevicePower(
                start=start,
                end=end,
                watts=watts,
                joules_before=np.concatenate(([0.0], joules[:-1])),
                known_before=np.concatenate(([0], np.cumsum(lengths)[:-1])),
            )
    return None


def _power(counter: Counter) -> CountedEvents | None:
    return counter.counted if counter.unit == "W" else None


def op_joules(ops: OpStats, factor: float = 1.0) -> OpJoules | None:
    """What each row of an op table drew, times the factor; None where no device's power is
    known.
    """
    joules = np.zeros(len(ops))
    calls = np.zeros(len(ops), np.int64)
    any_known = False
    for number, process in enumerate(ops.trace.processes):
        if process.kind is not ProcessKind.DEVICE:
            continue
        power = _device_power(ops.trace, process)
        if power is None:
            continue
        any_known = True
        row_of_name = _rows_by_name(ops, number)
        for name, drawn in _events(ops, process, power):
            rows_of_events = [row_of_name.get(index, -1) for index in name.tolist()]
            rows = np.array(rows_of_events, np.int64)
            known = (rows >= 0) & np.isfinite(drawn)
            known_rows = rows[known]
            joules += np.bincount(known_rows, drawn[known], len(ops))
            calls += np.bincount(known_rows, minlength=len(ops))
    if not any_known:
        return None
    scaled = joules * factor
    return OpJoules(np.where(calls > 0, scaled, np.nan), calls)


def _rows_by_name(ops: OpStats, process: int) -> Mapping[int, int]:
    """The row of each name of a process, with the names that were counted into others."""
    rows = np.flatnonzero(ops.process == process)
    names = ops.name[rows]
    row_of_name = dict(zip(names.tolist(), rows.tolist(), strict=True))
    every_twin_name, every_twin_row = ops.twins
    is_here = ops.process[every_twin_row] == process
    twin_names = every_twin_name[is_here].tolist()
    twin_rows = every_twin_row[is_here].tolist()
    row_of_name.update(zip(twin_names, twin_rows, strict=True))
    return row_of_name


def _events(ops: OpStats, process: Process, power: _DevicePower) -> Iterator[tuple[Int64s, Floats]]:
    """(names, joules) of the events of each line in the window."""
    for track in process.tracks:
        if not op_sums.counts(track):
            continue
        events = track.events
        is_inside = touches(events.start, events.end, ops.lo, ops.hi)
        rows = np.flatnonzero(is_inside)
        lo = np.maximum(events.start[rows], ops.lo)
        hi = np.minimum(events.end[rows], ops.hi)
        names = events.name[rows].astype(np.int64)
        yield names, power.joules(lo, hi)

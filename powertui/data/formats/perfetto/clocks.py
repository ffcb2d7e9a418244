"""The clocks of a Perfetto trace: every packet may count from another one, and snapshots say how
they stand to each other.

Clocks 1 to 63 are the machine's (1 real time, 3 monotonic, 6 boot time), 64 to 127 belong to one
sequence of packets. An incremental clock is told as what passed since its last reading, the first
time since its snapshot.
"""

from __future__ import annotations

import bisect
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from powertui.data.model import Clock, Int64s

_REALTIME, BOOTTIME = 1, 6
_OWN_FROM = 64  # clock ids of one sequence
_SLACK_NS = 1_000_000  # how far apart the clocks of one snapshot may have been read
_UNIX_NS = (10**17, 4 * 10**18)  # a time in here (1973 … 2096) without any snapshot is Unix time


class _Reading(NamedTuple):
    packet: int  # where the snapshot stands in the file
    clock_ns: int
    trace_ns: int


class _Scale(NamedTuple):
    unit_ns: int
    incremental: bool


class Clocks:
    """All snapshots of a file."""

    def __init__(self) -> None:
        self.primary = 0  # the clock that all times are given in; 0: not told
        self.unknown = 0  # readings of clocks that no snapshot ties to it
        self._readings: dict[
            tuple[int, int], list[_Reading]
        ] = {}  # by sequence (0: the machine's) and clock
        self._scales: dict[tuple[int, int], _Scale] = {}
        self._shifts: dict[
            tuple[int, int], list[tuple[int, int]]
        ] = {}  # (clock_ns, trace_ns - clock_ns), by clock_ns

    def snapshot(self, packet: int, sequence: int, message: Any) -> None:
        """One more; they come in the order of the file."""
        if not self.primary:
            self.primary = message.primary_trace_clock or BOOTTIME
        read: dict[tuple[int, int], int] = {}
        for one in message.clocks:
            key = _key(sequence, one.clock_id)
            scale = self._scales[key] = _Scale(max(1, one.unit_multiplier_ns), one.is_incremental)
            read[key] = one.timestamp * scale.unit_ns
        trace_ns = read.get((0, self.primary))
        if trace_ns is None:  # by another clock that is tied to it already
            tied = [(key, ns) for key, ns in read.items() if key in self._readings]
            if not tied:
                return
            key, ns = tied[0]
            shifts = self._shifts[key]
            trace_ns = ns + shifts[max(bisect.bisect_right(shifts, ns, key=_first) - 1, 0)][1]
        for key, ns in read.items():
            self._readings.setdefault(key, []).append(_Reading(packet, ns, trace_ns))
            bisect.insort(self._shifts.setdefault(key, []), (ns, trace_ns - ns), key=_first)

    def times(self, packet: Int64s, sequence: Int64s, clock: Int64s, told: Int64s) -> Int64s:
        """Readings in ns of the primary clock. Rows are in the order of the file."""
        out: Int64s = told.copy()
        owner = np.where(clock >= _OWN_FROM, sequence, 0)
        order = np.lexsort((clock, owner))  # of equal clocks in the order of the file
        changes = (np.diff(clock[order]) != 0) | (np.diff(owner[order]) != 0)
        bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), len(order)]
        for lo, hi in pairwise(bounds if len(order) else ()):
            rows = order[lo:hi]
            key = (int(owner[rows[0]]), int(clock[rows[0]]))
            out[rows] = self._times(key, packet[rows], told[rows])
        return out

    def _times(self, key: tuple[int, int], packet: Int64s, told: Int64s) -> Int64s:
        scale = self._scales.get(key, _Scale(1, False))
        ns: Int64s = told * scale.unit_ns
        if scale.incremental:
            ns = self._summed(key, packet, ns)
        if key == (0, self.primary or BOOTTIME):
            return ns
        if key not in self._readings:
            self.unknown += len(ns)
            return ns
        return self._moved(key, ns)

    def _summed(self, key: tuple[int, int], packet: Int64s, passed: Int64s) -> Int64s:
        """What passed since each snapshot, added up."""
        out = np.cumsum(passed)
        readings = self._readings.get(key, [])
        begins = np.searchsorted(packet, [one.packet for one in readings])
        for one, lo, hi in zip(
            readings, begins.tolist(), [*begins.tolist()[1:], len(packet)], strict=True
        ):
            out[lo:hi] = one.clock_ns + np.cumsum(passed[lo:hi])
        return out

    def _moved(self, key: tuple[int, int], ns: Int64s) -> Int64s:
        """By the last snapshot before each."""
        at, by = np.array(self._shifts[key], np.int64).T
        moved: Int64s = ns + by[np.maximum(np.searchsorted(at, ns, side="right") - 1, 0)]
        return moved

    def wall(self, zero_ns: int) -> Clock:
        """Where a time of the primary clock lies in Unix time."""
        if self.primary == _REALTIME:
            return Clock(
                zero_ns - _SLACK_NS,
                zero_ns + _SLACK_NS,
                "absolute timestamps",
                "the trace's clock is the machine's real time",
            )
        tied = [one.clock_ns - one.trace_ns for one in self._readings.get((0, _REALTIME), ())]
        if tied:
            lo, hi = zero_ns + min(tied) - _SLACK_NS, zero_ns + max(tied) + _SLACK_NS
            return Clock(lo, hi, "absolute timestamps", "the trace's clock snapshots")
        if not self.primary and _UNIX_NS[0] < zero_ns < _UNIX_NS[1]:
            return Clock(
                zero_ns - _SLACK_NS,
                zero_ns + _SLACK_NS,
                "absolute timestamps",
                "timestamps are Unix time in ns",
            )
        return Clock()


def _key(sequence: int, clock: int) -> tuple[int, int]:
    return (sequence if clock >= _OWN_FROM else 0, clock)


def _first(shift: tuple[int, int]) -> int:
    return shift[0]

"""The clocks of a Perfetto trace: every packet may use another one.

Snapshots contain readings of several clocks at one moment, and tie the clocks together. Clocks 1 to
63 are the machine's (1 real time, 3 monotonic, 6 boot time), 64 to 127 belong to one sequence of
packets. A reading of an incremental clock is the time since its last reading, the first one the
time since its snapshot.
"""

from __future__ import annotations

import bisect
from itertools import pairwise
from typing import Any

import numpy as np

from powertui.data.model import Clock, Int64s
from powertui.data.sorted_columns import rows_of_each
from powertui.named_tuples import NamedTuple

_REALTIME, BOOTTIME = 1, 6
_FIRST_SEQUENCE_CLOCK = 64  # clock ids from here on belong to one sequence
# The clocks of one snapshot are read one after the other. Chosen, not measured.
_SNAPSHOT_SLACK_NS = 1_000_000
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
        self.primary = 0  # the clock of the trace; 0 where no snapshot names it
        self.unknown = 0  # readings of clocks that no snapshot ties to it
        # The keys are (sequence, clock); the machine's clocks have sequence 0.
        self._readings: dict[tuple[int, int], list[_Reading]] = {}
        self._scales: dict[tuple[int, int], _Scale] = {}
        # (clock_ns, trace_ns - clock_ns), sorted by clock_ns.
        self._shifts: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def snapshot(self, packet: int, sequence: int, message: Any) -> None:
        """Take one snapshot; they come in the order of the file."""
        if not self.primary:
            self.primary = message.primary_trace_clock or BOOTTIME
        readings_ns: dict[tuple[int, int], int] = {}
        for reading in message.clocks:
            key = _key(sequence, reading.clock_id)
            unit_ns = max(1, reading.unit_multiplier_ns)
            self._scales[key] = _Scale(unit_ns, reading.is_incremental)
            readings_ns[key] = reading.timestamp * unit_ns
        trace_ns = readings_ns.get((0, self.primary))
        if trace_ns is None:
            trace_ns = self._by_tied_clock(readings_ns)
        if trace_ns is None:
            return
        for key, ns in readings_ns.items():
            readings = self._readings.setdefault(key, [])
            readings.append(_Reading(packet, ns, trace_ns))
            shifts = self._shifts.setdefault(key, [])
            bisect.insort(shifts, (ns, trace_ns - ns), key=_first)

    def _by_tied_clock(self, readings_ns: dict[tuple[int, int], int]) -> int | None:
        """The time of the trace's clock by another one that is tied to it already."""
        for key, ns in readings_ns.items():
            if key in self._readings:
                shifts = self._shifts[key]
                row = bisect.bisect_right(shifts, ns, key=_first) - 1
                _, shift_ns = shifts[max(row, 0)]
                return ns + shift_ns
        return None

    def times(
        self,
        packet: Int64s,
        sequence: Int64s,
        clock: Int64s,
        readings: Int64s,
    ) -> Int64s:
        """Readings in ns of the primary clock. Rows are in the order of the file."""
        times: Int64s = readings.copy()
        is_of_sequence = clock >= _FIRST_SEQUENCE_CLOCK
        owner = np.where(is_of_sequence, sequence, 0)
        for rows in rows_of_each(owner, clock):
            first_row = rows[0]
            key = (int(owner[first_row]), int(clock[first_row]))
            times[rows] = self._trace_ns(key, packet[rows], readings[rows])
        return times

    def _trace_ns(self, key: tuple[int, int], packet: Int64s, readings: Int64s) -> Int64s:
        scale = self._scales.get(key, _Scale(1, False))
        ns: Int64s = readings * scale.unit_ns
        if scale.incremental:
            ns = self._summed_since_snapshots(key, packet, ns)
        if key == (0, self.primary or BOOTTIME):
            return ns
        if key not in self._readings:
            self.unknown += len(ns)
            return ns
        return self._tied_to_trace(key, ns)

    def _summed_since_snapshots(
        self,
        key: tuple[int, int],
        packet: Int64s,
        passed: Int64s,
    ) -> Int64s:
        """Times of an incremental clock: what passed since the snapshot before, added up."""
        out = np.cumsum(passed)
        snapshots = self._readings.get(key, [])
        packets = [snapshot.packet for snapshot in snapshots]
        bounds = [*np.searchsorted(packet, packets).tolist(), len(packet)]
        for snapshot, (lo, hi) in zip(snapshots, pairwise(bounds), strict=True):
            out[lo:hi] = snapshot.clock_ns + np.cumsum(passed[lo:hi])
        return out

    def _tied_to_trace(self, key: tuple[int, int], ns: Int64s) -> Int64s:
        """Times of a clock in ns of the trace's, by the last snapshot before each."""
        shifts = np.array(self._shifts[key], np.int64)
        snapshot_ns, shift_ns = shifts.T
        row = np.searchsorted(snapshot_ns, ns, side="right") - 1
        row = np.maximum(row, 0)
        trace_ns: Int64s = ns + shift_ns[row]
        return trace_ns

    def wall(self, zero_ns: int) -> Clock:
        """The Unix time of this time of the primary clock."""
        lo = zero_ns - _SNAPSHOT_SLACK_NS
        hi = zero_ns + _SNAPSHOT_SLACK_NS
        earliest, latest = _UNIX_NS
        readings = self._readings.get((0, _REALTIME), ())
        offsets = [reading.clock_ns - reading.trace_ns for reading in readings]
        if self.primary == _REALTIME:
            detail = "the trace's clock is the machine's real time"
        elif offsets:
            lo += min(offsets)
            hi += max(offsets)
            detail = "the trace's clock snapshots"
        elif not self.primary and earliest < zero_ns < latest:
            detail = "timestamps are Unix time in ns"
        else:
            return Clock()
        return Clock(lo, hi, "absolute timestamps", detail)


def _key(sequence: int, clock: int) -> tuple[int, int]:
    is_of_sequence = clock >= _FIRST_SEQUENCE_CLOCK
    return (sequence if is_of_sequence else 0, clock)


def _first(shift: tuple[int, int]) -> int:
    return shift[0]

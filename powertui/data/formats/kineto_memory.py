"""Marks of PyTorch's allocators in Kineto's traces: one log a device.

{"ph":"i","name":"[memory]","pid":7,"tid":7,"ts":5.5,"args":{"Total Reserved":2097152,
 "Total Allocated":1024,"Bytes":512,"Addr":140255988547584,"Device Id":0,"Device Type":1}}

`Bytes` is negative where memory was given back. Older files lack the totals and the address.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from powertui.data.formats.json_counters import CounterReadings
from powertui.data.formats.json_threads import ThreadEvents
from powertui.data.formats.stat_columns import wrap
from powertui.data.model import Trace, Track
from powertui.data.model.allocations import AllocationTexts, AllocatorLog

MARK_BYTES = 60  # of memory for a mark
_CPU = 0  # the Device Type of the host
_MAX_BYTES = 1 << 60  # more than any machine has


def _device_label(args: Mapping[str, Any]) -> str:
    """The device that a mark is about."""
    kind = args.get("Device Type")
    number = args.get("Device Id")
    on_cpu = kind == _CPU or (kind is None and number == -1)
    return "CPU" if on_cpu else f"GPU {number}"


class _DeviceMarks:
    """The marks of one device as they come."""

    def __init__(self) -> None:
        self.at = array("q")  # ps from the trace's `Origin`
        self.size = array("q")
        self.address = array("q")
        self.allocated = array("d")
        self.reserved = array("d")
        self.place = array("q")  # into `places`
        self.places: dict[tuple[Any, Any], int] = {}  # (pid, tid)

    def __len__(self) -> int:
        return len(self.at)

    def add(self, at: int, args: Mapping[str, Any], held: float, place: tuple[Any, Any]) -> None:
        """One mark. `held` is what its device has taken since the start of the trace, where the
        mark has no totals. Raises for args that are no numbers.
        """
        size = int(args["Bytes"])
        if abs(size) > _MAX_BYTES:
            raise ValueError(size)
        address = wrap(int(args.get("Addr", 0)))
        allocated = float(args.get("Total Allocated", held))
        # The host's allocator reserves nothing: its 0 stands for "not known".
        reserved = float(args.get("Total Reserved") or math.nan)
        number = self.places.setdefault(place, len(self.places))
        self.at.append(at)
        self.size.append(size)
        self.address.append(address)
        self.allocated.append(allocated)
        self.reserved.append(reserved)
        self.place.append(number)

    def log(self, label: str, shift_ps: int, lines: Mapping[tuple[Any, Any], int]) -> AllocatorLog:
        """The log of the device. `lines` are the lines of threads over Trace.tracks()."""
        at = np.array(self.at, np.int64) - shift_ps
        order = np.argsort(at, kind="stable")
        size = np.array(self.size, np.int64)[order]
        allocated, reserved = (
            np.array(column, np.float64)[order] for column in (self.allocated, self.reserved)
        )
        line_of_place = np.array([lines.get(place, -1) for place in self.places], np.int32)
        unknown = np.full(len(at), np.nan)
        none = np.full(len(at), -1, np.int32)
        return AllocatorLog(
            allocator=label,
            times=at[order],
            taken=size >= 0,
            size=np.abs(size),
            address=np.array(self.address, np.int64)[order],
            allocated=allocated,
            reserved=reserved,
            stated_free=None,
            stated_fragmentation=unknown,
            lifetime_peak=unknown,
            requested=unknown,
            step=none.astype(np.int64),
            words=AllocationTexts(
                texts=(),
                op=none,
                region=none,
                dtype=none,
                shape=none,
            ),
            track=line_of_place[np.array(self.place, np.int64)[order]],
            event=none,
            order=order.astype(np.int64),
        )


class AllocatorMarks:
    """The marks of all devices."""

    def __init__(self) -> None:
        self._held: dict[str, float] = {}  # bytes since the start, by device
        self._marks: dict[str, _DeviceMarks] = {}

    def __len__(self) -> int:
        return sum(len(marks) for marks in self._marks.values())

    def take(self, event: Mapping[str, Any], at: int, readings: CounterReadings) -> None:
        """One mark, at this time (ps); as readings of counters, too.

        Newer files contain the bytes held in all. Raises as `_DeviceMarks.add` does.
        """
        args = event["args"]
        if not isinstance(args, dict):
            raise TypeError
        device = _device_label(args)
        place = (event.get("pid"), event.get("tid"))
        hash(place)
        ts = float(event["ts"])
        held = math.nan
        label = device
        if "Total Allocated" not in args:
            label = f"{device} since the start"
            held = self._held.get(device, 0.0) + float(args["Bytes"])
        marks = self._marks.setdefault(label, _DeviceMarks())
        marks.add(at, args, held, place)
        if "Total Allocated" not in args:
            self._held[device] = held
        readings.put("memory", f"allocated {label}", "bytes", ts, marks.allocated[-1])
        if not math.isnan(marks.reserved[-1]):
            readings.put("memory", f"reserved {label}", "bytes", ts, marks.reserved[-1])

    def logs(
        self,
        trace: Trace,
        shift_ps: int,
        tracks: Mapping[ThreadEvents, Track | None],
        threads: Mapping[tuple[Any, Any, bool], ThreadEvents],
    ) -> tuple[AllocatorLog, ...]:
        """The log of each device, by name. `threads` are those of the host by (pid, tid)."""
        number_of: dict[int, int] = {}
        for number, (_, track) in enumerate(trace.tracks()):
            number_of[id(track)] = number
        lines: dict[tuple[Any, Any], int] = {}
        for (pid, tid, is_python), thread in threads.items():
            drawn = tracks.get(thread)
            if drawn is not None and not is_python:
                lines[pid, tid] = number_of.get(id(drawn), -1)
        marks_by_label = sorted(self._marks.items())
        return tuple(
            marks.log(label, shift_ps, lines) for label, marks in marks_by_label if len(marks)
        )

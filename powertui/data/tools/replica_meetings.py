"""When replicas of a program are in collectives: all of them, or some that wait for the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data.model import Bools, Events, ProcessKind, UInt8s
from powertui.data.tools.covered_time import NO_TIME, CoveredTime, joined, time_of
from powertui.data.tools.event_types import EventType
from powertui.data.tools.name_classes import NameClass
from powertui.data.tools.typed_events import Typed
from powertui.named_tuples import NamedTuple

DEVICE_COMPUTING = (EventType.COMPUTE_16, EventType.COMPUTE_32)
# A device that waits for another one is in a collective; one that waits for the host, for input.
DEVICE_MEETING = (EventType.COLLECTIVES, EventType.WAIT_DEVICE)


class Attendance(NamedTuple):
    """When replicas meet."""

    all_present: CoveredTime
    some_present: CoveredTime  # and the others have not come yet
    most: int  # replicas at one moment


_NOBODY = Attendance(NO_TIME, NO_TIME, 0)


def attendance(lines: Sequence[Typed], classes: UInt8s, *, one_a_process: bool) -> Attendance:
    """When all replicas take part in a collective, and when some wait for the others."""
    meetings = _meetings(lines, classes, one_a_process=one_a_process)
    replicas = [meeting for meeting in meetings if len(meeting.start)]
    if not replicas:
        return _NOBODY
    arrivals = np.concatenate([meeting.start for meeting in replicas])
    departures = np.concatenate([meeting.end for meeting in replicas])
    moments = np.concatenate([arrivals, departures])
    change = np.ones(len(moments), np.int64)
    change[len(arrivals) :] = -1
    # At one moment departures come first: who leaves is not there with who arrives.
    order = np.lexsort((change, moments))
    moments = moments[order]
    present_after = np.cumsum(change[order])
    present = present_after[:-1]  # replicas from each moment to the next
    if not len(present):
        return _NOBODY
    lo = moments[:-1]
    hi = moments[1:]
    most = int(present.max())
    are_all_present = present == most
    are_some_present = (present > 0) & ~are_all_present
    return Attendance(
        all_present=joined([CoveredTime(lo[are_all_present], hi[are_all_present])]),
        some_present=joined([CoveredTime(lo[are_some_present], hi[are_some_present])]),
        most=most,
    )


def _meetings(
    lines: Sequence[Typed],
    classes: UInt8s,
    *,
    one_a_process: bool,
) -> Iterator[CoveredTime]:
    """Where each device is in a collective and computes nothing else; without devices, where each
    thread is in one, or each process: PyTorch's gloo works in several threads of a rank.
    """
    by_device: dict[str, list[Typed]] = defaultdict(list)
    for line in lines:
        if line.process.kind is ProcessKind.DEVICE:
            by_device[line.process.name].append(line)
    if by_device:
        yield from map(_meeting_of_device, by_device.values())
        return
    by_process: dict[str, list[CoveredTime]] = defaultdict(list)
    for line in lines:
        events = line.track.events
        in_collective = classes[events.name] == NameClass.COLLECTIVE
        by_process[line.process.name].append(_lasting_time(events, in_collective))
    for times in by_process.values():
        if one_a_process:
            yield joined(times)
        else:
            yield from times


def _meeting_of_device(lines: Sequence[Typed]) -> CoveredTime:
    meeting: list[CoveredTime] = []
    computing: list[CoveredTime] = []
    for line in lines:
        events = line.track.events
        meets = np.isin(line.types, DEVICE_MEETING)
        computes = np.isin(line.types, DEVICE_COMPUTING)
        meeting.append(_lasting_time(events, meets))
        computing.append(_lasting_time(events, computes))
    return joined(meeting).without(joined(computing))


def _lasting_time(events: Events, chosen: Bools) -> CoveredTime:
    """When any of the chosen events of some length runs."""
    return time_of(events, chosen & (events.duration > 0), empty_too=True)

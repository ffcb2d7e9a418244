"""What TensorBoard's converter takes for the step of an allocator's event where the file does not
say it, and for the order of such events.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data import wire
from powertui.data.formats.xplane_stats import PlaneStats
from powertui.data.model import Int64s, StatSource, Trace
from powertui.data.model.allocations import AllocatorLog
from powertui.data.opened import Profile
from powertui.data.run.grouping import Groups, find_groups


def with_steps(profile: Profile, log: AllocatorLog) -> AllocatorLog:
    """The log with the converter's step ids; as it is where the file holds ids of its own."""
    if (log.step >= 0).any():
        return log
    groups = profile.cached("allocation groups", lambda: _converter_groups(profile.trace))
    step = np.full(len(log), -1, np.int64)
    for line in wire.distinct(log.track[log.track >= 0]).tolist():
        events = np.flatnonzero(log.track == line)
        rows = log.event[events].astype(np.int64)
        step[events] = groups.groups_on_line(line, rows)
    return replace(log, step=step)


def moments_on_lines(trace: Trace, log: AllocatorLog) -> Int64s:
    """How long after the beginning of its own line each event was: by that the converter orders
    events, also those of lines that begin at other times.
    """
    moments: Int64s = log.times.copy()
    tracks = list(trace.tracks())
    for line in wire.distinct(log.track[log.track >= 0]).tolist():
        rows = np.flatnonzero(log.track == line)
        process, _ = tracks[line]
        offset = _offset_on_line(process.source, int(log.order[rows[0]]))
        if offset is not None:
            moments[rows] -= int(log.times[rows[0]]) - offset
    return moments


def _offset_on_line(source: StatSource, position: int) -> int | None:
    """The event's own distance from the beginning of its line, where the file stores one."""
    if isinstance(source, PlaneStats):
        return source.event_offset(position)
    return None


def _converter_groups(trace: Trace) -> Groups:
    """The converter numbers its groups in their order, and tf.data's functions start none."""
    return find_groups(trace, by_number=False, input_roots=False)

"""The step of each event of an allocator where the file does not say it, as TensorBoard's
converter finds it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.model import Trace
from powertui.data.model.allocations import AllocatorLog
from powertui.data.opened import Profile
from powertui.data.run.grouping import Groups, find_groups


def with_steps(profile: Profile, log: AllocatorLog) -> AllocatorLog:
    """The log with the converter's step ids; as it is where the file holds ids of its own."""
    if (log.step >= 0).any():
        return log
    groups = profile.cached("allocation groups", lambda: _converter_groups(profile.trace))
    step = np.full(len(log), -1, np.int64)
    for line in np.unique(log.track[log.track >= 0]).tolist():
        events = np.flatnonzero(log.track == line)
        step[events] = groups.groups_on_line(line, log.event[events].astype(np.int64))
    return replace(log, step=step)


def _converter_groups(trace: Trace) -> Groups:
    """The converter numbers its groups in their order, and tf.data's functions start none."""
    return find_groups(trace, by_number=False, input_roots=False)

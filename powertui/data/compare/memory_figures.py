"""Memory in use at the most, as the trace's own counters have it."""

from __future__ import annotations

import numpy as np

from powertui.data.compare.figure import Family
from powertui.data.compare.part import ComparedPart
from powertui.data.compare.values import ComparedValue, ValueKey, Values

_MEMORY_UNITS = ("bytes", "B")


def memory_values(part: ComparedPart) -> Values:
    """The largest reading of each counter of bytes."""
    values: Values = {}
    for window in part.windows:
        lo, hi = window.bounds
        for counter in window.profile.trace.all_counters():
            if counter.unit not in _MEMORY_UNITS:
                continue
            # A reading holds until the next one: the last before the window counts, too.
            begun = int(np.searchsorted(counter.times, lo, side="right"))
            first = max(0, begun - 1)
            after_last = int(np.searchsorted(counter.times, hi))
            readings = counter.values[first:after_last]
            if len(readings):
                key = ValueKey(Family.MEMORY, f"{counter.name}, most", "B")
                most = float(readings.max())
                if key in values:
                    most = max(most, values[key].value)
                values[key] = ComparedValue(most)
    return values

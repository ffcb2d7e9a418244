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
        for counter in window.profile.trace.counters:
            if counter.unit not in _MEMORY_UNITS:
                continue
            # A reading holds until the next one: the last before the window counts, too.
            first = max(0, int(np.searchsorted(counter.times, lo, side="right")) - 1)
            readings = counter.values[first : int(np.searchsorted(counter.times, hi))]
            if len(readings):
                key = ValueKey(Family.MEMORY, f"{counter.name}, most", "B")
                most = float(readings.max())
                values[key] = ComparedValue(max(most, values[key].value) if key in values else most)
    return values

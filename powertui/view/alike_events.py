"""What stands beside a selected event of all those with its name."""

from __future__ import annotations

import functools

import numpy as np

from powertui import units
from powertui.data.model import PS_PER_US, Trace
from powertui.data.tools import event_sets

# Among more events than this those of one name are not counted while somebody moves from event to
# event.
_MAX_COUNTED_EVENTS = 4_000_000


@functools.lru_cache(maxsize=8)
def alike_facts(
    trace: Trace,
    name: int,
    window: tuple[int, int],
) -> tuple[tuple[str, str], ...]:
    """(name, value) of the facts about all events of one name in the window, or in the profile."""
    among = event_sets.touching(trace, *window)
    if among > _MAX_COUNTED_EVENTS:
        hint = f"mark a window to count them ({units.count(among)} events here)"
        return (("alike", hint),)
    names = np.zeros(len(trace.names), np.bool_)
    names[name] = True
    events = event_sets.together(trace, *window, names)
    if events is None or events.count < 2 or events.deviation is None:
        return ()
    if not events.total:
        return (("alike", f"{events.count:,} without length"),)
    total = units.duration(events.total)
    mean = units.duration(round(events.mean))
    deviation = units.duration(round(events.deviation))
    shortest = units.duration(events.shortest)
    longest = units.duration(events.longest)
    percentiles = dict(zip(event_sets.PERCENTILES, events.percentiles, strict=True))
    median = units.duration(round(percentiles[50]))
    nearly_all = units.duration(round(percentiles[95]))
    # Two moments are told apart to a part of the longest event, and not to each picosecond.
    grid_ps = units.resolution(max(events.longest, PS_PER_US))
    first = units.instant(events.first, grid_ps)
    last = units.instant(events.last, grid_ps)
    return (
        ("alike", f"{events.count:,}, in all {total}"),
        ("average", f"{mean} ± {deviation}"),
        ("range", f"{shortest} to {longest}"),
        ("half", f"shorter than {median}"),
        ("95 %", f"shorter than {nearly_all}"),
        ("first", first),
        ("last", last),
    )

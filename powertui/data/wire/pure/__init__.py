"""The decoder for machines without a compiler: records are found by hopping in Python, their fields
decoded by numpy.

Python hops over some million length prefixes a second, and that is the only thing it does once per
event. All else is done for a batch of records at a time: one field of each, then the next field of
each that has one.
"""

from __future__ import annotations

from powertui.data.wire.pure.columns import blocks, ends, sums
from powertui.data.wire.pure.events import scan_events
from powertui.data.wire.pure.fields import hop, pick
from powertui.data.wire.pure.lanes import nest
from powertui.data.wire.pure.records import records
from powertui.data.wire.pure.stats import event_stats, put_numbers, scan_stats, stats
from powertui.data.wire.pure.stretches import covered, ranks, united, united_events

__all__ = [
    "blocks",
    "covered",
    "ends",
    "event_stats",
    "hop",
    "nest",
    "pick",
    "put_numbers",
    "ranks",
    "records",
    "scan_events",
    "scan_stats",
    "stats",
    "sums",
    "united",
    "united_events",
]

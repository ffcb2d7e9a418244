"""Protobuf on the wire, for messages that are too large for protobuf: columns straight from the
bytes.

Two decoders answer the same calls: `_scan` (scan/, compiled when there was a compiler at
installation; the GIL is released) and `pure` (numpy, everywhere). `POWERTUI_PURE=1` forces the
second. What they share is in `types`.

    data = np.frombuffer(content, np.uint8)     (`windows` has the same calls for a file that is
                                                read piece by piece)

    hop(data, lo, hi, skip=0) -> Hop
        The fields of one message as columns, without a look inside them. LEN fields numbered `skip`
        are only counted: hop(data, lo, hi, skip=EVENTS_FIELD) gives a line's header and, as
        `.skipped`, its number of events.
    pick(data, lo, hi, tags) -> PickedFields
        The last value of each wanted field, `tag(number, wire)`, of many messages: map entries,
        metadata.
    scan_events(data, lo, hi, base, columns, at, limit) -> Scan
        Events of one XLine into columns from row `at` on, at most `limit` of them: go on at `.next`
        until it is `hi`. `base` (ps) is added to each offset.
    stats(data, lo, hi, field) -> [(stat metadata id, kind, value)]
        The XStats in one message (plane: 6, event metadata: 5), in file order, repeated ones
        included.
    event_stats(data, position) -> [...]
        The same of one event, where `columns.position` says it lies.
    scan_stats(data, positions, ids) -> StatScan
        "The values of stat X for these events": the first value of each wanted stat id, typed as
        found.
    put_numbers(kind, bits, rows, present, ints, floats)
        The values that scan_stats gave of one id, put into a column where their events are (`rows`;
        None for one after the other): present, and as numbers. Texts are present and no number.
    nest(start, duration) -> lanes (uint8)
        For events sorted by start, longest first: how deep each lies. Partial overlaps move to the
        first free lane.
    LaneScan(events, size, base, span, table, aside), .feed(data, shift) -> bool, .finish() -> Laned
    or None
        A line of so many events and bytes straight into lanes, piece by piece: by start, longest
        first, in the lanes that nest() gives. False for a line with any event that is out of order,
        malformed, counted, of an unknown name or not within `span` (ps): such lines go through
        scan_events and nest, and without a compiler all do (see COMPILED). `table` turns ids into
        names (uint32, all ones where there is none); one `Aside()` serves all lines of a file.
    blocks(duration) -> (sums, top)
        Of each BLOCK rows the sum, which may wrap, and which of them is the longest, the first of
        equals.
    sums(duration, before, at) -> sums
        Durations summed up to these rows; `before` is the sum up to each block and to the end.
    ends(name, names) -> (first, last)
        The first and the last row of each of so many names; -1 for those that no row has.
    ranks(ascending, moments, equal_too=False) -> places
        How many of the values are before each moment, or at it; quick where moments ascend, too.
    covered(start, end, before, moments) -> lengths
        How much of stretches, ascending and apart, is before each moment; `before` is the sum up to
        each stretch and to the end. Sums may wrap.
    united(start, end, empty_too=False) -> (start, end)
        The same moments as any stretches cover, apart from each other and ascending; none ends
        before it starts. `empty_too`: those of no length count as well.
    united_events(start, duration, chosen, empty_too=False) -> (start, end)
        The same of those events that are chosen.
    add_events(name, times, below, window, lowest, sums)
        Events of a lane added up by name, by their part inside a window (lo, hi): to `sums`, of the
        names from `lowest` on, their count, their length, and what of it no event of the lane below
        covers. `times`, `below`: (starts, durations) of both lanes. Compiled alone (see COMPILED).
    records(data, lo, most) -> RecordFrames
        At most so many whole TFRecords from `lo` on, up to one that is not whole or whose length is
        damaged.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

from powertui.data.wire.types import (
    BLOCK,
    BYTES,
    DOUBLE,
    EVENT_STATS_FIELD,
    EVENTS_FIELD,
    FAN,
    FIXED32,
    FIXED64,
    GUIDE,
    INT64,
    LEN,
    MAX_LANES,
    NO_VALUE,
    REF,
    STAT_KINDS,
    STR,
    UINT64,
    VARINT,
    EventColumns,
    Hop,
    Laned,
    PickedFields,
    RawStat,
    RecordFrames,
    Scan,
    StatScan,
    distinct,
    empty,
    places,
    tag,
    text,
)

__all__ = [
    "BLOCK",
    "BYTES",
    "COMPILED",
    "DOUBLE",
    "EVENTS_FIELD",
    "EVENT_STATS_FIELD",
    "FAN",
    "FIXED32",
    "FIXED64",
    "GUIDE",
    "INT64",
    "LEN",
    "MAX_LANES",
    "NO_VALUE",
    "REF",
    "STAT_KINDS",
    "STR",
    "UINT64",
    "VARINT",
    "WHY_PURE",
    "Aside",
    "EventColumns",
    "Hop",
    "LaneScan",
    "Laned",
    "PickedFields",
    "RawStat",
    "RecordFrames",
    "Scan",
    "StatScan",
    "add_events",
    "blocks",
    "covered",
    "distinct",
    "empty",
    "ends",
    "event_stats",
    "hop",
    "nest",
    "pick",
    "places",
    "put_numbers",
    "ranks",
    "records",
    "scan_events",
    "scan_stats",
    "stats",
    "sums",
    "tag",
    "text",
    "united",
    "united_events",
]


def _why_pure() -> str:
    if os.environ.get("POWERTUI_PURE"):
        return "POWERTUI_PURE is set"
    try:
        importlib.import_module("powertui.data.wire.compiled")
    except ModuleNotFoundError:
        return "powertui was installed without a compiler"
    except ImportError as error:  # built for another machine, or another Python
        return f"the compiled scanner cannot be loaded ({error})"
    return ""


WHY_PURE = _why_pure()
"""Why the compiled scanner is not used; empty when it is. `powertui doctor` shows it."""
COMPILED: bool = not WHY_PURE

if TYPE_CHECKING or COMPILED:
    from powertui.data.wire.compiled import Aside, LaneScan, add_events
if TYPE_CHECKING or WHY_PURE:
    from powertui.data.wire import pure as decoder
else:
    from powertui.data.wire import compiled as decoder

blocks, ends, sums = decoder.blocks, decoder.ends, decoder.sums
ranks, covered, united = decoder.ranks, decoder.covered, decoder.united
united_events = decoder.united_events
event_stats, scan_stats, stats = decoder.event_stats, decoder.scan_stats, decoder.stats
put_numbers = decoder.put_numbers
hop, pick, scan_events, nest, records = (
    decoder.hop,
    decoder.pick,
    decoder.scan_events,
    decoder.nest,
    decoder.records,
)

"""Protobuf on the wire, for messages that are too large for protobuf: columns straight from the bytes.

Two decoders answer the same calls: `_scan` (scan.c, compiled when there was a compiler at installation; the GIL
is released) and `pure` (numpy, everywhere). `POWERTUI_PURE=1` forces the second. What they share is in `types`.

    data = np.frombuffer(content, np.uint8)     (`windows` has the same calls for a file that is read piece by piece)

    hop(data, lo, hi, skip=0) -> Hop
        The fields of one message as columns, without a look inside them. LEN fields numbered `skip` are only
        counted: hop(data, lo, hi, skip=EVENTS_FIELD) gives a line's header and, as `.skipped`, its number of events.
    pick(data, lo, hi, tags) -> Picked
        The last value of each wanted field, `tag(number, wire)`, of many messages: map entries, metadata.
    scan_events(data, lo, hi, base, columns, at, limit) -> Scan
        Events of one XLine into columns from row `at` on, at most `limit` of them: go on at `.next` until it is `hi`.
        `base` (ps) is added to each offset.
    stats(data, lo, hi, field) -> [(stat metadata id, kind, value)]
        The XStats in one message (plane: 6, event metadata: 5), in file order, repeated ones included.
    event_stats(data, position) -> [...]
        The same of one event, where `columns.position` says it lies.
    scan_stats(data, positions, ids) -> StatScan
        "The values of stat X for these events": the first value of each wanted stat id, typed as found.
    nest(start, duration) -> lanes (uint8)
        For events sorted by start, longest first: how deep each lies. Partial overlaps move to the first free lane.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from powertui.data.wire.types import (
    BYTES,
    DOUBLE,
    EVENT_STATS_FIELD,
    EVENTS_FIELD,
    FIXED32,
    FIXED64,
    INT64,
    LEN,
    MAX_LANES,
    NO_VALUE,
    REF,
    STAT_KINDS,
    STR,
    UINT64,
    VARINT,
    Columns,
    Hop,
    Picked,
    RawStat,
    Scan,
    StatScan,
    tag,
    text,
)

__all__ = [
    "BYTES",
    "COMPILED",
    "DOUBLE",
    "EVENTS_FIELD",
    "EVENT_STATS_FIELD",
    "FIXED32",
    "FIXED64",
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
    "Columns",
    "Hop",
    "Picked",
    "RawStat",
    "Scan",
    "StatScan",
    "event_stats",
    "hop",
    "nest",
    "pick",
    "scan_events",
    "scan_stats",
    "stats",
    "tag",
    "text",
]

if TYPE_CHECKING:
    from powertui.data.wire.pure import event_stats, hop, nest, pick, scan_events, scan_stats, stats

WHY_PURE = "POWERTUI_PURE is set" if os.environ.get("POWERTUI_PURE") else ""
"""Why the compiled scanner is not used; empty when it is. For a person: `powertui doctor` shows it."""

if not WHY_PURE:
    try:
        from powertui.data.wire.compiled import event_stats, hop, nest, pick, scan_events, scan_stats, stats
    except ModuleNotFoundError:
        WHY_PURE = "powertui was installed without a compiler"
    except ImportError as error:  # built for another machine, or another Python
        WHY_PURE = f"the compiled scanner cannot be loaded ({error})"
if WHY_PURE:
    from powertui.data.wire.pure import event_stats, hop, nest, pick, scan_events, scan_stats, stats

COMPILED: bool = not WHY_PURE

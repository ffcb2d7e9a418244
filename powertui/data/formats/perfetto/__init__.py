"""Perfetto's own traces (`.pftrace`, `.perfetto-trace`): track events, counters, supply rails.

    Trace        1 packet
    TracePacket  8 timestamp  58 timestamp_clock_id  10 trusted_packet_sequence_id  11 track_event
                 60 track_descriptor  12 interned_data  59 trace_packet_defaults  6 clock_snapshot
                 2 process_tree  40 power_rails  50 compressed_packets
    TrackEvent   9 type  10 name_iid  23 name  11 track_uuid  30 counter_value
                 44 double_counter_value  6 legacy_event

Packets are told apart by columns; only the few that describe others (names, tracks, clocks) are
decoded one by one. Names are numbered per sequence, and a number may come to mean something else:
what counts is its last meaning before the event.

Kernel events, samples, heap profiles and the like are named and counted, not drawn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data import wire
from powertui.data.formats.perfetto.packets import PACKET
from powertui.data.formats.registry import FILE_NAMES, Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Trace
from powertui.data.wire import LEN, VARINT

NAME = "perfetto"

# What a packet's first fields may be, by number: their wire types.
_KNOWN = {
    1: (LEN,),
    2: (LEN,),
    3: (VARINT,),
    6: (LEN,),
    8: (VARINT,),
    9: (LEN,),
    10: (VARINT,),
    11: (LEN,),
    12: (LEN,),
    13: (VARINT,),
    33: (LEN,),
    34: (LEN,),
    35: (LEN,),
    36: (LEN,),
    40: (LEN,),
    41: (VARINT,),
    42: (VARINT,),
    43: (LEN,),
    44: (LEN,),
    45: (LEN,),
    50: (LEN,),
    51: (LEN,),
    58: (VARINT,),
    59: (LEN,),
    60: (LEN,),
    66: (LEN,),
    69: (LEN,),
    79: (VARINT,),
    87: (VARINT,),
    89: (LEN,),
    98: (VARINT,),
}


def sniff(head: bytes, path: str) -> int:
    """No magic: packets whose fields are a trace packet's, and which no XSpace could be."""
    if not head or head[0] != wire.tag(PACKET, LEN):
        return 0
    data = np.frombuffer(head, np.uint8)
    packets = wire.hop(data, 0, len(data))
    lo, hi = packets.ranges(PACKET)
    sure = 0
    for first, last in list(zip(lo.tolist(), hi.tolist(), strict=True))[:20]:
        fields = wire.hop(data, first, last)
        if fields.bad >= 0 and last < len(data):
            return 0
        for number, kind in zip(fields.number.tolist(), fields.wire.tolist(), strict=True):
            if number in _KNOWN and kind not in _KNOWN[number]:
                return 0
            sure += (number, kind) in (
                (8, VARINT),
                (10, VARINT),
                (79, VARINT),
                (60, LEN),
                (36, LEN),
                (33, LEN),
                (50, LEN),
                (59, LEN),
            )
    named = path.endswith(FILE_NAMES[NAME].suffixes)
    if sure:
        return min(95, 70 + 5 * sure)
    return 30 if named and len(lo) else 0


def load(source: OpenedFile, progress: Progress) -> Iterator[Trace]:
    """The whole trace: names and tracks may be described behind the events that need them."""
    from powertui.data.formats.perfetto.reader import PerfettoReader

    yield PerfettoReader(source, progress).build()

"""What the decoders are held against: protobuf's own parse of the same bytes, and bytes to hold
them against it with.
"""

from __future__ import annotations

import struct
import warnings
from types import ModuleType
from typing import Any

import numpy as np
from google.protobuf.internal import api_implementation
from hypothesis import strategies as st

from powertui.data import wire
from powertui.data.wire import pure, schemas
from powertui.data.wire.types import FIXED32, FIXED64, LEN, VARINT, Bytes, EventColumns, Scan

try:
    from powertui.data.wire import compiled
except ImportError:
    DECODERS: list[ModuleType] = [pure]
else:
    DECODERS = [pure, compiled]


# Protobuf in pure Python takes a tag that is longer than it need be for an unknown field, and has
# one NaN for all.
EXACT = api_implementation.Type() != "python"


def as_data(message: bytes) -> Bytes:
    """The bytes as a mapped file would show them: read only, and nothing readable behind the end is
    counted on.
    """
    data = np.array(bytearray(message), np.uint8)
    data.setflags(write=False)
    return data


# ── bytes ────────────────────────────────────────────────────────────────────────────────────────


def varint(value: int, pad: int = 0) -> bytes:
    """A varint of a number below 2**64, with so many bytes more than it needs (ten in all
    at most).
    """
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    for _ in range(min(pad, 10 - len(out))):
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


def field(number: int, wire_type: int, value: Any, pad: int = 0) -> bytes:
    """One field.

    `pad` lengthens the varints in it, as some writers that patch lengths in later do.
    """
    head = varint(number << 3 | wire_type, min(pad, 2) if EXACT and number < 1 << 11 else 0)
    if wire_type == VARINT:
        return head + varint(value, pad)
    if wire_type == LEN:
        return head + varint(len(value), min(pad, 2)) + value
    return head + struct.pack("<Q" if wire_type == FIXED64 else "<I", value)


INTEGERS = st.one_of(
    st.integers(0, 300),
    st.integers(0, 1 << 50),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.sampled_from([0, 127, 128, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, -1, -(1 << 63)]),
)
PAD = st.sampled_from([0, 0, 0, 0, 1, 3, 9])


def numbered(
    numbers: st.SearchStrategy[int], wire_type: int, values: st.SearchStrategy[Any]
) -> st.SearchStrategy[bytes]:
    return st.builds(field, numbers, st.just(wire_type), values, PAD)


# Fields that no message here has, and known numbers with a wire type that is not theirs: both to be
# skipped.
UNKNOWN = st.one_of(
    numbered(st.sampled_from([8, 12, 15, 16, 100, 5000, (1 << 29) - 1]), VARINT, INTEGERS),
    numbered(st.sampled_from([8, 12, 77]), LEN, st.binary(max_size=200)),
    numbered(st.sampled_from([1, 8, 3, 4, 900]), FIXED64, st.integers(0, (1 << 64) - 1)),
    numbered(st.sampled_from([1, 2, 3, 4, 12]), FIXED32, st.integers(0, (1 << 32) - 1)),
)


def joined(*fields: st.SearchStrategy[bytes], most: int = 6) -> st.SearchStrategy[bytes]:
    return st.lists(st.one_of(*fields), max_size=most).map(b"".join)


SMALL_ID = st.integers(0, 4)
TEXT = st.text(max_size=12).map(str.encode)
STATS = joined(
    numbered(st.just(1), VARINT, st.one_of(SMALL_ID, SMALL_ID, INTEGERS)),
    numbered(st.sampled_from([3, 4, 7]), VARINT, INTEGERS),
    numbered(st.just(2), FIXED64, st.integers(0, (1 << 64) - 1)),
    numbered(st.just(5), LEN, TEXT),
    numbered(st.just(6), LEN, st.binary(max_size=140)),
    UNKNOWN,
    most=4,
)
EVENTS = joined(
    numbered(st.just(1), VARINT, st.one_of(SMALL_ID, INTEGERS)),
    numbered(st.just(2), VARINT, INTEGERS),
    numbered(st.just(3), VARINT, INTEGERS),
    numbered(st.just(4), LEN, STATS),
    numbered(st.just(4), LEN, STATS),
    numbered(st.just(5), VARINT, INTEGERS),
    UNKNOWN,
    most=7,
)
LINES = joined(
    numbered(st.sampled_from([1, 3, 9, 10]), VARINT, INTEGERS),
    numbered(st.sampled_from([2, 11]), LEN, TEXT),
    numbered(st.just(4), LEN, EVENTS),
    numbered(st.just(4), LEN, EVENTS),
    numbered(st.just(4), LEN, EVENTS),
    UNKNOWN,
    most=12,
)


@st.composite
def mangled(draw: st.DrawFn, messages: st.SearchStrategy[bytes] = LINES) -> bytes:
    """A message that something happened to: cut, bits flipped, bytes lost or put in.

    Or bytes that never were one.
    """
    message = bytearray(draw(messages))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(message)))
        what = draw(st.sampled_from(["cut", "flip", "lose", "insert", "noise"]))
        if what == "cut":
            del message[at:]
        elif what == "flip" and at < len(message):
            message[at] ^= 1 << draw(st.integers(0, 7))
        elif what == "lose":
            del message[at : at + draw(st.integers(1, 3))]
        elif what == "insert":
            message[at:at] = draw(st.binary(max_size=12))
        elif what == "noise":
            message[:] = draw(st.binary(max_size=60))
    return bytes(message)


# ── what protobuf says ───────────────────────────────────────────────────────────────────────────


def parsed(name: str, message: bytes) -> Any:
    """The message, or None when protobuf refuses it."""
    from google.protobuf.message import DecodeError

    # Protobuf in pure Python raises UnicodeDecodeError for text that is no UTF-8. The one in C++
    # (4.21) stops at a tag of 0 and only warns that it did; as an error that is a SystemError.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return schemas.message(name).FromString(message)
        except (DecodeError, UnicodeDecodeError, SystemError):
            return None


def signed(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def stat_rows(stats: Any) -> list[tuple[int, int, Any]]:
    """XStats as the decoders give them: (id, kind, value)."""
    kinds = {name: kind for kind, name in wire.STAT_KINDS.items()}
    rows = []
    for stat in stats:
        which = stat.WhichOneof("value")
        if which is None:
            rows.append((stat.metadata_id, wire.NO_VALUE, 0))
            continue
        value = getattr(stat, which)
        rows.append(
            (
                stat.metadata_id,
                kinds[which.removesuffix("_value")],
                value.encode() if which == "str_value" else value,
            )
        )
    return rows


def same_stats(ours: list[tuple[int, int, Any]], theirs: list[tuple[int, int, Any]]) -> bool:
    """Equal, with doubles compared by their bits (NaN is a value like any other)."""
    return [_plain(row) for row in ours] == [_plain(row) for row in theirs]


def _plain(row: tuple[int, int, Any]) -> tuple[int, int, Any]:
    if row[1] != wire.DOUBLE:
        return row
    return (row[0], row[1], struct.pack("<d", row[2]) if EXACT or row[2] == row[2] else "NaN")


# ── what a decoder says ──────────────────────────────────────────────────────────────────────────


def scanned(
    decoder: ModuleType, data: Bytes, lo: int, hi: int, base: int = 0, limit: int = 1 << 62
) -> tuple[EventColumns, list[Scan]]:
    """A whole line through scan_events, slice by slice."""
    rows = decoder.hop(data, lo, hi, skip=wire.EVENTS_FIELD).skipped
    columns, scans, at = EventColumns.empty(rows), [], 0
    while lo < hi:
        scan = decoder.scan_events(data, lo, hi, base, columns, at, limit)
        assert scan.next > lo, "a slice must get on"
        scans.append(scan)
        lo, at = scan.next, at + scan.rows
    return EventColumns(*(column[:at] for column in columns)), scans


def everything(decoder: ModuleType, data: Bytes, lo: int, hi: int) -> list[Any]:
    """All that a decoder has to say about some bytes taken as a line, in a form that ==
    compares.
    """
    hop = decoder.hop(data, lo, hi)
    columns, scans = scanned(decoder, data, lo, hi, base=1000)
    tags = [
        wire.tag(1, VARINT),
        wire.tag(2, VARINT),
        wire.tag(2, LEN),
        wire.tag(4, LEN),
        wire.tag(1, FIXED64),
    ]
    picked = decoder.pick(data, *hop.ranges(wire.EVENTS_FIELD), tags)
    positions = np.concatenate(
        (columns.position, np.array([0, len(data), 1 << 63, (1 << 64) - 1, lo + 1], np.uint64))
    )
    stats = decoder.scan_stats(data, positions, [0, 1, 2, 3, -1])
    return [
        [np.asarray(part).tolist() for part in hop],
        [column.tolist() for column in columns],
        [[np.asarray(part).tolist() for part in scan] for scan in scans],
        [np.asarray(part).tolist() for part in picked],
        [part.tolist() for part in stats],
        [[_plain(row) for row in decoder.stats(data, lo, hi, number)] for number in (4, 6)],
        [[_plain(row) for row in decoder.event_stats(data, int(at))] for at in columns.position],
    ]

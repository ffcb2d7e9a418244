"""Perfetto traces that are large in one respect."""

from __future__ import annotations

import struct
import zlib

from tests.adversarial.sizes.protobuf import length_delimited, messages, number, varint
from tests.adversarial.sizes.shapes import Pieces, Shape


def _packet(content: bytes) -> bytes:
    return length_delimited(1, content)


def _track(uuid: int, *content: bytes) -> bytes:
    return _packet(length_delimited(60, number(1, uuid) + b"".join(content)))


def _slice(i: int, *event: bytes, uuid: int = 1, sequence: int = 1) -> bytes:
    return _packet(
        number(8, i)
        + number(10, sequence)
        + length_delimited(11, number(9, 3) + number(11, uuid) + b"".join(event))
    )


_EVENT = _packet(
    number(8, 1) + number(10, 1) + length_delimited(11, number(9, 3) + length_delimited(23, b"op"))
)
_PFTRACE = "host.pftrace"


def _unpacked(count: int) -> Pieces:
    """Packets that hold a packed one each."""
    packed = zlib.compress(_EVENT)
    yield from messages(lambda i: _packet(length_delimited(50, packed)))(count)


def _nest_of_packed(count: int) -> Pieces:
    """A packed packet in a packed packet, and so on."""
    content = _EVENT
    for _ in range(count):
        content = _packet(length_delimited(50, zlib.compress(content, 0)))
    yield content


def _bomb(count: int) -> Pieces:
    """One packet that unpacks to this many empty ones."""
    yield _packet(length_delimited(50, zlib.compress(b"\x0a\x00" * count)))


def _interned_at_once(count: int) -> Pieces:
    names = b"".join(
        length_delimited(2, number(1, i + 1) + length_delimited(2, b"n%d" % i))
        for i in range(count)
    )
    yield _packet(number(10, 1) + length_delimited(12, names)) + _EVENT


def _clock(i: int) -> bytes:
    clocks = length_delimited(1, number(1, 6) + number(2, i)) + length_delimited(
        1, number(1, 1) + number(2, 10**18 + i)
    )
    return _packet(length_delimited(6, clocks)) + _EVENT


def _own_clock(i: int) -> bytes:
    """Each event on a sequence and a clock of its own."""
    return _packet(
        number(8, i)
        + number(58, 64)
        + number(10, i)
        + length_delimited(11, number(9, 3) + length_delimited(23, b"op"))
    )


def _clock_of_event(i: int) -> bytes:
    return _packet(
        number(8, i)
        + number(58, i)
        + number(10, 1)
        + length_delimited(11, number(9, 3) + length_delimited(23, b"op"))
    )


def _counter_track(i: int) -> bytes:
    reading = _packet(
        number(8, i)
        + number(10, 1)
        + length_delimited(11, number(9, 4) + number(11, i + 1) + number(30, i))
    )
    return _track(i + 1, length_delimited(2, b"c%d" % i), length_delimited(8, b"")) + reading


def _process_track(i: int) -> bytes:
    return _track(
        i + 1, length_delimited(3, number(1, i + 1) + length_delimited(6, b"python"))
    ) + _slice(i, uuid=i + 1)


def _rail(i: int) -> bytes:
    rail = length_delimited(1, number(1, i) + length_delimited(2, b"rail%d" % i))
    return _packet(
        number(8, i)
        + length_delimited(
            40, rail + length_delimited(2, number(1, i) + number(2, i + 1) + number(3, i))
        )
    )


PERFETTO = (
    Shape(
        "perfetto: empty packets",
        _PFTRACE,
        messages(lambda i: b"\x0a\x00"),
        64 << 20,
        small=1 << 16,
    ),
    Shape(
        "perfetto: empty packets after an event",
        _PFTRACE,
        messages(lambda i: b"\x0a\x00", _EVENT),
        64 << 20,
        small=1 << 16,
    ),
    Shape("perfetto: tracks", _PFTRACE, messages(lambda i: _slice(i, uuid=i + 1)), 1_000_000),
    Shape(
        "perfetto: described tracks",
        _PFTRACE,
        messages(lambda i: _track(i + 1, length_delimited(2, b"t%d" % i)) + _slice(i, uuid=i + 1)),
        300_000,
    ),
    Shape(
        "perfetto: tracks that nobody uses",
        _PFTRACE,
        messages(lambda i: _track(i + 1, length_delimited(2, b"t%d" % i)), _EVENT),
        500_000,
    ),
    Shape(
        "perfetto: chain of tracks",
        _PFTRACE,
        messages(lambda i: _track(i + 2, number(5, i + 1)) + _slice(i, uuid=i + 2)),
        300_000,
    ),
    Shape("perfetto: processes of one name", _PFTRACE, messages(_process_track), 300_000),
    Shape(
        "perfetto: sequences", _PFTRACE, messages(lambda i: _slice(i, sequence=i + 1)), 1_000_000
    ),
    Shape(
        "perfetto: names",
        _PFTRACE,
        messages(lambda i: _slice(i, length_delimited(23, b"op%d" % i))),
        1_000_000,
    ),
    Shape(
        "perfetto: interned names",
        _PFTRACE,
        messages(
            lambda i: _packet(
                number(10, 1)
                + length_delimited(
                    12, length_delimited(2, number(1, i + 1) + length_delimited(2, b"n"))
                )
            ),
            _EVENT,
        ),
        500_000,
    ),
    Shape("perfetto: interned names of one packet", _PFTRACE, _interned_at_once, 1_000_000),
    Shape("perfetto: clock snapshots", _PFTRACE, messages(_clock), 300_000),
    Shape("perfetto: clocks", _PFTRACE, messages(_clock_of_event), 300_000),
    Shape("perfetto: clocks of sequences", _PFTRACE, messages(_own_clock), 300_000),
    Shape("perfetto: counters", _PFTRACE, messages(_counter_track), 300_000),
    Shape("perfetto: rails", _PFTRACE, messages(_rail), 300_000),
    Shape(
        "perfetto: flows",
        _PFTRACE,
        messages(lambda i: _slice(i, varint(47 << 3 | 1) + struct.pack("<Q", i // 2))),
        500_000,
    ),
    Shape("perfetto: packed packets", _PFTRACE, _unpacked, 1_000_000),
    Shape("perfetto: nest of packed packets", _PFTRACE, _nest_of_packed, 1_000, small=50),
    Shape("perfetto: a packet that unpacks to a million", _PFTRACE, _bomb, 64 << 20, small=1 << 16),
)

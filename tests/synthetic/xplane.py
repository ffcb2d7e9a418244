"""XSpace bytes from plain lists: protobuf's wire format, written by hand so that no generated code
is needed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


def _spelled(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


_MASK = (1 << 64) - 1
_LAST = [_spelled(value) for value in range(1 << 14)]
_MORE = [bytes([value & 127 | 128, value >> 7 | 128]) for value in range(1 << 14)]


def varint(value: int) -> bytes:
    """A protobuf varint, two bytes at a time.

    Negative numbers take ten bytes, as int64 fields do.
    """
    value &= _MASK
    out = b""
    while value >= 1 << 14:
        out += _MORE[value & 0x3FFF]
        value >>= 14
    return out + _LAST[value]


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value)


def blob(tag: int, value: bytes) -> bytes:
    return varint(tag << 3 | 2) + varint(len(value)) + value


def double(tag: int, value: float) -> bytes:
    return varint(tag << 3 | 1) + struct.pack("<d", value)


Value = int | float | str | bytes


@dataclass
class Event:
    """One event of a line, times in ps from the profile's zero."""

    name: str
    start: int
    duration: int
    stats: dict[str, Value] = field(default_factory=dict)


@dataclass
class Line:
    name: str
    events: Sequence[Event]
    key: int = 0
    timestamp_ns: int = 0  # the file keeps offsets from here


@dataclass
class Plane:
    name: str
    lines: Sequence[Line] = ()
    stats: dict[str, Value] = field(default_factory=dict)
    programs: dict[str, bytes] = field(default_factory=dict)  # HLO by its module's name


class Encoder:
    """One plane's numbering of names: event and stat metadata are counted from 1, as TensorFlow
    does.
    """

    def __init__(self) -> None:
        self.events: dict[str, int] = {}
        self.names: dict[str, int] = {}

    def stat(self, name: str, value: Value) -> bytes:
        key = number(1, self.names.setdefault(name, len(self.names) + 1))
        if isinstance(value, str):
            return key + blob(5, value.encode())
        if isinstance(value, bytes):
            return key + blob(6, value)
        if isinstance(value, float):
            return key + double(2, value)
        return key + (
            number(4, value) if value < 0 or name != "profile_start_time" else number(3, value)
        )

    def event(self, event: Event, zero_ps: int) -> bytes:
        body = number(1, self.events.setdefault(event.name, len(self.events) + 1))
        body += number(2, event.start - zero_ps) + number(3, event.duration)
        return body + b"".join(
            blob(4, self.stat(name, value)) for name, value in event.stats.items()
        )

    def line(self, line: Line) -> bytes:
        body = number(1, line.key) + blob(2, line.name.encode()) + number(3, line.timestamp_ns)
        return body + b"".join(
            blob(4, self.event(e, line.timestamp_ns * 1000)) for e in line.events
        )

    def plane(self, key: int, plane: Plane) -> bytes:
        body = number(1, key) + blob(2, plane.name.encode())
        body += b"".join(blob(3, self.line(line)) for line in plane.lines)
        body += b"".join(blob(6, self.stat(name, value)) for name, value in plane.stats.items())
        programs = {
            name: blob(5, self.stat("hlo_proto", hlo)) for name, hlo in plane.programs.items()
        }
        for name in programs:
            self.events.setdefault(name, len(self.events) + 1)
        body += b"".join(
            blob(
                4,
                number(1, k) + blob(2, number(1, k) + blob(2, n.encode()) + programs.get(n, b"")),
            )
            for n, k in self.events.items()
        )
        body += b"".join(
            blob(5, number(1, k) + blob(2, number(1, k) + blob(2, n.encode())))
            for n, k in self.names.items()
        )
        return body


def encode(planes: Iterable[Plane], hosts: Sequence[str] = ("synthetic",)) -> bytes:
    """A whole XSpace."""
    out = b"".join(blob(1, Encoder().plane(i, plane)) for i, plane in enumerate(planes))
    return out + b"".join(blob(4, host.encode()) for host in hosts)

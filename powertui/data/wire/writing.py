"""Small messages onto the wire: the counterpart of `hop`, for requests.

As in proto3, a field with its default value is not written.
"""

from __future__ import annotations

from powertui.data.wire.types import LEN, VARINT, tag

__all__ = ["flag", "message", "number", "text"]


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Any of the integer fields that are varints, and enums."""
    if value:
        return _varint(tag(field, VARINT)) + _varint(value)
    return b""


def flag(field: int, value: bool) -> bytes:
    """A bool field."""
    return number(field, int(value))


def message(field: int, content: bytes) -> bytes:
    """A message or bytes field; an empty one is written too, as it says that the message is
    there.
    """
    return _varint(tag(field, LEN)) + _varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    """A string field."""
    return message(field, value.encode()) if value else b""

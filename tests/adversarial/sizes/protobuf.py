"""Messages of the protobuf wire format, written by hand."""

from __future__ import annotations

from collections.abc import Callable

from tests.adversarial.sizes.shapes import PIECE_ITEMS, Pieces
from tests.synthetic.xplane import varint


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def length_delimited(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def messages(
    make: Callable[[int], bytes], before: bytes = b"", after: bytes = b""
) -> Callable[[int], Pieces]:
    """So many messages after one another."""

    def pieces(count: int) -> Pieces:
        yield before
        for lo in range(0, count, PIECE_ITEMS):
            yield b"".join(make(i) for i in range(lo, min(lo + PIECE_ITEMS, count)))
        yield after

    return pieces

"""tfevents that are large in one respect."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator

from tests.adversarial.sizes.protobuf import length_delimited, number, varint
from tests.adversarial.sizes.shapes import PIECE_ITEMS, Pieces, Shape


def _records(contents: Iterator[bytes]) -> Pieces:
    """TFRecords with these contents. Checksums are made for thousands at once."""
    from powertui.data.wire import crc32c

    while batch := list(itertools.islice(contents, PIECE_ITEMS)):
        lengths = [struct.pack("<Q", len(content)) for content in batch]
        data = b"".join((*lengths, *batch))
        sizes = [8] * len(batch) + [len(content) for content in batch]
        starts = [0, *itertools.accumulate(sizes)][:-1]
        sums = crc32c.masked(crc32c.crc32c(data, starts, sizes)).tolist()
        yield b"".join(
            length + struct.pack("<I", head) + content + struct.pack("<I", tail)
            for length, content, head, tail in zip(
                lengths, batch, sums, sums[len(batch) :], strict=False
            )
        )


def _scalar(i: int, tag: bytes) -> bytes:
    value = length_delimited(1, tag) + varint(2 << 3 | 5) + struct.pack("<f", 1.0)
    return (
        b"\x09"
        + struct.pack("<d", 1.7e9 + i)
        + number(2, i)
        + length_delimited(5, length_delimited(1, value))
    )


def _values_of_one_record(count: int) -> Pieces:
    values = b"".join(
        length_delimited(
            1, length_delimited(1, b"t%d" % i) + varint(2 << 3 | 5) + struct.pack("<f", 1.0)
        )
        for i in range(count)
    )
    yield from _records(
        iter(
            (
                _VERSION,
                b"\x09" + struct.pack("<d", 1.7e9) + number(2, 1) + length_delimited(5, values),
            )
        )
    )


TFEVENTS_NAME = "events.out.tfevents.1700000000.host"
_VERSION = b"\x09" + struct.pack("<d", 1.7e9) + length_delimited(3, b"brain.Event:2")


def _log(content: Callable[[int], bytes]) -> Callable[[int], Pieces]:
    return lambda count: _records(itertools.chain((_VERSION,), (content(i) for i in range(count))))


TFEVENTS = (
    Shape("tfevents: tags", TFEVENTS_NAME, _log(lambda i: _scalar(i, b"t%d" % i)), 500_000),
    Shape(
        "tfevents: values of one tag", TFEVENTS_NAME, _log(lambda i: _scalar(i, b"loss")), 1_000_000
    ),
    Shape("tfevents: empty records", TFEVENTS_NAME, _log(lambda i: b""), 1_000_000),
    Shape("tfevents: tags of one record", TFEVENTS_NAME, _values_of_one_record, 500_000),
)

"""Compressed files that are large in one respect."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable

from tests.adversarial.sizes.json_traces import CHROME_NAME, blanks, span
from tests.adversarial.sizes.shapes import PIECE_ITEMS, Pieces, Shape
from tests.adversarial.sizes.tfevents import TFEVENTS_NAME


def _members_of_gzip(count: int) -> Pieces:
    member = gzip.compress(b"", mtime=0)
    for lo in range(0, count, PIECE_ITEMS):
        yield member * min(PIECE_ITEMS, count - lo)


def _members_before(count: int) -> Pieces:
    yield from _members_of_gzip(count)
    yield gzip.compress(b'{"traceEvents":[' + span(0).encode() + b"]}", mtime=0)


def _members_of_a_byte(count: int) -> Pieces:
    """A trace each of whose bytes, blanks most of them, is a member of its own."""
    yield gzip.compress(b'{"traceEvents":[', mtime=0)
    blank = gzip.compress(b" ", mtime=0)
    for lo in range(0, count, PIECE_ITEMS):
        yield blank * min(PIECE_ITEMS, count - lo)
    yield gzip.compress(span(0).encode() + b"]}", mtime=0)


def _packed(content: Callable[[int], Pieces]) -> Callable[[int], Pieces]:
    def pieces(count: int) -> Pieces:
        out = io.BytesIO()
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as file:
            for piece in content(count):
                file.write(piece)
                yield out.getvalue()
                out.seek(0)
                out.truncate()
        yield out.getvalue()

    return pieces


def _nest_of_gzip(count: int) -> Pieces:
    content = b'{"traceEvents":[' + span(0).encode() + b"]}"
    for _ in range(count):
        content = gzip.compress(content, mtime=0)
    yield content


PACKED = (
    Shape("gzip: empty members", CHROME_NAME + ".gz", _members_of_gzip, 2_000_000),
    Shape("gzip: empty members before a trace", CHROME_NAME + ".gz", _members_before, 2_000_000),
    Shape("gzip: members of a byte", CHROME_NAME + ".gz", _members_of_a_byte, 2_000_000),
    Shape("gzip: empty members, power", "power.csv.gz", _members_of_gzip, 2_000_000),
    Shape("gzip: empty members, xplane", "host.xplane.pb.gz", _members_of_gzip, 2_000_000),
    Shape("gzip: empty members, tfevents", TFEVENTS_NAME + ".gz", _members_of_gzip, 2_000_000),
    Shape("gzip: blanks", CHROME_NAME + ".gz", _packed(blanks), 1 << 30, small=1 << 20),
    Shape(
        "gzip: zeros",
        "host.xplane.pb.gz",
        _packed(lambda n: iter([bytes(min(n, 1 << 20))] * max(1, n >> 20))),
        1 << 30,
        small=1 << 20,
    ),
    Shape("gzip: blanks, power", "power.csv.gz", _packed(blanks), 1 << 30, small=1 << 20),
    Shape("gzip: nest", CHROME_NAME + ".gz", _nest_of_gzip, 1_000, small=50),
)

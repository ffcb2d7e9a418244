"""The records of a listing, taken from a stream as they come: "kind size seconds path", each with a
zero byte behind it.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator

from powertui.data.elsewhere.store import RemoteState
from powertui.named_tuples import NamedTuple

# Bytes: the longest path that Linux knows (PATH_MAX), and what stands before it.
_MAX_RECORD = 4096 + 64
_MAX_LISTING = 256 << 20  # bytes unpacked: 200,000 names of 1,300 bytes
_UNPACKED_PIECE = 1 << 18
_MAX_USELESS = 4 << 20  # packed bytes more than came out of them: gzip makes names smaller
_FEED = 1 << 16  # packed bytes at once: what zlib leaves over is copied

_SIZE = re.compile(rb"[0-9]{1,18}")  # below 2^63, so that every system can count it
_SECONDS = re.compile(rb"(-?)([0-9]{1,12})(?:\.([0-9]+))?")
_MAX_NS = (1 << 63) - 1


class ListingRecord(NamedTuple):
    """One of them. `state` is None where size or time cannot be."""

    kind: str
    path: str
    state: RemoteState | None


class EndlessListing(Exception):
    """More came than any listing holds."""


def unpacked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """What a gzip stream holds, in bounded pieces, up to its end or to damage.

    Raises `EndlessListing`.
    """
    engine = zlib.decompressobj(31)  # the largest window (15), and 16 for gzip's heading
    packed = total = 0
    for piece in pieces:
        packed += len(piece)
        if packed > total + _MAX_USELESS:
            raise EndlessListing
        for at in range(0, len(piece), _FEED):
            feed = piece[at : at + _FEED]
            while feed:
                try:
                    made = engine.decompress(feed, _UNPACKED_PIECE)
                except zlib.error:
                    return
                if made:
                    total += len(made)
                    yield made
                if engine.eof:  # gzip -c makes one stream; whatever follows is no listing
                    return
                feed = engine.unconsumed_tail
    made = engine.flush()
    if made:
        yield made


def records(pieces: Iterable[bytes]) -> Iterator[ListingRecord | None]:
    """Each record; None for what is none. Raises `EndlessListing`."""
    rest = b""
    total = 0
    too_long = False  # what stands in `rest` was refused already
    for piece in pieces:
        total += len(piece)
        if total > _MAX_LISTING:
            raise EndlessListing
        *lines, rest = (rest + piece).split(b"\0") if piece.strip(b"\0") else [rest, b""]
        for line in lines:
            if not too_long:
                yield _parsed(line)
            too_long = False
        if len(rest) > _MAX_RECORD:
            if not too_long:
                yield None
            rest, too_long = b"", True


def _parsed(line: bytes) -> ListingRecord | None:
    """One record; None for what is none."""
    words = line.split(b" ", 3)
    if len(words) != 4 or len(line) > _MAX_RECORD or not words[3]:
        return None
    return ListingRecord(
        words[0].decode("ascii", "replace"), os.fsdecode(words[3]), state_from(words[1], words[2])
    )


def state_from(size: bytes, when: bytes) -> RemoteState | None:
    """From the size and the seconds, with as many digits as there are; None for what cannot be."""
    match = _SECONDS.fullmatch(when)
    if _SIZE.fullmatch(size) is None or match is None:
        return None
    seconds = int(match[1] + match[2])
    digits = match[3] or b""
    nanoseconds = seconds * 1_000_000_000 + int((digits + b"0" * 9)[:9])
    return RemoteState(int(size), max(-_MAX_NS, min(nanoseconds, _MAX_NS)))

"""Random access to a gzip file: it is inflated once more, with a point to go on from every few MB; what was read last stays.

A point is a copy of the inflater, 50 KB. So a file that unpacks to a gigabyte costs 13 MB of points and 128 MB of blocks.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from typing import Any, NamedTuple

from powertui.data.wire.stored import Stored
from powertui.errors import FileChanged

BLOCK = 1 << 22
KEPT = 32  # blocks
_FEED = 1 << 18
_GZIP = b"\x1f\x8b"


class _Point(NamedTuple):
    """Where inflating can go on."""

    engine: Any
    at: int  # in the packed file: the next byte that the engine wants
    feed: bytes  # taken from the file, not yet by the engine


class GzipBlocks:
    """The unpacked bytes of a gzip file, by place."""

    def __init__(self, content: Stored) -> None:
        self._content = content
        self._points: list[_Point] = [_Point(zlib.decompressobj(wbits=31), 0, b"")]
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def read(self, lo: int, hi: int) -> bytes:
        """These bytes; fewer where the stream ends before, or is damaged."""
        parts = []
        for number in range(lo // BLOCK, max(lo, hi - 1) // BLOCK + 1):
            begin = number * BLOCK
            parts.append(self._block(number)[max(0, lo - begin) : max(0, hi - begin)])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _block(self, number: int) -> bytes:
        known = self._blocks.get(number)
        if known is not None:
            self._blocks.move_to_end(number)
            return known
        for one in range(min(number, len(self._points) - 1), number + 1):
            if one >= len(self._points):
                return b""  # behind the end
            made = self._inflated(one)
        self._blocks[number] = made
        while len(self._blocks) > KEPT:
            self._blocks.popitem(last=False)
        return made

    def _inflated(self, number: int) -> bytes:
        point = self._points[number]
        engine, at, feed = point.engine.copy(), point.at, point.feed
        out = bytearray()
        while len(out) < BLOCK:
            if not feed:
                feed = self._fetch(at)
                at += len(feed)
                if not feed:
                    break
            try:
                out += engine.decompress(feed, BLOCK - len(out))
            except zlib.error:
                break
            if engine.eof:
                feed = engine.unused_data
                if (feed + self._fetch(at))[:2] != _GZIP:
                    break
                engine = zlib.decompressobj(wbits=31)
            else:
                feed = engine.unconsumed_tail
        else:
            if number + 1 == len(self._points):
                self._points.append(_Point(engine, at, bytes(feed)))
        return bytes(out)

    def _fetch(self, at: int) -> bytes:
        try:
            return self._content.read(at, min(at + _FEED, self._content.size)).tobytes()
        except FileChanged:
            return b""

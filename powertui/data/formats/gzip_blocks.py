"""Random access to a gzip file: it is inflated once more, with a point to go on from every few MB;
what was read last stays.

A point is a copy of the inflater, 50 KB. So a file that unpacks to a gigabyte costs 13 MB of points
and 128 MB of blocks.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict

from powertui.data.gzip_stream import GzipStream
from powertui.data.wire.stored import Stored
from powertui.errors import FileChanged

BLOCK_BYTES = 1 << 22  # unpacked, from one point to the next
CACHED_BLOCKS = 32  # the last ones read: 128 MB


class GzipBlocks:
    """The unpacked bytes of a gzip file, by place; threads that ask at once wait for each other."""

    def __init__(self, content: Stored) -> None:
        self._content = content
        self._lock = threading.Lock()
        self._points = [GzipStream(content.size, self._fetch)]  # where inflating can go on
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def read(self, lo: int, hi: int) -> bytes:
        """These bytes; fewer where the stream ends before, or is damaged."""
        parts = []
        for number in range(lo // BLOCK_BYTES, max(lo, hi - 1) // BLOCK_BYTES + 1):
            begin = number * BLOCK_BYTES
            with self._lock:
                block = self._block(number)
            parts.append(block[max(0, lo - begin) : max(0, hi - begin)])
        if len(parts) == 1:
            return parts[0]
        return b"".join(parts)

    def _block(self, number: int) -> bytes:
        cached = self._blocks.get(number)
        if cached is not None:
            self._blocks.move_to_end(number)
            return cached
        for point in range(min(number, len(self._points) - 1), number + 1):
            if point >= len(self._points):
                return b""  # behind the end
            block = self._inflated(point)
        self._blocks[number] = block
        while len(self._blocks) > CACHED_BLOCKS:
            self._blocks.popitem(last=False)
        return block

    def _inflated(self, number: int) -> bytes:
        stream = self._points[number].copy()
        out = bytearray()
        while len(out) < BLOCK_BYTES and not stream.ended:
            try:
                out += stream.unpack(BLOCK_BYTES - len(out))
            except zlib.error:
                return bytes(out)
        if number + 1 == len(self._points) and not stream.ended:
            self._points.append(stream)
        return bytes(out)

    def _fetch(self, lo: int, hi: int) -> bytes:
        try:
            return self._content.read(lo, hi).tobytes()
        except FileChanged:
            return b""

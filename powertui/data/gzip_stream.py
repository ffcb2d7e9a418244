"""Gzip members, one after the other, in pieces: for every reader of packed files the same.

zlib copies what it has not used when a member ends. So a member is fed little at first and more as
it goes on: a file of many small members costs as much as it is long, and a file of one member is
unpacked from large pieces.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

GZIP = b"\x1f\x8b"
_FIRST_FEED = 1 << 9  # bytes that a new member is given; each next time twice as many
_MAX_FEED = 1 << 18  # bytes: by then most of the time is unpacking
# Writers that flush leave one empty member for each block of data; nobody writes empty ones in a
# row. Reading so many takes 0.3 s.
MAX_EMPTY_MEMBERS = 100_000
TOO_MANY_EMPTY = (
    f"it contains {MAX_EMPTY_MEMBERS:,} empty gzip members in a row, as no "
    "recording does: the rest was left out"
)


class GzipStream:
    """Unpacks `size` packed bytes, which `read(lo, hi)` gives, from the place `at` on."""

    def __init__(self, size: int, read: Callable[[int, int], bytes], at: int = 0) -> None:
        self.ended = False  # nothing more will come
        self.cut = False  # it ended in the middle of a member
        self.problem = ""  # why it ended before its end
        self.fetched = at  # bytes of the packed file that were read
        self._size, self._read = size, read
        self._engine = zlib.decompressobj(wbits=31)
        self._feed = b""
        self._next_feed = _FIRST_FEED
        self._out = 0  # bytes that this member gave
        self._empty = 0  # members in a row that gave nothing

    @property
    def done(self) -> int:
        """How many bytes of the packed file were used."""
        return self.fetched - len(self._feed)

    def loss(self, *, damaged: bool = False) -> str:
        """What could not be unpacked, as a person is told it; empty where nothing is missing.

        `damaged`: `unpack` raised.
        """
        if damaged:
            return (
                f"the gzip stream is damaged near byte {self.fetched:,}; what "
                "came before it was read"
            )
        if self.cut:
            return (
                f"the gzip stream ends in the middle ({self._size:,} bytes): the file is "
                "truncated; what is there was read"
            )
        return self.problem

    def copy(self) -> GzipStream:
        """The same again, to go on from here another time."""
        twin = GzipStream(self._size, self._read)
        twin.__dict__.update(self.__dict__)
        twin._engine = self._engine.copy()
        return twin

    def unpack(self, most: int) -> bytes:
        """The next bytes, at most so many; none does not mean the end.

        Raises `zlib.error` where the stream is damaged.
        """
        if not self._feed and not self._fetch():
            self.ended = self.cut = True
            return self._engine.flush()
        piece = self._engine.decompress(self._feed, most)
        self._out += len(piece)
        if not self._engine.eof:
            self._feed = self._engine.unconsumed_tail
            return piece
        self._feed = self._engine.unused_data
        self._empty = 0 if self._out else self._empty + 1
        self._begin_member()
        return piece

    def _begin_member(self) -> None:
        self._next_feed = _FIRST_FEED
        if len(self._feed) < len(GZIP):
            self._fetch()
        if not self._feed.startswith(GZIP):  # the end, or padding after it
            self.ended = True
        elif self._empty >= MAX_EMPTY_MEMBERS:
            self.ended, self.problem = True, TOO_MANY_EMPTY
        else:
            self._engine = zlib.decompressobj(wbits=31)
            self._out = 0

    def _fetch(self) -> bool:
        """Read on; False at the end of the file."""
        if self.fetched >= self._size:
            return False
        more = self._read(self.fetched, min(self.fetched + self._next_feed, self._size))
        self.fetched += len(more)
        self._feed += more
        self._next_feed = min(2 * self._next_feed, _MAX_FEED)
        return bool(more)

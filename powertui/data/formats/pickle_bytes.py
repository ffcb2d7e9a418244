"""The bytes of a pickle, chunk by chunk, and what is wrong with them in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from powertui.errors import UnreadableFile


class PickleBytes:
    """A window of the file, with the place in it that is read next."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._read = 0  # bytes before the window
        self._window = b""
        self._at = 0
        self._chunks: Iterator[bytes] = iter(())

    def _more(self, count: int) -> bool:
        """Have `count` bytes in the window; False where the file ends before."""
        while len(self._window) - self._at < count:
            piece = next(self._chunks, b"")
            if not piece:
                return False
            self._read += self._at
            self._window = self._window[self._at :] + piece
            self._at = 0
        return True

    def _take(self, count: int) -> bytes:
        """The next bytes."""
        if len(self._window) - self._at < count and not self._more(count):
            raise self._cut()
        at = self._at
        self._at = at + count
        return self._window[at : at + count]

    @property
    def _position(self) -> int:
        return self._read + self._at

    def _cut(self) -> UnreadableFile:
        return UnreadableFile(
            self._path,
            f"is a pickle that is cut off at byte {self._position:,}",
            hint="Copy it again and compare the sizes; if they agree, write the snapshot again.",
        )

    def _damaged(self, what: str) -> UnreadableFile:
        return UnreadableFile(
            self._path,
            f"is a damaged pickle: {what} at byte {self._position:,}",
            hint="Copy it again and compare the sizes; if they agree, write the snapshot again.",
        )

    def _peek(self, count: int) -> bytes:
        self._more(count)
        return self._window[self._at : self._at + count]

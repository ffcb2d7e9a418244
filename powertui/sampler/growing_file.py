"""A text file that somebody else appends to: the whole lines that came since the last look.

A last line without its newline is waited for, up to the longest that a line may be; a file that is
renamed or cut is begun again. What one look takes from the file is limited: the rest is there the
next time.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from powertui.opening import open_regular

__all__ = ["MAX_LINE_BYTES", "GrowingFile"]

MAX_LINE_BYTES = 1 << 16  # bytes of one line
_HEAD_BYTES = 1 << 16  # of its begin, and of its end, which are read when it is opened
_MAX_LOOK_BYTES = 1 << 19  # bytes in one look: 10,000 rows and more


class GrowingFile:
    """Open from the start, and followed from its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._rest = b""
        self._skipping = False  # inside of a line that is longer than one may be
        self._too_long = 0
        self.head = b""  # what it begins with
        self.begun = 0  # how often it was begun again

    def open(self) -> list[bytes]:
        """Look at its head and go to its end: the last whole lines that are there already."""
        file = self._begin()
        self.head = file.read(_HEAD_BYTES)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _HEAD_BYTES))
        tail = file.read(min(size, _HEAD_BYTES))
        before, newline, self._rest = tail.rpartition(b"\n")
        self._skipping = size > _HEAD_BYTES and not newline
        return before.split(b"\n")[int(size > _HEAD_BYTES) :]  # the first may be cut

    def _begin(self) -> BinaryIO:
        self.close()
        self._file = open_regular(self._path)
        self.head = b""
        self._rest = b""
        self._skipping = False
        return self._file

    def more(self) -> list[bytes]:
        """The whole lines that were appended since the last look. Raises OSError."""
        if self._file is None:
            return []
        try:
            now = self._path.stat()
            ours = os.fstat(self._file.fileno())
            if (now.st_dev, now.st_ino) != (
                ours.st_dev,
                ours.st_ino,
            ) or now.st_size < self._file.tell():
                self._begin()
                self.begun += 1
        except FileNotFoundError:
            pass  # being rotated: what is open may still get its last lines
        came = self._file.read(_MAX_LOOK_BYTES)
        self.head += came[: _HEAD_BYTES - len(self.head)]
        *lines, self._rest = (self._rest + came).split(b"\n")
        if self._skipping and lines:
            del lines[0]  # its end
            self._skipping = False
        if len(self._rest) > MAX_LINE_BYTES:
            self._rest, self._too_long, self._skipping = (
                b"",
                self._too_long + (not self._skipping),
                True,
            )
        fitting = [line for line in lines if len(line) <= MAX_LINE_BYTES]
        self._too_long += len(lines) - len(fitting)
        return fitting

    def too_long(self) -> int:
        """How many lines were longer than one may be, since this was last asked."""
        count, self._too_long = self._too_long, 0
        return count

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

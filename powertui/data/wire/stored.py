"""The bytes of a file, read when they are needed into memory of our own.

A file is never mapped: another process may cut a mapped file at any moment, and whoever touches a
page behind the new end is killed by SIGBUS, in whatever thread and in whatever library it happens.
A read that comes back short is an ordinary error instead: `FileChanged`. What was inflated or came
through a pipe lies in memory and is handed out as it is.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np

from powertui.data.wire.types import Bytes
from powertui.errors import FileChanged
from powertui.named_tuples import NamedTuple

_MAX_READ = 1 << 30  # Linux reads no more than 2 GiB at once


def _anything(need: float) -> None:
    """No limit."""


class FileState(NamedTuple):
    """What tells one state of a file from another."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def from_status(cls, status: os.stat_result) -> FileState:
        """From what the file system says."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    @classmethod
    def at(cls, path: str) -> FileState | None:
        """The state of the file at this path; None where none can be looked at."""
        try:
            return cls.from_status(Path(path).stat())
        except OSError:
            return None


class Stored:
    """Random access to `size` bytes: of an open file, or of memory."""

    def __init__(
        self,
        path: str,
        *,
        memory: bytes | bytearray | None = None,
        file: int | None = None,
    ) -> None:
        """Exactly one of the two. The descriptor is duplicated, and closed with this object."""
        self.path = path
        self.admit: Callable[[float], None] = (
            _anything  # told how many bytes will be made of the file; may raise
        )
        self.stamp: FileState | None = None
        self._memory = np.empty(0, np.uint8)
        self._file = -1
        if file is None:
            self._memory = np.frombuffer(memory, np.uint8) if memory else self._memory
            self.size = len(self._memory)
            return
        self._file = os.dup(file)
        weakref.finalize(self, os.close, self._file)
        self.stamp = FileState.from_status(os.fstat(self._file))
        self.size = self.stamp.size

    def read(self, lo: int, hi: int, into: Bytes | None = None) -> Bytes:
        """Exactly these bytes, `0 <= lo <= hi <= size`.

        With `into` they may lie there: valid until it is filled again.
        """
        if self._file < 0:
            return self._memory[lo:hi]
        data = (
            np.empty(hi - lo, np.uint8) if into is None or len(into) < hi - lo else into[: hi - lo]
        )
        done = 0
        while done < len(data):
            try:
                count = os.preadv(self._file, [data[done : done + _MAX_READ].data], lo + done)
            except OSError as error:
                raise FileChanged(
                    self.path, f"cannot be read any more ({error.strerror or error})"
                ) from None
            if not count:
                raise FileChanged(self.path)
            done += count
        return data

    def check(self) -> None:
        """Raise `FileChanged` unless the open file is as it was: what is read from another state of
        it means nothing.
        """
        if self._file >= 0 and FileState.from_status(os.fstat(self._file)) != self.stamp:
            raise FileChanged(self.path)


def changed(path: str, stamp: FileState | None) -> bool:
    """Whether the file of this name is another than the one that was read, or is gone.

    A pipe never changes.
    """
    if stamp is None or path == "-":
        return False
    try:
        return FileState.from_status(Path(path).stat()) != stamp
    except OSError:
        return True

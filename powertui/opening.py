"""Opening what somebody named, without waiting for ever: a pipe that nobody writes to, a device, a
file of /proc that blocks.

A regular file is opened as always. A pipe is read as its writer delivers, and given up after a
silence of `SILENCE_S`, the one place that sets it. open() itself never blocks.
"""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import threading
import time
from collections.abc import Callable
from typing import BinaryIO, TypeVar, cast

__all__ = ["NotAFileError", "open_for_reading", "open_pipe_for_writing", "open_regular", "within"]

_Answer = TypeVar("_Answer")

SILENCE_S = 15.0  # of a pipe: a command behind it may have to log in somewhere first
_READER_LOOK_PERIOD_S = (
    0.05  # between two looks for a reader: the kernel does not say when one comes
)


class NotAFileError(OSError):
    """A pipe, a device or a socket: it has no end that could be followed, and no place to go back
    to.
    """


def open_for_reading(path: str | os.PathLike[str], silence_s: float | None = None) -> BinaryIO:
    """The file for reading.

    Raises OSError, also when it is read and nothing comes for so long (`SILENCE_S`).
    """
    silence_s = SILENCE_S if silence_s is None else silence_s
    fd = _open_at_once(path)
    try:
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if stat.S_ISREG(status.st_mode) and status.st_size:
            return os.fdopen(fd, "rb")
        regular = stat.S_ISREG(status.st_mode)
        return cast(BinaryIO, io.BufferedReader(_PatientReader(fd, 0.0 if regular else silence_s)))
    except BaseException:
        os.close(fd)
        raise


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """A regular file for reading.

    Raises OSError for anything else: that could neither be measured nor read twice.
    """
    fd = _open_at_once(path)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise NotAFileError(errno.EINVAL, "it is not a regular file")
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def open_pipe_for_writing(path: str | os.PathLike[str]) -> BinaryIO:
    """A pipe or a device for writing.

    Raises OSError when nobody has opened the pipe for reading within `SILENCE_S`.
    """
    deadline = time.monotonic() + SILENCE_S
    while True:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.ENXIO or not stat.S_ISFIFO(os.stat(path).st_mode):  # noqa: PTH116
                raise
            if time.monotonic() >= deadline:
                raise OSError(
                    errno.ETIMEDOUT, f"nobody read from the pipe for {SILENCE_S:g} s"
                ) from None
            time.sleep(_READER_LOOK_PERIOD_S)
            continue
        os.set_blocking(fd, True)
        return os.fdopen(fd, "wb")


def _open_at_once(path: str | os.PathLike[str]) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENXIO:  # "No such device or address" hides what it is
            raise OSError(errno.ENXIO, "it is a socket or a device that nothing serves") from None
        raise


def within(seconds: float, call: Callable[[], _Answer]) -> _Answer:
    """What a call returns or raises. OSError when it takes longer: a file server that does not
    answer holds even open() up.

    The thread that is stuck there is left behind; it keeps no process from ending.
    """
    answers: list[_Answer] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="powertui-opening", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not answers:
        raise OSError(errno.ETIMEDOUT, f"it did not answer for {seconds:g} s")
    return answers[0]


class _PatientReader(io.RawIOBase):
    """Reads what does not block, and waits so long for more."""

    def __init__(self, fd: int, silence_s: float) -> None:
        self._fd, self._silence_s = fd, silence_s

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        fifo = stat.S_ISFIFO(os.fstat(self._fd).st_mode)
        while True:
            if fifo and not self._ready():  # without a writer its end would be read at once
                raise self._silent()
            try:
                data = os.read(self._fd, len(buffer))
            except BlockingIOError:
                if fifo or not self._ready():
                    raise self._silent() from None
                continue
            buffer[: len(data)] = data
            return len(data)

    def _ready(self) -> bool:
        return bool(select.select([self._fd], [], [], self._silence_s)[0])

    def _silent(self) -> OSError:
        if not self._silence_s:
            return OSError(errno.EAGAIN, "it never ends: it waits for more data")
        return OSError(errno.ETIMEDOUT, f"nothing came through it for {self._silence_s:g} s")

    def close(self) -> None:
        if not self.closed:
            os.close(self._fd)
        super().close()

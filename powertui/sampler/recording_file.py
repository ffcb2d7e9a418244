"""The file that a recording is appended to: one writer, every row at once on its way to the disk.

A row is written with one system call, so that a killed recorder loses at most the row it was about to write. What the
disk does not take (full, folder gone, server away) stays in memory and is tried again with each row; when the file was
renamed under us, a new one of the same name is begun. What is left at the end goes to a file in the temporary folder.
Everything of this kind is said once, through `say`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from powertui.errors import UsageError
from powertui.plain import plain
from powertui.sampler.csv_format import COLUMNS, MAGIC, NOTE, ended_line, head, mark_row, source_line
from powertui.sampler.source import Info, Stamp

__all__ = ["RecordingFile"]

_KEEP = 200_000  # rows in memory while the disk takes none: two days at 1 Hz
_LOOK_EVERY = 1.0  # s between looks at whether the path still is our file
_TAIL = 65536


class RecordingFile:
    """Opened for appending and locked. Not for two threads at once."""

    def __init__(self, path: str | os.PathLike[str], interval: float, say: Callable[[str], None] = lambda _: None) -> None:
        self.path = Path(path)
        self.interval = interval
        self.rows = 0  # handed to write()
        self.lost = 0  # could not be kept anywhere
        self.faults = 0  # kinds of trouble so far: 0 means that everything went well
        self.rescued: Path | None = None
        self.rescued_rows = 0
        self.say = say
        self._infos: dict[str, Info] = {}
        self._begun = False  # the head is written with the first row, when all sources are known
        self._pending: deque[bytes] = deque()
        self._sent = 0  # bytes of the first pending row that are already in the file
        self._trouble = ""
        self._moved = False
        self._looked = time.monotonic()
        self._fd = self._open_first()

    # opening

    def _open_first(self) -> int:
        try:
            fd = self._open()
        except OSError as error:
            raise UsageError(f"{self.path} cannot be written: {error.strerror}.", hint="Name another file with -o.") from None
        try:
            self._check_ours(fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _open(self) -> int:
        fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise UsageError(
                f"{self.path} is being written by another recorder.", hint="Stop that one, or name another file with -o."
            ) from None
        except OSError as error:  # a file system without locks
            if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL):
                os.close(fd)
                raise
        return fd

    def _check_ours(self, fd: int) -> None:
        """Continue a recording, mend its cut last line, and refuse to append to anything else."""
        size = os.fstat(fd).st_size
        if size == 0:
            return
        if not os.pread(fd, len(MAGIC), 0) == MAGIC.encode():
            raise UsageError(f"{self.path} exists and is no powertui recording.", hint="Name another file with -o.")
        if _columns(fd) not in (b"", COLUMNS.encode()):
            raise UsageError(f"{self.path} has other columns than this version writes.", hint="Name another file with -o.")
        tail = os.pread(fd, _TAIL, max(0, size - _TAIL))
        cut = tail.rpartition(b"\n")[2]
        if cut:
            os.ftruncate(fd, size - len(cut))
            os.write(fd, b"# partial: " + plain(cut.decode(errors="replace"), 300).encode() + b"\n")

    def _head(self, fd: int) -> bytes:
        text = head(self.interval, self._infos.items())
        return (text if _columns(fd) else text + COLUMNS + "\n").encode()

    # writing

    def add_source(self, name: str, info: Info) -> None:
        """Say in the file what was found. Comes before the first row of that source."""
        self._infos[name] = info
        if self._begun:
            self._append(source_line(name, info).encode())

    def write(self, row: str) -> None:
        """Append one row that ends in a newline. Never raises for what the disk does."""
        if not self._begun:
            self._begun = True
            self._pending.append(self._head(self._fd))
        self.rows += 1
        self._append(row.encode(errors="replace"))

    def _append(self, line: bytes) -> None:
        if len(self._pending) >= _KEEP:
            self.lost += 1
        else:
            self._pending.append(line)
        self.flush()

    def flush(self) -> bool:
        """Try to bring everything that waits into the file. True when nothing waits any more."""
        self._look()
        if self._moved and os.fstat(self._fd).st_nlink == 0:
            return not self._pending  # the file has no name any more: what is written there is gone
        waited = len(self._pending)
        try:
            while self._pending:
                line = self._pending[0]
                self._sent += os.write(self._fd, line[self._sent :])
                if self._sent >= len(line):
                    self._pending.popleft()
                    self._sent = 0
        except OSError as error:
            self._fault(f"{self.path}: {error.strerror}. Rows are kept in memory until they can be written.")
            return False
        if self._trouble and not self._moved:
            self._recover(waited)
        return True

    def _fault(self, text: str) -> None:
        if text != self._trouble:
            self._trouble = text
            self.faults += 1
            self.say(text)

    def _recover(self, waited: int) -> None:
        self._trouble = ""
        text = f"writing to {self.path} works again; {waited} rows had waited"
        if self.lost:
            text += f", {self.lost} rows could not be kept"
        self.say(text)
        with contextlib.suppress(OSError):
            os.write(self._fd, mark_row(NOTE, Stamp.now(), text).encode())

    def _look(self) -> None:
        """Is the path still our file? A log rotation, a deleted or an unmounted folder."""
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY and not self._moved:
            return
        self._looked = now
        try:
            there, ours = self.path.stat(), os.fstat(self._fd)
            same = (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)
        except FileNotFoundError:
            same = False
        except OSError:
            return  # it cannot be told: go on with what is open
        if same:
            self._moved = False
            return
        self._reopen()

    def _reopen(self) -> None:
        try:
            fd = self._open()
            self._check_ours(fd)
            os.write(fd, self._head(fd))
        except (OSError, UsageError) as error:
            self._moved = True
            why = error.message if isinstance(error, UsageError) else f"it cannot be made again: {error.strerror}"
            kept = os.fstat(self._fd).st_nlink > 0
            self._fault(
                f"{self.path} was renamed or removed while recording; {why}. "
                + ("Rows go on into the renamed file." if kept else "Rows are kept in memory.")
            )
            return
        os.close(self._fd)
        self._fd, self._sent, self._moved = fd, 0, False
        if self._trouble:
            self._recover(len(self._pending))
        else:
            self.faults += 1
            self.say(f"{self.path} was renamed or removed while recording; a new file of that name continues it.")

    # the end

    def close(self, reason: str) -> None:
        """Write what waits, say that this is the end, unlock. Rows that have nowhere to go are rescued."""
        if not self._begun:
            if os.fstat(self._fd).st_size == 0:  # nothing was recorded: leave nothing behind
                with contextlib.suppress(OSError):
                    self.path.unlink()
            os.close(self._fd)
            return
        self._looked = -_LOOK_EVERY
        done = self.flush()
        if done and not (self._moved and os.fstat(self._fd).st_nlink == 0):
            with contextlib.suppress(OSError):
                os.write(self._fd, ended_line(self.rows, reason).encode())
        if self._pending:
            self._rescue()
        os.close(self._fd)

    def _rescue(self) -> None:
        try:
            fd, name = tempfile.mkstemp(prefix="powertui-rescued-", suffix=".csv")
            with os.fdopen(fd, "wb") as file:
                text = head(self.interval, self._infos.items()) + COLUMNS + "\n"
                file.write(text.encode() + b"".join(self._pending))
        except OSError:
            self.lost += len(self._pending)
            self.say(f"{len(self._pending)} rows could not be written anywhere and are lost.")
        else:
            self.rescued, self.rescued_rows = Path(name), len(self._pending)
            self.say(f"{len(self._pending)} rows that {self.path} did not take are in {name}.")
        self._pending.clear()


def _columns(fd: int) -> bytes:
    """The first line that is no comment: the column names. Empty when there is none yet."""
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        return b""
    offset, rest = 0, b""
    while chunk := os.pread(fd, _TAIL, offset):
        offset += len(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line and not line.startswith(b"#"):
                return line
    return b""

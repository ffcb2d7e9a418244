"""The file that a recording is appended to: one writer, every row at once on its way to the disk.

A row is written with one system call, so that a killed recorder loses at most the row it was about
to write. What the disk does not take (full, folder gone, server away) stays in memory and is tried
again with each row. Twice a second the file is looked at: one that was cut is begun anew where it
was cut, for one that was renamed, removed or replaced a new one of that name is begun. Rows that no
file took by the end go to one in the temporary folder. Everything of this kind is said once,
through `say`, and `held` counts what the file really holds.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from powertui.errors import UsageError
from powertui.plain import plain
from powertui.sampler.csv_format import (
    COLUMNS,
    MAGIC,
    NOTE,
    ended_line,
    head,
    mark_row,
    source_line,
)
from powertui.sampler.own_file import open_own
from powertui.sampler.recording_descriptor import (
    CHUNK_BYTES,
    column_line,
    continue_recording,
    is_regular,
    name_now,
    row_count,
    sync_folder,
    unlock_and_close,
)
from powertui.sampler.source import Channel, Info, Stamp

__all__ = ["RecordingFile"]

_MAX_PENDING_ROWS = 200_000  # in memory while the disk takes none: two days at 1 Hz
_LOOK_PERIOD_S = 0.5  # between looks at whether the path still is our file
_MIN_SYNC_PERIOD_S = 1.0  # between two waits for the disk, however often values come and go
# By so many bytes at its start the file is known again: they hold the moment at which it was made.
_START_BYTES = 256
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
_NO_SYNC = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EROFS)


class RecordingFile:
    """Opened for appending and locked. Not for two threads at once."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        interval: float,
        say: Callable[[str], None] = lambda _: None,
        *,
        sync: float | None = None,
    ) -> None:
        self.path = Path(path)
        self.interval = interval
        self.sync_every = sync  # s between waits for the disk; None: at gaps and at the end
        self.rows = 0  # handed to write()
        self.place = self.path  # where the file is: after the end, where it was moved to
        self.removed = False  # at its end, as nothing had been recorded
        self.held = 0  # rows of this recording that it holds
        self.earlier = 0  # rows that it held before
        self.lost = 0  # rows that nothing could hold
        self.faults = 0  # kinds of trouble so far: 0 means that everything went well
        self.rescued: Path | None = None
        self.say = say
        self._infos: dict[str, Info] = {}
        self._begun = False  # the head is written with the first row, when all sources are known
        self._headed = False  # this file has our head
        self._pending: deque[bytes] = deque()
        self._sent = 0  # bytes of the first pending line that are already in the file
        self._trouble = ""
        self._away = False  # the path is not our file, and nothing can be put there
        self._foreign = False  # our file holds something else now
        self._size = 0  # bytes up to the end of what we wrote last
        self._start_bytes = b""  # what the file begins with
        self._last_bytes = b""  # what we wrote last
        self._mixed = False  # others wrote into this file too, or cut it in the moment of a write
        self._dirty = False  # something was written since the last wait for the disk
        self._sync_due = False  # somebody asked for such a wait
        self._sync_failed = False
        self._linked = False  # the name of the file is on the disk too
        self._looked_at = self._synced_at = time.monotonic()
        self._fd = -1
        self._adopt(self._open_first())

    # opening

    def _open_first(self) -> int:
        try:
            fd = self._open()
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be written: {error.strerror}.",
                hint="Name another file with -o.",
            ) from None
        try:
            continue_recording(self.path, fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _open(self) -> int:
        """The file of our name, locked; our own descriptor when that file is open already."""
        fd = open_own(self.path)
        if self._fd >= 0 and os.path.samestat(os.fstat(fd), os.fstat(self._fd)):
            os.close(fd)  # moved away and back: the lock that is in the way is our own
            return self._fd
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise UsageError(
                f"{self.path} is being written by another recorder.",
                hint="Stop that one, or name another file with -o.",
            ) from None
        except OSError as error:  # a file system without locks
            if error.errno not in _NO_LOCKS:
                os.close(fd)
                raise
        return fd

    def _adopt(self, fd: int) -> None:
        """Go on in this file, which holds nothing of this recording yet."""
        if self._fd not in (-1, fd):
            unlock_and_close(self._fd)
        self._fd, self._sent = fd, 0
        if self._pending and self._pending[0].startswith(MAGIC.encode()):
            self._pending.popleft()  # the head of the file before, which did not take it
        self._away = self._foreign = self._headed = self._linked = False
        self._size = os.fstat(fd).st_size if is_regular(fd) else 0
        self._start_bytes = os.pread(fd, _START_BYTES, 0) if self._size else b""
        self._last_bytes = b""
        self.held = 0
        self.earlier = row_count(fd) if self._size else 0

    def _head(self) -> bytes:
        text = head(self.interval, self._infos.items())
        return (text if column_line(self._fd) else text + COLUMNS + "\n").encode()

    # writing

    def add_source(self, name: str, info: Info) -> None:
        """Describe a source in the file. Comes before the first row of that source."""
        self._infos[name] = info
        if self._begun:
            self._append(source_line(name, info).encode())

    def add_channels(self, name: str, channels: Iterable[Channel]) -> None:
        """Describe channels that a source has got since. Comes before their first row."""
        info = self._infos[name]
        new = tuple(channels)
        self._infos[name] = replace(info, channels=(*info.channels, *new))
        if self._begun:
            self._append(source_line(name, replace(info, channels=new)).encode())

    def write(self, row: str) -> None:
        """Append one row that ends in a newline. Never raises for what the disk does."""
        self._begun = True
        self.rows += 1
        self._append(row.encode(errors="replace"))

    def _append(self, line: bytes) -> None:
        if len(self._pending) >= _MAX_PENDING_ROWS:
            self.lost += 1
        else:
            self._pending.append(line)
        self.flush()

    @property
    def _nowhere(self) -> bool:
        """Whether a row in the open file would be gone, or spoil what somebody else put there."""
        return self._foreign or (self._away and os.fstat(self._fd).st_nlink == 0)

    def flush(self) -> bool:
        """Try to bring everything that waits into the file.

        True when nothing waits any more. Also to be called between rows.
        """
        self._look()
        if self._nowhere:
            return not self._pending
        waited = len(self._pending)
        try:
            if self._begun and not self._headed:
                self._headed = True
                self._pending.appendleft(self._head())
            while self._pending:
                self._push(self._pending[0])
                self._pending.popleft()
            self._settle()
        except OSError as error:
            self._fault(
                f"{self.path}: {error.strerror}. Rows are kept in memory until they can be written."
            )
            return False
        if self._trouble and not self._away:
            self._recover(waited)
        return True

    def _push(self, line: bytes) -> None:
        """Write one line to its end; what was written of it when the disk refuses is remembered."""
        while self._sent < len(line):
            sent = os.write(self._fd, line[self._sent :])
            self._sent += sent
            self._dirty = True
            if not is_regular(self._fd):
                continue
            end = os.lseek(self._fd, 0, os.SEEK_CUR)  # an appending write leaves it at its end
            self._mixed = self._mixed or end != self._size + sent
            if len(self._start_bytes) < _START_BYTES:
                self._start_bytes = os.pread(self._fd, _START_BYTES, 0)
            self._size, self._last_bytes = end, line[: self._sent]
        self._sent = 0
        self.held += line[:1].isdigit()

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
        self._pending.append(mark_row(NOTE, Stamp.now(), text).encode())
        self.flush()

    # the disk

    def sync(self) -> None:
        """Have what was written reach the disk: then a crash of the machine loses nothing."""
        self._sync_due = self._dirty
        self.flush()

    def _settle(self, *, now: bool = False) -> None:
        """Wait for the disk, if it is time for that."""
        since_sync = time.monotonic() - self._synced_at
        asked = self._sync_due and since_sync >= _MIN_SYNC_PERIOD_S
        regular = self.sync_every is not None and since_sync >= self.sync_every
        if not self._dirty or not (asked or regular or now):
            return
        self._synced_at = time.monotonic()
        self._dirty = False
        self._sync_due = False
        try:
            os.fsync(self._fd)
            if not self._linked:  # the name of a new file is on the disk when its folder is
                self._linked = True
                sync_folder(self.path.parent)
        except OSError as error:
            if error.errno not in _NO_SYNC and not self._sync_failed:
                self._sync_failed = True
                self.faults += 1
                self.say(
                    f"{self.path}: {error.strerror} while saving. Rows may be lost if this "
                    "machine crashes."
                )

    # what others do to the file

    def _look(self) -> None:
        """See whether the path is still our file and holds what we wrote; else go on elsewhere."""
        now = time.monotonic()
        # Asked before every row: one that follows a cut would be glued to it.
        shorter = os.fstat(self._fd).st_size < self._size
        must_look = shorter or self._away or self._foreign
        if now - self._looked_at < _LOOK_PERIOD_S and not must_look:
            return
        self._looked_at = now
        try:
            ours = os.fstat(self._fd)
            same = os.path.samestat(self.path.stat(), ours)
        except FileNotFoundError:
            same = False
        except OSError:
            return  # nobody knows: go on with what is open
        if not same:
            self._reopen()
        else:
            self._away = False
            if not self._intact():
                self._continue_after_cut()

    def _intact(self) -> bool:
        """Whether what we wrote is still where we wrote it.

        Rows that others append are no harm.
        """
        if not is_regular(self._fd):
            return True
        if os.fstat(self._fd).st_size < self._size:
            return False
        start, last = self._start_bytes, self._last_bytes
        if os.pread(self._fd, len(start), 0) != start:
            return False
        return os.pread(self._fd, len(last), self._size - len(last)) == last

    def _continue_after_cut(self) -> None:
        """Go on in a file that was cut, or into which something else was written."""
        earlier = self.earlier
        before = self.earlier + self.held
        try:
            self._clear_scraps()
            continue_recording(self.path, self._fd)
        except (OSError, UsageError) as error:
            self._foreign = True
            why = error.strerror if isinstance(error, OSError) else "it is not a recording any more"
            self._fault(
                f"{self.path} was overwritten while recording; {why}. Rows are kept in memory."
            )
            return
        self._adopt(self._fd)
        remaining = self.earlier  # rows, whoever wrote them
        self.earlier = min(remaining, earlier)
        self.held = remaining - self.earlier
        self.faults += 1
        gone = max(before - remaining, 0)
        self.say(
            f"{self.path} was cut while recording: {gone} of its {before} rows are gone. It is "
            "continued."
        )

    def _clear_scraps(self) -> None:
        """Clear what remains of a file that was emptied.

        That is a piece of its first line, or the one row that was just being written.
        """
        content = os.pread(self._fd, CHUNK_BYTES, 0)
        if self._last_bytes[:1].isdigit() and content == self._last_bytes:
            self._pending.appendleft(self._last_bytes)
        elif not MAGIC.encode().startswith(content):
            return
        os.ftruncate(self._fd, 0)

    def _reopen(self) -> None:
        gone, moved = self._what_happened()
        try:
            fd = self._open()
            if fd == self._fd:
                self._away = False
                return
            try:
                continue_recording(self.path, fd)
            except BaseException:
                unlock_and_close(fd)
                raise
        except (OSError, UsageError) as error:
            self._away = True
            if isinstance(error, UsageError):
                why = error.message
            else:
                why = f"it cannot be created again: {error.strerror}."
            where = "are kept in memory." if gone else "go on into it."
            self._fault(f"{self.path} {moved} while recording; {why} Rows {where}")
            return
        held = self.held
        self._adopt(fd)
        if not self._trouble:
            self.faults += gone  # one that was rotated holds what it held
            self.say(
                f"{self.path} {moved} while recording, with {held} rows; a new file with that "
                "name continues it."
            )

    def _what_happened(self) -> tuple[bool, str]:
        """Whether our file has no name any more, and what became of it, in words."""
        if os.fstat(self._fd).st_nlink == 0:
            return True, "was replaced" if self.path.exists() else "was removed"
        name = name_now(self._fd)
        return False, f"was renamed to {plain(name, 300)}" if name else "was renamed"

    # the end

    def close(self, reason: str) -> None:
        """Write what waits, note that this is the end, unlock.

        Rows that have nowhere to go are rescued.
        """
        if self._begun:
            self._looked_at = -_LOOK_PERIOD_S
            complete = self.flush()
            if self._nowhere:
                self.held = 0
            else:
                self._finish(complete, reason)
            if self._pending:
                self._rescue()
        else:
            self._remove_empty()
        unlock_and_close(self._fd)

    def _remove_empty(self) -> None:
        """Leave nothing behind where nothing was recorded."""
        with contextlib.suppress(OSError):
            ours = os.fstat(self._fd)
            if ours.st_size == 0 and os.path.samestat(self.path.stat(), ours):
                self.path.unlink()
                self.removed = True

    def _finish(self, complete: bool, reason: str) -> None:
        if self._mixed or (is_regular(self._fd) and os.fstat(self._fd).st_size != self._size):
            self.held = row_count(self._fd) - self.earlier
        if complete:
            with contextlib.suppress(OSError):
                os.write(self._fd, ended_line(self.held, reason).encode())
                self._dirty = True
        self._settle(now=True)
        if self._away:
            self.place = Path(name_now(self._fd) or self.path)

    def _rescue(self) -> None:
        rows = [line for line in self._pending if line[:1].isdigit()]
        self._pending.clear()
        if not rows:
            return
        try:
            fd, name = tempfile.mkstemp(prefix="powertui-rescued-", suffix=".csv")
            with os.fdopen(fd, "wb") as file:
                text = head(self.interval, self._infos.items()) + COLUMNS + "\n"
                file.write(text.encode() + b"".join(rows))
        except OSError:
            self.lost += len(rows)
            self.say(f"{len(rows)} rows could not be written anywhere and are lost.")
        else:
            self.rescued = Path(name)
            self.say(f"{len(rows)} rows that {self.path} did not accept are in {name}.")

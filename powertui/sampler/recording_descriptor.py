"""What an open recording holds, whoever wrote it; how it is continued, and how it is let go."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path

from powertui.errors import UsageError
from powertui.plain import plain
from powertui.sampler.csv_format import COLUMNS, MAGIC

__all__ = [
    "CHUNK_BYTES",
    "column_line",
    "continue_recording",
    "is_regular",
    "name_now",
    "row_count",
    "sync_folder",
    "unlock_and_close",
]

CHUNK_BYTES = 1 << 20  # read at once while rows are counted
_TAIL_BYTES = 65536  # in which a cut last line is looked for: a row has some hundred bytes
_HEADING_BYTES = 1 << 16  # read at once while the column names are looked for: most headings fit


def is_regular(fd: int) -> bool:
    return stat.S_ISREG(os.fstat(fd).st_mode)


def sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def unlock_and_close(fd: int) -> None:
    """Unlock and close.

    A forked child may hold a copy of the descriptor: the lock must not live on in it.
    """
    with contextlib.suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)


def row_count(fd: int) -> int:
    """Lines that are rows: readings, marks and notes."""
    rows, offset, at_line_start = 0, 0, True
    while chunk := os.pread(fd, CHUNK_BYTES, offset):
        offset += len(chunk)
        lines = chunk.split(b"\n")
        if not at_line_start:
            del lines[0]  # the end of a line that was counted
        rows += sum(line[:1].isdigit() for line in lines)
        at_line_start = chunk.endswith(b"\n")
    return rows


def column_line(fd: int) -> bytes:
    """The first line that is no comment: the column names. Empty when there is none yet."""
    if not is_regular(fd):
        return b""
    offset, rest = 0, b""
    while chunk := os.pread(fd, _HEADING_BYTES, offset):
        offset += len(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line and not line.startswith(b"#"):
                return line
    return b""


def continue_recording(path: Path, fd: int) -> None:
    """Prepare an open file to be continued: mend its cut last line.

    Raises `UsageError` where it is no recording: nothing is appended to another file.
    """
    size = os.fstat(fd).st_size
    if size == 0:
        return
    if os.pread(fd, len(MAGIC), 0) != MAGIC.encode():
        raise UsageError(
            f"{path} exists and is not a powertui recording.",
            hint="Name another file with -o.",
        )
    if column_line(fd) not in (b"", COLUMNS.encode()):
        raise UsageError(
            f"{path} has different columns from those that this version writes.",
            hint="Name another file with -o.",
        )
    tail = os.pread(fd, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
    cut_line = tail.rpartition(b"\n")[2]
    if cut_line:
        os.ftruncate(fd, size - len(cut_line))
        comment = f"# partial: {plain(cut_line.decode(errors='replace'), 300)}\n"
        os.write(fd, comment.encode())


def name_now(fd: int) -> str:
    """Where the open file is; "" where the system does not say."""
    try:
        return str(Path(f"/proc/self/fd/{fd}").readlink())
    except OSError:
        return ""

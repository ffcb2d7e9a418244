"""Whether a profile that a server wrote is complete, and what becomes of one that is not.

A server writes under the final name from the first byte on, so a full disk or a killed program
leaves a file that looks like a profile and ends in the middle.
"""

from __future__ import annotations

import contextlib
import stat
import time
from pathlib import Path
from typing import BinaryIO, Literal

__all__ = ["UNFINISHED", "ProfileState", "file_state", "remove", "set_aside", "settled_state"]

ProfileState = Literal["absent", "incomplete", "complete"]

# appended to the name of a file that ends in the middle: no program takes it for a profile
UNFINISHED = ".part"
_MAX_FIELDS = (
    1_000_000  # a profile of a thousand hosts has some ten thousand; more are not walked through
)
_MAX_VARINT_BYTES = 10  # seven bits each: no number of 64 bits takes more
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5  # wire types


def file_state(path: Path) -> ProfileState:
    """Look at the ends of the outermost fields alone, which takes no time however large the file
    is.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return "absent"
        with path.open("rb") as file:
            return "complete" if _ends_with_a_field(file) else "incomplete"
    except OSError:
        return "absent"


def settled_state(path: Path, quiet_s: float) -> ProfileState:
    """The state of a file that may still grow: "absent" when it does, since nobody can say yet."""
    state = file_state(path)
    if state != "incomplete":
        return state
    size = _size(path)
    time.sleep(quiet_s)
    state = file_state(path)
    grows = state == "incomplete" and _size(path) != size
    return "absent" if grows else state


def set_aside(path: Path) -> Path | None:
    """Rename an incomplete file, so that nothing takes it for a profile.

    None where that is not allowed.
    """
    aside = path.with_name(path.name + UNFINISHED)
    try:
        path.rename(aside)
    except OSError:
        return None
    return aside


def remove(path: Path) -> bool:
    """Remove an incomplete file. False where that is not allowed."""
    with contextlib.suppress(OSError):
        path.unlink()
        return True
    return False


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _ends_with_a_field(file: BinaryIO) -> bool:
    size = file.seek(0, 2)
    position = file.seek(0)
    for _ in range(_MAX_FIELDS):
        if position >= size:
            break
        tag = _varint(file)
        kind = tag & 7 if tag is not None else None
        length: int | None
        if kind == _VARINT:
            length = 0 if _varint(file) is not None else None
        elif kind == _BYTES:
            length = _varint(file)
        else:
            length = {_FIXED_64: 8, _FIXED_32: 4}.get(kind) if kind is not None else None
        if length is None or length > size:
            return False
        position = file.seek(length, 1)
    return 0 < position == size


def _varint(file: BinaryIO) -> int | None:
    """None where the file ends before the number does."""
    value = 0
    for index in range(_MAX_VARINT_BYTES):
        byte = file.read(1)
        if not byte:
            return None
        value |= (byte[0] & 127) << 7 * index
        if byte[0] < 128:
            return value
    return None

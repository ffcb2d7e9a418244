"""The first and the last record of a tfevents file, without those between: when a program began, and was last heard of."""

from __future__ import annotations

import functools
import os
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from powertui.data.formats.crc32c import crc32c, masked
from powertui.data.formats.filenames import split_events
from powertui.data.formats.tfevents import wall_of

_HEAD = 1 << 14  # bytes at the beginning: the header and the first records; a graph behind them is not read
_TAIL = 1 << 16  # bytes at the end: a record longer than this hides the last one, and then nothing is told of it
_FRAME = 16


class Ends(NamedTuple):
    """Wall times (Unix ns) and steps of the first and the last record that is no header; None where they are not found."""

    first_ns: int | None
    last_ns: int | None
    first_step: int | None
    last_step: int | None


def ends(path: str) -> Ends:
    """Of this file, as it is now. A file that cannot be read has none."""
    try:
        status = Path(path).stat()
    except OSError:
        return Ends(None, None, None, None)
    return _ends(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=4096)
def _ends(path: str, size: int, _: int) -> Ends:
    try:
        with Path(path).open("rb") as stream:
            head = stream.read(_HEAD)
            stream.seek(max(0, size - _TAIL), os.SEEK_SET)
            tail = stream.read(_TAIL)
    except OSError:
        return Ends(None, None, None, None)
    first = _first(head)
    last = _last(tail, complete=size <= _TAIL)
    named = split_events(Path(path).name)
    begins = first[0] if first is not None else named[0] * 1_000_000_000 if named is not None and size else None
    return Ends(
        begins,
        last[0] if last is not None else None,
        first[1] if first is not None else None,
        last[1] if last is not None else None,
    )


def _first(head: bytes) -> tuple[int, int | None] | None:
    at = 0
    while at + 12 <= len(head):
        length = struct.unpack_from("<Q", head, at)[0]
        record = memoryview(head)[at + 12 : at + 12 + min(length, _HEAD)]
        wall = wall_of(record)
        if wall is not None and not _is_header(record):
            return wall, _step(record)
        at += _FRAME + length
    return None


def _last(tail: bytes, *, complete: bool) -> tuple[int, int | None] | None:
    """The record that ends where the file does (or, of a file that is being written, the latest that is whole)."""
    count = len(tail) - _FRAME
    if count < 0:
        return None
    data = np.frombuffer(tail, np.uint8)
    lengths = np.lib.stride_tricks.sliding_window_view(data, 8)[: count + 1].copy().view("<u8").ravel()
    fits = lengths <= np.uint64(len(tail))
    behind = np.where(fits, np.arange(count + 1, dtype=np.uint64) + lengths + np.uint64(_FRAME), np.uint64(0))
    # From the latest end on: the file's own, else that of a record before an unfinished one.
    for at in np.flatnonzero(fits & (behind <= np.uint64(len(tail))))[::-1].tolist():
        if _is_frame(tail, at):
            found = _walk(tail, at)
            if found is not None:
                return found
    return None if not complete else _first(tail)


def _walk(tail: bytes, at: int) -> tuple[int, int | None] | None:
    length = int(struct.unpack_from("<Q", tail, at)[0])
    record = memoryview(tail)[at + 12 : at + 12 + length]
    wall = wall_of(record)
    return (wall, _step(record)) if wall is not None and not _is_header(record) else None


def _is_frame(data: bytes, at: int) -> bool:
    """Whether a record begins here: the checksum of its length says so."""
    stored = struct.unpack_from("<I", data, at + 8)[0]
    return bool(masked(crc32c(memoryview(data), [at], [8]))[0] == stored)


def _is_header(record: Any) -> bool:
    """The file_version record: its field 3."""
    return len(record) > 9 and record[9] == 0x1A


def _step(record: Any) -> int | None:
    """Field 2, a varint right behind the wall time; a step of 0 is left out."""
    if len(record) <= 9 or record[9] != 0x10:
        return 0 if len(record) > 9 else None
    value = shift = 0
    for byte in bytes(record[10:20]):
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value if value < 1 << 63 else None
        shift += 7
    return None

"""The first and the last record of a tfevents file, without those between: when a program began,
and was last heard of.
"""

from __future__ import annotations

import functools
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from powertui.data import elsewhere
from powertui.data.formats.filenames import split_events
from powertui.data.formats.tfevents_records import wall_of
from powertui.data.model import Int64s
from powertui.data.wire.crc32c import crc32c, masked
from powertui.named_tuples import NamedTuple
from powertui.opening import open_regular

_HEAD_BYTES = 1 << 14  # holds the header and the first records; a graph after them is not read
_TAIL_BYTES = 1 << 16  # a last record longer than this is not found
_FRAME_BYTES = 16  # around the payload of a record: its length and two checksums
_MAX_TAIL_RECORDS = 32  # read from the end


class FileEnds(NamedTuple):
    """Wall times (Unix ns) and steps of the first and the last record that is no header; None where
    they are not found.
    """

    first_ns: int | None
    last_ns: int | None
    first_step: int | None
    last_step: int | None


def ends(path: str) -> FileEnds:
    """Of this file, as it is now. A file that cannot be read has none."""
    try:
        status = Path(path).stat()
    except OSError:
        return FileEnds(first_ns=None, last_ns=None, first_step=None, last_step=None)
    if elsewhere.away(path):  # only its name is here
        named = split_events(Path(path).name)
        return FileEnds(
            first_ns=named[0] * 1_000_000_000 if named is not None and status.st_size else None,
            last_ns=None,
            first_step=None,
            last_step=None,
        )
    return _ends(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=4096)
def _ends(path: str, size: int, _: int) -> FileEnds:
    try:
        with open_regular(path) as stream:
            head = stream.read(_HEAD_BYTES)
            stream.seek(max(0, size - _TAIL_BYTES), os.SEEK_SET)
            tail = stream.read(_TAIL_BYTES)
    except OSError:
        return FileEnds(first_ns=None, last_ns=None, first_step=None, last_step=None)
    first = _first(head)
    last = _last(tail, complete=size <= _TAIL_BYTES)
    named = split_events(Path(path).name)
    begins = (
        first[0]
        if first is not None
        else named[0] * 1_000_000_000
        if named is not None and size
        else None
    )
    return FileEnds(
        first_ns=begins,
        last_ns=last[0] if last is not None else None,
        first_step=first[1] if first is not None else None,
        last_step=last[1] if last is not None else None,
    )


def _first(head: bytes) -> tuple[int, int | None] | None:
    at = 0
    while at + 12 <= len(head):
        length = struct.unpack_from("<Q", head, at)[0]
        record = memoryview(head)[at + 12 : at + 12 + min(length, _HEAD_BYTES)]
        wall = wall_of(record)
        if wall is not None and not _is_header(record):
            return wall, _step(record)
        at += _FRAME_BYTES + length
    return None


def _last(tail: bytes, *, complete: bool) -> tuple[int, int | None] | None:
    """The wall time of the record that ends where the file does (or, of a file that is being
    written, of the latest that is whole), and the highest step among the last records: some of them
    may count epochs.
    """
    places = _one_after_another(tail) if complete else None
    if places is None:
        places = list(_from_the_end(tail))
    wall: int | None = None
    steps: list[int] = []
    for at in places:
        length = struct.unpack_from("<Q", tail, at)[0]
        record = memoryview(tail)[at + 12 : at + 12 + length]
        record_wall = wall_of(record)
        if record_wall is None or _is_header(record):
            continue
        wall = record_wall if wall is None else max(wall, record_wall)
        step = _step(record)
        steps += [step] if step is not None else []
    if wall is None:
        return _first(tail) if complete and len(tail) >= _FRAME_BYTES else None
    return wall, max(steps, default=None)


def _one_after_another(data: bytes) -> list[int] | None:
    """Where the last records of a file begin, the last one first; None unless records alone fill
    it. So most files of few scalars are: nothing has to be looked for.
    """
    places = []
    at = 0
    while at + _FRAME_BYTES <= len(data):
        places.append(at)
        at += _FRAME_BYTES + struct.unpack_from("<Q", data, at)[0]
    if at != len(data):
        return None
    last = places[: -_MAX_TAIL_RECORDS - 1 : -1]
    return last if all(_is_frame(data, place) for place in last) else None


def _from_the_end(tail: bytes) -> Iterator[int]:
    """Where the last records begin, the last one first: the end of a file may begin within one, and
    end within one that is being written.
    """
    count = len(tail) - _FRAME_BYTES
    if count < 0:
        return
    lengths = (
        np.lib.stride_tricks.sliding_window_view(np.frombuffer(tail, np.uint8), 8)[: count + 1]
        .copy()
        .view("<u8")
        .ravel()
    )
    fits = np.flatnonzero(lengths <= np.uint64(len(tail)))
    behind = fits + lengths[fits].astype(np.int64) + _FRAME_BYTES
    end: int | None = None
    for _ in range(_MAX_TAIL_RECORDS):
        end = _before(tail, fits, behind, end)
        if end is None:
            return
        yield end


def _before(tail: bytes, fits: Int64s, behind: Int64s, end: int | None) -> int | None:
    """Where the record begins that ends there; without an end the last whole one."""
    if end is not None:
        rows = np.flatnonzero(behind == end)
    else:
        rows = np.argsort(-behind, kind="stable")
    for row in rows.tolist():
        if behind[row] <= len(tail) and _is_frame(tail, int(fits[row])):
            return int(fits[row])
    return None


def _is_frame(data: bytes, at: int) -> bool:
    """Whether a record begins here: the checksum of its length says so."""
    stored = struct.unpack_from("<I", data, at + 8)[0]
    return bool(_checksum(data[at : at + 8]) == stored)


@functools.lru_cache(maxsize=1024)
def _checksum(length: bytes) -> int:
    """Of the length of a record. Records of many runs have few lengths."""
    return int(masked(crc32c(memoryview(length), [0], [8]))[0])


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

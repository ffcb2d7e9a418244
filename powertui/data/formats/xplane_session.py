"""When a session of an XPlane file began and ended, read from its small planes alone: the large
ones are stepped over.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import BinaryIO

from powertui.data import elsewhere
from powertui.data.wire import schemas
from powertui.opening import open_regular

_HEAD = 4096  # of a plane: its id and name stand first
_SMALL = 1 << 20  # bytes: a plane that holds two times is no larger
_MOST = 10_000  # planes
_ENVIRONMENT = b"Task Environment"
_STARTS = (10**18, 4 * 10**18)  # Unix ns of this century


def session_span(path: str) -> tuple[int, int] | None:
    """(start, end) in Unix ns; None where the file does not say, or cannot be read."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    if elsewhere.away(path):
        return None
    return _of(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=4096)
def _of(path: str, size: int, _: int) -> tuple[int, int] | None:
    try:
        with open_regular(path) as stream:
            at = 0
            for _turn in range(_MOST):
                if at >= size:
                    return None
                stream.seek(at)
                head = stream.read(_HEAD)
                tag, first = _varint(head, 0)
                length, first_of = _varint(head, first)
                if not first_of or tag & 7 != 2:
                    return None
                if (
                    tag == 0x0A
                    and length <= _SMALL
                    and _ENVIRONMENT in head[first_of : first_of + 256]
                ):
                    return _times(stream, at + first_of, length)
                at += first_of + length
    except OSError:
        return None
    return None


def _times(stream: BinaryIO, at: int, length: int) -> tuple[int, int] | None:
    stream.seek(at)
    try:
        plane = schemas.parsed("XPlane", stream.read(length))
    except schemas.Undecodable:
        return None
    names = {meta.id or key: meta.name for key, meta in plane.stat_metadata.items()}
    found = {
        names.get(stat.metadata_id): stat.uint64_value or stat.int64_value for stat in plane.stats
    }
    start, stop = found.get("profile_start_time"), found.get("profile_stop_time")
    if start is None or not _STARTS[0] < start < _STARTS[1]:
        return None
    return start, stop if stop is not None and start <= stop < _STARTS[1] else start


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
    return 0, 0

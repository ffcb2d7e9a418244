"""What an XPlane file says of itself: whether it is one, and when its session began and ended.

The session is read from a small plane, which recent TensorFlow and JAX write. A file that is not
open yet is searched for it: the large planes are skipped unread.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from powertui.data import elsewhere
from powertui.data.model import Clock, Stat, Trace
from powertui.data.wire import schemas
from powertui.opening import open_regular

_PLANE_HEAD_BYTES = 4096  # the id and the name of a plane come first
_MAX_PLANE_BYTES = 1 << 20  # a plane that contains two times is much smaller
_MAX_PLANES = 10_000  # more than any profile has
_ENVIRONMENT = "Task Environment"
# 2001 to 2096. Times of lines in here are Unix times; all others count from the session's start.
UNIX_NS = (10**18, 4 * 10**18)
# The session's start is read before the collectors start. Their zero is within this of it.
_START_SLACK_NS = 1_000_000
_PLANE_NAMES = (b"/host:", b"/device:", _ENVIRONMENT.encode(), b"/custom:", b"#Chip")
_PLANE_TAGS = frozenset((0x08, 0x12, 0x1A, 0x22, 0x2A, 0x32))


def sniff(head: bytes, path: str) -> int:
    """How sure it is. XSpace has no magic, but its first plane has a known order of fields and a
    printable name.
    """
    named = ".xplane.pb" in path.rpartition("/")[2]
    if not head:
        return 0
    if head[0] == 0x0A:
        size, at = _varint(head, 1)
        if at and size:
            return _sniff_plane(head, at, min(at + size, len(head)), named)
        return 10 if named else 0
    # A session without a plane still has its errors (2), warnings (3) and hostnames (4).
    if named and head[0] in (0x12, 0x1A, 0x22):
        return 30
    return 0


def _sniff_plane(head: bytes, at: int, end: int, named: bool) -> int:
    while at < end:
        tag = head[at]
        if tag not in _PLANE_TAGS:
            break
        value, after = _varint(head, at + 1)
        if not after:
            break
        if tag == 0x08:
            at = after
            continue
        if tag == 0x12:
            name = head[after : after + value]
            if name.startswith(_PLANE_NAMES):
                return 95
            if value >= 4096 or not (name.isascii() and name.decode("latin-1").isprintable()):
                return 0
            return 80 if named else 40
        at = after + value
    return 50 if named else 0


def session_span(path: str) -> tuple[int, int] | None:
    """(start, end) in Unix ns; None where the file does not say, or cannot be read."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    if elsewhere.away(path):
        return None
    return _cached_span(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=4096)
def _cached_span(path: str, size: int, _mtime_ns: int) -> tuple[int, int] | None:
    try:
        with open_regular(path) as stream:
            at = 0
            for _ in range(_MAX_PLANES):
                if at >= size:
                    return None
                stream.seek(at)
                head = stream.read(_PLANE_HEAD_BYTES)
                tag, after_tag = _varint(head, 0)
                length, payload = _varint(head, after_tag)
                if not payload or tag & 7 != 2:  # no field with a length
                    return None
                is_environment = _ENVIRONMENT.encode() in head[payload : payload + 256]
                if tag == 0x0A and length <= _MAX_PLANE_BYTES and is_environment:
                    return _times(stream, at + payload, length)
                at += payload + length
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
    values = {
        names.get(stat.metadata_id): stat.uint64_value or stat.int64_value for stat in plane.stats
    }
    start = values.get("profile_start_time")
    stop = values.get("profile_stop_time")
    first_ns, last_ns = UNIX_NS
    if start is None or not first_ns < start < last_ns:
        return None
    if stop is None or not start <= stop < last_ns:
        return start, start
    return start, stop


def recorded_start(trace: Trace) -> Clock | None:
    """The session's start, which recent TensorFlow and JAX write into a plane of its own."""
    for process in trace.processes:
        if process.name != _ENVIRONMENT:
            continue
        for stat in process.stats:
            if stat.name != "profile_start_time":
                continue
            if isinstance(stat.value, int) and stat.value > UNIX_NS[0]:
                return Clock(
                    stat.value - _START_SLACK_NS,
                    stat.value + _START_SLACK_NS,
                    "task environment",
                    "start of the session as recorded in the profile",
                )
    return None


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


def recorded_session(planes: Iterable[tuple[str, tuple[Stat, ...]]]) -> tuple[int, int] | None:
    """(start, stop) of the session in Unix ns, by the names and stats of all planes; None where
    the file does not say.
    """
    from powertui.data.formats.builder import LIMIT_NS  # only who reads all of it needs that

    for name, plane_stats in planes:
        if name != _ENVIRONMENT:
            continue
        stats = {stat.name: stat.value for stat in plane_stats}
        start = stats.get("profile_start_time")
        stop = stats.get("profile_stop_time")
        if not isinstance(start, int) or not isinstance(stop, int):
            continue
        if 0 < start <= stop and stop - start < LIMIT_NS:
            return start, stop
    return None


def zero_of_lines(
    lines_ns: Iterable[int],
    session: tuple[int, int] | None,
) -> tuple[int, Clock | None]:
    """(the Unix ns to subtract from lines in Unix time, the clock that these alone show).

    Collectors shift lines to the session's start, but not those of planes that they do not know.
    """
    absolute = [ns for ns in lines_ns if UNIX_NS[0] <= ns < UNIX_NS[1]]
    if not absolute:
        return 0, None
    if session is not None:
        return session[0], None
    zero = min(absolute)
    why = "lines of the profile are in Unix time"
    return zero, Clock(zero, zero, "absolute timestamps", why)

"""When a session was taken, by names and small parts of files alone: good enough to sort sessions
and draw where they lie.
"""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from powertui.data.formats import xplane_head
from powertui.data.formats.filenames import split_events
from powertui.data.logdir.entries import RunEntry
from powertui.data.model import NS_PER_S
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

_FOLDER = late_pattern(r"^(\d{4})[_-](\d\d)[_-](\d\d)[_-](\d\d)[_-](\d\d)[_-](\d\d)$")
_EXPORT_NS = 5 * NS_PER_S  # collecting and writing takes seconds
# A name or a file that was written so much later is of the same export. Both are chosen, not
# measured.
_NEAR_NS = 120 * NS_PER_S
_NEAR_FILE_NS = 20 * NS_PER_S
_ZONES_NS = (-12 * 3600 * NS_PER_S, 14 * 3600 * NS_PER_S)  # the world's zones, local time less UTC


class Captured(NamedTuple):
    """Between which moments (Unix ns) a session lies, as far as that can be told without reading
    it.
    """

    lo_ns: int
    hi_ns: int
    evidence: str
    exact: bool = False  # its own start and end, as recorded


def when(run: RunEntry, index: int | None = None) -> Captured | None:
    """The surest that is cheap: the start and end that the profile records, the second of its
    export, its folder's local time, the time of its file. None when it is not known. `index`: of
    this host.
    """
    for file in run.profiles if index is None else run.profiles[index : index + 1]:
        if file.tool == "xplane.pb":
            span = xplane_head.session_span(file.path)
        else:
            span = None
        if span is not None:
            return Captured(
                *span, "start and end of the session as recorded in the profile", exact=True
            )
    return _by_names(run) or _by_file(run)


def local_ns(run: RunEntry) -> int | None:
    """The local time in the folder's name, as if it were UTC; None where it names none."""
    match = _FOLDER.match(Path(run.path).name)
    if match is None:
        return None
    try:
        year, month, day, hour, minute, second = (int(part) for part in match.groups())
        named_at = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError:
        return None
    return round(named_at.timestamp()) * NS_PER_S


def _by_names(run: RunEntry) -> Captured | None:
    """By the local time in the folder's name; a file that was written then shows the zone."""
    local = local_ns(run)
    if local is None:
        return None
    for event in run.tfevents:
        if event.kind == "profile-empty":
            split = split_events(Path(event.path).name)
        else:
            split = None
        if split is not None and _is_one_moment(split[0] * NS_PER_S, local, _NEAR_NS):
            exported = split[0] * NS_PER_S
            how = f"exported at Unix second {split[0]}"
            return Captured(
                lo_ns=exported - _EXPORT_NS,
                hi_ns=exported + NS_PER_S,
                evidence=how,
            )
    written = _written(run)
    if written is not None and _is_one_moment(written, local, _NEAR_FILE_NS):
        how = "the folder's local time, and when its file was written"
        return Captured(
            lo_ns=written - _EXPORT_NS,
            hi_ns=written + NS_PER_S,
            evidence=how,
        )
    return Captured(
        lo_ns=local - _ZONES_NS[1] - _EXPORT_NS,
        hi_ns=local - _ZONES_NS[0] + NS_PER_S,
        evidence="the folder's local time, in a zone that is not known",
    )


def _is_one_moment(unix_ns: int, local_ns: int, tolerance_ns: int) -> bool:
    """Whether a Unix time and a local time can be the same moment in one of the world's zones.

    Zones differ by multiples of a quarter of an hour.
    """
    quarter = 900 * NS_PER_S
    rest = (unix_ns - local_ns + quarter // 2) % quarter - quarter // 2
    in_a_zone = _ZONES_NS[0] <= local_ns - unix_ns <= _ZONES_NS[1]
    return abs(rest) <= tolerance_ns and in_a_zone


def _by_file(run: RunEntry) -> Captured | None:
    written = _written(run)
    if written is None:
        return None
    return Captured(
        lo_ns=written - 60 * NS_PER_S,
        hi_ns=written,
        evidence="when its file was written, if nobody copied it",
    )


def _written(run: RunEntry) -> int | None:
    for path in [*(file.path for file in run.profiles), *(file.path for file in run.results)]:
        try:
            return Path(path).stat().st_mtime_ns
        except OSError:
            continue
    return None

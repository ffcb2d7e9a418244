"""When a session was taken, by names and small parts of files alone: good enough to sort sessions
and draw where they lie.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from powertui.data.formats import xplane_session
from powertui.data.formats.filenames import split_events
from powertui.data.logdir.entries import RunEntry

_S = 1_000_000_000
_FOLDER = re.compile(r"^(\d{4})[_-](\d\d)[_-](\d\d)[_-](\d\d)[_-](\d\d)[_-](\d\d)$")
_EXPORT_NS = 5 * _S  # collecting and writing takes seconds
_NEAR_NS = 120 * _S
_ZONES_NS = (-12 * 3600 * _S, 14 * 3600 * _S)


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
        found = xplane_session.session_span(file.path) if file.tool == "xplane.pb" else None
        if found is not None:
            return Captured(
                *found, "start and end of the session as recorded in the profile", exact=True
            )
    return _by_names(run) or _by_file(run)


def _by_names(run: RunEntry) -> Captured | None:
    match = _FOLDER.match(Path(run.path).name)
    if match is None:
        return None
    try:
        year, month, day, hour, minute, second = (int(part) for part in match.groups())
        written_at = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError:
        return None
    local = round(written_at.timestamp()) * _S
    quarter = 900 * _S
    for event in run.tfevents:
        split = split_events(Path(event.path).name) if event.kind == "profile-empty" else None
        if split is not None:
            off = (split[0] * _S - local + quarter // 2) % quarter - quarter // 2
            if abs(off) <= _NEAR_NS and _ZONES_NS[0] <= local - split[0] * _S <= _ZONES_NS[1]:
                return Captured(
                    split[0] * _S - _EXPORT_NS,
                    split[0] * _S + _S,
                    f"exported at Unix second {split[0]}",
                )
    written = _written(run)
    if written is not None:
        off = (written - local + quarter // 2) % quarter - quarter // 2
        if abs(off) <= 20 * _S and _ZONES_NS[0] <= local - written <= _ZONES_NS[1]:
            return Captured(
                written - _EXPORT_NS,
                written + _S,
                "the folder's local time, and when its file was written",
            )
    return Captured(
        local - _ZONES_NS[1] - _EXPORT_NS,
        local - _ZONES_NS[0] + _S,
        "the folder's local time, in a zone that is not known",
    )


def _by_file(run: RunEntry) -> Captured | None:
    written = _written(run)
    if written is None:
        return None
    return Captured(written - 60 * _S, written, "when its file was written, if nobody copied it")


def _written(run: RunEntry) -> int | None:
    for path in [*(file.path for file in run.profiles), *(file.path for file in run.results)]:
        try:
            return Path(path).stat().st_mtime_ns
        except OSError:
            continue
    return None

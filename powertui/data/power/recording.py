"""powertui's own recordings: a `#` header with the sources, then one row per reading.

Rows that say `none` are gaps with a reason, `stale` rows are readings that the source itself called
old, rows without a channel are notes, marks, and begins and ends of windows (`recording_marks`).
Counters bring their joules along; a new header in the middle starts them anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import (
    Badge,
    Clock,
    Device,
    Figure,
    Int64s,
    PowerKind,
    PowerSeries,
    Scope,
    Sensor,
)
from powertui.data.power import (
    assemble,
    devices,
    recording_marks,
    recording_rows,
    steps_of_clock,
    times,
)
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.recording_rows import RecordingRows
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "powertui recording"
_MOST_DEVICES = 4096
_SHORT = 1 << 16
_BMC_URL = re.compile(r"(?:ipmi|ipmitool|redfish)://(?:[^@/?]*@)?([^/?]+)")


@dataclass(frozen=True)
class _Channel:
    scope: Scope = Scope.UNKNOWN
    host: str = ""
    asked_at: str = ""
    source: str = ""
    interval: bool = False
    quantum_w: float | None = None
    device: Device | None = None


def sniff(head: str, _path: str) -> int:
    """By its first line, or by its columns when the header was cut away."""
    if head.startswith(recording_rows.MAGIC):
        return 100
    first = next((line for line in head.split("\n", 50) if line and not line.startswith("#")), "")
    return 90 if first.startswith("time_unix_s,mono_s,source,channel,watts") else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per (source, channel)."""
    notes = Notes(source.path)
    rows = recording_rows.read(source, notes)
    for reason, count in sorted(rows.gaps.items(), key=lambda item: -item[1]):
        notes.say(f"{count} reading{'s' if count > 1 else ''} missing: {reason}")
    if rows.stale:
        notes.say(
            f"{rows.stale} reading{'s were' if rows.stale > 1 else ' was'} marked stale by the "
            "source"
        )
    if not len(rows.ns):
        raise UnreadableFile(
            source.path,
            "is a recording without readings",
            hint="Check that the source answers: powertui sensors",
        )
    top = source.head_text.split("\n")[:20]
    host = (
        next((line.split(":", 1)[1].strip() for line in top if line.startswith("# host:")), "")
        or options.host
    )
    described = _described(source)
    joined = steps_of_clock.join(rows.ns, rows.mono, rows.block)
    said = recording_marks.on_one_time(rows, joined)
    rows.ns = joined.ns
    if joined.steps_ns:
        set_by = steps_of_clock.in_words(joined.steps_ns)
        notes.say(
            f"the machine's clock was set while it recorded ({set_by}); lengths follow the "
            "monotonic clock"
        )
    zero = int(rows.ns.min())
    clock = Clock(zero + joined.early_ns, zero + joined.late_ns, times.ABSOLUTE, "Unix seconds")
    order = np.argsort(
        rows.key.astype(np.uint16) if len(rows.keys) <= _SHORT else rows.key, kind="stable"
    )  # by digits: quicker
    ends = np.searchsorted(rows.key[order], np.arange(len(rows.keys) + 1))
    marks = recording_marks.paired(said, zero)
    held = recording_marks.limits(said, zero)
    series = []
    for i, key in enumerate(rows.keys):
        about = described.get(key) or _Channel(source=key[0])
        one = _series(
            source.path, key, about, rows, order[ends[i] : ends[i + 1]], zero, clock, host, notes
        )
        one = replace(one, clocks_ns=joined.clocks_ns) if joined.clocks_ns else one
        series.append(
            replace(one, marks=marks, limits=held.get(key, ())) if marks or key in held else one
        )
    return PowerLog(
        source.path,
        NAME,
        tuple(series),
        notes.warnings(),
        "powertui's own recording: Unix seconds, watts",
    )


def _described(source: LogFile) -> dict[tuple[str, str], _Channel]:
    """What the header says of each channel. Anything that is not as expected is left unsaid."""
    found: dict[tuple[str, str], _Channel] = {}
    for line in _lines_that_begin(b"# source:", source.utf8):
        try:
            about = json.loads(line)
            for channel in about["channels"]:
                scope = channel.get("scope", "")
                quantum = channel.get("quantum_w")
                described = _Channel(
                    scope=Scope(scope) if scope in Scope._value2member_map_ else Scope.UNKNOWN,
                    host=str(channel.get("host") or about.get("host") or ""),
                    asked_at=_asked_at(about),
                    source=str(about.get("source", "")),
                    interval=channel.get("kind") == "interval",
                    quantum_w=float(quantum)
                    if isinstance(quantum, (int, float)) and quantum > 0
                    else None,
                    device=_device(channel),
                )
                found.setdefault((str(about["name"]), str(channel["name"])), described)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def _asked_at(about: dict[str, Any]) -> str:
    """Host and port of the BMC behind a source of the header, "" for any other source."""
    match = _BMC_URL.match(str(about.get("url", "")))
    return match[1] if match else ""


def _lines_that_begin(mark: bytes, data: bytes) -> Iterator[bytes]:
    """The rest of each such line below the first one, without looking at the others."""
    at, last = 0, data.rfind(mark[:1]) + len(mark)
    while (at := data.find(b"\n" + mark, at, last)) >= 0:
        at += 1 + len(mark)
        end = data.find(b"\n", at)
        yield data[at : end if end >= 0 else len(data)]


def _device(channel: dict[str, Any]) -> Device | None:
    """The device that a channel of the header names: by index, UUID and PCI address, as far as each
    is one.
    """
    index = channel.get("index")
    told = [devices.device_named(str(channel[key])) for key in ("uuid", "pci") if channel.get(key)]
    first = Device(index) if isinstance(index, int) and 0 <= index < _MOST_DEVICES else None
    for one in told:
        first = devices.joined_device(first, one if one is not None and one.index is None else None)
    return first


def _series(
    path: str,
    key: tuple[str, str],
    about: _Channel,
    rows: RecordingRows,
    mine: Int64s,
    zero: int,
    clock: Clock,
    host: str,
    notes: Notes,
) -> PowerSeries:
    quantum = Figure(about.quantum_w, Badge.ASSUMED) if about.quantum_w else None
    name = " ".join(part for part in key if part)
    paused = bool(
        np.isfinite(rows.mono[mine]).all()
    )  # the clock that is never set paused with the rows
    sensor = Sensor(
        name,
        about.source or key[0],
        about.scope,
        about.host or host,
        quantum_w=quantum,
        device=about.device,
        asked_at=about.asked_at,
        logged_on=host,
    )
    if not about.interval:
        return assemble.power_series(
            sensor,
            rows.ns[mine] - zero,
            rows.watts[mine],
            clock=clock,
            path=path,
            notes=notes,
            paused=paused,
        )
    # a counter's next reading tells of the time that was missed, too: rows without one are no gap
    mine = mine[np.isfinite(rows.counted[mine]) | np.isfinite(rows.watts[mine])]
    ns, watts, counted, block = (
        rows.ns[mine] - zero,
        rows.watts[mine],
        rows.counted[mine],
        rows.block[mine],
    )
    seconds, delta = np.full(len(mine), np.nan), np.full(len(mine), np.nan)
    seconds[1:], delta[1:] = np.diff(ns) / times.S, np.diff(counted)
    delta[1:][(np.diff(block) != 0) | (delta[1:] < 0) | rows.silent[mine][1:]] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        watts = np.where(
            np.isfinite(counted), np.where(seconds > 0, delta / seconds, np.nan), watts
        )
    joules = watts * seconds
    return assemble.power_series(
        sensor,
        ns,
        watts,
        clock=clock,
        path=path,
        notes=notes,
        kind=PowerKind.INTERVAL,
        joules=joules,
        paused=paused,
    )

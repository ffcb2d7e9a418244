"""powertui's own recordings: a `#` header with the sources, then one row per reading.

Rows that say `none` are gaps with a reason, `stale` rows are readings that the source itself called
old, rows without a channel are notes, marks, and begins and ends of windows (`recording_marks`).
Counters bring their joules along; a new header in the middle starts them anew.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import (
    Badge,
    Clock,
    Device,
    Figure,
    Floats,
    Int64s,
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
from powertui.value_types import dataclass

NAME = "powertui recording"
_MAX_DEVICE_INDEX = 4096  # a header with a larger one is damaged; chosen, not measured
_MAX_SHORT_KEYS = 1 << 16  # channels whose numbers fit 16 bits
_MAX_HEADER_LINES = 20  # among which the host is looked for
_BMC_URL = re.compile(r"(?:ipmi|ipmitool|redfish)://(?:[^@/?]*@)?([^/?]+)")


@dataclass(frozen=True)
class _Channel:
    """What the header says of one channel."""

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
    for line in head.split("\n", 50):
        if line and not line.startswith("#"):
            is_header = line.startswith("time_unix_s,mono_s,source,channel,watts")
            return 90 if is_header else 0
    return 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per (source, channel)."""
    notes = Notes(source.path)
    rows = recording_rows.read(source, notes)
    _note_missing(rows, notes)
    if not len(rows.ns):
        raise UnreadableFile(
            source.path,
            "is a recording without readings",
            hint="Check that the source answers: powertui sensors",
        )
    host = _host(source.head_text) or options.host
    described = _described(source)
    joined = steps_of_clock.join(rows.ns, rows.mono, rows.block)
    events = recording_marks.on_one_time(rows, joined)
    rows.ns = joined.ns
    if joined.steps_ns:
        set_by = steps_of_clock.in_words(joined.steps_ns)
        notes.say(
            f"the machine's clock was set while it recorded ({set_by}); lengths follow the "
            "monotonic clock"
        )
    zero = int(rows.ns.min())
    clock = Clock(zero + joined.early_ns, zero + joined.late_ns, times.ABSOLUTE, "Unix seconds")
    marks = recording_marks.paired(events, zero)
    limits = recording_marks.limits(events, zero)
    channels = _Channels(rows, clock, host, notes)
    series = []
    for key, channel_rows in zip(rows.keys, _rows_by_channel(rows), strict=True):
        about = described.get(key) or _Channel(source=key[0])
        channel = channels.series(key, about, channel_rows)
        if joined.clocks_ns:
            channel = replace(channel, clocks_ns=joined.clocks_ns)
        if marks or key in limits:
            channel = replace(channel, marks=marks, limits=limits.get(key, ()))
        series.append(channel)
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess="powertui's own recording: Unix seconds, watts",
    )


def _note_missing(rows: RecordingRows, notes: Notes) -> None:
    """Report the readings that a source did not give, or called old."""
    by_count = sorted(rows.gaps.items(), key=lambda gap: -gap[1])
    for reason, count in by_count:
        plural = "s" if count > 1 else ""
        notes.say(f"{count} reading{plural} missing: {reason}")
    if rows.stale:
        were = "s were" if rows.stale > 1 else " was"
        notes.say(f"{rows.stale} reading{were} marked stale by the source")


def _rows_by_channel(rows: RecordingRows) -> Iterator[Int64s]:
    """The rows of each channel, in file order."""
    channel_count = len(rows.keys)
    numbers = rows.key
    if channel_count <= _MAX_SHORT_KEYS:
        # numpy sorts 16 bits by their digits, which is quicker.
        numbers = numbers.astype(np.uint16)
    order = np.argsort(numbers, kind="stable")
    ordered_keys = rows.key[order]
    channel_edges = np.arange(channel_count + 1)
    edges = np.searchsorted(ordered_keys, channel_edges).tolist()
    for start, end in itertools.pairwise(edges):
        yield order[start:end]


def _host(head: str) -> str:
    """The machine that the header names; "" of a recording without one."""
    for line in head.split("\n")[:_MAX_HEADER_LINES]:
        if line.startswith("# host:"):
            _, _, host = line.partition(":")
            return host.strip()
    return ""


def _described(source: LogFile) -> dict[tuple[str, str], _Channel]:
    """What the header says of each channel. Anything that is not as expected is skipped."""
    channels: dict[tuple[str, str], _Channel] = {}
    for line in _lines_that_begin(b"# source:", source.utf8):
        try:
            about = json.loads(line)
            for channel in about["channels"]:
                key = (str(about["name"]), str(channel["name"]))
                described = _channel(channel, about)
                channels.setdefault(key, described)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return channels


def _channel(channel: dict[str, Any], about: dict[str, Any]) -> _Channel:
    """A channel of the header; `about` is what the header says of its source."""
    scope = channel.get("scope", "")
    is_scope = scope in Scope._value2member_map_
    host = channel.get("host") or about.get("host") or ""
    quantum_w = channel.get("quantum_w")
    if not isinstance(quantum_w, (int, float)) or not quantum_w > 0:
        quantum_w = None
    return _Channel(
        scope=Scope(scope) if is_scope else Scope.UNKNOWN,
        host=str(host),
        asked_at=_asked_at(about),
        source=str(about.get("source", "")),
        interval=channel.get("kind") == "interval",
        quantum_w=None if quantum_w is None else float(quantum_w),
        device=_device(channel),
    )


def _asked_at(about: dict[str, Any]) -> str:
    """Host and port of the BMC behind a source of the header, "" for any other source."""
    url = str(about.get("url", ""))
    match = _BMC_URL.match(url)
    if match is None:
        return ""
    return match[1]


def _lines_that_begin(mark: bytes, data: bytes) -> Iterator[bytes]:
    """The rest of each such line below the first one, without looking at the others."""
    start = 0
    last = data.rfind(mark[:1]) + len(mark)
    line_mark = b"\n" + mark
    while (start := data.find(line_mark, start, last)) >= 0:
        start += len(line_mark)
        end = data.find(b"\n", start)
        if end < 0:
            end = len(data)
        yield data[start:end]


def _device(channel: dict[str, Any]) -> Device | None:
    """The device that a channel of the header names: by index, UUID and PCI address, as far as each
    is one.
    """
    device: Device | None = None
    index = channel.get("index")
    if isinstance(index, int) and 0 <= index < _MAX_DEVICE_INDEX:
        device = Device(index)
    for key in ("uuid", "pci"):
        text = channel.get(key)
        if not text:
            continue
        named = devices.device_named(str(text))
        if named is not None and named.index is None:
            device = devices.joined_device(device, named)
    return device


class _Channels:
    """Makes the channels of one recording: what they share."""

    def __init__(self, rows: RecordingRows, clock: Clock, host: str, notes: Notes) -> None:
        self._rows = rows
        self._clock = clock
        self._zero_ns = int(rows.ns.min())
        self._host = host
        self._notes = notes

    def series(self, key: tuple[str, str], about: _Channel, mine: Int64s) -> PowerSeries:
        """The channel with these rows."""
        # The clock that is never set paused with the rows.
        paused = bool(np.isfinite(self._rows.mono[mine]).all())
        sensor = replace(self._sensor(key, about), is_steadily_stamped=paused)
        joules: Floats | None = None
        if about.interval:
            ns, watts, joules = self._counted(mine)
        else:
            ns = self._rows.ns[mine] - self._zero_ns
            watts = self._rows.watts[mine]
        return assemble.power_series(
            sensor,
            ns,
            watts,
            clock=self._clock,
            notes=self._notes,
            joules=joules,
            joined=steps_of_clock.join_rows(ns, paused=paused, joules=joules),
        )

    def _sensor(self, key: tuple[str, str], about: _Channel) -> Sensor:
        source, _ = key
        return Sensor(
            " ".join(part for part in key if part),
            about.source or source,
            about.scope,
            about.host or self._host,
            quantum_w=Figure(about.quantum_w, Badge.ASSUMED) if about.quantum_w else None,
            device=about.device,
            asked_at=about.asked_at,
            logged_on=self._host,
        )

    def _counted(self, mine: Int64s) -> tuple[Int64s, Floats, Floats]:
        """(times, watts, joules) of a channel that reports means or joules of intervals."""
        rows = self._rows
        # A counter's next reading covers the time that was missed, too: rows without one are no
        # gap.
        is_counted = np.isfinite(rows.counted[mine])
        has_reading = is_counted | np.isfinite(rows.watts[mine])
        mine = mine[has_reading]
        ns = rows.ns[mine] - self._zero_ns
        counted = rows.counted[mine]
        seconds = np.full(len(mine), np.nan)
        joules = np.full(len(mine), np.nan)
        seconds[1:] = np.diff(ns) / times.S
        joules[1:] = np.diff(counted)
        # What a counter did between two recordings, or while it was silent, nobody knows.
        began_anew = np.diff(rows.block[mine]) != 0
        began_anew |= joules[1:] < 0
        began_anew |= rows.silent[mine][1:]
        joules[1:][began_anew] = np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            counted_watts = joules / seconds
        counted_watts = np.where(seconds > 0, counted_watts, np.nan)
        watts = np.where(
            np.isfinite(counted),
            counted_watts,
            rows.watts[mine],
        )
        return ns, watts, watts * seconds

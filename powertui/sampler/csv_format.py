"""The text of a recording: header lines that begin with #, then plain columns that any CSV reader
takes.

One row per reading, so that many hosts with many channels and their own moments fit one file, and
an empty value always means a gap. `pandas.read_csv(path, comment="#")` reads it;
`powertui.data.power` does too. Marks and notes are rows of their own, with the exact moment at
which they were made.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from powertui.plain import cell, plain
from powertui.sampler import clocks
from powertui.sampler.limits import PowerLimit
from powertui.sampler.source import OK, STALE, SUSPECT, Channel, Info, Reading, Stamp, reason_of

__all__ = [
    "BEGIN",
    "COLUMNS",
    "END",
    "LIMIT",
    "MAGIC",
    "MARK",
    "NOTE",
    "default_path",
    "ended_line",
    "head",
    "limit_row",
    "mark_row",
    "reading_row",
    "source_line",
    "sources_in",
]

MAGIC = "# powertui recording 1"
COLUMNS = "time_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark"
_COLUMN_NAMES = COLUMNS.split(",")
MARK, BEGIN, END, NOTE = "mark", "begin", "end", "note"
LIMIT = "limit"
_MAX_TEXT_CHARS = 300  # of one field; chosen: a sentence fits, a page does not
_SOURCE_PREFIX = b"# source: "
_INTERVAL_PREFIX = b"# interval_s: "
# Bounds on what a heading may claim, far above any machine: a recording may come from anybody.
_MAX_DEVICES = 10_000
_MAX_NUMBER = 1e9
# Any other word in a heading becomes "unknown".
_SCOPES = ("node", "package", "core", "dram", "gpu", "rail", "plug")


def default_path() -> str:
    """The file to record to when none is named."""
    return time.strftime("power-%Y%m%d-%H%M%S.csv")


def _text(value: str) -> str:
    """A field that may come from anywhere, as one line of text.

    It is quoted where a CSV reader would stumble, and never a formula to a spreadsheet.
    """
    value = cell(plain(value, _MAX_TEXT_CHARS))
    if any(c in value for c in ',"#'):
        return '"' + value.replace('"', '""') + '"'
    return value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def _clock_pair() -> dict[str, Any]:
    now = Stamp.now()
    return {"time_unix_s": round(now.t, 6), "mono_s": round(now.mono, 6)}


def head(interval: float, infos: Iterable[tuple[str, Info]]) -> str:
    """The lines at the start of a file, or where a recording goes on.

    Without the line of column names.
    """
    created = datetime.fromtimestamp(clocks.wall_s(), timezone.utc)
    clock = {**_clock_pair(), "stamp": "middle of the request, host clock"}
    lines = [
        MAGIC,
        f"# created: {created.isoformat(timespec='microseconds')}",
        f"# host: {plain(socket.gethostname(), _MAX_TEXT_CHARS)}",
        f"# clock: {_json(clock)}",
        f"# interval_s: {interval:g}",
    ]
    return "\n".join(lines) + "\n" + "".join(source_line(name, info) for name, info in infos)


def source_line(name: str, info: Info) -> str:
    entry = {
        "name": name,
        "source": info.source,
        "url": info.url,
        "host": info.host,
        "facts": dict(info.facts),
        "notes": list(info.notes),
        "channels": [asdict(c) for c in info.channels],
    }
    return f"# source: {_json(entry)}\n"


def sources_in(head: bytes) -> Iterator[tuple[str, str, Channel]]:
    """(name of the source, what it is, channel) for each channel in a recording's heading.

    What is not as it should be is left out. A channel is renewed no more often than the recording
    was made.
    """
    interval: float | None = None
    for line in head.split(b"\n"):
        # A heading that was cut or edited must not cost the rows below it.
        try:
            if line.startswith(_INTERVAL_PREFIX):
                interval = _above_zero(json.loads(line.removeprefix(_INTERVAL_PREFIX)))
                continue
            if not line.startswith(_SOURCE_PREFIX):
                continue
            entry = json.loads(line.removeprefix(_SOURCE_PREFIX))
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and isinstance(entry.get("channels"), list):
            yield from _channels_in(entry, interval)


def _channels_in(
    entry: dict[str, Any],
    interval: float | None,
) -> Iterator[tuple[str, str, Channel]]:
    source_name = str(entry.get("name"))[:_MAX_TEXT_CHARS]
    for fields in entry["channels"]:
        if isinstance(fields, dict) and isinstance(fields.get("name"), str):
            host = fields.get("host") or entry.get("host")
            channel = _channel({**fields, "host": host}, interval)
            yield source_name, _claimed(entry, "source"), channel


def _claimed(fields: dict[str, Any], key: str) -> str:
    """A text of the heading, cut to a length that is fit to show."""
    return str(fields.get(key) or "")[:_MAX_TEXT_CHARS]


def _channel(fields: dict[str, Any], interval: float | None) -> Channel:
    index = fields.get("index")
    period = _above_zero(fields.get("period_s"))
    return Channel(
        name=_claimed(fields, "name"),
        host=_claimed(fields, "host"),
        scope=fields["scope"] if fields.get("scope") in _SCOPES else "unknown",
        note=_claimed(fields, "note"),
        uuid=_claimed(fields, "uuid"),
        pci=_claimed(fields, "pci"),
        quantum_w=_above_zero(fields.get("quantum_w")),
        kind="interval" if fields.get("kind") == "interval" else "sampled",
        period_s=max((s for s in (period, interval) if s is not None), default=None),
        index=index if isinstance(index, int) and 0 <= index < _MAX_DEVICES else None,
    )


def _above_zero(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and 0 < value < _MAX_NUMBER:
        return float(value)
    return None


def ended_line(rows: int, reason: str) -> str:
    """The last line of a recording that was completed."""
    return f"# ended: {_json({**_clock_pair(), 'rows': rows, 'reason': reason})}\n"


def _row(t: float, mono: float, cells: dict[str, str]) -> str:
    """One line in the order of `COLUMNS`; a column without a cell stays empty."""
    row = {"time_unix_s": f"{t:.6f}", "mono_s": f"{mono:.6f}", **cells}
    return ",".join(row.get(column, "") for column in _COLUMN_NAMES) + "\n"


def _watts_text(watts: float | None) -> str:
    if watts is None:
        return ""
    return f"{watts:.10g}"


def reading_row(reading: Reading) -> str:
    """A value of a channel, or a gap with its reason."""
    quality = reading.quality.partition(":")[0]
    cells = {
        "source": _text(reading.source),
        "channel": _text(reading.channel),
        "watts": _watts_text(reading.watts),
        "joules": "" if reading.joules is None else f"{reading.joules:.6f}",
        "rtt_s": f"{reading.rtt:.6f}",
        "quality": quality if quality in (OK, STALE, SUSPECT) else "none",
        "reason": _text(reason_of(reading.quality)),
    }
    return _row(reading.t, reading.mono, cells)


def limit_row(stamp: Stamp, source: str, limit: PowerLimit) -> str:
    """The limit of a channel from here on; without watts, it has none any more."""
    cells = {
        "source": _text(source),
        "watts": _watts_text(limit.watts),
        "quality": LIMIT,
        # Not in the column of channels: nobody is to add the row up as a value.
        "mark": _text(limit.channel),
    }
    return _row(stamp.t, stamp.mono, cells)


def mark_row(kind: str, stamp: Stamp, text: str, source: str = "") -> str:
    """A mark, the begin or the end of a window, or a note, whose text is given as the reason."""
    column = "reason" if kind == NOTE else "mark"
    cells = {"source": _text(source), "quality": kind, column: _text(text)}
    return _row(stamp.t, stamp.mono, cells)

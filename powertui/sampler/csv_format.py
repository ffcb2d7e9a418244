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
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from powertui.plain import plain
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
MARK, BEGIN, END, NOTE = "mark", "begin", "end", "note"
LIMIT = "limit"
_MAX_TEXT_CHARS = 300
_SOURCE_PREFIX = b"# source: "
_INTERVAL_PREFIX = b"# interval_s: "
_MAX_DEVICES = 10_000
_MAX_NUMBER = 1e9
_SCOPES = ("node", "package", "core", "dram", "gpu", "rail", "plug")


def _text(value: str) -> str:
    """A field that may come from anywhere: one line, quoted where a reader would stumble, never a
    formula.
    """
    value = plain(value, _MAX_TEXT_CHARS)
    if value[:1] in ("=", "+", "-", "@"):
        value = "'" + value
    if any(c in value for c in ',"#'):
        return '"' + value.replace('"', '""') + '"'
    return value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def _clock_line() -> str:
    now = Stamp.now()
    pair = {
        "time_unix_s": round(now.t, 6),
        "mono_s": round(now.mono, 6),
        "stamp": "middle of the request, host clock",
    }
    return f"# clock: {_json(pair)}\n"


def head(interval: float, infos: Iterable[tuple[str, Info]]) -> str:
    """The lines at the start of a file, or where a recording goes on.

    Without the line of column names.
    """
    created = datetime.fromtimestamp(clocks.wall_s(), timezone.utc).isoformat(
        timespec="microseconds"
    )
    lines = [
        MAGIC,
        f"# created: {created}",
        f"# host: {plain(socket.gethostname(), _MAX_TEXT_CHARS)}",
        _clock_line().rstrip("\n"),
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
    """(name of the source, what it is, channel) for all that the heading of somebody's recording
    tells of, as far as it is as it should be. A channel is renewed no more often than the recording
    was made.
    """
    interval: float | None = None
    for line in head.split(b"\n"):
        try:
            if line.startswith(_INTERVAL_PREFIX):
                interval = _above_zero(json.loads(line.removeprefix(_INTERVAL_PREFIX)))
            said = (
                json.loads(line.removeprefix(_SOURCE_PREFIX))
                if line.startswith(_SOURCE_PREFIX)
                else {}
            )
        except (ValueError, RecursionError):
            continue
        channels = said.get("channels") if isinstance(said, dict) else None
        for one in channels if isinstance(channels, list) else ():
            if isinstance(one, dict) and isinstance(one.get("name"), str):
                told = {**one, "host": one.get("host") or said.get("host")}
                yield (
                    str(said.get("name"))[:_MAX_TEXT_CHARS],
                    str(said.get("source") or "")[:_MAX_TEXT_CHARS],
                    _channel(told, interval),
                )


def _channel(told: dict[str, Any], interval: float | None) -> Channel:
    index, period = told.get("index"), _above_zero(told.get("period_s"))
    periods = [s for s in (period, interval) if s is not None]
    name, host, note, uuid, pci = (
        str(told.get(key) or "")[:_MAX_TEXT_CHARS]
        for key in ("name", "host", "note", "uuid", "pci")
    )
    return Channel(
        name,
        host,
        told["scope"] if told.get("scope") in _SCOPES else "unknown",
        note=note,
        uuid=uuid,
        pci=pci,
        quantum_w=_above_zero(told.get("quantum_w")),
        kind="interval" if told.get("kind") == "interval" else "sampled",
        period_s=max(periods) if periods else None,
        index=index if isinstance(index, int) and 0 <= index < _MAX_DEVICES else None,
    )


def _above_zero(value: Any) -> float | None:
    good = (
        isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _MAX_NUMBER
    )
    return float(value) if good else None


def ended_line(rows: int, reason: str) -> str:
    now = Stamp.now()
    return (
        "# ended: "
        f"{_json({'time_unix_s': round(now.t, 6), 'mono_s': round(now.mono, 6), 'rows': rows, 'reason': reason})}\n"
    )


def reading_row(r: Reading) -> str:
    watts = "" if r.watts is None else f"{r.watts:.10g}"
    joules = "" if r.joules is None else f"{r.joules:.6f}"
    reason = reason_of(r.quality)
    kind = r.quality.partition(":")[0]
    quality = kind if kind in (OK, STALE, SUSPECT) else "none"
    return f"{r.t:.6f},{r.mono:.6f},{_text(r.source)},{_text(r.channel)},{watts},{joules},{r.rtt:.6f},{quality},{_text(reason)},\n"


def limit_row(stamp: Stamp, source: str, limit: PowerLimit) -> str:
    """What a channel is held to from here on; without watts: to nothing any more.

    It is no row of a channel: nobody adds it up.
    """
    watts = "" if limit.watts is None else f"{limit.watts:.10g}"
    return f"{stamp.t:.6f},{stamp.mono:.6f},{_text(source)},,{watts},,,{LIMIT},,{_text(limit.channel)}\n"


def mark_row(kind: str, stamp: Stamp, text: str, source: str = "") -> str:
    """A mark, the begin or end of a window (text in the last column), or a note (text as the
    reason).
    """
    reason, mark = (_text(text), "") if kind == NOTE else ("", _text(text))
    return f"{stamp.t:.6f},{stamp.mono:.6f},{_text(source)},,,,,{kind},{reason},{mark}\n"

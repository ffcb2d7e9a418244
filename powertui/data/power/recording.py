"""powertui's own recordings: a `#` header with the sources, then one row per reading.

Rows that say `none` are gaps with a reason, `stale` rows are readings that the source itself called old, rows without a
channel are marks and notes. Counters bring their joules along; a new header in the middle starts them anew.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np

from powertui.data.model import Badge, Figure, PowerKind, PowerSeries, Scope, Sensor
from powertui.data.power import assemble, table, times
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog, PowerOptions
from powertui.data.power.source import Source
from powertui.errors import UnreadableFile

NAME = "powertui recording"
MAGIC = "# powertui recording"
COLUMNS = ("time_unix_s", "source", "channel", "watts", "quality")


@dataclass
class _Channel:
    scope: Scope = Scope.UNKNOWN
    host: str = ""
    source: str = ""
    interval: bool = False
    quantum_w: float | None = None
    ns: list[int] = field(default_factory=list)
    watts: list[float] = field(default_factory=list)
    joules: list[float] = field(default_factory=list)


def sniff(head: str | bytes, _path: str) -> int:
    """By its first line, or by its columns when the header was cut away."""
    if isinstance(head, bytes):
        return 0
    if head.startswith(MAGIC):
        return 100
    first = next((line for line in head.split("\n", 50) if line and not line.startswith("#")), "")
    return 90 if first.startswith("time_unix_s,mono_s,source,channel,watts") else 0


def load(source: Source, options: PowerOptions) -> PowerLog:
    """One series per (source, channel)."""
    notes = Notes(source.path)
    described = _described(source.text)
    channels: dict[tuple[str, str], _Channel] = {}
    columns: dict[str, int] = {}
    lines = source.text.split("\n")
    host = next((line.split(":", 1)[1].strip() for line in lines[:20] if line.startswith("# host:")), "")
    gaps: dict[str, int] = {}
    stale = 0
    fresh = False  # a header came by: the counters begin again
    last: dict[tuple[str, str], float] = {}
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        if line.startswith("#"):
            fresh = fresh or line.startswith(MAGIC)
            continue
        if number == len(lines):
            notes.drop(number, "the last line was cut while it was written")
            continue
        cells = table.fields(line, ",")
        if cells[0] == "time_unix_s":
            columns = {name: i for i, name in enumerate(cells)}
            continue
        if not columns or len(cells) != len(columns):
            notes.drop(
                number,
                "has not the fields of a recording"
                if not columns
                else f"has {len(cells)} fields where the others have {len(columns)}",
            )
            continue
        if fresh:
            last.clear()
            fresh = False
        at = {name: cells[i] for name, i in columns.items()}
        if not at.get("channel"):
            continue
        ns = unix_ns(at["time_unix_s"])
        if ns is None:
            notes.drop(number, "the time is no number")
            continue
        key = (at.get("source", ""), at["channel"])
        channel = channels.setdefault(key, described.get(key) or _Channel(source=key[0]))
        watts = table.number(at["watts"])
        if at["watts"] and not np.isfinite(watts):
            notes.drop(number, "the reading is no number")
            continue
        if not at["watts"] and at.get("quality") == "none":
            reason = at.get("reason") or "no reading"
            gaps[reason] = gaps.get(reason, 0) + 1
        stale += at.get("quality") == "stale"
        counted = table.number(at.get("joules", ""))
        channel.ns.append(ns)
        channel.watts.append(watts)
        channel.joules.append(counted - last[key] if key in last and counted >= last[key] else float("nan"))
        if np.isfinite(counted):
            last[key] = counted
    for reason, count in sorted(gaps.items(), key=lambda item: -item[1]):
        notes.say(f"{count} reading{'s' if count > 1 else ''} missing: {reason}")
    if stale:
        notes.say(f"{stale} reading{'s were' if stale > 1 else ' was'} called old by the source itself")
    if not any(channel.ns for channel in channels.values()):
        raise UnreadableFile(
            source.path, "is a recording without a reading", hint="Was the source reachable? `powertui sensors` tells."
        )
    zero = min(min(channel.ns) for channel in channels.values() if channel.ns)
    series = tuple(
        _series(source.path, key, channel, zero, host or options.host, notes) for key, channel in channels.items() if channel.ns
    )
    return PowerLog(source.path, NAME, series, notes.warnings(), "powertui's own recording: Unix seconds, watts")


def unix_ns(text: str) -> int | None:
    """Unix seconds with decimals as ns, digit for digit."""
    whole, _, rest = text.strip().partition(".")
    if not whole.isdigit() or (rest and not rest.isdigit()) or len(whole) > 10:
        return None
    return int(whole) * times.S + int((rest or "0")[:9].ljust(9, "0"))


def _described(text: str) -> dict[tuple[str, str], _Channel]:
    """What the header says of each channel. Anything that is not as expected is left unsaid."""
    found: dict[tuple[str, str], _Channel] = {}
    for line in text.split("\n"):
        if not line.startswith("# source:"):
            continue
        try:
            about = json.loads(line.split(":", 1)[1])
            for channel in about["channels"]:
                scope = channel.get("scope", "")
                quantum = channel.get("quantum_w")
                found.setdefault((str(about["name"]), str(channel["name"])), _Channel(
                    Scope(scope) if scope in Scope._value2member_map_ else Scope.UNKNOWN,
                    str(channel.get("host") or about.get("host") or ""), str(about.get("source", "")),
                    channel.get("kind") == "interval",
                    float(quantum) if isinstance(quantum, (int, float)) and quantum > 0 else None,
                ))  # fmt: skip
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def _series(path: str, key: tuple[str, str], channel: _Channel, zero: int, host: str, notes: Notes) -> PowerSeries:
    name = " ".join(part for part in key if part)
    quantum = Figure(channel.quantum_w, Badge.ASSUMED) if channel.quantum_w else None
    sensor = Sensor(name, channel.source or key[0], channel.scope, channel.host or host, quantum_w=quantum)
    ns = np.array(channel.ns, np.int64) - zero
    watts, joules = np.array(channel.watts), np.array(channel.joules)
    if channel.interval:
        seconds = np.r_[np.nan, np.diff(ns) / 1e9]
        with np.errstate(divide="ignore", invalid="ignore"):
            exact = np.where(seconds > 0, joules / seconds, np.nan)
        watts = np.where(np.isfinite(joules), exact, watts)
        joules = np.where(np.isfinite(watts), watts * seconds, np.nan)
    kind = PowerKind.INTERVAL if channel.interval else PowerKind.SAMPLED
    column = times.TimeColumn(ns, np.ones(len(ns), np.bool_), "absolute", "Unix seconds")
    clock = times.clock(column, zero)
    return assemble.make(
        sensor, ns, watts, clock=clock, path=path, notes=notes, kind=kind, joules=joules if channel.interval else None
    )

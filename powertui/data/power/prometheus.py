"""Prometheus: the text that exporters answer, and the JSON of a query (raw matrix, query_range,
instant).

Scraped text seldom holds times: one scrape is a snapshot, several need a time (in ms after the
value, as the format has it, or a line with a Unix time or date before each scrape).
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import (
    Badge,
    Clock,
    Device,
    Floats,
    Int64s,
    PowerKind,
    PowerSeries,
    Scope,
    Sensor,
)
from powertui.data.power import assemble, counters, devices, json_docs, stamps, table, times, units
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.data.power.units import Unit
from powertui.errors import UnreadableFile

NAME = "prometheus"
_LINE = re.compile(
    r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(-?\d+(?:\.\d+)?))?\s*(?:#.*)?"
)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_HOSTS = (
    "Hostname",
    "hostname",
    "nodename",
    "node_name",
    "node",
    "host",
    "exported_instance",
    "instance",
    "target",
)
_SHARED_OUT = re.compile(
    r"_(?:process|container|pod|vm|thread|consumer)_|_(?:active|idle)_(?:watts|joules)"
)  # parts of what is told anyway
_SKIP_LABELS = {
    "mode",
    "DCGM_FI_DRIVER_VERSION",
    "modelName",
    "pod",
    "namespace",
    "container",
    "__name__",
    "job",
    "id",
    "UUID",
    "uuid",
    "pci_bus_id",
    "path",
    "device",
    *_HOSTS,
}


def sniff(head: str, _path: str) -> int:
    """JSON with a result, or lines of a metric that means power."""
    start = head.lstrip()[:1]
    if start in "{[" and start:
        if re.search(r'"status"\s*:\s*"error"', head) and '"errorType"' in head:
            return 40
        return (
            95
            if re.search(r'"(metric|__name__)"\s*:', head) and re.search(r'"values?"\s*:', head)
            else 0
        )
    for line in head.split("\n"):
        match = _LINE.fullmatch(line.strip())
        if (
            match
            and (match[2] is not None or line.count(" ") <= 2)
            and _metric_unit(match[1]) is not None
            and "_" in match[1]
        ):
            return 92
    return 0


def _metric_unit(name: str) -> Unit | None:
    """The unit of a metric's name; None when it does not mean power or energy."""
    if name in units.METRICS:
        return units.UNITS[units.METRICS[name]]
    if name.endswith(("_power_watts_count", "_bucket", "_created")) or _SHARED_OUT.search(name):
        return None
    return units.unit_of_name(name)


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per metric and set of labels."""
    notes = Notes(source.path)
    if source.head_text.lstrip()[:1] in ("{", "["):
        found = _json(source, notes)
    else:
        found = _text(source, notes)
    series: list[PowerSeries] = []
    seen: set[tuple[str, str]] = set()
    guessed = False
    for labels, ns, values, clock in _modes(found):
        metric = str(labels.get("__name__", ""))
        unit = units.UNITS.get(options.unit or "") or _metric_unit(metric)
        if (
            unit is None
            and metric
            and (not units.means_power(metric) or _SHARED_OUT.search(metric))
        ):
            continue
        guessed |= unit is None
        made = _series(source.path, labels, ns, values, clock, unit, options, notes)
        if (
            made is not None and (made.sensor.host, made.sensor.name) in seen
        ):  # the same thing by power and by a counter
            made = replace(made, sensor=replace(made.sensor, name=f"{made.sensor.name} (energy)"))
        if made is not None:
            seen.add((made.sensor.host, made.sensor.name))
            series.append(made)
    if not series:
        raise UnreadableFile(
            source.path,
            "comes from Prometheus, but holds no metric in watts or joules",
            hint=(
                "A counter of joules needs two scrapes. Query "
                "ipmi_dcmi_power_consumption_watts, or give --unit W."
            ),
        )
    guess = "Prometheus: unit and channel by the metric's name" + (
        "; watts assumed where it has none" if guessed else ""
    )
    return PowerLog(source.path, NAME, tuple(series), notes.warnings(), guess)


_Found = tuple[dict[str, str], Int64s, Floats, Clock]


def _modes(found: list[_Found]) -> list[_Found]:
    """Kepler's counters of idle and of dynamic energy, put together at the times for which both are
    told.
    """
    out: list[_Found] = []
    first: dict[tuple[tuple[str, str], ...], int] = {}
    for labels, ns, values, clock in found:
        if labels.get("mode") in ("idle", "dynamic"):
            key = tuple((name, value) for name, value in labels.items() if name != "mode")
            at = first.get(key)
            if at is not None:  # times that only one of them tells are not the whole
                both, here, there = np.intersect1d(out[at][1], ns, return_indices=True)
                out[at] = (out[at][0], both, out[at][2][here] + values[there], clock)
                continue
            first[key] = len(out)
        out.append((labels, ns, values, clock))
    return out


def _value(text: Any) -> float:
    try:
        value = float(text)
    except (TypeError, ValueError, OverflowError):  # JSON's whole numbers have no end
        return float("nan")
    return value if abs(value) <= table.MOST else float("nan")


def _stamp(text: str) -> int | None:
    """A time behind a value as ns: milliseconds, or seconds in OpenMetrics; None for no time of
    ours.
    """
    column = times.from_numbers(np.array([_value(text)]))
    return int(column.ns[0]) if column.kind == "absolute" and column.ok[0] else None


def _json(source: LogFile, notes: Notes) -> list[_Found]:
    try:
        body = json.loads(source.text)
    except (ValueError, RecursionError) as error:
        body = [
            doc.value for doc in json_docs.documents(source.text, notes) if "metric" in doc.value
        ]
        if not body:
            raise UnreadableFile(
                source.path,
                f"is not complete JSON ({error})",
                hint="The answer may have been cut off. Fetch it again.",
            ) from None
        notes.say("the answer was cut off; the series before the cut are read")
    if isinstance(body, dict) and body.get("status") == "error":
        raise UnreadableFile(
            source.path,
            f"holds Prometheus' error {str(body.get('error', ''))[:200]!r}",
            hint="24 h at step 1 is too much for one query. Fetch it in parts.",
        )
    answer = body.get("data", body) if isinstance(body, dict) else body
    result = answer.get("result", answer) if isinstance(answer, dict) else answer
    out: list[_Found] = []
    zero: int | None = None
    pending: list[tuple[dict[str, str], Floats, Floats]] = []
    for entry in result if isinstance(result, list) else [result]:
        if not isinstance(entry, dict) or not isinstance(entry.get("metric"), dict):
            continue
        series, single = entry.get("values"), entry.get("value")
        pairs: list[Any] = (
            series if isinstance(series, list) else [single] if isinstance(single, list) else []
        )
        good = [
            pair
            for pair in pairs
            if isinstance(pair, list) and len(pair) == 2 and np.isfinite(_value(pair[0]))
        ]
        if len(good) < len(pairs):
            notes.say(f"{len(pairs) - len(good)} points are not pairs of time and value")
        if good:
            labels = {str(key): str(value) for key, value in entry["metric"].items()}
            pending.append(
                (
                    labels,
                    np.array([_value(pair[0]) for pair in good]),
                    np.array([_value(pair[1]) for pair in good]),
                )
            )
    for labels, when, values in pending:
        column = times.from_numbers(when, "time")
        if not column.ok.all():
            notes.say(f"{int((~column.ok).sum())} points have an impossible time")
        if not column.ok.any():
            continue
        ns = column.ns[column.ok]
        first = int(ns.min())
        zero = first if zero is None else min(zero, first)
        out.append((labels, ns, values[column.ok], times.clock(column, 0)))
    return [
        (
            labels,
            ns - (zero or 0),
            values,
            Clock(zero, zero, times.ABSOLUTE, "Prometheus' time stamps"),
        )
        for labels, ns, values, _ in out
    ]


def _text(source: LogFile, notes: Notes) -> list[_Found]:
    channels: dict[tuple[tuple[str, str], ...], list[tuple[int, int | None, float]]] = {}
    now: int | None = None
    naive = False
    lines = source.text.split("\n")
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if not bare:
            continue
        if when := stamps.time_of_line(bare):
            if (stamp := times.parse(when)) is not None and stamp.dated:
                now, naive = stamp.ns - (stamp.offset_s or 0) * times.S, stamp.offset_s is None
            else:
                now = _stamp(when) or now
            continue
        if bare.startswith("#"):
            continue
        match = _LINE.fullmatch(bare)
        if match is None or (number == len(lines) and line):
            notes.drop(
                number,
                "is not a line of the exposition format"
                if match is None
                else "the last line may be cut",
            )
            continue
        if _metric_unit(match[1]) is None and not units.means_power(match[1]):
            continue
        labels = {
            "__name__": match[1],
            **{
                key: re.sub(r"\\(.)", r"\1", value) for key, value in _LABEL.findall(match[2] or "")
            },
        }
        at = _stamp(match[4]) if match[4] else now
        channels.setdefault(tuple(labels.items()), []).append((number, at, _value(match[3])))
    timed = any(when is not None for points in channels.values() for _, when, _ in points)
    if not timed and any(len(points) > 1 for points in channels.values()):
        raise UnreadableFile(
            source.path,
            "holds several scrapes and no time",
            hint="Write the time before each: date +%s >> FILE; curl … >> FILE",
        )
    out: list[_Found] = []
    zero = min(
        (when for points in channels.values() for _, when, _ in points if when is not None),
        default=0,
    )
    kind: times.TimeKind = "local" if naive else "absolute"
    clock = (
        times.clock(
            times.TimeColumn(
                np.zeros(0, np.int64), np.zeros(0, np.bool_), kind, "times of the scrapes"
            ),
            zero,
        )
        if timed
        else Clock(detail="a snapshot without a time")
    )
    for key, points in channels.items():
        notes.drop_all(
            (number for number, when, _ in points if timed and when is None), "has no time"
        )
        good = [(when or 0, value) for _, when, value in points if when is not None or not timed]
        if good:
            out.append(
                (
                    dict(key),
                    np.array([when for when, _ in good], np.int64) - zero,
                    np.array([value for _, value in good]),
                    clock,
                )
            )
    return out


def _series(
    path: str,
    labels: dict[str, str],
    ns: Int64s,
    values: Floats,
    clock: Clock,
    unit: Unit | None,
    options: LogColumns,
    notes: Notes,
) -> PowerSeries | None:
    metric = labels.get("__name__", "power")
    named = next((labels[key] for key in _HOSTS if labels.get(key)), "")
    host = re.sub(r":\d{1,5}$", "", named) or options.host
    rest = " ".join(value for key, value in labels.items() if key not in _SKIP_LABELS)
    short = re.sub(r"_(watts?|milliwatts|microwatts|joules_total|joules)$", "", metric)
    gpu = labels.get("gpu") or labels.get("minor_number") or labels.get("index")
    name = (
        f"GPU {gpu}" if gpu and units.scope_of(metric) is Scope.GPU else f"{short} {rest}".strip()
    )
    scope = units.scope_of(f"{re.sub('^(kepler_)?node_', '', short)} {rest}")
    sensor = Sensor(
        name,
        f"{NAME} {short}",
        scope,
        host,
        device=_device(labels) if scope is Scope.GPU else None,
        scale=Badge.MEASURED if unit is not None else Badge.ASSUMED,
    )
    unit = unit or units.UNITS["W"]
    scaled = values * unit.factor
    if unit.quantity == "power":
        return assemble.power_series(sensor, ns, scaled, clock=clock, path=path, notes=notes)
    there = np.isfinite(scaled)
    ns, scaled = ns[there], scaled[there]
    if len(ns) < 2:
        return None
    joules, watts = counters.intervals(ns, scaled, notes, name)
    return assemble.power_series(
        sensor,
        ns,
        watts,
        clock=clock,
        path=path,
        notes=notes,
        kind=PowerKind.INTERVAL,
        joules=joules,
    )


def _device(labels: dict[str, str]) -> Device | None:
    """The device that an exporter's labels name."""
    found: Device | None = None
    for key in ("gpu", "gpu_id", "minor_number", "index", "device", "UUID", "uuid", "pci_bus_id"):
        if labels.get(key):
            found = devices.joined_device(
                found, devices.device_named(labels[key], labels.get("modelName", ""))
            )
    return found

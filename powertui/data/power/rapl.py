"""Dumps of RAPL's energy counters: sysfs paths with values, CSV of `energy_uj` columns, and
pyJoules' per-window microjoules.

Counters wrap at their range (`max_energy_range_uj`, where the dump holds it) and start again after
a reset. A core lies inside its package, memory beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Badge, Int64s, PowerKind, PowerSeries, Scope, Sensor
from powertui.data.power import counters, generic_csv, stamps, table, times, windows
from powertui.data.power.assemble import power_series, zeroed
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.data.power.units import UNITS, scope_of
from powertui.errors import UnreadableFile

NAME = "rapl"
# Everything is bounded: a line of megabytes must not be tried again from each of its characters.
_PATH = re.compile(
    r"((?:intel-rapl|amd-rapl|intel-rapl-mmio)[:\d]{0,20}(?:/[\w:-]{1,80}){0,4}?)/(energy_uj|name|max_energy_range_uj)[:=\s]{1,9}"
    r"(\S{1,400})"
)
_LEADING = re.compile(r"\s*(\d{1,10}(?:\.\d+)?|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)[\s,;]+(?=\S)")
_DOMAIN = r"package(?:-?\d{0,3})?|pkg-?\d{0,3}|dram(?:-?\d{0,3})?|core|cores|uncore|psys|pp0|pp1|intel-rapl(?::\d{1,3}){1,3}"
_VALUE = re.compile(
    rf"\s*(\d{{1,19}}(?:\.\d{{1,9}})?)(?:\s?[uµμ]s)?[\s,;:]{{1,9}}(?:(\d{{1,19}})(?:\s?[uµμ]J)?[\s,;:]{{1,9}}({_DOMAIN})"
    rf"|({_DOMAIN})[\s,;:]{{1,9}}(\d{{1,19}})(?:\s?[uµμ]J)?)\s*",
    re.IGNORECASE,
)
_MIN_EPOCH_S = 1e9  # s: a log that begins with less does not count from 1970
_MIN_DOMAIN_W = 0.3  # of a domain of a processor that does anything
_COLUMN = re.compile(
    r"(package|pkg|dram|core|uncore|psys|pp0|pp1|nvidia_gpu)[-_ ]?\d*(?:[-_](?:energy[-_])?uj)?",
    re.IGNORECASE,
)


def sniff(head: str, _path: str) -> int:
    """By sysfs paths, or by columns of counters."""
    if "energy_uj" in head and _PATH.search(head):
        return 96
    first = next(
        (line for line in head.split("\n") if line.strip() and not line.startswith("#")), ""
    )
    if first.startswith("timestamp;tag;duration"):
        return 97
    if _is_lines(head):
        return 96
    if "{" in first:  # a metric's labels
        return 0
    layout = (
        table.shape(head)
        if re.search(r"energy_uj|intel-rapl|package[-_]?\d", first, re.IGNORECASE)
        else None
    )
    return (
        94
        if layout is not None
        and layout.named
        and re.search(r"energy_uj|intel-rapl|rapl", first, re.IGNORECASE)
        else 0
    )


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per domain."""
    first = next(
        (
            line
            for line in source.head_text.split("\n")
            if line.strip() and not line.startswith("#")
        ),
        "",
    )
    if first.startswith("timestamp;tag;duration"):
        return _pyjoules(source, options)
    if not _PATH.search(source.head_text) and _is_lines(source.head_text):
        return _lines(source, options)
    return _paths(source, options) if _PATH.search(source.head_text) else _columns(source, options)


def _is_lines(head: str) -> bool:
    """Most of the first lines are a time, a counter and its domain."""
    lines = [line for line in head.split("\n")[:40] if line.strip() and not line.startswith("#")]
    return 2 * sum(_VALUE.fullmatch(line) is not None for line in lines) > len(lines)


def _lines(source: LogFile, options: LogColumns) -> PowerLog:
    """`µs value domain` a line: a time, a counter in µJ, the domain it belongs to.

    A domain named twice a round is two of them.
    """
    notes = Notes(source.path)
    lines = source.text.split("\n")
    rows: list[tuple[str, str, str, int]] = []  # time, value, label, line
    seen: dict[str, int] = {}
    first = ""
    for number, line in stamps.numbered_lines(lines):
        match = _VALUE.fullmatch(line)
        if match is None or (number == len(lines) and match[2] is None):
            if not line.startswith("#"):
                notes.drop(
                    number,
                    "is not a time, a value and a domain"
                    if match is None
                    else "the last line may be cut",
                )
            continue
        domain = (match[3] or match[4]).lower()
        first = first or domain
        if domain == first:  # the next round
            seen = {}
        place = seen[domain] = seen.get(domain, -1) + 1
        rows.append(
            (match[1], match[2] or match[5], f"{domain} {place}" if place else domain, number)
        )
    told = re.search(r"(?m)^[ \t]{0,20}\d{1,19}\s?[uµμ]s\b", source.head_text) is not None
    elapsed = bool(rows) and float(rows[0][0]) < (_MIN_EPOCH_S * 1e6 if told else _MIN_EPOCH_S)
    factor = _seconds_per(rows) if elapsed and not told else 1e-6
    scale = Badge.ASSUMED if elapsed and not told else Badge.MEASURED
    found = Collected(source.path, notes)
    for when, value, label, number in rows:
        scope = Scope.PACKAGE if label.startswith(("pkg", "intel-rapl")) else scope_of(label)
        stamp = repr(float(when) * factor) if elapsed else when
        found.add(Sensor(label, NAME, scope, scale=scale), stamp, value, number, unit=UNITS["uJ"])
    return found.log(NAME, options, "RAPL counters in µJ, one a line")


def _seconds_per(rows: Sequence[tuple[str, str, str, int]]) -> float:
    """The unit of elapsed times that tell none: the one in which the first domain draws what a
    domain can draw.
    """
    own = np.array(
        [
            (float(when), float(value))
            for when, value, label, _ in rows[:2000]
            if label == rows[0][2]
        ]
    )
    passed, counted = np.diff(own[:, 0]), np.diff(own[:, 1]) / 1e6
    good = (passed > 0) & (counted > 0)
    if not good.any():
        return 1.0
    per = float(np.median(counted[good] / passed[good]))
    return next(
        (factor for factor in (1.0, 1e-3, 1e-6, 1e-9) if per / factor >= _MIN_DOMAIN_W), 1.0
    )


def _columns(source: LogFile, options: LogColumns) -> PowerLog:
    """A CSV of counters, with the range in a column of its own at best."""
    notes = Notes(source.path)
    layout = table.shape(source.head_text)
    if layout is None:
        raise UnreadableFile(source.path, "has RAPL's columns, but no rows")
    rows = table.read(source, layout, notes)
    ranged = next(
        (i for i, name in enumerate(rows.names) if "max_energy_range" in name.lower()), None
    )
    form = generic_csv.TableForm(label=NAME, counter=True, wrap_j=_range(rows, ranged))
    return generic_csv.from_table(source.path, rows, options, notes, form)


def _range(rows: table.FileCells, column: int | None) -> float | None:
    if column is None:
        return None
    values = rows.floats(column)[0]
    good = values[np.isfinite(values) & (values > 0)]
    return float(good[0]) / 1e6 if len(good) else None


def _paths(source: LogFile, options: LogColumns) -> PowerLog:
    """Lines of sysfs paths, each with a time before it or under a line with the time."""
    notes = Notes(source.path)
    names: dict[str, str] = {}
    ranges: dict[str, float] = {}
    found: dict[str, list[tuple[str, float, int]]] = {}
    now = ""
    lines = source.text.split("\n")
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        if re.fullmatch(r"\d{1,10}(\.\d+)?", bare) or times.parse(bare) is not None:
            now = bare
            continue
        match = _PATH.search(bare)
        if match is None or (number == len(lines) and line):
            notes.drop(number, "is not a counter" if match is None else "the last line may be cut")
            continue
        leading = _LEADING.match(bare)
        if leading and leading.end() <= match.start():
            now = leading[1]
        zone, what, value = match.groups()
        if what == "name":
            names[zone] = value
        elif what == "max_energy_range_uj":
            ranges[zone] = table.number(value) / 1e6
        elif np.isfinite(table.number(value)):
            found.setdefault(zone, []).append((now, table.number(value) / 1e6, number))
        else:
            notes.drop(number, "the counter is not a number")
    series: list[PowerSeries] = []
    words = ""
    zero: int | None = None
    columns: dict[str, times.TimeColumn] = {}
    for zone, points in found.items():
        columns[zone] = times.in_zone(times.from_texts([when for when, _, _ in points]), options.tz)
        words = columns[zone].words
        if columns[zone].ok.any():
            first = int(columns[zone].ns[columns[zone].ok].min())
            zero = first if zero is None else min(zero, first)
    if zero is None:
        raise UnreadableFile(
            source.path,
            "has counters, but no time",
            hint=(
                "Put the time before each round: date +%s.%N; grep . "
                "/sys/class/powercap/*/energy_uj"
            ),
        )
    for zone, points in found.items():
        column = columns[zone]
        joules = np.array([value for _, value, _ in points])
        notes.drop_all(
            (points[i][2] for i in np.flatnonzero(~column.ok)), "has no time that can be read"
        )
        made = _counter(
            source.path,
            names.get(zone, zone),
            zone,
            column,
            joules,
            zero,
            ranges.get(zone),
            options,
            notes,
        )
        if made is not None:
            series.append(made)
    if not series:
        raise UnreadableFile(
            source.path, "has fewer than two readings of each counter, so no power is known"
        )
    return PowerLog(
        source.path, NAME, tuple(series), notes.warnings(), f"RAPL counters in µJ; time: {words}"
    )


def _counter(
    path: str,
    name: str,
    zone: str,
    column: times.TimeColumn,
    joules: np.ndarray,
    zero: int,
    wrap_j: float | None,
    options: LogColumns,
    notes: Notes,
) -> PowerSeries | None:
    good = column.ok
    if good.sum() < 2:
        return None
    ns: Int64s = column.ns[good] - zero
    order = np.argsort(ns, kind="stable")
    energy, watts = counters.intervals(ns[order], joules[good][order], notes, name, wrap_j)
    label = name if name != zone else zone.rsplit("/", 1)[-1]
    scope = scope_of(label)
    if (
        label == zone.rsplit("/", 1)[-1]
    ):  # no `name` in the dump: a zone inside a zone is a part of its package
        scope = Scope.PACKAGE if label.count(":") == 1 else Scope.CORE
    sensor = Sensor(label, NAME, scope, options.host)
    return power_series(
        sensor,
        ns[order],
        watts,
        clock=times.clock(column, zero),
        path=path,
        notes=notes,
        kind=PowerKind.INTERVAL,
        joules=energy,
    )


def _pyjoules(source: LogFile, options: LogColumns) -> PowerLog:
    """Windows with a start (Unix seconds), a duration and microjoules per domain."""
    notes = Notes(source.path)
    layout = table.shape(source.head_text)
    rows = table.read(source, layout, notes) if layout is not None else None
    if rows is None or not len(rows) or len(rows.names) < 3:
        raise UnreadableFile(source.path, "has pyJoules' header, but no rows")
    begun, length = (
        times.from_numbers(rows.floats(0)[0].copy(), "timestamp"),
        times.lengths(rows.floats(2)[0]),
    )
    good = begun.ok & length[1]
    notes.drop_all(rows.lines[~good], "start or duration is not a number")
    _, clock = zeroed(begun, good)
    zero = int(begun.ns[good].min()) if good.any() else 0
    series: list[PowerSeries] = []
    for at in range(3, len(rows.names)):
        name = rows.names[at].strip()
        if not _COLUMN.fullmatch(name):
            continue
        joules, bad = rows.floats(at)
        usable = good & ~bad & np.isfinite(joules)
        starts = begun.ns[usable] - zero
        ends = starts + length[0][usable]
        ns, watts, energy = windows.interval_rows(
            starts, ends, joules[usable] / 1e6, rows.lines[usable], notes
        )
        if len(ns):
            sensor = Sensor(name, NAME, scope_of(name), options.host)
            series.append(
                power_series(
                    sensor,
                    ns,
                    watts,
                    clock=clock,
                    path=source.path,
                    notes=notes,
                    kind=PowerKind.INTERVAL,
                    joules=energy,
                )
            )
    if not series:
        raise UnreadableFile(source.path, "has pyJoules' header, but no energy in any row")
    return PowerLog(
        source.path, NAME, tuple(series), notes.warnings(), "pyJoules: µJ per window, Unix seconds"
    )

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
from powertui.data.model import Badge, Int64s, PowerSeries, Scope, Sensor
from powertui.data.power import (
    column_times,
    generic_csv,
    stamps,
    table,
    times,
    windows,
    written_times,
)
from powertui.data.power.assemble import power_series, zeroed
from powertui.data.power.collected import Collected
from powertui.data.power.counter_series import counter_series
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.data.power.table_form import TableForm
from powertui.data.power.units import UNITS, scope_of
from powertui.data.quantiles import median_of_column
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

NAME = "rapl"
# The CSV handler of pyJoules: one window a row, domains as columns.
_PYJOULES_HEAD = "timestamp;tag;duration"
# Everything is bounded: a line of megabytes must not be tried again from each of its characters.
_PATH = re.compile(
    r"((?:intel-rapl|amd-rapl|intel-rapl-mmio)[:\d]{0,20}(?:/[\w:-]{1,80}){0,4}?)"
    r"/(energy_uj|name|max_energy_range_uj)[:=\s]{1,9}"
    r"(\S{1,400})"
)
_LEADING = re.compile(r"\s*(\d{1,10}(?:\.\d+)?|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)[\s,;]+(?=\S)")
# As the kernel and the tools over it call the domains.
_DOMAIN = (
    r"package(?:-?\d{0,3})?|pkg-?\d{0,3}|dram(?:-?\d{0,3})?|core|cores|uncore|psys|pp0|pp1|"
    r"intel-rapl(?::\d{1,3}){1,3}"
)
_VALUE = re.compile(
    rf"\s*(\d{{1,19}}(?:\.\d{{1,9}})?)(?:\s?[uµμ]s)?[\s,;:]{{1,9}}"
    rf"(?:(\d{{1,19}})(?:\s?[uµμ]J)?[\s,;:]{{1,9}}({_DOMAIN})"
    rf"|({_DOMAIN})[\s,;:]{{1,9}}(\d{{1,19}})(?:\s?[uµμ]J)?)\s*",
    re.IGNORECASE,
)
_MIN_EPOCH_S = 1e9  # September 2001: a log that begins with less does not count from 1970
_MIN_DOMAIN_W = 0.3  # of a domain of a processor that does anything; chosen, not measured
_MAX_PROBED_LINES = 2000  # that the unit of elapsed times is taken from; chosen, not measured
_COLUMN = re.compile(
    r"(package|pkg|dram|core|uncore|psys|pp0|pp1|nvidia_gpu)[-_ ]?\d*(?:[-_](?:energy[-_])?uj)?",
    re.IGNORECASE,
)


def sniff(head: str, _path: str) -> int:
    """By sysfs paths, or by columns of counters."""
    if "energy_uj" in head and _PATH.search(head):
        return 96
    first = _first_line(head)
    if first.startswith(_PYJOULES_HEAD):
        return 97
    if _is_lines(head):
        return 96
    if "{" in first:  # a metric's labels
        return 0
    if not re.search(r"energy_uj|intel-rapl|rapl", first, re.IGNORECASE):
        return 0
    if not re.search(r"energy_uj|intel-rapl|package[-_]?\d", first, re.IGNORECASE):
        return 0
    layout = table.shape(head)
    return 94 if layout is not None and layout.named else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per domain."""
    head = source.head_text
    if _first_line(head).startswith(_PYJOULES_HEAD):
        return _pyjoules(source, options)
    if _PATH.search(head):
        return _paths(source, options)
    if _is_lines(head):
        return _lines(source, options)
    return _columns(source, options)


def _first_line(head: str) -> str:
    """The first line that is neither empty nor a comment."""
    lines = head.split("\n")
    return next((line for line in lines if line.strip() and not line.startswith("#")), "")


def _is_lines(head: str) -> bool:
    """Whether most of the first lines are a time, a counter and its domain."""
    lines = [line for line in head.split("\n")[:40] if line.strip() and not line.startswith("#")]
    return 2 * sum(_VALUE.fullmatch(line) is not None for line in lines) > len(lines)


class _DomainLine(NamedTuple):
    """A time, a counter in µJ and the domain it belongs to, as they are written."""

    when: str
    value: str
    label: str
    line: int


def _domain_lines(text: str, notes: Notes) -> list[_DomainLine]:
    """All lines of counters. A domain that is named twice a round is two of them."""
    lines = text.split("\n")
    rows: list[_DomainLine] = []
    times_named: dict[str, int] = {}  # in this round
    first_domain = ""
    for number, line in stamps.numbered_lines(lines):
        if line.startswith("#"):
            continue
        match = _VALUE.fullmatch(line)
        if match is None:
            notes.drop(number, "is not a time, a value and a domain")
            continue
        if number == len(lines) and match[2] is None:
            # The value is last there: digits may be missing.
            notes.drop(number, "the last line may be cut")
            continue
        domain = (match[3] or match[4]).lower()
        first_domain = first_domain or domain
        if domain == first_domain:
            times_named = {}
        place = times_named[domain] = times_named.get(domain, -1) + 1
        if place:
            label = f"{domain} {place}"
        else:
            label = domain
        rows.append(_DomainLine(match[1], match[2] or match[5], label, number))
    return rows


def _lines(source: LogFile, options: LogColumns) -> PowerLog:
    """`µs value domain` a line."""
    notes = Notes(source.path)
    rows = _domain_lines(source.text, notes)
    has_unit = re.search(r"(?m)^[ \t]{0,20}\d{1,19}\s?[uµμ]s\b", source.head_text) is not None
    min_epoch = _MIN_EPOCH_S * 1e6 if has_unit else _MIN_EPOCH_S
    is_elapsed = bool(rows) and float(rows[0].when) < min_epoch
    is_guessed = is_elapsed and not has_unit
    factor = _seconds_per_tick(rows) if is_guessed else 1e-6
    scale = Badge.ASSUMED if is_guessed else Badge.MEASURED
    collected = Collected(source.path, notes)
    for row in rows:
        is_package = row.label.startswith(("pkg", "intel-rapl"))
        scope = Scope.PACKAGE if is_package else scope_of(row.label)
        if is_elapsed:
            stamp = repr(float(row.when) * factor)
        else:
            stamp = row.when
        sensor = Sensor(row.label, NAME, scope, scale=scale)
        collected.add(sensor, stamp, row.value, row.line, unit=UNITS["uJ"])
    return collected.log(NAME, options, "RAPL counters in µJ, one a line")


def _seconds_per_tick(rows: Sequence[_DomainLine]) -> float:
    """The unit of elapsed times that name none: the largest in which the first domain draws what a
    domain can draw.
    """
    of_first = [row for row in rows[:_MAX_PROBED_LINES] if row.label == rows[0].label]
    ticks = np.diff([float(row.when) for row in of_first])
    joules = np.diff([float(row.value) for row in of_first]) / 1e6
    good = (ticks > 0) & (joules > 0)
    if not good.any():
        return 1.0
    joules_per_tick = median_of_column(joules[good] / ticks[good])
    for seconds in (1.0, 1e-3, 1e-6, 1e-9):
        if joules_per_tick / seconds >= _MIN_DOMAIN_W:
            return seconds
    return 1.0


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
    form = TableForm(label=NAME, counter=True, wrap_j=_range(rows, ranged))
    return generic_csv.from_table(source.path, rows, options, notes, form)


def _range(rows: table.FileCells, column: int | None) -> float | None:
    if column is None:
        return None
    values = rows.floats(column)[0]
    good = values[np.isfinite(values) & (values > 0)]
    if len(good):
        return float(good[0]) / 1e6
    return None


class _Reading(NamedTuple):
    """One reading of a counter, with its time as it is written."""

    when: str
    joules: float
    line: int


class _Zone:
    """One counter of a dump: a zone of powercap, by its path."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = ""  # where the dump holds it
        self.range_j: float | None = None
        self.readings: list[_Reading] = []

    def sensor(self, host: str) -> Sensor:
        """What the zone measures."""
        last = self.path.rsplit("/", 1)[-1]
        if self.name and self.name != self.path:
            label = self.name
        else:
            label = last
        scope = scope_of(label)
        if label == last:  # no `name` in the dump: a zone inside a zone is a part of its package
            if label.count(":") == 1:
                scope = Scope.PACKAGE
            else:
                scope = Scope.CORE
        return Sensor(label, NAME, scope, host)

    def series(
        self,
        column: column_times.TimeColumn,
        zero_ns: int,
        host: str,
        notes: Notes,
    ) -> PowerSeries | None:
        """Its power; None of fewer than two readings."""
        good = column.ok
        if good.sum() < 2:
            return None
        ns: Int64s = column.ns[good] - zero_ns
        order = np.argsort(ns, kind="stable")
        joules = np.array([reading.joules for reading in self.readings])[good]
        return counter_series(
            self.sensor(host),
            ns[order],
            joules[order],
            clock=times.clock(column, zero_ns),
            notes=notes,
            wrap_j=self.range_j,
        )


def _paths(source: LogFile, options: LogColumns) -> PowerLog:
    """Lines of sysfs paths, each with a time before it or under a line with the time."""
    notes = Notes(source.path)
    zones = [zone for zone in _zones(source.text, notes) if zone.readings]
    columns = []
    for zone in zones:
        stamps_of_zone = [reading.when for reading in zone.readings]
        columns.append(times.in_zone(column_times.from_texts(stamps_of_zone), options.tz))
    first_ns = [int(column.ns[column.ok].min()) for column in columns if column.ok.any()]
    if not first_ns:
        raise UnreadableFile(
            source.path,
            "has counters, but no time",
            hint=(
                "Put the time before each round: date +%s.%N; grep . "
                "/sys/class/powercap/*/energy_uj"
            ),
        )
    series: list[PowerSeries] = []
    for zone, column in zip(zones, columns, strict=True):
        untimed = (zone.readings[row].line for row in np.flatnonzero(~column.ok))
        notes.drop_all(untimed, "has no time that can be read")
        channel = zone.series(column, min(first_ns), options.host, notes)
        if channel is not None:
            series.append(channel)
    if not series:
        raise UnreadableFile(
            source.path, "has fewer than two readings of each counter, so no power is known"
        )
    guess = f"RAPL counters in µJ; time: {columns[-1].words}"
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess=guess,
    )


def _zones(text: str, notes: Notes) -> list[_Zone]:
    """All zones of a dump, in the order in which their first reading comes."""
    zones: dict[str, _Zone] = {}
    now = ""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        if re.fullmatch(r"\d{1,10}(\.\d+)?", bare) or written_times.parse(bare) is not None:
            now = bare
            continue
        match = _PATH.search(bare)
        if match is None:
            notes.drop(number, "is not a counter")
            continue
        if number == len(lines):
            notes.drop(number, "the last line may be cut")
            continue
        leading = _LEADING.match(bare)
        if leading and leading.end() <= match.start():
            now = leading[1]
        path, what, written = match.groups()
        zone = zones.setdefault(path, _Zone(path))
        value = table.number(written)
        if what == "name":
            zone.name = written
        elif what == "max_energy_range_uj":
            zone.range_j = value / 1e6
        elif np.isfinite(value):
            if not zone.readings:
                zones[path] = zones.pop(path)  # its name or range may have come long before
            zone.readings.append(_Reading(now, value / 1e6, number))
        else:
            notes.drop(number, "the counter is not a number")
    return list(zones.values())


def _pyjoules(source: LogFile, options: LogColumns) -> PowerLog:
    """Windows with a start (Unix seconds), a duration and microjoules per domain."""
    notes = Notes(source.path)
    layout = table.shape(source.head_text)
    if layout is not None:
        rows = table.read(source, layout, notes)
    else:
        rows = None
    if rows is None or not len(rows) or len(rows.names) < 3:
        raise UnreadableFile(source.path, "has pyJoules' header, but no rows")
    begun = column_times.from_numbers(rows.floats(0)[0].copy(), "timestamp")
    length, has_length = column_times.lengths(rows.floats(2)[0])
    good = begun.ok & has_length
    notes.drop_all(rows.lines[~good], "start or duration is not a number")
    _, clock = zeroed(begun, good)
    if good.any():
        zero = int(begun.ns[good].min())
    else:
        zero = 0
    series: list[PowerSeries] = []
    for column in range(3, len(rows.names)):
        name = rows.names[column].strip()
        if not _COLUMN.fullmatch(name):
            continue
        microjoules, is_bad = rows.floats(column)
        usable = good & ~is_bad & np.isfinite(microjoules)
        starts = begun.ns[usable] - zero
        ends = starts + length[usable]
        ns, watts, energy = windows.interval_rows(
            starts, ends, microjoules[usable] / 1e6, rows.lines[usable], notes
        )
        if len(ns):
            sensor = Sensor(name, NAME, scope_of(name), options.host)
            series.append(power_series(sensor, ns, watts, clock=clock, notes=notes, joules=energy))
    if not series:
        raise UnreadableFile(source.path, "has pyJoules' header, but no energy in any row")
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess="pyJoules: µJ per window, Unix seconds",
    )

"""Any table with a time and a power or energy column. What it guesses is said; what it cannot guess
is asked for.

Wide tables (one column per channel) and long ones (a column that names the channel) both work, with
or without a header. A column of joules is a counter when it only grows, else joules per interval.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import (
    NS_PER_S,
    Badge,
    Bools,
    Floats,
    Int64s,
    PowerKind,
    PowerSeries,
    Scope,
    Sensor,
)
from powertui.data.power import (
    assemble,
    counters,
    groups,
    steps_of_clock,
    table,
    times,
    titles,
    units,
)
from powertui.data.power.cells import number
from powertui.data.power.groups import ChannelRows
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.picked_columns import (
    PickedColumn,
    with_doubts,
    with_one_unit,
    without_averages,
)
from powertui.data.power.source import LogFile
from powertui.data.power.steps_of_clock import Joined
from powertui.data.power.units import Unit
from powertui.errors import UnreadableFile, UsageError

NAME = "csv"
_TIME_WORDS = {
    "time",
    "timestamp",
    "timestamps",
    "datetime",
    "date",
    "epoch",
    "unix",
    "elapsed",
    "ts",
    "clock",
    "t",
    "uhrzeit",
    "datum",
    "zeit",
    "seconds",
    "secs",
    "walltime",
    "utc",
    "unixtime",
    "timesec",
    "systemtime",
    "lastchanged",
    "lastupdated",
    "recordedat",
    "createdat",
    "sampledat",
    "collectedat",
}
_BARE = re.compile(r"(gpu|package|pkg|socket|dram|psys|node|psu|card)[ _-]?\d*", re.IGNORECASE)
_MIN_MILLIWATTS = 5000.0  # a column of bare numbers beyond this is in mW
_RAIL_MW = 100.0  # a rail of a small board beyond this is
_CERTAIN_PART_W = 3.0  # of one GPU or processor: as kW it would be more than any draws
_CERTAIN_W, _DOUBTFUL_W = (
    10.0,
    1000.0,
)  # bare numbers between these are watts: as mW or kW no machine that trains would draw them
_MOST_W = 20_000.0  # a machine with 16 accelerators draws no more
MAX_CHANNELS = groups.MAX_CHANNELS
_MAX_NAMED_COLUMNS = 4  # in the words on how a log was read: they are one line


def sniff(head: str, _path: str) -> int:
    """Low on purpose: anything that knows the dialect comes first.

    55 when time and power are both found by name.
    """
    if not head.strip():
        return 0
    layout = table.shape(head)
    if layout is None or len(layout.names) > MAX_CHANNELS:
        return 0
    powers = _power_columns(layout.names) or _energy_columns(layout.names, None)
    if layout.named and not powers and _long_head(head, layout):
        return 55 if any(_time_score(name) > 0 for name in layout.names) else 20
    if not layout.named or not powers:
        long = not layout.named and _long_head(head, layout)
        return 20 if long else 10 if _the_other(layout.names) else 0
    if not any(_time_score(name) > 0 for name in layout.names):
        return 20
    return 55 if _has_reading(head, layout, powers[0][0]) else 20


def _has_reading(head: str, layout: table.Shape, column: int) -> bool:
    """Some row below the header is as long as it and has a number (or nothing) where the power
    stands: prose has not.
    """
    for line in head.split("\n")[layout.first : layout.first + 20]:
        cells = table.fields(line, layout.delimiter)
        if len(cells) == len(layout.names) and (
            not cells[column] or np.isfinite(table.number(cells[column]))
        ):
            return True
    return False


def _long_head(head: str, layout: table.Shape) -> bool:
    """The first rows name power among what they tell of."""
    cells = [
        table.fields(line, layout.delimiter)
        for line in head.split("\n")[layout.first : layout.first + 200]
    ]
    regular = [row for row in cells if len(row) == len(layout.names)]
    if not regular:
        return False
    rows = table.FileCells(
        layout.names,
        np.arange(len(regular)),
        [list(column) for column in zip(*regular, strict=True)],
    )
    return groups.long_form(rows, []) is not None


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """Guess the columns (or take those that were named), and make one series per channel."""
    notes = Notes(source.path)
    layout = table.shape(source.head_text)
    if layout is None:
        raise UnreadableFile(
            source.path,
            "is not a table of columns",
            hint="powertui reads CSV, and the formats listed in docs/power-logs.md.",
        )
    rows = table.read(source, layout, notes)
    form = TableForm(named=layout.named, above=titles.read_titles(layout.above))
    return from_table(source.path, rows, options, notes, form)


@dataclass(frozen=True)
class TableForm:
    """What a dialect knows of a table beyond the names of its columns."""

    label: str = NAME  # the dialect's name
    named: bool = True  # the file itself names its columns
    counter: bool = False  # its joules are counters, even where they do not look like it
    wrap_j: float | None = None  # where these counters start again
    day_first: bool = False  # of dates that could be read either way
    above: titles.Titles = titles.NO_TITLES  # what the lines above the table say


def from_table(
    path: str, rows: table.FileCells, options: LogColumns, notes: Notes, form: TableForm
) -> PowerLog:
    """The same, of a table that a dialect has already cut into columns."""
    if not len(rows):
        raise UnreadableFile(
            path, f"has no complete row ({notes.first_reason() or 'only a header'})"
        )
    return _TableLog(path, rows, options, notes, form).log()


class _TableLog:
    """A table on its way to a log: which columns it is read by, and which rows are which channel's."""

    def __init__(
        self,
        path: str,
        rows: table.FileCells,
        options: LogColumns,
        notes: Notes,
        form: TableForm,
    ) -> None:
        self.path = path
        self.rows = rows
        self.options = options
        self.notes = notes
        self.form = form
        self._pick_columns()
        if _falls(self.times):
            # the newest row stands first: what repeats or counts is looked for in order of time
            self.rows = rows.take(slice(None, None, -1))
            self._pick_columns()
        self._place_times()
        self._question_units()
        notes.drop_all(self.rows.lines[~self.times.ok], "the time cannot be read")
        self._note_ambiguous_date()
        self.channels = self._rows_by_channel()
        ns, self.clock = assemble.zeroed(self.times, self.times.ok)
        row_ns: Int64s = np.full(len(self.rows), 0, np.int64)
        row_ns[self.times.ok] = ns
        self.shared = _Shared(row_ns)
        self.kinds: dict[tuple[str, str], str] = {}  # how joules were read, by column and unit

    def log(self) -> PowerLog:
        """The log. Raises `UnreadableFile` when no row holds a reading."""
        is_unit_certain = self.form.named or bool(self.options.unit)
        series: list[PowerSeries] = []
        for column in self.picked:
            if not is_unit_certain:
                column = replace(column, sure=False)
            series.extend(self._series_of_column(column))
        if not series:
            raise UnreadableFile(
                self.path,
                f"holds no reading ({self.notes.first_reason() or 'every cell is empty'})",
            )
        return PowerLog(
            self.path,
            self.form.label,
            tuple(series),
            self.notes.warnings(),
            self._guess(len(series)),
        )

    def _pick_columns(self) -> None:
        form = self.form
        self.picked, self.quantity = _pick_power(self.path, self.rows, self.options, form.above)
        taken = {column.column for column in self.picked}
        self.time_columns, self.times = _pick_time(
            self.path, self.rows, self.options, taken, form.day_first, form.above
        )

    def _place_times(self) -> None:
        """Give times of day their date, and local times their zone."""
        names = [self.rows.names[column] for column in self.time_columns]
        dated = titles.dated(self.times, self.path, self.form.above)
        self.times = titles.in_zone(dated, self.options.tz, self.form.above, names)

    def _question_units(self) -> None:
        if not self.options.unit:
            self.picked = with_doubts(self.picked, self.form.above, self.notes)
        if not self.options.watts_col:
            self.picked = without_averages(self.picked, self.notes)

    def _note_ambiguous_date(self) -> None:
        if self.rows.is_numeric(self.time_columns[0]):
            return
        date = _either_order(self.rows.texts(self.time_columns[0]))
        if not date:
            return
        order = "day first" if day_first([date], self.form.day_first) else "month first"
        self.notes.say(
            f"{date} is read {order}; nothing in the log shows which (write dates as 2026-04-03)"
        )

    def _rows_by_channel(self) -> list[tuple[ChannelRows, Bools]]:
        taken = {column.column for column in self.picked} | set(self.time_columns)
        channels = groups.rows_by_channel(self.rows, taken, self.quantity)
        if self.quantity is None and groups.one_after_another(
            channels, self.times.ns, self.times.ok
        ):
            self.notes.say(
                f"{channels[0][0].by} names stretches of time, not channels: one channel"
            )
            return [(ChannelRows(), np.ones(len(self.rows), np.bool_))]
        return channels

    def _series_of_column(self, column: PickedColumn) -> Iterator[PowerSeries]:
        """The channels of one column of readings."""
        values, is_bad = self.rows.floats(column.column)
        column, values = self._in_units_of_cells(column, values)
        column = self._with_doubtful_thousands(column, values)
        self.notes.drop_all(
            self.rows.lines[is_bad & self.times.ok],
            f"{column.name or 'the reading'} is not a number",
        )
        if len(self.picked) == 1 and len(self.channels) == 1 and not self.channels[0][0].name:
            host = self.channels[0][0].host
            self.channels = [
                (replace(channel, host=host), is_channel)
                for channel, is_channel in _by_turn(self.times, values, self.notes)
            ]
            # rows that take turns show that there are several channels, not which one is which
            column = replace(column, sure=column.sure and len(self.channels) == 1)
        for channel, is_channel in self.channels:
            is_used = is_channel & self.times.ok & ~is_bad
            if column.where is not None:
                is_used &= column.where & np.isfinite(values)
            if not is_used.any():
                continue
            ns = self.shared.times_for(is_used)
            readings = values if is_used.all() else values[is_used]
            made, kind = self._series(column, channel, ns, readings)
            self.kinds[column.name, column.unit.name] = kind
            yield made

    def _in_units_of_cells(
        self, column: PickedColumn, values: Floats
    ) -> tuple[PickedColumn, Floats]:
        """Readings whose cells hold their unit, all in one unit."""
        if self.options.unit or self.rows.is_numeric(column.column):
            return column, values
        cell_units = units.unit_of_cells(self.rows.texts(column.column))
        if cell_units is None:
            return column, values
        unit, factors = cell_units
        return replace(column, unit=unit, sure=True), values * np.array(factors)

    def _with_doubtful_thousands(self, column: PickedColumn, values: Floats) -> PickedColumn:
        """The column; its readings are in doubt where 2.000 may be two thousand."""
        if column.column not in self.rows.either:
            return column
        if not _may_be_thousands(values * column.unit.factor):
            return column
        cell = next(cell for cell in self.rows.texts(column.column) if cell)
        self.notes.say(
            f"{column.name}: {cell} is taken for {number(cell):g} {column.unit.name}; "
            "if its sign separates thousands, all is 1,000 times as much"
        )
        return replace(column, sure=False)

    def _guess(self, channel_count: int) -> str:
        """How the log was read, for a person."""
        time_name = " + ".join(f"`{self.rows.names[column]}`" for column in self.time_columns)
        channels = ""
        if len(self.channels) > 1:
            plural = "s" if channel_count > 1 else ""
            by = self.channels[0][0].by
            channels = f"{channel_count} channel{plural}, separated by {by}"
        return assemble.join_guess(
            (
                f"time: column {time_name}, {self.times.words}",
                f"power: {self._power_words()}",
                channels,
                "" if self.form.named else "no header; columns by position",
            )
        )

    def _power_words(self) -> str:
        named = []
        for column in self.picked[:_MAX_NAMED_COLUMNS]:
            kind = self.kinds.get((column.name, column.unit.name), "")
            named.append(f"`{column.name}` in {column.unit.name}{kind}")
        words = ", ".join(named)
        if len(self.picked) > _MAX_NAMED_COLUMNS:
            words += f" and {len(self.picked) - _MAX_NAMED_COLUMNS} more"
        is_certain = all(column.sure for column in self.picked)
        return words if is_certain else f"{words} (unit guessed)"

    def _sensor(self, column: PickedColumn, channel: ChannelRows) -> Sensor:
        is_long = column.where is not None
        needs_column = not channel.name or (not is_long and len(self.picked) > 1)
        parts = (channel.name, column.name if needs_column else "")
        name = " ".join(dict.fromkeys(part for part in parts if part))
        scope = groups.scope(channel, name, column.name)
        device = channel.device
        if device is None and not is_long:
            device = groups.device_of_column(column.name)
        return Sensor(
            _tidy(name),
            self.form.label,
            scope,
            channel.host or self.options.host,
            device=device if scope is Scope.GPU else None,
            scale=Badge.MEASURED if column.sure else Badge.ASSUMED,
        )

    def _series(
        self, column: PickedColumn, channel: ChannelRows, ns: Int64s, values: Floats
    ) -> tuple[PowerSeries, str]:
        """One channel, and how its joules were read: "" of a channel of watts."""
        sensor = self._sensor(column, channel)
        joined = self.shared.joined
        factor = column.unit.factor
        scaled = values if factor == 1 else values * factor  # the same column is packed once
        if column.unit.quantity == "power":
            return assemble.power_series(
                sensor,
                ns,
                scaled,
                clock=self.clock,
                path=self.path,
                notes=self.notes,
                joined=joined,
            ), ""
        # A clock that was set back leaves rows in the order that counted.
        order = np.arange(len(ns)) if joined.steps_ns else np.argsort(ns, kind="stable")
        # Without a reading the next one counts for the time that was missed, too.
        order = order[np.isfinite(scaled[order])]
        ns, scaled = ns[order], scaled[order]
        if self.form.counter or counters.looks_like_counter(scaled):
            joules, watts = counters.intervals(
                ns, scaled, self.notes, sensor.name, self.form.wrap_j
            )
            kind = " (a counter)"
        else:
            joules = scaled.copy()
            seconds = np.r_[np.nan, np.diff(ns) / NS_PER_S]
            with np.errstate(divide="ignore", invalid="ignore"):
                watts = np.where(seconds > 0, joules / seconds, np.nan)
            kind = " per interval"
        return assemble.power_series(
            sensor,
            ns,
            watts,
            clock=self.clock,
            path=self.path,
            notes=self.notes,
            kind=PowerKind.INTERVAL,
            joules=joules,
        ), kind


def _may_be_thousands(watts: Floats) -> bool:
    """Less than any machine that trains draws, and a thousand times as much is not too much for
    one.
    """
    middle = float(np.nanmedian(np.abs(watts))) if np.isfinite(watts).any() else 0.0
    return middle < _CERTAIN_W and 1000 * middle < _MOST_W


class _Shared:
    """Times of some rows; those of the rows that were asked for last are kept: a hundred channels
    share them.
    """

    def __init__(self, every: Int64s) -> None:
        self._every = every
        self._rows: Bools = np.empty(0, np.bool_)
        self._times: Int64s = every[:0]
        self._joined: Joined | None = None

    def times_for(self, rows: Bools) -> Int64s:
        """The times of these rows."""
        if not np.array_equal(rows, self._rows):
            self._rows, self._times, self._joined = rows, self._every[rows], None
        return self._times

    @property
    def joined(self) -> Joined:
        """What the times that were asked for last tell of their clock."""
        if self._joined is None:
            self._joined = steps_of_clock.join_rows(self._times)
        return self._joined


# ── which column is what ─────────────────────────────────────────────────────────────────────────


def _power_columns(names: Sequence[str]) -> list[tuple[int, Unit | None]]:
    """Columns whose names mean power: with their unit, or None where only the word says so."""
    known = [(i, units.unit_of_name(name)) for i, name in enumerate(names)]
    power = [(i, unit) for i, unit in known if unit is not None and unit.quantity == "power"]
    if power:
        return list(power)
    words = [
        (i, None)
        for i, name in enumerate(names)
        if units.means_power(name) and not units.means_energy(name)
    ]
    energy = [(i, unit) for i, unit in known if unit is not None and unit.quantity == "energy"]
    if energy:
        first = energy[0][1]
        return [(i, unit) for i, unit in energy if unit == first]
    if words:
        return list(words)
    bare = [(i, None) for i, name in enumerate(names) if _BARE.fullmatch(name.strip())]
    return [item for item in bare if not _time_score(names[item[0]])]


def _energy_columns(names: Sequence[str], unit: Unit | None) -> list[tuple[int, Unit | None]]:
    """Columns whose names mean energy and give no unit."""
    return [
        (i, unit)
        for i, name in enumerate(names)
        if units.means_energy(name) and not _time_score(name)
    ]


def _the_other(names: Sequence[str]) -> list[tuple[int, Unit | None]]:
    """Of two columns the one that is not the time.

    Taken for watts only when a person named the file, and said so.
    """
    if tuple(names) == table.DATE_TIME_READING:
        return [(2, None)]
    if (
        len(names) != 2
        or units.no_power(names[1])
        or units.means_energy(names[1])
        or _time_score(names[1])
    ):
        return []
    return [(1, None)] if names[0] == "column 1" or _time_score(names[0]) else []


def _pick_power(
    path: str, rows: table.FileCells, options: LogColumns, said: titles.Titles
) -> tuple[list[PickedColumn], int | None]:
    """The columns of readings; and in a long table the column that names what was read."""
    given = units.UNITS.get(options.unit or "")
    if options.unit and given is None:
        raise UsageError(
            f"--unit {options.unit}: unknown unit", hint=f"Known units: {', '.join(units.UNITS)}."
        )
    found: list[tuple[int, Unit | None]]
    if options.watts_col:
        found = []
        for name in (
            options.watts_col.split(",")
            if rows.find(options.watts_col) is None
            else [options.watts_col]
        ):
            column = rows.find(name)
            if column is None:
                raise UsageError(
                    f"{path}: there is no column {name!r}",
                    hint=f"Its columns are: {_listed(rows.names)}.",
                )
            found.append((column, units.unit_of_name(rows.names[column])))
    else:
        found = _power_columns(rows.names)
        long = groups.long_form(rows, [column for column, _ in found])
        if long is not None:
            return [
                _long(rows, long, unit, where, given) for unit, where in long.kinds
            ], long.quantity
        if not found and (energies := _energy_columns(rows.names, given)):
            found = _in_joules(path, rows, energies, given, said)
        if not found:
            found = _the_other(rows.names)
    picked = []
    for column, unit in found[:MAX_CHANNELS]:
        values, bad = rows.floats(column)
        if not options.watts_col and bool((bad | np.isnan(values)).all()) and len(found) > 1:
            continue
        name = rows.names[column]
        beside = None if unit is not None else said.unit_of(name, "power")
        known = given or unit or beside
        meant, sure = (known, True) if known else _size(name, values)
        if not known:  # else nothing says that it is power at all
            sure &= units.means_power(name) or _BARE.fullmatch(name.strip()) is not None
        picked.append(PickedColumn(column, name, meant, sure, unit is not None, known is None))
    picked = with_one_unit(picked)
    if not picked:
        raise UnreadableFile(
            path,
            "has no column that is named like power or energy",
            hint=(
                f"Its columns are: {_listed(rows.names)}. Name one with --watts-col NAME --unit W."
            ),
        )
    return picked, None


def _in_joules(
    path: str,
    rows: table.FileCells,
    found: Sequence[tuple[int, Unit | None]],
    given: Unit | None,
    said: titles.Titles,
) -> list[tuple[int, Unit | None]]:
    """Columns of energy, in the unit that was given or stands above the table.

    There is no guessing it: J and Wh look alike.
    """
    known = [
        (i, unit)
        for i, _ in found
        if (unit := given or said.unit_of(rows.names[i], "energy")) is not None
    ]
    if not known:
        name = rows.names[found[0][0]]
        raise UnreadableFile(
            path, f"has no unit for `{name}`", hint="Name it: --unit J (or mJ, kJ, Wh, kWh)."
        )
    return list(known)


def _long(
    rows: table.FileCells, long: groups.Long, unit: Unit | None, where: Bools, given: Unit | None
) -> PickedColumn:
    known = given or unit
    meant, sure = (
        (known, True) if known else _size(rows.names[long.value], rows.floats(long.value)[0][where])
    )
    return PickedColumn(
        long.value, rows.names[long.value], meant, sure, unit is not None, where=where
    )


def _size(name: str, values: Floats) -> tuple[Unit, bool]:
    """A unit by the size of the readings, for columns that name none; and whether no other unit can
    be meant.
    """
    middle = float(np.nanmedian(np.abs(values))) if np.isfinite(values).any() else 0.0
    scope = units.scope_of(name)
    milli = _RAIL_MW if units.BOARD_RAIL.search(name) else _MIN_MILLIWATTS
    unit = units.UNITS[
        "uW" if middle > 5e6 else "mW" if middle > milli and scope is not Scope.PLUG else "W"
    ]
    least = _CERTAIN_PART_W if scope in (Scope.GPU, Scope.PACKAGE) else _CERTAIN_W
    return unit, unit.name == "W" and least <= middle < _DOUBTFUL_W


def _by_turn(
    column: times.TimeColumn, values: Floats, notes: Notes
) -> list[tuple[ChannelRows, Bools]]:
    """Rows of one nameless column: those of several channels that take turns, where times and
    readings say so.
    """
    good = np.flatnonzero(column.ok & np.isfinite(values))
    found = groups.in_turn(column.ns[good], values[good])
    if len(found) > 1:
        notes.say(
            f"no column names the channel: {len(found)} of them take turns, distinguished by "
            "their order"
        )
    spread = []
    for group, mask in found:
        rows = np.zeros(len(values), np.bool_)
        rows[good[mask]] = True
        spread.append((group, rows if len(found) > 1 else np.ones(len(values), np.bool_)))
    return spread


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (" …" if len(names) > 12 else "")


def is_time(name: str) -> bool:
    """A name that means time."""
    return _time_score(name) > 0


def _time_score(name: str) -> int:
    words = units.tokens(name)
    joined = "".join(words)
    if units.unit_of_name(name) is not None or "duration" in words:
        return 0
    if joined in _TIME_WORDS or set(words) & _TIME_WORDS:
        return 3 if "unix" in words or "epoch" in words else 2
    return 1 if words and words[0] in ("s", "sec", "ms") and len(words) == 1 else 0


def _pick_time(
    path: str,
    rows: table.FileCells,
    options: LogColumns,
    taken: set[int],
    default: bool,
    said: titles.Titles,
) -> tuple[list[int], times.TimeColumn]:
    if options.time_col:
        given = rows.find(options.time_col)
        if given is None:
            raise UsageError(
                f"{path}: there is no column {options.time_col!r}",
                hint=f"Its columns are: {_listed(rows.names)}.",
            )
        column = _time_column(rows, given, default, said)
        if not column.ok.any():
            raise UnreadableFile(
                path,
                f"column {options.time_col!r} has no time",
                hint="It must be Unix time, a date with time, or seconds.",
            )
        return [given], column
    named = [i for i, name in enumerate(rows.names) if i not in taken and _time_score(name)]
    joined = _date_and_time(rows, named, default)
    if joined is not None:
        return joined
    tried: list[tuple[tuple[int, int, int], int, times.TimeColumn]] = []
    for i in named or [i for i in range(len(rows.names)) if i not in taken]:
        column = _time_column(rows, i, default, said)
        dated = i in named and column.kind in ("absolute", "local")
        if column.ok.mean() < 0.5 or not (dated or _rises(column)):
            continue
        if not named and column.kind == "elapsed" and (i or rows.names[0] != "column 1"):
            continue
        if column.kind == "elapsed" and _counts_epochs(rows.names[i]):
            continue
        rank = ("elapsed", "time of day", "local", "absolute").index(column.kind)
        tried.append(((rank, _time_score(rows.names[i]), -i), i, column))
    if not tried:
        raise UnreadableFile(
            path,
            "has no column that can be read as time",
            hint=(
                f"Its columns are: {_listed(rows.names)}. Name the one with the time: "
                "--time-col NAME."
            ),
        )
    _, i, column = max(tried, key=lambda item: item[0])
    return [i], column


def _counts_epochs(name: str) -> bool:
    """An epoch of the training, not of a clock: "epoch", "EPOCH_COUNT"."""
    return set(units.tokens(name)) & _TIME_WORDS == {"epoch"} and not times.unit_in(name)


def _time_column(
    rows: table.FileCells, i: int, default: bool, said: titles.Titles
) -> times.TimeColumn:
    name = (
        rows.names[i]
        if times.unit_in(rows.names[i]) or not said.time_unit
        else f"{rows.names[i]} ({said.time_unit})"
    )
    if rows.is_numeric(i):
        return times.from_numbers(rows.floats(i)[0].copy(), name)
    texts = rows.texts(i)
    return times.from_texts(texts, name, day_first=day_first(texts, default))


def day_first(texts: Sequence[str], default: bool = False) -> bool:
    """DD/MM or MM/DD: by a number above 12 somewhere in the column; else by which of the two keeps
    still for a day.
    """
    pairs = [
        (int(m[1]), int(m[2]))
        for m in (re.match(r"(\d{1,2})[/.-](\d{1,2})[/.-]\d{4}", text.strip()) for text in texts)
        if m
    ]
    if any(a > 12 for a, _ in pairs):
        return True
    if any(b > 12 for _, b in pairs):
        return False
    firsts, seconds = len({a for a, _ in pairs}), len({b for _, b in pairs})
    return firsts > seconds or (
        firsts == seconds and (default or any("." in text[:3] for text in texts[:1]))
    )


def _either_order(texts: Sequence[str]) -> str:
    """A date of the column that may be told day first or month first, where nothing in it says
    which; "" where something does.
    """
    found = [
        m
        for m in (re.match(r"(\d{1,2})([/-])(\d{1,2})\2\d{4}", text.strip()) for text in texts)
        if m
    ]
    dates = {m[0] for m in found}
    if (
        len(dates) != 1
        or found[0][1] == found[0][3]
        or max(int(found[0][1]), int(found[0][3])) > 12
    ):
        return ""
    return found[0][0]


def _rises(column: times.TimeColumn) -> bool:
    """Mostly ascending (a log may repeat a time for each of its channels, or repeat its tail), or
    the newest row first.
    """
    ns = column.ns[column.ok]
    return len(ns) < 2 or bool((np.diff(ns) >= 0).mean() >= 0.6) or _falls(column)


def _falls(column: times.TimeColumn) -> bool:
    """Dated rows, the newest first, as dashboards export them."""
    moved = np.diff(column.ns[column.ok])
    return (
        column.kind in ("local", "absolute")
        and len(moved) > 1
        and bool((moved <= 0).mean() >= 0.9)
        and bool((moved < 0).any())
    )


def _date_and_time(
    rows: table.FileCells, named: Sequence[int], default: bool
) -> tuple[list[int], times.TimeColumn] | None:
    """A date in one column and the time of day in another."""
    dates = [
        i
        for i in named
        if not rows.is_numeric(i)
        and re.fullmatch(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{8}", next(iter(rows.texts(i)), ""))
    ]
    clocks = [
        i
        for i in named
        if not rows.is_numeric(i) and re.match(r"\d{1,2}:\d\d", next(iter(rows.texts(i)), ""))
    ]
    if not dates or not clocks:
        return None
    texts = [
        f"{date} {time}"
        for date, time in zip(rows.texts(dates[0]), rows.texts(clocks[0]), strict=True)
    ]
    column = times.from_texts(texts, day_first=day_first(texts, default))
    return ([dates[0], clocks[0]], column) if column.ok.mean() > 0.5 else None


# ── one channel ──────────────────────────────────────────────────────────────────────────────────


def _tidy(name: str) -> str:
    """A channel's name without its unit, for a person: "power.draw [W]" → "power.draw"."""
    short = re.sub(r"\s*[\[(](?:[mkuµ]?[WJ]h?|[Ww]atts?|[Jj]oules?)[\])]\s*$", "", name)
    short = re.sub(r"(?:/|_energy_)[mkuµ]?[WJ]h?$", "", short, flags=re.IGNORECASE)
    short = re.sub(
        r"[_ ](?:watts?|milliwatts?|microwatts?|[mu]?w|[mu]?j|joules?)$",
        "",
        short,
        flags=re.IGNORECASE,
    )
    return short.strip() or name

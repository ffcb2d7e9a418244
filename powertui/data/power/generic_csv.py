"""Any table with a time and a power or energy column.

It reports what it guesses, and asks for what it cannot guess (`power_columns` and `time_columns`
hold the guesses).

Wide tables (one column per channel) and long ones (a column that names the channel) both work, with
or without a header. A column of joules is a counter when it only grows, else joules per interval.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import (
    NS_PER_S,
    Badge,
    Bools,
    Device,
    Floats,
    Int64s,
    PowerSeries,
    Scope,
    Sensor,
)
from powertui.data.power import (
    assemble,
    counters,
    devices,
    groups,
    long_tables,
    power_columns,
    reading_sizes,
    table,
    titles,
    units,
    windows,
)
from powertui.data.power.cells import number
from powertui.data.power.column_names import json_members, table_layout, with_metric_names
from powertui.data.power.groups import ChannelRows
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.picked_columns import (
    PickedColumn,
    with_doubts,
    without_averages,
    without_repeats,
)
from powertui.data.power.power_columns import pick_power
from powertui.data.power.row_times import RowTimes
from powertui.data.power.source import LogFile
from powertui.data.power.table_form import TableForm
from powertui.data.power.time_columns import ambiguous_date, day_first, pick_time
from powertui.data.power.time_signs import falls, is_time
from powertui.errors import UnreadableFile

NAME = "csv"
_MAX_NAMED_COLUMNS = 4  # in the words on how a log was read: they are one line
_MIN_TABLE_ROWS = 3  # fewer may be anything; chosen, not measured
_MAX_PROBED_ROWS = 20  # below a header, in which a reading is looked for; chosen, not measured

# Where decimals have a comma, and fields a semicolon for that, dates are written day first.
_DECIMAL_COMMA = re.compile(r"[;\t]\s{0,9}\"?-?\d{1,9},\d{1,9}\"?\s{0,9}(?:[;\t\r\n]|$)")
# How sure the guess is. A dialect's own reader is always surer.
_BY_NAME = 55  # time and power are both named
_BY_ONE_NAME = 20  # one of them is
_BY_PLACE = 10  # two columns, of which one is the time
_BY_FORM = 1  # numbers below names: who names such a file is asked which of them is the power


def sniff(head: str, path: str) -> int:
    """How surely this is a table with time and power; a dialect's own reader is always surer."""
    if not head.strip() or json_members(head) is not None:
        return 0
    layout = table_layout(head, path)
    if layout is None or len(layout.names) > groups.MAX_CHANNELS:
        return 0
    layout, _ = with_metric_names(layout)
    names = layout.names
    names_time = any(map(is_time, names))
    column = _first_reading(names)
    if layout.named and column is not None:
        is_certain = names_time and _has_reading(head, layout, column)
        return _BY_NAME if is_certain else _BY_ONE_NAME
    if _is_long(head, layout) or _has_units_in_cells(head, layout):
        return _BY_NAME if layout.named and names_time else _BY_ONE_NAME
    if power_columns.beside_time(names):
        return _BY_PLACE
    return _BY_FORM if layout.named and _is_numeric_table(head, layout) else 0


def _first_reading(names: Sequence[str]) -> int | None:
    """The first column whose name means power, else energy; None where no name does."""
    power = power_columns.named_power(names)
    if power:
        return power[0].column
    energy = power_columns.named_energy(names)
    return energy[0] if energy else None


def _has_reading(head: str, layout: table.Shape, column: int) -> bool:
    """Whether some row below the header has a number, or nothing, in this column: prose has not."""
    rows = table.first_rows(head, layout, _MAX_PROBED_ROWS)
    cells = rows.texts(column) if rows is not None else []
    return any(not cell or np.isfinite(table.number(cell)) for cell in cells)


def _is_numeric_table(head: str, layout: table.Shape) -> bool:
    """Whether the first rows have a number in at least two columns, or beside a time."""
    rows = table.first_rows(head, layout, _MAX_PROBED_ROWS)
    if rows is None or len(rows) < _MIN_TABLE_ROWS:
        return False
    numeric_count = 0
    for column in range(len(rows.names)):
        values, _ = rows.floats(column)
        numeric_count += bool(np.isfinite(values).all())
    return numeric_count >= 2 or (numeric_count == 1 and any(map(is_time, rows.names)))


def _is_long(head: str, layout: table.Shape) -> bool:
    """Whether a column of the first rows names power among what was read."""
    rows = table.first_rows(head, layout)
    return rows is not None and long_tables.long_form(rows, []) is not None


def _has_units_in_cells(head: str, layout: table.Shape) -> bool:
    """Whether cells of the first rows hold watts with their unit."""
    rows = table.first_rows(head, layout)
    return rows is not None and bool(power_columns.by_cells(rows))


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """Read a log by the columns that were named, or else by those that look like time and power."""
    notes = Notes(source.path)
    layout = table_layout(source.head_text, source.path)
    if layout is None:
        raise UnreadableFile(
            source.path,
            "is not a table of columns",
            hint="powertui reads CSV, and the formats listed in docs/power-logs.md.",
        )
    named, labels = with_metric_names(layout)
    rows = table.read(source, layout, notes, names=named.names if labels else None)
    form = TableForm(
        named=layout.named,
        day_first=_DECIMAL_COMMA.search(source.head_text) is not None,
        above=titles.read_titles(layout.above),
        labels=labels,
    )
    return from_table(source.path, rows, options, notes, form)


def from_table(
    path: str, rows: table.FileCells, options: LogColumns, notes: Notes, form: TableForm
) -> PowerLog:
    """Read a table that a dialect has already cut into columns."""
    if not len(rows):
        raise UnreadableFile(
            path, f"has no complete row ({notes.first_reason() or 'only a header'})"
        )
    return _TableLog(path, rows, options, notes, form).log()


class _TableLog:
    """A table on its way to a log: which columns are read, and which rows are of which channel."""

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
        self.options = options if options.host else replace(options, host=form.above.host)
        self.notes = notes
        self.form = form
        self._pick_columns()
        if falls(self.times):
            # Later steps look for repeated and counted rows in the order of time.
            self.rows = rows.take(slice(None, None, -1))
            self._pick_columns()
        self._place_times()
        self._question_units()
        notes.drop_all(self.rows.lines[~self.times.ok], "the time cannot be read")
        self._note_ambiguous_date()
        self.channels = self._rows_by_channel()
        ns, self.clock = assemble.zeroed(self.times, self.times.ok)
        row_ns = ns
        if len(ns) < len(self.rows):
            row_ns = np.full(len(self.rows), 0, np.int64)
            row_ns[self.times.ok] = ns
        self.row_times = RowTimes(row_ns)
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
        self.picked, self.quantity = pick_power(self.path, self.rows, self.options, form.above)
        power = {column.column for column in self.picked}
        self.time_columns, self.times = pick_time(self.path, self.rows, self.options, power, form)

    def _place_times(self) -> None:
        """Give times of day their date, and local times their zone."""
        names = [self.rows.names[column] for column in self.time_columns]
        dated = titles.dated(self.times, self.path, self.form.above)
        self.times = titles.in_zone(dated, self.options.tz, self.form.above, names)

    def _question_units(self) -> None:
        if not self.options.unit:
            self.picked = with_doubts(self.picked, self.form.above, self.notes)
        if not self.options.watts_col:
            self.picked = without_averages(without_repeats(self.picked, self.notes), self.notes)

    def _note_ambiguous_date(self) -> None:
        if self.rows.is_numeric(self.time_columns[0]):
            return
        date = ambiguous_date(self.rows.texts(self.time_columns[0]))
        if not date:
            return
        order = "day first" if day_first([date], self.form.day_first) else "month first"
        self.notes.say(
            f"{date} is read {order}; nothing in the log shows which (write dates as 2026-04-03)"
        )

    def _rows_by_channel(self) -> list[tuple[ChannelRows, Bools]]:
        readings = {column.column for column in self.picked} | set(self.time_columns)
        ns = self.times.ns if self.times.ok.all() else None
        channels = groups.rows_by_channel(self.rows, readings, self.quantity, ns)
        if self.quantity is None and groups.one_after_another(
            channels, self.times.ns, self.times.ok
        ):
            self.notes.say(
                f"{channels[0][0].by} names time spans, not channels: read as one channel"
            )
            return [(ChannelRows(), np.ones(len(self.rows), np.bool_))]
        return channels

    def _series_of_column(self, column: PickedColumn) -> Iterator[PowerSeries]:
        """The channels of one column of readings."""
        values, is_bad = self.rows.floats(column.column)
        column, values = self._in_units_of_cells(column, values)
        column, values = self._with_doubtful_thousands(column, values)
        self.notes.drop_all(
            self.rows.lines[is_bad & self.times.ok],
            f"{column.name or 'the reading'} is not a number",
        )
        if self._is_one_nameless_channel():
            self._separate_turns(values)
            # Rows that take turns show that there are several channels, not which one is which.
            column = replace(column, sure=column.sure and len(self.channels) == 1)
        for channel, is_channel in self.channels:
            is_used = is_channel & self.times.ok & ~is_bad
            if column.where is not None:
                is_used &= column.where & np.isfinite(values)
            if not is_used.any():
                continue
            ns = self.row_times.times_for(is_used)
            readings = values if is_used.all() else values[is_used]
            stretches = windows.stretches_of(self.times.length_ns, self.rows.lines, is_used)
            made, kind = self._series(column, channel, windows.RowEnds(ns, stretches), readings)
            self.kinds[column.name, column.unit.name] = kind
            yield from made

    def _is_one_nameless_channel(self) -> bool:
        if len(self.picked) != 1 or len(self.channels) != 1:
            return False
        return not self.channels[0][0].name

    def _separate_turns(self, values: Floats) -> None:
        """Take the rows of a nameless channel for several where they take turns."""
        host = self.channels[0][0].host
        self.channels = [
            (replace(channel, host=host), is_channel)
            for channel, is_channel in groups.rows_by_turn(self.times, values, self.notes)
        ]

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

    def _with_doubtful_thousands(
        self, column: PickedColumn, values: Floats
    ) -> tuple[PickedColumn, Floats]:
        """Readings that are in doubt where 2.000 may be two thousand.

        Of less than a watt nothing is known that logs it so, and thousands of it are a machine's.
        """
        if column.column not in self.rows.either:
            return column, values
        watts = values * column.unit.factor
        if not reading_sizes.may_be_thousands(watts):
            return column, values
        factor, other = 1.0, "1,000 times as large"
        if reading_sizes.are_thousands(watts):
            factor, other = 1000.0, "a thousandth of that"
        sign_is = "does not separate" if factor > 1 else "separates"
        cell = next(cell for cell in self.rows.texts(column.column) if cell)
        self.notes.say(
            f"{column.name}: {cell} is taken for {factor * number(cell):g} {column.unit.name}; "
            f"if that sign {sign_is} thousands, every value is {other}"
        )
        return replace(column, sure=False), values * factor

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
        if labels := self.form.labels.get(column.column):
            from powertui.data.power import prometheus_labels

            return prometheus_labels.labeled_sensor(
                labels, is_sure=column.sure, host=self.options.host
            )
        is_long = column.where is not None
        name = self._channel_name(column, channel, is_long=is_long)
        scope = groups.scope(channel, name, column.name)
        device: Device | None = None
        if (of_file := devices.device_of_file(self.path)) is not None:
            name, scope, device = f"GPU {of_file.index}", Scope.GPU, of_file
        elif scope is Scope.GPU:
            device = channel.device
            if device is None and not is_long:
                device = devices.device_of_column(column.name)
        return Sensor(
            units.without_unit(name),
            self.form.label,
            scope,
            channel.host or self.options.host,
            device=device,
            scale=Badge.MEASURED if column.sure else Badge.ASSUMED,
        )

    def _channel_name(self, column: PickedColumn, channel: ChannelRows, *, is_long: bool) -> str:
        """The channel's name, and the column's where several columns have the same channels."""
        if not channel.name:
            return column.name
        if is_long or len(self.picked) == 1 or column.name in ("", channel.name):
            return channel.name
        return f"{channel.name} {column.name}"

    def _series(
        self, column: PickedColumn, channel: ChannelRows, at: windows.RowEnds, values: Floats
    ) -> tuple[list[PowerSeries], str]:
        """One channel, or one for each device that it stands for, and how its joules were read: ""
        of a channel of watts.
        """
        sensor = self._sensor(column, channel)
        factor = column.unit.factor
        scaled = values if factor == 1 else values * factor  # the same column is packed once
        if column.unit.quantity == "power":
            return self._series_of_watts(sensor, at.ns, scaled), ""
        if at.stretches is not None and not counters.is_total_of_stretches(scaled):
            drawn = windows.stretch_series(sensor, at, scaled, self.clock, self.notes)
            return [drawn] if drawn is not None else [], " of each stretch"
        made, kind = self._series_of_joules(sensor, at.ns, scaled)
        return [made], kind

    def _series_of_watts(self, sensor: Sensor, ns: Int64s, watts: Floats) -> list[PowerSeries]:
        joined = self.row_times.joined
        if joined.least_ns <= 0 and not joined.steps_ns:
            return assemble.sampled_channels(sensor, ns, watts, clock=self.clock, notes=self.notes)
        made = assemble.power_series(
            sensor, ns, watts, clock=self.clock, notes=self.notes, joined=joined
        )
        return [made]

    def _series_of_joules(
        self, sensor: Sensor, ns: Int64s, readings: Floats
    ) -> tuple[PowerSeries, str]:
        """A counter, or joules per interval; and which of the two."""
        # A clock that was set back leaves rows in the order that counted.
        is_in_order = bool(self.row_times.joined.steps_ns)
        order = np.arange(len(ns)) if is_in_order else np.argsort(ns, kind="stable")
        # Without a reading the next one counts for the time that was missed, too.
        order = order[np.isfinite(readings[order])]
        ns, readings = ns[order], readings[order]
        if self.form.counter or counters.looks_like_counter(readings):
            from powertui.data.power.counter_series import counter_series

            clock, notes, wrap_j = self.clock, self.notes, self.form.wrap_j
            counted = counter_series(sensor, ns, readings, clock=clock, notes=notes, wrap_j=wrap_j)
            return counted, " (a counter)"
        joules = readings.copy()
        seconds = np.r_[np.nan, np.diff(ns) / NS_PER_S]
        with np.errstate(divide="ignore", invalid="ignore"):
            watts = np.where(seconds > 0, joules / seconds, np.nan)
        clock, notes = self.clock, self.notes
        made = assemble.power_series(sensor, ns, watts, clock=clock, notes=notes, joules=joules)
        return made, " per interval"

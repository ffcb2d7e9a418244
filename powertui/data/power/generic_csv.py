"""Any table with a time and a power or energy column.

It reports what it guesses, and asks for what it cannot guess (`power_columns` and `time_columns`
hold the guesses).

Wide tables (one column per channel) and long ones (a column that names the channel) both work, with
or without a header. A column of joules is a counter when it only grows, else joules per interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import (
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
    table,
    titles,
    units,
    windows,
)
from powertui.data.power.column_names import table_layout, with_metric_names
from powertui.data.power.groups import ChannelRows
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.picked_columns import (
    PickedColumn,
    with_doubtful_thousands,
    with_doubts,
    without_averages,
    without_repeats,
)
from powertui.data.power.power_columns import pick_power
from powertui.data.power.row_times import RowTimes
from powertui.data.power.source import LogFile
from powertui.data.power.table_form import TableForm
from powertui.data.power.table_signs import sniff as sniff
from powertui.data.power.time_columns import ambiguous_date, day_first, pick_time
from powertui.data.power.time_signs import falls
from powertui.errors import UnreadableFile
from powertui.patterns import late_pattern

NAME = "csv"
_MAX_NAMED_COLUMNS = 4  # in the words on how a log was read: they are one line

# Where decimals have a comma, and fields a semicolon for that, dates are written day first.
_DECIMAL_COMMA = late_pattern(r"[;\t]\s{0,9}\"?-?\d{1,9},\d{1,9}\"?\s{0,9}(?:[;\t\r\n]|$)")


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
        self.picked, self.quantity = pick_power(
            self.path,
            self.rows,
            self.options,
            form.above,
        )
        self.time_columns, self.times = pick_time(
            self.path,
            self.rows,
            self.options,
            power={column.column for column in self.picked},
            form=form,
        )

    def _place_times(self) -> None:
        """Give times of day their date, and local times their zone."""
        above = self.form.above
        names = [self.rows.names[column] for column in self.time_columns]
        dated = titles.dated(self.times, self.path, above)
        self.times = titles.in_zone(dated, self.options.tz, above, names)

    def _question_units(self) -> None:
        if not self.options.unit:
            self.picked = with_doubts(self.picked, self.form.above, self.notes)
        if not self.options.watts_col:
            self.picked = without_repeats(self.picked, self.notes)
            self.picked = without_averages(self.picked, self.notes)

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
        readings = {column.column for column in self.picked}
        readings.update(self.time_columns)
        times = self.times
        channels = groups.rows_by_channel(
            self.rows,
            readings,
            quantity=self.quantity,
            ns=times.ns if times.ok.all() else None,
        )
        if self.quantity is not None:
            return channels
        if not groups.one_after_another(channels, times.ns, times.ok):
            return channels
        first_channel, _ = channels[0]
        self.notes.say(f"{first_channel.by} names time spans, not channels: read as one channel")
        every_row = np.ones(len(self.rows), np.bool_)
        return [(ChannelRows(), every_row)]

    def _series_of_column(self, column: PickedColumn) -> Iterator[PowerSeries]:
        """The channels of one column of readings."""
        values, is_bad = self.rows.floats(column.column)
        column, values = self._in_units_of_cells(column, values)
        column, values = with_doubtful_thousands(column, self.rows, values, self.notes)
        lines = self.rows.lines
        has_time = self.times.ok
        reading_name = column.name or "the reading"
        self.notes.drop_all(lines[is_bad & has_time], f"{reading_name} is not a number")
        if self._is_one_nameless_channel():
            self._separate_turns(values)
            # Rows that take turns show that there are several channels, not which one is which.
            is_one = len(self.channels) == 1
            column = replace(column, sure=column.sure and is_one)
        is_readable = has_time & ~is_bad
        if column.where is not None:
            is_readable &= column.where
            is_readable &= np.isfinite(values)
        for channel, is_channel in self.channels:
            is_used = is_channel & is_readable
            if not is_used.any():
                continue
            ends = windows.RowEnds(
                ns=self.row_times.times_for(is_used),
                stretches=windows.stretches_of(self.times.length_ns, lines, is_used),
            )
            readings = values if is_used.all() else values[is_used]
            made, kind = self._series(column, channel, ends, readings)
            self.kinds[column.name, column.unit.name] = kind
            yield from made

    def _is_one_nameless_channel(self) -> bool:
        if len(self.picked) != 1 or len(self.channels) != 1:
            return False
        ((channel, _),) = self.channels
        return not channel.name

    def _separate_turns(self, values: Floats) -> None:
        """Take the rows of a nameless channel for several where they take turns."""
        ((nameless, _),) = self.channels
        self.channels = [
            (replace(channel, host=nameless.host), is_channel)
            for channel, is_channel in groups.rows_by_turn(self.times, values, self.notes)
        ]

    def _in_units_of_cells(
        self, column: PickedColumn, values: Floats
    ) -> tuple[PickedColumn, Floats]:
        """Readings whose cells hold their unit, all in one unit."""
        if self.options.unit or self.rows.is_numeric(column.column):
            return column, values
        cells = self.rows.texts(column.column)
        cell_units = units.unit_of_cells(cells)
        if cell_units is None:
            return column, values
        unit, factors = cell_units
        in_unit = replace(column, unit=unit, sure=True)
        return in_unit, values * np.array(factors)

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
            unit = column.unit.name
            kind = self.kinds.get((column.name, unit), "")
            named.append(f"`{column.name}` in {unit}{kind}")
        words = ", ".join(named)
        more_count = len(self.picked) - _MAX_NAMED_COLUMNS
        if more_count > 0:
            words += f" and {more_count} more"
        if all(column.sure for column in self.picked):
            return words
        return f"{words} (unit guessed)"

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
        is_only_column = is_long or len(self.picked) == 1
        if is_only_column or column.name in ("", channel.name):
            return channel.name
        return f"{channel.name} {column.name}"

    def _series(
        self,
        column: PickedColumn,
        channel: ChannelRows,
        ends: windows.RowEnds,
        values: Floats,
    ) -> tuple[list[PowerSeries], str]:
        """One channel, or one for each device that it stands for, and how its joules were read: ""
        of a channel of watts.
        """
        sensor = self._sensor(column, channel)
        factor = column.unit.factor
        scaled = values if factor == 1 else values * factor  # the same column is packed once
        if column.unit.quantity == "power":
            return self._series_of_watts(sensor, ends.ns, scaled), ""
        if ends.stretches is None or counters.is_total_of_stretches(scaled):
            return self._series_of_joules(sensor, ends.ns, scaled)
        drawn = windows.stretch_series(sensor, ends, scaled, self.clock, self.notes)
        if drawn is None:
            return [], " of each stretch"
        return [drawn], " of each stretch"

    def _series_of_watts(self, sensor: Sensor, ns: Int64s, watts: Floats) -> list[PowerSeries]:
        joined = self.row_times.joined
        if joined.least_ns <= 0 and not joined.steps_ns:
            return assemble.sampled_channels(sensor, ns, watts, clock=self.clock, notes=self.notes)
        channel = assemble.power_series(
            sensor,
            ns,
            watts,
            clock=self.clock,
            notes=self.notes,
            joined=joined,
        )
        return [channel]

    def _series_of_joules(
        self,
        sensor: Sensor,
        ns: Int64s,
        readings: Floats,
    ) -> tuple[list[PowerSeries], str]:
        """A counter, or joules per interval; and which of the two."""
        from powertui.data.power.counter_series import counter_series, interval_series

        # A clock that was set back leaves rows in the order that counted.
        if self.row_times.joined.steps_ns:
            order = np.arange(len(ns))
        else:
            order = np.argsort(ns, kind="stable")
        # Without a reading the next one counts for the time that was missed, too.
        order = order[np.isfinite(readings[order])]
        ns = ns[order]
        readings = readings[order]
        if self.form.counter or counters.looks_like_counter(readings):
            counted = counter_series(
                sensor,
                ns,
                readings,
                clock=self.clock,
                notes=self.notes,
                wrap_j=self.form.wrap_j,
            )
            return [counted], " (a counter)"
        per_interval = interval_series(sensor, ns, readings, clock=self.clock, notes=self.notes)
        return [per_interval], " per interval"

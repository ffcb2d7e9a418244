"""Reads the tables whose rows are joules over stretches of time (`dialects.EnergyTable`)."""

from __future__ import annotations

import re

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Bools, Clock, Floats, Int64s, PowerSeries, Sensor
from powertui.data.power import column_times, devices, table, times, windows
from powertui.data.power.dialects import EnergyColumn, EnergyTable
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile


def load(dialect: EnergyTable, source: LogFile, options: LogColumns) -> PowerLog:
    """One channel for each column of energy, with an interval for each row."""
    return _EnergyLog(dialect, source, options).log()


class _EnergyLog:
    """One such table: its rows, and the stretch of time that each is about."""

    def __init__(self, dialect: EnergyTable, source: LogFile, options: LogColumns) -> None:
        self.dialect = dialect
        self.path = source.path
        self.host = options.host
        self.notes = Notes(source.path)
        self.rows = table.read_dialect(source, dialect.program, self.notes)
        time_column = self._column(dialect.time)
        duration_column = self._column(dialect.duration)
        if time_column is None or duration_column is None:
            raise table.does_not_fit(self.path, dialect.program, self.notes)
        seconds = _durations(self.rows, duration_column)
        length, has_length = column_times.lengths(seconds)
        self.times = self._read_times(time_column, options.tz)
        has_time = self.times.ok
        self.is_usable = has_time & has_length
        time_name = "time" if dialect.time_is_end else "start"
        self._drop(~has_time, f"the {time_name} cannot be read")
        self._drop(has_time & ~has_length, "the duration is missing or not positive")
        if not self.is_usable.any():
            raise UnreadableFile(
                self.path,
                f"has no row with a time and a duration ({self.notes.first_reason()})",
            )
        # Some trackers write a row when its stretch is over, others stamp its start.
        if dialect.time_is_end:
            self.starts = self.times.ns - length
            self.ends = self.times.ns
        else:
            self.starts = self.times.ns
            self.ends = self.times.ns + length
        self.zero = int(self.starts[self.is_usable].min())

    def log(self) -> PowerLog:
        """The log. Raises `UnreadableFile` when no row holds an energy."""
        series: list[PowerSeries] = []
        for energy_column in self.dialect.energies:
            for index, name in enumerate(self.rows.names):
                match = re.fullmatch(energy_column.pattern, name.strip())
                if match:
                    channel = self._channel(index, energy_column, match)
                else:
                    channel = None
                if channel is not None:
                    series.append(channel)
        if not series:
            reason = self.notes.first_reason()
            raise UnreadableFile(
                self.path,
                f"has {self.dialect.program}'s columns, but no energy in any row"
                + (f" ({reason})" if reason else ""),
            )
        if self.dialect.estimates:
            self.notes.say(self.dialect.estimates)
        return PowerLog(
            path=self.path,
            dialect=self.dialect.name,
            series=tuple(series),
            warnings=self.notes.warnings(),
            guess=self.dialect.guess.format(time=self._time_words()),
        )

    def _column(self, begin: str) -> int | None:
        """The column of this name; a unit in parentheses may follow it."""
        for index, name in enumerate(self.rows.names):
            without_unit, _, _ = name.partition("(")
            if without_unit.strip() == begin:
                return index
        return None

    def _drop(self, rows: Bools, reason: str) -> None:
        self.notes.drop_all(self.rows.lines[rows], reason)

    def _read_times(self, column: int, zone: str | None) -> column_times.TimeColumn:
        if self.dialect.time_is_number:
            seconds, _ = self.rows.floats(column)
            return column_times.from_numbers(seconds.copy(), f"{self.dialect.time} (s)")
        written = column_times.from_texts(self.rows.texts(column))
        return times.in_zone(written, zone)

    def _counts_from_boot(self) -> bool:
        return self.times.kind == "elapsed"

    def _time_words(self) -> str:
        if self._counts_from_boot():
            return "seconds since boot, not Unix time"
        if self.times.kind == "absolute":
            return "Unix seconds"
        return self.times.words

    def _clock(self) -> Clock:
        if self._counts_from_boot():
            return Clock(detail=f"{self.dialect.time} counts from the machine's boot")
        return times.clock(self.times, self.zero)

    def _channel(
        self,
        column: int,
        energy_column: EnergyColumn,
        match: re.Match[str],
    ) -> PowerSeries | None:
        """The channel of one column; None when it holds no energy."""
        energy, is_bad = self.rows.floats(column)
        is_missing = is_bad | np.isnan(energy)
        self._drop(is_missing & self.is_usable, f"no {match[0]}")
        rows = np.flatnonzero(self.is_usable & ~is_missing)
        # Trackers write a column of zeros for a device that the machine does not have.
        if self.dialect.drops_zero_columns and not (energy[rows] > 0).any():
            return None
        totals = energy * self.dialect.joules_per_unit
        starts, joules = self._since_last_total(rows, totals)
        label = energy_column.label.format(*match.groups()).strip()
        sensor = Sensor(
            label,
            source=self.dialect.name,
            scope=energy_column.scope,
            host=self.host,
            device=devices.device_of_column(label),
            scale=energy_column.scale,
        )
        ends = self.ends[rows]
        stretches = windows.RowStretches(ends - starts, self.rows.lines[rows])
        row_ends = windows.RowEnds(ends - self.zero, stretches)
        return windows.stretch_series(sensor, row_ends, joules, self._clock(), self.notes)

    def _since_last_total(self, rows: Int64s, totals: Floats) -> tuple[Int64s, Floats]:
        """Start and joules of these rows.

        A run that writes its growing total again and again has rows with one start. Each of them
        then counts from the end of the row before it, and only what was added since.
        """
        starts = self.starts[rows]
        joules = totals[rows]
        run_column = None
        if self.dialect.run:
            run_column = self._column(self.dialect.run)
        if run_column is None:
            return starts, joules
        runs = self.rows.texts(run_column)
        max_start_gap_ns = self.dialect.max_start_gap_s * times.S
        last_rows: dict[str, int] = {}
        for place, row in enumerate(rows.tolist()):
            run = runs[row]
            last = last_rows.get(run) if run else None
            last_rows[run] = row
            if last is None:
                continue
            start_gap_ns = abs(self.starts[row] - self.starts[last])
            if start_gap_ns > max_start_gap_ns:
                continue
            last_end = self.ends[last]
            if self.ends[row] > last_end and totals[row] >= totals[last]:
                starts[place] = last_end
                joules[place] = totals[row] - totals[last]
        return starts, joules


def _durations(rows: table.FileCells, column: int) -> Floats:
    """Seconds: "60.5", or "1970-01-01 00:01:00" as early versions of Eco2AI wrote it."""
    if rows.is_numeric(column):
        seconds, _ = rows.floats(column)
        return seconds
    return np.array(list(map(_seconds, rows.texts(column))))


def _seconds(text: str) -> float:
    clock = re.fullmatch(r"1970-01-01 (\d\d):(\d\d):(\d\d)", text.strip())
    if clock is None:
        return table.number(text)
    hours, minutes, seconds = map(int, clock.groups())
    return hours * 3600.0 + minutes * 60 + seconds

"""Readings in the order in which a file tells them, made into channels: what readers of text and
JSON have in common.

All channels of a log share one zero. Where the time is not known, a round begins when a channel
comes again; a log of one round is a snapshot, and one of several needs a period that the tool is
known to have, or is refused.
"""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import (
    NS_PER_S,
    Badge,
    Bools,
    Clock,
    Figure,
    PowerKind,
    PowerSeries,
    Sensor,
)
from powertui.data.power import assemble, column_times, table, time_columns, times, units
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.errors import UnreadableFile
from powertui.value_types import dataclass

_W = units.UNITS["W"]


@dataclass(eq=False)
class _Channel:
    kind: PowerKind
    counter: bool
    rows: list[int] = field(default_factory=list)  # among all readings
    values: list[float] = field(default_factory=list)  # W or J


class Collected:
    """Takes one reading after the other, and makes a log of them."""

    def __init__(self, path: str, notes: Notes) -> None:
        self.path = path
        self.notes = notes
        self._channels: dict[Sensor, _Channel] = {}
        self._stamps: list[str] = []
        self._lines: list[int] = []
        self._rounds: list[int] = []
        self._round = 0
        self._spoke: set[Sensor] = set()

    def __len__(self) -> int:
        return len(self._stamps)

    def add(
        self,
        sensor: Sensor,
        when: str,
        value: float | str,
        line: int,
        *,
        unit: units.Unit = _W,
        mean: bool = False,
    ) -> None:
        """One reading; `mean`: of the time since the one before.

        What is no number is left out, counted and named.
        """
        if isinstance(value, str):
            number = table.number(value)
        else:
            number = float(value)
        if not np.isfinite(number) or abs(number) > table.MAX_READING:
            self.notes.drop(line, f"{str(value)[:20]!r} instead of a reading")
            return
        if sensor in self._spoke:
            self._spoke.clear()
            self._round += 1
        self._spoke.add(sensor)
        counter = unit.quantity == "energy"
        channel = self._channels.setdefault(
            sensor, _Channel(PowerKind.INTERVAL if mean or counter else PowerKind.SAMPLED, counter)
        )
        channel.rows.append(len(self._stamps))
        channel.values.append(number * unit.factor)
        self._stamps.append(when)
        self._lines.append(line)
        self._rounds.append(self._round)

    def log(
        self,
        dialect: str,
        options: LogColumns,
        guess: str,
        *,
        period_s: float | None = None,
        hint: str = "",
        bmc: bool = False,
    ) -> PowerLog:
        """The channels. `period_s`: of rounds without a time, where the tool has one by default."""
        if not self._stamps:
            why = self.notes.first_reason() or "no line has its form"
            raise UnreadableFile(
                self.path, f"looks like {dialect}, but holds no reading of power ({why})", hint=hint
            )
        column, clock, poll = self._times(dialect, options, period_s, hint)
        if bmc:
            clock = times.bmc(clock)
        lines = np.array(self._lines)
        self.notes.drop_all(lines[~column.ok], "has no time that can be read")
        ns, _ = assemble.zeroed(column, column.ok, keep_zero=poll is not None)
        spread = np.zeros(len(column.ns), np.int64)
        spread[column.ok] = ns
        series: list[PowerSeries] = []
        for sensor, channel in self._channels.items():
            series += self._series(
                sensor=sensor,
                channel=channel,
                ns=spread,
                ok=column.ok,
                clock=clock,
                poll=poll,
                options=options,
            )
        if not series:
            raise UnreadableFile(
                self.path,
                (
                    f"comes from {dialect}, but has fewer than two readings of each counter, so no "
                    "power is known"
                ),
                hint=hint,
            )
        return PowerLog(
            path=self.path,
            dialect=dialect,
            series=tuple(series),
            warnings=self.notes.warnings(),
            guess=f"{guess}; time: {column.words}",
        )

    def _times(
        self,
        dialect: str,
        options: LogColumns,
        period_s: float | None,
        hint: str,
    ) -> tuple[column_times.TimeColumn, Clock, Figure | None]:
        if any(self._stamps):
            day_first = time_columns.day_first(self._stamps[:1000])
            column = times.in_zone(
                column_times.from_texts(self._stamps, day_first=day_first), options.tz
            )
            if column.ok.any():
                return column, assemble.zeroed(column, column.ok)[1], None
            raise UnreadableFile(
                self.path, f"comes from {dialect}, but no time in it can be read", hint=hint
            )
        rounds = np.array(self._rounds, np.int64)
        everything = np.ones(len(rounds), np.bool_)
        if rounds[-1] == 0:
            words = "a snapshot without a time"
            return (
                column_times.TimeColumn(rounds, everything, "elapsed", words),
                Clock(detail=words),
                Figure(0.0, Badge.ASSUMED),
            )
        if period_s is None:
            raise UnreadableFile(
                self.path,
                f"holds {rounds[-1] + 1} answers of {dialect} and no time",
                hint=hint or _HINT,
            )
        self.notes.say(
            f"no time in the log: one round every {period_s:g} s is assumed, the default of "
            f"{dialect}"
        )
        words = f"one round every {period_s:g} s, assumed"
        column = column_times.TimeColumn(
            rounds * round(period_s * NS_PER_S), everything, "elapsed", words
        )
        return column, times.clock(column, 0), Figure(period_s, Badge.ASSUMED)

    def _series(
        self,
        sensor: Sensor,
        channel: _Channel,
        ns: np.ndarray,
        ok: Bools,
        clock: Clock,
        poll: Figure | None,
        options: LogColumns,
    ) -> list[PowerSeries]:
        rows = np.array(channel.rows)
        good = ok[rows]
        ns_of_channel = ns[rows[good]]
        values = np.array(channel.values)[good]
        if not len(ns_of_channel):
            return []
        sensor = replace(
            sensor,
            host=sensor.host or options.host,
            poll_s=poll if poll is not None and poll.value else sensor.poll_s,
        )
        joules = None
        if channel.counter:
            order = np.argsort(ns_of_channel, kind="stable")
            ns_of_channel = ns_of_channel[order]
            values = values[order]
            if len(ns_of_channel) < 2:
                return []
            # Imported here: most tools write no counters.
            from powertui.data.power.counter_series import counter_series

            counted = counter_series(sensor, ns_of_channel, values, clock=clock, notes=self.notes)
            return [counted]
        if channel.kind is PowerKind.INTERVAL:
            order = np.argsort(ns_of_channel, kind="stable")
            ns_of_channel = ns_of_channel[order]
            values = values[order]
            joules = np.r_[np.nan, values[1:] * np.diff(ns_of_channel) / NS_PER_S]
        if joules is None:
            return assemble.sampled_channels(
                sensor,
                ns_of_channel,
                values,
                clock=clock,
                notes=self.notes,
            )
        made = assemble.power_series(
            sensor,
            ns_of_channel,
            values,
            clock=clock,
            notes=self.notes,
            joules=joules,
        )
        return [made]


_HINT = "Write the time before each: date +%s >> FILE; COMMAND >> FILE"

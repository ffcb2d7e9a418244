"""Which readings belong to a window, and the part of its energy that each of them holds.

One rule for both, and for the step and the epoch that a row names: a reading belongs to the moment
that it is about, which is before the moment of its row by what its own sensor needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.energy import mixture
from powertui.data.energy import sensor as sensors
from powertui.data.model import PS_PER_S, Floats, Int64s, PowerKind, PowerOnTrace
from powertui.data.sorted_columns import begins_run
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass


def about(power: PowerOnTrace) -> Int64s:
    """The moment that each row is about: the middle of the time that it covers."""
    sensor = power.series.sensor
    times = power.times
    if power.series.kind is PowerKind.INTERVAL and len(times) > 1:
        # An interval ends with its row. The first one is taken to be as long as the second.
        first_begin = 2 * times[:1] - times[1:2]
        begin = np.concatenate([first_begin, times[:-1]])
        middle: Int64s = begin + (times - begin) // 2
        delay_s = sensor.delay_s.value if sensor.delay_s else 0.0
        return middle - round(delay_s * PS_PER_S)
    centre_ps = round(sensors.centre_s(sensor) * PS_PER_S)
    moments: Int64s = times - centre_ps
    return moments


@dataclass(frozen=True, eq=False)
class ChannelReadings:
    """The rows of one channel that are about a window, in their order."""

    power: PowerOnTrace
    at: Int64s  # of the row
    about: Int64s
    values: Floats
    edges: Int64s  # the window cut into one piece for each row
    # Joules of the window per joule that its pieces hold; None where it is not resolved.
    scale: float | None

    @classmethod
    def in_window(cls, power: PowerOnTrace, lo: int, hi: int) -> ChannelReadings:
        """The rows that are about a moment of [lo, hi)."""
        moments = about(power)
        rows = np.flatnonzero((moments >= lo) & (moments < hi))
        moments = moments[rows]
        edges = np.array([lo], np.int64)
        if len(rows):
            # Half way from one reading to the next the piece of the next one begins.
            borders = moments[:-1] + np.diff(moments) // 2
            edges = np.concatenate([edges, borders, [hi]]).astype(np.int64)
        energy = mixture.energy(power, lo, hi)
        # A reading holds its piece of what the channel covers; gaps are filled in by scaling.
        scale = None
        if energy.joules is not None and energy.covered_joules > 0:
            scale = energy.joules / energy.covered_joules
        return cls(
            power=power,
            at=power.times[rows],
            about=moments,
            values=power.watts[rows],
            edges=edges,
            scale=scale,
        )

    def watts(self, rows: Int64s) -> list[float | None]:
        """The readings of these rows; None for a row of -1 and for a gap."""
        if not len(self.values):
            return [None] * len(rows)
        has_row = rows >= 0
        values = np.where(has_row, self.values[rows], np.nan)
        watts: list[float | None] = values.tolist()
        gaps = np.flatnonzero(np.isnan(values))
        for place in gaps.tolist():
            watts[place] = None
        return watts

    def joules(self, rows: Int64s) -> list[float | None]:
        """The part of the window's energy that each of these rows holds."""
        joules: list[float | None] = [None] * len(rows)
        with_reading = np.flatnonzero(rows >= 0)
        if self.scale is None or not len(with_reading):
            return joules
        pieces = rows[with_reading]
        begins = self.edges[pieces]
        ends = self.edges[pieces + 1]
        energies = mixture.energies(self.power, begins, ends)
        parts = energies.covered_joules * self.scale
        for place, part in zip(with_reading.tolist(), parts.tolist(), strict=True):
            joules[place] = part
        return joules


class SharedRows(NamedTuple):
    """The rows of all channels: those of one moment that are about one moment share a row."""

    at: Int64s
    about: Int64s
    channel_rows: tuple[Int64s, ...]  # for each channel and each row its own row, -1 for none


def together(channels: Sequence[ChannelReadings]) -> SharedRows:
    """The rows of all channels, by the moments that they are about."""
    if not channels:
        no_moments = np.empty(0, np.int64)
        return SharedRows(no_moments, no_moments, ())
    at = np.concatenate([channel.at for channel in channels])
    moments = np.concatenate([channel.about for channel in channels])
    order = np.lexsort((at, moments))
    at = at[order]
    moments = moments[order]
    begins = begins_run(moments, at)
    row_of_reading = np.empty(len(order), np.int64)
    row_of_reading[order] = np.cumsum(begins) - 1
    row_count = int(begins.sum())
    channel_rows: list[Int64s] = []
    first = 0  # readings of the channels before this one
    for channel in channels:
        reading_count = len(channel.at)
        end = first + reading_count
        rows = np.full(row_count, -1, np.int64)
        rows[row_of_reading[first:end]] = np.arange(reading_count)
        channel_rows.append(rows)
        first = end
    return SharedRows(at[begins], moments[begins], tuple(channel_rows))

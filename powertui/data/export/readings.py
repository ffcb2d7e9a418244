"""Which readings belong to a window, and the part of its energy that each of them holds.

One rule for both, and for the step and the epoch that a row names: a reading belongs to the moment
that it is about, which is before the moment of its row by what its own sensor needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui.data.energy import mixture
from powertui.data.energy import sensor as sensors
from powertui.data.model import PS_PER_S, Floats, Int64s, PowerKind, PowerOnTrace
from powertui.value_types import dataclass


def about(power: PowerOnTrace) -> Int64s:
    """The moment that each row is about: the middle of the time that it covers."""
    sensor = power.series.sensor
    if power.series.kind is PowerKind.INTERVAL and len(power.times) > 1:
        begin = np.concatenate([2 * power.times[:1] - power.times[1:2], power.times[:-1]])
        delay = sensor.delay_s.value if sensor.delay_s else 0.0
        middle: Int64s = begin + (power.times - begin) // 2 - round(delay * PS_PER_S)
        return middle
    moments: Int64s = power.times - round(sensors.centre_s(sensor) * PS_PER_S)
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
        moments = about(power)
        rows = np.flatnonzero((moments >= lo) & (moments < hi))
        moments = moments[rows]
        edges = np.array([lo], np.int64)
        if len(rows):
            middles = moments[:-1] + np.diff(moments) // 2
            edges = np.concatenate([edges, middles, [hi]]).astype(np.int64)
        energy = mixture.energy(power, lo, hi)
        scale = None
        if energy.joules is not None and energy.covered_joules > 0:
            scale = energy.joules / energy.covered_joules
        return cls(power, power.times[rows], moments, power.watts[rows], edges, scale)

    def watts(self, rows: Int64s) -> list[float | None]:
        """The readings of these rows; None for a row of -1 and for a gap."""
        if not len(self.values):
            return [None] * len(rows)
        values = np.where(rows >= 0, self.values[rows], np.nan)
        return [None if math.isnan(value) else value for value in values.tolist()]

    def joules(self, rows: Int64s) -> list[float | None]:
        """The part of the window's energy that each of these rows holds."""
        joules: list[float | None] = [None] * len(rows)
        with_reading = np.flatnonzero(rows >= 0)
        if self.scale is None or not len(with_reading):
            return joules
        pieces = rows[with_reading]
        energies = mixture.energies(self.power, self.edges[pieces], self.edges[pieces + 1])
        parts = energies.covered_joules * self.scale
        for i, part in zip(with_reading.tolist(), parts.tolist(), strict=True):
            joules[i] = part
        return joules


class SharedRows(NamedTuple):
    """The rows of all channels: those of one moment that are about one moment share a row."""

    at: Int64s
    about: Int64s
    channel_rows: tuple[Int64s, ...]  # for each channel and each row its own row, -1 for none


def together(channels: Sequence[ChannelReadings]) -> SharedRows:
    """The rows of all channels, by the moments that they are about."""
    if not channels:
        return SharedRows(np.empty(0, np.int64), np.empty(0, np.int64), ())
    at = np.concatenate([channel.at for channel in channels])
    moments = np.concatenate([channel.about for channel in channels])
    order = np.lexsort((at, moments))
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(moments[order]) != 0) | (np.diff(at[order]) != 0)
    shared_row = np.empty(len(order), np.int64)
    shared_row[order] = np.cumsum(new) - 1
    columns, first = [], 0
    for channel in channels:
        count = len(channel.at)
        rows = np.full(int(new.sum()), -1, np.int64)
        rows[shared_row[first : first + count]] = np.arange(count)
        columns.append(rows)
        first += count
    return SharedRows(at[order][new], moments[order][new], tuple(columns))

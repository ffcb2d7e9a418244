"""Which readings belong to a window, and what part of its energy each of them tells.

One rule for both, and for the step and the epoch that a row names: a reading belongs to the moment
that it is about, which lies before the moment of its row by what its own sensor needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from powertui.data.energy import mixture
from powertui.data.energy import sensor as sensors
from powertui.data.model import PS_PER_S, Floats, Int64s, PowerKind, PowerOnTrace


def about(power: PowerOnTrace) -> Int64s:
    """The moment that each row is about: the middle of the time that it tells of."""
    sensor = power.series.sensor
    if power.series.kind is PowerKind.INTERVAL and len(power.times) > 1:
        begin = np.concatenate([2 * power.times[:1] - power.times[1:2], power.times[:-1]])
        delay = sensor.delay_s.value if sensor.delay_s else 0.0
        middle: Int64s = begin + (power.times - begin) // 2 - round(delay * PS_PER_S)
        return middle
    late: Int64s = power.times - round(sensors.centre_s(sensor) * PS_PER_S)
    return late


@dataclass(frozen=True, eq=False)
class ChannelReadings:
    """The rows of one channel that are about a window, in their order."""

    power: PowerOnTrace
    at: Int64s  # of the row
    about: Int64s
    values: Floats
    edges: Int64s  # the window cut into one piece for each row
    scale: (
        float | None
    )  # joules of the window per joule that its pieces hold; None: it is not resolved

    @classmethod
    def in_window(cls, power: PowerOnTrace, lo: int, hi: int) -> ChannelReadings:
        moments = about(power)
        rows = np.flatnonzero((moments >= lo) & (moments < hi))
        inside = moments[rows]
        middles = inside[:-1] + np.diff(inside) // 2
        edges = (
            np.concatenate([[lo], middles, [hi]]).astype(np.int64)
            if len(rows)
            else np.array([lo], np.int64)
        )
        whole = mixture.energy(power, lo, hi)
        scale = (
            whole.joules / whole.covered_joules
            if whole.joules is not None and whole.covered_joules > 0
            else None
        )
        return cls(power, power.times[rows], inside, power.watts[rows], edges, scale)

    def watts(self, rows: Int64s) -> list[float | None]:
        """The readings of these rows; None for a row of -1 and for a gap."""
        if not len(self.values):
            return [None] * len(rows)
        found = np.where(rows >= 0, self.values[rows], np.nan)
        return [value if value == value else None for value in found.tolist()]

    def joules(self, rows: Int64s) -> list[float | None]:
        """What each of these rows tells of the window's energy."""
        out: list[float | None] = [None] * len(rows)
        there = np.flatnonzero(rows >= 0)
        if self.scale is None or not len(there):
            return out
        mine = rows[there]
        parts = (
            mixture.energies(self.power, self.edges[mine], self.edges[mine + 1]).covered_joules
            * self.scale
        )
        for i, value in zip(there.tolist(), parts.tolist(), strict=True):
            out[i] = value
        return out


class SharedRows(NamedTuple):
    """The rows of all channels: those of one moment that are about one moment share a row."""

    at: Int64s
    about: Int64s
    of: tuple[Int64s, ...]  # for each channel and each row its own row, -1 where it has none


def together(channels: Sequence[ChannelReadings]) -> SharedRows:
    """By the moments that they are about."""
    if not channels:
        return SharedRows(np.empty(0, np.int64), np.empty(0, np.int64), ())
    at, moments = (
        np.concatenate([one.at for one in channels]),
        np.concatenate([one.about for one in channels]),
    )
    order = np.lexsort((at, moments))
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(moments[order]) != 0) | (np.diff(at[order]) != 0)
    row = np.empty(len(order), np.int64)
    row[order] = np.cumsum(new) - 1
    found, first = [], 0
    for one in channels:
        mine = np.full(int(new.sum()), -1, np.int64)
        mine[row[first : first + len(one.at)]] = np.arange(len(one.at))
        found.append(mine)
        first += len(one.at)
    return SharedRows(at[order][new], moments[order][new], tuple(found))

"""Several channels as one series: for curves, and for what is reported about readings.

The joules of windows are those of each channel, added up (`account`); those of the sum are the
same.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np

from powertui.data.energy import integrate, main_log, placing
from powertui.data.energy import sensor as sensors
from powertui.data.model import (
    PS_PER_S,
    Figure,
    Floats,
    Int64s,
    PowerKind,
    PowerOnTrace,
    PowerSeries,
)

# Bounds of time and memory.
MAX_SUMMED_ROWS = 200_000  # of a sum of channels that were read at different moments
# With more channels, or more readings of several, a sum is made first.
MAX_SEPARATE_CHANNELS = 16
_MAX_SEPARATE_READINGS = 1 << 20


def where_many(channels: Sequence[PowerOnTrace]) -> PowerOnTrace | None:
    """The sum of channels that are too many, or too long, to be worked with one by one; None where
    they are not, or have no sum.
    """
    is_much = len(channels) > MAX_SEPARATE_CHANNELS or (
        len(channels) > 1
        and sum(len(channel.series) for channel in channels) > _MAX_SEPARATE_READINGS
    )
    return together(channels) if is_much else None


def together(channels: Sequence[PowerOnTrace]) -> PowerOnTrace | None:
    """Channels of one log that were read at the same moments as one, reading by reading: a hundred
    curves of a week would take gigabytes. None where they were not.
    """
    first = channels[0]
    kinds = {
        (channel.series.path, channel.series.kind, channel.offset_ps, len(channel.series))
        for channel in channels
    }
    if len(kinds) > 1 or first.series.kind is not PowerKind.SAMPLED or len(first.places) > 1:
        return None
    times = first.series.times
    if not all(
        channel.series.times is times or np.array_equal(channel.series.times, times)
        for channel in channels
    ):
        return None
    series = _sum(tuple(channel.series for channel in channels))
    return replace(first, series=series, watts=series.watts)


_sums: weakref.WeakKeyDictionary[
    PowerSeries, tuple[tuple[weakref.ref[PowerSeries], ...], PowerSeries]
] = weakref.WeakKeyDictionary()


def _sum(channels: tuple[PowerSeries, ...]) -> PowerSeries:
    """Their sum, reading by reading: the one that was made last with this channel as its first,
    where it is of the same ones.
    """
    last_sum = _sums.get(channels[0])
    if last_sum is not None and tuple(channel() for channel in last_sum[0]) == channels:
        return last_sum[1]
    watts = np.zeros(len(channels[0].times))
    for channel in channels:
        watts += channel.watts
    name = f"{len(channels)} channels of {PurePath(channels[0].path).name}"
    sensor = replace(channels[0].sensor, name=name, device=None, quantum_w=None)
    made = sensors.describe(replace(channels[0], sensor=sensor, watts=watts, warnings=(), marks=()))
    _sums[channels[0]] = tuple(weakref.ref(channel) for channel in channels), made
    return made


def summed(channels: Sequence[PowerOnTrace]) -> PowerOnTrace | None:
    """Channels as one series.

    It is as slow as the slowest of them; of very many rows each is the mean of several.
    """
    if len(channels) < 2:
        return channels[0] if channels else None
    if (
        len(channels[0].times) > MAX_SUMMED_ROWS
        and (together_as_one := together(channels)) is not None
    ):
        return together_as_one
    at = np.unique(np.concatenate([c.times for c in channels]))
    channel_sensors = [c.series.sensor for c in channels]
    refresh = _worst(channels, "refresh_s")
    if len(at) > MAX_SUMMED_ROWS:
        at, watts = _thinned(channels, at)
        every = Figure(
            float(np.median(np.diff(at))) / PS_PER_S,
            refresh.badge if refresh is not None else channel_sensors[0].scale,
        )
        refresh = max(
            (
                together_as_one
                for together_as_one in (refresh, every)
                if together_as_one is not None
            ),
            key=lambda together_as_one: together_as_one.value,
        )
    else:
        watts = np.sum([integrate.watts_at(c, at) for c in channels], axis=0)
    sensor = replace(
        channel_sensors[0],
        name=" + ".join(s.name for s in channel_sensors),
        poll_s=refresh,
        refresh_s=refresh,
        window_s=_worst(channels, "window_s"),
        delay_s=None,
        quantum_w=_worst(channels, "quantum_w"),
        gain=_worst(channels, "gain"),
    )
    # The values already stand where they belong; the rows are moved so that this sensor's own
    # centring leaves them there.
    late = round(sensors.centre_s(sensor) * PS_PER_S)
    first = channels[0]
    series = PowerSeries(
        sensor, (at + late) // 1000, watts, PowerKind.SAMPLED, path=first.series.path
    )
    lo = min(c.offset_lo_ps - c.offset_ps for c in channels)
    hi = max(c.offset_hi_ps - c.offset_ps for c in channels)
    status = max((c.status for c in channels), key=lambda s: main_log.STATUS_RANK[s])
    # What places the sum is what places the channel with the most places; those of one log share
    # them.
    lead = max(channels, key=lambda c: len(c.places))
    places = (
        [p._replace(offset_ps=p.offset_ps - lead.offset_ps) for p in lead.places]
        if len(lead.places) > 1
        else []
    )
    return placing.on_trace(series, 0, lo, hi, status, first.source, places)


def _thinned(channels: Sequence[PowerOnTrace], at: Int64s) -> tuple[Int64s, Floats]:
    """Fewer moments, and what all channels drew on average around each: the joules of a stretch are
    those of the channels.
    """
    moments = at[np.linspace(0, len(at) - 1, MAX_SUMMED_ROWS).astype(np.int64)]
    edges = np.concatenate([moments[:1], moments[:-1] + np.diff(moments) // 2, moments[-1:]])
    total = np.zeros(len(moments))
    for channel in channels:
        joules, seconds = (np.diff(column) for column in integrate.upto(channel, edges))
        with np.errstate(divide="ignore", invalid="ignore"):
            total += np.where(seconds > 0, joules / seconds, np.nan)
    return moments, total


def _worst(channels: Sequence[PowerOnTrace], name: str) -> Figure | None:
    figures = [figure for c in channels if (figure := getattr(c.series.sensor, name)) is not None]
    return max(figures, key=lambda figure: figure.value) if figures else None

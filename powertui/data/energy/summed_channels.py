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

from powertui.data import wire
from powertui.data.energy import main_log, placing
from powertui.data.energy import sensor as sensors
from powertui.data.model import (
    PS_PER_NS,
    PS_PER_S,
    Figure,
    Floats,
    Int64s,
    LogPlace,
    PowerKind,
    PowerOnTrace,
    PowerSeries,
    Sensor,
)
from powertui.data.quantiles import median_of_column

# Bounds of time and memory.
MAX_SUMMED_ROWS = 200_000  # of a sum of channels that were read at different moments
# With more channels, or more readings of several, a sum is made first.
MAX_SEPARATE_CHANNELS = 16
_MAX_SEPARATE_READINGS = 1 << 20


def where_many(channels: Sequence[PowerOnTrace]) -> PowerOnTrace | None:
    """The sum of channels that are too many, or too long, to be worked with one by one; None where
    they are not, or have no sum.
    """
    if len(channels) < 2:
        return None
    readings = sum(len(channel.series) for channel in channels)
    is_much = len(channels) > MAX_SEPARATE_CHANNELS or readings > _MAX_SEPARATE_READINGS
    return together(channels) if is_much else None


def together(channels: Sequence[PowerOnTrace]) -> PowerOnTrace | None:
    """Channels of one log that were read at the same moments as one, reading by reading: a hundred
    curves of a week would take gigabytes. None where they were not.
    """
    first = channels[0]
    if first.series.kind is not PowerKind.SAMPLED or len(first.places) > 1:
        return None
    if not all(_is_read_with(channel, first) for channel in channels):
        return None
    series = _sum(tuple(channel.series for channel in channels))
    return replace(first, series=series, watts=series.watts)


def _is_read_with(channel: PowerOnTrace, first: PowerOnTrace) -> bool:
    """Whether two channels are of one log and were read at the same moments."""
    series, other = channel.series, first.series
    if (series.path, series.kind, channel.offset_ps) != (other.path, other.kind, first.offset_ps):
        return False
    return series.times is other.times or np.array_equal(series.times, other.times)


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
    sensor = replace(
        channels[0].sensor,
        name=name,
        device=None,
        quantum_w=None,
        step_j=None,
    )
    made = sensors.describe(
        replace(
            channels[0],
            sensor=sensor,
            watts=watts,
            warnings=(),
            marks=(),
        )
    )
    _sums[channels[0]] = tuple(weakref.ref(channel) for channel in channels), made
    return made


def summed(channels: Sequence[PowerOnTrace]) -> PowerOnTrace | None:
    """Channels as one series.

    It is as slow as the slowest of them; of very many rows each is the mean of several.
    """
    if len(channels) < 2:
        return channels[0] if channels else None
    first = channels[0]
    if len(first.times) > MAX_SUMMED_ROWS:
        as_one = together(channels)
        if as_one is not None:
            return as_one
    at = wire.distinct(np.concatenate([channel.times for channel in channels]))
    channel_sensors = [channel.series.sensor for channel in channels]
    refresh = _worst(channel_sensors, "refresh_s")
    if len(at) > MAX_SUMMED_ROWS:
        at, watts = _thinned(channels, at)
        every_s = median_of_column(np.diff(at)) / PS_PER_S
        if refresh is None:
            refresh = Figure(every_s, channel_sensors[0].scale)
        elif every_s > refresh.value:
            refresh = Figure(every_s, refresh.badge)
    else:
        from powertui.data.energy import integrate

        watts = np.sum([integrate.watts_at(channel, at) for channel in channels], axis=0)
    sensor = replace(
        channel_sensors[0],
        name=" + ".join(channel_sensor.name for channel_sensor in channel_sensors),
        poll_s=refresh,
        refresh_s=refresh,
        window_s=_worst(channel_sensors, "window_s"),
        delay_s=None,
        step_j=None,
        quantum_w=_worst(channel_sensors, "quantum_w"),
        gain=_worst(channel_sensors, "gain"),
    )
    # The values already stand where they belong; the rows are moved so that this sensor's own
    # centring leaves them there.
    late_ps = round(sensors.centre_s(sensor) * PS_PER_S)
    times_ns = (at + late_ps) // PS_PER_NS
    series = PowerSeries(sensor, times_ns, watts, PowerKind.SAMPLED, path=first.series.path)
    lo = min(channel.offset_lo_ps - channel.offset_ps for channel in channels)
    hi = max(channel.offset_hi_ps - channel.offset_ps for channel in channels)
    statuses = [channel.status for channel in channels]
    status = max(statuses, key=lambda status: main_log.STATUS_RANK[status])
    return placing.on_trace(
        series=series,
        offset_ps=0,
        lo_ps=lo,
        hi_ps=hi,
        status=status,
        source=first.source,
        places=_places(channels),
    )


def _places(channels: Sequence[PowerOnTrace]) -> list[LogPlace]:
    """What places the sum is what places the channel with the most places; those of one log share
    them.
    """
    lead = max(channels, key=lambda channel: len(channel.places))
    if len(lead.places) < 2:
        return []
    return [place._replace(offset_ps=place.offset_ps - lead.offset_ps) for place in lead.places]


def _thinned(channels: Sequence[PowerOnTrace], at: Int64s) -> tuple[Int64s, Floats]:
    """Fewer moments, and what all channels drew on average around each: the joules of a stretch are
    those of the channels.
    """
    rows = np.linspace(0, len(at) - 1, MAX_SUMMED_ROWS).astype(np.int64)
    moments = at[rows]
    middles = moments[:-1] + np.diff(moments) // 2
    edges = np.concatenate([moments[:1], middles, moments[-1:]])
    from powertui.data.energy import integrate

    total = np.zeros(len(moments))
    for channel in channels:
        joules_until, seconds_until = integrate.upto(channel, edges)
        joules = np.diff(joules_until)
        seconds = np.diff(seconds_until)
        with np.errstate(divide="ignore", invalid="ignore"):
            total += np.where(seconds > 0, joules / seconds, np.nan)
    return moments, total


def _worst(channel_sensors: Sequence[Sensor], name: str) -> Figure | None:
    figures = [getattr(sensor, name) for sensor in channel_sensors]
    stated = [figure for figure in figures if figure is not None]
    return max(stated, key=lambda figure: figure.value, default=None)

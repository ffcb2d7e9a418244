"""Which channels of power are shown at a place: all of a few; of many the one of the device that is
looked at, else their sum.

A machine with eight GPUs has eight channels, and a person looks at one of them or at the machine.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from powertui.data.model import Badge, PowerOnTrace, Sensor
from powertui.named_tuples import NamedTuple
from powertui.plain import plain, width
from powertui.view.power_curve import channel_curve
from powertui.view.time_navigation import State
from powertui.view.timeline_model import TimelineModel

if TYPE_CHECKING:
    from powertui.data.energy.measured_energy import Energy

_MAX_LISTED_CHANNELS = 3  # channels that are told one by one
_NAME_CELLS = 16  # cells that a name has beside its value


class LinePower(NamedTuple):
    """One line's power: a channel, or several that are added up."""

    name: str  # "host-a watts", "8 channels"
    channels: tuple[PowerOnTrace, ...]
    added_up: bool = False  # its one channel is many

    @property
    def named(self) -> bool:
        """Whether a figure needs its name: it is not all the power that there is."""
        if self.added_up or len(self.channels) > 1:
            return True
        return any(channel.device for channel in self.channels)

    @property
    def badge(self) -> Badge:
        """What its watts are worth."""
        scales = {channel.series.sensor.scale for channel in self.channels}
        if len(scales) > 1:
            return Badge.ASSUMED
        return scales.pop() if scales else Badge.ASSUMED

    def watts(self, ps: int) -> float:
        """At a moment; NaN where one of them has no value."""
        values = [channel_curve(channel).value(ps) for channel in self.channels]
        return float(np.sum(values))

    def energy(self, lo: int, hi: int) -> Energy | None:
        """Over a stretch."""
        # Imported here: the first picture is there without energies.
        from powertui.data.energy import mixture
        from powertui.data.energy.counted_energy import combined

        return combined([mixture.energy(channel, lo, hi) for channel in self.channels])


def power_lines(
    model: TimelineModel,
    state: State,
    power: Sequence[PowerOnTrace],
) -> tuple[LinePower, ...]:
    """What is told where the cursor stands, or of what is selected."""
    channels = tuple(power)
    if len(channels) <= _MAX_LISTED_CHANNELS:
        return _one_by_one(channels)
    device = _device(model, state)
    on_device = tuple(channel for channel in channels if device and channel.device == device)
    if on_device:
        return _one_by_one(on_device)
    return _added_up(channels)


@functools.lru_cache(maxsize=8)
def _one_by_one(power: tuple[PowerOnTrace, ...]) -> tuple[LinePower, ...]:
    """Channels by host and sensor; by the sensor alone, as short as it can be told, where that
    would be cut.
    """
    names = []
    short_names = []
    for channel in power:
        sensor = channel.series.sensor
        names.append(plain(sensor.label, 60))
        short_names.append(plain(_short(sensor), 60))
    widest = max(map(width, names), default=0)
    are_distinct = len(set(short_names)) == len(short_names)
    if widest > _NAME_CELLS and are_distinct:
        names = short_names
    lines = []
    for name, channel in zip(names, power, strict=True):
        lines.append(LinePower(name, (channel,)))
    return tuple(lines)


def _short(sensor: Sensor) -> str:
    from powertui.data.energy import scopes

    device = scopes.device(sensor)
    if device is None or device.index is None:
        return sensor.channel
    kind = "AIU" if sensor.channel.startswith("AIU") else "GPU"
    return f"{kind} {device.index}"


@functools.lru_cache(maxsize=8)
def _added_up(power: tuple[PowerOnTrace, ...]) -> tuple[LinePower, ...]:
    """The channels of the surest log that do not overlap, as one line."""
    from powertui.data.energy import scopes, summed_channels

    surest = power[0].status
    equally_sure = [channel for channel in power if channel.status == surest]
    counted = scopes.of_one([channel.series for channel in equally_sure])
    chosen = tuple(equally_sure[index] for index in counted.indices)
    if len(chosen) < 2:
        return _one_by_one(chosen)
    name = f"{len(chosen)} channels"
    summed_channel = summed_channels.where_many(chosen)
    if summed_channel is not None:
        line = LinePower(name, (summed_channel,), added_up=True)
    else:
        line = LinePower(name, chosen)
    return (line,)


def _device(model: TimelineModel, state: State) -> str:
    """The process that is selected, or that the cursor's row belongs to."""
    if state.selection is not None:
        selected_track = model.tracks[state.selection.track]
        return selected_track.process.name
    rows = model.rows(state.folds)
    if not 0 <= state.cursor_row < len(rows):
        return ""
    row = rows[state.cursor_row]
    return model.trace.processes[row.process].name


@functools.lru_cache(maxsize=2)
def main_log_reason(power: tuple[PowerOnTrace, ...], span: tuple[int, int]) -> str:
    """Which of several logs is the main one, and why. Asked at every move of the cursor."""
    if len(power) < 2:
        return ""
    from powertui.data.energy import main_log  # the first picture is there without energies

    return main_log.why(power, span)

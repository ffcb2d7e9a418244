"""Which channels of power are shown at a place: all of a few; of many the one of the device that is
looked at, else their sum.

A machine with eight GPUs has eight channels, and a person looks at one of them or at the machine.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui.data.energy import mixture, scopes, summed_channels
from powertui.data.energy.account import combined
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import Badge, PowerOnTrace, Sensor
from powertui.plain import plain, width
from powertui.view.power_curve import channel_curve
from powertui.view.time_navigation import State
from powertui.view.timeline_model import TimelineModel

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
        return (
            self.added_up
            or len(self.channels) > 1
            or any(channel.device for channel in self.channels)
        )

    @property
    def badge(self) -> Badge:
        """What its watts are worth."""
        scales = {channel.series.sensor.scale for channel in self.channels}
        return scales.pop() if len(scales) == 1 else Badge.ASSUMED

    def watts(self, ps: int) -> float:
        """At a moment; NaN where one of them has no value."""
        return float(np.sum([channel_curve(channel).value(ps) for channel in self.channels]))

    def energy(self, lo: int, hi: int) -> Energy | None:
        """Over a stretch."""
        return combined([mixture.energy(channel, lo, hi) for channel in self.channels])


def power_lines(
    model: TimelineModel, state: State, power: Sequence[PowerOnTrace]
) -> tuple[LinePower, ...]:
    """What is told where the cursor stands, or of what is selected."""
    every = tuple(power)
    if len(every) <= _MAX_LISTED_CHANNELS:
        return _one_by_one(every)
    device = _device(model, state)
    mine = tuple(channel for channel in every if channel.device and channel.device == device)
    return _one_by_one(mine) if mine else _added_up(every)


@functools.lru_cache(maxsize=8)
def _one_by_one(power: tuple[PowerOnTrace, ...]) -> tuple[LinePower, ...]:
    """Channels by host and sensor; by the sensor alone, as short as it can be told, where that
    would be cut.
    """
    labels = [plain(channel.series.sensor.label, 60) for channel in power]
    short = [plain(_short(channel.series.sensor), 60) for channel in power]
    cut = any(width(label) > _NAME_CELLS for label in labels) and len(set(short)) == len(short)
    return tuple(
        LinePower(name, (channel,))
        for name, channel in zip(short if cut else labels, power, strict=True)
    )


def _short(sensor: Sensor) -> str:
    device = scopes.device(sensor)
    return (
        f"GPU {device.index}" if device is not None and device.index is not None else sensor.channel
    )


@functools.lru_cache(maxsize=8)
def _added_up(power: tuple[PowerOnTrace, ...]) -> tuple[LinePower, ...]:
    """The channels of the surest log that do not overlap, as one line."""
    counted = scopes.of_one(
        [channel.series for channel in power if channel.status == power[0].status]
    )
    same = [channel for channel in power if channel.status == power[0].status]
    chosen = tuple(same[i] for i in counted.indices)
    if len(chosen) < 2:
        return _one_by_one(chosen)
    name = f"{len(chosen)} channels"
    if (combined_channel := summed_channels.where_many(chosen)) is not None:
        return (LinePower(name, (combined_channel,), True),)
    return (LinePower(name, chosen),)


def _device(model: TimelineModel, state: State) -> str:
    """The process that is selected, or that the cursor's row belongs to."""
    if state.selection is not None:
        return model.tracks[state.selection.track].process.name
    rows = model.rows(state.folds)
    return (
        model.trace.processes[rows[state.cursor_row].process].name
        if 0 <= state.cursor_row < len(rows)
        else ""
    )

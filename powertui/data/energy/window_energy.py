"""What the windows of a recording drew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import integrate, placing, scopes
from powertui.data.energy import sensor as sensors
from powertui.data.energy.counted_energy import combined
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import PS_PER_NS, Int64s, Mark, PowerOnTrace, PowerSeries
from powertui.named_tuples import NamedTuple


class MarkEnergy(NamedTuple):
    """What a window of a log drew."""

    path: str  # of the log
    mark: Mark
    energy: Energy | None


def window_energies(series: Sequence[PowerSeries]) -> list[MarkEnergy]:
    """What every window of these channels' logs drew, on the log's own clock: where the log lies on
    a trace changes nothing.

    Channels of one log that overlap are counted once, as everywhere.
    """
    logs: dict[str, list[PowerSeries]] = {}
    for channel in series:
        if channel.marks:
            logs.setdefault(channel.path, []).append(channel)
    out: list[MarkEnergy] = []
    for path, channels in logs.items():
        windows = [mark for mark in channels[0].marks if mark.end_ns is not None]
        placeable = [
            mark
            for mark in windows
            if placing.fits(mark.start_ns) and placing.fits(mark.end_ns or 0)
        ]
        lo = np.array([mark.start_ns for mark in placeable], np.int64) * PS_PER_NS
        hi = np.array([mark.end_ns for mark in placeable], np.int64) * PS_PER_NS
        drew = dict(
            zip(
                placeable,
                _drawn([channels[i] for i in scopes.total(channels).indices], lo, hi),
                strict=True,
            )
        )
        out += [MarkEnergy(path, mark, drew.get(mark)) for mark in windows]
    return out


def log_energy(
    channels: Sequence[PowerOnTrace],
    lo_ps: int,
    hi_ps: int,
) -> Energy | None:
    """What all readings of one log add up to, from its first to its last (`lo_ps` to `hi_ps`); None
    for channels of several logs.

    That is the same wherever the log is: at another place the window would miss one of its ends.
    """
    if len({channel.series.path for channel in channels}) != 1:
        return None
    at_one_place = [
        replace(
            channel,
            offset_lo_ps=channel.offset_ps,
            offset_hi_ps=channel.offset_ps,
            status="aligned",
            places=(),
            power_sigma_s=None,
        )
        for channel in channels
    ]
    return combined(integrate.across(at_one_place, lo_ps, hi_ps))


def _drawn(
    channels: Sequence[PowerSeries],
    lo: Int64s,
    hi: Int64s,
) -> list[Energy | None]:
    parts = []
    for channel in channels:
        parts.append(
            list(
                integrate.energies(
                    placing.on_trace(
                        series=sensors.described(channel),
                        offset_ps=0,
                        lo_ps=0,
                        hi_ps=0,
                        status="aligned",
                        source="its own clock",
                    ),
                    lo,
                    hi,
                )
            )
        )
    if parts:
        return [combined(rows) for rows in zip(*parts, strict=True)]
    return [None] * len(lo)

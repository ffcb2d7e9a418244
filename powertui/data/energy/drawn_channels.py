"""The order in which channels are drawn: the main log first, and in each log its devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from powertui.data.energy import main_log, meeting
from powertui.data.energy.devices import Pair
from powertui.data.energy.log_alignment import Placed
from powertui.data.model import PowerOnTrace, Scope


def drawn_channels(
    placed: Sequence[Placed],
    counted: Sequence[int],
    pairs: Sequence[Pair],
    span: tuple[int, int],
) -> tuple[PowerOnTrace, ...]:
    """The channels that something places on the trace, with the GPU that each is.

    `counted`: the rows of those that are added up; they come first.
    """
    power = [channel.power for channel in placed]
    by_log = [row for row in main_log.order(power, span) if power[row].status != "none"]
    ordered = [row for row in counted if row in by_log]
    ordered += [row for row in by_log if row not in counted]
    logs = list(dict.fromkeys(power[row].series.path for row in ordered))
    device_of = {pair.channel: pair.device for pair in pairs if pair.channel is not None}

    def place_in_drawing(row: int) -> tuple[int, bool]:
        series = power[row].series
        is_gpu = series.sensor.scope is Scope.GPU
        # Where some GPUs have their channels, the others are GPUs that the trace did not see.
        is_unseen_gpu = bool(device_of) and row not in device_of and is_gpu
        return logs.index(series.path), is_unseen_gpu

    drawn = []
    for row in sorted(ordered, key=place_in_drawing):
        channel = power[row]
        if row in device_of:
            channel = replace(channel, device=device_of[row])
        drawn.append(channel)
    return tuple(drawn)


def logs_beside(placed: Sequence[Placed], span: tuple[int, int]) -> dict[int, str]:
    """By their distance (ps): the logs that something places beside the trace. Empty where one
    meets it.
    """
    beside: dict[int, str] = {}
    for channel in placed:
        power = channel.power
        if power.status == "none" or not len(power.series):
            continue
        gap = meeting.gap_on_trace(power, span)
        if gap is None:
            return {}
        beside[gap] = power.series.path
    return beside

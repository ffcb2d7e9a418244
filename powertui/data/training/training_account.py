"""The power of a training added up, with the arithmetic that one profile's account is made with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.energy import idle, main_log, meeting, summed_channels
from powertui.data.energy.idle import IdlePower
from powertui.data.energy.log_alignment import SIGNAL, Alignment, Placed
from powertui.data.energy.trace_account import Account
from powertui.data.model import PS_PER_S, Clock, PowerOnTrace, PowerSeries, Steps, Trace
from powertui.data.texts import NoNames
from powertui.data.training.machines import TrainingPower
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.named_tuples import NamedTuple

_UNPLACED_RANK = 2  # of `main_log.placement_rank`: of no channel at all


class TrainingAccount(NamedTuple):
    """The account, and the channels that it adds up."""

    account: Account
    counted: tuple[PowerSeries, ...]


def training_account(axis: TrainingOnAxis, owned: TrainingPower) -> TrainingAccount:
    """What the machines of a training drew."""
    reach = _reach(axis)
    placements = axis.by_wall or axis.placements
    power = [placed.power for placed in placements if placed.power.status != "none"]
    # A profile's own account contains its machine's channels alone.
    if axis.profile is None:
        power = [channel for channel in power if owned.is_owned(channel.series)]
    usable = _usable_rows(power, reach)
    series = [power[row].series for row in usable]
    if axis.profile is None:
        total = owned.total(series)
    else:
        total = owned.of_machine(series)
    counted = tuple(usable[row] for row in total.indices)
    summed = summed_channels.where_many([power[row] for row in counted])
    if summed is not None:
        power.append(summed)
        counted = (len(power) - 1,)
    idle_power = _idle(axis, [power[row] for row in counted])
    account = Account(
        trace=trace_of(axis, reach),
        steps=Steps.none(),
        epochs=axis.epochs,
        placed=tuple(Placed(channel, _alignment(axis, channel)) for channel in power),
        counted=counted,
        text=_text(total.text, len(power) - len(usable), main_log.why(power, reach)),
        idle_of=lambda: idle_power,
    )
    return TrainingAccount(account, total.series)


def _text(of_total: str, not_counted: int, why_main_log: str) -> str:
    """What is added up, how many channels are not, and why the main log is the main one."""
    if not of_total:
        return ""
    notes = [of_total]
    if not_counted:
        channels = "channels" if not_counted > 1 else "channel"
        notes.append(
            f"{not_counted} {channels} not counted: aligned less certainly, or at another time"
        )
    if why_main_log:
        notes.append(why_main_log)
    return "; ".join(notes)


def trace_of(axis: TrainingOnAxis, span: tuple[int, int] | None = None) -> Trace:
    """The axis of a training as a trace without events, for what asks a trace only where it is."""
    clock = Clock()
    if axis.wall:
        earliest = axis.zero_ns - axis.half_ns
        latest = axis.zero_ns + axis.half_ns
        clock = Clock(lo_ns=earliest, hi_ns=latest, source="the training's axis")
    return Trace(
        path=axis.training.entry.path,
        host="",
        format="training",
        processes=(),
        names=NoNames(),
        clock=clock,
        span=span or (axis.start, axis.end),
        event_count=0,
    )


def _usable_rows(power: Sequence[PowerOnTrace], reach: tuple[int, int]) -> list[int]:
    """The channels that may be counted, the main log first: those that are placed best."""
    order = main_log.order(power, reach)
    meeting_rows = [row for row in order if meeting.meets(power[row], reach)]
    usable = meeting_rows or list(order)
    ranks = {row: main_log.placement_rank(power[row]) for row in usable}
    best_rank = min(ranks.values(), default=_UNPLACED_RANK)
    usable = [row for row in usable if ranks[row] == best_rank]
    covering = []
    for row in usable:
        if main_log.coverage(power[row], reach) >= main_log.ENOUGH_COVERAGE:
            covering.append(row)
    usable = covering or usable
    # As in a profile: a channel that only its own power places counts for a host that no other log
    # is of.
    sure_hosts = {_host(power[row]) for row in usable if power[row].source != SIGNAL}
    counted = []
    for row in usable:
        if power[row].source != SIGNAL or _host(power[row]) not in sure_hosts:
            counted.append(row)
    return counted


def _host(channel: PowerOnTrace) -> str:
    return channel.series.sensor.host


def _reach(axis: TrainingOnAxis) -> tuple[int, int]:
    """From when to when the training, or its sessions, ran; without both, all of the axis."""
    stretches = axis.training.stretches
    if len(stretches):
        return axis.at(int(stretches.start[0])), axis.at(int(stretches.end.max()))
    starts = []
    ends = []
    for session in axis.islands:
        if session.start is not None and session.end is not None:
            starts.append(session.start)
            ends.append(session.end)
    if starts:
        return min(starts), max(ends)
    return axis.start, max(axis.end, axis.start + 1)


def _alignment(axis: TrainingOnAxis, power: PowerOnTrace) -> Alignment:
    """How it was placed, on this axis."""
    for channel in axis.by_wall or axis.placements:
        if channel.power is power or channel.power.series is power.series:
            return channel.alignment
    return Alignment(
        offset_s=power.offset_ps / PS_PER_S,
        lo_s=power.offset_lo_ps / PS_PER_S,
        hi_s=power.offset_hi_ps / PS_PER_S,
        status=power.status,
        source=power.source,
        evidence=(),
    )


def _idle(axis: TrainingOnAxis, channels: Sequence[PowerOnTrace]) -> IdlePower:
    """Idle power of all counted channels: what they drew while no record says that anything ran."""
    if axis.idle_w is not None:
        return idle.given(axis.idle_w)
    stretches = axis.training.stretches
    if not channels or not len(stretches) or any(channel.status == "none" for channel in channels):
        return IdlePower(None)
    lo = axis.at(int(stretches.start[0]))
    hi = axis.at(int(stretches.end.max()))
    starts = np.array([lo], np.int64)
    ends = np.array([hi], np.int64)
    return idle.of_all(
        channels,
        idle.When(
            los=starts,
            his=ends,
            first=lo,
            last=hi,
            ends_known=True,
        ),
    )

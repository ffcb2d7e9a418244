"""Power on the axis of one profile, placed by the training around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from powertui.data.asked import Aligning
from powertui.data.energy import log_alignment
from powertui.data.energy.hand_alignment import placed_by_hand
from powertui.data.energy.log_alignment import Alignment, Placed
from powertui.data.model import IN_TRACE, PS_PER_NS, Clock, PowerSeries
from powertui.data.opened import Profile
from powertui.data.training import session_places
from powertui.data.training.placed_training import PlacedTraining

if TYPE_CHECKING:
    from powertui.data.training.placing import PlacedChannel

# A person or the trace itself placed these.
_NOT_BY_TRAINING = (log_alignment.OFFSET, log_alignment.PINNED, IN_TRACE)
_ROUNDING = 1e-6  # s, of one place that was reckoned twice


def on_profile(
    training: PlacedTraining,
    profile: Profile,
    placed: tuple[Placed, ...],
    aligning: Aligning,
) -> tuple[Placed, ...]:
    """Placed power, each log where the training places it when that is surer than what the profile
    alone tells.
    """
    clock = profile.clock
    if (
        aligning.mode == "none"
        or not clock.known
        or not placed
        or not session_places.believed(profile, training.scalar_span)
    ):
        return placed
    span = training.scalar_span
    if span is None:
        return placed
    length = profile.trace.span[1] - profile.trace.span[0]
    covers = length > log_alignment.MIN_COVERED_SHARE * (span[1] - span[0]) * PS_PER_NS
    from powertui.data.training import placing

    by_path = {on_trace.series.path: on_trace for on_trace in training.aligned(aligning).power}
    out = []
    for on_trace in placed:
        channel = by_path.get(on_trace.power.series.path)
        if (
            channel is None
            or channel.alignment.offset_s is None
            or on_trace.alignment.source in _NOT_BY_TRAINING
            or (covers and (on_trace.alignment.is_sure or not channel.alignment.is_sure))
        ):
            out.append(on_trace)
            continue
        out.append(
            placing.put_on_axis(
                on_trace.power.series, channel.seen_from(clock.mid_ns, clock.half_ns)
            )
        )
    return tuple(out)


def by_wall(
    training: PlacedTraining,
    clock: Clock,
    placed: Sequence[Placed],
    aligning: Aligning,
) -> tuple[Placed, ...] | None:
    """The same channels on the same axis as wall time places them, for windows that are known by
    wall time too: how well the profile's own clock is known makes no difference between the two.
    None: not all of them are placed by the training.
    """
    asked = training.aligned(aligning)
    if not clock.known or _counts_from_elsewhere(asked, clock, aligning):
        return None
    if not placed:
        return ()
    from powertui.data.training import placing

    by_name: dict[tuple[object, ...], list[PlacedChannel]] = {}
    for channel in asked.power:
        by_name.setdefault(_name_of(channel.series), []).append(channel)
    out = []
    for on_trace in placed:
        channels = by_name.get(_name_of(on_trace.power.series), [])
        if len(channels) != 1 or (channels[0].status == "none") != (
            on_trace.power.status == "none"
        ):
            return None
        if on_trace.alignment.source == log_alignment.SIGNAL and not _same_place(
            on_trace.alignment, channels[0].seen_from(clock.mid_ns)
        ):
            return None  # the profile's own trace places it
        out.append(placing.put_on_axis(on_trace.power.series, channels[0].seen_from(clock.mid_ns)))
    return tuple(out)


def _counts_from_elsewhere(training: PlacedTraining, clock: Clock, aligning: Aligning) -> bool:
    """Whether a person's offset counts from another zero than this profile's."""
    if placed_by_hand(aligning) is None:
        return False
    from powertui.data.training import placing

    return placing.zero_of_offsets(training).ns != clock.mid_ns


def _same_place(first: Alignment, second: Alignment) -> bool:
    if first.offset_s is None or second.offset_s is None:
        return first.offset_s is second.offset_s
    return first.status == second.status and abs(first.offset_s - second.offset_s) < _ROUNDING


def _name_of(series: PowerSeries) -> tuple[object, ...]:
    return series.path, series.sensor.name, series.sensor.device

"""A training on one axis: ps from the zero of the profile that is looked at, or from the first
thing that is placed.

A week is 6e17 ps, which int64 holds fifteen times over. What lies farther away than int64 ps can
tell is left out.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from powertui.data.asked import Aligning
from powertui.data.energy import account, log_alignment, main_log, meeting
from powertui.data.energy.log_alignment import Placed
from powertui.data.energy.marks import MarkOnTrace
from powertui.data.energy.marks import on_trace as marks_on_trace
from powertui.data.model import PS_PER_NS, PS_PER_S, Epoch, Epochs, Int64s, Phase, PowerOnTrace
from powertui.data.opened import Profile
from powertui.data.training import profile_power, session_places
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.training_parts import Moment, PlacedSession, Rate, ScalarStrip
from powertui.value_types import dataclass

_Value = TypeVar("_Value")
_ROOM_PS = 1 << 61  # what int64 holds four times over
_ROOM_NS = _ROOM_PS // PS_PER_NS


@dataclass(frozen=True)
class SessionOnAxis:
    """A session on the axis.

    `lo`/`hi`: its start and end; `half` the ± of both; None where it has no place.
    """

    island: PlacedSession
    start: int | None
    end: int | None
    half: int
    here: bool  # it is the profile that is looked at


class _Answers:
    """What was worked out from one axis."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.by_key: dict[str, Any] = {}


@dataclass(frozen=True, eq=False)
class TrainingOnAxis:
    """Everything of a training on one axis, ps."""

    training: PlacedTraining
    profile: Profile | None
    zero_ns: (
        int  # where the axis' zero lies in Unix ns (or on the first log's own clock, see `wall`) …
    )
    half_ns: int  # … and the ± of that: of everything here that lies by wall time
    wall: bool  # whether zero_ns is Unix time
    start: int  # the first and the last thing that is placed
    end: int
    islands: tuple[SessionOnAxis, ...]
    epochs: Epochs  # with validation as phases
    placements: tuple[Placed, ...]  # of every channel, and why; the leading log first
    by_wall: (
        tuple[Placed, ...] | None
    )  # the same as wall time alone places them; None: something else does
    marks: tuple[MarkOnTrace, ...]
    idle_w: float | None = None

    @functools.cached_property
    def power(self) -> tuple[PowerOnTrace, ...]:
        """The channels that lie somewhere on the axis, the leading log first."""
        return tuple(placed.power for placed in self.placements if placed.power.status != "none")

    def __post_init__(self) -> None:
        # No cached properties: from Python 3.12 on two threads may make one of those twice.
        self.__dict__["_answers"] = _Answers()

    def cached(self, key: str, make: Callable[[], _Value]) -> _Value:
        """What somebody worked out from all of this, made once: a second thread waits for it."""
        answers: _Answers = self.__dict__["_answers"]
        with answers.lock:
            if key not in answers.by_key:
                answers.by_key[key] = make()
            value: _Value = answers.by_key[key]
            return value

    def holds_what(self, later: TrainingOnAxis) -> bool:
        """Whether an axis that was laid later holds nothing else than this one."""
        return (
            self._bounds == later._bounds
            and self.training.epochs is later.training.epochs
            and self.training.rate is later.training.rate
            and self.islands == later.islands
            and len(self.placements) == len(later.placements)
            and all(map(_same_place, self.placements, later.placements))
        )

    @property
    def _bounds(self) -> tuple[object, ...]:
        return self.zero_ns, self.half_ns, self.wall, self.start, self.end, self.idle_w

    @property
    def apart_ns(self) -> int:
        """The ± between what lies by wall time and the power: the profile's clock, unless wall time
        places both.
        """
        return 0 if self.by_wall is not None else self.half_ns

    @property
    def half(self) -> int:
        """The ± of wall time on this axis, ps."""
        return self.half_ns * PS_PER_NS

    @property
    def local_zero_ns(self) -> int | None:
        """The local time of the axis' zero, as ns since 1970 in its zone; None unless power logs
        alone have local times that name no zone.
        """
        if self.wall:
            return None
        from powertui.data.training import local_logs

        first_ns = local_logs.common_zero_ns(self.training.logs.power)
        return None if first_ns is None else first_ns + self.zero_ns

    def at(self, unix_ns: int) -> int:
        """A moment of Unix time on the axis; what int64 ps cannot hold lies at its ends."""
        return min(max(unix_ns - self.zero_ns, -_ROOM_NS), _ROOM_NS) * PS_PER_NS

    def unix_ns(self, ps: int) -> int:
        """A moment of the axis in Unix time."""
        return self.zero_ns + ps // PS_PER_NS

    def column(self, unix_ns: Int64s) -> Int64s:
        """Many moments at once; what int64 ps cannot hold lies at its ends."""
        return np.asarray(
            np.clip(unix_ns - self.zero_ns, -_ROOM_NS, _ROOM_NS) * PS_PER_NS, np.int64
        )

    @property
    def rate(self) -> Rate:
        """Step rate: its times are Unix ns, `column` lays them on the axis."""
        return self.training.rate

    @property
    def strips(self) -> tuple[ScalarStrip, ...]:
        """The scalars: likewise."""
        return self.training.strips

    @functools.cached_property
    def rate_at(self) -> Int64s:
        """The times of the rate's rows on the axis."""
        return self.column(self.training.rate.at_ns)


def _same_place(earlier: Placed, later: Placed) -> bool:
    """Whether a channel is where it was, and holds what it held."""

    def place(placed: Placed) -> tuple[object, ...]:
        power = placed.power
        bounds = power.offset_ps, power.offset_lo_ps, power.offset_hi_ps
        return power.status, bounds, tuple(power.places)

    return earlier.power.series is later.power.series and place(earlier) == place(later)


def place_training(
    training: PlacedTraining,
    profile: Profile | None,
    aligning: Aligning,
) -> TrainingOnAxis:
    """The training as seen from a profile, or on its own axis."""
    if profile is None:
        zero = training.zero_ns
        half = 0
        wall = _has_wall(training)
    else:
        is_believed = session_places.believed(profile, training.scalar_span)
        if not is_believed or not profile.clock.known:
            return _alone(training, profile, aligning)
        zero = profile.clock.mid_ns
        half = profile.clock.half_ns
        wall = True
    sessions = tuple(_session(placed, profile, zero, half) for placed in training.islands)
    placements = _power(
        training=training,
        profile=profile,
        aligning=aligning,
        zero=zero,
        half=half,
    )
    power = _placed_power(placements)
    by_wall: tuple[Placed, ...] | None = placements
    if profile is not None:
        by_wall = profile_power.by_wall(training, profile.clock, placements, aligning)
    start, end = _around(training, zero, sessions, power)
    return TrainingOnAxis(
        training=training,
        profile=profile,
        zero_ns=zero,
        half_ns=half,
        wall=wall,
        start=start,
        end=end,
        islands=sessions,
        epochs=epochs_of(training, zero, half),
        placements=placements,
        by_wall=by_wall,
        marks=marks_on_trace(power),
        idle_w=aligning.idle_w,
    )


def _placed_power(placements: Iterable[Placed]) -> tuple[PowerOnTrace, ...]:
    """The channels that are somewhere on the axis."""
    return tuple(placed.power for placed in placements if placed.power.status != "none")


def _has_wall(training: PlacedTraining) -> bool:
    """Whether anything of it is on wall time."""
    if training.scalar_span is not None:
        return True
    if any(session.start is not None for session in training.islands):
        return True
    for channel in training.power:
        if channel.zero is not None and channel.alignment.source != log_alignment.OWN_CLOCK:
            return True
    return False


def _alone(training: PlacedTraining, profile: Profile, aligning: Aligning) -> TrainingOnAxis:
    """A profile that nothing ties to wall time, or whose clock is not believed: only what is placed
    on it itself is there.
    """
    placements = _power(
        training=training,
        profile=profile,
        aligning=aligning,
        zero=0,
        half=0,
    )
    power = _placed_power(placements)
    start, end = profile.trace.span
    sessions: tuple[SessionOnAxis, ...] = ()
    for placed in training.islands:
        if _is(placed, profile):
            sessions = (
                SessionOnAxis(
                    island=placed,
                    start=start,
                    end=end,
                    half=0,
                    here=True,
                ),
            )
            break
    start, end = _with_power((start, end), power)
    return TrainingOnAxis(
        training=training,
        profile=profile,
        zero_ns=0,
        half_ns=0,
        wall=False,
        start=start,
        end=end,
        islands=sessions,
        epochs=profile.epochs,
        placements=placements,
        by_wall=None,
        marks=marks_on_trace(power),
        idle_w=aligning.idle_w,
    )


def _is(island: PlacedSession, profile: Profile) -> bool:
    return island.entry == profile.opened.entry and island.index == profile.index


def _session(island: PlacedSession, profile: Profile | None, zero: int, half: int) -> SessionOnAxis:
    if profile is not None and _is(island, profile):
        return SessionOnAxis(island, *profile.trace.span, 0, True)
    start = _ps(island.start, zero)
    end = _ps(island.end, zero)
    if island.start is None or start is None or end is None:
        return SessionOnAxis(
            island=island,
            start=None,
            end=None,
            half=0,
            here=False,
        )
    return SessionOnAxis(
        island=island,
        start=start,
        end=end,
        half=(island.start.half_ns + half) * PS_PER_NS,
        here=False,
    )


def _ps(moment: Moment | None, zero: int) -> int | None:
    if moment is None or abs(moment.ns - zero) > _ROOM_NS:
        return None
    return (moment.ns - zero) * PS_PER_NS


def epochs_of(training: PlacedTraining, zero: int, half: int) -> Epochs:
    """Its epochs on an axis whose zero is there, give or take `half` (Unix ns)."""
    epochs = []
    phases = []
    for index, trained in enumerate(training.epochs):
        halves = [bound.half_ns for bound in (trained.start, trained.end) if bound is not None]
        slack_ns = max(halves, default=0) + half
        epochs.append(
            Epoch(
                number=trained.number,
                start=_ps(trained.start, zero),
                end=_ps(trained.end, zero),
                source=trained.source,
                slack=slack_ns * PS_PER_NS,
                scalars=trained.scalars,
            )
        )
        if trained.validation is None:
            continue
        begin, end = trained.validation
        begin_ps = _ps(begin, zero)
        end_ps = _ps(end, zero)
        if begin_ps is not None and end_ps is not None:
            source = "from the last logged step to its results"
            phases.append(
                Phase(
                    name="validation",
                    start=begin_ps,
                    end=end_ps,
                    epoch=index,
                    source=source,
                )
            )
    source = training.epochs[0].source if training.epochs else "no epochs are logged"
    return Epochs(
        epochs=tuple(epochs),
        phases=tuple(phases),
        source=source,
    )


def _power(
    training: PlacedTraining,
    profile: Profile | None,
    aligning: Aligning,
    zero: int,
    half: int,
) -> tuple[Placed, ...]:
    """Every channel on the axis, the main log first."""
    if profile is not None:
        placed = list(account.energy_account(profile, aligning).placed)
    else:
        placed = [channel.placed(zero, half) for channel in training.aligned(aligning).power]
    reach = _reach(training, zero, profile)
    order = main_log.order([channel.power for channel in placed], reach)
    return tuple(placed[row] for row in order)


def _reach(training: PlacedTraining, zero: int, profile: Profile | None) -> tuple[int, int]:
    """From the first to the last record and end of a profile; everything where there are none."""
    moments = _record_moments(training, zero)
    if profile is not None:
        moments += profile.trace.span
    if len(moments) < 2 or max(moments) <= min(moments):
        return -_ROOM_PS, _ROOM_PS
    return min(moments), max(moments)


def _record_moments(training: PlacedTraining, zero: int) -> list[int]:
    """The bounds of its epochs and scalars, ps on the axis."""
    moments: list[Moment | None] = []
    for epoch in training.epochs:
        moments += (epoch.start, epoch.end)
    if training.scalar_span is not None:
        moments += [Moment(ns) for ns in training.scalar_span]
    on_axis = [_ps(moment, zero) for moment in moments]
    return [ps for ps in on_axis if ps is not None]


def _around(
    training: PlacedTraining,
    zero: int,
    sessions: tuple[SessionOnAxis, ...],
    power: tuple[PowerOnTrace, ...],
) -> tuple[int, int]:
    """From the first to the last thing on the axis."""
    records = _record_moments(training, zero)
    starts = records + [session.start for session in sessions if session.start is not None]
    ends = records + [session.end for session in sessions if session.end is not None]
    if starts:
        return _with_power((min(starts), max(ends)), power)
    logged = [channel for channel in power if len(channel.times)]
    if not logged:
        return 0, 0
    first = min(int(channel.times[0]) for channel in logged)
    return first, max(int(channel.times[-1]) for channel in logged)


def _with_power(run: tuple[int, int], power: tuple[PowerOnTrace, ...]) -> tuple[int, int]:
    """A span made longer by the logs that meet it: one that a person placed beside the run does not
    stretch the axis.
    """
    start, end = run
    for channel in power:
        if meeting.meets(channel, run):
            start = min(start, int(channel.times[0]))
            end = max(end, int(channel.times[-1]))
    return start, end


def session_spans(axis: TrainingOnAxis) -> tuple[tuple[float, float], ...]:
    """From when to when each placed session ran, s on the axis."""
    spans = []
    for session in axis.islands:
        if session.start is not None and session.end is not None:
            spans.append((session.start / PS_PER_S, session.end / PS_PER_S))
    return tuple(spans)

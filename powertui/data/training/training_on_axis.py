"""A training on one axis: ps from the zero of the profile that is looked at, or from the first
thing that is placed.

A week is 6e17 ps, which int64 holds fifteen times over. What lies farther away than int64 ps can
tell is left out.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from powertui.data.asked import Aligning
from powertui.data.energy import account, main_log, meeting
from powertui.data.energy.log_alignment import Placed
from powertui.data.energy.marks import MarkOnTrace
from powertui.data.energy.marks import on_trace as marks_on_trace
from powertui.data.model import PS_PER_NS, Epoch, Epochs, Int64s, Phase, PowerOnTrace
from powertui.data.opened import Profile
from powertui.data.training import placing, profile_power, session_places
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.training_parts import Moment, PlacedSession, Rate, ScalarStrip
from powertui.value_types import dataclass

_Value = TypeVar("_Value")
_ROOM_NS = (1 << 61) // PS_PER_NS


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

    @functools.cached_property
    def _answers(self) -> dict[str, Any]:
        return {}

    @functools.cached_property
    def _lock(self) -> threading.RLock:
        return threading.RLock()

    def cached(self, key: str, make: Callable[[], _Value]) -> _Value:
        """What somebody worked out from all of this, made once: a second thread waits for it."""
        with self._lock:
            if key not in self._answers:
                self._answers[key] = make()
            value: _Value = self._answers[key]
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
    training: PlacedTraining, profile: Profile | None, aligning: Aligning
) -> TrainingOnAxis:
    """The training as seen from a profile, or on its own axis."""
    clock = profile.clock if profile is not None else None
    if profile is not None and not session_places.believed(profile, training.scalar_span):
        return _alone(training, profile, aligning)
    if clock is not None and clock.known:
        zero, half, wall = clock.mid_ns, clock.half_ns, True
    elif profile is not None:
        return _alone(training, profile, aligning)
    else:
        zero, half, wall = training.zero_ns, 0, _has_wall(training)
    lying = tuple(_island(placed, profile, zero, half) for placed in training.islands)
    placements = _power(training, profile, aligning, zero, half)
    power = tuple(placed.power for placed in placements if placed.power.status != "none")
    epochs = epochs_of(training, zero, half)
    lo, hi = _around(training, zero, lying, power)
    marks = marks_on_trace(power)
    by_wall = (
        placements
        if clock is None
        else profile_power.by_wall(training, clock, placements, aligning)
    )
    return TrainingOnAxis(
        training,
        profile,
        zero,
        half,
        wall,
        lo,
        hi,
        lying,
        epochs,
        placements,
        by_wall,
        marks,
        aligning.idle_w,
    )


def _has_wall(training: PlacedTraining) -> bool:
    placed = (
        any(session.start is not None for session in training.islands)
        or training.scalar_span is not None
    )
    return placed or any(
        session.zero is not None and session.alignment.source != placing.OWN_CLOCK
        for session in training.power
    )


def _alone(training: PlacedTraining, profile: Profile, aligning: Aligning) -> TrainingOnAxis:
    """A profile that nothing ties to wall time, or whose clock is not believed: only what is placed
    on it itself lies there.
    """
    placements = _power(training, profile, aligning, 0, 0)
    power = tuple(placed.power for placed in placements if placed.power.status != "none")
    mine = next((placed for placed in training.islands if _is(placed, profile)), None)
    lo, hi = profile.trace.span
    lying = (SessionOnAxis(mine, lo, hi, 0, True),) if mine is not None else ()
    lo, hi = _with_power((lo, hi), power)
    marks = marks_on_trace(power)
    return TrainingOnAxis(
        training,
        profile,
        0,
        0,
        False,
        lo,
        hi,
        lying,
        profile.epochs,
        placements,
        None,
        marks,
        aligning.idle_w,
    )


def _is(island: PlacedSession, profile: Profile) -> bool:
    return island.entry == profile.opened.entry and island.index == profile.index


def _island(island: PlacedSession, profile: Profile | None, zero: int, half: int) -> SessionOnAxis:
    if profile is not None and _is(island, profile):
        return SessionOnAxis(island, *profile.trace.span, 0, True)
    if island.start is None or island.end is None:
        return SessionOnAxis(island, None, None, 0, False)
    start, end = _ps(island.start, zero), _ps(island.end, zero)
    if start is None or end is None:
        return SessionOnAxis(island, None, None, 0, False)
    return SessionOnAxis(island, start, end, (island.start.half_ns + half) * PS_PER_NS, False)


def _ps(moment: Moment | None, zero: int) -> int | None:
    if moment is None or abs(moment.ns - zero) > _ROOM_NS:
        return None
    return (moment.ns - zero) * PS_PER_NS


def epochs_of(training: PlacedTraining, zero: int, half: int) -> Epochs:
    """Its epochs on an axis whose zero lies there, give or take `half` (Unix ns)."""
    table, phases = [], []
    for index, trained in enumerate(training.epochs):
        slack = (
            max((m.half_ns for m in (trained.start, trained.end) if m is not None), default=0)
            + half
        )
        table.append(
            Epoch(
                trained.number,
                _ps(trained.start, zero),
                _ps(trained.end, zero),
                trained.source,
                slack * PS_PER_NS,
                trained.scalars,
            )
        )
        if trained.validation is not None:
            a, b = (_ps(moment, zero) for moment in trained.validation)
            if a is not None and b is not None:
                phases.append(
                    Phase("validation", a, b, index, "from the last logged step to its results")
                )
    source = training.epochs[0].source if training.epochs else "no epochs are logged"
    return Epochs(tuple(table), tuple(phases), source)


def _power(
    training: PlacedTraining, profile: Profile | None, aligning: Aligning, zero: int, half: int
) -> tuple[Placed, ...]:
    if profile is not None:
        placed = list(account.energy_account(profile, aligning).placed)
    else:
        placed = [channel.placed(zero, half) for channel in training.aligned(aligning).power]
    return tuple(
        placed[row]
        for row in main_log.order(
            [channel.power for channel in placed], _reach(training, zero, profile)
        )
    )


def _reach(training: PlacedTraining, zero: int, profile: Profile | None) -> tuple[int, int]:
    moments = [
        moment
        for epoch in training.epochs
        for moment in (epoch.start, epoch.end)
        if moment is not None
    ]
    if training.scalar_span is not None:
        moments += [Moment(ns) for ns in training.scalar_span]
    ps = [at for moment in moments if (at := _ps(moment, zero)) is not None]
    ps += list(profile.trace.span) if profile is not None else []
    return (min(ps), max(ps)) if len(ps) > 1 and max(ps) > min(ps) else (-(1 << 61), 1 << 61)


def _around(
    training: PlacedTraining,
    zero: int,
    lying: tuple[SessionOnAxis, ...],
    power: tuple[PowerOnTrace, ...],
) -> tuple[int, int]:
    los = [session.start for session in lying if session.start is not None]
    his = [session.end for session in lying if session.end is not None]
    moments = [
        moment
        for session in training.epochs
        for moment in (session.start, session.end)
        if moment is not None
    ]
    if training.scalar_span is not None:
        moments += [Moment(ns) for ns in training.scalar_span]
    ps = [at for moment in moments if (at := _ps(moment, zero)) is not None]
    los, his = los + ps, his + ps
    if los:
        return _with_power((min(los), max(his)), power)
    every = [
        moment
        for session in power
        if len(session.times)
        for moment in (int(session.times[0]), int(session.times[-1]))
    ]
    return (min(every), max(every)) if every else (0, 0)


def _with_power(run: tuple[int, int], power: tuple[PowerOnTrace, ...]) -> tuple[int, int]:
    """A span made longer by the logs that meet it: one that a person placed beside the run does not
    stretch the axis.
    """
    near = [channel for channel in power if meeting.meets(channel, run)]
    return min([run[0], *(int(channel.times[0]) for channel in near)]), max(
        [run[1], *(int(channel.times[-1]) for channel in near)]
    )

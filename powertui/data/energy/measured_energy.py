"""The energy of a window as a person gets it, and of many windows as columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from powertui import units
from powertui.data.energy import sensor as sensors
from powertui.data.energy import settings
from powertui.data.model import (
    PS_PER_S,
    Z95,
    Badge,
    Bools,
    Figure,
    Floats,
    Int64s,
    PowerKind,
    PowerOnTrace,
    worst_badge,
)
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_TOO_SHORT = "is too short"
# Of a square: less than this is left over by rounding where one number is taken from another.
_ROUNDING = 1e-12

if TYPE_CHECKING:
    from powertui.data.energy.curve import Curve

# ── when a window is resolved ──
# Share of a window that must be within the log, because nobody knows the power before and after it.
# Chosen, not measured.
MIN_LOGGED_SHARE = settings.NEARLY_ALL_SHARE
# Share of a window's length that one hole may take. Of several holes the root of the sum of their
# squares counts, so many short ones may take more: the readings between them show what the power
# did. Chosen, not measured.
MAX_HOLE_SHARE = settings.MAJORITY_SHARE
FULL_COVERAGE = 1 - 1e-6  # rounding aside
MIN_REFRESHES = 2.0  # length of a window: a shorter one is not resolved


class JoulesInterval(NamedTuple):
    """Joules that are known, with their 95 % interval."""

    joules: float
    lo: float
    hi: float

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.hi - self.lo) / 2


def joules_interval(
    joules: float | None,
    lo: float | None,
    hi: float | None,
) -> JoulesInterval | None:
    """An energy is known where all three are; None where it is not resolved."""
    if joules is None or lo is None or hi is None:
        return None
    return JoulesInterval(joules, lo, hi)


@dataclass(frozen=True)
class Energy:
    """The energy of one window of one channel.

    `joules` is None when it is not resolved: `reason` says why.
    """

    lo_ps: int
    hi_ps: int
    joules: float | None
    lo: float | None  # 95 % interval with everything in it, the sensor's gain included
    hi: float | None
    gain_j: float | None  # ± of the gain alone, where the sensor's gain is known or assumed
    mean_w: float | None
    max_w: float | None
    covered_joules: float  # of the covered part alone, resolved or not
    coverage: float
    is_filled: bool
    badge: Badge
    resolved: bool
    reason: str
    method: str  # "trapezoid" or "interval"
    other_joules: float | None  # by holding every reading, when that differs by more than 1 %
    sigma_quantum: float
    sigma_sampling: float
    sigma_edges: float
    sigma_timing: float
    idle_joules: float | None = None
    active_joules: float | None = None

    @property
    def interval(self) -> JoulesInterval | None:
        """The joules with their 95 % interval; None when they are not resolved."""
        return joules_interval(self.joules, self.lo, self.hi)

    @property
    def duration_s(self) -> float:
        """Length of the window."""
        return (self.hi_ps - self.lo_ps) / PS_PER_S

    @property
    def sigma(self) -> float:
        """One standard deviation of everything but the gain."""
        return float(
            (
                self.sigma_quantum**2
                + self.sigma_sampling**2
                + self.sigma_edges**2
                + self.sigma_timing**2
            )
            ** 0.5
        )

    @property
    def half(self) -> float:
        """Half of the 95 % interval without the gain: what differs from window to window."""
        return Z95 * self.sigma

    @property
    def is_too_short(self) -> bool:
        """Whether the window is shorter than the sensor resolves, wherever its log is."""
        return not self.resolved and _TOO_SHORT in self.reason

    @property
    def error(self) -> float:
        """The ± that a person reads: the longer side of the interval, without the gain. Of a log
        that may be at several places the interval is longer on one side.
        """
        if self.joules is None or self.lo is None or self.hi is None:
            return self.half
        longer = max(self.hi - self.joules, self.joules - self.lo)
        if not self.gain_j:
            return longer
        without_gain = longer**2 - self.gain_j**2
        if without_gain <= _ROUNDING * longer**2:
            return self.half
        return math.sqrt(without_gain)


@dataclass(frozen=True, eq=False)
class Energies:
    """Many windows of one channel as columns.

    NaN joules where not resolved; `energies[i]` is an `Energy`.
    """

    lo_ps: Int64s
    hi_ps: Int64s
    joules: Floats
    lo: Floats
    hi: Floats
    mean_w: Floats
    max_w: Floats
    covered_joules: Floats
    coverage: Floats
    resolved: Bools
    other_joules: Floats  # NaN where both rules agree
    sigma_quantum: Floats
    sigma_sampling: Floats
    sigma_edges: Floats
    sigma_timing: Floats
    power: PowerOnTrace
    curve: Curve

    def __len__(self) -> int:
        return len(self.joules)

    def rows(self, chosen: Bools) -> Energies:
        """Some of the windows."""
        columns = {
            field.name: getattr(self, field.name)[chosen]
            for field in fields(self)
            if field.name not in ("power", "curve")
        }
        return replace(self, **columns)

    def __iter__(self) -> Iterator[Energy]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> Energy:
        i = range(len(self))[index]
        values = {name: getattr(self, name)[i].item() for name in VALUE_COLUMNS}
        return energy_of_row(
            self.power, self.curve, (int(self.lo_ps[i]), int(self.hi_ps[i])), values
        )


# What is worked out for each window; the other columns say which window, and of which channel.
VALUE_COLUMNS = tuple(
    field.name
    for field in fields(Energies)
    if field.name not in ("lo_ps", "hi_ps", "power", "curve")
)
# Of a channel without a curve: nothing is covered, and nothing can be off. All else is NaN there.
_ZERO_WITHOUT_CURVE = (
    "covered_joules",
    "coverage",
    "sigma_quantum",
    "sigma_sampling",
    "sigma_edges",
    "sigma_timing",
)
# The fields of `Energy` that are joules: a share of a window has its share of each.
JOULE_FIELDS = (
    "joules",
    "lo",
    "hi",
    "gain_j",
    "covered_joules",
    "other_joules",
    "sigma_quantum",
    "sigma_sampling",
    "sigma_edges",
    "sigma_timing",
    "idle_joules",
    "active_joules",
)


def energy_of_row(
    power: PowerOnTrace,
    curve: Curve,
    window: tuple[int, int],
    values: Mapping[str, Any],
) -> Energy:
    """One row of the columns as a person gets it: None where nothing can be said, and why."""
    lo_ps, hi_ps = window
    resolved = values["resolved"]
    coverage = values["coverage"]
    joules = values["joules"]
    is_filled = resolved and coverage < FULL_COVERAGE
    return Energy(
        lo_ps=lo_ps,
        hi_ps=hi_ps,
        joules=joules if resolved else None,
        lo=if_finite(values["lo"], resolved),
        hi=if_finite(values["hi"], resolved),
        gain_j=abs(joules) * curve.gain if resolved and curve.gain is not None else None,
        mean_w=if_finite(values["mean_w"], resolved),
        max_w=if_finite(values["max_w"], coverage > 0),
        covered_joules=values["covered_joules"],
        coverage=coverage,
        is_filled=is_filled,
        badge=_badge(power, is_filled or curve.guessed),
        resolved=resolved,
        reason="" if resolved else _why(power, curve, lo_ps, hi_ps, coverage),
        method="interval" if curve.kind is PowerKind.INTERVAL else "trapezoid",
        other_joules=if_finite(values["other_joules"], resolved),
        sigma_quantum=values["sigma_quantum"],
        sigma_sampling=values["sigma_sampling"],
        sigma_edges=values["sigma_edges"],
        sigma_timing=values["sigma_timing"],
    )


def interval_with_gain(
    joules: float,
    lo: float,
    hi: float,
    gain_j: float | None,
) -> tuple[float, float]:
    """The interval of an energy, widened by the sensor's gain, which is independent of the rest.

    No machine gives energy back: the interval does not go below 0 J.
    """
    gain = gain_j or 0.0
    return (
        max(joules - math.hypot(joules - lo, gain), min(joules, 0.0)),
        joules + math.hypot(hi - joules, gain),
    )


def intervals_with_gain(
    joules: Floats,
    lo: Floats,
    hi: Floats,
    gain: float | Floats,
) -> tuple[Floats, Floats]:
    """The same for columns; `gain` is the share of the energy by which the sensor may be off."""
    gain_j = np.abs(joules) * gain
    return (
        np.maximum(joules - np.hypot(joules - lo, gain_j), np.minimum(joules, 0.0)),
        joules + np.hypot(hi - joules, gain_j),
    )


def unless_lost_in_noise(mean: Energy) -> Energy:
    """The mean energy of a step, or no answer where its interval is wider than the energy."""
    if mean.joules is None or mean.half < mean.joules:
        return mean
    error = units.energy(mean.half, figures=2)
    return without_answer(
        mean, f"not resolved: a step is within the error of the sensor, ± {error} a step"
    )


def without_answer(energy: Energy, reason: str) -> Energy:
    """The energy of the same window without an answer, and why."""
    return replace(
        energy,
        resolved=False,
        reason=reason,
        joules=None,
        lo=None,
        hi=None,
        gain_j=None,
        mean_w=None,
        other_joules=None,
        idle_joules=None,
        active_joules=None,
    )


def _badge(power: PowerOnTrace, is_filled: bool) -> Badge:
    """That of joules of these watts; where a gap was filled they are estimated at best."""
    of_gaps = Badge.ESTIMATED if is_filled else Badge.MEASURED
    return worst_badge((power.badge, of_gaps))


def _why(
    power: PowerOnTrace,
    curve: Curve,
    lo_ps: int,
    hi_ps: int,
    coverage: float,
) -> str:
    duration = (hi_ps - lo_ps) / PS_PER_S
    if power.status == "none":
        return "not resolved: the power log is not aligned with this trace's clock"
    if len(curve.knots) < 2:
        return "not resolved: the log has fewer than two readings"
    if coverage <= 0:
        return "not resolved: nothing was sampled in this window"
    least = curve.resolves_s
    if duration < MIN_REFRESHES * least:
        how = "refreshes every"
        if curve.kind is PowerKind.INTERVAL:
            how = "counts in intervals of"
        elif curve.window_s > curve.refresh_s:
            how = "averages over"
        return (
            f"not resolved: {sensors.seconds(duration)} {_TOO_SHORT}, the sensor {how} "
            f"{sensors.seconds(least)}"
        )
    return _why_not_enough(curve, lo_ps, hi_ps, coverage)


def _why_not_enough(
    curve: Curve,
    lo_ps: int,
    hi_ps: int,
    coverage: float,
) -> str:
    """Why what was sampled of a window is not enough."""
    if coverage >= FULL_COVERAGE:
        return (
            "not resolved: it begins or ends within a pause of the log, and what was "
            "counted meanwhile may belong to either side"
        )
    within = min(hi_ps, int(curve.knots[-1])) - max(lo_ps, int(curve.knots[0]))
    only = f"not resolved: only {units.percent(coverage)} of this window was sampled"
    if within < MIN_LOGGED_SHARE * (hi_ps - lo_ps):
        return only
    from powertui.data.energy import curve as curves

    inside = curves.spot(curve.knots, np.array([lo_ps, hi_ps], np.int64))
    squares = curve.bridged(inside, 2)[2]
    if float(squares[1] - squares[0]) > (MAX_HOLE_SHARE * (hi_ps - lo_ps) / PS_PER_S) ** 2:
        return f"{only}, and what is missing is one gap"
    return (
        f"not resolved: {units.percent(1 - coverage)} of this window was not sampled, and the "
        "power may have changed too much meanwhile"
    )


def if_finite(value: float, is_known: bool = True) -> float | None:
    """The value, or None where it is not known or no finite number."""
    return value if is_known and math.isfinite(value) else None


def unresolved_rows(
    power: PowerOnTrace,
    curve: Curve,
    a: Int64s,
    b: Int64s,
) -> Energies:
    """Windows of a channel that has no curve, or no windows at all."""
    zeros = np.zeros(len(a))
    columns: dict[str, Any] = {field.name: np.full(len(a), np.nan) for field in fields(Energies)}
    columns |= dict.fromkeys(_ZERO_WITHOUT_CURVE, zeros)
    columns |= {"lo_ps": a, "hi_ps": b, "resolved": np.zeros(len(a), np.bool_)}
    columns |= {"power": power, "curve": curve}
    return Energies(**columns)


def unresolved(lo_ps: int, hi_ps: int, reason: str) -> Energy:
    """The energy of a window of which no channel tells anything, and why."""
    return Energy(
        lo_ps=lo_ps,
        hi_ps=hi_ps,
        joules=None,
        lo=None,
        hi=None,
        gain_j=None,
        mean_w=None,
        max_w=None,
        covered_joules=0.0,
        coverage=0.0,
        is_filled=False,
        badge=Badge.MEASURED,
        resolved=False,
        reason=f"not resolved: {reason}",
        method="trapezoid",
        other_joules=None,
        sigma_quantum=0.0,
        sigma_sampling=0.0,
        sigma_edges=0.0,
        sigma_timing=0.0,
    )


def above_idle(measured: Energy, idle: Figure | None) -> Energy:
    """The same energy, split into what an idle machine would have drawn and what came on top."""
    if idle is None or measured.joules is None:
        return measured
    idle_j = idle.value * measured.duration_s
    return replace(
        measured,
        idle_joules=idle_j,
        active_joules=max(measured.joules - idle_j, 0.0),
    )

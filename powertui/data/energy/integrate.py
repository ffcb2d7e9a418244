"""Joules over any window of a trace, with what they are worth.

E = sum of (P_j + P_j+1)/2 * (t_j+1 - t_j), the first and the last piece clipped exactly, holes left out. The budget, one sigma:

    quantisation   q / sqrt(12) * D / sqrt(n_q)      n_q: runs of one value; a constant reading does not average its rounding away
    sampling       T_upd * sqrt(sum dP^2 / 2) * sqrt(1 - w/T_upd)     what happens between two readings of an instantaneous sensor
    edges          0.161 * max(w, T_upd) * jump      a reading that straddles an edge; jump: power one reading earlier against later
    timing         sigma_offset * |P(a) - P(b)|      where the log lies on the trace;  edge_ps adds independent errors of the edges
    gain           kept apart: it does not average away, and cancels in ratios of one sensor

A window shorter than two refreshes is not resolved, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from powertui.data.energy import curve as curves
from powertui.data.energy import placing
from powertui.data.energy import sensor as sensors
from powertui.data.energy.curve import Curve
from powertui.data.model import PS_PER_S, Badge, Bools, Figure, Floats, Int64s, PowerKind, PowerOnTrace, PowerSeries

Z95 = 1.959964
ENOUGH = 0.9  # coverage from which a window is worth a number
WHOLE = 1 - 1e-6
DIFFER = 0.01  # both rules are shown when they differ by more
REFRESHES = 2.0  # a window needs so many to be resolved
_EDGE = 0.1614  # rms of (ramp - step) energy for a step somewhere in one reading, per W of jump and s of reading


@dataclass(frozen=True)
class Energy:
    """The energy of one window of one channel. `joules` is None when it is not resolved: `reason` says why."""

    lo_ps: int
    hi_ps: int
    joules: float | None
    lo: float | None  # 95 % interval, without the gain
    hi: float | None
    gain_j: float | None  # ± systematic, where the sensor's gain is known or assumed
    mean_w: float | None
    max_w: float | None
    covered_joules: float  # of the covered part alone, resolved or not
    coverage: float
    extrapolated: bool
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
    def duration_s(self) -> float:
        """Length of the window."""
        return (self.hi_ps - self.lo_ps) / PS_PER_S

    @property
    def sigma(self) -> float:
        """One standard deviation of everything but the gain."""
        return float((self.sigma_quantum**2 + self.sigma_sampling**2 + self.sigma_edges**2 + self.sigma_timing**2) ** 0.5)


@dataclass(frozen=True, eq=False)
class Energies:
    """Many windows of one channel as columns. NaN joules where not resolved; `energies[i]` is an `Energy`."""

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

    def __iter__(self) -> Iterator[Energy]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> Energy:
        i = range(len(self))[index]
        joules, coverage, resolved = float(self.joules[i]), float(self.coverage[i]), bool(self.resolved[i])
        curve = self.curve
        extrapolated = resolved and coverage < WHOLE
        return Energy(
            lo_ps=int(self.lo_ps[i]),
            hi_ps=int(self.hi_ps[i]),
            joules=joules if resolved else None,
            lo=_some(self.lo[i], resolved),
            hi=_some(self.hi[i], resolved),
            gain_j=abs(joules) * curve.gain if resolved and curve.gain is not None else None,
            mean_w=_some(self.mean_w[i], resolved),
            max_w=_some(self.max_w[i], coverage > 0),
            covered_joules=float(self.covered_joules[i]),
            coverage=coverage,
            extrapolated=extrapolated,
            badge=Badge.ESTIMATED if extrapolated or self.power.status != "aligned" else Badge.MEASURED,
            resolved=resolved,
            reason="" if resolved else self._why(i),
            method="interval" if curve.kind is PowerKind.INTERVAL else "trapezoid",
            other_joules=_some(self.other_joules[i], resolved),
            sigma_quantum=float(self.sigma_quantum[i]),
            sigma_sampling=float(self.sigma_sampling[i]),
            sigma_edges=float(self.sigma_edges[i]),
            sigma_timing=float(self.sigma_timing[i]),
        )

    def _why(self, i: int) -> str:
        curve, coverage = self.curve, float(self.coverage[i])
        duration = float(self.hi_ps[i] - self.lo_ps[i]) / PS_PER_S
        if self.power.status == "none":
            return "not resolved: the power log is not placed on this trace's clock"
        if len(curve.knots) < 2:
            return "not resolved: the log holds fewer than two readings"
        if coverage <= 0:
            return "not resolved: nothing was sampled in this window"
        least = _resolution(curve)
        if duration < REFRESHES * least:
            how = "averages over" if curve.window_s > curve.refresh_s and curve.kind is PowerKind.SAMPLED else (
                "counts in intervals of" if curve.kind is PowerKind.INTERVAL else "refreshes every")  # fmt: skip
            return f"not resolved: {sensors.seconds(duration)} is too short, the sensor {how} {sensors.seconds(least)}"
        return f"not resolved: only {coverage:.0%} of this window was sampled"


def _some(value: np.float64 | float, there: bool) -> float | None:
    return float(value) if there and np.isfinite(value) else None


def _resolution(curve: Curve) -> float:
    """The shortest stretch that the sensor can tell apart, in s: its refresh, or the window it averages over."""
    return max(curve.refresh_s, curve.window_s)


def energies(power: PowerOnTrace, los: Sequence[int] | Int64s, his: Sequence[int] | Int64s, *, edge_ps: float = 0.0) -> Energies:
    """Any number of windows at once. `edge_ps`: one sigma of each edge, where edges err independently of one another."""
    a, b = np.asarray(los, np.int64), np.asarray(his, np.int64)
    curve = curves.of(power)
    seconds = (b - a) / PS_PER_S
    if len(curve.knots) < 2:
        return _nothing(power, curve, a, b)
    count = len(a)
    least = _resolution(curve)
    half = round(least * PS_PER_S / 2)
    energy, covered, level, row = curve.sums(np.concatenate((a, b, a - half, a + half, b - half, b + half)))
    joules, length = energy[count : 2 * count] - energy[:count], covered[count : 2 * count] - covered[:count]
    pa, pb = level[:count], level[count : 2 * count]
    jumps = (level[3 * count : 4 * count] - level[2 * count : 3 * count]) ** 2 + (
        level[5 * count :] - level[4 * count : 5 * count]
    ) ** 2
    ra, rb = row[:count], row[count : 2 * count]
    with np.errstate(divide="ignore", invalid="ignore"):
        coverage = np.where(seconds > 0, np.clip(length / seconds, 0.0, 1.0), 0.0)
        scale = np.where(coverage > 0, 1 / coverage, 1.0)
        mean = np.where(length > 0, joules / length, np.nan)
    share = curve.averaged
    moved = curve.squares[rb + 1] - curve.squares[ra]
    runs = curve.changes[rb] - curve.changes[ra] + 1
    quantum = curve.quantum_w / 12**0.5 * seconds / np.sqrt(runs)
    sampling = curve.refresh_s * np.sqrt(moved / 2 * (1 - share))
    edges = _EDGE * least * np.sqrt(jumps * share)
    offset = (power.offset_hi_ps - power.offset_lo_ps) / (2 * Z95) / PS_PER_S
    edge = edge_ps / PS_PER_S
    timing = np.sqrt((offset * (pa - pb)) ** 2 + edge**2 * (pa**2 + pb**2))
    missing = np.where(coverage < WHOLE, (1 - coverage) * seconds * curve.spread_w, 0.0)
    sigma = np.sqrt(quantum**2 + sampling**2 + edges**2 + timing**2 + missing**2)
    resolved = (coverage >= ENOUGH) & (seconds >= REFRESHES * least) & (power.status != "none")
    total = np.where(resolved, joules * scale, np.nan)
    held = (curve.held(b) - curve.held(a)) * scale
    with np.errstate(invalid="ignore"):
        other = np.where(np.abs(held - total) > DIFFER * np.abs(total), held, np.nan)
    if curve.kind is PowerKind.INTERVAL:
        other = np.full(count, np.nan)
    first, last = curve.knots.searchsorted(a, side="left"), curve.knots.searchsorted(b, side="right")
    peaks = np.array([curve.peak(i, j) for i, j in zip(first.tolist(), last.tolist(), strict=True)]) if count else np.zeros(0)
    inside_a, inside_b = curve.known[ra], curve.known[rb]
    peaks = np.fmax(
        peaks,
        np.fmax(np.where(inside_a & (a >= curve.knots[0]), pa, np.nan), np.where(inside_b & (b <= curve.knots[-1]), pb, np.nan)),
    )
    return Energies(
        lo_ps=a,
        hi_ps=b,
        joules=total,
        lo=total - Z95 * sigma,
        hi=total + Z95 * sigma,
        mean_w=np.where(resolved, mean, np.nan),
        max_w=peaks,
        covered_joules=joules,
        coverage=coverage,
        resolved=resolved,
        other_joules=other,
        sigma_quantum=quantum,
        sigma_sampling=sampling,
        sigma_edges=edges,
        sigma_timing=timing,
        power=power,
        curve=curve,
    )


def _nothing(power: PowerOnTrace, curve: Curve, a: Int64s, b: Int64s) -> Energies:
    unknown, zero = np.full(len(a), np.nan), np.zeros(len(a))
    columns = {field.name: unknown for field in fields(Energies)}
    columns |= dict.fromkeys(("covered_joules", "coverage", "sigma_quantum", "sigma_sampling", "sigma_edges", "sigma_timing"), zero)
    return Energies(**(columns | {"lo_ps": a, "hi_ps": b, "resolved": np.zeros(len(a), np.bool_), "power": power, "curve": curve}))  # type: ignore[arg-type]


def energy(power: PowerOnTrace, lo_ps: int, hi_ps: int, *, edge_ps: float = 0.0, idle: Figure | None = None) -> Energy:
    """One window. With the idle power, the joules above it are told as well."""
    found = energies(power, np.array([lo_ps]), np.array([hi_ps]), edge_ps=edge_ps)[0]
    return above_idle(found, idle)


def above_idle(found: Energy, idle: Figure | None) -> Energy:
    """The same energy, split into what an idle machine would have drawn and what came on top."""
    if idle is None or found.joules is None:
        return found
    rest = idle.value * found.duration_s
    return replace(found, idle_joules=rest, active_joules=found.joules - rest)


def mean_energy(power: PowerOnTrace, los: Sequence[int] | Int64s, his: Sequence[int] | Int64s) -> Energy | None:
    """The mean per window of many that follow one another: the energy of the whole stretch over their number.

    The inner edges cancel, so that the error falls with the number of windows where a mean of single integrals would
    carry every edge. Windows that do not touch are taken as several stretches. None without any window.
    """
    a, b = np.asarray(los, np.int64), np.asarray(his, np.int64)
    if not len(a):
        return None
    order = np.argsort(a, kind="stable")
    a, b = a[order], b[order]
    apart = np.flatnonzero(a[1:] - b[:-1] > np.maximum(1_000_000, (b[:-1] - a[:-1]) // 1000)) + 1
    starts = np.r_[0, apart]
    ends = np.maximum.reduceat(b, starts)
    stretches = energies(power, a[starts], ends)
    if len(starts) == 1:
        whole = stretches[0]
    else:
        whole = _sum(stretches)
    return _share(whole, len(a))


def _sum(parts: Energies) -> Energy:
    """Several stretches as one. The offset is common to all of them; everything else is independent."""
    first = parts[0]
    bad = np.flatnonzero(~parts.resolved)
    worst = parts[int(bad[0])] if len(bad) else first
    seconds = (parts.hi_ps - parts.lo_ps) / PS_PER_S
    joules = float(parts.joules.sum())
    roots = [float(np.sqrt((column**2).sum())) for column in (parts.sigma_quantum, parts.sigma_sampling, parts.sigma_edges)]
    timing = float(parts.sigma_timing.sum())
    sigma = float(np.sqrt(sum(root**2 for root in roots) + timing**2))
    good = not len(bad)
    coverage = float((parts.coverage * seconds).sum() / seconds.sum()) if seconds.sum() else 0.0
    gain = parts.curve.gain
    length = int((parts.hi_ps - parts.lo_ps).sum())
    return replace(
        worst,
        lo_ps=int(parts.lo_ps[0]),
        hi_ps=int(parts.lo_ps[0]) + length,
        joules=joules if good else None,
        lo=joules - Z95 * sigma if good else None,
        hi=joules + Z95 * sigma if good else None,
        gain_j=abs(joules) * gain if good and gain is not None else None,
        mean_w=joules / float(seconds.sum()) if good and length else None,
        max_w=_some(np.fmax.reduce(parts.max_w), True),
        covered_joules=float(parts.covered_joules.sum()),
        coverage=coverage,
        other_joules=None,
        sigma_quantum=roots[0],
        sigma_sampling=roots[1],
        sigma_edges=roots[2],
        sigma_timing=timing,
    )


def _share(whole: Energy, count: int) -> Energy:
    """A total divided by a number. Powers and times stay those of the whole."""
    scaled = {
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
    }
    changes = {}
    for field in fields(whole):
        value = getattr(whole, field.name)
        if field.name in scaled and value is not None:
            changes[field.name] = value / count
    return replace(whole, **changes)


def of_series(series: PowerSeries, *, idle: Figure | None = None) -> Energy:
    """A whole log on its own clock: from its first reading to its last."""
    power = own_clock(series)
    curve = curves.of(power)
    if len(curve.knots) < 2:
        return energy(power, 0, 0)
    return energy(power, int(curve.knots[0]), int(curve.knots[-1]), idle=idle)


def own_clock(series: PowerSeries) -> PowerOnTrace:
    """A log placed on nothing but itself, for answers that need no trace."""
    first = int(series.times[0]) if len(series) else 0
    return placing.on_trace(series, -first * 1000, -first * 1000, -first * 1000, "aligned", "its own clock")


def watts_at(power: PowerOnTrace, times_ps: Int64s) -> Floats:
    """The curve's power at each time; NaN in holes and outside the log."""
    curve = curves.of(power)
    at = np.asarray(times_ps, np.int64)
    if len(curve.knots) < 2:
        return np.full(len(at), np.nan)
    _, _, level, row = curve.sums(at)
    return np.where(curve.known[row] & (at >= curve.knots[0]) & (at <= curve.knots[-1]), level, np.nan)

"""Joules over any window of a trace, with what they are worth.

E = sum of (P_j + P_j+1)/2 * (t_j+1 - t_j), the first and the last piece clipped exactly, holes left
out. What each energy leaves open is in `energy_budget`.

A window shorter than two refreshes is not resolved, and says so, unless it begins and ends with
readings of a counter.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from powertui.data.energy import curve as curves
from powertui.data.energy import curve_building, placing
from powertui.data.energy.curve import Curve
from powertui.data.energy.curve_windows import WindowCache, curve_figures, entries_at
from powertui.data.energy.energy_budget import SensorTraits, energy_columns, sensor_traits
from powertui.data.energy.measured_energy import (
    JOULE_FIELDS,
    VALUE_COLUMNS,
    Energies,
    Energy,
    energy_of_row,
    if_finite,
    interval_with_gain,
    unresolved_rows,
)
from powertui.data.model import (
    PS_PER_NS,
    PS_PER_S,
    Z95,
    Floats,
    Int64s,
    PowerOnTrace,
    PowerSeries,
)

# Windows follow one another where the pause between them is shorter than a thousandth of the one
# before, or than a microsecond.
_TOUCHING_PARTS = 1000
_MIN_TOUCHING_PS = 1_000_000


def energies(
    power: PowerOnTrace,
    los: Sequence[int] | Int64s,
    his: Sequence[int] | Int64s,
    *,
    edge_ps: float = 0.0,
) -> Energies:
    """Any number of windows at once.

    `edge_ps`: one sigma of each edge, where edges err independently of one another.
    """
    begins = np.asarray(los, np.int64)
    stops = np.asarray(his, np.int64)
    curve = curve_building.power_curve(power)
    if len(curve.knots) < 2 or not len(begins):
        return unresolved_rows(power, curve, begins, stops)
    figures = curve_figures([entries_at(curve, begins, stops, {})])
    traits = sensor_traits(power, curve)
    return Energies(
        lo_ps=begins,
        hi_ps=stops,
        power=power,
        curve=curve,
        **energy_columns(figures, traits, begins, stops, edge_ps),
    )


def across(
    powers: Sequence[PowerOnTrace],
    lo_ps: int,
    hi_ps: int,
    *,
    edge_ps: float = 0.0,
) -> list[Energy]:
    """One window of many channels: what `energy` returns for each, at a fraction of the cost."""
    begin = np.array([lo_ps], np.int64)
    stop = np.array([hi_ps], np.int64)
    channels = [(power, curve_building.power_curve(power)) for power in powers]
    usable = [channel for channel in channels if _is_line(channel[1])]
    values = _values_across(usable, begin, stop, edge_ps)
    energies_of_channels = []
    for power, curve in channels:
        if _is_line(curve):
            energy = energy_of_row(power, curve, (lo_ps, hi_ps), next(values))
        else:
            energy = unresolved_rows(power, curve, begin, stop)[0]
        energies_of_channels.append(energy)
    return energies_of_channels


def _is_line(curve: Curve) -> bool:
    """Whether it has two knots at least, between which there is energy."""
    return len(curve.knots) >= 2


def _values_across(
    channels: Sequence[tuple[PowerOnTrace, Curve]],
    begin: Int64s,
    stop: Int64s,
    edge_ps: float,
) -> Iterator[dict[str, Any]]:
    """The figures of one window, channel by channel."""
    if not channels:
        return
    windows: WindowCache = {}
    looks = [entries_at(curve, begin, stop, windows) for _, curve in channels]
    traits_by_channel = [sensor_traits(power, curve) for power, curve in channels]
    traits_columns = zip(*traits_by_channel, strict=True)
    traits = SensorTraits(*(np.array(column) for column in traits_columns))
    columns = energy_columns(
        curve_figures(looks),
        traits,
        begin.repeat(len(channels)),
        stop.repeat(len(channels)),
        edge_ps,
    )
    lists = [columns[name].tolist() for name in VALUE_COLUMNS]
    for row in zip(*lists, strict=True):
        yield dict(zip(VALUE_COLUMNS, row, strict=True))


def energy(
    power: PowerOnTrace,
    lo_ps: int,
    hi_ps: int,
    *,
    edge_ps: float = 0.0,
) -> Energy:
    """One window."""
    return energies(power, np.array([lo_ps]), np.array([hi_ps]), edge_ps=edge_ps)[0]


def mean_energy(
    power: PowerOnTrace,
    los: Sequence[int] | Int64s,
    his: Sequence[int] | Int64s,
) -> Energy | None:
    """The mean per window of many that follow one another: the energy of the whole stretch over
    their number.

    The inner edges cancel, so that the error falls with the number of windows where a mean of
    single integrals would carry every edge. Windows that do not touch are taken as several
    stretches; of these count those that the sensor resolves. None without any window.
    """
    begins = np.asarray(los, np.int64)
    stops = np.asarray(his, np.int64)
    if not len(begins):
        return None
    order = np.argsort(begins, kind="stable")
    begins = begins[order]
    stops = stops[order]
    length = stops[:-1] - begins[:-1]
    pause_ps = begins[1:] - stops[:-1]
    is_apart = pause_ps > np.maximum(_MIN_TOUCHING_PS, length // _TOUCHING_PARTS)
    starts = np.r_[0, np.flatnonzero(is_apart) + 1]
    ends = np.maximum.reduceat(stops, starts)
    counts = np.diff(np.append(starts, len(begins)))
    stretches = energies(power, begins[starts], ends)
    if not stretches.resolved.any():
        # Each pause is short beside its neighbors: over all of it there may be an answer.
        stretches = energies(power, begins[:1], ends[-1:])
        counts = np.array([len(begins)])
    if stretches.resolved.any():
        counts = counts[stretches.resolved]
        stretches = stretches.rows(stretches.resolved)
    if len(stretches) == 1:
        total = stretches[0]
    else:
        total = _sum(stretches)
    return _share(total, int(counts.sum()))


def _sum(parts: Energies) -> Energy:
    """Several stretches as one.

    The offset is common to all of them; everything else is independent.
    """
    length_ps = parts.hi_ps - parts.lo_ps
    seconds = length_ps / PS_PER_S
    total_s = float(seconds.sum())
    sigma_quantum = _root_of_squares(parts.sigma_quantum)
    sigma_sampling = _root_of_squares(parts.sigma_sampling)
    sigma_edges = _root_of_squares(parts.sigma_edges)
    sigma_timing = float(parts.sigma_timing.sum())
    first = int(parts.lo_ps[0])
    covered_s = float((parts.coverage * seconds).sum())
    unresolved = np.flatnonzero(~parts.resolved)
    # Where any stretch was filled the least covered one was, and its badge is that of the sum.
    least_covered = int(parts.coverage.argmin())
    summed = replace(
        parts[int(unresolved[0])] if len(unresolved) else parts[least_covered],
        lo_ps=first,
        hi_ps=first + int(length_ps.sum()),
        joules=None,
        lo=None,
        hi=None,
        gain_j=None,
        mean_w=None,
        max_w=if_finite(float(np.fmax.reduce(parts.max_w))),
        covered_joules=float(parts.covered_joules.sum()),
        coverage=covered_s / total_s if total_s else 0.0,
        other_joules=None,
        sigma_quantum=sigma_quantum,
        sigma_sampling=sigma_sampling,
        sigma_edges=sigma_edges,
        sigma_timing=sigma_timing,
    )
    if len(unresolved):
        return summed
    joules = float(parts.joules.sum())
    squares = sigma_quantum**2 + sigma_sampling**2 + sigma_edges**2
    half = Z95 * float(np.sqrt(squares + sigma_timing**2))
    gain = parts.curve.gain
    gain_j = abs(joules) * gain if gain is not None else None
    lo, hi = interval_with_gain(joules, joules - half, joules + half, gain_j)
    mean_w = joules / total_s if total_s else None
    return replace(summed, joules=joules, lo=lo, hi=hi, gain_j=gain_j, mean_w=mean_w)


def _root_of_squares(column: Floats) -> float:
    return float(np.sqrt((column**2).sum()))


def _share(total: Energy, count: int) -> Energy:
    """A total divided by a number. Powers and times stay those of the whole."""
    shares = {}
    for name in JOULE_FIELDS:
        value = getattr(total, name)
        if value is not None:
            shares[name] = value / count
    return replace(total, **shares)


_energies_of_logs: weakref.WeakKeyDictionary[PowerSeries, Energy] = weakref.WeakKeyDictionary()


def of_series(series: PowerSeries) -> Energy:
    """A whole log on its own clock, from its first reading to its last; worked out once."""
    of_log = _energies_of_logs.get(series)
    if of_log is None:
        power = own_clock(series)
        lo_ps, hi_ps = reach(power) or (0, 0)
        of_log = _energies_of_logs[series] = energy(power, lo_ps, hi_ps)
    return of_log


def reach(power: PowerOnTrace) -> tuple[int, int] | None:
    """From when to when its readings tell: from the middle of what the first one is the mean of to
    that of the last.
    """
    knots = curve_building.power_curve(power).knots
    if len(knots) > 1:
        return (int(knots[0]), int(knots[-1]))
    return None


def own_clock(series: PowerSeries) -> PowerOnTrace:
    """A log placed on nothing but itself, for answers that need no trace."""
    first_ns = int(series.times[0]) if len(series) else 0
    offset_ps = -first_ns * PS_PER_NS
    return placing.on_trace(
        series=series,
        offset_ps=offset_ps,
        lo_ps=offset_ps,
        hi_ps=offset_ps,
        status="aligned",
        source="its own clock",
    )


def upto(power: PowerOnTrace, times_ps: Int64s) -> tuple[Floats, Floats]:
    """(J, s of knowledge) from the first reading to each time."""
    curve = curve_building.power_curve(power)
    if len(curve.knots) < 2:
        return np.zeros(len(times_ps)), np.zeros(len(times_ps))
    values = curves.place(curve.read(curves.spot(curve.knots, times_ps)))
    return values.energy, values.covered


def watts_at(power: PowerOnTrace, times_ps: Int64s) -> Floats:
    """The curve's power at each time; NaN in holes and outside the log."""
    curve = curve_building.power_curve(power)
    at = np.asarray(times_ps, np.int64)
    if len(curve.knots) < 2:
        return np.full(len(at), np.nan)
    entries = curve.read(curves.spot(curve.knots, at))
    is_within = entries.inside == at
    return np.where(entries.known & is_within, curves.place(entries).watts, np.nan)

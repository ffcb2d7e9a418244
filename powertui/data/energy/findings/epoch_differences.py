"""The second witness: an epoch against the others, step by step.

Power is held against them by the sensor's own readings: each is expected to show what the same
steps of the other epochs drew, over the same parts of them. Lengths of steps are compared step by
step. First steps that traced, and what lies around an epoch's steps, are not compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui.data.energy import fold as folding
from powertui.data.energy import integrate, placing, samples, scan
from powertui.data.energy.findings import neighbours, stretch_search
from powertui.data.energy.findings.finding_rules import MIN_STRETCH_SHARE
from powertui.data.energy.findings.power_stretch import Box, same_load
from powertui.data.energy.findings.readings import SensorReadings, covered_share
from powertui.data.energy.findings.unexplained import LEAST_WEIGHT, SURE_WEIGHT
from powertui.data.energy.fold import Folded
from powertui.data.energy.scan import ScannedStretch
from powertui.data.model import PS_PER_S, Bools, Epochs, Floats, PowerOnTrace, Steps


class Unlike(NamedTuple):
    """A stretch of one epoch (a line of `folded`) that drew more or less than the same steps of the
    others.
    """

    line: int
    box: Box


class Slower(NamedTuple):
    """Columns of one epoch whose steps took longer than in the others."""

    line: int
    stretch: ScannedStretch


def power(folded: Folded, on_trace: PowerOnTrace) -> list[Unlike]:
    """Stretches of every epoch, at the likeliest place of the log."""
    data = samples.power_samples(on_trace.series)
    offset = on_trace.offset_ps / PS_PER_S
    lo, hi = data.lo + offset, data.hi + offset
    stretches: list[Unlike] = []
    levels = [_level(folded, line) for line in range(len(folded.epochs))]
    for line in range(len(folded.epochs)):
        inside = _comparable(folded, line, lo, hi) & np.isfinite(data.watts)
        rows = np.flatnonzero(inside)
        if len(rows) < stretch_search.MIN_READINGS:
            continue
        usual, doubt, apart = _elsewhere(folded, line, lo[rows], hi[rows], on_trace)
        comparable = np.isfinite(usual)
        readings = SensorReadings(
            lo[rows],
            hi[rows],
            data.watts[rows],
            usual,
            usual,
            np.hypot(doubt, apart),
            comparable,
            data.quantum,
            apart[None],
        )
        for box in stretch_search.find_stretches(readings, looks=len(folded.epochs))[0]:
            mine = covered_share(readings, box.start, box.end) > 0.5
            # With two epochs a difference shows in both, once up and once down: the one that leaves
            # its own level has it.
            if len(folded.epochs) > 2 or _away(readings.watts[mine], levels[line]) >= _away(
                usual[mine], levels[1 - line]
            ):
                stretches.append(Unlike(line, box))
    return stretches


def at_nearly_all_places(
    stretches: Sequence[Unlike], steps: Steps, epochs: Epochs, on_trace: PowerOnTrace
) -> list[Unlike]:
    """Those of the likeliest place that stand out at nearly all places where the log may lie.

    Each has its own steps beside it.
    """
    every = zip(on_trace.places, placing.everywhere(on_trace), strict=bool(on_trace.places))
    places = [(place.weight, on_place) for place, on_place in every if place.weight >= LEAST_WEIGHT]
    if not stretches or len(places) < 2:
        return list(stretches)
    weight = [0.0] * len(stretches)
    for share, on_place in places:
        folded = folding.fold(steps, epochs, on_place)
        there = power(folded, on_place) if not isinstance(folded, str) else []
        by = (
            on_trace.offset_ps - on_place.offset_ps
        ) / PS_PER_S  # what stands in the log at one moment
        for row, (_, box) in enumerate(stretches):
            if any(same_load(box, there_box.moved(by)) for _, there_box in there):
                weight[row] += share
    total = sum(share for share, _ in places)
    return [
        unlike for unlike, its in zip(stretches, weight, strict=True) if its >= SURE_WEIGHT * total
    ]


def time(folded: Folded, rng: np.random.Generator) -> list[Slower]:
    """Steps that took longer than the same steps elsewhere."""
    slower = []
    usual = folding.median(folded.seconds)
    for line in range(len(folded.epochs)):
        good = np.isfinite(folded.seconds) & ~folded.tracing
        difference = folded.seconds[line] - others(folded.seconds, good, line)
        usable = good[line] & np.isfinite(difference)
        usable[-1:] = False  # no next step: its end is its own
        for stretch in scan.stretches(
            difference, usable, 1, 1, 0.01 * usual, len(folded.epochs), rng
        ):
            if stretch.mean > MIN_STRETCH_SHARE * usual and neighbours.sure(
                stretch, len(folded.epochs)
            ):
                slower.append(Slower(line, stretch))
    return slower


def others(values: Floats, good: Bools, line: int) -> Floats:
    """Median of all other epochs at every step; NaN where none has it."""
    rest = np.where(good, values, np.nan)
    rest[line] = np.nan
    return folding.medians(rest)


def _away(watts: Floats, level: float) -> float:
    return abs(float(np.median(watts)) - level) if len(watts) else 0.0


def _level(folded: Folded, line: int) -> float:
    return folding.median(np.where(folded.comparable[line], folded.watts[line], np.nan))


def _course(folded: Folded, line: int) -> tuple[Floats, Floats]:
    """Moments (s) of an epoch, and where in its steps they lie: column and part of it."""
    have = np.flatnonzero(folded.start[line] >= 0)
    at = np.concatenate([folded.start[line, have], folded.end[line, have[-1:]]]) / PS_PER_S
    return at, np.concatenate([have.astype(np.float64), have[-1:] + 1.0])


def _comparable(folded: Folded, line: int, lo: Floats, hi: Floats) -> Bools:
    """The windows all of whose steps may be compared."""
    have = np.flatnonzero(folded.start[line] >= 0)
    if not len(have):
        return np.zeros(len(lo), np.bool_)
    start, end = folded.start[line, have] / PS_PER_S, folded.end[line, have] / PS_PER_S
    bad = np.concatenate([[0], np.cumsum(folded.tracing[line, have])])
    first = np.searchsorted(end, lo, side="right")
    last = np.searchsorted(start, hi, side="left")
    good = (lo >= start[0]) & (hi <= end[-1]) & (last > first)
    return np.asarray(
        good & (bad[np.minimum(last, len(have))] == bad[np.minimum(first, len(have))])
    )


def _elsewhere(
    folded: Folded, line: int, lo: Floats, hi: Floats, on_trace: PowerOnTrace
) -> tuple[Floats, Floats, Floats]:
    """What the same parts of the same steps drew in the other epochs, one sigma of that, and where
    there are two others, half of what these differ by: which of them is as usual nobody knows.
    """
    at, course = _course(folded, line)
    first, last = np.interp(lo, at, course), np.interp(hi, at, course)
    usual_watts, moved = [], []
    for other_line in range(len(folded.epochs)):
        if other_line == line or not (folded.start[other_line] >= 0).any():
            continue
        there, columns = _course(folded, other_line)
        begin, end = np.interp(first, columns, there), np.interp(last, columns, there)
        good = (
            _comparable(folded, other_line, begin, end)
            & (first >= columns[0])
            & (last <= columns[-1])
            & (end > begin)
        )
        usual_watts.append(np.where(good, _mean(on_trace, begin, end), np.nan))
        half = (end - begin) / 2
        sides = [_mean(on_trace, begin + by * half, end + by * half) for by in (-1, 1)]
        moved.append(np.where(good, np.abs(sides[1] - sides[0]) / 2, np.nan))
    if not usual_watts:
        return np.full(len(lo), np.nan), np.full(len(lo), np.nan), np.zeros(len(lo))
    usual, reach = folding.medians(np.array(usual_watts)), folding.medians(np.array(moved))
    count = np.isfinite(np.array(usual_watts)).sum(axis=0)
    spread = 1.4826 * folding.medians(np.abs(np.array(usual_watts) - usual))
    doubt = np.where(count > 2, spread / np.sqrt(np.maximum(count, 1)), 0.0)
    apart = (
        np.nan_to_num(usual_watts[0] - usual_watts[1]) / 2
        if len(usual_watts) == 2
        else np.zeros(len(lo))
    )
    return usual, np.asarray(np.sqrt(doubt**2 + np.nan_to_num(reach) ** 2 / 4)), apart


def _mean(on_trace: PowerOnTrace, lo: Floats, hi: Floats) -> Floats:
    begin, end = (np.round(x * PS_PER_S).astype(np.int64) for x in (lo, np.maximum(hi, lo + 1e-9)))
    energies = integrate.energies(on_trace, begin, end)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            energies.coverage >= 0.5,
            energies.covered_joules / (energies.coverage * (end - begin) / PS_PER_S),
            np.nan,
        )

"""The second witness: an epoch against the others, step by step.

Power is held against them by the sensor's own readings: each is expected to show what the same
steps of the other epochs drew, over the same parts of them. Lengths of steps are compared step by
step. First steps that traced, and what lies around an epoch's steps, are not compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.energy import fold as folding
from powertui.data.energy import integrate, placing, samples, scan, settings
from powertui.data.energy.findings import neighbours, stretch_search
from powertui.data.energy.findings.finding_rules import MIN_STRETCH_SHARE
from powertui.data.energy.findings.placed_search import MIN_PLACE_WEIGHT, MIN_SURE_WEIGHT
from powertui.data.energy.findings.power_stretch import Box, same_load
from powertui.data.energy.findings.readings import SensorReadings, covered_share
from powertui.data.energy.fold import Folded
from powertui.data.energy.robust_stats import MEDIAN_TO_SIGMA
from powertui.data.energy.scan import ScannedStretch
from powertui.data.model import PS_PER_S, Bools, Epochs, Floats, PowerOnTrace, Steps
from powertui.named_tuples import NamedTuple


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
    lo = data.lo + offset
    hi = data.hi + offset
    stretches: list[Unlike] = []
    epoch_count = len(folded.epochs)
    levels = [_level(folded, line) for line in range(epoch_count)]
    for line in range(epoch_count):
        inside = _comparable(folded, line, lo, hi) & np.isfinite(data.watts)
        rows = np.flatnonzero(inside)
        if len(rows) < stretch_search.MIN_READINGS:
            continue
        elsewhere = _elsewhere(
            folded=folded, line=line, lo=lo[rows], hi=hi[rows], on_trace=on_trace
        )
        readings = SensorReadings(
            lo=lo[rows],
            hi=hi[rows],
            watts=data.watts[rows],
            floor=elsewhere.watts,
            ceiling=elsewhere.watts,
            doubt=np.hypot(elsewhere.doubt, elsewhere.apart),
            judged=np.isfinite(elsewhere.watts),
            quantum=data.quantum,
            ways=elsewhere.apart[None],
        )
        boxes, _ = stretch_search.find_stretches(readings, looks=epoch_count)
        for box in boxes:
            # With two epochs a difference shows in both, once up and once down: the one that leaves
            # its own level has it.
            if epoch_count == 2:
                inside_box = covered_share(readings, box.start, box.end) > 0.5
                here_w = _away(readings.watts[inside_box], levels[line])
                there_w = _away(elsewhere.watts[inside_box], levels[1 - line])
                if here_w < there_w:
                    continue
            stretches.append(Unlike(line, box))
    return stretches


def at_nearly_all_places(
    stretches: Sequence[Unlike], steps: Steps, epochs: Epochs, on_trace: PowerOnTrace
) -> list[Unlike]:
    """Those of the likeliest place that stand out at nearly all places where the log may be.

    Each has its own steps beside it.
    """
    every = zip(on_trace.places, placing.everywhere(on_trace), strict=bool(on_trace.places))
    places = [
        (place.weight, on_place) for place, on_place in every if place.weight >= MIN_PLACE_WEIGHT
    ]
    if not stretches or len(places) < 2:
        return list(stretches)
    weights = [0.0] * len(stretches)
    for place_weight, on_place in places:
        folded = folding.fold(steps, epochs, on_place)
        if isinstance(folded, str):
            continue
        # Boxes are compared by where they are in the log, whatever its place.
        shift_s = (on_trace.offset_ps - on_place.offset_ps) / PS_PER_S
        boxes_here = [unlike.box.moved(shift_s) for unlike in power(folded, on_place)]
        for row, (_, box) in enumerate(stretches):
            if any(same_load(box, box_here) for box_here in boxes_here):
                weights[row] += place_weight
    needed = MIN_SURE_WEIGHT * sum(weight for weight, _ in places)
    return [unlike for unlike, weight in zip(stretches, weights, strict=True) if weight >= needed]


def time(folded: Folded, rng: np.random.Generator) -> list[Slower]:
    """Steps that took longer than the same steps elsewhere."""
    slower = []
    epoch_count = len(folded.epochs)
    usual = folding.median(folded.seconds)
    good = np.isfinite(folded.seconds) & ~folded.tracing
    for line in range(epoch_count):
        difference = folded.seconds[line] - others(folded.seconds, good, line)
        usable = good[line] & np.isfinite(difference)
        usable[-1:] = False  # no next step: its end is its own
        for stretch in scan.stretches(
            difference=difference,
            usable=usable,
            block=1,
            least=1,
            floor=settings.NEGLIGIBLE_SHARE * usual,
            looks=epoch_count,
            rng=rng,
        ):
            is_long = stretch.mean > MIN_STRETCH_SHARE * usual
            if is_long and neighbours.sure(stretch, epoch_count):
                slower.append(Slower(line, stretch))
    return slower


def others(values: Floats, good: Bools, line: int) -> Floats:
    """Median of all other epochs at every step; NaN where none has it."""
    rest = np.where(good, values, np.nan)
    rest[line] = np.nan
    return folding.medians(rest)


def _away(watts: Floats, level: float) -> float:
    if not len(watts):
        return 0.0
    return abs(float(np.median(watts)) - level)


def _level(folded: Folded, line: int) -> float:
    watts = np.where(folded.comparable[line], folded.watts[line], np.nan)
    return folding.median(watts)


def _course(folded: Folded, line: int) -> tuple[Floats, Floats]:
    """Moments (s) of an epoch, and where in its steps they are: column and part of it."""
    present = np.flatnonzero(folded.start[line] >= 0)
    last = present[-1:]
    moments = np.concatenate([folded.start[line, present], folded.end[line, last]]) / PS_PER_S
    columns = np.concatenate([present.astype(np.float64), last + 1.0])
    return moments, columns


def _comparable(folded: Folded, line: int, lo: Floats, hi: Floats) -> Bools:
    """The windows all of whose steps may be compared."""
    steps = np.flatnonzero(folded.start[line] >= 0)
    if not len(steps):
        return np.zeros(len(lo), np.bool_)
    start = folded.start[line, steps] / PS_PER_S
    end = folded.end[line, steps] / PS_PER_S
    first = np.searchsorted(end, lo, side="right")
    last = np.searchsorted(start, hi, side="left")
    in_epoch = (lo >= start[0]) & (hi <= end[-1])
    has_steps = last > first
    tracing_before = np.concatenate([[0], np.cumsum(folded.tracing[line, steps])])
    traces_a_step = tracing_before[last] != tracing_before[first]
    return np.asarray(in_epoch & has_steps & ~traces_a_step)


class _Elsewhere(NamedTuple):
    """What the same parts of the same steps drew in the other epochs."""

    watts: Floats
    doubt: Floats  # one sigma of that
    # Where there are two others, half of what these differ by: which of them is as usual nobody
    # knows.
    apart: Floats


def _elsewhere(
    folded: Folded, line: int, lo: Floats, hi: Floats, on_trace: PowerOnTrace
) -> _Elsewhere:
    """What the steps of these windows drew in the other epochs."""
    moments, columns = _course(folded, line)
    first = np.interp(lo, moments, columns)
    last = np.interp(hi, moments, columns)
    watts_by_epoch = []
    slopes = []
    for another in range(len(folded.epochs)):
        if another == line or not (folded.start[another] >= 0).any():
            continue
        watts_there, slope_there = _same_steps(folded, another, first, last, on_trace)
        watts_by_epoch.append(watts_there)
        slopes.append(slope_there)
    if not watts_by_epoch:
        unknown = np.full(len(lo), np.nan)
        return _Elsewhere(watts=unknown, doubt=unknown, apart=np.zeros(len(lo)))
    watts = np.array(watts_by_epoch)
    usual = folding.medians(watts)
    slope = np.nan_to_num(folding.medians(np.array(slopes)))
    count = np.isfinite(watts).sum(axis=0)
    spread = MEDIAN_TO_SIGMA * folding.medians(np.abs(watts - usual))
    error = np.where(count > 2, spread / np.sqrt(np.maximum(count, 1)), 0.0)
    # What a shift by a quarter of a window would change is open, too. Chosen, not measured.
    doubt = np.asarray(np.sqrt(error**2 + slope**2 / 4))
    apart = np.zeros(len(lo))
    if len(watts) == 2:
        apart = np.nan_to_num(watts[0] - watts[1]) / 2
    return _Elsewhere(watts=usual, doubt=doubt, apart=apart)


def _same_steps(
    folded: Folded, line: int, first: Floats, last: Floats, on_trace: PowerOnTrace
) -> tuple[Floats, Floats]:
    """(W of an epoch from one place in its steps to another, by how much it changes there).

    NaN where these steps cannot be compared.
    """
    moments, columns = _course(folded, line)
    begin = np.interp(first, columns, moments)
    end = np.interp(last, columns, moments)
    in_epoch = (first >= columns[0]) & (last <= columns[-1]) & (end > begin)
    good = _comparable(folded, line, begin, end) & in_epoch
    watts = np.where(good, _mean(on_trace, begin, end), np.nan)
    half = (end - begin) / 2
    earlier = _mean(on_trace, begin - half, end - half)
    later = _mean(on_trace, begin + half, end + half)
    slope = np.where(good, np.abs(later - earlier) / 2, np.nan)
    return watts, slope


def _mean(on_trace: PowerOnTrace, lo: Floats, hi: Floats) -> Floats:
    """Watts over each of these windows (s); NaN where less than half of one is covered."""
    begin = np.round(lo * PS_PER_S).astype(np.int64)
    end = np.round(np.maximum(hi, lo + 1e-9) * PS_PER_S).astype(np.int64)
    energies = integrate.energies(on_trace, begin, end)
    with np.errstate(divide="ignore", invalid="ignore"):
        covered_s = energies.coverage * (end - begin) / PS_PER_S
        watts = energies.covered_joules / covered_s
        return np.where(energies.coverage >= 0.5, watts, np.nan)

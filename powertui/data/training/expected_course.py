"""What a sensor should have read of a training, by what its records say it did: steps, pauses,
validation; and by its other epochs.

Each kind has watts of its own, fitted robustly to the readings of the whole training: a burst in
one epoch hardly moves them. Where the epochs are all that is known, a reading is held against the
same share of the other epochs. What is not known is doubt: where between two records steps began,
how alike pauses are, where the log lies.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy.findings.noise import calm, spread
from powertui.data.energy.findings.reading_windows import WindowPrior
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.energy.samples import Samples
from powertui.data.model import NS_PER_S, Bools, Floats
from powertui.data.training.epoch_course import epoch_course, usual_length
from powertui.data.training.epoch_ends import EpochEnds, epoch_ends
from powertui.data.training.stretches import KINDS, PAUSE, STARTING, VALIDATION, Stretches
from powertui.value_types import dataclass

# Readings that a level needs. This and the others here are chosen, not measured, but for Tukey's
# constant.
_MIN_READINGS = 5
# Of a window in the training: then it is judged.
_MIN_INSIDE_SHARE = 0.98
# Tukey's constant: residuals farther off than this many deviations count nothing.
_TUKEY_CUT = 4.685
# Rounds of the robust fit, the first of which look at the closest readings alone.
_MAX_FIT_ROUNDS = 30
_MODE_ROUNDS = 8
# So many readings of one level are enough to begin with; normal ones are within so many deviations.
_MODE_SHARE = 0.25
_MODE_DEVIATIONS = 0.3186
# Percentiles of the readings that a fit begins with as well.
_START_PERCENTILES = (25, 40, 50, 60, 75)
# Stretches of a kind: of fewer no median can be told.
_MIN_STRETCHES = 4
# Kinds of which one stretch may draw more than another.
_LOOSE_KINDS = (VALIDATION, PAUSE, STARTING)
# What is around the ends of epochs, where nothing but the readings tells.
_ENDS = "ends of epochs"
# Of the swing: what a kind that was hardly seen may draw more or less.
_UNLIKE_SHARE = 0.5
# Of the swing: how well the level of a kind is known at best.
_MIN_LEVEL_ERROR = 0.01
# Starting is over when so many readings, and readings of so many seconds, are at the level.
_SETTLED_READINGS = 3
_SETTLED_S = 2.0
# Readings that are worked on at once: their windows take many columns each.
_CHUNK_READINGS = 1 << 16
_DRIFT_S = 600.0  # warmth and fans: a level is that of so long around it


@dataclass(frozen=True, eq=False)
class KnownCourse:
    """What is known of a training's course, on the axis of the readings (s)."""

    stretches: Stretches
    zero_ns: int
    epochs: tuple[tuple[float, float], ...]  # with both bounds
    by_steps: bool  # records tell steps from pauses
    islands: tuple[tuple[float, float], ...]  # where a trace explains, and not this


@dataclass(frozen=True, eq=False)
class ExpectedOfTraining:
    """Readings with what is explained of them, the watts of each kind, or why nothing can
    be told.
    """

    readings: SensorReadings
    watts: tuple[tuple[str, float], ...]
    reason: str = ""


def expected_course(data: Samples, course: KnownCourse, unsure: WindowPrior) -> ExpectedOfTraining:
    """Every reading; `data` lies on the axis already, and `unsure` tells how well its windows are
    known.
    """
    shares = _shares(data.lo, data.hi, course)
    good = np.isfinite(data.watts) & (data.watts > 0)
    inside = shares.sum(axis=1)
    judged = (
        good
        & (inside >= _MIN_INSIDE_SHARE)
        & (shares[:, KINDS.index(STARTING)] < 1 - _MIN_INSIDE_SHARE)
        & ~_covered(data, course.islands)
    )
    flat = np.zeros(len(data))
    nothing = SensorReadings(
        data.lo, data.hi, data.watts, flat, flat, flat, np.zeros(len(data), np.bool_), data.quantum
    )
    if judged.sum() < _MIN_READINGS:
        return ExpectedOfTraining(
            nothing,
            (),
            f"too few readings of the power log are in the training ({int(judged.sum())})",
        )
    if not course.by_steps and len(course.epochs) < 2:
        return ExpectedOfTraining(
            nothing,
            (),
            "one epoch, and no records within it: there is nothing to compare its power with",
        )
    kinds = [kind for kind in KINDS if shares[judged, KINDS.index(kind)].sum() > 0.5]
    columns = shares[:, [KINDS.index(kind) for kind in kinds]]
    low = float(np.percentile(data.watts[good], 3))
    ends = None if course.by_steps else _ends(data, judged, course, low)
    if ends is not None:
        share = ends.share(data.lo, data.hi, course.epochs)
        kinds = [*kinds, _ENDS]
        columns = np.column_stack([*(columns * (1 - share)[:, None]).T, share])
    watts = _fitted(columns[judged], data.watts[judged], low, data.quantum)
    expected = columns @ watts
    swing = max(float(np.percentile(data.watts[judged], 90)) - low, 0.02 * low, data.quantum)
    by_records = kinds[: len(kinds) - (ends is not None)]
    level = watts[: len(by_records)]
    doubt = np.hypot(
        _doubt(data, course, by_records, level, shares, unsure, swing),
        _windows(data, course, by_records, level, unsure),
    )
    if ends is not None:
        unlike = ends.unsure(data.lo, data.hi, course.epochs)
        doubt = np.hypot(doubt, unlike * abs(float(watts[-1] - watts[0])))
    residual = np.where(good, data.watts - expected, 0.0)
    # Where nothing within an epoch is known, what is slower than two of them is drift, and all else
    # their course.
    turn = 0.0 if course.by_steps else 2 * float(np.median([hi - lo for lo, hi in course.epochs]))
    drift = _drift(data, residual, judged, turn)
    floor = ceiling = expected + drift
    if not course.by_steps:
        doubt = np.hypot(
            doubt, _UNLIKE_SHARE * swing * _starting_share(data, residual, course.epochs)
        )
    if len(course.epochs) >= 2:
        others = epoch_course(data, residual - drift, judged, course.epochs)
        floor, ceiling = expected + drift + others.least, expected + drift + others.most
        doubt = np.hypot(doubt, others.doubt)
    floor = np.where(judged, floor, low)
    ceiling = np.where(judged, ceiling, np.inf)
    doubt = np.where(judged, doubt, 0.25 * swing)
    readings = SensorReadings(
        data.lo,
        data.hi,
        np.where(good, data.watts, np.nan),
        floor,
        ceiling,
        doubt,
        judged,
        data.quantum,
    )
    return ExpectedOfTraining(readings, tuple(zip(kinds, watts.tolist(), strict=True)))


def _ends(data: Samples, judged: Bools, course: KnownCourse, low: float) -> EpochEnds | None:
    """For how long around its end an epoch does not train, as the readings tell."""
    watts = data.watts[judged]

    def fit(share: Floats) -> Floats:
        columns = np.column_stack([1 - share, share]) if share.any() else np.ones((len(watts), 1))
        return np.asarray(watts - columns @ _fitted(columns, watts, low, data.quantum))

    return epoch_ends(data, judged, course.epochs, usual_length(course.epochs), fit)


def _shares(lo: Floats, hi: Floats, course: KnownCourse) -> Floats:
    """[windows, kinds]: the share of each window (s) that each kind fills."""
    out = np.empty((len(lo), len(KINDS)))
    for first in range(0, len(lo), _CHUNK_READINGS):
        rows = slice(first, first + _CHUNK_READINGS)
        lo_ns, hi_ns = (
            course.zero_ns + np.round(side[rows] * NS_PER_S).astype(np.int64) for side in (lo, hi)
        )
        out[rows] = course.stretches.shares(lo_ns, hi_ns)
    return out


def _covered(data: Samples, islands: tuple[tuple[float, float], ...]) -> Bools:
    """Windows that lie wholly in an island: there the trace tells more."""
    out = np.zeros(len(data), np.bool_)
    for lo, hi in islands:
        out |= (data.lo >= lo) & (data.hi <= hi)
    return out


def _fitted(columns: Floats, watts: Floats, low: float, quantum: float) -> Floats:
    """Watts of each kind: robustly, and none far below the least that the machine ever drew."""
    usual_w = float(np.median(watts))
    floor = max(quantum / 12**0.5, 1e-3 * abs(usual_w), 1e-9)
    scale = max(float(np.median(np.abs(watts - usual_w))) * 1.4826, floor)
    level = np.full(columns.shape[1], usual_w)
    pure = columns.max(axis=1) > 0.9
    mixed = False
    for kind in range(
        columns.shape[1]
    ):  # begin with the medians of windows that hold one kind alone
        rows = pure & (columns.argmax(axis=1) == kind)
        if rows.sum() >= 3:
            level[kind] = float(np.median(watts[rows]))
        else:
            mixed = True
    if mixed:
        level = _least_absolute(columns, watts, scale)
    starts = [level]
    starts += [level + high - level[0] for high in np.percentile(watts, _START_PERCENTILES)]
    tried = [_refined(columns, watts, start, low, floor) for start in starts]
    residuals = [np.abs(watts - columns @ fit) for fit in tried]
    scale = max(min(_mode_scale(residual) for residual in residuals), floor)
    costs = [np.minimum(residual / scale, _TUKEY_CUT).sum() for residual in residuals]
    return tried[int(np.argmin(costs))]


def _mode_scale(residual: Floats) -> float:
    """The deviation of normal residuals whose smallest part is as small as of these."""
    return float(np.quantile(residual, _MODE_SHARE)) / _MODE_DEVIATIONS


def _refined(columns: Floats, watts: Floats, start: Floats, low: float, floor: float) -> Floats:
    """The robust fit next to these watts: what is far from it moves nothing."""
    level = start
    ridge = np.eye(columns.shape[1]) * 1e-3
    for turn in range(_MAX_FIT_ROUNDS):
        residual = np.abs(watts - columns @ level)
        middle = 1.4826 * float(np.median(residual))
        # Where three levels share the readings, their median would hold all of them.
        scale = max(min(middle, _mode_scale(residual)) if turn < _MODE_ROUNDS else middle, floor)
        weight = np.clip(1 - (residual / (_TUKEY_CUT * scale)) ** 2, 0, None) ** 2
        if weight.sum() < _MIN_READINGS / 2:
            break
        weighted = (columns * weight[:, None]).T
        moved = np.linalg.solve(weighted @ columns + ridge, weighted @ watts + ridge @ start)
        done = float(np.abs(moved - level).max()) < 1e-3 * scale and turn >= _MODE_ROUNDS
        level = np.maximum(moved, 0.5 * low)
        if done:
            break
    return np.asarray(level)


def _least_absolute(columns: Floats, watts: Floats, scale: float) -> Floats:
    """The watts of each kind with the least sum of absolute residuals: no far reading moves them.

    That is for kinds that hardly a window contains alone.
    """
    ridge = np.eye(columns.shape[1]) * 1e-6
    level = np.full(columns.shape[1], float(np.median(watts)))
    for _ in range(_MAX_FIT_ROUNDS):
        weight = 1.0 / np.maximum(np.abs(watts - columns @ level), 0.01 * scale)
        weighted = (columns * weight[:, None]).T
        level = np.linalg.solve(weighted @ columns + ridge, weighted @ watts + ridge @ level)
    return np.asarray(level)


def _doubt(
    data: Samples,
    course: KnownCourse,
    kinds: list[str],
    watts: Floats,
    shares: Floats,
    unsure: WindowPrior,
    swing: float,
) -> Floats:
    """One sigma of what is not known of the expectation, for each reading."""
    length = np.maximum(data.hi - data.lo, 1e-9)
    doubt = np.full(len(data), _MIN_LEVEL_ERROR * swing)
    level = dict(zip(kinds, watts.tolist(), strict=True))
    edges, half = course.stretches.edges()
    at = (edges - course.zero_ns) / NS_PER_S
    spread = np.hypot(half / NS_PER_S, np.hypot(unsure.place, data.late / 3**0.5))
    begins = (
        data.hi - max(1 + unsure.window, unsure.longest) * length
    )  # of the longest windows that they may have
    # An edge within reach of a window: what the power does there, times how much of the window may
    # lie on its other side.
    usual = max(watts.tolist()) - min(watts.tolist()) if len(watts) > 1 else 0.5 * swing
    for edge, off in zip(at.tolist(), spread.tolist(), strict=True):
        rows = slice(
            int(np.searchsorted(data.hi, edge - off)), int(np.searchsorted(begins, edge + off))
        )
        doubt[rows] = np.hypot(doubt[rows], usual * np.minimum(off / length[rows], 1.0))
    for kind in _LOOSE_KINDS:
        if kind in level:
            count = int((course.stretches.kind == KINDS.index(kind)).sum())
            if (
                count < _MIN_STRETCHES or kind == PAUSE
            ):  # one to save draws what none between epochs does
                doubt = np.hypot(doubt, _UNLIKE_SHARE * swing * shares[:, KINDS.index(kind)])
    return doubt


def _windows(
    data: Samples, course: KnownCourse, kinds: list[str], watts: Floats, unsure: WindowPrior
) -> Floats:
    """One sigma of what is not known of how long the windows are: what other ones would
    have held.
    """
    off = np.zeros(len(data))
    columns = [KINDS.index(kind) for kind in kinds]

    def held(factor: float) -> Floats:
        out = np.empty(len(data))
        for first in range(0, len(data), _CHUNK_READINGS):
            rows = slice(first, first + _CHUNK_READINGS)
            hi = data.hi[rows]
            out[rows] = _shares(hi - factor * (hi - data.lo[rows]), hi, course)[:, columns] @ watts
        return out

    usual = held(1.0)
    if unsure.window:
        off += (
            np.maximum(*(np.abs(held(1 + sign * unsure.window) - usual) for sign in (-1.0, 1.0)))
            ** 2
        )
    if unsure.longest > 1.0:
        off += np.abs(held(unsure.longest) - usual) ** 2 / 4
    return np.asarray(np.sqrt(off))


def _drift(data: Samples, residual: Floats, judged: Bools, least: float) -> Floats:
    """What the level of a long training does by and by: a running median over ten minutes at least,
    or so many seconds.
    """
    at = ((data.lo + data.hi) / 2)[judged]
    length = float(at[-1] - at[0])
    block = max(_DRIFT_S, length / 200, least)
    if length < 3 * block:
        return np.zeros(len(data))
    count = int(length / block)
    which = np.minimum(((at - at[0]) / block).astype(np.int64), count - 1)
    order = np.searchsorted(which, np.arange(count + 1))
    middles, levels = [], []
    for number in range(count):
        mine = residual[judged][order[number] : order[number + 1]]
        if len(mine) >= _MIN_READINGS:
            middles.append(float(at[0]) + (number + 0.5) * block)
            levels.append(float(np.median(mine)))
    if len(levels) < 3:
        return np.zeros(len(data))
    smooth = [
        float(np.median(levels[max(0, i - 1) : i + 2])) for i in range(len(levels))
    ]  # one block that a load fills is no drift
    return np.asarray(np.interp((data.lo + data.hi) / 2, middles, smooth))


def _starting_share(
    data: Samples, residual: Floats, epochs: tuple[tuple[float, float], ...]
) -> Floats:
    """The share of each window in the start of the first epoch: by so much it is longer than the
    others. It is over when the readings come to the level of training and stay there for a while.
    """
    start, end = epochs[0]
    until = max(end - usual_length(epochs), start)
    inside = np.isfinite(residual) & (data.lo >= start) & (data.hi <= until)
    noise_w = spread(calm(residual[(data.lo >= start) & (data.hi <= epochs[-1][1])], data.quantum))
    near = np.abs(residual) <= 3 * max(noise_w, data.quantum / 12**0.5)
    pace_s = float(np.median(np.diff(data.hi))) if len(data) > 1 else 1.0
    count = max(_SETTLED_READINGS, int(np.ceil(_SETTLED_S / pace_s)))
    settled = np.cumsum(np.concatenate([[0], near & inside]))
    runs = np.flatnonzero(settled[count:] - settled[:-count] == count)
    if len(runs):
        until = float(data.lo[runs[0]])
    overlap = np.minimum(data.hi, until) - np.maximum(data.lo, start)
    return np.asarray(np.clip(overlap, 0.0, None) / np.maximum(data.hi - data.lo, 1e-12))

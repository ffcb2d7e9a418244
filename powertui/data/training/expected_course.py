"""What a sensor should have read of a training, by what its records say it did: steps, pauses,
validation; and by its other epochs.

Each kind has watts of its own, fitted robustly to the readings of the whole training: a burst in
one epoch hardly moves them. Where the epochs are all that is known, a reading is held against the
same share of the other epochs. What is not known is doubt: where between two records steps began,
how alike pauses are, where the log lies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from powertui.data.energy.findings.reading_windows import WindowPrior
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.energy.samples import Samples
from powertui.data.model import NS_PER_S, Bools, Floats
from powertui.data.training.stretches import KINDS, PAUSE, STARTING, VALIDATION, Stretches

# Readings that a level needs. This and the others here are chosen, not measured, but for Tukey's
# constant.
_MIN_READINGS = 8
# Of a window in the training: then it is judged.
_MIN_INSIDE_SHARE = 0.98
# Tukey's constant: residuals farther off than this many deviations count nothing.
_TUKEY_CUT = 4.685
# Rounds of the robust fit.
_MAX_FIT_ROUNDS = 30
# Stretches of a kind: of fewer no median can be told.
_MIN_STRETCHES = 4
# Kinds of which one stretch may draw more than another.
_LOOSE_KINDS = (VALIDATION, PAUSE, STARTING)
# Of the swing: what a kind that was hardly seen may draw more or less.
_UNLIKE_SHARE = 0.5
# Of the swing: how well the level of a kind is known at best.
_MIN_LEVEL_ERROR = 0.01
# Of the first epoch: it begins unlike the others, for how long is not known.
_STARTING_SHARE = 0.4
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
    watts = _fitted(columns[judged], data.watts[judged], low, data.quantum)
    expected = columns @ watts
    swing = max(float(np.percentile(data.watts[judged], 90)) - low, 0.02 * low, data.quantum)
    doubt = np.hypot(
        _doubt(data, course, kinds, watts, shares, unsure, swing),
        _windows(data, course, kinds, watts, unsure),
    )
    residual = np.where(good, data.watts - expected, 0.0)
    # Where nothing within an epoch is known, what is slower than two of them is drift, and all else
    # their course.
    turn = 0.0 if course.by_steps else 2 * float(np.median([hi - lo for lo, hi in course.epochs]))
    drift = _drift(data, residual, judged, turn)
    floor = ceiling = expected + drift
    if not course.by_steps:
        judged &= ~_starting(data, course.epochs)
    if len(course.epochs) >= 2:
        below, above, unlike = _course(data, residual - drift, judged, course)
        floor, ceiling = expected + drift + below, expected + drift + above
        doubt = np.hypot(doubt, unlike)
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
    prior = np.full(columns.shape[1], float(np.median(watts)))
    scale = max(
        float(np.median(np.abs(watts - prior[0]))) * 1.4826,
        quantum / 12**0.5,
        1e-3 * abs(prior[0]),
        1e-9,
    )
    ridge = np.eye(columns.shape[1]) * 1e-3
    level = prior
    pure = columns.max(axis=1) > 0.9
    for kind in range(
        columns.shape[1]
    ):  # begin with the medians of windows that hold one kind alone
        rows = pure & (columns.argmax(axis=1) == kind)
        if rows.sum() >= 3:
            level[kind] = float(np.median(watts[rows]))
    start = level.copy()
    for _ in range(_MAX_FIT_ROUNDS):
        residual = watts - columns @ level
        scale = max(
            1.4826 * float(np.median(np.abs(residual))),
            quantum / 12**0.5,
            1e-3 * abs(float(np.median(watts))),
            1e-9,
        )
        weight = np.clip(1 - (residual / (_TUKEY_CUT * scale)) ** 2, 0, None) ** 2
        if weight.sum() < _MIN_READINGS / 2:
            break
        weighted = (columns * weight[:, None]).T
        moved = np.linalg.solve(weighted @ columns + ridge, weighted @ watts + ridge @ start)
        done = float(np.abs(moved - level).max()) < 1e-3 * scale
        level = np.maximum(moved, 0.5 * low)
        if done:
            break
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


def _starting(data: Samples, epochs: tuple[tuple[float, float], ...]) -> Bools:
    """Windows at the beginning of the first epoch, which is longer than the others by what starting
    took.
    """
    lo, hi = epochs[0]
    usual = float(np.median([b - a for a, b in epochs[1:]])) if len(epochs) > 1 else 0.0
    width = float(np.median(data.hi - data.lo))
    until = max(hi - usual, lo) + _STARTING_SHARE * (hi - max(hi - usual, lo)) + 2 * width
    return np.asarray(data.lo < until)


# ── epochs against epochs ────────────────────────────────────────────────────────────────────────


def _course(
    data: Samples, residual: Floats, judged: Bools, known_course: KnownCourse
) -> tuple[Floats, Floats, Floats]:
    """(least, most) that the other epochs drew more than their level at the same share of theirs,
    and one sigma of it.
    """
    below, above, unlike = np.zeros(len(data)), np.zeros(len(data)), np.zeros(len(data))
    length = np.array([hi - lo for lo, hi in known_course.epochs])
    middle = (data.lo + data.hi) / 2
    usual = float(np.median(length[1:]))  # the first one starts, too
    first = [
        max(lo, hi - usual) if number == 0 else lo
        for number, (lo, hi) in enumerate(known_course.epochs)
    ]
    pace = float(np.median(np.diff(data.hi))) if len(data) > 1 else usual
    count = int(np.clip(usual / max(pace, 1e-9), 4, 400))
    width = float(np.median(data.hi - data.lo))
    grid = (np.arange(count) + 0.5) / count
    table = np.full((len(length), count), np.nan)
    rows_of = []
    for number, (start, (_, hi)) in enumerate(zip(first, known_course.epochs, strict=True)):
        rows = np.flatnonzero(judged & (middle >= start) & (middle < hi))
        rows_of.append(rows)
        if len(rows) >= 3:
            share = (middle[rows] - start) / (hi - start)
            near = np.abs(
                grid[:, None]
                - share[np.clip(np.searchsorted(share, grid), 0, len(share) - 1)][:, None]
            ).min(axis=1)
            values = np.interp(grid, share, residual[rows])
            table[number] = np.where(near <= 2.0 / count + pace / usual, values, np.nan)
    scatter = 1.4826 * float(np.median(np.abs(length[1:] - usual))) / usual
    for number, rows in enumerate(rows_of):
        others = np.delete(table, number, axis=0)
        have = np.isfinite(others).any(axis=1)
        if not len(rows) or not have.any():
            continue
        others = others[have]
        off_length = abs(length[number] - usual) / usual if number else 0.0
        reach = int(np.ceil(count * (max(off_length, scatter) + (width / 2 + pace) / usual)))
        course = _middle(others)
        padded = np.pad(
            course, reach, mode="wrap"
        )  # behind the end of an epoch begins the next one
        around = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1)
        share = np.clip(
            (middle[rows] - first[number]) / (known_course.epochs[number][1] - first[number]), 0, 1
        )
        column = np.minimum((share * count).astype(np.int64), count - 1)
        # Of one other epoch alone nobody knows which of the two is as usual: what lies between it
        # and the level is explained.
        few = len(others) < 2
        above[rows] = np.maximum(around.max(axis=1), 0.0 if few else -np.inf)[column]
        below[rows] = np.minimum(around.min(axis=1), 0.0 if few else np.inf)[column]
        if len(others) >= 3:
            unlike[rows] = 1.4826 * _middle(np.abs(others - course))[column] / np.sqrt(len(others))
    return below, above, unlike


def _middle(rows: Floats) -> Floats:
    """The median of each column as far as it is known; 0 where nothing is."""
    finite = np.isfinite(rows).any(axis=0)
    out = np.zeros(rows.shape[1])
    out[finite] = np.nanmedian(rows[:, finite], axis=0)
    return out

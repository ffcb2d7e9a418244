"""What a sensor should have read, by what the trace says ran: for every reading the power that is explained.

Inside the profile a reading is the sum of what each kind of work drew in its window. The watts of the kinds are fitted
robustly, with a prior: a kind that was hardly seen draws about as much as the usual work, give or take half of it. So a
reading of work like the usual is judged sharply, and one of other work (compiling, an epoch's end) only when it lies far
off: that is its doubt. What is not known of the sensor (its window, its place on the trace) is doubt as well, wherever
the expected power changes.

Outside the profile nothing is known but, where the run's scalars tell, that training went on as usual: then everything
up to the usual power of training is explained, and only more than that is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from powertui.data.energy.findings import pace as paces
from powertui.data.energy.findings import phases
from powertui.data.energy.findings import work as work_kinds
from powertui.data.energy.findings.pace import Pace
from powertui.data.energy.findings.readings import Readings
from powertui.data.energy.findings.work import Work
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats

_NONE: Floats = np.empty(0)
_TURNS = 30  # of the robust fit
_STARTS = (10, 25, 40, 50, 60, 75)  # percentiles of the readings that a fit begins with, each in turn
_FIRST = 0.35  # of the smallest residuals tell their scale at first, half of them in the end: bursts may be many
_CUT = 4.685  # Tukey's: residuals farther off count nothing
_UNLIKE = 0.5  # of the power of work: what one kind may draw more or less than another
_BLOCKS = 15  # of readings one after another
_STEADY = 0.1  # a reading of steps holds less other work than this
_WHOLE = 0.98  # a window is inside the profile with so much of itself
_LEAST = 8  # readings that a level needs


class Unsure(NamedTuple):
    """One sigma of where the windows of readings lie (s), and of how long they are (as a share of it)."""

    place: float
    window: float
    longest: float = 1.0  # times as long they may be all the same: a meter usually tells of all the time since it last did


@dataclass(frozen=True, eq=False)
class Expected:
    """Readings with what is explained of them, and what that stands on."""

    readings: Readings
    watts: tuple[tuple[str, float], ...]  # the idle machine first, then what each kind of work adds
    level: float  # the usual power of training
    reason: str = ""  # why nothing can be judged


def of(
    data: Samples, work: Work, offset: float, *, unsure: Unsure, pace: Pace = paces.NOTHING,
    training: tuple[float, float] | None = None, steps: tuple[Floats, Floats] = (_NONE, _NONE),
) -> Expected:  # fmt: skip
    """Every reading of a log whose zero lies at `offset` (s) on the trace.

    `training`: from when to when; `steps`: where they start and end. All in s.
    """
    lo, hi = data.lo + offset, data.hi + offset
    good = np.isfinite(data.watts) & (data.watts > 0)
    length = np.maximum(hi - lo, 1e-12)
    inside = np.clip(np.minimum(hi, work.span[1]) - np.maximum(lo, work.span[0]), 0, None) / length
    within = good & (inside >= _WHOLE)
    usual = good & (inside < 1 - _WHOLE) & pace.holds(lo, hi)
    fit = _fit(data, work, lo, hi, within) if within.sum() >= _LEAST else None
    if fit is None and usual.sum() < _LEAST:
        return _nothing(data, lo, hi, f"too few readings of the power log lie wholly in the profile ({int(within.sum())})")
    floor = np.full(len(data), _least(data))
    ceiling = np.full(len(data), np.inf)
    doubt = np.full(len(data), np.inf)
    level = float(np.percentile(data.watts[usual], 75)) if usual.sum() >= _LEAST else -np.inf
    if fit is not None:
        expected, doubtful = fit.expected(work, lo, hi, unsure)
        expected[within] += phases.course((data.watts - expected)[within], lo[within], hi[within], *steps)
        expected += _centre(data.watts[within] - expected[within], doubtful[within])
        floor[within] = ceiling[within] = expected[within]
        doubt[within] = doubtful[within]
        level = max(level, fit.level)
    swing = fit.swing if fit is not None else level - _least(data)
    ceiling[usual] = level
    doubt[usual] = 0.1 * swing
    around = ~(within | usual)
    doubt[around] = 0.25 * swing
    if training is not None:
        ceiling[around & (lo >= training[0]) & (hi <= training[1])] = level
    judged = within | usual
    watts = fit.watts if fit is not None else (("training", level),)
    return Expected(Readings(lo, hi, np.where(good, data.watts, np.nan), floor, ceiling, doubt, judged, data.quantum), watts, level)


def _nothing(data: Samples, lo: Floats, hi: Floats, reason: str) -> Expected:
    flat = np.zeros(len(data))
    return Expected(Readings(lo, hi, data.watts, flat, flat, flat, np.zeros(len(data), np.bool_), data.quantum), (), 0.0, reason)


def _least(data: Samples) -> float:
    """The power of the machine when it does least, as far as the log saw it."""
    return float(np.percentile(data.watts[np.isfinite(data.watts) & (data.watts > 0)], 3))


# ── inside the profile ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _Fit:
    names: tuple[str, ...]
    coefficients: Floats  # base first
    covariance: Floats
    usual: tuple[Floats, Floats]  # shares of each kind, idle first, that the middle nine tenths of the readings have
    loose: list[int]  # columns of work that draws now this and now that
    level: float
    swing: float  # watts between the idle machine and usual work

    @property
    def watts(self) -> tuple[tuple[str, float], ...]:
        return tuple(zip(self.names, (float(c) for c in self.coefficients), strict=True))

    def expected(self, work: Work, lo: Floats, hi: Floats, unsure: Unsure) -> tuple[Floats, Floats]:
        """Watts of each reading, and one sigma of what is not known of that."""
        columns = _columns(work, lo, hi)
        watts = columns @ self.coefficients
        learnt = np.einsum("ij,jk,ik->i", columns, self.covariance, columns)
        unlike = _UNLIKE * self.swing * np.maximum(_unlike(columns, self.usual), columns[:, self.loose].sum(axis=1))
        off = np.zeros(len(watts))
        for place, window in ((1.0, 0.0), (2.0, 0.0), (0.0, 1.0)):
            reach = np.zeros(len(watts))
            for sign in (-1.0, 1.0):
                by, factor = sign * place * unsure.place, 1 + sign * window * unsure.window
                other = _columns(work, hi - factor * (hi - lo) + by, hi + by) @ self.coefficients
                reach = np.maximum(reach, np.abs(other - watts))
            off += (reach / max(place, 1.0)) ** 2
        if unsure.longest > 1.0:
            late = hi - 2 * unsure.place
            longer = [_columns(work, end - unsure.longest * (hi - lo), end) @ self.coefficients for end in (hi, late)]
            off += np.maximum(*(np.abs(one - watts) for one in longer)) ** 2 / 4
        return watts, np.sqrt(learnt + unlike**2 + off)


def _centre(residual: Floats, doubt: Floats) -> float:
    """Where the residuals' means lie, as a rule: of a fast sensor the single ones are skewed, for its windows and the work's
    edges never quite meet, and a stretch is a mean."""
    sure = residual[doubt <= 2 * float(np.percentile(doubt, 25)) + 1e-9]
    size = max(1, len(sure) // _BLOCKS)
    count = len(sure) // size
    return float(np.median(sure[: count * size].reshape(count, size).mean(axis=1))) if count else 0.0


def _columns(work: Work, lo: Floats, hi: Floats) -> Floats:
    """1, and the share of each kind of work: what lies outside the profile counts as idle here."""
    return np.concatenate([np.ones((len(lo), 1)), work.shares(lo, hi)], axis=1)


def _mixture(columns: Floats) -> Floats:
    shares = columns[:, 1:]
    return np.concatenate([1 - shares.sum(axis=1, keepdims=True), shares], axis=1)


def _unlike(columns: Floats, usual: tuple[Floats, Floats]) -> Floats:
    """The share of a window that is filled by other work than usual."""
    mixture = _mixture(columns)
    more = np.clip(mixture - usual[1], 0, None).sum(axis=1)
    less = np.clip(usual[0] - mixture, 0, None).sum(axis=1)
    return np.asarray(np.maximum(more, less))


def _fit(data: Samples, work: Work, lo: Floats, hi: Floats, rows: Bools) -> _Fit:
    columns, watts = _columns(work, lo, hi)[rows], data.watts[rows]
    loose = [at + 1 for at, name in enumerate(work.names) if name in work_kinds.LOOSE]
    usual = _usual(columns, loose)
    apart = np.maximum(_unlike(columns, usual), columns[:, loose].sum(axis=1))
    floor = max(data.quantum / np.sqrt(12), 1e-3 * float(np.median(watts)))
    tried = [_from(columns, watts, apart, float(start), _least(data), loose, floor) for start in np.percentile(watts, _STARTS)]
    scale = min(one.scale for one in tried)

    def cost(one: _Tried) -> float:
        """How badly a fit explains the readings, the same yardstick for all; a reading far off is no worse than one off."""
        return float(np.minimum(np.abs(one.residual) / np.sqrt(scale**2 + one.own), _CUT).sum())

    best = min(tried, key=cost)
    coefficients, covariance, level, swing = best.coefficients, best.covariance, best.level, best.swing
    return _Fit(("idle", *work.names), coefficients, covariance, usual, loose, level, swing)


def _scale(residual: Floats, part: float) -> float:
    """The deviation of normal residuals of which this part is as small as it is."""
    return float(np.quantile(np.abs(residual), part)) / NormalDist().inv_cdf(0.5 + part / 2)


class _Tried(NamedTuple):
    coefficients: Floats
    covariance: Floats
    level: float
    swing: float
    residual: Floats
    own: Floats
    scale: float


def _usual(columns: Floats, loose: list[int]) -> tuple[Floats, Floats]:
    """The range of the shares of each kind, idle first, in readings of steps: those with little other work, if there are any."""
    mixture = _mixture(columns)
    steady = columns[:, loose].sum(axis=1) < _STEADY
    low, high = np.percentile(mixture[steady] if steady.sum() >= _LEAST else mixture, [5, 95], axis=0)
    return low, high


def _from(columns: Floats, watts: Floats, apart: Floats, level: float, least: float, loose: list[int], floor: float) -> _Tried:
    """A robust fit that begins with a guess of the usual power of work."""
    swing = max(level - least, 0.1 * level)
    count = columns.shape[1] - 1
    prior = np.array([level - swing, *(swing / 2 if at + 1 in loose else swing for at in range(count))])
    precision = np.diag(1.0 / np.array([0.25 * swing, *[0.5 * swing] * count]) ** 2)
    own = (_UNLIKE * swing * apart) ** 2  # what each reading may be off by, however well the kinds are known
    coefficients = prior.copy()
    steady = apart <= max(float(np.quantile(apart, 0.4)), 0.02)
    residual = watts - columns @ coefficients
    for turn in range(_TURNS):
        scale = max(_scale(residual[steady], _FIRST if turn < _TURNS // 3 else 0.5), floor)
        sigma = np.sqrt(scale**2 + own)
        weight = np.clip(1 - (residual / (_CUT * sigma)) ** 2, 0, None) ** 2 / sigma**2
        covariance = np.linalg.inv((columns * weight[:, None]).T @ columns + precision)
        before, coefficients = coefficients, covariance @ ((columns * weight[:, None]).T @ watts + precision @ prior)
        residual = watts - columns @ coefficients
        if turn > _TURNS // 3 and np.abs(coefficients - before).max() < 1e-3 * swing:
            break
    usual = float(np.median((columns @ coefficients)[steady]))
    return _Tried(coefficients, covariance, usual, swing, residual, own, scale)

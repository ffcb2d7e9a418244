"""What a sensor should have read, by what the trace says ran: for every reading the power that is
explained.

Inside the profile a reading is the sum of what each kind of work drew in its window. The watts of
the kinds are fitted robustly, with a prior: a kind that was hardly seen draws about as much as the
usual work, give or take half of it. So a reading of work like the usual is judged sharply, and one
of other work (compiling, an epoch's end) only when it lies far off: that is its doubt. What is not
known of the sensor (its window, its place on the trace) is doubt as well, wherever the expected
power changes.

Outside the profile nothing is known but, where the run's scalars tell, that training went on as
usual: then everything up to the usual power of training is explained, and only more than that is
not.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from powertui.data.energy.findings import pace as paces
from powertui.data.energy.findings import phases, reading_windows
from powertui.data.energy.findings import work_columns as work_kinds
from powertui.data.energy.findings.noise import centre
from powertui.data.energy.findings.pace import Pace
from powertui.data.energy.findings.reading_windows import WindowPrior, Windows
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.energy.findings.work_columns import KindSeconds
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats
from powertui.value_types import dataclass

_NONE: Floats = np.empty(0)
# Rounds of the robust fit. Chosen, not measured.
_MAX_FIT_ROUNDS = 30
# Percentiles of the readings that a fit begins with, each in turn. Chosen, not measured.
_START_PERCENTILES = (10, 25, 40, 50, 60, 75)
# The share of the smallest residuals that gives their scale at first; half of them in the end,
# because bursts may be many. Chosen, not measured.
_FIRST_SHARE = 0.35
# Tukey's constant: residuals farther off than this many deviations count nothing.
_TUKEY_CUT = 4.685
# What one kind of work may draw more or less than another, as a share of the power of work. From
# compiling in recordings; at twice this, one simulated burst is not found (docs/energy-
# evidence.md).
_UNLIKE_SHARE = 0.5
# A reading of steps contains less other work than this share. Half and twice: no change in
# docs/energy-evidence.md.
_MAX_OTHER_WORK = 0.1
# A window is inside the profile with this share of itself. Chosen, not measured.
_MIN_INSIDE_SHARE = 0.98
# Ways in which expectations may be off together. Chosen, not measured.
_MAX_WAYS = 16
# Readings that a level needs. Chosen, not measured.
_MIN_READINGS = 8


@dataclass(frozen=True, eq=False)
class Expected:
    """Readings with what is explained of them, and what that stands on."""

    readings: SensorReadings
    watts: tuple[tuple[str, float], ...]  # the idle machine first, then what each kind of work adds
    level: float  # the usual power of training
    reason: str = ""  # why nothing can be judged
    place_s: float = (
        0.0  # one sigma of where the windows lie, as far as the readings do not tell it
    )


def expected_power(
    data: Samples,
    work: KindSeconds,
    offset: float,
    *,
    unsure: WindowPrior,
    pace: Pace = paces.NOTHING,
    training: tuple[float, float] | None = None,
    steps: tuple[Floats, Floats] = (_NONE, _NONE),
) -> Expected:
    """Every reading of a log whose zero lies at `offset` (s) on the trace.

    `training`: from when to when; `steps`: where they start and end. All in s.
    """
    lo, hi = data.lo + offset, data.hi + offset
    good = np.isfinite(data.watts) & (data.watts > 0)
    inside = _inside(work, lo, hi)
    within = good & (inside >= _MIN_INSIDE_SHARE)
    windows: Windows | None = None
    if within.sum() >= _MIN_READINGS:
        windows = _windows(data, work, lo, hi, within, unsure)
        lo, hi = _laid(lo, hi, windows.best.place, windows.best.length)
        inside = _inside(work, lo, hi)
        within = good & (inside >= _MIN_INSIDE_SHARE)
    usual = good & (inside < 1 - _MIN_INSIDE_SHARE) & pace.holds(lo, hi)
    fit = _fit(data, work, lo, hi, within) if within.sum() >= _MIN_READINGS else None
    if fit is None and usual.sum() < _MIN_READINGS:
        return _nothing(
            data,
            lo,
            hi,
            f"too few readings of the power log are wholly in the profile ({int(within.sum())})",
        )
    if fit is None:
        within = np.zeros_like(within)  # so few tell nothing
    floor = np.full(len(data), _least(data))
    ceiling = np.full(len(data), np.inf)
    doubt = np.full(len(data), np.inf)
    ways = np.empty((0, 0))
    level = float(np.percentile(data.watts[usual], 75)) if usual.sum() >= _MIN_READINGS else -np.inf
    if fit is not None and windows is not None:
        expected, doubtful, signed = fit.expected(work, lo, hi, windows)
        behind = _behind(data)
        late = behind > 0
        if late.any():
            then, doubt_then, _ = fit.expected(
                work, (lo - behind)[late], (hi - behind)[late], windows
            )
            doubtful[late] = np.hypot(np.maximum(doubtful[late], doubt_then), then - expected[late])
        expected[within] += phases.course(
            (data.watts - expected)[within], lo[within], hi[within], *steps
        )
        expected += centre(data.watts[within] - expected[within], doubtful[within])
        floor[within] = ceiling[within] = expected[within]
        doubt[within] = doubtful[within]
        ways = np.where(within, signed, 0.0)
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
    readings = SensorReadings(
        lo,
        hi,
        np.where(good, data.watts, np.nan),
        floor,
        ceiling,
        doubt,
        judged,
        data.quantum,
        ways,
    )
    return Expected(
        readings, watts, level, place_s=windows.sigma if windows is not None else unsure.place
    )


def _behind(data: Samples) -> Floats:
    """How much older each reading may be than it is laid: nothing, but for one that came more than
    half a poll late after the one before. It was published in time, and the row before was missed,
    or told the last answer again.
    """
    since = np.diff(data.hi, prepend=data.hi[:1] - data.refresh) - data.refresh
    return np.where(
        (data.late > 0) & (since > data.late), np.minimum(since, 2 * data.late) + data.late, 0.0
    )


def _nothing(data: Samples, lo: Floats, hi: Floats, reason: str) -> Expected:
    flat = np.zeros(len(data))
    return Expected(
        SensorReadings(
            lo, hi, data.watts, flat, flat, flat, np.zeros(len(data), np.bool_), data.quantum
        ),
        (),
        0.0,
        reason,
    )


def _least(data: Samples) -> float:
    """The power of the machine when it does least, as far as the log saw it."""
    return float(np.percentile(data.watts[np.isfinite(data.watts) & (data.watts > 0)], 3))


# ── inside the profile ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _Fit:
    names: tuple[str, ...]
    coefficients: Floats  # base first
    covariance: Floats
    usual: tuple[
        Floats, Floats
    ]  # shares of each kind, idle first, that the middle nine tenths of the readings have
    loose: list[int]  # columns of work that draws now this and now that
    level: float
    swing: float  # watts between the idle machine and usual work

    @property
    def watts(self) -> tuple[tuple[str, float], ...]:
        return tuple(zip(self.names, (float(c) for c in self.coefficients), strict=True))

    def expected(
        self, work: KindSeconds, lo: Floats, hi: Floats, windows: Windows
    ) -> tuple[Floats, Floats, Floats]:
        """Watts of each reading, one sigma of what is not known of that, and the parts of this that
        have a sign.
        """
        columns = _columns(work, lo, hi)
        watts = columns @ self.coefficients
        scales, axes = np.linalg.eigh(self.covariance)
        ways = [*(columns @ (axes * np.sqrt(np.maximum(scales, 0.0)))).T]
        best = windows.best
        for variant in windows.all:
            if (variant.place, variant.length) != (best.place, best.length):
                moved = (
                    _columns(
                        work,
                        *_laid(lo, hi, variant.place - best.place, variant.length / best.length),
                    )
                    @ self.coefficients
                )
                ways.append(np.sqrt(variant.weight) * (moved - watts))
        mixture = _mixture(columns)
        unlike = np.clip(mixture - self.usual[1], 0, None) - np.clip(
            self.usual[0] - mixture, 0, None
        )
        unlike[:, self.loose] = 0.0
        ways += [*(_UNLIKE_SHARE * self.swing * unlike).T]
        loose = _UNLIKE_SHARE * self.swing * columns[:, self.loose].sum(axis=1)
        all_ways = np.array(ways)
        return watts, np.sqrt((all_ways**2).sum(axis=0) + loose**2), _few(all_ways)


def _few(ways: Floats) -> Floats:
    """The same doubts in fewer ways: what is left out counts as doubt without a sign."""
    _, axes = np.linalg.eigh(ways @ ways.T)
    return np.asarray(axes[:, -_MAX_WAYS:].T @ ways)


def _columns(work: KindSeconds, lo: Floats, hi: Floats) -> Floats:
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


def _inside(work: KindSeconds, lo: Floats, hi: Floats) -> Floats:
    """The share of each window that lies in the profile."""
    over = np.clip(np.minimum(hi, work.span[1]) - np.maximum(lo, work.span[0]), 0, None)
    return np.asarray(over / np.maximum(hi - lo, 1e-12))


def _laid(lo: Floats, hi: Floats, place: float, length: float) -> tuple[Floats, Floats]:
    """Windows laid so many seconds later, and made so many times as long: a reading's end is what
    is known of it.
    """
    return hi - length * (hi - lo) + place, hi + place


def _windows(
    data: Samples, work: KindSeconds, lo: Floats, hi: Floats, rows: Bools, unsure: WindowPrior
) -> Windows:
    """How the windows lie, as the readings tell it."""
    first = _fit(data, work, lo, hi, rows)
    lo, hi, watts = lo[rows], hi[rows], data.watts[rows]
    floor = max(data.quantum / np.sqrt(12), 1e-3 * float(np.median(watts)))

    def residuals(place: float, length: float) -> tuple[Floats, Floats]:
        columns = _columns(work, *_laid(lo, hi, place, length))
        doubt = (
            _UNLIKE_SHARE
            * first.swing
            * np.maximum(_unlike(columns, first.usual), columns[:, first.loose].sum(axis=1))
        )
        return _refit(columns, watts, doubt, first.coefficients, first.covariance, floor), doubt

    return reading_windows.fit_windows(residuals, unsure, floor)


def _refit(
    columns: Floats,
    watts: Floats,
    doubt: Floats,
    coefficients: Floats,
    covariance: Floats,
    floor: float,
) -> Floats:
    """The residuals of a fit near one that is known."""
    prior = coefficients
    precision = np.linalg.inv(25 * covariance + 1e-9 * np.eye(len(prior)))
    steady = doubt <= np.quantile(doubt, 0.4) + 1e-12
    residual = watts - columns @ coefficients
    for _ in range(4):
        sigma = np.sqrt(max(_scale(residual[steady], 0.5), floor) ** 2 + doubt**2)
        weight = np.clip(1 - (residual / (_TUKEY_CUT * sigma)) ** 2, 0, None) ** 2 / sigma**2
        inner = (columns * weight[:, None]).T
        coefficients = np.linalg.solve(
            inner @ columns + precision, inner @ watts + precision @ prior
        )
        residual = watts - columns @ coefficients
    return np.asarray(residual)


def _fit(data: Samples, work: KindSeconds, lo: Floats, hi: Floats, rows: Bools) -> _Fit:
    columns, watts = _columns(work, lo, hi)[rows], data.watts[rows]
    loose = [at + 1 for at, name in enumerate(work.names) if name in work_kinds.LOOSE_KINDS]
    usual = _usual(columns, loose)
    apart = np.maximum(_unlike(columns, usual), columns[:, loose].sum(axis=1))
    floor = max(data.quantum / np.sqrt(12), 1e-3 * float(np.median(watts)))
    tried = [
        _from(columns, watts, apart, float(start), _least(data), loose, floor)
        for start in np.percentile(watts, _START_PERCENTILES)
    ]
    scale = min(fit.scale for fit in tried)

    def cost(fit: _Tried) -> float:
        """How badly a fit explains the readings, the same yardstick for all; a reading far off is
        no worse than one off.
        """
        return float(
            np.minimum(np.abs(fit.residual) / np.sqrt(scale**2 + fit.own), _TUKEY_CUT).sum()
        )

    best = min(tried, key=cost)
    coefficients, covariance, level, swing = (
        best.coefficients,
        best.covariance,
        best.level,
        best.swing,
    )
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
    """The range of the shares of each kind, idle first, in readings of steps: those with little
    other work, if there are any.
    """
    mixture = _mixture(columns)
    steady = columns[:, loose].sum(axis=1) < _MAX_OTHER_WORK
    low, high = np.percentile(
        mixture[steady] if steady.sum() >= _MIN_READINGS else mixture, [5, 95], axis=0
    )
    return low, high


def _from(
    columns: Floats,
    watts: Floats,
    apart: Floats,
    level: float,
    least: float,
    loose: list[int],
    floor: float,
) -> _Tried:
    """A robust fit that begins with a guess of the usual power of work."""
    swing = max(level - least, 0.1 * level)
    count = columns.shape[1] - 1
    prior = np.array(
        [level - swing, *(swing / 2 if at + 1 in loose else swing for at in range(count))]
    )
    precision = np.diag(1.0 / np.array([0.25 * swing, *[0.5 * swing] * count]) ** 2)
    variance = (
        _UNLIKE_SHARE * swing * apart
    ) ** 2  # what each reading may be off by, however well the kinds are known
    coefficients = prior.copy()
    steady = apart <= max(float(np.quantile(apart, 0.4)), 0.02)
    residual = watts - columns @ coefficients
    for turn in range(_MAX_FIT_ROUNDS):
        scale = max(
            _scale(residual[steady], _FIRST_SHARE if turn < _MAX_FIT_ROUNDS // 3 else 0.5), floor
        )
        sigma = np.sqrt(scale**2 + variance)
        weight = np.clip(1 - (residual / (_TUKEY_CUT * sigma)) ** 2, 0, None) ** 2 / sigma**2
        covariance = np.linalg.inv((columns * weight[:, None]).T @ columns + precision)
        before, coefficients = (
            coefficients,
            covariance @ ((columns * weight[:, None]).T @ watts + precision @ prior),
        )
        residual = watts - columns @ coefficients
        if turn > _MAX_FIT_ROUNDS // 3 and np.abs(coefficients - before).max() < 1e-3 * swing:
            break
    usual = float(np.median((columns @ coefficients)[steady]))
    return _Tried(coefficients, covariance, usual, swing, residual, variance, scale)

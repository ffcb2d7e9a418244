"""What each kind of work drew, fitted to the readings inside a profile.

A reading there is the sum of what each kind drew in its window. The watts of the kinds are fitted
robustly, with a prior: a kind that was hardly seen draws about as much as the usual work, give or
take half of it. So a reading of work like the usual is judged sharply, and one of other work
(compiling, an epoch's end) only when it is far off: that is its doubt. What is not known of the
sensor (its window, its place on the trace) is doubt as well, wherever the expected power changes.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings import reading_windows
from powertui.data.energy.findings import work_columns as work_kinds
from powertui.data.energy.findings.reading_windows import WindowPrior, Windows
from powertui.data.energy.findings.readings import UNLIKE_SHARE
from powertui.data.energy.findings.work_columns import KindSeconds
from powertui.data.energy.robust_stats import (
    MAX_FIT_ROUNDS,
    START_PERCENTILES,
    TUKEY_CUT,
    noise_floor,
    normal_scale,
    tukey_weights,
)
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats
from powertui.data.quantiles import (
    median_of_column,
    percentile_of_column,
    percentiles_of_column,
    quantile_of_column,
)
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Readings that a level needs. Chosen, not measured.
MIN_READINGS = settings.MIN_SAMPLE_VALUES
# The share of the smallest residuals that gives their scale at first; half of them in the end,
# because bursts may be many. Chosen, not measured.
_FIRST_SHARE = 0.35
# A reading of steps contains less other work than this share. Half and twice: no change in
# docs/energy-evidence.md.
_MAX_OTHER_WORK = settings.MINOR_SHARE
# Ways in which expectations may be off together. Chosen, not measured.
_MAX_WAYS = 16
# One sigma of the idle power, before any reading, as a share of the power of work. Chosen.
_PRIOR_IDLE_SIGMA = settings.UNKNOWN_SHARE
# The same of what each kind adds. Chosen, not measured.
_PRIOR_KIND_SIGMA = settings.UNLIKE_POWER_SHARE
# Readings with the least other work, this share of all, show the noise. Chosen, not measured.
_STEADY_QUANTILE = settings.STEADY_SHARE
# Rounds of a fit that begins next to a known one. Chosen, not measured.
_REFIT_ROUNDS = 4


class Explained(NamedTuple):
    """What the work in the windows of readings explains of them."""

    watts: Floats
    doubt: Floats  # one sigma of these
    ways: Floats  # the parts of the doubt that have a sign


@dataclass(frozen=True, eq=False)
class KindFit:
    names: tuple[str, ...]
    coefficients: Floats  # base first
    covariance: Floats
    # Shares of each kind, idle first, that the middle nine tenths of the readings have.
    usual: tuple[Floats, Floats]
    loose: list[int]  # columns of work that draws now this and now that
    level: float
    swing: float  # watts between the idle machine and usual work

    @property
    def watts(self) -> tuple[tuple[str, float], ...]:
        return tuple(zip(self.names, self.coefficients.tolist(), strict=True))

    def expected(
        self,
        work: KindSeconds,
        lo: Floats,
        hi: Floats,
        windows: Windows,
    ) -> Explained:
        columns = _columns(work, lo, hi)
        watts = columns @ self.coefficients
        # The coefficients are uncertain together, along the axes of their covariance.
        variances, axes = np.linalg.eigh(self.covariance)
        along_axes = axes * np.sqrt(np.maximum(variances, 0.0))
        ways = [*(columns @ along_axes).T]
        best = windows.best
        for variant in windows.all:
            if (variant.place, variant.length) == (best.place, best.length):
                continue
            later_s = variant.place - best.place
            stretch = variant.length / best.length
            moved_lo, moved_hi = moved_windows(lo, hi, later_s, stretch)
            moved_w = _columns(work, moved_lo, moved_hi) @ self.coefficients
            ways.append(np.sqrt(variant.weight) * (moved_w - watts))
        more, less = _beyond_usual(columns, self.usual)
        unlike = more - less
        unlike[:, self.loose] = 0.0
        ways += [*(UNLIKE_SHARE * self.swing * unlike).T]
        loose = UNLIKE_SHARE * self.swing * columns[:, self.loose].sum(axis=1)
        all_ways = np.array(ways)
        doubt = np.sqrt((all_ways**2).sum(axis=0) + loose**2)
        return Explained(watts, doubt, _few(all_ways))


def fit_kinds(
    data: Samples,
    work: KindSeconds,
    lo: Floats,
    hi: Floats,
    rows: Bools,
) -> KindFit:
    columns = _columns(work, lo, hi)[rows]
    watts = data.watts[rows]
    loose = [
        column for column, name in enumerate(work.names, start=1) if name in work_kinds.LOOSE_KINDS
    ]
    usual = _usual(columns, loose)
    problem = _FitProblem(
        columns=columns,
        watts=watts,
        unlike=_unlike(columns, usual, loose),
        loose=loose,
        least_w=least_power(data),
        floor=noise_floor(data.quantum, median_of_column(watts)),
    )
    starts = percentiles_of_column(watts, START_PERCENTILES)
    tried = [problem.from_level(start) for start in starts]
    scale = min(fit.scale for fit in tried)

    def cost(fit: _Attempt) -> float:
        """How badly a fit explains the readings, the same yardstick for all; a reading far off is
        no worse than one off.
        """
        errors = np.abs(fit.residual) / np.sqrt(scale**2 + fit.variance)
        return float(np.minimum(errors, TUKEY_CUT).sum())

    best = min(tried, key=cost)
    return KindFit(
        names=("idle", *work.names),
        coefficients=best.coefficients,
        covariance=best.covariance,
        usual=usual,
        loose=loose,
        level=best.level,
        swing=best.swing,
    )


def fitted_windows(
    data: Samples,
    work: KindSeconds,
    lo: Floats,
    hi: Floats,
    rows: Bools,
    unsure: WindowPrior,
) -> Windows:
    """Where the windows are, as the readings show it."""
    first = fit_kinds(
        data=data,
        work=work,
        lo=lo,
        hi=hi,
        rows=rows,
    )
    lo = lo[rows]
    hi = hi[rows]
    watts = data.watts[rows]
    floor = noise_floor(data.quantum, median_of_column(watts))

    def residuals(place: float, length: float) -> tuple[Floats, Floats]:
        columns = _columns(work, *moved_windows(lo, hi, place, length))
        doubt = UNLIKE_SHARE * first.swing * _unlike(columns, first.usual, first.loose)
        return _refit(
            columns=columns,
            watts=watts,
            doubt=doubt,
            first=first,
            floor=floor,
        ), doubt

    return reading_windows.fit_windows(residuals, unsure, floor)


def _refit(
    columns: Floats,
    watts: Floats,
    doubt: Floats,
    first: KindFit,
    floor: float,
) -> Floats:
    """The residuals of a fit near the first one."""
    prior = coefficients = first.coefficients
    precision = np.linalg.inv(25 * first.covariance + 1e-9 * np.eye(len(prior)))
    steady = doubt <= quantile_of_column(doubt, _STEADY_QUANTILE) + 1e-12
    residual = watts - columns @ coefficients
    for _ in range(_REFIT_ROUNDS):
        scale = max(normal_scale(residual[steady], 0.5), floor)
        weight = _weights(residual, scale**2 + doubt**2)
        inner = (columns * weight[:, None]).T
        coefficients = np.linalg.solve(
            inner @ columns + precision, inner @ watts + precision @ prior
        )
        residual = watts - columns @ coefficients
    return np.asarray(residual)


def _usual(columns: Floats, loose: list[int]) -> tuple[Floats, Floats]:
    """The range of the shares of each kind, idle first, in readings of steps: those with little
    other work, if there are any.
    """
    mixture = _mixture(columns)
    steady = columns[:, loose].sum(axis=1) < _MAX_OTHER_WORK
    if steady.sum() >= MIN_READINGS:
        mixture = mixture[steady]
    shares = [percentiles_of_column(kind, (5, 95)) for kind in mixture.T]
    low, high = np.array(shares).T
    return low, high


@dataclass(frozen=True, eq=False)
class _FitProblem:
    """The readings that the watts of each kind of work are fitted to."""

    columns: Floats
    watts: Floats
    unlike: Floats  # the share of each that is other work than usual
    loose: list[int]
    least_w: float
    floor: float

    def from_level(self, level: float) -> _Attempt:
        """A robust fit that begins with a guess of the usual power of work."""
        columns = self.columns
        watts = self.watts
        swing = max(level - self.least_w, settings.MINOR_SHARE * level)
        prior, precision = self._prior(level, swing)
        variance = (UNLIKE_SHARE * swing * self.unlike) ** 2
        coefficients = prior.copy()
        steadiest = quantile_of_column(self.unlike, _STEADY_QUANTILE)
        steady = self.unlike <= max(steadiest, settings.SLIGHT_SHARE)
        residual = watts - columns @ coefficients
        first_rounds = MAX_FIT_ROUNDS // 3
        for turn in range(MAX_FIT_ROUNDS):
            share = _FIRST_SHARE if turn < first_rounds else 0.5
            scale = max(normal_scale(residual[steady], share), self.floor)
            weight = _weights(residual, scale**2 + variance)
            inner = (columns * weight[:, None]).T
            covariance = np.linalg.inv(inner @ columns + precision)
            before = coefficients
            coefficients = covariance @ (inner @ watts + precision @ prior)
            residual = watts - columns @ coefficients
            moved = np.abs(coefficients - before).max()
            if turn > first_rounds and moved < 1e-3 * swing:
                break
        usual = median_of_column((columns @ coefficients)[steady])
        return _Attempt(
            coefficients=coefficients,
            covariance=covariance,
            level=usual,
            swing=swing,
            residual=residual,
            variance=variance,
            scale=scale,
        )

    def _prior(self, level: float, swing: float) -> tuple[Floats, Floats]:
        """What the machine draws and each kind adds, before any reading, and how surely."""
        kinds = self.columns.shape[1] - 1
        prior = np.full(kinds + 1, swing)
        prior[0] = level - swing
        prior[self.loose] = swing / 2
        sigma = np.full(kinds + 1, _PRIOR_KIND_SIGMA * swing)
        sigma[0] = _PRIOR_IDLE_SIGMA * swing
        return prior, np.diag(1.0 / sigma**2)


class _Attempt(NamedTuple):
    """A robust fit from one start."""

    coefficients: Floats
    covariance: Floats
    level: float
    swing: float
    residual: Floats
    variance: Floats  # that each reading may be off by, however well the kinds are known
    scale: float


def _weights(residual: Floats, variance: Floats) -> Floats:
    """Robust weights of readings, by their own errors: 0 for those far off."""
    return tukey_weights(residual / np.sqrt(variance)) / variance


def least_power(data: Samples) -> float:
    """The power of the machine when it does least, as far as the log saw it."""
    positive = data.watts[np.isfinite(data.watts) & (data.watts > 0)]
    return percentile_of_column(positive, 3)


def _few(ways: Floats) -> Floats:
    """The same doubts in fewer ways: what drops out counts as doubt without a sign."""
    _, axes = np.linalg.eigh(ways @ ways.T)
    return np.asarray(axes[:, -_MAX_WAYS:].T @ ways)


def _columns(work: KindSeconds, lo: Floats, hi: Floats) -> Floats:
    """1, and the share of each kind of work: what lies outside the profile counts as idle here."""
    return np.concatenate([np.ones((len(lo), 1)), work.shares(lo, hi)], axis=1)


def _mixture(columns: Floats) -> Floats:
    shares = columns[:, 1:]
    return np.concatenate([1 - shares.sum(axis=1, keepdims=True), shares], axis=1)


def _beyond_usual(columns: Floats, usual: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """[windows, kinds]: how much more than usual of each kind, and how much less."""
    mixture = _mixture(columns)
    low, high = usual
    return np.clip(mixture - high, 0, None), np.clip(low - mixture, 0, None)


def _unlike(
    columns: Floats,
    usual: tuple[Floats, Floats],
    loose: list[int],
) -> Floats:
    """The share of a window that is filled by other work than usual, or by loose kinds."""
    more, less = _beyond_usual(columns, usual)
    other_work = np.maximum(more.sum(axis=1), less.sum(axis=1))
    return np.asarray(np.maximum(other_work, columns[:, loose].sum(axis=1)))


def moved_windows(
    lo: Floats,
    hi: Floats,
    place: float,
    length: float,
) -> tuple[Floats, Floats]:
    """Windows laid so many seconds later, and made so many times as long: a reading's end is what
    is known of it.
    """
    return hi - length * (hi - lo) + place, hi + place

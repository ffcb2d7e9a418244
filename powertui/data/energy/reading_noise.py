"""What the differences from reading to reading show of a sensor: its noise, and what repeats.

What readings differ by from what was expected of them is `findings/residual_noise`.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import settings
from powertui.data.model import Floats
from powertui.data.quantiles import percentile_of_column

# ── what repeats ──
# From which on differences repeat. Chosen: half of what a load that repeats exactly has.
_REPEAT_CORRELATION = settings.MAJORITY_SHARE
_MAX_LAGS = 256  # readings: longer periods are not looked for
_MIN_LAGS = settings.MIN_SPREAD_VALUES
_BEAT_DIFFERENCES = 4096  # of the liveliest part of the log, which are asked for a period
# Differences that are looked at together: so few take no fresh memory.
_PIECE_DIFFERENCES = 4 * _BEAT_DIFFERENCES

# ── noise ──
_MAX_DIFFERENCES = 64 * 4096 - 1  # that are asked for noise: a bound of time
_STRETCH_DIFFERENCES = 6  # of neighbors, that make up one stretch
_BATCH_STRETCHES = _BEAT_DIFFERENCES // 2  # so few take no fresh memory
# Mean of the smaller half of the sizes of a normal distribution, in standard deviations.
_SMALLER_HALF_MEAN = 0.3246
_FEWEST_STRETCHES = settings.MIN_SPREAD_VALUES
_MIN_STRETCHES = 20  # of which the quietest twentieth is one
# With fewer, the smallest differences are too few as well: with 4 the joules of a 10 s sensor were
# off by ten standard deviations in one of 29 windows (make_whole(0)).
_MIN_SHORT_STRETCHES = settings.MIN_SAMPLE_VALUES
# A fifth of differences are smaller than this many standard deviations of a normal distribution.
_QUIET_SHARE, _QUIET_QUANTILE = 5, 0.2533
# The 5 % point of chi-square with six degrees of freedom, as a share of its mean.
_CHI_SQUARE_5_PERCENT = 0.2725

_SPREAD_READINGS = 4096  # that are asked for how far power strays


def spread(level: Floats) -> float:
    """How far the power strays: over some thousand knots, for it only says how little a gap is
    known.
    """
    if not len(level):
        return 0.0
    every = max(1, len(level) // _SPREAD_READINGS)
    return float(level[::every].std())


def beat(moved: Floats) -> tuple[float, float]:
    """After how many readings a load that repeats is met at the same place again, and how many
    readings long that goes on.

    Steps of 0.2 s that are looked at every 0.1 s show the same two places of each: more readings
    show no more.
    """
    changes = moved[moved != 0]
    if len(changes) > _BEAT_DIFFERENCES:
        first = _liveliest(changes)
        changes = changes[first : first + _BEAT_DIFFERENCES]
    lags = min(_MAX_LAGS, len(changes) // 3)
    if lags < _MIN_LAGS:
        return 1.0, 1.0
    correlation = _autocorrelation(changes, lags)
    repeats = np.flatnonzero(correlation[2:] > _REPEAT_CORRELATION) + 2
    if not len(repeats):
        return 1.0, 1.0
    period = int(repeats[0])
    at_periods = correlation[period::period]
    lost = np.flatnonzero(at_periods < _REPEAT_CORRELATION / 2)
    if len(lost):
        at_periods = at_periods[: int(lost[0])]
    readings = period * (1 + 2 * at_periods.sum())
    return float(period), float(readings)


def _autocorrelation(changes: Floats, lags: int) -> Floats:
    """The correlation of changes with those so many readings later, up to `lags`."""
    count = len(changes)
    # Twice as long, so that the end is not compared with the beginning.
    size = 1 << (2 * count - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(changes, size)) ** 2
    products = np.fft.irfft(spectrum, size)[: lags + 1]
    pairs = count - np.arange(lags + 1)
    correlation: Floats = products / products[0] * count / pairs
    return correlation


def _liveliest(changes: Floats) -> int:
    """Where the part of `_BEAT_DIFFERENCES` begins in which power moves most."""
    sums = []
    for at in range(0, len(changes), _PIECE_DIFFERENCES):
        piece = changes[at : at + _PIECE_DIFFERENCES]
        starts = np.arange(0, len(piece), _BEAT_DIFFERENCES)
        sums.append(np.add.reduceat(piece * piece, starts))
    liveliest = int(np.concatenate(sums).argmax())
    return liveliest * _BEAT_DIFFERENCES


def sensor_noise_w(moved: Floats, quantum: float) -> float:
    """The noise of one reading beside its rounding: from the quietest twentieth of the stretches,
    for elsewhere the power moves.

    `moved`: from each reading to the next; it is written over.
    """
    moved = moved[:_MAX_DIFFERENCES]
    count = len(moved) // _STRETCH_DIFFERENCES
    if count < _FEWEST_STRETCHES:
        return 0.0
    variances = _stretch_variances(moved, count)
    np.abs(moved, out=moved)
    moved.sort()
    smaller_half = moved[: len(moved) // 2]
    # It may be quiet nowhere for long: then the smallest differences of all show it.
    by_stretches = percentile_of_column(variances, 5) / _CHI_SQUARE_5_PERCENT
    deviation = smaller_half.mean() / _SMALLER_HALF_MEAN
    least = min(by_stretches, deviation**2 / 2)
    if _MIN_SHORT_STRETCHES <= count < _MIN_STRETCHES:
        # No twentieth of so few stretches is quiet, and of a slow sensor nearly every reading is of
        # other work than the one before.
        quiet = float(moved[len(moved) // _QUIET_SHARE])
        deviation = quiet / _QUIET_QUANTILE
        least = min(least, deviation**2 / 2)
    by_rounding = quantum**2 / 12
    return float(np.sqrt(max(least - by_rounding, 0.0)))


def _stretch_variances(moved: Floats, count: int) -> Floats:
    """The variance of one reading by the differences of each stretch."""
    size = _STRETCH_DIFFERENCES
    variances = np.empty(count)
    for first in range(0, count, _BATCH_STRETCHES):
        last = min(first + _BATCH_STRETCHES, count)
        batch = moved[first * size : last * size]
        squares = batch.reshape(-1, size) ** 2
        variances[first:last] = squares.mean(axis=1) / 2
    return variances

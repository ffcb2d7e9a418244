"""What a machine draws while it waits, by a line through its readings: the watts at which no
reading would hold anything but waits.

Readings that follow slowly hold waits of some time ago as well, and less of each: with a line
through the shares of their own windows the watts came out 14 % too high where they follow within
0.5 s, and 100 % where they follow within 3 s. So the same line is put through shares that follow
as slowly, for all times that come into question, and the readings themselves show which explain
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from powertui.data import student
from powertui.data.energy import settings
from powertui.data.energy.robust_stats import TAILS
from powertui.data.model import PS_PER_S, Bools, Floats
from powertui.data.tools.covered_time import CoveredTime
from powertui.named_tuples import NamedTuple

# Correlation of neighboring readings: at 1 all together would count for nothing.
_MAX_LAG = settings.MAX_NEIGHBOR_CORRELATION
# Within which readings may follow, s: a board's capacitors and converters to averages in firmware.
# Each is 1.6 times the one before: finer ones are tried around those that explain the readings.
_FOLLOW_S = (0.05, 0.08, 0.128, 0.205, 0.328, 0.524, 0.839, 1.34, 2.15, 3.44, 5.5, 8.8)
# Of a reading's window: what follows sooner is prompt.
_PROMPT_SHARE = settings.NOTABLE_SHARE
# … and of the run: of what follows more slowly it shows too little.
_MAX_RUN_SHARE = settings.MINOR_SHARE
_GRID_CELLS = 1 << 16  # of a run: half a MB for each curve, and 5 ms for each time
_MEMORY_TIMES = -math.log(settings.NEGLIGIBLE_SHARE)  # after so many times that much is left
# Of a reading's memory: less of it from before the run, in all readings, is none.
_MIN_OUTSIDE = settings.NEGLIGIBLE_SHARE


class Fits(NamedTuple):
    """Lines through the same readings: the watts at a share of 1 by each of them."""

    watts: Floats
    half: Floats  # of the 95 % interval
    squares: Floats  # of what each leaves unexplained; infinite where there is no line


def fits(shares: Floats, watts: Floats, outside: Floats | None = None) -> Fits:
    """The watts at a share of 1, by a line through the readings for each row of `shares`.

    `outside`: the share of each reading that is of the time before or after the run, at a power of
    its own.
    """
    columns = [np.ones_like(shares), shares]
    if outside is not None and float(outside.max(initial=0.0)) > _MIN_OUTSIDE:
        columns.append(outside)
    design = np.stack(columns, axis=-1)
    line = _lines(design, np.broadcast_to(watts, shares.shape))
    residuals = watts - (design @ line[..., None])[..., 0]
    lag = _lags(residuals)[:, None]
    # What one reading shares with the one before is taken out (Cochrane and Orcutt), so that those
    # that remain are independent.
    x = design[:, 1:] - lag[..., None] * design[:, :-1]
    y = watts[1:] - lag * watts[:-1]
    line = _lines(x, y)
    left = y - (x @ line[..., None])[..., 0]
    squares = np.maximum((left**2).sum(axis=1), 1e-9)
    freedom = x.shape[1] - x.shape[2]
    at_one = np.zeros(x.shape[2])
    at_one[:2] = 1.0
    spread = at_one @ _inverse(x) @ at_one
    error = np.sqrt(squares / freedom * np.maximum(spread, 0.0))
    value = line @ at_one
    is_line = np.isfinite(value) & np.isfinite(error)
    return Fits(
        watts=np.where(is_line, value, 0.0),
        half=np.where(is_line, student.upper_quantile(freedom, TAILS[0]) * error, 0.0),
        squares=np.where(is_line, squares, np.inf),
    )


def _inverse(designs: Floats) -> Floats:
    """(XᵀX)⁻¹ of each design X, one below the other; NaN where columns of X do not differ.

    With D, the lengths of the columns, XᵀX = D C D: C holds the cosines between columns. C is
    judged and inverted instead of XᵀX, because columns of small shares are short, and that is no
    reason to give up.
    """
    products = np.asarray(np.swapaxes(designs, -1, -2) @ designs, np.float64)
    lengths = np.sqrt(np.diagonal(products, axis1=-2, axis2=-1))
    lengths = np.asarray(np.where(lengths > 0, lengths, np.nan), np.float64)
    cosines = _divided_by_lengths(products, lengths)
    has_cosines = np.asarray(np.isfinite(cosines).all(axis=(-2, -1)))
    cosines = _or_identity(cosines, has_cosines)
    # A smaller determinant is that of columns which are the same but for rounding.
    can_invert = has_cosines & (np.linalg.det(cosines) > np.finfo(np.float64).eps ** 0.5)
    inverse_of_cosines = np.linalg.inv(_or_identity(cosines, can_invert))
    inverse = _divided_by_lengths(np.asarray(inverse_of_cosines, np.float64), lengths)
    return np.asarray(np.where(can_invert[:, None, None], inverse, np.nan), np.float64)


def _divided_by_lengths(matrices: Floats, lengths: Floats) -> Floats:
    """D⁻¹ M D⁻¹ of each matrix M."""
    return np.asarray(matrices / lengths[..., :, None] / lengths[..., None, :], np.float64)


def _or_identity(matrices: Floats, is_usable: Bools) -> Floats:
    """Each matrix that can be used, and the identity, which can be inverted, for the others."""
    identity = np.eye(matrices.shape[-1])
    return np.asarray(np.where(is_usable[:, None, None], matrices, identity))


def _lines(design: Floats, values: Floats) -> Floats:
    products = np.swapaxes(design, -1, -2) @ values[..., None]
    return np.asarray((_inverse(design) @ products)[..., 0], np.float64)


def _lags(residuals: Floats) -> Floats:
    """How alike neighbors are, 0 to `_MAX_LAG`; the estimate of few is too low by (1 + 3ρ)/n."""
    squares = (residuals**2).sum(axis=1)
    products = (residuals[:, 1:] * residuals[:, :-1]).sum(axis=1)
    lag = products / np.where(squares > 0, squares, 1.0)
    lag = lag + (1 + 3 * lag) / residuals.shape[1]
    lag = np.where(squares > 0, lag, 0.0)
    return np.asarray(np.clip(np.nan_to_num(lag), 0.0, _MAX_LAG), np.float64)


class Following(NamedTuple):
    """How readings follow: within some time (s), as one charging capacitor does, or as two in a row
    of half that time each.
    """

    time_s: float
    stages: int


class Response:
    """What readings that follow slowly hold of waits."""

    def __init__(
        self,
        waits: Sequence[CoveredTime],
        span: tuple[int, int],
        window_s: float,
    ) -> None:
        self._waits = waits
        self._span_s = span[0] / PS_PER_S, span[1] / PS_PER_S
        run_s = self._span_s[1] - self._span_s[0]
        self._cell_s = max(_PROMPT_SHARE * window_s, run_s / _GRID_CELLS)
        self._shortest_s = _PROMPT_SHARE * window_s
        self._longest_s = min(run_s * _MAX_RUN_SHARE, _FOLLOW_S[-1])

    @property
    def followings(self) -> list[Following]:
        """All that come into question."""
        times_s = [time_s for time_s in _FOLLOW_S if self._is_possible(time_s)]
        return [Following(time_s, stages) for stages in (1, 2) for time_s in times_s]

    def near(self, following: Following, finer: float, count: int) -> list[Following]:
        """So many between this one and the next ones of the same kind; `finer`: so much
        nearer.
        """
        ratio = (_FOLLOW_S[1] / _FOLLOW_S[0]) ** finer
        steps = range(-count, count + 1)
        times_s = [following.time_s * ratio ** (step / count) for step in steps]
        return [
            Following(time_s, following.stages) for time_s in times_s if self._is_possible(time_s)
        ]

    def is_longest(self, following: Following) -> bool:
        """Whether readings that follow more slowly still are not tried."""
        ratio = _FOLLOW_S[1] / _FOLLOW_S[0]
        return following.time_s * ratio > self._longest_s

    def _is_possible(self, time_s: float) -> bool:
        return self._shortest_s < time_s <= self._longest_s

    def shares(self, lo_s: Floats, hi_s: Floats, following: Following) -> tuple[Floats, Floats]:
        """Of readings over such windows: the share that is of waits, and the share that is of the
        time before or after the run.
        """
        edges_s, waited, outside = self._followed(following)
        length_s = np.maximum(hi_s - lo_s, 1e-9)
        parts = []
        for curve in (waited, outside):
            inside = np.interp(hi_s, edges_s, curve) - np.interp(lo_s, edges_s, curve)
            parts.append(np.asarray(inside / length_s, np.float64))
        return parts[0], parts[1]

    def _followed(self, following: Following) -> tuple[Floats, Floats, Floats]:
        """The edges of cells (s), and up to each of them how long was waited, and how long was
        outside of the run, as what follows shows it.
        """
        begin_s, end_s = self._span_s
        before_s = _MEMORY_TIMES * following.time_s + self._cell_s
        count = int((end_s - begin_s + 2 * before_s) / self._cell_s) + 2
        edges_s: Floats = begin_s - before_s + self._cell_s * np.arange(count + 1, dtype=np.float64)
        edges_ps = np.rint(edges_s * PS_PER_S).astype(np.int64)
        waited = np.zeros(count)
        for stretches in self._waits:
            waited += stretches.inside(edges_ps[:-1], edges_ps[1:]) / PS_PER_S
        waited /= len(self._waits)
        in_run = np.clip(edges_s, begin_s, end_s)
        outside = self._cell_s - np.diff(in_run)
        weights = self._weights(following)
        curves: list[Floats] = []
        for amounts, at_first in ((waited, 0.0), (outside, self._cell_s)):
            padded = np.concatenate([np.full(len(weights), at_first), amounts])
            followed = _convolved(padded, weights)[len(weights) : len(weights) + count]
            curves.append(np.append(0.0, np.cumsum(followed)))
        return edges_s, curves[0], curves[1]

    def _weights(self, following: Following) -> Floats:
        """How much of what was so many cells ago a reading holds."""
        ago_s = np.arange(0.5 * self._cell_s, _MEMORY_TIMES * following.time_s, self._cell_s)
        stage_s = following.time_s / following.stages
        weights = np.exp(-ago_s / stage_s)
        if following.stages > 1:
            weights *= ago_s
        return np.asarray(weights / weights.sum(), np.float64)


def _convolved(values: Floats, weights: Floats) -> Floats:
    size = 1 << (len(values) + len(weights)).bit_length()
    spectrum = np.fft.rfft(values, size) * np.fft.rfft(weights, size)
    return np.asarray(np.fft.irfft(spectrum, size), np.float64)

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
from powertui.data.energy.robust_stats import TAILS, running_sums
from powertui.data.model import PS_PER_S, Bools, Floats
from powertui.data.tools.covered_time import CoveredTime
from powertui.named_tuples import NamedTuple

# The largest correlation of neighboring readings that is believed. At 1 each reading would repeat
# the one before, and all of them together would say nothing.
_MAX_CORRELATION = settings.MAX_NEIGHBOR_CORRELATION
# The times within which readings may follow, s: from a board's capacitors and converters (0.05) to
# averages in firmware (8.8). Each is 1.6 times the one before. `Response.near` tries finer ones
# around those that explain the readings.
_FOLLOW_S = (0.05, 0.08, 0.128, 0.205, 0.328, 0.524, 0.839, 1.34, 2.15, 3.44, 5.5, 8.8)
# A time that is a smaller share of a reading's window than this cannot be told from none.
_PROMPT_SHARE = settings.NOTABLE_SHARE
# A time that is a larger share of the run than this is not tried: the run shows too few waits.
_MAX_RUN_SHARE = settings.MINOR_SHARE
_GRID_CELLS = 1 << 16  # of a run: half a MB for each curve, and 5 ms for each time
# A reading has forgotten what was so many times ago: `NEGLIGIBLE_SHARE` of it is left.
_MEMORY_TIMES = -math.log(settings.NEGLIGIBLE_SHARE)
# The smallest share of any reading's memory, from outside of the run, that is fitted for.
_MIN_OUTSIDE_SHARE = settings.NEGLIGIBLE_SHARE
_TINY = 1e-9  # W², left unexplained: what is less is rounding, and would give an error of 0


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
    if outside is not None:
        most_outside = float(outside.max(initial=0.0))
        if most_outside > _MIN_OUTSIDE_SHARE:
            columns.append(outside)
    design = np.stack(columns, axis=-1)  # [lines × readings × columns]
    design, values = _without_correlation(design, watts)
    reading_count, column_count = design.shape[1:]
    line = _lines(design, values)
    residuals = values - _along(line, design)
    squares = np.maximum((residuals**2).sum(axis=1), _TINY)
    freedom = reading_count - column_count
    # The watts at a share of 1: the first coefficient, of no share, and the second, of all of it.
    at_full_share = np.zeros(column_count)
    at_full_share[:2] = 1.0
    watts_at_full = line @ at_full_share
    variance_factor = at_full_share @ _inverse(design) @ at_full_share
    variance_factor = np.maximum(variance_factor, 0.0)
    error = np.sqrt(squares / freedom * variance_factor)
    errors_of_interval = student.upper_quantile(freedom, TAILS[0])
    is_line = np.isfinite(watts_at_full) & np.isfinite(error)
    return Fits(
        watts=np.where(is_line, watts_at_full, 0.0),
        half=np.where(is_line, errors_of_interval * error, 0.0),
        squares=np.where(is_line, squares, np.inf),
    )


def _without_correlation(design: Floats, watts: Floats) -> tuple[Floats, Floats]:
    """The design and the readings of each line without what a reading shares with the one before
    (Cochrane and Orcutt): errors of those that remain are independent.
    """
    watts_of_lines = np.broadcast_to(watts, design.shape[:2])
    line = _lines(design, watts_of_lines)
    residuals = watts - _along(line, design)
    correlation = _neighbor_correlations(residuals)[:, None]
    # The first column of ones stays one but for a factor, which a line takes up.
    shared_design = correlation[..., None] * design[:, :-1]
    shared_watts = correlation * watts[:-1]
    return design[:, 1:] - shared_design, watts[1:] - shared_watts


def _along(line: Floats, design: Floats) -> Floats:
    """What each line says of each of its readings."""
    products: Floats = design @ line[..., None]
    return products[..., 0]


def _lines(design: Floats, values: Floats) -> Floats:
    """The coefficients of each line, by least squares; NaN where its columns do not differ."""
    products = np.swapaxes(design, -1, -2) @ values[..., None]
    coefficients: Floats = _inverse(design) @ products
    return coefficients[..., 0]


def _inverse(designs: Floats) -> Floats:
    """(XᵀX)⁻¹ of each design X, one below the other; NaN where columns of X do not differ.

    With D, the lengths of the columns, XᵀX = D C D: C holds the cosines between columns. C is
    judged and inverted instead of XᵀX, because columns of small shares are short, and that is no
    reason to give up.
    """
    transposed = np.swapaxes(designs, -1, -2)
    products: Floats = transposed @ designs
    squares = np.diagonal(products, axis1=-2, axis2=-1)
    lengths = np.sqrt(squares)
    lengths = np.where(lengths > 0, lengths, np.nan)
    cosines = _divided_by_lengths(products, lengths)
    has_cosines = np.asarray(np.isfinite(cosines).all(axis=(-2, -1)))
    cosines = _or_identity(cosines, has_cosines)
    # A smaller determinant is that of columns which are the same but for rounding.
    min_determinant = np.finfo(np.float64).eps ** 0.5
    can_invert = has_cosines & (np.linalg.det(cosines) > min_determinant)
    inverse_of_cosines = np.asarray(np.linalg.inv(_or_identity(cosines, can_invert)), np.float64)
    inverse = _divided_by_lengths(inverse_of_cosines, lengths)
    return np.where(can_invert[:, None, None], inverse, np.nan)


def _divided_by_lengths(matrices: Floats, lengths: Floats) -> Floats:
    """D⁻¹ M D⁻¹ of each matrix M."""
    by_rows: Floats = matrices / lengths[..., :, None]
    return by_rows / lengths[..., None, :]


def _or_identity(matrices: Floats, is_usable: Bools) -> Floats:
    """Each matrix that can be used, and the identity, which can be inverted, for the others."""
    identity = np.eye(matrices.shape[-1])
    return np.where(is_usable[:, None, None], matrices, identity)


def _neighbor_correlations(residuals: Floats) -> Floats:
    """How much of a reading's error is that of the one before, 0 to `_MAX_CORRELATION`.

    By few readings it comes out too low by (1 + 3ρ)/n (Kendall), which is added.
    """
    squares = (residuals**2).sum(axis=1)
    has_errors = squares > 0
    of_neighbors = residuals[:, 1:] * residuals[:, :-1]
    correlation = of_neighbors.sum(axis=1) / np.where(has_errors, squares, 1.0)
    too_low_by = (1 + 3 * correlation) / residuals.shape[1]
    correlation = correlation + too_low_by
    correlation = np.nan_to_num(np.where(has_errors, correlation, 0.0))
    return np.asarray(np.clip(correlation, 0.0, _MAX_CORRELATION))


class Following(NamedTuple):
    """How readings follow: as one charging capacitor does, or as two in a row."""

    time_s: float  # of all stages together
    stages: int  # 1 or 2: two take half of the time each


class Response:
    """What readings that follow slowly hold of waits."""

    def __init__(
        self,
        waits: Sequence[CoveredTime],
        span: tuple[int, int],
        window_s: float,
    ) -> None:
        self._waits = waits
        begin, end = span
        self._span_s = (begin / PS_PER_S, end / PS_PER_S)
        run_s = self._span_s[1] - self._span_s[0]
        self._shortest_s = _PROMPT_SHARE * window_s
        self._longest_s = min(run_s * _MAX_RUN_SHARE, _FOLLOW_S[-1])
        self._cell_s = max(self._shortest_s, run_s / _GRID_CELLS)

    @property
    def followings(self) -> list[Following]:
        """All that come into question."""
        followings = []
        for stages in (1, 2):
            for time_s in _FOLLOW_S:
                if self._is_possible(time_s):
                    followings.append(Following(time_s, stages))
        return followings

    def near(
        self,
        following: Following,
        finer: float,
        count: int,
    ) -> list[Following]:
        """This one, and `count` on either side of it. The farthest are the part `finer` of the way
        to the next time of `_FOLLOW_S`.
        """
        farthest_ratio = (_FOLLOW_S[1] / _FOLLOW_S[0]) ** finer
        followings = []
        for step in range(-count, count + 1):
            time_s = following.time_s * farthest_ratio ** (step / count)
            if self._is_possible(time_s):
                followings.append(Following(time_s, following.stages))
        return followings

    def is_longest(self, following: Following) -> bool:
        """Whether readings that follow more slowly still are not tried."""
        return following.time_s * _FOLLOW_S[1] / _FOLLOW_S[0] > self._longest_s

    def _is_possible(self, time_s: float) -> bool:
        return self._shortest_s < time_s <= self._longest_s

    def shares(
        self,
        lo_s: Floats,
        hi_s: Floats,
        following: Following,
    ) -> tuple[Floats, Floats]:
        """Of readings over such windows: the share that is of waits, and the share that is of the
        time before or after the run.
        """
        edges_s, waited, outside = self._followed(following)
        length_s = np.maximum(hi_s - lo_s, 1e-9)

        def share(curve: Floats) -> Floats:
            until_hi = np.interp(hi_s, edges_s, curve)
            until_lo = np.interp(lo_s, edges_s, curve)
            return np.asarray((until_hi - until_lo) / length_s)

        return share(waited), share(outside)

    def _followed(self, following: Following) -> tuple[Floats, Floats, Floats]:
        """The edges of cells (s), and up to each of them how long was waited, and how long was
        outside of the run, as what follows shows it.
        """
        edges_s = self._cell_edges(following)
        weights = self._weights(following)
        in_run_s = np.diff(np.clip(edges_s, *self._span_s))
        outside_s = self._cell_s - in_run_s
        # Before the first cell nothing was waited for, and all of the time was outside.
        waited_s = _as_followed(self._waited(edges_s), 0.0, weights)
        outside_s = _as_followed(outside_s, self._cell_s, weights)
        return edges_s, running_sums(waited_s), running_sums(outside_s)

    def _cell_edges(self, following: Following) -> Floats:
        """Cells over the run, and on either side of it as far as readings remember."""
        begin_s, end_s = self._span_s
        beside_s = _MEMORY_TIMES * following.time_s + self._cell_s
        length_s = end_s - begin_s + 2 * beside_s
        count = int(length_s / self._cell_s) + 2
        first_s = begin_s - beside_s
        cells = np.arange(count + 1, dtype=np.float64)
        edges_s: Floats = first_s + self._cell_s * cells
        return edges_s

    def _waited(self, edges_s: Floats) -> Floats:
        """How long was waited in each cell (s), as a mean of all that wait."""
        edges_ps = np.rint(edges_s * PS_PER_S).astype(np.int64)
        begins = edges_ps[:-1]
        ends = edges_ps[1:]
        waited = np.zeros(len(begins))
        for stretches in self._waits:
            waited += stretches.inside(begins, ends) / PS_PER_S
        waited /= len(self._waits)
        return waited

    def _weights(self, following: Following) -> Floats:
        """How much of what was so many cells ago a reading holds: all of it together is 1."""
        memory_s = _MEMORY_TIMES * following.time_s
        # From the middle of each cell.
        ago_s = np.arange(0.5 * self._cell_s, memory_s, self._cell_s)
        stage_s = following.time_s / following.stages
        weights = np.exp(-ago_s / stage_s)
        if following.stages > 1:
            weights *= ago_s  # the second stage only begins to follow when the first has changed
        return np.asarray(weights / weights.sum())


def _as_followed(amounts: Floats, before: float, weights: Floats) -> Floats:
    """What is shown of the amounts of cells; `before`: the amount of each cell before the first."""
    memory_cells = len(weights)
    amounts_before = np.full(memory_cells, before)
    padded = np.concatenate([amounts_before, amounts])
    followed = _convolved(padded, weights)
    return followed[memory_cells : memory_cells + len(amounts)]


def _convolved(values: Floats, weights: Floats) -> Floats:
    """By the spectra of both: a run has tens of thousands of cells, and a memory thousands."""
    length = len(values) + len(weights)
    size = 1 << length.bit_length()  # no end meets the other's beginning
    spectrum = np.fft.rfft(values, size) * np.fft.rfft(weights, size)
    return np.asarray(np.fft.irfft(spectrum, size))

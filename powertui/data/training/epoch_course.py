"""What the other epochs drew at the same time of theirs: validation at the end of each, a pause at
its begin.

An epoch that is longer than the others has its own pause somewhere, so its readings are held
against the others twice: by the time since its start, and by the time until its end. Foreign load
only adds. So of two other epochs the lower one is believed, and of more the middle one: a load in
one of them changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings.residual_noise import calm
from powertui.data.energy.robust_stats import MEDIAN_ERROR, rounding_sigma, spread
from powertui.data.energy.samples import Samples, usual_pace_s, usual_window_s
from powertui.data.model import Bools, Floats, Int64s
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Cells of an epoch at least and at most. This and the others here are chosen, not measured.
_CELL_RANGE = (4, 400)
# What other epochs drew more than their level counts from so many of its errors on: the rest is
# their noise.
_MIN_COURSE_ERRORS = settings.ORDINARY_SIGMAS
# Readings of an epoch that show its course.
_MIN_EPOCH_READINGS = settings.MIN_REPEATS
# Of the other epochs: so many of them draw less where that is usual.
_NEARLY_ALL = settings.LARGE_SHARE
# Of what other epochs drew more or less: as well as their median tells what this one draws.
_MIN_COURSE_ERROR = settings.BORROWED_ERROR_SHARE
# Of an epoch: what happens within it moves by no more when epochs are uneven.
_MAX_UNEVEN_SHARE = settings.MINOR_SHARE
_SQRT_2 = 2**0.5  # a difference of two readings scatters by so many times as much as one
# One line of an epoch: (start, end), s
_Spans = Sequence[tuple[float, float]]


class CourseRange(NamedTuple):
    """W above the level that the other epochs let one expect of each reading."""

    least: Floats
    most: Floats
    doubt: Floats  # one sigma of the nearer one of both


class _Range(NamedTuple):
    """What the others drew around some cells."""

    least: Floats
    doubt_of_least: Floats
    most: Floats
    doubt_of_most: Floats


@dataclass(frozen=True, eq=False)
class _Grid:
    """The cells of an epoch, and the readings as points on it."""

    middle: Floats  # s, of each reading
    residual: Floats
    judged: Bools
    count: int  # cells
    cell_s: float
    reach: int  # cells by which a reading and what it shows may be apart
    distance: float  # cells from a reading to the farthest that it tells of


def epoch_course(
    data: Samples,
    residual: Floats,
    judged: Bools,
    epochs: _Spans,
) -> CourseRange:
    """What each reading's epoch should draw above the level, by the other epochs."""
    rows = len(data)
    course = CourseRange(
        least=np.zeros(rows),
        most=np.zeros(rows),
        doubt=np.zeros(rows),
    )
    usual_s = usual_length(epochs)
    starts = [start for start, _ in epochs]
    ends = [end for _, end in epochs]
    # The first epoch starts as well: its training is as long as that of the others.
    starts[0] = max(starts[0], ends[0] - usual_s)
    grid = _grid(data, residual, judged, epochs)
    rounding_w = rounding_sigma(data.quantum)
    noise_w = max(_noise(residual[judged], rounding_w), rounding_w)
    by_start = np.array([_line(grid, start, 1.0) for start in starts])
    by_end = np.array([_line(grid, end, -1.0) for end in ends])
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        is_inside = (grid.middle >= start) & (grid.middle < end)
        inside = np.flatnonzero(judged & is_inside)
        middle = grid.middle[inside]
        since = ((middle - start) / grid.cell_s).astype(np.int64)
        until = ((end - middle) / grid.cell_s).astype(np.int64)
        others_by_start = np.delete(by_start, row, axis=0)
        others_by_end = np.delete(by_end, row, axis=0)
        from_start = _expected(others_by_start, since, grid, noise_w)
        from_end = _expected(others_by_end, until, grid, noise_w)
        least, doubt_of_least = _lower(from_start, from_end)
        most, doubt_of_most = _upper(from_start, from_end)
        is_high = residual[inside] > (least + most) / 2
        course.least[inside] = least
        course.most[inside] = most
        course.doubt[inside] = np.where(is_high, doubt_of_most, doubt_of_least)
    return course


def _noise(residual: Floats, rounding_w: float) -> float:
    """The deviation of single readings: of few, pauses and loads are most, but neighbors differ
    where one begins or ends alone.
    """
    of_all = spread(calm(residual, rounding_w))
    of_neighbors = spread(np.diff(residual)) / _SQRT_2
    return min(of_all, of_neighbors)


def _lower(first: _Range, second: _Range) -> tuple[Floats, Floats]:
    """(the lower one of both lower sides, its doubt)."""
    lower = np.minimum(first.least, second.least)
    is_first = first.least <= second.least
    doubt = np.where(is_first, first.doubt_of_least, second.doubt_of_least)
    return lower, doubt


def _upper(first: _Range, second: _Range) -> tuple[Floats, Floats]:
    """(the higher one of both upper sides, its doubt)."""
    upper = np.maximum(first.most, second.most)
    is_first = first.most >= second.most
    doubt = np.where(is_first, first.doubt_of_most, second.doubt_of_most)
    return upper, doubt


def _grid(
    data: Samples,
    residual: Floats,
    judged: Bools,
    epochs: _Spans,
) -> _Grid:
    """Cells as fine as the readings, of an epoch of the usual length."""
    usual_s = usual_length(epochs)
    pace_s = usual_pace_s(data, single=usual_s)
    window_s = usual_window_s(data)
    # Of readings that come unevenly some show less than a cell of the usual distance.
    finest_s = pace_s
    if window_s > 0:
        finest_s = min(pace_s, window_s)
    cells_of_readings = usual_s / max(finest_s, 1e-9)
    count = int(np.clip(cells_of_readings, *_CELL_RANGE))
    cell_s = usual_s / count
    # What happens in the middle of an epoch moves by half of what the epochs' lengths differ by.
    lengths = np.array([end - start for start, end in epochs[1:]])
    uneven_s = min(spread(lengths) / 2, _MAX_UNEVEN_SHARE * usual_s)
    reach_s = window_s / 2 + pace_s + uneven_s
    return _Grid(
        middle=(data.lo + data.hi) / 2,
        residual=residual,
        judged=judged,
        count=count,
        cell_s=cell_s,
        reach=int(np.ceil(reach_s / cell_s)),
        distance=max(2.0, pace_s / cell_s),
    )


def usual_length(epochs: _Spans) -> float:
    """How long an epoch usually takes, s; the first one starts as well, and does not count."""
    later_epochs = epochs[1:]
    lengths = sorted(end - start for start, end in later_epochs or epochs)
    middle = (len(lengths) - 1) // 2
    return lengths[middle]


def _line(grid: _Grid, anchor: float, direction: float) -> Floats:
    """What an epoch drew above its level, by the time since (or until) a moment of it."""
    since = direction * (grid.middle - anchor)
    length_s = grid.count * grid.cell_s
    is_inside = (since >= 0) & (since < length_s)
    rows = np.flatnonzero(grid.judged & is_inside)
    if len(rows) < _MIN_EPOCH_READINGS:
        return np.full(grid.count, np.nan)
    by_time = np.argsort(since[rows])
    rows = rows[by_time]
    position = since[rows] / grid.cell_s
    cells = np.arange(grid.count, dtype=np.float64) + 0.5
    values = np.interp(cells, position, grid.residual[rows])
    is_near = _to_nearest(position, cells) <= grid.distance
    return np.where(is_near, values, np.nan)


def _to_nearest(position: Floats, cells: Floats) -> Floats:
    """How far the nearest of these positions, which are in order, is from each cell."""
    last = len(position) - 1
    after = np.clip(position.searchsorted(cells), 0, last)
    before = np.maximum(after - 1, 0)
    to_after = np.abs(position[after] - cells)
    to_before = np.abs(position[before] - cells)
    return np.minimum(to_after, to_before)


def _expected(
    others: Floats,
    cells: Int64s,
    grid: _Grid,
    noise_w: float,
) -> _Range:
    """The range around each of these cells, as most of the other epochs show it."""
    counts = np.isfinite(others).sum(axis=0)
    lower, upper = _usual_range(others, counts)
    error = MEDIAN_ERROR * noise_w / np.sqrt(np.maximum(counts, 1))
    negligible_w = _MIN_COURSE_ERRORS * error
    lower = np.where(np.abs(lower) < negligible_w, 0.0, lower)
    upper = np.where(np.abs(upper) < negligible_w, 0.0, upper)
    least, doubt_of_least = _around_cells(
        values=upper,
        error=error,
        cells=cells,
        grid=grid,
        pick=np.argmin,
    )
    most, doubt_of_most = _around_cells(
        values=lower,
        error=error,
        cells=cells,
        grid=grid,
        pick=np.argmax,
    )
    return _Range(
        least=least,
        doubt_of_least=doubt_of_least,
        most=most,
        doubt_of_most=doubt_of_most,
    )


def _usual_range(others: Floats, counts: Int64s) -> tuple[Floats, Floats]:
    """Of each cell (the least, the most) that is usual; `counts`: how many epochs have it."""
    ordered = np.sort(np.where(np.isfinite(others), others, np.inf), axis=0)
    columns = np.arange(ordered.shape[1])
    last = counts - 1
    last_row = np.maximum(last, 0)
    is_there = counts > 0

    def ranked(rank: Floats | Int64s) -> Floats:
        row = np.clip(rank, 0, last_row).astype(np.int64)
        return np.where(is_there, ordered[row, columns], 0.0)

    # Most of the others have to draw more for that to be usual; and nearly all have to draw less,
    # for one that paused says nothing of this one.
    nearly_all = np.ceil(_NEARLY_ALL * counts) - 1
    lower = ranked(last // 2)
    upper = ranked(counts // 2)
    nearly_all_less = np.minimum(ranked(nearly_all), 0.0)
    nearly_all_more = np.maximum(ranked(last - nearly_all), 0.0)
    lower = np.where(lower > 0, lower, nearly_all_less)
    upper = np.where(upper < 0, upper, nearly_all_more)
    # Of one other epoch alone nobody knows which of the two is as usual: what is between it and the
    # level is explained.
    is_alone = counts < 2
    lower = np.where(is_alone, np.maximum(lower, 0.0), lower)
    upper = np.where(is_alone, np.minimum(upper, 0.0), upper)
    return lower, upper


def _around_cells(
    values: Floats,
    error: Floats,
    cells: Int64s,
    grid: _Grid,
    pick: Callable[..., Int64s],
) -> tuple[Floats, Floats]:
    """The extreme value within reach of each of these cells, and its doubt.

    `pick`: which one of the neighbors.
    """
    course_error = _MIN_COURSE_ERROR * np.abs(values)
    doubt = np.where(values == 0.0, 0.0, np.hypot(error, course_error))
    values_around = _around(values, grid.reach)
    doubts_around = _around(doubt, grid.reach)
    chosen = pick(values_around, axis=1)
    rows = np.arange(grid.count)
    extremes = values_around[rows, chosen]
    doubts = doubts_around[rows, chosen]
    # Beyond what the other epochs are long, their level is all that is known.
    beyond = cells >= grid.count
    inside = np.minimum(cells, grid.count - 1)
    extreme = np.where(beyond, 0.0, extremes[inside])
    return extreme, np.where(beyond, 0.0, doubts[inside])


def _around(values: Floats, reach: int) -> Floats:
    """[cells, neighbors]: behind the end of an epoch begins the next one."""
    padded = np.pad(values, reach, mode="wrap")
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1))

"""What the other epochs drew at the same time of theirs: validation at the end of each, a pause at
its begin.

An epoch that is longer than the others has its own pause somewhere, so its readings are held
against the others twice: by the time since its start, and by the time until its end. Foreign load
only adds. So of two other epochs the lower one is believed, and of more the middle one: a load in
one of them changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui.data.energy.findings.noise import calm, spread
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats, Int64s
from powertui.value_types import dataclass

# Cells of an epoch at least and at most. This and the others here are chosen, not measured.
_CELL_RANGE = (4, 400)
# What other epochs drew more than their level counts from so many of its errors on: the rest is
# their noise.
_MIN_COURSE_ERRORS = 3.0
# Readings of an epoch that show its course.
_MIN_EPOCH_READINGS = 3
# Of the other epochs: so many of them draw less where that is usual.
_NEARLY_ALL = 0.75
# The error of a median over that of a mean, of normal values.
_MEDIAN_ERROR = 1.25
# Of what other epochs drew more or less: as well as their median tells what this one draws.
_MIN_COURSE_ERROR = 0.1
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


def epoch_course(data: Samples, residual: Floats, judged: Bools, epochs: _Spans) -> CourseRange:
    """What each reading's epoch should draw above the level, by the other epochs."""
    rows = len(data)
    course = CourseRange(np.zeros(rows), np.zeros(rows), np.zeros(rows))
    lengths = np.array([end - start for start, end in epochs])
    usual_s = usual_length(epochs)
    starts = [
        max(start, end - usual_s) if not row else start for row, (start, end) in _rows(epochs)
    ]
    pace_s = float(np.median(np.diff(data.hi))) if rows > 1 else usual_s
    window_s = float(np.median(data.hi - data.lo))
    # Of readings that come unevenly some show less than a cell of the usual distance.
    finest_s = min(pace_s, window_s) if window_s > 0 else pace_s
    count = int(np.clip(usual_s / max(finest_s, 1e-9), *_CELL_RANGE))
    cell_s = usual_s / count
    # What happens in the middle of an epoch moves by half of what the epochs' lengths differ by.
    uneven_s = spread(lengths[1:]) / 2
    grid = _Grid(
        (data.lo + data.hi) / 2,
        residual,
        judged,
        count,
        cell_s,
        int(np.ceil((window_s / 2 + pace_s + min(uneven_s, 0.1 * usual_s)) / cell_s)),
        max(2.0, pace_s / cell_s),
    )
    noise_w = max(spread(calm(residual[judged], data.quantum / 12**0.5)), data.quantum / 12**0.5)
    by_start = np.array([_line(grid, start, 1.0) for start in starts])
    by_end = np.array([_line(grid, end, -1.0) for _, end in epochs])
    for row, (_, end) in _rows(epochs):
        inside = np.flatnonzero(judged & (grid.middle >= starts[row]) & (grid.middle < end))
        since = ((grid.middle[inside] - starts[row]) / cell_s).astype(np.int64)
        until = ((end - grid.middle[inside]) / cell_s).astype(np.int64)
        ranges = [
            _expected(np.delete(lines, row, axis=0), cells, grid, noise_w)
            for lines, cells in ((by_start, since), (by_end, until))
        ]
        least, most = (
            np.array([getattr(one, side) for one in ranges]) for side in ("least", "most")
        )
        doubts = np.array(
            [[one.doubt_of_least for one in ranges], [one.doubt_of_most for one in ranges]]
        )
        course.least[inside] = least.min(axis=0)
        course.most[inside] = most.max(axis=0)
        columns = np.arange(len(inside))
        high = residual[inside] > (least.min(axis=0) + most.max(axis=0)) / 2
        course.doubt[inside] = np.where(
            high,
            doubts[1, most.argmax(axis=0), columns],
            doubts[0, least.argmin(axis=0), columns],
        )
    return course


def usual_length(epochs: _Spans) -> float:
    """How long an epoch usually takes, s; the first one starts as well, and does not count."""
    lengths = sorted(end - start for start, end in epochs[1:] or epochs)
    return lengths[(len(lengths) - 1) // 2]


def _rows(epochs: _Spans) -> list[tuple[int, tuple[float, float]]]:
    return list(enumerate(epochs))


def _line(grid: _Grid, anchor: float, direction: float) -> Floats:
    """What an epoch drew above its level, by the time since (or until) a moment of it."""
    nothing = np.full(grid.count, np.nan)
    since = direction * (grid.middle - anchor)
    rows = np.flatnonzero(grid.judged & (since >= 0) & (since < grid.count * grid.cell_s))
    if len(rows) < _MIN_EPOCH_READINGS:
        return nothing
    order = rows[np.argsort(since[rows])]
    at = since[order] / grid.cell_s
    cells = np.arange(grid.count) + 0.5
    values = np.interp(cells, at, grid.residual[order])
    after = np.clip(np.searchsorted(at, cells), 0, len(at) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.minimum(np.abs(at[after] - cells), np.abs(at[before] - cells))
    return np.where(nearest <= grid.distance, values, np.nan)


def _expected(others: Floats, cells: Int64s, grid: _Grid, noise_w: float) -> _Range:
    """The range around each of these cells, as most of the other epochs show it."""
    known = np.isfinite(others).sum(axis=0)
    ordered = np.sort(np.where(np.isfinite(others), others, np.inf), axis=0)

    def ranked(rank: Floats | Int64s) -> Floats:
        row = np.clip(rank, 0, np.maximum(known - 1, 0)).astype(np.int64)
        return np.where(known > 0, ordered[row, np.arange(grid.count)], 0.0)

    # Most of the others have to draw more for that to be usual; and nearly all have to draw less,
    # for one that paused says nothing of this one.
    nearly_all = np.ceil(_NEARLY_ALL * known) - 1
    lower, upper = ranked((known - 1) // 2), ranked(known // 2)
    lower = np.where(lower > 0, lower, np.minimum(ranked(nearly_all), 0.0))
    upper = np.where(upper < 0, upper, np.maximum(ranked(known - 1 - nearly_all), 0.0))
    # Of one other epoch alone nobody knows which of the two is as usual: what lies between it and
    # the level is explained.
    lower = np.where(known < 2, np.maximum(lower, 0.0), lower)
    upper = np.where(known < 2, np.minimum(upper, 0.0), upper)
    error = _MEDIAN_ERROR * noise_w / np.sqrt(np.maximum(known, 1))
    lower = np.where(np.abs(lower) < _MIN_COURSE_ERRORS * error, 0.0, lower)
    upper = np.where(np.abs(upper) < _MIN_COURSE_ERRORS * error, 0.0, upper)
    # Beyond what the other epochs are long, their level is all that is known.
    beyond = cells >= grid.count
    inside = np.minimum(cells, grid.count - 1)
    sides = []
    for values, pick in ((upper, np.argmin), (lower, np.argmax)):
        doubt = np.where(values == 0.0, 0.0, np.hypot(error, _MIN_COURSE_ERROR * np.abs(values)))
        around = _around(values, grid.reach)
        chosen = pick(around, axis=1)
        for column in (around, _around(doubt, grid.reach)):
            sides.append(np.where(beyond, 0.0, column[np.arange(grid.count), chosen][inside]))
    least, doubt_of_least, most, doubt_of_most = sides
    return _Range(least, doubt_of_least, most, doubt_of_most)


def _around(values: Floats, reach: int) -> Floats:
    """[cells, neighbors]: behind the end of an epoch begins the next one."""
    padded = np.pad(values, reach, mode="wrap")
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1))

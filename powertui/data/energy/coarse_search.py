"""The first pass of alignment by signal: every possible offset, on an evenly spaced grid, by plain
least squares.

On an even grid the columns of the fit are the same for every offset and only slide along the power,
so that all sums come from sliding products: a day of log costs a second.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import nnls, settings
from powertui.data.energy.samples import Samples, usual_window_s
from powertui.data.energy.window_shares import WindowShares
from powertui.data.model import Bools, Floats
from powertui.data.quantiles import median_of_column, percentiles_of_column
from powertui.named_tuples import NamedTuple

MAX_CANDIDATES = 24  # that the finer passes get

# ── the grid: bounds of time ──
_MAX_PROFILE_CELLS = 1500
_MAX_LOG_CELLS = 200_000
_CHUNK_PRODUCTS = 2_000_000  # windows times cells that are copied at once

# ── which offsets count ──
_MIN_CELLS = settings.MIN_SPREAD_VALUES  # of a profile, and of the readings within it
_MIN_COVERED_SHARE = 0.15  # of the profile: with less, least squares explains anything
# The constant of the fit is the idle machine. Counted so many times, it stays near the log's floor.
_FLOOR_WEIGHT = 4.0
# Parts of a profile by which candidates differ that are to come from other regions of the log.
_OTHER_REGION_SHARE = 1 / 16
_FAR_REGION_SHARE = settings.VISIBLE_SHARE


class _EvenPower(NamedTuple):
    """A log's power in cells of one length."""

    begin: float  # s
    step: float  # s
    middle_w: float
    above_middle_w: Floats  # 0 where there is no reading
    has_reading: Bools


class _Template(NamedTuple):
    """What the work of a profile fills of each cell, around the profile too."""

    begin: float  # s, of the first cell's end
    columns: Floats  # [cell, kind of work]; column 0 is 1 everywhere
    is_profiled: Bools


class _Sums(NamedTuple):
    """Sums of least squares at each offset, against the middle of the log unless said otherwise."""

    offsets: Floats
    gram: Floats
    moment: Floats  # of the power itself
    squares: Floats
    total: Floats
    profiled_cells: Floats  # with a reading

    def rows(self, rows: Bools) -> _Sums:
        """Those of some offsets."""
        return _Sums._make(column[rows] for column in self)


def candidates(
    data: Samples,
    shares: WindowShares,
    lo: float,
    hi: float,
    floor_w: float = 0.0,
) -> Floats:
    """The best offsets of a grid over everything, best first: plain least squares on evenly
    resampled power.
    """
    first, last = shares.span
    length = last - first
    power = _even_power(data, length)
    template = _template(data, shares, power.step)
    if len(template.columns) < _MIN_CELLS:
        return np.empty(0)
    sums = _sliding_sums(power, template)
    enough_cells = max(_MIN_CELLS, _MIN_COVERED_SHARE * template.is_profiled.sum())
    is_in_range = (sums.offsets >= lo) & (sums.offsets <= hi)
    in_question = is_in_range & (sums.profiled_cells >= enough_cells)
    if not in_question.any():
        return np.empty(0)
    sums = sums.rows(in_question)
    squares = _squares_above_floor(power, sums, floor_w)

    least = apart(data, length, power.step)
    # Cells that an offset does not use are compared as if they stayed at the middle.
    cost = squares.residual - sums.squares
    best = separated(sums.offsets, cost, least, MAX_CANDIDATES // 3)
    # And the best of other regions, and those that leave least of what there is: plain least
    # squares is drawn aside by what no trace shows, and a long log may hold much of that.
    region = max(length * _OTHER_REGION_SHARE, 2 * least)
    elsewhere = separated(sums.offsets, cost, region, MAX_CANDIDATES)
    best = _more(best, elsewhere, least, 2 * MAX_CANDIDATES // 3)

    far_region = max(length * _FAR_REGION_SHARE, 2 * least)
    residual_share = _residual_share(data, squares)
    explained_most = separated(sums.offsets, residual_share, far_region, MAX_CANDIDATES)
    return _more(best, explained_most, least, MAX_CANDIDATES)


class _Squares(NamedTuple):
    """Sums of squared watts above the floor of the log, at each offset."""

    cells: Floats  # readings' cells that count, at least 1
    residual: Floats  # what a fit leaves
    variation: Floats  # around the mean of the cells


def _squares_above_floor(power: _EvenPower, sums: _Sums, floor_w: float) -> _Squares:
    """Power is counted from the floor of the log, where the idle machine is."""
    rise_w = power.middle_w - floor_w
    gram = sums.gram
    cells = gram[:, 0, 0]
    moment = sums.moment - floor_w * gram[:, 0, :]
    raw = sums.squares + 2 * rise_w * sums.total + rise_w**2 * cells
    residual = raw - _explained(gram, moment)
    cells = np.maximum(cells, 1.0)
    total = sums.total + rise_w * cells
    return _Squares(
        cells=cells,
        residual=residual,
        variation=raw - total**2 / cells,
    )


def _residual_share(data: Samples, squares: _Squares) -> Floats:
    """Which share of the variation the fit of each offset leaves, beside the least noise."""
    low_w, high_w = percentiles_of_column(data.watts, (5, 95))
    swing_w = float(high_w - low_w)
    noise = squares.cells * (settings.SAME_LEVEL_SHARE * swing_w) ** 2
    variation = np.maximum(squares.variation + noise, 1e-12)
    share: Floats = (squares.residual + noise) / variation
    return share


def _even_power(data: Samples, length: float) -> _EvenPower:
    """The log in cells; several readings of one cell count as their mean."""
    step = _cell_s(data, length)
    begin = float(data.hi[0])
    end = float(data.hi[-1])
    grid = np.arange(begin, end + step, step, dtype=np.float64)
    starts = np.searchsorted(data.hi, grid, side="left")
    ends = np.searchsorted(data.hi, grid + step, side="left")
    reading = starts.clip(0, len(data) - 1)
    until_reading_s = data.hi[reading] - grid
    has_reading = until_reading_s < 2.0 * max(data.refresh, step)
    sums = np.concatenate([[0.0], np.cumsum(data.watts)])
    count = np.maximum(ends - starts, 1)
    mean_w = (sums[ends] - sums[starts]) / count
    watts = np.where(ends > starts + 1, mean_w, data.watts[reading])
    middle_w = median_of_column(watts)
    return _EvenPower(
        begin=begin,
        step=step,
        middle_w=middle_w,
        above_middle_w=np.where(has_reading, watts - middle_w, 0.0),
        has_reading=has_reading,
    )


def _cell_s(data: Samples, length: float) -> float:
    """How long a cell is: half a refresh, longer where profile or log are long."""
    cell_s = max(data.refresh / 2, settings.INSTANT_S)
    log_length = float(data.hi[-1]) - float(data.hi[0])
    return max(
        min(data.refresh, cell_s),
        length / _MAX_PROFILE_CELLS,
        log_length / _MAX_LOG_CELLS,
    )


def _template(data: Samples, shares: WindowShares, step: float) -> _Template:
    first, last = shares.span
    length = last - first
    window = max(usual_window_s(data), step)
    around = margin(data, length)
    cells = int((length + 2 * around) / step)
    begin = first - around
    number = np.arange(1, cells + 1, dtype=np.float64)
    at: Floats = begin + step * number
    return _Template(
        begin=float(at[0]) if cells else first,
        columns=shares.rows(at - window, at),
        is_profiled=(at > first) & (at <= last),
    )


def _sliding_sums(power: _EvenPower, template: _Template) -> _Sums:
    """The sums of every offset at which template and log touch."""
    columns = template.columns
    cells, kinds = columns.shape
    nothing = np.zeros(cells)
    mask = power.has_reading.astype(np.float64)
    padded_w = np.concatenate([nothing, power.above_middle_w, nothing])
    padded_mask = np.concatenate([nothing, mask, nothing])

    pairs = [(first, second) for first in range(kinds) for second in range(first, kinds)]
    weights = [columns[:, first] * columns[:, second] for first, second in pairs]
    weights.append(template.is_profiled.astype(np.float64))
    products = _slide(padded_mask, np.stack(weights, axis=1))
    gram = np.empty((len(products), kinds, kinds))
    for column, (first, second) in enumerate(pairs):
        gram[:, first, second] = products[:, column]
        gram[:, second, first] = products[:, column]

    everywhere = np.ones((cells, 1))
    squares = _slide(padded_w**2, everywhere)
    total = _slide(padded_w, everywhere)
    # Cell k of the padded power is at begin + (k - cells) steps; the template's first cell is put
    # there.
    steps = np.arange(len(products)) - cells
    shifts = power.begin + power.step * steps
    return _Sums(
        offsets=template.begin - shifts,
        gram=gram,
        moment=_slide(padded_w, columns) + power.middle_w * gram[:, 0, :],
        squares=squares[:, 0],
        total=total[:, 0],
        profiled_cells=products[:, -1],
    )


def _explained(gram: Floats, moment: Floats) -> Floats:
    """The squares that the best watts of each offset explain."""
    held_to_floor = gram.copy()
    held_to_floor[:, 0, 0] *= _FLOOR_WEIGHT
    watts = nnls.many(held_to_floor, moment, exact=False)
    linear = 2 * np.einsum("dk,dk->d", watts, moment)
    quadratic = np.einsum("dk,dkl,dl->d", watts, gram, watts)
    explained: Floats = linear - quadratic
    return explained


def _more(chosen: Floats, others: Floats, least: float, most: int) -> Floats:
    """`chosen` with those of the others, best first, that are no nearer than `least` to any of
    them: `most` in all.
    """
    new: list[float] = []
    for offset in others.tolist():
        nearest = np.abs(chosen - offset).min()
        if nearest > least:
            new.append(offset)
    added = new[: most - len(chosen)]
    return np.concatenate([chosen, np.array(added, np.float64)])


def apart(data: Samples, length: float, step: float = 0.0) -> float:
    """The least distance (s) between candidates: nearer ones are the same place to this sensor."""
    window = usual_window_s(data)
    return max(2 * step, data.refresh, window, length / 100)


def margin(data: Samples, length: float) -> float:
    """How much of the log on either side of a profile is looked at: enough to see what its edges
    border on.
    """
    enough_s = 50 * data.refresh + length / 10
    return min(length / 2, enough_s)


def _slide(values: Floats, weights: Floats) -> Floats:
    """All windows of `values` @ weights, without ever copying these overlapping windows."""
    cells, columns = weights.shape
    windows = np.lib.stride_tricks.sliding_window_view(values, cells)
    out = np.empty((len(windows), columns))
    chunk = max(1, _CHUNK_PRODUCTS // max(cells, 1))
    for start in range(0, len(windows), chunk):
        part = slice(start, start + chunk)
        out[part] = np.ascontiguousarray(windows[part]) @ weights
    return out


def separated(
    offsets: Floats,
    score: Floats,
    distance: float,
    most: int,
) -> Floats:
    """The offsets of the lowest scores, best first, none nearer to another than `distance`."""
    chosen: list[float] = []
    remaining = offsets[np.argsort(score, kind="stable")]
    while len(remaining) and len(chosen) < most:
        best = remaining[0]
        chosen.append(float(best))
        is_away = np.abs(remaining - best) > distance
        remaining = remaining[is_away]
    return np.array(chosen)

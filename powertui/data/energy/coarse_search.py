"""The first pass of alignment by signal: every possible offset, on an evenly spaced grid, by plain
least squares.

On an even grid the columns of the fit are the same for every offset and only slide along the power,
so that all sums come from sliding products: a day of log costs a second.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import nnls
from powertui.data.energy.expected_work import WindowShares
from powertui.data.energy.samples import Samples
from powertui.data.model import Floats

MAX_CANDIDATES = 24  # that the finer passes get
_MIN_NOISE_OF_SWING = 0.03  # as in signal_alignment: what kinds of work leave open anyway


def candidates(
    data: Samples, shares: WindowShares, lo: float, hi: float, floor_w: float = 0.0
) -> Floats:
    """The best offsets of a grid over everything, best first: plain least squares on evenly
    resampled power.
    """
    first, last = shares.span
    length = last - first
    begin, end = float(data.hi[0]), float(data.hi[-1])
    step = max(
        min(data.refresh, 0.1 if data.refresh < 0.2 else data.refresh / 2),
        length / 1500,
        (end - begin) / 200_000,
    )
    grid = np.arange(begin, end + step, step, dtype=np.float64)
    index = np.searchsorted(data.hi, grid, side="left").clip(0, len(data) - 1)
    has_sample = (data.hi[index] - grid) < 2.0 * max(data.refresh, step)
    sums = np.concatenate([[0.0], np.cumsum(data.watts)])
    edges = np.searchsorted(data.hi, grid + step, side="left")
    starts = np.searchsorted(data.hi, grid, side="left")
    is_shared = edges > starts + 1  # several samples in one cell: their mean
    values = np.where(
        is_shared, (sums[edges] - sums[starts]) / np.maximum(edges - starts, 1), data.watts[index]
    )
    width = max(float(np.median(data.hi - data.lo)), step)
    around = margin(data, length)
    cells = int((length + 2 * around) / step)
    if cells < 4:
        return np.empty(0)
    at = np.asarray(first - around + step * (np.arange(cells) + 1), np.float64)
    columns = shares.rows(np.asarray(at - width, np.float64), np.asarray(at, np.float64))
    inside = (at > first) & (at <= last)
    middle = float(np.median(values))
    padded = np.concatenate(
        [np.zeros(cells), np.where(has_sample, values - middle, 0.0), np.zeros(cells)]
    )
    mask = np.concatenate([np.zeros(cells), has_sample.astype(np.float64), np.zeros(cells)])
    count = columns.shape[1]
    pairs = [(i, j) for i in range(count) for j in range(i, count)]
    slide = np.lib.stride_tricks.sliding_window_view
    weights = np.stack(
        [columns[:, i] * columns[:, j] for i, j in pairs] + [inside.astype(np.float64)], axis=1
    )
    products = _correlate(slide(mask, cells), weights)
    gram = np.empty((len(products), count, count))
    for column, (i, j) in enumerate(pairs):
        gram[:, i, j] = gram[:, j, i] = products[:, column]
    moment = _correlate(slide(padded, cells), columns) + middle * gram[:, 0, :]  # column 0 is the 1
    squares = _correlate(slide(padded**2, cells), np.ones((cells, 1)))[:, 0]
    total = _correlate(slide(padded, cells), np.ones((cells, 1)))[:, 0]
    # Cell k of the padded power sits at grid[k - cells]; window j lays it on `at[0]`.
    offsets = at[0] - (grid[0] + step * (np.arange(len(products)) - cells))
    fine = (offsets >= lo) & (offsets <= hi) & (products[:, -1] >= max(4, 0.15 * inside.sum()))
    if not fine.any():
        return np.empty(0)
    # The idle machine stands at the floor of the log: everything is counted from there, and the
    # constant is held near it.
    rise = middle - floor_w
    gram, moment = gram[fine], moment[fine] - floor_w * gram[fine][:, 0, :]
    held = gram.copy()
    held[:, 0, 0] *= 4.0
    watts = nnls.many(held, moment, exact=False)
    explained = 2 * np.einsum("dk,dk->d", watts, moment) - np.einsum(
        "dk,dkl,dl->d", watts, gram, watts
    )
    raw = squares[fine] + 2 * rise * total[fine] + rise**2 * gram[:, 0, 0]
    score = (raw - explained) - squares[fine]  # against samples elsewhere, which stay at the median
    least = apart(data, length, step)
    best = separated(offsets[fine], score, least, MAX_CANDIDATES // 3)
    # And the best of other regions, and those that leave least of what there is: plain least
    # squares is drawn aside by what no trace shows, and a long log may hold much of that.
    away = separated(offsets[fine], score, max(length / 16, 2 * least), MAX_CANDIDATES)
    best = _more(best, away, least, 2 * MAX_CANDIDATES // 3)
    count = np.maximum(gram[:, 0, 0], 1.0)
    noise = count * (_MIN_NOISE_OF_SWING * float(np.ptp(np.percentile(data.watts, (5, 95))))) ** 2
    varies = raw - (total[fine] + rise * count) ** 2 / count
    share = (raw - explained + noise) / np.maximum(varies + noise, 1e-12)
    return _more(
        best,
        separated(offsets[fine], share, max(length / 4, 2 * least), MAX_CANDIDATES),
        least,
        MAX_CANDIDATES,
    )


def _more(chosen: Floats, others: Floats, least: float, most: int) -> Floats:
    """With those of the others, best first, that are no nearer than `least` to any of them: `most`
    in all.
    """
    new = [at for at in others.tolist() if np.abs(chosen - at).min() > least]
    return np.concatenate([chosen, np.array(new[: most - len(chosen)], np.float64)])


def apart(data: Samples, length: float, step: float = 0.0) -> float:
    """How far candidates lie from each other at least."""
    return max(2 * step, data.refresh, float(np.median(data.hi - data.lo)), length / 100)


def margin(data: Samples, length: float) -> float:
    """How much of the log on either side of a profile is looked at: enough to see what its edges
    border on.
    """
    return min(length / 2, 50 * data.refresh + length / 10)


def _correlate(windows: Floats, weights: Floats) -> Floats:
    """windows @ weights without ever copying the overlapping windows."""
    out = np.empty((len(windows), weights.shape[1]))
    chunk = max(1, 2_000_000 // max(windows.shape[1], 1))
    for start in range(0, len(windows), chunk):
        out[start : start + chunk] = np.ascontiguousarray(windows[start : start + chunk]) @ weights
    return out


def separated(offsets: Floats, score: Floats, distance: float, most: int) -> Floats:
    """The offsets of the lowest scores, best first, none nearer to another than `distance`."""
    chosen: list[float] = []
    for index in np.argsort(score, kind="stable"):
        if all(abs(offsets[index] - near) > distance for near in chosen):
            chosen.append(float(offsets[index]))
            if len(chosen) == most:
                break
    return np.array(chosen)

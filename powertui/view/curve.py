"""A curve in text: columns of samples become an envelope, the envelope becomes dots. Pure
arithmetic, no screen.

With braille a cell holds 2×4 dots; without, one mark. Where many samples share a column both their
lowest and their highest are drawn; where samples are rare the last value is held, as a step, until
the next one or until a hole. What nobody knows stays blank. Cost: two binary searches per column
and one pass over the samples that are shown.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from powertui.data.model import Bools, Floats, Int64s
from powertui.terminal.glyphs import Glyphs

# Bit of each dot in a braille cell: [row][column]
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], np.uint32)
_BLANK = 0x2800


class Envelope(NamedTuple):
    """Lowest and highest value of each column; NaN where nothing is known."""

    low: Floats
    high: Floats

    @property
    def known(self) -> Bools:
        """Columns that have a value."""
        known: Bools = ~np.isnan(self.low)
        return known


class Axis(NamedTuple):
    """The range that a chart shows, on round numbers."""

    lo: float
    hi: float
    step: float

    def ticks(self) -> list[float]:
        """The round values from lo to hi."""
        return [self.lo + i * self.step for i in range(round((self.hi - self.lo) / self.step) + 1)]

    def text(self, value: float) -> str:
        """A tick as text, with just the decimals that the step needs."""
        decimals = max(0, -math.floor(math.log10(self.step) + 1e-9))
        return f"{value:.{decimals}f}"


def envelope(
    times: Int64s,
    values: Floats,
    edges: Int64s,
    hold: int,
    *,
    high: Floats | None = None,
    until: Int64s | None = None,
) -> Envelope:
    """Lowest and highest value between neighbouring edges. `hold`: how long a value stands when
    none follows.

    `high` and `until`, where a value stands for many: `values` then are the lowest of each, from
    its time until that one.
    """
    columns = len(edges) - 1
    highs = values if high is None else high
    ends = times if until is None else until
    lowest = np.full(columns, np.nan)
    highest = np.full(columns, np.nan)
    if not len(times) or columns < 1:
        return Envelope(lowest, highest)
    bounds = np.searchsorted(times, edges)
    first = bounds[:-1]
    last = bounds[1:]
    filled = np.flatnonzero(last > first)
    if len(filled):
        # reduceat takes starts only: the columns in between are empty, so each start ends where the
        # next begins.
        lowest[filled] = np.fmin.reduceat(values[: bounds[-1]], first[filled])
        highest[filled] = np.fmax.reduceat(highs[: bounds[-1]], first[filled])
    before = first - 1
    rows = np.maximum(before, 0)
    held = (last == first) & (before >= 0) & (edges[:-1] - ends[rows] <= hold)
    lowest[held], highest[held] = values[rows[held]], highs[rows[held]]
    return Envelope(lowest, highest)


def axis(lowest: float, highest: float, rows: int) -> Axis:
    """A round range around the data with a tick every few rows.

    From zero, unless the data keep well away from it.
    """
    if math.isnan(lowest) or math.isnan(highest):
        lowest, highest = 0.0, 1.0
    if 0 <= lowest < 0.6 * highest or lowest == highest:
        lowest = min(lowest, 0.0)
    span = max(highest - lowest, abs(highest) * 1e-6, 1e-9)
    raw = span / max(2, rows // 4)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * (1 - 1e-9))
    lo = math.floor(lowest / step) * step
    hi = math.ceil(highest / step) * step
    return Axis(lo, hi if hi > lo else lo + step, step)


def columns_per_cell(glyphs: Glyphs) -> int:
    """How many columns of an envelope one cell shows."""
    return 2 if glyphs.braille else 1


def draw(shape: Envelope, scale: Axis, rows: int, glyphs: Glyphs) -> list[str]:
    """The envelope as `rows` lines of text, top first.

    It must have `columns_per_cell` columns for each cell.
    """
    dots = rows * (4 if glyphs.braille else 1)
    top, bottom = _levels(shape, scale, dots)
    level = np.arange(dots)[:, None]
    grid = (level >= bottom) & (level <= top) & shape.known
    grid = grid[::-1]  # the first line is the top
    if not glyphs.braille:
        return ["".join(glyphs.dot if on else " " for on in line) for line in grid.tolist()]
    cells = grid.reshape(rows, 4, -1, 2)
    codes = (cells.transpose(0, 2, 1, 3) * _DOTS).sum(axis=(2, 3))
    return [
        "".join(" " if code == 0 else chr(_BLANK + code) for code in line)
        for line in codes.tolist()
    ]


def _levels(shape: Envelope, scale: Axis, dots: int) -> tuple[Int64s, Int64s]:
    """Top and bottom dot of each column, stretched so that neighbouring columns touch."""
    factor = (dots - 1) / (scale.hi - scale.lo)

    def level(values: Floats) -> Int64s:
        raw = np.nan_to_num((values - scale.lo) * factor)
        return np.clip(np.rint(raw), 0, dots - 1).astype(np.int64)

    top = level(shape.high)
    bottom = level(shape.low)
    joined = shape.known[1:] & shape.known[:-1]
    was_top = top[:-1].copy()
    was_bottom = bottom[:-1].copy()
    bottom[1:] = np.where(joined & (bottom[1:] > was_top + 1), was_top + 1, bottom[1:])
    top[1:] = np.where(joined & (top[1:] < was_bottom - 1), was_bottom - 1, top[1:])
    return top, bottom


def sparkline(shape: Envelope, glyphs: Glyphs) -> str:
    """One line: the height of each column's highest value among all of them. One column a cell."""
    known = shape.known
    if not known.any():
        return " " * len(known)
    lo = float(np.nanmin(shape.low))
    hi = float(np.nanmax(shape.high))
    base = min(0.0, lo) if lo < 0.6 * hi else lo
    span = hi - base
    bars = glyphs.bars
    height = (
        np.zeros(len(known), np.int64)
        if span <= 0
        else np.rint(np.nan_to_num((shape.high - base) / span) * (len(bars) - 1))
    )
    return "".join(
        bars[int(h)] if k else " " for h, k in zip(height.tolist(), known.tolist(), strict=True)
    )

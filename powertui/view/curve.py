"""A curve in text: columns of samples become an envelope, the envelope becomes dots. Pure
arithmetic, no screen.

With braille a cell holds 2×4 dots; without, one mark. Where many samples share a column both their
lowest and their highest are drawn; where samples are rare the last value is held, as a step, until
the next one or until a hole. What nobody knows stays blank. Cost: two binary searches per column
and one pass over the samples that are shown.
"""

from __future__ import annotations

import math

import numpy as np

from powertui.data.model import Bools, Floats, Int64s
from powertui.named_tuples import NamedTuple
from powertui.terminal.glyphs import Glyphs

# Bit of each dot in a braille cell: [row][column]
_DOTS = np.array(  # the bits of a braille character, row by row
    [
        [0x01, 0x08],
        [0x02, 0x10],
        [0x04, 0x20],
        [0x40, 0x80],
    ],
    np.uint32,
)
_DOT_ROWS = len(_DOTS)
# Every cell of braille by its dots; one without dots is a space, which costs no ink on the line.
_BRAILLE = np.array([" ", *(chr(0x2800 + code) for code in range(1, 256))])
_ROWS_BETWEEN_TICKS = 4
# A lowest value above this share of the highest keeps well away from zero: the axis need not begin
# there (chosen, not measured).
_MIN_FLOOR_SHARE = 0.6


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
        steps = round((self.hi - self.lo) / self.step)
        ticks = []
        for number in range(steps + 1):
            ticks.append(self.lo + number * self.step)
        return ticks

    def text(self, value: float) -> str:
        """A tick as text, with just the decimals that the step needs."""
        exponent = math.floor(math.log10(self.step) + 1e-9)
        decimals = max(0, -exponent)
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
    """Lowest and highest value between neighboring edges. `hold`: how long a value stands when
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
        end = bounds[-1]
        lowest[filled] = np.fmin.reduceat(values[:end], first[filled])
        highest[filled] = np.fmax.reduceat(highs[:end], first[filled])
    before = first - 1
    rows = np.maximum(before, 0)
    silent_for = edges[:-1] - ends[rows]
    held = (last == first) & (before >= 0) & (silent_for <= hold)
    lowest[held] = values[rows[held]]
    highest[held] = highs[rows[held]]
    return Envelope(lowest, highest)


def spread(values: Floats, columns: int) -> Envelope:
    """Lowest and highest value of each column; a value that fills several columns is in each."""
    count = len(values)
    low = np.full(columns, np.nan)
    high = np.full(columns, np.nan)
    if not count:
        return Envelope(low, high)
    edges = np.arange(columns + 1) * count // columns
    starts = edges[:-1]
    ends = np.maximum(starts + 1, edges[1:])
    # reduceat over pairs of bounds: every second result is of a column, the others of what is
    # between two columns, which nobody asks for.
    bounds = np.stack([starts, ends], axis=1).ravel()
    padded = np.append(values, np.nan)
    lowest = np.fmin.reduceat(padded, bounds)
    highest = np.fmax.reduceat(padded, bounds)
    low[:] = lowest[::2]
    high[:] = highest[::2]
    return Envelope(low, high)


def axis(lowest: float, highest: float, rows: int) -> Axis:
    """A round range around the data with a tick every few rows.

    From zero, unless the data keep well away from it.
    """
    if math.isnan(lowest) or math.isnan(highest):
        lowest = 0.0
        highest = 1.0
    is_near_zero = 0 <= lowest < _MIN_FLOOR_SHARE * highest
    if is_near_zero or lowest == highest:
        lowest = min(lowest, 0.0)
    span = max(
        highest - lowest,
        abs(highest) * 1e-6,
        1e-9,
    )
    step = _round_step(span / max(2, rows // _ROWS_BETWEEN_TICKS))
    lo = math.floor(lowest / step) * step
    hi = math.ceil(highest / step) * step
    if hi <= lo:
        hi = lo + step
    return Axis(lo, hi, step)


def _round_step(min_step: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is no less."""
    power = 10.0 ** math.floor(math.log10(min_step))
    for factor in (1, 2, 5):
        step = power * factor
        if step >= min_step * (1 - 1e-9):
            return step
    return 10 * power


def columns_per_cell(glyphs: Glyphs) -> int:
    """How many columns of an envelope one cell shows."""
    return 2 if glyphs.braille else 1


def draw(
    shape: Envelope,
    scale: Axis,
    rows: int,
    glyphs: Glyphs,
) -> list[str]:
    """The envelope as `rows` lines of text, top first.

    It must have `columns_per_cell` columns for each cell.
    """
    dots = rows
    if glyphs.braille:
        dots *= _DOT_ROWS
    top, bottom = _levels(shape, scale, dots)
    level = np.arange(dots)[:, None]
    is_drawn = (level >= bottom) & (level <= top) & shape.known
    grid = is_drawn[::-1]  # the first line is the top
    if glyphs.braille:
        cells = grid.reshape(rows, _DOT_ROWS, -1, 2)
        bits = cells.transpose(0, 2, 1, 3) * _DOTS
        codes = bits.sum(axis=(2, 3))
        chars = _BRAILLE[codes]
    else:
        chars = np.where(grid, glyphs.dot, " ")
    return ["".join(line) for line in chars.tolist()]


def _levels(shape: Envelope, scale: Axis, dots: int) -> tuple[Int64s, Int64s]:
    """Top and bottom dot of each column, stretched so that neighboring columns touch."""
    highest = dots - 1
    factor = highest / (scale.hi - scale.lo)

    def level(values: Floats) -> Int64s:
        exact = np.nan_to_num((values - scale.lo) * factor)
        nearest = np.clip(np.rint(exact), 0, highest)
        return nearest.astype(np.int64)

    top = level(shape.high)
    bottom = level(shape.low)
    known = shape.known
    is_joined = known[1:] & known[:-1]
    # The dot next to the column before it, on either side.
    max_bottom = top[:-1] + 1
    min_top = bottom[:-1] - 1
    stretched_down = np.minimum(bottom[1:], max_bottom)
    stretched_up = np.maximum(top[1:], min_top)
    np.copyto(bottom[1:], stretched_down, where=is_joined)
    np.copyto(top[1:], stretched_up, where=is_joined)
    return top, bottom


def sparkline(shape: Envelope, glyphs: Glyphs) -> str:
    """One line: the height of each column's highest value among all of them. One column a cell."""
    known = shape.known
    columns = len(known)
    if not known.any():
        return " " * columns
    lo = float(np.nanmin(shape.low))
    hi = float(np.nanmax(shape.high))
    # From zero, as `axis` begins: a curve that never falls far shows its course instead.
    is_far_from_zero = lo >= _MIN_FLOOR_SHARE * hi
    base = lo
    if not is_far_from_zero:
        base = min(0.0, lo)
    height = np.zeros(columns, np.int64)
    if hi > base:
        share = np.nan_to_num((shape.high - base) / (hi - base))
        max_height = len(glyphs.bars) - 1
        height = np.rint(share * max_height).astype(np.int64)
    bars = np.array(list(glyphs.bars))
    chars = np.where(known, bars[height], " ")
    return "".join(chars.tolist())

"""Bars that are made of parts, side by side in as many cells as there are: the time of each step by
category.

Where there are more bars than cells, a cell shows the longest of its bars: a slow one is never
averaged away. A bar that is very much longer than the others is cut, so that the others still show.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from powertui.data.model import Bools, Floats, Int64s
from powertui.data.quantiles import percentile_of_column
from powertui.data.table import Chart
from powertui.named_tuples import NamedTuple

_EIGHTHS = " ▁▂▃▄▅▆▇█"
PARTLY_FILLED = _EIGHTHS[1:-1]
_MAX_HEIGHT_RATIO = 2.5  # times the 95th percentile: a bar beyond is cut there
_MAX_FEW_BARS = 4  # of so few none is cut: no percentile tells which is the unusual one
_MAX_BAR_CELLS = 8  # of a few bars
_MIN_FILLED_SHARE = 1 / 16  # of a cell: less is nearer to nothing than to an eighth
CUT = -2
_EMPTY = -1


class BarPiece(NamedTuple):
    """Cells of one look: the part that they show (an index into the series), EMPTY, or CUT at the
    top of a bar that goes on.
    """

    text: str
    part: int
    upper: int = _EMPTY  # the part that their blocks leave free


class StackedBars(NamedTuple):
    """The bars, from the top row down."""

    rows: list[list[BarPiece]]
    top: float  # what the full height stands for
    each: int  # bars in a cell, at most
    cut: tuple[
        int, ...
    ]  # the cells, in the middle of their bars, of those that go on beyond the top
    longest: float = 0.0  # of all bars
    bar_count: int = 0  # drawn or not

    def columns(self, first: int, stop: int) -> range:
        """The cells that show any of the bars from one to one past another."""
        cells = sum(len(piece.text) for piece in self.rows[0])
        if self.bar_count <= cells:
            cells_each = cells // self.bar_count
            return range(first * cells_each, stop * cells_each)
        bounds = _bounds(self.bar_count, cells)
        begin = int(bounds.searchsorted(first, side="right")) - 1
        end = int(bounds.searchsorted(stop))
        return range(begin, end)


def draw(
    chart: Chart,
    width: int,
    height: int,
    *,
    letters: str = "",
    eighths: bool = True,
    cut_at_top: bool = True,
) -> StackedBars:
    """A chart of parts in this many cells.

    `letters`: one for each part, where blocks cannot tell them apart. `cut_at_top`: whether the top
    cell of a bar that goes on says so; else the bar fills it, and a row above says so.
    """
    columns = [np.asarray(series.y, np.float64) for series in chart.series]
    all_parts = np.nan_to_num(np.array(columns))
    if not all_parts.size or width < 1 or height < 1:
        return StackedBars(rows=[], top=0.0, each=0, cut=())
    chosen, each = longest_bars(all_parts.sum(axis=0), width)
    parts = all_parts[:, chosen]
    totals = parts.sum(axis=0)
    top = full_height(totals)
    if top <= 0:
        return StackedBars(
            rows=[],
            top=0.0,
            each=each,
            cut=(),
        )
    # Where each part begins and ends, in rows from the bottom.
    part_count, bar_count = parts.shape
    edges = np.zeros((part_count + 1, bar_count))
    # The parts of a bar that is cut keep their shares of it.
    edges[1:] = np.cumsum(parts, axis=0) / np.maximum(totals, top) * height
    is_cut = totals > top * (1 + 1e-9)
    # Only the top row shows that a bar goes on, and of a wide bar only its middle.
    is_marked = is_cut & _middles(chosen)
    is_nowhere = np.zeros_like(is_cut)
    blocks = _Blocks(letters, eighths)
    rows = []
    for level in range(height - 1, -1, -1):
        cut_here = is_nowhere
        if cut_at_top and level == height - 1:
            cut_here = is_marked
        pieces = []
        for bar, is_cut_bar in zip(edges.T, cut_here.tolist(), strict=True):
            piece = blocks.piece(
                bar,
                level,
                height,
                is_cut_bar,
            )
            pieces.append(piece)
        rows.append(_joined(pieces))
    cut_bars = np.flatnonzero(is_marked).tolist()
    return StackedBars(
        rows=rows,
        top=top,
        each=each,
        cut=tuple(cut_bars),
        longest=float(totals.max()),
        bar_count=all_parts.shape[1],
    )


def one_bar(
    chart: Chart,
    width: int,
    *,
    place: int = 0,
    letters: str = "",
) -> list[BarPiece]:
    """The parts of one bar from left to right, each in as many cells as its share has."""
    lengths = [float(np.asarray(series.y)[place]) for series in chart.series]
    parts = np.nan_to_num(lengths)
    total = float(parts.sum())
    if total <= 0 or width < 1:
        return []
    # The ends are rounded, and not the lengths: the bar is as long as it should be.
    ends = np.rint(np.cumsum(parts) / total * width).astype(np.int64)
    pieces = []
    start = 0
    for part, end in enumerate(ends.tolist()):
        if end <= start:
            continue
        if letters:
            char = letters[part % len(letters)]
        else:
            char = _EIGHTHS[-1]
        pieces.append(BarPiece(char * (end - start), part))
        start = end
    return pieces


def longest_bars(totals: Floats, width: int) -> tuple[Int64s, int]:
    """(which bars are shown, how many a cell stands for)."""
    count = len(totals)
    if count <= width:
        cells_with_room = width // count
        cells_each = max(1, min(_MAX_BAR_CELLS, cells_with_room))
        return np.repeat(np.arange(count), cells_each), 1
    bounds = _bounds(count, width)
    longest = []
    for lo, hi in pairwise(bounds.tolist()):
        row_in_cell = int(totals[lo:hi].argmax())
        longest.append(lo + row_in_cell)
    max_in_cell = np.diff(bounds).max()
    return np.array(longest, np.int64), int(max_in_cell)


def _middles(bars: Int64s) -> Bools:
    """Which cells are the middle of their bar: one of each run of equal numbers."""
    cells = len(bars)
    steps = np.diff(bars, prepend=bars[0] - 1)
    first = np.flatnonzero(steps)
    lengths = np.diff(first, append=cells)
    middles = np.zeros(cells, np.bool_)
    middles[first + lengths // 2] = True
    return middles


def _bounds(count: int, width: int) -> Int64s:
    """The first bar of each cell, and the end of the last one."""
    return np.linspace(0, count, width + 1).astype(np.int64)


def full_height(totals: Floats) -> float:
    """What the full height stands for."""
    longest = float(totals.max())
    limit = _MAX_HEIGHT_RATIO * percentile_of_column(totals, 95)
    is_unusual = longest > limit > 0
    if is_unusual and len(totals) > _MAX_FEW_BARS:
        usual = totals[totals <= limit]
        return float(usual.max())
    return longest


class _Blocks(NamedTuple):
    """The characters of bars."""

    letters: str  # one for each part; "": blocks
    eighths: bool  # whether there are blocks of less than a cell

    def piece(
        self,
        edges: Floats,
        level: int,
        height: int,
        is_cut: bool,
    ) -> BarPiece:
        """The cell of a bar in a row; `edges`: where its parts begin and end, in rows."""
        letters = self.letters
        if is_cut:
            mark = "^" if letters else "▲"
            return BarPiece(mark, CUT)
        total = float(edges[-1])
        rows_from_here = min(total, height) - level
        filled = min(1.0, max(0.0, rows_from_here))
        # A bar that is too low for its cell is seen all the same.
        is_bottom = level == 0
        is_shown = is_bottom and total > 0
        if filled <= _MIN_FILLED_SHARE and not is_shown:
            return BarPiece(" ", _EMPTY)
        if not letters and self.eighths and filled == 1:
            return _full_cell(edges, level)
        if not letters:
            return self._block(edges, level, filled)
        middle = level + min(0.5, filled / 2)
        part = int(np.searchsorted(edges, middle, side="right")) - 1
        last_part = len(edges) - 2
        part = min(max(part, 0), last_part)
        if filled >= 0.5 or is_bottom:
            letter = letters[part % len(letters)]
            return BarPiece(letter, part)
        return BarPiece(" ", part)

    def _block(
        self,
        edges: Floats,
        level: int,
        filled: float,
    ) -> BarPiece:
        """A block of the part of which there is most in the cell, the upper of equals."""
        inside = np.diff(np.clip(edges, level, level + 1))
        last_part = len(inside) - 1
        part = last_part - int(inside[::-1].argmax())
        eighths = 8
        if self.eighths:
            eighths = max(1, round(filled * 8))
        return BarPiece(_EIGHTHS[eighths], part)


def _full_cell(edges: Floats, level: int) -> BarPiece:
    """A cell that the bar fills: of its two largest parts the lower one as a block, the other one
    as its ground.
    """
    inside = np.diff(np.clip(edges, level, level + 1))
    largest_first = np.argsort(-inside, kind="stable")
    largest = largest_first[:2].tolist()
    lower = min(largest)
    upper = max(largest)
    lower_share = float(inside[lower])
    both_shares = float(inside[lower] + inside[upper])
    eighths = round(8 * lower_share / both_shares)
    if lower == upper or eighths == 8:
        return BarPiece(_EIGHTHS[8], lower)
    if eighths == 0:
        return BarPiece(_EIGHTHS[8], upper)
    return BarPiece(_EIGHTHS[eighths], lower, upper)


def _joined(pieces: Iterable[BarPiece]) -> list[BarPiece]:
    """Neighboring cells of one look as one piece."""
    joined: list[BarPiece] = []
    for piece in pieces:
        looks_like_last = joined and joined[-1][1:] == piece[1:]
        if looks_like_last:
            before = joined.pop()
            piece = piece._replace(text=before.text + piece.text)
        joined.append(piece)
    return joined

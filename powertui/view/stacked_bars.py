"""Bars that are made of parts, side by side in as many cells as there are: the time of each step by
category.

Where there are more bars than cells, a cell shows the longest of its bars: a slow one is never
averaged away. A bar that is very much longer than the others is cut, so that the others still show.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.model import Floats, Int64s
from powertui.data.table import Chart

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_MAX_HEIGHT_RATIO = 2.5  # times the 95th percentile: a bar beyond is cut there
CUT = -2
_EMPTY = -1


class BarPiece(NamedTuple):
    """Cells of one look: the part that they show (an index into the series), EMPTY, or CUT at the
    top of a bar that goes on.
    """

    text: str
    part: int


class StackedBars(NamedTuple):
    """The bars, from the top row down."""

    rows: list[list[BarPiece]]
    top: float  # what the full height stands for
    each: int  # bars in a cell, at most
    cut: int  # bars that go on beyond the top


def draw(
    chart: Chart, width: int, height: int, *, letters: str = "", eighths: bool = True
) -> StackedBars:
    """A chart of parts in this many cells.

    `letters`: one for each part, where blocks cannot tell them apart.
    """
    parts = (
        np.array([np.asarray(series.y, np.float64) for series in chart.series])
        if chart.series
        else np.zeros((0, 0))
    )
    parts = np.nan_to_num(parts)
    if not parts.size or width < 1 or height < 1:
        return StackedBars([], 0.0, 0, 0)
    chosen, each = _chosen(parts.sum(axis=0), width)
    parts = parts[:, chosen]
    totals = parts.sum(axis=0)
    top = _top(totals)
    if top <= 0:
        return StackedBars([], 0.0, each, 0)
    edges = np.concatenate([np.zeros((1, parts.shape[1])), np.cumsum(parts, axis=0)]) / top * height
    cut = totals > top * (1 + 1e-9)
    rows = [_row(edges, cut, height - 1 - at, height, letters, eighths) for at in range(height)]
    return StackedBars(rows, top, each, int(cut.sum()))


def one_bar(chart: Chart, width: int, *, letters: str = "") -> list[BarPiece]:
    """The parts of the only bar from left to right, each in as many cells as its share has."""
    parts = np.nan_to_num(np.array([float(np.asarray(series.y)[0]) for series in chart.series]))
    total = float(parts.sum())
    if total <= 0 or width < 1:
        return []
    edges = np.rint(np.concatenate([[0.0], np.cumsum(parts)]) / total * width).astype(np.int64)
    pieces = []
    for part, cells in enumerate(np.diff(edges).tolist()):
        if cells:
            char = letters[part % len(letters)] if letters else _EIGHTHS[-1]
            pieces.append(BarPiece(char * cells, part))
    return pieces


def _chosen(totals: Floats, width: int) -> tuple[Int64s, int]:
    """(which bars are shown, how many a cell stands for)."""
    count = len(totals)
    if count <= width:
        return np.repeat(np.arange(count), _wide(count, width)), 1
    bounds = np.linspace(0, count, width + 1).astype(np.int64)
    longest = [
        lo + int(totals[lo:hi].argmax())
        for lo, hi in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]
    return np.array(longest, np.int64), int(np.diff(bounds).max())


def _wide(count: int, width: int) -> int:
    """Cells that each of a few bars takes."""
    return max(1, min(8, width // count))


def _top(totals: Floats) -> float:
    most = float(totals.max())
    usual = float(np.percentile(totals, 95))
    return usual * 1.1 if len(totals) > 4 and most > _MAX_HEIGHT_RATIO * usual > 0 else most


def _row(
    edges: Floats, cut: object, level: int, height: int, letters: str, eighths: bool
) -> list[BarPiece]:
    pieces: list[BarPiece] = []
    count = edges.shape[1]
    beyond = np.asarray(cut)
    for bar in range(count):
        mine = edges[:, bar]
        full = min(float(mine[-1]), float(height))
        filled = min(1.0, max(0.0, full - level))
        middle = level + min(0.5, filled / 2)
        part = int(np.searchsorted(mine, middle, side="right")) - 1
        part = min(max(part, 0), edges.shape[0] - 2)
        if level == height - 1 and beyond[bar]:
            piece = BarPiece("^" if letters else "▲", CUT)
        elif filled <= 0.0625 and not (level == 0 and mine[-1] > 0):
            piece = BarPiece(" ", _EMPTY)
        elif letters:
            piece = BarPiece(
                letters[part % len(letters)] if filled >= 0.5 or level == 0 else " ", part
            )
        else:
            eighth = max(1, round(filled * 8)) if eighths else 8
            piece = BarPiece(_EIGHTHS[eighth], part)
        if pieces and pieces[-1].part == piece.part:
            pieces[-1] = BarPiece(pieces[-1].text + piece.text, piece.part)
        else:
            pieces.append(piece)
    return pieces

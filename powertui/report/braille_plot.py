"""A curve of braille dots in a frame, with labels on both axes, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from powertui.data.model import Bools, Floats, Int64s

_DOT_COLUMNS = 2  # of one character
_DOT_ROWS = 4
_BLANK = 0x2800  # Unicode's braille pattern without a dot
# The bit of each dot of a character, row by row: Unicode counts the lowest row last.
_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], np.int64)


def braille_plot(
    places: Floats,
    heights: Floats,
    *,
    columns: int,
    rows: int,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
) -> list[str]:
    """The lines of the picture. `places` and `heights` are shares of the axes, 0 to 1.

    `row_labels` are those of the bottom, the middle and the top; `column_labels` of the left, the
    middle and the right.
    """
    margin = max(map(len, row_labels))
    blank = " " * margin
    inside = columns - margin - 2  # without the frame
    dots = _joined_dots(
        places,
        heights,
        width=inside * _DOT_COLUMNS,
        height=rows * _DOT_ROWS,
    )
    bottom, middle, top = row_labels
    last_row = rows - 1
    label_of_row = {last_row: bottom, last_row // 2: middle, 0: top}
    lines = [blank + "┌" + "─" * inside + "┐"]
    for row in range(rows):
        label = label_of_row.get(row, "")
        edge = "┤" if label else "│"
        lines.append(f"{label:>{margin}}{edge}{_characters(dots, row)}│")
    last_column = inside - 1
    ticks = (0, last_column // 2, last_column)
    frame = ["─"] * inside
    for tick in ticks:
        frame[tick] = "┬"
    lines.append(blank + "└" + "".join(frame) + "┘")
    lines.append(f"{blank} {_below(ticks, column_labels, inside)}")
    return [line.rstrip() for line in lines]


def _joined_dots(
    places: Floats,
    heights: Floats,
    width: int,
    height: int,
) -> Bools:
    """Which dots are set: each point, and a straight line to the next one."""
    dots = np.zeros((height, width), np.bool_)
    columns = _nearest(places * (width - 1))
    rows = _nearest((1 - heights) * (height - 1))
    dots[rows, columns] = True
    points = zip(columns.tolist(), rows.tolist(), strict=True)
    for (column, row), (next_column, next_row) in pairwise(points):
        # As many dots as the longer of both ways has: a steep line must not fall apart.
        way_right = abs(next_column - column)
        way_down = abs(next_row - row)
        count = max(way_right, way_down) + 1
        on_the_way_right = np.linspace(column, next_column, count)
        on_the_way_down = np.linspace(row, next_row, count)
        dots[_nearest(on_the_way_down), _nearest(on_the_way_right)] = True
    return dots


def _nearest(values: Floats) -> Int64s:
    return np.rint(values).astype(np.int64)


def _characters(dots: Bools, row: int) -> str:
    """One row of characters; a space where no dot is set."""
    band = dots[row * _DOT_ROWS : (row + 1) * _DOT_ROWS]
    cells = band.reshape(_DOT_ROWS, -1, _DOT_COLUMNS)
    codes = (cells * _BITS[:, np.newaxis, :]).sum(axis=(0, 2))
    return "".join(chr(_BLANK + code) if code else " " for code in codes.tolist())


def _below(ticks: Sequence[int], labels: Sequence[str], width: int) -> str:
    """The labels of the columns, each below the middle of its tick as far as there is room."""
    text = [" "] * width
    for tick, label in zip(ticks, labels, strict=True):
        start = min(max(tick - len(label) // 2, 0), width - len(label))
        text[start : start + len(label)] = label
    return "".join(text)

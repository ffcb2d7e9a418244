"""Where a difference comes from, below the figures of a comparison: a bar for each part, to the
left where it takes less in B and to the right where it takes more.
"""

from __future__ import annotations

from itertools import zip_longest

from powertui.data.table import Result, Table
from powertui.plain import plain, width
from powertui.terminal.glyphs import Glyphs
from powertui.view import readable_names
from powertui.view.step_bars import LinePieces

_MIN_LINES = 4  # a heading and three parts: below that they say nothing
_SECONDS = "seconds_s"  # the column of the tables of causes
_TABLES = ("causes_by_category", "causes_by_op")
_MIN_SIDE_CELLS = 60  # of two accounts beside each other
_NAME_CELLS = 32
_LONGEST_NAME_LETTERS = 2_000  # functors of C++ are hundreds of letters behind
_GAP_CELLS = 6  # before and behind a name, at zero, before a figure and beside another account
_MIN_HALF_CELLS = 4  # of a bar to either side
_MAX_HALF_CELLS = 20
_MORE, _LESS = "warn", "ok"  # roles: as in the table, what differs and what does not hurt


def accounts(
    result: Result,
    cells: int,
    most: int,
    glyphs: Glyphs,
) -> list[LinePieces]:
    """Both accounts of the difference, beside each other or one below the other, as far as they
    have room.
    """
    tables = [table for table in result.tables if table.id in _TABLES and len(table)]
    side_cells = cells // 2
    lines: list[LinePieces] = []
    if len(tables) > 1 and side_cells >= _MIN_SIDE_CELLS:
        left_table, right_table = tables
        left_lines = _account(
            left_table,
            side_cells,
            most,
            glyphs,
        )
        right_lines = _account(
            right_table,
            side_cells,
            most,
            glyphs,
        )
        for left, right in zip_longest(left_lines, right_lines, fillvalue=()):
            lines.append(_beside(left, right, side_cells))
        return lines
    for table in tables:
        lines += _account(table, cells, most - len(lines), glyphs)
    return lines


def _beside(left: LinePieces, right: LinePieces, cells: int) -> LinePieces:
    left_cells = sum(width(words) for words, _ in left)
    gap = " " * (cells - left_cells)
    return (*left, (gap, "text"), *right)


def _account(
    table: Table,
    cells: int,
    most: int,
    glyphs: Glyphs,
) -> list[LinePieces]:
    """A heading and the first parts; none where there is no room for some of them."""
    count = min(len(table), most - 1)
    if count < _MIN_LINES - 1:
        return []
    names = []
    seconds = []
    figures = []
    column = table[_SECONDS]
    for row in range(count):
        text = str(table.columns[0].text(row)).strip()
        names.append(plain(text, _LONGEST_NAME_LETTERS))
        seconds.append(float(column.values[row]))
        figures.append(column.text(row).strip())
    figure_cells = max(map(width, figures))
    name_cells = min(_NAME_CELLS, cells // 3)
    bar_cells = cells - name_cells - figure_cells - _GAP_CELLS
    half = min(_MAX_HALF_CELLS, bar_cells // 2)
    if half < _MIN_HALF_CELLS:
        return []
    names = readable_names.distinct(names, name_cells, glyphs.ellipsis)
    longest = max(map(abs, seconds)) or 1.0
    lines: list[LinePieces] = [((f" {table.title}", "dim"),)]
    for name, part_s, figure in zip(names, seconds, figures, strict=True):
        pad = " " * (name_cells - width(name) + 1)
        share = part_s / longest
        less = _side(max(0.0, -share), half, glyphs)
        more = _side(max(0.0, share), half, glyphs)
        line = (
            (f" {name}{pad}", "text"),
            (less.rjust(half), _LESS),
            (glyphs.vertical, "dim"),
            (more.ljust(half), _MORE),
            (f" {figure.rjust(figure_cells)}", "text"),
        )
        lines.append(line)
    return lines


def _side(share: float, cells: int, glyphs: Glyphs) -> str:
    return glyphs.bar * round(share * cells)

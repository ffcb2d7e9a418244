"""Delimited text as named columns: by the csv module when it is small, by pandas' C parser when it
is large.

Small is the common case, and importing pandas costs more than reading it. Large is a day of a rack.
Both give the same answers; `tests/unit/power/test_table.py` holds them against each other.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from powertui.data.power import thousands, units
from powertui.data.power.cells import MAX_READING as MAX_READING
from powertui.data.power.cells import FileCells as FileCells
from powertui.data.power.cells import Shape as Shape
from powertui.data.power.cells import irregular
from powertui.data.power.cells import number as number
from powertui.data.power.cells import was_cut as was_cut
from powertui.data.power.notes import Notes
from powertui.data.power.source import LogFile
from powertui.data.power.table_layout import DATE_TIME_READING as DATE_TIME_READING
from powertui.data.power.table_layout import MAX_HEAD_LINES, like_data, stripped
from powertui.data.power.table_layout import fields as fields
from powertui.data.power.table_layout import shape as shape
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

LARGE_TABLE_BYTES = 2 << 20  # bytes from which pandas is worth its import


def first_rows(head: str, layout: Shape, limit: int = MAX_HEAD_LINES) -> FileCells | None:
    """The first rows that have a cell for each column, as a table; None where none has."""
    regular = _regular_rows(head, layout, limit)
    if not regular:
        return None
    columns = list(map(list, zip(*regular, strict=True)))
    lines = np.arange(len(regular))
    return FileCells(layout.names, lines, columns)


def _regular_rows(head: str, layout: Shape, limit: int = MAX_HEAD_LINES) -> list[list[str]]:
    """The first rows that have a cell for each column."""
    width = len(layout.names)
    end = layout.first + limit
    rows = []
    for line in head.split("\n")[layout.first : end]:
        cells = fields(line, layout.delimiter)
        if len(cells) == width:
            rows.append(cells)
    return rows


def read(
    source: LogFile,
    layout: Shape,
    notes: Notes,
    *,
    names: tuple[str, ...] | None = None,
    end: str = "",
) -> FileCells:
    """The whole file. Rows that are short or long are dropped, counted and named; so is a last line
    that was cut.

    `end`: a line that begins so ends the table (a summary below it).
    """
    names = names or layout.names
    cells = None
    is_large = layout.delimiter and source.longer_than(LARGE_TABLE_BYTES)
    if is_large and not _has_groups(source.head_text, layout):
        from powertui.data.power import large_table  # only large tables are worth it

        cells = large_table.read(source, layout, names, notes, end)
    if cells is None:
        text = _above_end(source.text, end)
        cells = _small(text, layout, names, notes)
    cells = _without_headers_inside(cells, layout, notes)
    return thousands.without_thousands_signs(cells, layout.delimiter, notes)


def _above_end(text: str, end: str) -> str:
    """The text above the line that ends a table."""
    if not end:
        return text
    above, line_end, _ = text.partition(f"\n{end}")
    return above + line_end[:1]


def read_dialect(
    source: LogFile,
    program: str,
    notes: Notes,
    *,
    end: str = "",
) -> FileCells:
    """The rows of a table whose header shows that this program wrote it.

    Raises `UnreadableFile` when there is none.
    """
    # A summary that is longer than a short table has other delimiters, or none.
    layout = shape(_above_end(source.head_text, end))
    if layout is not None:
        rows = read(source, layout, notes, end=end)
        if len(rows):
            return rows
    raise does_not_fit(source.path, program, notes)


def does_not_fit(path: str, program: str, notes: Notes) -> UnreadableFile:
    """What to raise where a program's header has no rows below it that could be its own."""
    reason = notes.first_reason() or "no row"
    return UnreadableFile(
        path,
        f"has {program}'s header, but no row that fits it ({reason})",
    )


def _has_groups(head: str, layout: Shape) -> bool:
    """Whether the first rows hold what may be thousands with a sign between them: a parser of
    numbers would read them as something else.
    """
    columns = list(zip(*_regular_rows(head, layout), strict=True))
    for column in columns:
        # A generator: few of a hundred columns need a look at the ninety-nine others.
        others = (cell for beside in columns if beside is not column for cell in beside)
        if thousands.thousands_sign(column, others, layout.delimiter):
            return True
    return False


def _without_headers_inside(cells: FileCells, layout: Shape, notes: Notes) -> FileCells:
    """The rows, where a line of units is below the header, or a logger that started again wrote
    another header.

    The same names in another order are put in order. Below other names nobody knows what a cell
    means: those rows are left out.
    """
    if not layout.named or not len(cells):
        return cells
    width = len(cells.names)
    if any(map(cells.is_numeric, range(width))):
        return cells  # a header inside would have made texts of all of them
    lines_of_words = _headers(cells)
    if lines_of_words and lines_of_words[0].is_line_of_units():
        unit_line = lines_of_words.pop(0)
        names = _with_units(cells.names, unit_line.cells)
        with_units = FileCells(names, cells.lines, cells.columns)
        cells = with_units.take(slice(1, None))
        lines_of_words = [_Header(line.row - 1, line.cells) for line in lines_of_words]
    column_names = [name.lower() for name in layout.names]
    headers = [line for line in lines_of_words if line.names_columns(column_names)]
    if not headers:
        return cells
    return _in_order_of(column_names, cells, headers, notes)


def _in_order_of(
    column_names: Sequence[str],
    cells: FileCells,
    headers: Sequence[_Header],
    notes: Notes,
) -> FileCells:
    """The rows without these headers, each block's cells in the order of the first header."""
    is_row = np.ones(len(cells), np.bool_)
    columns = list(map(list, cells.columns))
    are_distinct = len(set(column_names)) == len(column_names)
    ends = [header.row for header in headers[1:]]
    ends.append(len(cells))
    for header, end in zip(headers, ends, strict=True):
        block = slice(header.row, end)
        is_row[header.row] = False
        names_here = [cell.lower() for cell in header.cells]
        has_same_names = sorted(names_here) == sorted(column_names)
        if are_distinct and has_same_names:
            for place, name in enumerate(column_names):
                place_here = names_here.index(name)
                written_here = cells.columns[place_here]
                columns[place][block] = written_here[block]
        else:
            is_row[block] = False
            shown_names = ", ".join(header.cells)[:60]
            notes.drop_all(
                cells.lines[header.row + 1 : end],
                f"is below another header ({shown_names})",
            )
    in_order = FileCells(cells.names, cells.lines, columns)
    return in_order.take(np.flatnonzero(is_row))


class _Header(NamedTuple):
    """A line of words among the rows."""

    row: int
    cells: list[str]

    def is_line_of_units(self) -> bool:
        if self.row != 0:
            return False
        return any(map(units.unit_of_symbol, self.cells))

    def names_columns(self, column_names: Sequence[str]) -> bool:
        """Whether a line of words is a header: a row of a table may hold words alone, too."""
        if units.any_power(self.cells):
            return True
        names_here = map(str.lower, self.cells)
        return not set(column_names).isdisjoint(names_here)


def _headers(cells: FileCells) -> list[_Header]:
    """All rows that hold words alone."""
    headers = []
    for row, first in enumerate(cells.columns[0]):
        # Most rows begin with a number or a time: those need no second look.
        if first and not first[0].isalpha() and first[0] not in "[(#":
            continue
        row_cells = [column[row] for column in cells.columns]
        if _is_head(row_cells):
            headers.append(_Header(row, row_cells))
    return headers


def _with_units(names: Sequence[str], unit_cells: Sequence[str]) -> tuple[str, ...]:
    """Names of columns with the units that are written below them."""
    with_units = []
    for name, cell in zip(names, unit_cells, strict=True):
        if units.unit_of_symbol(cell):
            symbol = cell.strip("[]() ")
            name = f"{name} [{symbol}]"
        with_units.append(name)
    return tuple(with_units)


def _is_head(cells: Sequence[str]) -> bool:
    """Words alone, and more than one."""
    word_count = 0
    for cell in filter(None, cells):
        has_letters = re.search(r"[A-Za-zµ]", cell)
        if not has_letters or like_data(cell):
            return False
        word_count += 1
    return word_count >= 2


def _small(
    text: str,
    layout: Shape,
    names: tuple[str, ...],
    notes: Notes,
) -> FileCells:
    """All rows of a table that fits into memory as text."""
    header = stripped(layout.names)
    width = len(names)
    rows: list[list[str]] = []
    lines: list[int] = []
    for line, row in _numbered_rows(text, layout):
        if not any(row) or row[0].startswith("#"):
            continue
        if len(row) == width + 1 and not row[-1]:
            row.pop()  # a delimiter at the end of the line
        if layout.named and row[: len(header)] == header:
            is_header_again = len(row) != width or row == header
            if is_header_again:
                continue  # two logs one after the other
        if len(row) != width:
            notes.drop(line, irregular(len(row), width))
            continue
        rows.append(row)
        lines.append(line)
    line_count = text.count("\n")
    if lines and lines[-1] > line_count and _last_was_cut(rows):
        notes.drop(lines.pop(), "the last line is incomplete")
        rows.pop()
    columns: list[list[str]] = [[] for _ in names]
    if rows:
        columns = list(map(list, zip(*rows, strict=True)))
    return FileCells(
        names=names,
        lines=np.array(lines, np.int64),
        columns=columns,
    )


def _last_was_cut(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the last row, which has no line end, misses digits, as those before it show."""
    last_cells = [row[-1] for row in rows[-50:]]
    *before, last = last_cells
    return was_cut(last, before)


def _numbered_rows(text: str, layout: Shape) -> Iterator[tuple[int, list[str]]]:
    """(line of the file, from 1, cells) of every line below the header."""
    first = layout.first
    body = text.split("\n")[first:]
    if not layout.delimiter:
        for number, line in enumerate(body, first + 1):
            yield number, line.split()
        return
    reader = csv.reader(
        io.StringIO("\n".join(body)),
        delimiter=layout.delimiter,
        skipinitialspace=True,
    )
    for cells in _lenient(reader):
        yield reader.line_num + first, stripped(cells)


def _lenient(reader: Any) -> Any:
    """csv.reader, past lines that it refuses (a NUL, a quote that never closes)."""
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield ["", "?"]

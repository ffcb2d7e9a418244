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
from dataclasses import replace
from typing import Any

import numpy as np

from powertui.data.power import thousands, units
from powertui.data.power.cells import MAX_READING as MAX_READING
from powertui.data.power.cells import NUMBER, irregular
from powertui.data.power.cells import FileCells as FileCells
from powertui.data.power.cells import Shape as Shape
from powertui.data.power.cells import number as number
from powertui.data.power.cells import was_cut as was_cut
from powertui.data.power.notes import Notes
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

DATE_TIME_READING = ("date", "time", "column 3")
LARGE_TABLE_BYTES = 2 << 20  # bytes from which pandas is worth its import
_MAX_HEAD_LINES = 200  # that the layout is guessed from; chosen, not measured
_MAX_PROBED_LINES = 40  # of these, for the number of fields; chosen, not measured
_PLAIN_NUMBER = re.compile(r"[-+]?\d*\.?\d+")


def fields(line: str, delimiter: str) -> list[str]:
    """One line's fields, quotes understood."""
    if not delimiter:
        return line.split()
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    try:
        cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:  # a NUL (Python 3.10), or a quote that never closes in a line of megabytes
        cells = line.split(delimiter)
    return [cell.strip() for cell in cells]


def first_rows(head: str, layout: Shape, limit: int = _MAX_HEAD_LINES) -> FileCells | None:
    """The first rows that have a cell for each column, as a table; None where none has."""
    regular = _regular_rows(head, layout, limit)
    if not regular:
        return None
    columns = [list(column) for column in zip(*regular, strict=True)]
    return FileCells(layout.names, np.arange(len(regular)), columns)


def _regular_rows(head: str, layout: Shape, limit: int = _MAX_HEAD_LINES) -> list[list[str]]:
    """The first rows that have a cell for each column."""
    lines = head.split("\n")[layout.first : layout.first + limit]
    rows = [fields(line, layout.delimiter) for line in lines]
    return [row for row in rows if len(row) == len(layout.names)]


def shape(head: str) -> Shape | None:
    """Guess the layout from the first lines.

    None when they are no table of at least two columns.
    """
    lines = [(i, line) for i, line in enumerate(head.split("\n")[:_MAX_HEAD_LINES]) if line.strip()]
    data = [(i, line) for i, line in lines if not line.lstrip().startswith("#")]
    if not data:
        return None
    delimiter = _delimiter([line for _, line in data[:_MAX_PROBED_LINES]])
    if delimiter is None:
        return None
    if not _begins_at_once(data, delimiter):
        from powertui.data.power import heading

        below_titles = heading.find_heading(data, lambda line: fields(line, delimiter), _like_data)
        if below_titles is not None:
            above = tuple(line for i, line in lines if i < below_titles.top)
            return Shape(
                delimiter=delimiter,
                names=below_titles.names,
                first=below_titles.first,
                named=True,
                above=above,
            )

    first, top = data[0]
    comments = tuple(line for i, line in lines if i < first)
    unnamed = Shape(delimiter, names=(), first=first, named=False, above=comments)
    second = None
    if len(data) > 1:
        _, second_line = data[1]
        second = fields(second_line, delimiter)
    return _shape_by_first_line(unnamed, fields(top, delimiter), second)


def _shape_by_first_line(
    unnamed: Shape,
    cells: Sequence[str],
    second: Sequence[str] | None,
) -> Shape | None:
    """The layout of a table whose first line is its header or its first row.

    `second` are the cells of the line below it, where there is one.
    """
    header = replace(unnamed, names=tuple(cells), first=unnamed.first + 1, named=True)
    if len(cells) > 1 and not _any_like_data(cells):
        if len(set(cells)) > 1:
            return header
        return None
    by_comment = _named_by_comment(unnamed, len(cells))
    if by_comment is not None:
        return by_comment
    first_data = cells if second is None else second
    if len(cells) < 2 or not any(map(_like_data, first_data)):
        return None
    if second is not None and _are_words_mostly(cells):
        return header
    return replace(unnamed, names=_places(cells))


def _any_like_data(cells: Sequence[str]) -> bool:
    return any(_like_data(cell) for cell in cells if cell)


def _named_by_comment(unnamed: Shape, width: int) -> Shape | None:
    """The layout whose names are in a comment over the data, as in "# time watts"; None where no
    comment has a word for each column.
    """
    for line in reversed(unnamed.above):
        without_mark = line.lstrip().lstrip("#").strip()
        names = fields(without_mark, unnamed.delimiter)
        if len(names) == width and not _any_like_data(names):
            above = tuple(comment for comment in unnamed.above if comment is not line)
            return replace(unnamed, names=tuple(names), named=True, above=above)
    return None


def _are_words_mostly(cells: Sequence[str]) -> bool:
    """Whether a first line is a header although some of its cells look like data."""
    # A name like "12V" looks like a reading; plain numbers and times of day are no names.
    has_number = any(_PLAIN_NUMBER.fullmatch(cell) or ":" in cell for cell in cells)
    return not has_number and sum(map(_like_data, cells)) * 2 < len(cells)


def _places(cells: Sequence[str]) -> tuple[str, ...]:
    """Names for the columns of a table without any.

    A date, a time and a reading are what a loop in a shell writes.
    """
    if len(cells) in (3, 4) and _are_date_and_time(cells[0], cells[1]):
        if len(cells) == 3:
            return DATE_TIME_READING
        if units.unit_of_symbol(cells[3]) is not None:
            return ("date", "time", "value", "unit")
    return tuple(f"column {n}" for n in range(1, len(cells) + 1))


def _are_date_and_time(date: str, time: str) -> bool:
    is_date = re.fullmatch(r"\d{4}[-/]\d\d[-/]\d\d", date) is not None
    return is_date and re.match(r"\d\d:\d\d:\d\d", time) is not None


def _begins_at_once(data: Sequence[tuple[int, str]], delimiter: str) -> bool:
    """Whether the first line is the header, or a row, and the second one is a row."""
    if len(data) < 3:
        return True
    rows = [fields(line, delimiter) for _, line in data[:_MAX_PROBED_LINES]]
    first, second = rows[:2]
    typical_width = _commonest([len(row) for row in rows])
    # One field more or less is a delimiter at the end, or a name without a column.
    if abs(len(first) - typical_width) > 1 or abs(len(second) - typical_width) > 1:
        return False
    return len(first) >= 2 and _any_like_data(second)


def _commonest(counts: Sequence[int]) -> int:
    """The count that most lines have; of none, 0."""
    return max(set(counts), key=counts.count, default=0)


def _like_data(cell: str) -> bool:
    """Whether a cell looks like a reading or a time, or says that there is none."""
    if NUMBER.fullmatch(cell) or re.match(r"\d{1,4}[-/:.]\d", cell):
        return True
    return cell.lower() in ("n/a", "[n/a]", "nan", "na")


def _delimiter(lines: Sequence[str]) -> str | None:
    """What separates the fields of most lines; "" stands for runs of blanks."""
    best_score, best_delimiter = 0.0, ""
    for delimiter in (";", "\t", ",", "|"):
        counts = [len(fields(line, delimiter)) for line in lines]
        typical_count = _commonest(counts)
        if typical_count < 2:
            continue
        score = counts.count(typical_count) / len(counts)
        if delimiter in ";\t":
            # A comma may be the decimal sign of a table that a semicolon or a tab separates.
            score += 0.2
        if score > best_score:
            best_score, best_delimiter = score, delimiter
    if best_score >= 0.5:
        return best_delimiter
    counts = [len(line.split()) for line in lines]
    typical_count = _commonest(counts)
    are_blanks = typical_count >= 2 and counts.count(typical_count) * 2 > len(counts)
    return "" if are_blanks else None


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
    if end and f"\n{end}" in text:
        return text[: text.index(f"\n{end}") + 1]
    return text


def read_dialect(source: LogFile, program: str, notes: Notes, *, end: str = "") -> FileCells:
    """The rows of a table whose header shows that this program wrote it.

    Raises `UnreadableFile` when there is none.
    """
    # A summary that is longer than a short table has other delimiters, or none.
    layout = shape(_above_end(source.head_text, end))
    rows = None
    if layout is not None:
        rows = read(source, layout, notes, end=end)
    if rows is None or not len(rows):
        raise does_not_fit(source.path, program, notes)
    return rows


def does_not_fit(path: str, program: str, notes: Notes) -> UnreadableFile:
    """What to raise where a program's header has no rows below it that could be its own."""
    reason = notes.first_reason() or "no row"
    return UnreadableFile(path, f"has {program}'s header, but no row that fits it ({reason})")


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
    if any(cells.is_numeric(column) for column in range(len(cells.names))):
        return cells  # a header inside would have made texts of all of them
    headers = _headers(cells)
    if headers and _is_line_of_units(headers[0]):
        names = _with_units(cells.names, headers[0].cells)
        cells = FileCells(names, cells.lines, cells.columns).take(slice(1, None))
        headers = [_Header(header.row - 1, header.cells) for header in headers[1:]]
    column_names = [name.lower() for name in layout.names]
    headers = [header for header in headers if _names_columns(header, column_names)]
    return _in_order_of(column_names, cells, headers, notes) if headers else cells


def _is_line_of_units(header: _Header) -> bool:
    return header.row == 0 and any(map(units.unit_of_symbol, header.cells))


def _names_columns(header: _Header, column_names: Sequence[str]) -> bool:
    """Whether a line of words is a header: a row of a table may hold words alone, too."""
    if units.any_power(header.cells):
        return True
    return not set(column_names).isdisjoint(cell.lower() for cell in header.cells)


def _in_order_of(
    column_names: Sequence[str],
    cells: FileCells,
    headers: Sequence[_Header],
    notes: Notes,
) -> FileCells:
    """The rows without these headers, each block's cells in the order of the first header."""
    is_row = np.ones(len(cells), np.bool_)
    columns = [list(column) for column in cells.columns]
    are_distinct = len(set(column_names)) == len(column_names)
    ends = [*(header.row for header in headers[1:]), len(cells)]
    for (row, header), end in zip(headers, ends, strict=True):
        is_row[row] = False
        names_here = [cell.lower() for cell in header]
        if are_distinct and sorted(names_here) == sorted(column_names):
            for column, name in enumerate(column_names):
                written_in = cells.columns[names_here.index(name)]
                columns[column][row:end] = written_in[row:end]
        else:
            is_row[row:end] = False
            shown_names = ", ".join(header)[:60]
            notes.drop_all(cells.lines[row + 1 : end], f"is below another header ({shown_names})")
    return FileCells(cells.names, cells.lines, columns).take(np.flatnonzero(is_row))


class _Header(NamedTuple):
    """A line of words among the rows."""

    row: int
    cells: list[str]


def _headers(cells: FileCells) -> list[_Header]:
    """All rows that hold words alone."""
    headers = []
    for row, first in enumerate(cells.columns[0]):
        # Most rows begin with a number or a time: those need no second look.
        if first and not first[0].isalpha() and first[0] not in "[(#":
            continue
        of_row = [column[row] for column in cells.columns]
        if _is_head(of_row):
            headers.append(_Header(row, of_row))
    return headers


def _with_units(names: Sequence[str], unit_cells: Sequence[str]) -> tuple[str, ...]:
    """Names of columns with the units that are written below them."""
    return tuple(
        f"{name} [{cell.strip('[]() ')}]" if units.unit_of_symbol(cell) else name
        for name, cell in zip(names, unit_cells, strict=True)
    )


def _is_head(cells: Sequence[str]) -> bool:
    """Words alone, and more than one."""
    words = [cell for cell in cells if cell]
    if len(words) < 2:
        return False
    return all(re.search(r"[A-Za-zµ]", word) and not _like_data(word) for word in words)


def _small(text: str, layout: Shape, names: tuple[str, ...], notes: Notes) -> FileCells:
    """All rows of a table that fits into memory as text."""
    header = [name.strip() for name in layout.names]
    rows: list[list[str]] = []
    lines: list[int] = []
    for line, row in _numbered_rows(text, layout):
        if not any(row) or row[0].startswith("#"):
            continue
        if len(row) == len(names) + 1 and not row[-1]:
            row.pop()  # a delimiter at the end of the line
        begins_as_header = layout.named and row[: len(header)] == header
        if begins_as_header and (len(row) != len(names) or row == header):
            continue  # two logs one after the other
        if len(row) != len(names):
            notes.drop(line, irregular(len(row), len(names)))
            continue
        rows.append(row)
        lines.append(line)
    if lines and lines[-1] > text.count("\n") and _last_was_cut(rows):
        notes.drop(lines.pop(), "the last line is incomplete")
        rows.pop()
    columns: list[list[str]] = [[] for _ in names]
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
    return FileCells(names, np.array(lines, np.int64), columns)


def _last_was_cut(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the last row, which has no line end, misses digits, as those before it show."""
    cells_before = [row[-1] for row in rows[-50:-1]]
    return was_cut(rows[-1][-1], cells_before)


def _numbered_rows(text: str, layout: Shape) -> Iterator[tuple[int, list[str]]]:
    """(line of the file, from 1, cells) of every line below the header."""
    body = text.split("\n")[layout.first :]
    if not layout.delimiter:
        for number, line in enumerate(body, layout.first + 1):
            yield number, line.split()
        return
    reader = csv.reader(
        io.StringIO("\n".join(body)),
        delimiter=layout.delimiter,
        skipinitialspace=True,
    )
    for cells in _lenient(reader):
        yield reader.line_num + layout.first, [cell.strip() for cell in cells]


def _lenient(reader: Any) -> Any:
    """csv.reader, past lines that it refuses (a NUL, a quote that never closes)."""
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield ["", "?"]

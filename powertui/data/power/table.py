"""Delimited text as named columns: by the csv module when it is small, by pandas' C parser when it
is large.

Small is the common case, and importing pandas costs more than reading it. Large is a day of a rack.
Both give the same answers; `tests/unit/power/test_table.py` holds them against each other.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from powertui.data.power import heading, large_table, thousands, units
from powertui.data.power.cells import MOST as MOST
from powertui.data.power.cells import NUMBER, irregular
from powertui.data.power.cells import FileCells as FileCells
from powertui.data.power.cells import Shape as Shape
from powertui.data.power.cells import number as number
from powertui.data.power.cells import was_cut as was_cut
from powertui.data.power.notes import Notes
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

DATE_TIME_READING = ("date", "time", "column 3")
LARGE_TABLE_BYTES = 2 << 20  # bytes from which pandas is worth its import


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


def shape(head: str) -> Shape | None:
    """Guess the layout from the first lines.

    None when they are no table of at least two columns.
    """
    lines = [(i, line) for i, line in enumerate(head.split("\n")[:200]) if line.strip()]
    data = [(i, line) for i, line in lines if not line.lstrip().startswith("#")]
    if not data:
        return None
    delimiter = _delimiter([line for _, line in data[:40]])
    if delimiter is None:
        return None
    first, top = data[0]
    cells = fields(top, delimiter)
    if not _begins_at_once(data, delimiter):
        found = heading.find_heading(data, lambda line: fields(line, delimiter), _like_data)
        if found is not None:
            return Shape(
                delimiter,
                found.names,
                found.first,
                True,
                tuple(line for i, line in lines if i < found.top),
            )
    comments = tuple(line for i, line in lines if i < first)
    if len(cells) > 1 and not any(_like_data(cell) for cell in cells if cell):
        if len(set(cells)) > 1:
            return Shape(delimiter, tuple(cells), first + 1, True, comments)
        return None
    for line in reversed(comments):  # "# time watts" as a comment over the data
        candidate = fields(line.lstrip().lstrip("#").strip(), delimiter)
        if len(candidate) == len(cells) and not any(_like_data(cell) for cell in candidate if cell):
            return Shape(
                delimiter,
                tuple(candidate),
                first,
                True,
                tuple(other for other in comments if other is not line),
            )
    if (
        any(_like_data(cell) for cell in fields(data[min(1, len(data) - 1)][1], delimiter))
        and len(cells) > 1
    ):
        mixed = sum(_like_data(cell) for cell in cells) * 2 < len(cells) and len(data) > 1
        if mixed and not any(
            re.fullmatch(r"[-+]?\d*\.?\d+", cell) or ":" in cell for cell in cells
        ):
            return Shape(delimiter, tuple(cells), first + 1, True, comments)
        return Shape(delimiter, _places(cells), first, False, comments)
    return None


def _places(cells: Sequence[str]) -> tuple[str, ...]:
    """Names for the columns of a table without any.

    A date, a time and a reading are what a loop in a shell writes.
    """
    if (
        len(cells) in (3, 4)
        and re.fullmatch(r"\d{4}[-/]\d\d[-/]\d\d", cells[0])
        and re.match(r"\d\d:\d\d:\d\d", cells[1])
    ):
        if len(cells) == 3:
            return DATE_TIME_READING
        if units.unit_of_symbol(cells[3]) is not None:
            return ("date", "time", "value", "unit")
    return tuple(f"column {n}" for n in range(1, len(cells) + 1))


def _begins_at_once(data: Sequence[tuple[int, str]], delimiter: str) -> bool:
    """The first line is the header, or a row, and the second one is a row."""
    if len(data) < 3:
        return True
    first, second, *_ = rows = [fields(line, delimiter) for _, line in data[:40]]
    widths = [len(row) for row in rows]
    usual = max(set(widths), key=widths.count)
    near = abs(len(first) - usual) <= 1 and abs(len(second) - usual) <= 1 and len(first) > 1
    return near and any(_like_data(cell) for cell in second if cell)


def _like_data(cell: str) -> bool:
    return bool(
        NUMBER.fullmatch(cell)
        or re.match(r"\d{1,4}[-/:.]\d", cell)
        or cell.lower() in ("n/a", "[n/a]", "nan", "na")
    )


def _delimiter(lines: Sequence[str]) -> str | None:
    best: tuple[float, str] | None = None
    for delimiter in (";", "\t", ",", "|"):
        counts = [len(fields(line, delimiter)) for line in lines]
        usual = max(set(counts), key=counts.count)
        if usual < 2:
            continue
        score = counts.count(usual) / len(counts) + (0.2 if delimiter in ";\t" else 0.0)
        if best is None or score > best[0]:
            best = (score, delimiter)
    if best is not None and best[0] >= 0.5:
        return best[1]
    counts = [len(line.split()) for line in lines]
    return (
        ""
        if counts
        and max(set(counts), key=counts.count) >= 2
        and counts.count(max(set(counts), key=counts.count)) * 2 > len(counts)
        else None
    )


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
    found = None
    if (
        layout.delimiter
        and source.longer_than(LARGE_TABLE_BYTES)
        and not _has_groups(source.head_text, layout)
    ):
        found = large_table.read(source, layout, names, notes, end)
    cells = _headed_again(
        found if found is not None else _small(source, layout, names, notes, end), layout, notes
    )
    return thousands.without_thousands_signs(cells, layout.delimiter, notes)


def read_dialect(source: LogFile, program: str, notes: Notes, *, end: str = "") -> FileCells:
    """The rows of a table whose header shows that this program wrote it.

    Raises `UnreadableFile` when there is none.
    """
    layout = shape(source.head_text)
    rows = read(source, layout, notes, end=end) if layout is not None else None
    if rows is None or not len(rows):
        raise does_not_fit(source.path, program, notes)
    return rows


def does_not_fit(path: str, program: str, notes: Notes) -> UnreadableFile:
    """What to raise where a program's header has no rows below it that could be its own."""
    reason = notes.first_reason() or "no row"
    return UnreadableFile(path, f"has {program}'s header, but no row that fits it ({reason})")


def _has_groups(head: str, layout: Shape) -> bool:
    """The first rows hold what may be thousands with a sign between them: a parser of numbers would
    not tell.
    """
    rows = [
        fields(line, layout.delimiter)
        for line in head.split("\n")[layout.first : layout.first + 200]
    ]
    columns = list(zip(*(row for row in rows if len(row) == len(layout.names)), strict=True))
    for column in columns:
        others = (
            cell for other in columns if other is not column for cell in other
        )  # a hundred columns are asked for a hundred
        if thousands.thousands_sign(column, others, layout.delimiter):
            return True
    return False


def _headed_again(cells: FileCells, layout: Shape, notes: Notes) -> FileCells:
    """The same where a line of units stands below the header, or a logger that started again wrote
    another header.

    The same names in another order are put in order. Below other names nobody knows what a cell
    means: those rows are left out.
    """
    if (
        not layout.named
        or not len(cells)
        or any(cells.is_numeric(column) for column in range(len(cells.names)))
    ):
        return cells
    names = cells.names
    starts = [
        row
        for row, cell in enumerate(cells.columns[0])
        if cell[:1].isalpha() or cell[:1] in ("", "[", "(", "#")
    ]
    heads = [
        (row, head) for row in starts if _is_head(head := [column[row] for column in cells.columns])
    ]
    if heads and heads[0][0] == 0 and any(map(units.unit_of_symbol, heads[0][1])):
        told = heads.pop(0)[1]
        names = tuple(
            f"{name} [{cell.strip('[]() ')}]" if units.unit_of_symbol(cell) else name
            for name, cell in zip(names, told, strict=True)
        )
        cells = FileCells(names, cells.lines, cells.columns).take(slice(1, None))
        heads = [(row - 1, head) for row, head in heads]
    own = [name.lower() for name in layout.names]
    heads = [
        (row, head)
        for row, head in heads
        if len({cell.lower() for cell in head} & set(own)) >= 1 or units.any_power(head)
    ]
    if not heads:
        return cells
    kept = np.ones(len(cells), np.bool_)
    columns = [list(column) for column in cells.columns]
    for (row, head), end in zip(heads, [*(row for row, _ in heads[1:]), len(cells)], strict=True):
        kept[row] = False
        lower = [cell.lower() for cell in head]
        if sorted(lower) == sorted(own) and len(set(own)) == len(own):
            for column, name in enumerate(own):
                columns[column][row:end] = cells.columns[lower.index(name)][row:end]
        else:
            kept[row:end] = False
            notes.drop_all(
                cells.lines[row + 1 : end], f"is below another header ({', '.join(head)[:60]})"
            )
    return FileCells(names, cells.lines, columns).take(np.flatnonzero(kept))


def _is_head(cells: Sequence[str]) -> bool:
    """Words alone, and more than one."""
    words = [cell for cell in cells if cell]
    return len(words) > 1 and not any(
        _like_data(cell) or not re.search(r"[A-Za-zµ]", cell) for cell in words
    )


def _small(
    source: LogFile, layout: Shape, names: tuple[str, ...], notes: Notes, end: str = ""
) -> FileCells:
    width = len(names)
    rows: list[list[str]] = []
    lines: list[int] = []
    text = source.text
    if end and f"\n{end}" in text:
        text = text[: text.index(f"\n{end}") + 1]
    body = text.split("\n")[layout.first :]
    if layout.delimiter:
        reader = csv.reader(
            io.StringIO("\n".join(body)), delimiter=layout.delimiter, skipinitialspace=True
        )
        numbered = ((reader.line_num + layout.first, row) for row in _lenient(reader))
    else:
        numbered = ((i + layout.first + 1, line.split()) for i, line in enumerate(body))
    header = [name.strip() for name in layout.names]
    for line, raw in numbered:
        row = [cell.strip() for cell in raw]
        if not row or not any(row) or row[0].startswith("#"):
            continue
        if len(row) == width + 1 and not row[-1]:
            row.pop()  # a delimiter at the end of the line
        if len(row) != width:
            if layout.named and row[: len(header)] == header:
                continue
            notes.drop(line, irregular(len(row), width))
        elif layout.named and row == header:
            continue  # the header again: two logs one after the other
        else:
            rows.append(row)
            lines.append(line)
    if (
        rows
        and not text.endswith("\n")
        and lines[-1] >= text.count("\n") + 1
        and was_cut(rows[-1][-1], [row[-1] for row in rows[-50:-1]])
    ):
        notes.drop(lines.pop(), "the last line is incomplete")
        rows.pop()
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in names]
    return FileCells(names, np.array(lines, np.int64), columns)


def _lenient(reader: Any) -> Any:
    """csv.reader, past lines that it refuses (a NUL, a quote that never closes)."""
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield ["", "?"]

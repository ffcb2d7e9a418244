"""The layout of a table, guessed from the first lines of a file: what separates its fields, what
its columns are called, and where its rows begin.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import replace

from powertui.data.power import units
from powertui.data.power.cells import NUMBER, Shape
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

DATE_TIME_READING = ("date", "time", "column 3")
MAX_HEAD_LINES = 200  # that the layout is guessed from; chosen, not measured


_MAX_PROBED_LINES = 40  # of these, for the number of fields; chosen, not measured
_NO_VALUE = ("n/a", "[n/a]", "nan", "na")


_PLAIN_NUMBER = late_pattern(r"[-+]?\d*\.?\d+")


def fields(line: str, delimiter: str) -> list[str]:
    """One line's fields, quotes understood."""
    if not delimiter:
        return line.split()
    if '"' not in line:
        return stripped(line.split(delimiter))
    reader = csv.reader(
        [line],
        delimiter=delimiter,
        skipinitialspace=True,
    )
    try:
        cells = next(reader, [])
    except csv.Error:  # a NUL (Python 3.10), or a quote that never closes in a line of megabytes
        cells = line.split(delimiter)
    return stripped(cells)


def stripped(cells: Sequence[str]) -> list[str]:
    return [cell.strip() for cell in cells]


class _HeadLine(NamedTuple):
    """A line of the file that is not empty."""

    number: int  # from 0
    text: str


def _head_lines(head: str) -> list[_HeadLine]:
    """The first lines, without empty ones."""
    lines = []
    for line_number, text in enumerate(head.split("\n")[:MAX_HEAD_LINES]):
        if text.strip():
            lines.append(_HeadLine(line_number, text))
    return lines


def _texts_above(lines: Sequence[_HeadLine], number: int) -> tuple[str, ...]:
    """The lines above the one with this number."""
    return tuple(line.text for line in lines if line.number < number)


def _is_comment(line: _HeadLine) -> bool:
    return line.text.lstrip().startswith("#")


def shape(head: str) -> Shape | None:
    """Guess the layout from the first lines.

    None when they are no table of at least two columns.
    """
    lines = _head_lines(head)
    data = [line for line in lines if not _is_comment(line)]
    if not data:
        return None
    delimiter = _delimiter([line.text for line in data[:_MAX_PROBED_LINES]])
    if delimiter is None:
        return None
    if not _begins_at_once(data, delimiter):
        from powertui.data.power import heading

        below_titles = heading.find_heading(data, lambda line: fields(line, delimiter), like_data)
        if below_titles is not None:
            return Shape(
                delimiter=delimiter,
                names=below_titles.names,
                first=below_titles.first,
                named=True,
                above=_texts_above(lines, below_titles.top),
            )

    first = data[0]
    unnamed = Shape(
        delimiter=delimiter,
        names=(),
        first=first.number,
        named=False,
        above=_texts_above(lines, first.number),
    )
    second = None
    if len(data) > 1:
        second = fields(data[1].text, delimiter)
    return _shape_by_first_line(unnamed, fields(first.text, delimiter), second)


def _shape_by_first_line(
    unnamed: Shape,
    cells: Sequence[str],
    second: Sequence[str] | None,
) -> Shape | None:
    """The layout of a table whose first line is its header or its first row.

    `second` are the cells of the line below it, where there is one.
    """
    header = replace(
        unnamed,
        names=tuple(cells),
        first=unnamed.first + 1,
        named=True,
    )
    if len(cells) > 1 and not _any_like_data(cells):
        if len(set(cells)) > 1:
            return header
        return None
    by_comment = _named_by_comment(unnamed, len(cells))
    if by_comment is not None:
        return by_comment
    if len(cells) < 2:
        return None
    first_data = cells if second is None else second
    if not any(map(like_data, first_data)):
        return None
    if second is not None and _are_words_mostly(cells):
        return header
    return replace(unnamed, names=_places(cells))


def _any_like_data(cells: Sequence[str]) -> bool:
    written = filter(None, cells)
    return any(map(like_data, written))


def _named_by_comment(unnamed: Shape, width: int) -> Shape | None:
    """The layout whose names are in a comment over the data, as in "# time watts"; None where no
    comment has a word for each column.
    """
    for line in reversed(unnamed.above):
        without_mark = line.lstrip().lstrip("#")
        names = fields(without_mark.strip(), unnamed.delimiter)
        if len(names) != width or _any_like_data(names):
            continue
        above = tuple(comment for comment in unnamed.above if comment is not line)
        return replace(
            unnamed,
            names=tuple(names),
            named=True,
            above=above,
        )
    return None


def _are_words_mostly(cells: Sequence[str]) -> bool:
    """Whether a first line is a header although some of its cells look like data."""
    for cell in cells:
        # A name like "12V" looks like a reading; plain numbers and times of day are no names.
        if _PLAIN_NUMBER.fullmatch(cell) or ":" in cell:
            return False
    data_count = sum(map(like_data, cells))
    return data_count * 2 < len(cells)


def _places(cells: Sequence[str]) -> tuple[str, ...]:
    """Names for the columns of a table without any.

    A date, a time and a reading are what a loop in a shell writes.
    """
    width = len(cells)
    is_dated = width in (3, 4) and _are_date_and_time(*cells[:2])
    if is_dated and width == 3:
        return DATE_TIME_READING
    if is_dated and units.unit_of_symbol(cells[3]) is not None:
        return ("date", "time", "value", "unit")
    places = range(1, width + 1)
    return tuple(f"column {place}" for place in places)


def _are_date_and_time(date: str, time: str) -> bool:
    if re.fullmatch(r"\d{4}[-/]\d\d[-/]\d\d", date) is None:
        return False
    return re.match(r"\d\d:\d\d:\d\d", time) is not None


def _begins_at_once(data: Sequence[_HeadLine], delimiter: str) -> bool:
    """Whether the first line is the header, or a row, and the second one is a row."""
    if len(data) < 3:
        return True
    rows = []
    widths = []
    for line in data[:_MAX_PROBED_LINES]:
        row = fields(line.text, delimiter)
        rows.append(row)
        widths.append(len(row))
    typical_width = _commonest(widths)
    for width in widths[:2]:
        # One field more or less is a delimiter at the end, or a name without a column.
        if abs(width - typical_width) > 1:
            return False
    if widths[0] < 2:
        return False
    return _any_like_data(rows[1])


def _commonest(counts: Sequence[int]) -> int:
    """The count that most lines have; of none, 0."""
    return max(
        set(counts),
        key=counts.count,
        default=0,
    )


def like_data(cell: str) -> bool:
    """Whether a cell looks like a reading or a time, or says that there is none."""
    if NUMBER.fullmatch(cell):
        return True
    if re.match(r"\d{1,4}[-/:.]\d", cell):
        return True
    return cell.lower() in _NO_VALUE


def _delimiter(lines: Sequence[str]) -> str | None:
    """What separates the fields of most lines; "" stands for runs of blanks."""
    best_score = 0.0
    best_delimiter = ""
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
            best_score = score
            best_delimiter = delimiter
    if best_score >= 0.5:
        return best_delimiter
    word_counts = [len(line.split()) for line in lines]
    typical_count = _commonest(word_counts)
    is_usual = word_counts.count(typical_count) * 2 > len(word_counts)
    if typical_count >= 2 and is_usual:
        return ""
    return None

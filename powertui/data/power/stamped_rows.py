"""Tables whose rows have no time, with a time on a line of its own before each call that printed
them: `date +%s; ipmitool -c sdr` in a loop, `date; ipmi-sensors --comma-separated-output`.

The time goes before each row below it, and the table is read as any other.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.power import generic_csv, stamps, table, units
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.data.power.time_signs import is_time
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

NAME = "rows below times"
TAKES_OPTIONS = True
_MIN_TIMES = 2  # lines that are a time alone: one may be a title
_BELOW_LINES = 51  # below what `log_lines` reports of lines that are readings
_MAX_HEAD_LINES = 400  # that show whether a log is one; chosen, not measured


def sniff(head: str, path: str) -> int:
    """As sure as of the table with its times."""
    head_lines = head.split("\n")[:_MAX_HEAD_LINES]
    lines = [line for _, line in stamps.numbered_lines(head_lines)]
    are_times = [bool(stamps.time_of_line(line)) for line in lines]
    if not any(are_times[:2]) or sum(are_times) < _MIN_TIMES:
        return 0
    text = _with_times("\n".join(lines))
    if not text:
        return 0
    score = generic_csv.sniff(text, path)
    # Rows without names may be lines of a program's log, whose reader knows more of them.
    if text.startswith(("time,sensor,", "time,ID,")):
        return score
    return min(score, _BELOW_LINES)


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """The table, each row with the time above it."""
    text = _with_times(source.text)
    if not text:
        raise UnreadableFile(source.path, "holds times, and no rows of a table below them")
    as_csv = LogFile.of_text(source, text)
    log: PowerLog = generic_csv.load(as_csv, options)
    return log


class _StampedRow(NamedTuple):
    """The cells of a row, and which call of the program printed it, and when."""

    answer: int
    when: str
    cells: list[str]


def _stamped_lines(text: str) -> list[_StampedLine]:
    """The lines below times."""
    stamped: list[_StampedLine] = []
    when = ""
    answer = 0
    for _, line in stamps.numbered_lines(text.split("\n")):
        if stamp := stamps.time_of_line(line):
            when = stamp
            answer += 1
        elif when:
            stamped.append(_StampedLine(answer, when, line))
    return stamped


def _with_times(text: str) -> str:
    """The rows as CSV with a column of times; "" where they are no table, or have times."""
    stamped = _stamped_lines(text)
    form = _form([row.line for row in stamped])
    if form is None or any(map(is_time, form.names)):
        return ""
    rows = []
    for answer, when, line in stamped:
        cells = form.cells(line)
        cells[0] = cells[0].rstrip(":")
        if cells != form.names:  # the header comes again with each call
            rows.append(_StampedRow(answer, when, cells))
    _number_repeated(rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["time", *form.names])
    for row in rows:
        writer.writerow([row.when, *row.cells])
    return out.getvalue()


class _StampedLine(NamedTuple):
    """A line with the time above it, and which of the answers it is in."""

    answer: int
    when: str
    line: str


class _Form(NamedTuple):
    """The columns of rows, and what separates them."""

    names: list[str]
    delimiter: str | None  # None: each row is one cell

    def cells(self, line: str) -> list[str]:
        """The cells of a row."""
        if self.delimiter is None:
            return [line.strip()]
        return table.fields(line, self.delimiter)


def _number_repeated(rows: Sequence[_StampedRow]) -> None:
    """Add numbers to names that one answer holds more than once."""
    named = []
    for row in rows:
        name = row.cells[0]
        if _is_word(name):
            named.append((row.answer, name))
    repeated = stamps.repeated_in_answers(named)
    counts: Counter[tuple[int, str]] = Counter()
    for row in rows:
        name = row.cells[0]
        if name in repeated:
            counts[row.answer, name] += 1
            number = counts[row.answer, name]
            row.cells[0] = f"{name} {number}"


def _form(body: Sequence[str]) -> _Form | None:
    """How the rows are written: as a table, or a number each; None where they are neither."""
    layout = table.shape("\n".join(body))
    if layout is not None:
        if layout.named:
            names = list(layout.names)
        else:
            names = _names(body, layout.delimiter)
        return _Form(names, layout.delimiter)
    if body and all(map(_is_number, body)):
        return _Form(["value"], None)
    return None


def _names(body: Sequence[str], delimiter: str) -> list[str]:
    """Names for the columns of rows without a header: a sensor, its reading and its unit."""
    rows = [table.fields(line, delimiter) for line in body[:_MAX_HEAD_LINES]]
    width = len(rows[0])
    names = [f"column {place}" for place in range(1, width + 1)]
    columns = list(zip(*(row for row in rows if len(row) == width), strict=True))
    unit = _first_place(columns, units.unit_of_symbol)
    # Words with blanks between them are a sentence.
    if unit is None or not delimiter:
        return names
    names[unit] = "unit"
    value = _place_of_reading(columns, unit)
    if value is not None:
        names[value] = "value"
    sensor = _first_place(columns, _is_word)
    if sensor is not None and sensor not in (unit, value):
        names[sensor] = "sensor"
    return names


def _first_place(
    columns: Sequence[Sequence[str]],
    is_sought: Callable[[str], object],
) -> int | None:
    """The first column of which any cell is what is sought."""
    for place, cells in enumerate(columns):
        if any(map(is_sought, cells)):
            return place
    return None


def _place_of_reading(columns: Sequence[Sequence[str]], unit: int) -> int | None:
    """The last numbers before the unit: those before them number the sensors. Else the first behind
    it.
    """
    numbers = [place for place, cells in enumerate(columns) if any(map(_is_number, cells))]
    before = [place for place in numbers if place < unit]
    if before:
        return before[-1]
    return numbers[0] if numbers else None


def _is_word(cell: str) -> bool:
    return re.search(r"[^\W\d_]", cell) is not None


def _is_number(cell: str) -> bool:
    value = table.number(cell.strip())
    return bool(np.isfinite(value))

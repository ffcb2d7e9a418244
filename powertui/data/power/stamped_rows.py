"""Tables whose rows have no time, with a time on a line of its own before each call that printed
them: `date +%s; ipmitool -c sdr` in a loop, `date; ipmi-sensors --comma-separated-output`.

The time goes before each row below it, and the table is read as any other.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence

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
    lines = [line for _, line in stamps.numbered_lines(head.split("\n")[:_MAX_HEAD_LINES])]
    if not lines or not any(map(stamps.time_of_line, lines[:2])):
        return 0
    if sum(bool(stamps.time_of_line(line)) for line in lines) < _MIN_TIMES:
        return 0
    text = _with_times("\n".join(lines))
    score = generic_csv.sniff(text, path) if text else 0
    # Rows without names may be lines of a program's log, whose reader knows more of them.
    if text.startswith(("time,sensor,", "time,ID,")):
        return score
    return min(score, _BELOW_LINES)


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """The table, each row with the time above it."""
    text = _with_times(source.text)
    if not text:
        raise UnreadableFile(source.path, "holds times, and no rows of a table below them")
    log: PowerLog = generic_csv.load(LogFile.of_text(source, text), options)
    return log


def _with_times(text: str) -> str:
    """The rows as CSV with a column of times; "" where they are no table, or have times."""
    stamped: list[_StampedLine] = []
    when = ""
    answer = 0
    for _, line in stamps.numbered_lines(text.split("\n")):
        if stamp := stamps.time_of_line(line):
            when = stamp
            answer += 1
        elif when:
            stamped.append(_StampedLine(answer, when, line))
    form = _form([row.line for row in stamped])
    if form is None or any(map(is_time, form.names)):
        return ""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["time", *form.names])
    rows = []
    for row in stamped:
        cells = form.cells(row.line)
        cells[0] = cells[0].rstrip(":")
        if cells != form.names:  # the header comes again with each call
            rows.append((row.answer, [row.when, *cells]))
    repeated = stamps.repeated_in_answers(
        (answer, cells[1]) for answer, cells in rows if re.search(r"[^\W\d_]", cells[1])
    )
    seen: Counter[tuple[int, str]] = Counter()
    for answer, cells in rows:
        name = cells[1]
        if name in repeated:
            seen[answer, name] += 1
            cells[1] = f"{name} {seen[answer, name]}"
        writer.writerow(cells)
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


def _form(body: Sequence[str]) -> _Form | None:
    """How the rows are written: as a table, or a number each; None where they are neither."""
    layout = table.shape("\n".join(body))
    if layout is not None:
        if layout.named:
            names = list(layout.names)
        else:
            names = _names(body, layout.delimiter)
        return _Form(names, layout.delimiter)
    are_numbers = all(np.isfinite(table.number(line.strip())) for line in body)
    if body and are_numbers:
        return _Form(["value"], None)
    return None


def _names(body: Sequence[str], delimiter: str) -> list[str]:
    """Names for the columns of rows without a header: a sensor, its reading and its unit."""
    rows = [table.fields(line, delimiter) for line in body[:_MAX_HEAD_LINES]]
    columns = list(zip(*(row for row in rows if len(row) == len(rows[0])), strict=True))
    by_place = [f"column {place}" for place in range(1, len(columns) + 1)]
    names = list(by_place)
    for place, cells in enumerate(columns):
        if "unit" not in names and any(map(units.unit_of_symbol, cells)):
            names[place] = "unit"
        elif "value" not in names and any(map(_is_number, cells)):
            names[place] = "value"
        elif "sensor" not in names and place == 0:
            names[place] = "sensor"
    # Words with blanks between them are a sentence.
    is_table = "unit" in names and bool(delimiter)
    return names if is_table else by_place


def _is_number(cell: str) -> bool:
    return bool(np.isfinite(table.number(cell)))

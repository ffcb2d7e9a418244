"""The tables that sacct and sh5util print: with separators, or in columns over a line of dashes."""

from __future__ import annotations

import re

from powertui.data.power.cells import below_header
from powertui.data.power.notes import Notes
from powertui.data.power.source import LogFile
from powertui.named_tuples import NamedTuple


def _head(line: str) -> list[str]:
    """The cells of a line, by the separator that it has."""
    for separator in ("|", ","):
        if separator in line:
            cells = line.split(separator)
            return [cell.strip() for cell in cells]
    return line.split()


def header(head: str) -> list[str]:
    """The cells of the first line that is not empty."""
    lines = filter(str.strip, head.split("\n"))
    return _head(next(lines, ""))


class TableRow(NamedTuple):
    """A line below the header."""

    line: int  # of the file, from 1
    cells: list[str]


class SlurmTable(NamedTuple):
    """What sacct or sh5util printed."""

    names: list[str]
    rows: list[TableRow]


def read_table(source: LogFile, notes: Notes) -> SlurmTable:
    """The header and the rows that have a cell for each column."""
    lines = source.text.split("\n")
    top = next(i for i, line in enumerate(lines) if line.strip())
    names = _head(lines[top])
    width = len(names)
    below = lines[top + 1 :]
    spans = _spans_of_dashes(below[0]) if below else []
    rows = []
    for number, line in enumerate(below, top + 2):
        if set(line.strip()) <= {"-", " "}:
            continue
        if spans:
            cells = [line[start:end].strip() for start, end in spans]
        else:
            cells = _head(line)
        if cells == names:
            continue  # sacct was asked again, into the same file
        if len(cells) == width + 1 and not cells[-1]:
            cells.pop()  # `sacct -p` ends each line with the separator
        if len(cells) != width:
            notes.drop(number, below_header(len(cells), width))
            continue
        rows.append(TableRow(number, cells))
    return SlurmTable(names, rows)


def _spans_of_dashes(line: str) -> list[tuple[int, int]]:
    """Where each column begins and ends, by the line of dashes that sacct prints below its header;
    none where it is another line.
    """
    if set(line.strip()) != {"-", " "}:
        return []
    dashes = re.finditer(r"-+", line)
    return [match.span() for match in dashes]

"""A `Result` as aligned text.

Facts come first, then the tables, cut at a length that a person reads.
"""

from __future__ import annotations

from powertui.data.columns import Column
from powertui.data.table import Fact, Result, Table
from powertui.plain import plain
from powertui.report import text

_MAX_ROWS = 40  # of a table: about a screen
# Terminal cells of one text in a table: kernel names run to thousands of characters. Chosen, not
# measured.
_MAX_TEXT_CELLS = 72


def write(result: Result) -> str:
    """The whole result."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Result) -> list[str]:
    lines = [plain(result.title)]
    lines += text.labelled((plain(fact.label), _fact(fact)) for fact in result.facts)
    for table in result.tables:
        lines.append("")
        lines += _table_lines(table)
    if result.notes:
        lines.append("")
    for note in result.notes:
        lines.append(f"note: {plain(note)}")
    return lines


def _fact(fact: Fact) -> str:
    words = plain(fact.text())
    if fact.badge is not None:
        words += f"  {fact.badge.value}"
    return words


def _table_lines(table: Table) -> list[str]:
    """One table below its title."""
    title = plain(table.title)
    if not len(table):
        return [f"{title}: {plain(table.empty or 'nothing')}"]
    columns = table.shown
    row_count = min(_MAX_ROWS, len(table))
    rows = []
    for row in range(row_count):
        rows.append([_cell(column, row) for column in columns])
    headers = [column.label for column in columns]
    right = [index for index, column in enumerate(columns) if column.numeric]
    lines = [title, *text.table(headers, rows, right=right, indent="  ")]
    omitted = len(table) - row_count
    if omitted:
        lines.append(f"  … {omitted:,} more (--json and --csv list them all)")
    return lines


def _cell(column: Column, row: int) -> str:
    words = column.text(row)
    if column.kind == "text":
        return plain(words, _MAX_TEXT_CELLS)
    return words

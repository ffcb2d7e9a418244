"""A `Result` as aligned text.

Facts come first, then the tables, cut at a length that a person reads.
"""

from __future__ import annotations

from powertui.data.table import Column, Fact, Result, Table
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
        lines += ["", *_table_lines(table)]
    if result.notes:
        lines.append("")
    return lines + [f"note: {plain(note)}" for note in result.notes]


def _fact(fact: Fact) -> str:
    badge = f"  {fact.badge.value}" if fact.badge is not None else ""
    return plain(fact.text()) + badge


def _table_lines(table: Table) -> list[str]:
    """One table below its title."""
    title = plain(table.title)
    if not len(table):
        return [f"{title}: {plain(table.empty or 'nothing')}"]
    columns = table.shown
    row_count = min(_MAX_ROWS, len(table))
    rows = [[_cell(column, row) for column in columns] for row in range(row_count)]
    headers = [column.label for column in columns]
    right = [index for index, column in enumerate(columns) if column.numeric]
    lines = [title, *text.table(headers, rows, right=right, indent="  ")]
    if len(table) > row_count:
        omitted = len(table) - row_count
        lines.append(f"  … {omitted:,} more (--json and --csv list them all)")
    return lines


def _cell(column: Column, row: int) -> str:
    return plain(column.text(row), _MAX_TEXT_CELLS) if column.kind == "text" else column.text(row)

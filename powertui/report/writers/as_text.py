"""A `Result` as aligned text: what is known first, then the tables, cut at a length that a person
reads.
"""

from __future__ import annotations

from powertui.data.table import Column, Result, Table
from powertui.plain import plain
from powertui.report import text

_ROWS = 40
_NAME_CELLS = 72  # of one cell of text: kernel names run to thousands of characters


def write(result: Result) -> str:
    """The whole result."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Result, rows: int = _ROWS) -> list[str]:
    """The same, line by line."""
    out = [plain(result.title)]
    out += text.labelled(
        [(plain(fact.label), plain(fact.text()) + _badge(fact.badge)) for fact in result.facts]
    )
    for table in result.tables:
        out += ["", *_table_lines(table, rows)]
    if result.notes:
        out += ["", *(f"note: {plain(note)}" for note in result.notes)]
    return out


def _table_lines(table: Table, rows: int = _ROWS) -> list[str]:
    """One table below its title."""
    title = plain(table.title)
    if not len(table):
        return [f"{title}: {plain(table.empty or 'nothing')}"]
    shown = range(min(rows, len(table)))
    headers = [column.label for column in table.shown]
    body = [[_cell(column, row) for column in table.shown] for row in shown]
    right = [i for i, column in enumerate(table.shown) if column.numeric]
    out = [title, *text.table(headers, body, right=right, indent="  ")]
    left = len(table) - len(shown)
    return [*out, f"  … {left:,} more (--json and --csv list them all)"] if left else out


def _cell(column: Column, row: int) -> str:
    return plain(column.text(row), _NAME_CELLS) if column.kind == "text" else column.text(row)


def _badge(badge: object) -> str:
    return f"  {getattr(badge, 'value', badge)}" if badge is not None else ""

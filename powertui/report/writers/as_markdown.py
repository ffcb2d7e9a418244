"""A `Result` as Markdown, for a document or an issue."""

from __future__ import annotations

from powertui.data.table import Result, Table
from powertui.report import text

_MAX_ROWS = 100  # of a table: more are for a program, which takes JSON or CSV


def write(result: Result) -> str:
    """Facts as a list, tables as tables. Text from files is escaped: it cannot become markup."""
    lines = [f"## {text.markdown_text(result.title)}", ""]
    for fact in result.facts:
        label = text.markdown_text(fact.label)
        value = text.markdown_text(fact.text())
        if fact.badge is not None:
            value += f" ({fact.badge.value})"
        lines.append(f"- {label}: {value}")
    for table in result.tables:
        lines.append("")
        lines += _table_lines(table)
    lines.append("")
    for note in result.notes:
        lines.append(f"- note: {text.markdown_text(note)}")
    return "\n".join(lines).rstrip() + "\n"


def _table_lines(table: Table) -> list[str]:
    """One table below its title."""
    lines = [f"### {text.markdown_text(table.title)}", ""]
    if not len(table):
        return [*lines, text.markdown_text(table.empty or "No rows.")]
    columns = table.shown
    row_count = min(_MAX_ROWS, len(table))
    rows = []
    for row in range(row_count):
        rows.append([column.text(row) for column in columns])
    headers = [column.label for column in columns]
    right = [index for index, column in enumerate(columns) if column.numeric]
    lines += text.markdown(headers, rows, right=right)
    omitted = len(table) - row_count
    if omitted:
        lines += ["", f"… {omitted:,} more rows."]
    return lines

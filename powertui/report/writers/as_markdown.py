"""A `Result` as Markdown, for a document or an issue."""

from __future__ import annotations

from powertui.data.table import Result, Table
from powertui.report import text

_MAX_ROWS = 100  # of a table: more are for a program, which takes JSON or CSV


def write(result: Result) -> str:
    """Facts as a list, tables as tables. Text from files is escaped: it cannot become markup."""
    lines = [f"## {text.markdown_text(result.title)}", ""]
    for fact in result.facts:
        label, value = text.markdown_text(fact.label), text.markdown_text(fact.text())
        badge = f" ({fact.badge.value})" if fact.badge is not None else ""
        lines.append(f"- {label}: {value}{badge}")
    for table in result.tables:
        lines += ["", *_table_lines(table)]
    lines.append("")
    lines += [f"- note: {text.markdown_text(note)}" for note in result.notes]
    return "\n".join(lines).rstrip() + "\n"


def _table_lines(table: Table) -> list[str]:
    """One table below its title."""
    lines = [f"### {text.markdown_text(table.title)}", ""]
    if not len(table):
        return [*lines, text.markdown_text(table.empty or "No rows.")]
    columns = table.shown
    row_count = min(_MAX_ROWS, len(table))
    rows = [[column.text(row) for column in columns] for row in range(row_count)]
    headers = [column.label for column in columns]
    right = [index for index, column in enumerate(columns) if column.numeric]
    lines += text.markdown(headers, rows, right=right)
    if len(table) > row_count:
        lines += ["", f"… {len(table) - row_count:,} more rows."]
    return lines

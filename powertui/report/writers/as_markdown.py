"""A `Result` as Markdown, for a document or an issue."""

from __future__ import annotations

from powertui.data.table import Result, Table
from powertui.report import text

_ROWS = 100


def write(result: Result) -> str:
    """Facts as a list, tables as tables. Text from files is escaped: it cannot become markup."""
    out = [f"## {text.markdown_text(result.title)}", ""]
    for fact in result.facts:
        badge = f" ({fact.badge.value})" if fact.badge is not None else ""
        out.append(f"- {text.markdown_text(fact.label)}: {text.markdown_text(fact.text())}{badge}")
    for table in result.tables:
        out += ["", *_table_lines(table)]
    out += ["", *(f"- note: {text.markdown_text(note)}" for note in result.notes)]
    return "\n".join(out).rstrip() + "\n"


def _table_lines(table: Table) -> list[str]:
    """One table below its title."""
    head = [f"### {text.markdown_text(table.title)}", ""]
    if not len(table):
        return [*head, text.markdown_text(table.empty or "No rows.")]
    body = [[column.text(row) for column in table.shown] for row in range(min(_ROWS, len(table)))]
    right = [i for i, column in enumerate(table.shown) if column.numeric]
    out = [*head, *text.markdown([column.label for column in table.shown], body, right=right)]
    return [*out, "", f"… {len(table) - _ROWS:,} more rows."] if len(table) > _ROWS else out

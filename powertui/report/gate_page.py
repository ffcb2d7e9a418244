"""A check as text, or as Markdown for a pull request: the answer, the table, then why."""

from __future__ import annotations

from collections.abc import Iterator

from powertui.data.gate.gate import Gate, GateRow
from powertui.plain import plain
from powertui.report import text
from powertui.report.gate_words import (
    answer,
    basis_words,
    difference_cell,
    in_quantity_unit,
    interval_cell,
    limit_cell,
    row_name,
    row_sentence,
    runs_in_words,
    verdict_cell,
)
from powertui.report.page_style import Style, style_of

# The verdict comes first: what a narrow terminal wraps is what it rests on.
_HEADERS = (
    "verdict",
    "quantity",
    "limit",
    "value",
    "baseline",
    "difference",
    "95 % interval",
    "from",
)
_MAX_SETTINGS = 12  # of the configuration, of a pull request
_CELL_CHARACTERS = 48


def gate_page(gate: Gate, form: str) -> list[str]:
    """All lines."""
    style = style_of(form)
    lines = _answer(style, gate)
    lines += style.table(_HEADERS, map(_cells, gate.rows), range(2, 7))
    lines += _reasons(style, gate)
    lines += _configuration(style, gate)
    if gate.notes:
        lines += style.head(2, "Notes")
        lines += map(style.line, gate.notes)
    return lines


def _answer(style: Style, gate: Gate) -> list[str]:
    runs = runs_in_words(len(gate.runs), gate.sessions)
    against = ""
    if gate.baseline:
        baseline_runs = text.plural(gate.baseline_runs, "run")
        against = f", against the baseline {gate.baseline} ({baseline_runs})"
    sides = f"{runs}{against}."
    if style.is_document:
        bold = f"**{text.markdown_text(answer(gate))}**"
        return ["## Check", "", bold, "", text.markdown_text(sides), ""]
    return [plain(answer(gate)), plain(sides), ""]


def _cells(row: GateRow) -> list[str]:
    unit = row.quantity.unit
    return [
        verdict_cell(row),
        row_name(row),
        limit_cell(row),
        in_quantity_unit(row.value, unit),
        in_quantity_unit(row.baseline, unit),
        difference_cell(row),
        interval_cell(row),
        basis_words(row) if row.runs else "",
    ]


def _reasons(style: Style, gate: Gate) -> list[str]:
    """Why rows cannot be said, but for the one that the answer tells of."""
    first = answer(gate)
    rows = [style.line(words) for words in _open_sentences(gate) if words not in first]
    if not rows:
        return []
    return [*style.head(2, "Not resolved"), *rows]


def _open_sentences(gate: Gate) -> Iterator[str]:
    for row in gate.rows:
        if row.is_open:
            yield row_sentence(row)


def _configuration(style: Style, gate: Gate) -> list[str]:
    if not gate.configuration:
        return []
    rows = []
    for setting in gate.configuration[:_MAX_SETTINGS]:
        rows.append([_cut(setting.name), _cut(setting.a), _cut(setting.b)])
    lines = style.head(2, "Configuration that differs from the baseline")
    lines += style.table(("what", "baseline", "now"), rows, ())
    left_out = len(gate.configuration) - len(rows)
    if left_out:
        lines.append(style.line(f"… and {left_out} more (--json lists them)"))
    return lines


def _cut(words: str) -> str:
    if len(words) <= _CELL_CHARACTERS:
        return words
    return f"{words[: _CELL_CHARACTERS - 1]}…"

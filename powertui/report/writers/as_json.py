"""A `Result` as JSON: columns with ids, labels and units, and rows as lists of their values.

What is unknown is null.

Times are seconds, or what the column's unit says: tables that TensorBoard has too carry its ids and
labels, and its microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from powertui.data.columns import Column, Value
from powertui.data.table import Chart, Fact, Result, Table
from powertui.report import text


def write(result: Result) -> str:
    """One object."""
    return text.to_json(as_dict(result))


def as_dict(result: Result) -> dict[str, Any]:
    """The same as Python objects."""
    return {
        "tool": result.id,
        "title": result.title,
        "mode": result.mode or None,
        "facts": {fact.id: _fact(fact) for fact in result.facts},
        "tables": [_table(table) for table in result.tables],
        "charts": {chart.id: _chart(chart) for chart in result.charts},
        "notes": list(result.notes),
    }


def rows(table: Table) -> list[list[Value]]:
    """One list per row, its values in the order of the columns."""
    columns = [_values(column) for column in table.columns]
    return [list(values) for values in zip(*columns, strict=True)]


def _values(column: Column) -> list[Value]:
    values = column.exports()
    return _finite(values) if column.kind in ("number", "share") else values


def _finite(values: Sequence[Value]) -> list[Value]:
    """JSON has no NaN and no Infinity: they are null."""
    return [
        None if isinstance(value, float) and not math.isfinite(value) else value for value in values
    ]


def _table(table: Table) -> dict[str, Any]:
    columns = [
        {
            "id": column.id,
            "label": column.head or column.label,
            "kind": column.kind,
            "unit": column.exported_unit or None,
        }
        for column in table.columns
    ]
    return {
        "name": table.id,
        "title": table.title,
        "columns": columns,
        "rows": rows(table),
        "empty": (table.empty or None) if not len(table) else None,
    }


def _fact(fact: Fact) -> dict[str, Any]:
    value, lo, hi = fact.exported()
    return {
        "label": fact.label,
        "value": value,
        "unit": fact.exported_unit or None,
        "lo": lo,
        "hi": hi,
        "badge": fact.badge.value if fact.badge is not None else None,
        "why": fact.why or None,
    }


def _chart(chart: Chart) -> dict[str, Any]:
    return {
        "title": chart.title,
        "kind": chart.kind,
        "x": chart.x_label,
        "y": chart.y_label,
        "series": [
            {"label": series.label, "x": list(series.x), "y": _finite(series.y.tolist())}
            for series in chart.series
        ],
    }

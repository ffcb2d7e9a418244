"""The first table of a `Result` as CSV (RFC 4180).

Ids stand above the columns; times are seconds; unknown values are empty.
"""

from __future__ import annotations

from collections.abc import Iterable

from powertui.data.columns import TIMES, Column, ps_of
from powertui.data.table import Result, Table
from powertui.report import text
from powertui.report.text import ExactNumber
from powertui.units import fixed


def write(result: Result) -> str:
    """The first table of a result; "" where it has none."""
    return of_table(result.table) if result.table is not None else ""


def of_table(table: Table) -> str:
    """One table."""
    rows = zip(*(_cells(column) for column in table.columns), strict=True)
    return text.to_csv(table.ids, rows)


def _cells(column: Column) -> Iterable[object]:
    if column.kind in TIMES:
        return _times(column)
    return [str(value).lower() if isinstance(value, bool) else value for value in column.exports()]


def _times(column: Column) -> list[ExactNumber | None]:
    """Times in the column's unit, with every digit of their picoseconds."""
    unit_ps = ps_of(column.unit)
    digits = len(str(unit_ps)) - 1
    cells = []
    for row in range(len(column)):
        ps = column.value(row)
        cells.append(None if ps is None else ExactNumber(fixed(int(ps), unit_ps, digits)))
    return cells

"""The first table of a `Result` as CSV (RFC 4180): ids above, times in seconds, unknown values
empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from powertui.data.table import TIMES, Column, Result, Table, Value, ps_of
from powertui.report import text
from powertui.units import fixed


class _Exact:
    """A number that is text already, with every digit.

    It may begin with a minus, which text from a file may not.
    """

    __slots__ = ("digits",)

    def __init__(self, digits: str) -> None:
        self.digits = digits

    def __str__(self) -> str:
        return self.digits


def write(result: Result) -> str:
    """A result has one table in CSV: the one that its id names, else the first."""
    return of_table(result.table) if result.table is not None else ""


def of_table(table: Table) -> str:
    """One table."""
    return text.to_csv(table.ids, _rows(table))


def _rows(table: Table) -> Iterator[Sequence[object]]:
    return zip(*(_cells(column) for column in table.columns), strict=True)


def _cells(column: Column) -> Iterator[object]:
    if column.kind in TIMES:
        size = ps_of(column.unit)
        digits = len(str(size)) - 1
        return (
            None if v is None else _Exact(fixed(int(v), size, digits))
            for v in (column.value(i) for i in range(len(column)))
        )
    return iter(_plainly(value) for value in column.exports())


def _plainly(value: Value) -> object:
    return ("true" if value else "false") if isinstance(value, bool) else value

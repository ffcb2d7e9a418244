"""Which lines a table has on screen: rows in an order, some of them left out, perhaps put together
in groups that unfold.

A line is a number: a row of the table from 0 on, or -1 - g for the heading of group g. All of it is
worked out on whole columns, wherever the caller likes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import numpy as np

from powertui.data.model import Int64s
from powertui.data.table import Column, Table, Value
from powertui.data.texts import CancelCheck, unhindered
from powertui.value_types import dataclass
from powertui.view import nested_rows
from powertui.view.nested_rows import NestedRows
from powertui.view.table_rows import Order, arranged

LAYER = "layer"  # the grouping by all but the last part of a path
_ROWS_PER_CHECK = 4096  # rows between two looks whether somebody still waits
_NAMELESS = "–"


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Rows that belong together, in their order."""

    label: str
    rows: Int64s
    total: Mapping[str, Value]


@dataclass(frozen=True, eq=False)
class ListedRows:
    """What stands in the table now."""

    table: Table
    rows: Int64s  # those that are left, in order
    hidden: Int64s = field(
        default_factory=lambda: np.empty(0, np.int64)
    )  # rows left out because they only hold others
    elsewhere: int = 0  # rows of the other parts
    groups: tuple[RowGroup, ...] = ()
    lines: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    folds: NestedRows | None = None  # where rows lie in rows

    def unfolded(self, open_: frozenset[str]) -> ListedRows:
        """The same with these groups open; of rows that lie in rows, with those folded that
        `nested.turned` tells of.
        """
        if self.table.within is not None and not self.groups:
            folds = nested_rows.folds(self.table, self.table.within, self.rows, open_)
            return replace(self, lines=folds.lines(self.rows), folds=folds)
        if not self.groups:
            return ListedRows(self.table, self.rows, self.hidden, self.elsewhere, (), self.rows)
        parts = [
            part
            for number, group in enumerate(self.groups)
            for part in (
                np.array([-1 - number], np.int64),
                *((group.rows,) if group.label in open_ else ()),
            )
        ]
        return ListedRows(
            self.table, self.rows, self.hidden, self.elsewhere, self.groups, np.concatenate(parts)
        )


def groupings(table: Table) -> tuple[str, ...]:
    """What the rows can be put together by: columns of words besides the name, and the layer where
    names are paths.
    """
    main = name_of(table)
    words = [column.id for column in table.shown if column.kind == "text" and column is not main]
    return (*words, LAYER) if table.layer and main is not None else tuple(words)


def name_of(table: Table) -> Column | None:
    """The column that says what a row is called."""
    return next(
        (
            column
            for column in sorted(table.shown, key=lambda c: -c.weight)
            if column.kind == "text"
        ),
        None,
    )


def listed(
    table: Table, order: Order, open_: frozenset[str] = frozenset(), check: CancelCheck = unhindered
) -> ListedRows:
    """The lines in that order."""
    rows = arranged(table, order, check)
    elsewhere = 0
    hidden = np.empty(0, np.int64)
    if table.parts:
        keep = table.parts[order.part % len(table.parts)].keep(check)
        elsewhere = int((~keep[rows]).sum())
        rows = rows[keep[rows]]
    if table.wrappers is not None and not order.wrappers:
        wraps = table.wrappers(check)[rows]
        if not wraps.all():  # else nothing would be left: better these than nothing
            rows, hidden = rows[~wraps], rows[wraps]
    groups = _grouped(table, rows, order, check) if order.group in groupings(table) else ()
    if table.within is not None and not groups:
        rows = nested_rows.below(table.within, rows)
    return ListedRows(table, rows, hidden, elsewhere, groups).unfolded(open_)


def _grouped(table: Table, rows: Int64s, order: Order, check: CancelCheck) -> tuple[RowGroup, ...]:
    name = name_of(table)
    assert name is not None
    column = name if order.group == LAYER else table[order.group]
    numbers: dict[str, int] = {}
    code = np.empty(len(rows), np.int64)
    for at, row in enumerate(rows.tolist()):
        if at % _ROWS_PER_CHECK == 0:
            check()
        text = column.text(row)
        if order.group == LAYER:
            text = text.rpartition("/")[0]
        code[at] = numbers.setdefault(text or _NAMELESS, len(numbers))
    by_code = np.argsort(code, kind="stable")
    ends = np.cumsum(np.bincount(code, minlength=len(numbers)))
    groups = []
    for label, number in numbers.items():
        some = rows[np.sort(by_code[ends[number - 1] if number else 0 : ends[number]])]
        groups.append(RowGroup(label, some, table.total(some) if table.total is not None else {}))
    return tuple(_in_order(groups, order))


def _in_order(groups: list[RowGroup], order: Order) -> list[RowGroup]:
    """By what they come to in the column that the rows are sorted by; without a sum, as their first
    rows stand.
    """
    totals = [(group.total.get(order.column or ""), group) for group in groups]
    if any(not isinstance(total, int | float) for total, _ in totals):
        return groups
    totals.sort(key=lambda pair: pair[0], reverse=order.descending)  # type: ignore[arg-type, return-value]
    return [group for _, group in totals]

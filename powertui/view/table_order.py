"""Which lines a table has on screen: rows in an order, some of them left out, perhaps put together
in groups that unfold.

A line is a number: a row of the table from 0 on, or -1 - g for the heading of group g. All of it is
worked out on whole columns, wherever the caller likes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import numpy as np

from powertui.data.columns import Column, Value
from powertui.data.model import Int64s
from powertui.data.table import Table
from powertui.data.texts import CancelCheck, unhindered
from powertui.value_types import dataclass
from powertui.view import nested_rows
from powertui.view.nested_rows import NestedRows
from powertui.view.table_rows import Order

LAYER = "layer"  # the grouping by all but the last part of a path
_ROWS_PER_CHECK = 4096  # rows between two looks whether somebody still waits
NAMELESS = "–"  # in the place of a name that is not known
_OVER_MEDIAN = "over_usual_s"  # column of steps
_LONGEST_FIRST = ("steps",)  # tables that are opened with the longest at the top


def main_duration(table: Table) -> Column | None:
    """The column of times that the table is about."""
    times = [column for column in table.shown if column.kind == "duration"]
    return max(times, key=lambda column: column.weight, default=None)


def first_order(table: Table) -> Order:
    """How the rows stand when a table is opened: as they come, but of steps the longest first.

    Whoever opens the steps asks which of them stalled; the timeline has them in their order.
    Where what a step took is known in several ways, it is longest by what it took over the median.
    """
    column, descending = table.order or (None, True)
    if table.id in _LONGEST_FIRST:
        main = main_duration(table)
        if _OVER_MEDIAN in table.ids:
            column = _OVER_MEDIAN
            descending = True
        elif main is not None:
            column = main.id
            descending = True
    return Order(column, descending)


def arranged(table: Table, order: Order, check: CancelCheck = unhindered) -> Int64s:
    """The rows in that order. `check` may raise to break it off."""
    column = order.column
    is_in_order = table.order == (column, order.descending)
    if column is None or column not in table.ids or is_in_order:
        rows = np.arange(len(table), dtype=np.int64)
    else:
        rows = table.rows_by(column, order.descending, check)
    if not order.text:
        return rows
    matching = table.matching(order.text, check)
    if table.within is not None:
        matching = nested_rows.left(table.within, matching)
    return rows[matching[rows]]


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
    # rows left out because they only hold others
    hidden: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    elsewhere: int = 0  # rows of the other parts
    groups: tuple[RowGroup, ...] = ()
    lines: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    folds: NestedRows | None = None  # where rows lie in rows

    @property
    def count(self) -> int:
        """How many of what the table counts (`noun`) there are, listed or not."""
        count = len(self.table) - self.elsewhere
        if self.folds is not None and not self.table.counts_outer:
            count -= int(np.count_nonzero(self.folds.held))
        return count

    def unfolded(self, open_: frozenset[str]) -> ListedRows:
        """The same with these groups open; of rows that lie in rows, with those folded that
        `nested_rows.turned` tells of.
        """
        if self.groups:
            return replace(self, lines=self._group_lines(open_), folds=None)
        if self.table.within is None:
            return replace(self, lines=self.rows, folds=None)
        folds = nested_rows.folds(
            self.table,
            self.table.within,
            self.rows,
            open_,
        )
        return replace(self, lines=folds.lines(self.rows), folds=folds)

    def _group_lines(self, open_: frozenset[str]) -> Int64s:
        """The heading of each group, with the rows of those that are open."""
        parts = []
        for number, group in enumerate(self.groups):
            parts.append(np.array([-1 - number], np.int64))
            if group.label in open_:
                parts.append(group.rows)
        return np.concatenate(parts)


def groupings(table: Table) -> tuple[str, ...]:
    """What the rows can be put together by: columns of words besides the name, and the layer where
    names are paths.
    """
    main = name_of(table)
    words = []
    for column in table.shown:
        if column.kind == "text" and column is not main:
            words.append(column.id)
    if table.layer and main is not None:
        words.append(LAYER)
    return tuple(words)


def name_of(table: Table) -> Column | None:
    """The column that says what a row is called: of words the most important."""
    texts = [column for column in table.shown if column.kind == "text"]
    return max(texts, key=lambda column: column.weight, default=None)


def listed(
    table: Table,
    order: Order,
    open_: frozenset[str] = frozenset(),
    check: CancelCheck = unhindered,
) -> ListedRows:
    """The lines in that order."""
    rows = arranged(table, order, check)
    elsewhere = 0
    hidden = np.empty(0, np.int64)
    if table.parts:
        part = table.parts[order.part % len(table.parts)]
        is_in_part = part.keep(check)[rows]
        elsewhere = int((~is_in_part).sum())
        rows = rows[is_in_part]
    if table.wrappers is not None and not order.wrappers:
        wraps = table.wrappers(check)[rows]
        if not wraps.all():  # else nothing would be left: better these than nothing
            hidden = rows[wraps]
            rows = rows[~wraps]
    groups: tuple[RowGroup, ...] = ()
    if order.group in groupings(table):
        groups = _grouped(table, rows, order, check)
    if table.within is not None and not groups:
        rows = nested_rows.below(table.within, rows)
    return ListedRows(
        table=table,
        rows=rows,
        hidden=hidden,
        elsewhere=elsewhere,
        groups=groups,
    ).unfolded(open_)


def _grouped(
    table: Table,
    rows: Int64s,
    order: Order,
    check: CancelCheck,
) -> tuple[RowGroup, ...]:
    if not len(rows):
        return ()
    group_of_row, labels = _group_of_each_row(
        table,
        rows,
        order,
        check,
    )
    by_group = np.argsort(group_of_row, kind="stable")
    ends = np.cumsum(np.bincount(group_of_row, minlength=len(labels)))
    groups = []
    for label, members in zip(labels, np.split(by_group, ends[:-1]), strict=True):
        group_rows = rows[members]
        total: Mapping[str, Value] = {}
        if table.total is not None:
            total = table.total(group_rows)
        groups.append(RowGroup(label, group_rows, total))
    return tuple(_in_order(groups, order))


def _group_of_each_row(
    table: Table,
    rows: Int64s,
    order: Order,
    check: CancelCheck,
) -> tuple[Int64s, list[str]]:
    """The number of each row's group, and the labels of the groups, in the order of the rows."""
    by_layer = order.group == LAYER
    column = name_of(table) if by_layer else table[order.group]
    assert column is not None
    numbers: dict[str, int] = {}
    group_of_row = np.empty(len(rows), np.int64)
    for at, row in enumerate(rows.tolist()):
        if at % _ROWS_PER_CHECK == 0:
            check()
        label = column.text(row)
        if by_layer:
            label = label.rpartition("/")[0]
        group_of_row[at] = numbers.setdefault(label or NAMELESS, len(numbers))
    return group_of_row, list(numbers)


def _in_order(groups: list[RowGroup], order: Order) -> list[RowGroup]:
    """By what they come to in the column that the rows are sorted by; without a sum, as their first
    rows stand.
    """
    sums = []
    for group in groups:
        total = group.total.get(order.column or "")
        if not isinstance(total, int | float):
            return groups
        sums.append((total, group))
    sums.sort(key=lambda pair: pair[0], reverse=order.descending)
    return [group for _, group in sums]

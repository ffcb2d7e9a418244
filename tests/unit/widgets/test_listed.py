"""The lines of a table: parts, wrappers, groups that unfold, totals, and which columns give way."""

from __future__ import annotations

import numpy as np

from powertui import demo
from powertui.data import logdir
from powertui.data.columns import Column, text_column
from powertui.data.opened import Opened
from powertui.data.table import Table, TablePart, plural
from powertui.data.tools import op_stats, op_table
from powertui.view import table_rows
from powertui.view.table_order import LAYER, groupings, listed
from powertui.view.table_rows import Order

NAMES = ["a/conv/Grad", "a/conv/Fwd", "b/dense/MatMul", "loop"]
SELF = np.array([5, 7, 3, 1])


def table() -> Table:
    on_device = np.array([True, True, True, False])
    return Table(
        "ops",
        "Ops",
        (
            text_column("name", "name", NAMES, weight=9),
            text_column("type", "type", ["conv", "conv", "matmul", "while"], weight=4),
            Column("self_s", "self", "duration", SELF, weight=9),
            Column("count", "count", "integer", np.array([1, 2, 3, 4]), weight=3),
        ),
        order=("self_s", True),
        key=("name",),
        noun="op",
        parts=(
            TablePart("devices", lambda check: on_device),
            TablePart("host", lambda check: ~on_device),
        ),
        wrappers=lambda check: np.array([False, False, True, False]),
        total=lambda rows: {"self_s": int(SELF[rows].sum())},
        layer=True,
    )


def test_devices_stand_by_themselves_and_wrappers_are_counted() -> None:
    found = listed(table(), Order("self_s"))
    assert [NAMES[row] for row in found.lines.tolist()] == ["a/conv/Grad", "a/conv/Fwd"]
    assert (found.elsewhere, len(found.hidden)) == (1, 1)
    both = listed(table(), Order("self_s", wrappers=True))
    assert len(both.rows) == 3
    host = listed(table(), Order("self_s", part=1))
    assert [NAMES[row] for row in host.rows.tolist()] == ["loop"]


def test_where_there_are_only_wrappers_they_are_shown() -> None:
    found = listed(table(), Order("self_s", text="dense"))
    assert [NAMES[row] for row in found.rows.tolist()] == ["b/dense/MatMul"]
    assert not len(found.hidden)


def test_groups_are_in_order_of_what_they_come_to_and_unfold() -> None:
    assert groupings(table()) == ("type", LAYER)
    found = listed(table(), Order("self_s", True, wrappers=True, group=LAYER))
    assert [(group.label, len(group.rows), group.total["self_s"]) for group in found.groups] == [
        ("a/conv", 2, 12),
        ("b/dense", 1, 3),
    ]
    assert found.lines.tolist() == [-1, -2]
    assert found.unfolded(frozenset({"b/dense"})).lines.tolist() == [-1, -2, 2]
    up = listed(table(), Order("self_s", False, wrappers=True, group="type"))
    assert [group.label for group in up.groups] == ["matmul", "conv"]


def test_the_column_that_rows_are_sorted_by_never_gives_way() -> None:
    narrow = table_rows.fit(table(), 24)
    assert "count" not in [column.id for column in narrow.columns]
    assert "count" in [column.id for column in table_rows.fit(table(), 24, "count").columns]


def test_a_column_without_a_single_value_goes_first() -> None:
    unknown = Column("joules", "energy", "number", np.full(4, np.nan), "J", weight=9)
    wide = Table("t", "T", (*table().columns, unknown))
    assert "joules" in [column.id for column in table_rows.fit(wide, 100).columns]
    assert "joules" not in [column.id for column in table_rows.fit(wide, 44).columns]


def test_names_are_cut_in_the_middle() -> None:
    assert (
        table_rows.fitted("StatefulPartitionedCall/conv2d_1/Conv2DBackpropFilter", 21)
        == "StatefulPa…propFilter"
    )
    assert table_rows.fitted("short", 8) == "short   "


def test_nouns() -> None:
    assert [plural("op", 1), plural("op", 2), plural("category", 4), plural("day", 2)] == [
        "op",
        "ops",
        "categories",
        "days",
    ]


def test_the_op_table_adds_up() -> None:
    opened = Opened(logdir.scan(demo.folder()).runs[0])
    found = op_table.result(op_stats.op_stats(opened.profiles[0].trace)).table
    assert found is not None
    assert found.total is not None
    every = found.total(np.arange(len(found)))
    assert abs(float(every["share"]) - 1) < 1e-9  # type: ignore[arg-type]
    some = np.flatnonzero(found.matching("Conv2DBackpropFilter"))
    sums = found.total(some)
    assert sums["count"] == sum(found["count"].value(int(row)) for row in some)  # type: ignore[misc]
    assert sums["average_s"] == sums["total_s"] // sums["count"]  # type: ignore[operator]

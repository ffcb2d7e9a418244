"""Which columns of a table have room, and which never give way."""

from __future__ import annotations

import numpy as np

from powertui.data.table import Column, Table, text_column
from powertui.view import table_rows


def test_the_lightest_columns_give_way_and_the_heaviest_never() -> None:
    table = Table("t", "T", (
        text_column("name", "name", ["a name"], weight=9),
        Column("calls", "calls", "integer", np.array([7]), weight=3),
        Column("total", "total", "duration", np.array([5]), weight=9),
        Column("mean", "mean", "duration", np.array([5]), weight=1),
    ))  # fmt: skip
    assert [column.id for column in table_rows.fit(table, 80).columns] == ["name", "calls", "total", "mean"]
    assert [column.id for column in table_rows.fit(table, 36).columns] == ["name", "calls", "total"]
    for room in (20, 5):
        assert [column.id for column in table_rows.fit(table, room).columns] == ["name", "total"]

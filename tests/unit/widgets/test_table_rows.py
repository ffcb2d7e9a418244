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


def test_a_long_path_is_told_by_its_layer_and_its_op() -> None:
    paths = [
        f"PartitionedCall/{tape}model/{layer}/convolution/{op}"
        for layer in ("conv_1", "conv_2")
        for tape, op in (("gradient_tape/", "BackpropFilter"), ("gradient_tape/", "BackpropInput"), ("", "Conv2D"))
    ]
    column = text_column("name", "name", paths, weight=9)
    scopes = table_rows.scopes_of(column)
    told = [table_rows.cell(column, row, 24, "…", scopes).rstrip() for row in range(len(paths))]
    assert told == [f"{layer} · {op}" for layer in ("conv_1", "conv_2") for op in ("BackpropFilter", "BackpropInput", "Conv2D")]
    assert table_rows.cell(column, 0, 80, "…", scopes).rstrip() == paths[0], "a name that fits stays as it is"
    assert table_rows.layered("dense/MatMul", scopes) == "dense/MatMul"


def test_a_difference_is_read_with_its_sign() -> None:
    column = Column("d", "difference", "duration", np.array([2_000_000, -3_000_000, 0]), signed=True)
    assert [column.text(row) for row in range(3)] == ["+2 µs", "-3 µs", "0 s"]

"""Which columns of a table have room, and which never give way."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.columns import Column, text_column
from powertui.data.table import Table
from powertui.view import table_rows, truncation


def test_the_lightest_columns_give_way_and_the_heaviest_never() -> None:
    table = Table(
        "t",
        "T",
        (
            text_column("name", "name", ["a name"], weight=9),
            Column("calls", "calls", "integer", np.array([7]), weight=3),
            Column("total", "total", "duration", np.array([5]), weight=9),
            Column("mean", "mean", "duration", np.array([5]), weight=1),
        ),
    )
    assert [column.id for column in table_rows.fit(table, 80).columns] == [
        "name",
        "calls",
        "total",
        "mean",
    ]
    assert [column.id for column in table_rows.fit(table, 36).columns] == ["name", "calls", "total"]
    for room in (20, 5):
        assert [column.id for column in table_rows.fit(table, room).columns] == ["name", "total"]


def test_a_long_path_is_told_by_its_layer_and_its_op() -> None:
    paths = [
        f"PartitionedCall/{tape}model/{layer}/convolution/{op}"
        for layer in ("conv_1", "conv_2")
        for tape, op in (
            ("gradient_tape/", "BackpropFilter"),
            ("gradient_tape/", "BackpropInput"),
            ("", "Conv2D"),
        )
    ]
    column = text_column("name", "name", paths, weight=9)
    scopes = table_rows.scopes_of(column)
    told = [table_rows.cell(column, row, 24, "…", scopes).rstrip() for row in range(len(paths))]
    assert told == [
        f"{layer} · {op}"
        for layer in ("conv_1", "conv_2")
        for op in ("BackpropFilter", "BackpropInput", "Conv2D")
    ]
    assert table_rows.cell(column, 0, 80, "…", scopes).rstrip() == paths[0], (
        "a name that fits stays as it is"
    )
    assert table_rows.layered("dense/MatMul", scopes) == "dense/MatMul"


def test_the_forward_op_in_the_path_of_a_gradient_is_no_layer() -> None:
    paths = ["model/pool_1/MaxPool2d", "tape/model/pool_1/MaxPool2d/MaxPoolGrad"]
    scopes = table_rows.scopes_of(text_column("name", "name", paths, weight=9))
    told = [table_rows.layered(path, scopes) for path in paths]
    assert [name.partition(" · ")[2] for name in told] == ["MaxPool2d", "MaxPoolGrad"]
    assert told[1] != "MaxPool2d · MaxPoolGrad"


def test_a_column_without_a_value_has_no_place() -> None:
    count = 3
    known = Column("host_s", "host", "duration", np.arange(count), weight=5)
    unknown = Column(
        "device_s", "device", "duration", np.zeros(count), present=np.zeros(count, bool), weight=5
    )
    name = text_column("name", "name", ["a", "b", "c"], weight=9)
    table = Table("steps", "Steps", (name, known, unknown))
    assert [column.id for column in table_rows.fit(table, 200).columns] == ["name", "host_s"]
    # Who sorts by it is told that there is none.
    kept = table_rows.fit(table, 200, ("device_s",)).columns
    assert [column.id for column in kept] == ["name", "host_s", "device_s"]


def test_a_difference_is_read_with_its_sign() -> None:
    column = Column(
        "d", "difference", "duration", np.array([2_000_000, -3_000_000, 0]), signed=True
    )
    assert [column.text(row) for row in range(3)] == ["+2 µs", "-3 µs", "0 s"]


def found_by_another_column() -> Table:
    return Table(
        "t",
        "T",
        (
            text_column("name", "name", ["a/relu", "b/matmul", "c/add"], weight=9),
            Column("total", "total", "duration", np.array([5, 4, 3]), weight=9),
            text_column("type", "type", ["Relu", "MatMul", "Add"], weight=3),
            text_column(
                "full",
                "recorded as",
                ["fused matmul and relu in one", "b/matmul:MatMul", "c/add:Add"],
                weight=0,
            ),
        ),
    )


def test_the_column_that_a_text_was_found_in_stays() -> None:
    table = found_by_another_column()
    rows = np.flatnonzero(table.matching("matmul"))
    narrow = table_rows.fit(table, 22)
    assert [column.id for column in narrow.columns] == ["name", "total"]
    assert table_rows.holding(table, rows, "matmul", narrow) == ("full",), (
        "a row named relu was found: it has to show why"
    )
    assert [column.id for column in table_rows.fit(table, 44, (None, "full")).columns] == [
        "name",
        "total",
        "full",
    ]
    assert table_rows.holding(table, rows[1:], "matmul", narrow) == (), "its name says it"
    assert table_rows.holding(table, np.array([2]), "ADD", narrow) == ()


@pytest.mark.parametrize("cells", range(6, 40))
def test_a_cell_shows_what_was_looked_for(cells: int) -> None:
    text = "begin/of/a/long/path/MatMul/with/an/end/too"
    column = text_column("name", "name", [text, "model/MatMul/relu/Relu"], weight=9)
    for row in range(2):
        for scopes in (None, table_rows.scopes_of(column)):
            shown = table_rows.cell(column, row, cells, "…", scopes, "matmul")
            assert len(shown) == cells
            assert "matmul" in shown.lower() or cells < len("…MatMul…"), shown


def test_what_is_cut_around_a_place_keeps_it_and_says_where_it_was_cut() -> None:
    assert truncation.around("abcdefghij", "E", 5) == "…def…"
    assert truncation.around("abcdefghij", "b", 5) == "abcd…"
    assert truncation.around("abcdefghij", "j", 5) == "…ghij"
    assert truncation.around("abcdefghij", "x", 5) == "abcd…"
    assert truncation.around("日本語の名前です", "名", 6) == "…名前…"


def test_a_name_says_what_was_found_where_the_column_has_no_room() -> None:
    table = found_by_another_column()
    narrow = table_rows.fit(table, 22)
    assert table_rows.matched_words(table, 0, "matmul", narrow) == "fused matmul and relu in one"
    assert table_rows.matched_words(table, 1, "matmul", narrow) is None
    assert table_rows.matched_words(table, 0, "", narrow) is None
    for cells in range(16, 50):
        shown = table_rows.with_found("a/relu   ", "fused matmul and relu in one", "MATMUL", cells)
        assert len(shown) == cells
        assert "matmul" in shown, shown
    assert (
        table_rows.with_found("dense_1 · Relu  ", "_MklNativeFusedMatMul", "matmul", 31)
        == "dense_…· Relu (…iveFusedMatMul)"
    )


def test_a_number_stands_to_the_right_and_one_that_is_not_known_is_a_dash() -> None:
    column = Column("mean", "mean", "number", np.array([2.5, np.nan]))
    assert [table_rows.cell(column, row, 6) for row in (0, 1)] == ["   2.5", "     –"]

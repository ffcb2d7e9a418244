"""The one shape of an answer, and what is written of it."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from powertui.data import table as tables
from powertui.data.columns import Column
from powertui.data.model import PS_PER_S, Badge
from powertui.data.table import Chart, Fact, Place, Result, Series, Table
from powertui.report.writers import WRITERS, as_frame, write
from powertui.view import table_order, table_rows
from powertui.view.table_rows import Order
from tests import answers

EVIL = '=cmd|"/c calc"!A1\x1b[31m[b]|`x`'


def answer() -> Result:
    """One table with every kind of column, each with a row that has no value."""
    present = np.array([True, True, False])
    columns = (
        tables.text_column("name", "name", ["a/b", EVIL, None], weight=9),
        Column("count", "count", "integer", np.array([3, 1200, 0]), present=present, weight=8),
        Column("watts", "power", "number", np.array([1.5, np.inf, np.nan]), "W"),
        Column(
            "total_s",
            "total",
            "duration",
            np.array([PS_PER_S // 4, 7, 0]),
            present=present,
            weight=8,
        ),
        Column("at_s", "at", "instant", np.array([-PS_PER_S, 0, 0]), present=present),
        Column("share", "share", "share", np.array([0.25, 0.5, np.nan])),
        Column("used", "used", "flag", np.array([True, False, False]), present=present),
    )
    places = [Place("run", 0, 5, 9, 1, 2), None, Place("run", 0)]
    table = Table("rows", "Rows", columns, places.__getitem__, ("total_s", True))
    facts = (
        Fact("mean", "mean power", 241.25, "number", "W", Badge.MEASURED, 240.0, 242.5),
        Fact("idle", "idle", None, why="no gap"),
    )
    chart = Chart("times", "Times", (Series("step", [0, 1], np.array([1.0, np.nan])),))
    return Result("toy", "Toy", (table,), facts, (chart,), (f"see {EVIL}",))


def test_json_has_seconds_and_null_for_unknown() -> None:
    shown = json.loads(write(answer(), "json"))
    rows = answers.told(shown, "rows")
    assert rows[0] == {
        "name": "a/b",
        "count": 3,
        "watts": 1.5,
        "total_s": 0.25,
        "at_s": -1.0,
        "share": 0.25,
        "used": True,
    }
    assert rows[1]["watts"] is None  # infinite is not a number
    assert rows[1]["name"] == EVIL  # JSON escapes by itself
    assert set(rows[2].values()) == {None}
    assert shown["facts"]["mean"] == {
        "label": "mean power",
        "value": 241.25,
        "unit": "W",
        "lo": 240.0,
        "hi": 242.5,
        "badge": "measured",
        "why": None,
    }
    assert shown["facts"]["idle"]["value"] is None
    assert shown["facts"]["idle"]["why"] == "no gap"
    assert shown["charts"]["times"]["series"][0]["y"] == [1.0, None]


def test_csv_keeps_every_digit_and_runs_no_formula() -> None:
    rows = list(csv.DictReader(io.StringIO(write(answer(), "csv"))))
    assert rows[0]["total_s"] == "0.250000000000"
    assert rows[0]["at_s"] == "-1.000000000000"
    assert rows[1]["total_s"] == "0.000000000007"
    assert rows[1]["name"].startswith("'=")
    assert rows[0]["used"] == "true"
    assert set(rows[2].values()) == {""}


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_text_and_markdown_obey_nothing(form: str) -> None:
    shown = write(answer(), form)
    assert "\x1b" not in shown
    assert "mean power" in shown
    assert "241.2 W (240 W to 242.5 W)" in shown.replace("\\", "")
    assert "no gap" in shown
    if form == "markdown":
        assert "\\[b\\]\\|\\`x\\`" in shown


def test_a_frame_has_missing_values_where_nothing_is_known() -> None:
    frame = as_frame.of_table(answer().tables[0])
    assert list(frame.columns) == ["name", "count", "watts", "total_s", "at_s", "share", "used"]
    assert frame["total_s"][0] == 0.25
    assert str(frame["count"].dtype) == "Int64"
    assert frame["count"].isna().tolist() == [False, False, True]
    assert math.isnan(frame["total_s"][2])
    assert frame["name"].isna().tolist() == [False, False, True]


def test_every_writer_takes_an_empty_answer() -> None:
    empty = Result(
        "none",
        "None",
        (Table("t", "T", (tables.text_column("a", "a", []),), empty="No step was found."),),
    )
    for form in WRITERS:
        assert form == "csv" or "No step was found." in write(empty, form)
    assert write(empty, "csv").strip() == "a"
    assert write(Result("none", "None"), "csv") == ""


@given(st.lists(st.one_of(st.none(), st.integers(-50, 50)), max_size=30), st.booleans())
def test_order_is_stable_and_puts_the_unknown_last(
    values: list[int | None], descending: bool
) -> None:
    column = tables.optional("n", "n", "integer", values)
    rows = column.order(descending).tolist()
    known = sorted(
        (i for i, v in enumerate(values) if v is not None),
        key=lambda i: -values[i] if descending else values[i],
    )  # type: ignore[operator]
    assert rows == [*known, *(i for i, v in enumerate(values) if v is None)]


def test_rows_that_are_taken_know_their_places() -> None:
    table = answer().tables[0]
    taken = table.take(np.array([2, 0]))
    assert taken.place(1) == table.place(0)
    assert taken["count"].value(0) is None
    assert taken["name"].value(1) == "a/b"


def test_stacked_tables_keep_places_and_miss_what_one_lacks() -> None:
    table = answer().tables[0]
    whole = tables.stacked([table, Table("rows", "Rows", table.columns[:2], table.place)])
    assert len(whole) == 6
    assert whole.place(3) == table.place(0)
    assert whole["count"].value(3) == 3
    assert whole["watts"].value(3) is None


def test_arranged_filters_then_sorts() -> None:
    table = answer().tables[0]
    assert table_order.arranged(table, Order("count", True)).tolist() == [1, 0, 2]
    assert table_order.arranged(table, Order("count", False)).tolist() == [0, 1, 2]
    assert table_order.arranged(table, Order("count", True, "A/B")).tolist() == [0]
    assert table_order.arranged(table, Order(None, True, "")).tolist() == [0, 1, 2]


@given(st.integers(1, 200))
def test_columns_fit_or_only_the_heaviest_stay(room: int) -> None:
    fit = table_rows.fit(answer().tables[0], room)
    used = sum(fit.cells) + table_rows.GAP * (len(fit.cells) - 1)
    assert "name" in [column.id for column in fit.columns]
    assert used <= room or all(column.weight == table_rows.ALWAYS for column in fit.columns)
    for column, cells in zip(fit.columns, fit.cells, strict=True):
        for row in range(3):
            shown = table_rows.cell(column, row, cells)
            assert "\x1b" not in shown
            assert len(shown) >= cells


def test_words_are_cut_in_the_middle() -> None:
    assert table_rows.fitted("conv2d_1/MatMul", 11) == "conv2…atMul"
    assert table_rows.fitted("a long word", 6) == "a l…rd"
    assert table_rows.fitted("日本語の名前", 6) == "日…前 "


def test_as_json_rows_are_the_same_as_the_frame() -> None:
    table = answer().tables[0]
    frame = as_frame.of_table(table)
    for row, shown in enumerate(answers.rows(table)):
        for name, value in shown.items():
            if value is not None:
                assert frame[name][row] == value


def test_a_column_of_tensorboards_has_its_id_label_and_unit_in_every_form() -> None:
    columns = (
        Column(
            "total_duration_us",
            "total",
            "duration",
            np.array([1_250_000, 7], np.int64),
            "us",
            head="Total Duration (us)",
        ),
        Column("occupancy_pct", "occupancy", "share", np.array([0.5, np.nan]), "%"),
    )
    result = Result("toy", "Toy", (Table("rows", "Rows", columns),), mode="tf2")
    shown = json.loads(write(result, "json"))
    assert shown["mode"] == "tf2"
    assert shown["tables"][0]["columns"][0] == {
        "id": "total_duration_us",
        "label": "Total Duration (us)",
        "kind": "duration",
        "unit": "us",
    }
    assert shown["tables"][0]["rows"] == [[1.25, 50.0], [7e-6, None]]
    assert write(result, "csv").split() == [
        "total_duration_us,occupancy_pct",
        "1.250000,50.0",
        "0.000007,",
    ]
    frame = as_frame.of_table(result.tables[0])
    assert frame["total_duration_us"].tolist() == [1.25, 7e-6]
    assert frame["occupancy_pct"][0] == 50
    assert "1.25 µs" in write(result, "text")
    assert "50.0 %" in write(result, "markdown")


def test_a_frame_never_shows_a_number_for_what_is_unknown() -> None:
    """However a tool says that it does not know: None in a list, NaN, or `present`."""
    known = np.array([True, False])
    columns = (
        Column("listed", "listed", "integer", [3, None]),
        Column("nan", "nan", "integer", np.array([3.0, np.nan])),
        Column("masked", "masked", "integer", np.array([3, 0]), present=known),
        Column("listed_s", "listed", "duration", [3 * PS_PER_S, None]),
        Column("nan_s", "nan", "instant", np.array([3.0 * PS_PER_S, np.nan])),
        Column("masked_s", "masked", "duration", np.array([3 * PS_PER_S, 0]), present=known),
        Column("share", "share", "share", [3, None]),
    )
    frame = as_frame.of_table(Table("rows", "Rows", columns))
    for name in frame:
        assert frame[name][0] == 3, name
        assert frame[name].isna().tolist() == [False, True], name
    flags = (
        Column("listed", "l", "flag", [True, None]),
        Column("masked", "m", "flag", np.array([True, False]), present=known),
    )
    frame = as_frame.of_table(Table("rows", "Rows", flags))
    for name in frame:
        assert str(frame[name].dtype) == "boolean"
        assert frame[name][0] is np.True_ or frame[name][0] is True
        assert frame[name].isna().tolist() == [False, True], name


@pytest.mark.parametrize(
    "kind", ["text", "integer", "number", "duration", "instant", "share", "flag"]
)
@pytest.mark.parametrize("values", [[], np.array([], np.int64), np.array([], np.float64)])
def test_a_table_without_rows_is_a_frame_without_rows(
    kind: tables.ColumnKind, values: list[object]
) -> None:
    frame = as_frame.of_table(Table("rows", "Rows", (Column("c", "c", kind, values),)))
    assert list(frame.columns) == ["c"]
    assert len(frame) == 0


def test_facts_in_json_and_frames_are_in_seconds_with_their_interval() -> None:
    fact = Fact("t", "time", 2 * PS_PER_S, "duration", "", Badge.ESTIMATED, PS_PER_S, 3 * PS_PER_S)
    result = Result(
        "toy", "Toy", (), (fact, Fact("idle", "idle", None, "number", "W", why="no gap"))
    )
    shown = json.loads(write(result, "json"))["facts"]["t"]
    assert (shown["value"], shown["lo"], shown["hi"], shown["unit"]) == (2.0, 1.0, 3.0, "s")
    frame = as_frame.of_facts(result.facts)
    assert frame.loc[0, ["value", "lo", "hi", "unit", "badge"]].tolist() == [
        2.0,
        1.0,
        3.0,
        "s",
        "estimated",
    ]
    assert frame.loc[1, ["value", "why"]].tolist() == [None, "no gap"]
    assert "2 s (1 s to 3 s)" in write(result, "text")


def test_hosts_without_rows_have_no_say_in_types() -> None:
    none = pd.DataFrame({"stat": pd.array([], dtype="Int64")})
    for values in ([1.5, 2.0], ["a", "b"]):
        full = pd.DataFrame({"stat": values})
        both = as_frame.of_hosts([("a", none.copy()), ("b", full.copy())])
        assert both["host"].tolist() == ["b", "b"]
        assert both["stat"].dtype == full["stat"].dtype
    assert list(as_frame.of_hosts([("a", none.copy()), ("b", none.copy())]).columns) == [
        "host",
        "stat",
    ]


@pytest.mark.parametrize(
    ("moments_s", "words"),
    [
        ([0.0, 18.458], ["0.00s", "18.46s"]),
        ([0.0021, 0.0024, 0.0104], ["0.002100s", "0.002400s", "0.010400s"]),
        (
            [0.002126, 0.00239, 0.002654, 0.0104],
            ["0.002126s", "0.002390s", "0.002654s", "0.010400s"],
        ),
        ([0.0, 3600.04, 7200.25], ["0s", "3600s", "7200s"]),
        ([3600.0, 3600.09, 3600.18, 7200.0], ["3600.00s", "3600.09s", "3600.18s", "7200.00s"]),
        ([15.7712], ["15.771s"]),
        ([7.0, 7.0], ["7.000s", "7.000s"]),
        ([], []),
    ],
)
def test_moments_of_a_column_have_the_decimals_that_tell_them_apart(
    moments_s: list[float], words: list[str]
) -> None:
    """Three decimals for each put all steps of a profile of 14 ms at 0.002 s."""
    moments = np.array([round(moment * 1e12) for moment in moments_s], np.int64)
    column = Column("start_s", "start", "instant", moments)
    assert [column.text(row) for row in range(len(moments))] == words
    present = np.ones(len(moments) + 1, np.bool_)
    present[-1] = False
    with_missing = Column(
        "start_s", "start", "instant", np.append(moments, -(10**15)), present=present
    )
    assert [with_missing.text(row) for row in range(len(moments) + 1)] == [*words, ""]

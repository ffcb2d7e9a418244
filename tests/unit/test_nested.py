"""Rows in rows: below the one that they lie in, in any order; folded; left by a filter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.columns import optional, text_column
from powertui.data.logdir import RunEntry
from powertui.data.logdir.entries import ProfileFile
from powertui.data.table import Table
from powertui.report import run_table
from powertui.report.runs import KnownRun
from powertui.view import nested_rows, table_order
from powertui.view.table_rows import Order

NAMES = ("a", "one", "one/x", "one/y", "two", "two/x", "b")
WITHIN = np.array([-1, -1, 1, 1, -1, 4, -1])


def table(within: np.ndarray | None = WITHIN) -> Table:
    size = [3, 1, 9, 8, 2, 7, None]
    return Table(
        "t",
        "T",
        (text_column("name", "name", NAMES, weight=9), optional("n", "n", "integer", size)),
        key=("name",),
        within=within,
    )


def names(found: table_order.ListedRows) -> list[str]:
    return [NAMES[row] for row in found.lines.tolist()]


def test_rows_stay_below_the_one_that_they_lie_in_whatever_they_are_sorted_by() -> None:
    assert names(table_order.listed(table(), Order("n", True))) == [
        "a",
        "two",
        "two/x",
        "one",
        "one/x",
        "one/y",
        "b",
    ]
    assert names(table_order.listed(table(), Order("n", False))) == [
        "one",
        "one/y",
        "one/x",
        "two",
        "two/x",
        "a",
        "b",
    ]
    assert names(table_order.listed(table(None), Order("n", True))) == [
        "one/x",
        "one/y",
        "two/x",
        "a",
        "two",
        "one",
        "b",
    ]


def test_a_filter_keeps_what_lies_around_and_all_that_lies_in_a_row_that_it_finds() -> None:
    assert names(table_order.listed(table(), Order(text="one/y"))) == ["one", "one/y"]
    assert names(table_order.listed(table(), Order(text="two"))) == ["two", "two/x"]
    assert names(table_order.listed(table(), Order(text="b"))) == ["b"]
    alone = nested_rows.below(WITHIN, np.array([6, 5, 2]))
    assert alone.tolist() == [6, 5, 2], "without the row around it a row stands for itself"


def test_many_are_folded_until_a_person_says_otherwise_and_what_was_said_holds_when_they_become_few() -> (
    None
):
    count = nested_rows.MAX_OPEN_ROWS + 1
    within = np.array([-1, *[0] * count, -1])
    of = Table(
        "t",
        "T",
        (text_column("name", "name", [str(i) for i in range(count + 2)]),),
        key=("name",),
        within=within,
    )
    folded = table_order.listed(of, Order())
    assert folded.lines.tolist() == [0, count + 1]
    assert folded.folds is not None
    assert (folded.folds.held[0], folded.folds.around(3), folded.folds.around(count + 1)) == (
        count,
        0,
        -1,
    )
    open_ = nested_rows.turned(of, 0, False, frozenset())
    assert len(folded.unfolded(open_).lines) == count + 2
    few = of.take(np.arange(4))
    few = replace(few, within=within[:4])
    assert len(table_order.listed(few, Order(), open_).lines) == 4, (
        "unfolded by hand, and still unfolded"
    )
    assert table_order.listed(
        few, Order(), nested_rows.turned(of, 0, True, open_)
    ).lines.tolist() == [0]


def test_ten_thousand_rows_in_rows_cost_what_they_are_many() -> None:
    count = 10_000
    within = np.where(np.arange(count) % 10 == 0, -1, np.arange(count) // 10 * 10)
    rows = np.random.default_rng(1).permutation(count)
    found = nested_rows.below(within, rows)
    outer = within[found]
    assert sorted(found.tolist()) == list(range(count))
    assert (outer.reshape(-1, 10)[:, 0] == -1).all(), "the row around them, then its own"
    assert (outer.reshape(-1, 10)[:, 1:] == found.reshape(-1, 10)[:, :1]).all()


def entry(path: str) -> RunEntry:
    return RunEntry(
        path,
        "/logs/" + path,
        profiles=(ProfileFile("/logs/" + path + "/h.xplane.pb", "h", "xplane", 10),),
    )


def test_the_list_of_runs_says_of_a_session_only_what_its_training_does_not() -> None:
    found = [RunEntry("one", "/logs/one"), entry("one/x"), entry("one/y"), entry("z")]
    facts = [
        KnownRun(placed=1.0),
        KnownRun(placed=2.0),
        KnownRun(placed=9.0, began=3.0),
        KnownRun(),
    ]
    inside = {"/logs/one/x": "/logs/one", "/logs/one/y": "/logs/one"}
    made = run_table.table(found, facts, trainings=inside)
    order = table_order.listed(made, Order("when", True)).lines.tolist()
    assert [made["run"].text(row) for row in order] == ["one", "y", "x", "z"], (
        "what nothing dates comes last"
    )
    assert [made["size_bytes"].value(row) for row in order] == [20.0, 10.0, 10.0, 10.0]
    order = table_order.listed(made, Order("when", False)).lines.tolist()
    assert [made["run"].text(row) for row in order] == ["one", "x", "y", "z"]
    flat = run_table.table(found, facts)
    assert flat["run"].values == ["one/y", "one/x", "one", "z"]
    assert flat.within is None
    assert run_table.table(found[3:], facts[3:], trainings=inside).within is None


def test_rows_that_hold_others_count_where_they_are_of_the_same_kind() -> None:
    groups = table_order.listed(table(), Order())
    assert groups.count == 5, "a training that holds runs is no run"
    same_kind = table_order.listed(replace(table(), counts_outer=True), Order())
    assert same_kind.count == 7, "a fused op is an op"

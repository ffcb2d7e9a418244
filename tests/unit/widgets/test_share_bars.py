"""A table about shares shows them as bars, where no column has to go for that."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.columns import Column
from powertui.data.table import Table
from powertui.terminal import glyphs
from powertui.view.table_rows import bar_of_share, fit, fit_with_bar


def table(shares: list[float]) -> Table:
    names = [f"op {number}" for number in range(len(shares))]
    share = Column("share", "share", "share", np.array(shares), weight=8)
    return Table("ops", "ops", (Column("name", "name", "text", names, weight=9), share))


@pytest.mark.parametrize("room", range(10, 120, 5))
def test_no_column_goes_for_a_bar(room: int) -> None:
    ops = table([0.5, 0.25])
    assert [c.id for c in fit_with_bar(ops, room).columns] == [c.id for c in fit(ops, room).columns]


@pytest.mark.parametrize("name", ["unicode", "console", "ascii"])
def test_the_greatest_share_has_the_longest_bar(name: str) -> None:
    ops = table([0.2, 0.1, 0.0001, float("nan"), 0.0])
    fitted = fit_with_bar(ops, 100)
    lengths = [len(bar_of_share(fitted, row, glyphs.get(name))) for row in range(5)]
    assert lengths[0] == 2 * lengths[1] > 0
    assert lengths[2:] == [0, 0, 0], "an unknown share and one too small to see have none"


@pytest.mark.parametrize(("room", "cells"), [(50, 12), (60, 20), (76, 36), (300, 36)])
def test_a_bar_grows_with_the_room_that_columns_leave(room: int, cells: int) -> None:
    """Up to a length that is still compared at a glance; the columns are those of a short bar."""
    columns = (
        Column("name", "name", "text", ["a" * 22, "b"], weight=9),
        Column("share", "share", "share", np.array([0.5, 0.25]), weight=8),
    )
    fitted = fit_with_bar(Table("ops", "ops", columns), room)
    assert fitted.share is not None
    assert len(bar_of_share(fitted, 0, glyphs.UNICODE)) == fitted.bar_cells
    assert abs(fitted.bar_cells - cells) <= 8
    assert sum(size + 2 for size in fitted.cells) + fitted.bar_cells <= room


def test_a_column_of_texts_without_any_is_not_drawn() -> None:
    columns = (
        Column("name", "name", "text", ["a", "b"], weight=9),
        Column("problem", "problem", "text", ["", ""], weight=7),
        Column("note", "note", "text", ["", "late"], weight=7),
    )
    fitted = fit(Table("files", "files", columns), 100)
    assert [column.id for column in fitted.columns] == ["name", "note"]
    kept = fit(Table("files", "files", columns), 100, ["problem"])
    assert [column.id for column in kept.columns] == ["name", "problem", "note"]

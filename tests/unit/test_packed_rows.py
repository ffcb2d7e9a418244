"""Some rows of a packed column, and where values lie in it: as an array answers, from the pieces
that hold them alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from powertui.data import packed, packed_pieces
from powertui.data.packed import PIECE_ROWS, Packed, pack
from powertui.view.step_curve import StepCurve
from tests.unit.test_packed import FLOATS, INTS, ROWS

COLUMNS = {
    **{name: values for name, (values, _) in FLOATS.items()},
    **{name: v.astype(np.int64) for name, (v, _) in INTS.items()},
}
WEEK = 604_800


@pytest.mark.parametrize("name", COLUMNS)
def test_any_rows_are_those_of_the_array(name: str) -> None:
    values, found = COLUMNS[name], pack(COLUMNS[name])
    rng = np.random.default_rng(3)
    for rows in (
        rng.integers(0, ROWS, 500),
        np.arange(5),
        np.array([ROWS - 1]),
        np.empty(0, np.int64),
        rng.integers(0, ROWS, (7, 4)),
    ):
        assert np.array_equal(found[rows], values[rows], equal_nan=values.dtype.kind == "f")
    for part in (
        slice(PIECE_ROWS - 3, PIECE_ROWS + 3),
        slice(PIECE_ROWS + 3, PIECE_ROWS + 90),
        slice(None, 7),
        slice(ROWS - 2, None),
        slice(9, 4),
        slice(None),
    ):
        assert np.array_equal(found[part], values[part], equal_nan=values.dtype.kind == "f")
    assert [found[0], found[-1]] == pytest.approx([values[0], values[-1]], nan_ok=True, rel=0)


@pytest.mark.parametrize(
    "name", ["one by one", "every seventh", "the same", "wall time", "with a pause", "many alike"]
)
def test_where_values_lie(name: str) -> None:
    made = {"many alike": np.arange(ROWS) // 9_000, "every seventh": 7 * np.arange(ROWS) - 10**18}
    values = np.sort(made.get(name, COLUMNS.get(name)))
    found = pack(values)
    rng = np.random.default_rng(4)
    asked = np.concatenate(
        [
            values[rng.integers(0, ROWS, 300)],
            values[[0, PIECE_ROWS - 1, PIECE_ROWS, -1]] + 1,
            values[[0, PIECE_ROWS, -1]] - 5,
        ]
    )
    for side in ("left", "right"):
        assert np.array_equal(
            found.searchsorted(asked, side=side), values.searchsorted(asked, side=side)
        )
        assert found.searchsorted(int(asked[7]), side=side) == values.searchsorted(
            asked[7], side=side
        )
    assert pack(values[:0]).searchsorted(3) == 0


@pytest.mark.parametrize("rows", [3600, 86_400, WEEK])
def test_a_frame_unpacks_pieces_of_its_cells_and_a_pan_close_by_no_more_than_a_short_column_has(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are unpacked for a frame of 400 cells over ten minutes: those of a piece or two,
    however long the column is.
    """
    rng = np.random.default_rng(5)
    second = 1_000_000_000
    at = np.arange(rows, dtype=np.int64) * second + rng.integers(0, second // 2, rows)
    values = rng.integers(190, 270, rows).astype(np.float64)
    curve = StepCurve(at, values)
    looked: list[int] = []
    for kind in (packed_pieces._Deltas, packed_pieces._Decimals, packed_pieces._Plain):
        for name in ("at", "part"):
            plain = getattr(kind, name)

            def counted(self: Any, *given: Any, plain: Any = plain, of: str = name) -> Any:
                if of == "at":
                    looked.append(
                        int(given[0].max()) + 1
                        if isinstance(self, packed_pieces._Deltas)
                        else len(given[0])
                    )
                else:
                    looked.append(
                        given[1] if isinstance(self, packed_pieces._Deltas) else given[1] - given[0]
                    )
                return plain(self, *given)

            monkeypatch.setattr(kind, name, counted)
    monkeypatch.setattr(Packed, "made", lambda self: pytest.fail("the whole column was unpacked"))
    for first in (0, rows // 2, rows - 700):
        looked.clear()
        edges = first * second + np.linspace(0, 600 * second, 401).astype(np.int64)
        shape = curve.envelope(edges)
        assert (
            sum(looked) <= 8 * PIECE_ROWS
        )  # a search, twice, in one piece or two; and the values of some rows a cell
        here = values[(at >= edges[0]) & (at < edges[-1])]
        assert (np.nanmin(shape.low[1:]), np.nanmax(shape.high[1:])) == (
            here[1:].min(),
            here[1:].max(),
        )


def test_a_day_in_sight_is_unpacked_once_and_a_week_never(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frame after frame over a whole day, and parts of it; a week is drawn from its blocks."""
    made: list[int] = []
    plain = Packed.made

    def counted(self: Packed) -> Any:
        made.append(len(self))
        return plain(self)

    monkeypatch.setattr(Packed, "made", counted)
    rng = np.random.default_rng(6)
    for rows, times in ((86_400, 2), (WEEK, 0)):  # its times and its values
        at = np.arange(rows, dtype=np.int64) * 1000 + rng.integers(0, 500, rows)
        values = rng.integers(190, 270, rows).astype(np.float64)
        values[rng.random(rows) < 0.01] = np.nan
        curve = StepCurve(at, values)
        packed.give_back()
        made.clear()
        for first, end in (
            (0, rows),
            (0, rows),
            (rows // 3, rows // 2),
            (50, 400),
            (rows - 400, rows + 50),
        ):
            edges = np.linspace(first * 1000, end * 1000, 161).astype(np.int64)
            shape = curve.envelope(edges)
            here = values[(at >= edges[0]) & (at < edges[-1])]
            assert np.nanmin(shape.low[1:]) >= np.nanmin(here)
            assert np.nanmax(shape.high) >= np.nanmax(here)
        assert len(made) == times

"""Least and most of any stretches of a column: as a plain look at the rows would tell, gone through
or by blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from powertui.data import extremes
from powertui.data.extremes import BLOCK, MAX_SCANNED_ROWS, Extremes


@pytest.fixture(params=["gone through", "by blocks"], autouse=True)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Rows of both kinds in every test: those that are few, and those of which there are so many
    that blocks are made.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "by blocks":
            patch.setattr(extremes, "MAX_SCANNED_ROWS", 0)
        yield request.param


@pytest.mark.parametrize(
    "rows",
    [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK**2, BLOCK**2 + 1, 5 * BLOCK**2 + 7, BLOCK**3 + 3],
)
def test_any_stretch_is_what_its_rows_say(rows: int) -> None:
    rng = np.random.default_rng(rows)
    values = rng.normal(size=rows)
    values[rng.random(rows) < 0.3] = np.nan
    ends = np.sort(rng.integers(0, rows + 1, (2, 300)), axis=0)
    found = Extremes(values).over_stretches(ends[0], ends[1])
    for i in range(300):
        known = values[ends[0, i] : ends[1, i]]
        known = known[np.isfinite(known)]
        if len(known):
            assert (found.low[i], found.high[i]) == (known.min(), known.max())
        else:
            assert np.isnan([found.low[i], found.high[i]]).all()


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.floats(-1e6, 1e6), max_size=600), st.data())
def test_one_stretch(values: list[float], data: st.DataObject) -> None:
    lo = data.draw(st.integers(0, len(values)))
    hi = data.draw(st.integers(lo, len(values)))
    found = Extremes(np.array(values)).over_stretches(np.array([lo]), np.array([hi]))
    part = values[lo:hi]
    if part:
        assert (found.low[0], found.high[0]) == (min(part), max(part))
    else:
        assert np.isnan([found.low[0], found.high[0]]).all()


def test_a_frame_looks_at_some_blocks_of_a_long_column_and_no_more() -> None:
    """What is looked at is counted: rows of every level that a question takes."""
    looked: list[int] = []

    class Counted(Extremes):
        def _take(self, out, level, lo, hi):  # type: ignore[no-untyped-def]
            looked.append(int(np.maximum(hi - lo, 0).sum()))
            super()._take(out, level, lo, hi)

    long = Counted(np.zeros(1_000_000))
    edges = np.linspace(0, 1_000_000, 401).astype(np.int64)
    long.over_stretches(edges[:-1], edges[1:])
    assert 0 < sum(looked) <= 400 * 2 * BLOCK * 5
    assert 0 < long.nbytes < 0.2 * 8_000_000


def test_a_short_column_has_no_blocks_and_what_a_frame_goes_through_of_a_long_one_is_bounded(
    way: str,
) -> None:
    """Rows that are unpacked together are counted; overlapping stretches of a short column are
    answered, too.
    """
    rows = np.arange(3 * MAX_SCANNED_ROWS, dtype=np.float64)
    asked: list[int] = []

    class Column(np.ndarray):
        def __getitem__(self, part):  # type: ignore[no-untyped-def]
            if isinstance(part, slice) and part.start is not None:
                asked.append(part.stop - part.start)
            return super().__getitem__(part)

    column = Extremes(rows)
    column.values = rows.view(Column)
    for first, last in ((0, len(rows)), (7, MAX_SCANNED_ROWS + 7), (7, MAX_SCANNED_ROWS + 8)):
        edges = np.linspace(first, last, 33).astype(np.int64)
        found = column.over_stretches(edges[:-1], edges[1:])
        assert np.array_equal(found.low, edges[:-1])
        assert np.array_equal(found.high, edges[1:] - 1)
    assert asked == ([MAX_SCANNED_ROWS] if way == "gone through" else [])
    short = Extremes(rows[:1000])
    assert (short.nbytes == 0) == (way == "gone through")
    found = short.over_stretches(np.zeros(500, np.int64), np.arange(501, 1001))
    assert np.array_equal(found.high, np.arange(500.0, 1000.0))
    assert not found.low.any()

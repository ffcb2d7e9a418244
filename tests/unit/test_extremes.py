"""Least, most, sum and number of any stretches of a column: as a plain look at the rows would tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.extremes import BLOCK, Extremes


@pytest.mark.parametrize("rows", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK**2, BLOCK**2 + 1, 5 * BLOCK**2 + 7, BLOCK**3 + 3])
def test_any_stretch_is_what_its_rows_say(rows: int) -> None:
    rng = np.random.default_rng(rows)
    values = rng.normal(size=rows)
    values[rng.random(rows) < 0.3] = np.nan
    ends = np.sort(rng.integers(0, rows + 1, (2, 300)), axis=0)
    found = Extremes(values).of(ends[0], ends[1])
    for i in range(300):
        known = values[ends[0, i] : ends[1, i]]
        known = known[np.isfinite(known)]
        assert found.known[i] == len(known)
        if len(known):
            assert (found.low[i], found.high[i]) == (known.min(), known.max())
            assert found.mean[i] == pytest.approx(known.mean())
        else:
            assert np.isnan([found.low[i], found.high[i], found.mean[i]]).all()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), max_size=600), st.data())
def test_one_stretch(values: list[float], data: st.DataObject) -> None:
    lo = data.draw(st.integers(0, len(values)))
    hi = data.draw(st.integers(lo, len(values)))
    found = Extremes(np.array(values)).of(np.array([lo]), np.array([hi]))
    part = values[lo:hi]
    assert found.known[0] == len(part)
    if part:
        assert (found.low[0], found.high[0]) == (min(part), max(part))


def test_a_frame_looks_at_some_blocks_of_a_long_column_and_no_more() -> None:
    """What is looked at is counted: rows of every level that a question takes."""
    looked: list[int] = []

    class Counted(Extremes):
        def _take(self, out, level, lo, hi):  # type: ignore[no-untyped-def]
            looked.append(int(np.maximum(hi - lo, 0).sum()))
            super()._take(out, level, lo, hi)

    long = Counted(np.zeros(1_000_000))
    edges = np.linspace(0, 1_000_000, 401).astype(np.int64)
    long.of(edges[:-1], edges[1:])
    assert sum(looked) <= 400 * 2 * BLOCK * 5
    assert long.nbytes < 0.4 * 8_000_000

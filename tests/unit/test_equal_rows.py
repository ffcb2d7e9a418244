"""Rows of equal values: their numbers, and the rows of each, as a loop over the rows finds them."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.sorted_columns import numbered, rows_of_each


@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_rows_are_brought_together_by_all_their_columns(count: int) -> None:
    chance = np.random.default_rng(count)
    first = chance.integers(-3, 3, count)
    second = chance.integers(0, 4, count).astype(np.int32)
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    rows_by_pair: dict[tuple[int, int], list[int]] = {}
    for row, pair in enumerate(pairs):
        rows_by_pair.setdefault(pair, []).append(row)
    ascending = sorted(rows_by_pair)

    groups = [rows.tolist() for rows in rows_of_each(first, second)]
    assert groups == [rows_by_pair[pair] for pair in ascending]

    number, first_row = numbered(first, second)
    assert number.tolist() == [ascending.index(pair) for pair in pairs]
    assert first_row.tolist() == [rows_by_pair[pair][0] for pair in ascending]

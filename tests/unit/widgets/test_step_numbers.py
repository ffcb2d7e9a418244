"""Which numbers stand on the line of narrow steps."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.view.viewport import Viewport
from powertui.widgets import step_lane

VIEW = Viewport((0, 10**12), 100)  # a ps a cell


@pytest.mark.parametrize(
    ("numbers", "round_to", "shown"),
    [
        (range(40), 1, [0, 5, 10, 15, 20, 25, 30, 35]),
        ([0, 5 * 10**18], 5 * 10**18, [0]),
        ([0, 2**63 - 1], 10**19, [0]),
        ([3, 2**63 - 1], 10**20, []),
    ],
)
def test_whatever_numbers_a_file_gives_its_steps_some_or_none_of_them_are_shown(
    numbers: list[int], round_to: int, shown: list[int]
) -> None:
    starts = 2 * np.arange(len(numbers), dtype=np.int64)
    marks = step_lane._even_numbers(starts, np.array(numbers, np.int64), VIEW, round_to)
    assert [number for _, number in marks] == shown


def test_the_longest_step_of_a_cell_is_found_also_where_it_goes_on_in_the_next_one() -> None:
    starts = np.array([0, 2, 4, 60], np.int64)
    lengths = np.array([2, 1, 50, 10], np.int64)
    edges = np.arange(0, 80, 10, dtype=np.int64)
    rows = step_lane._longest_in_cells(starts, lengths, edges)
    assert rows.tolist() == [2, 2, 2, 2, 2, 2, 3]

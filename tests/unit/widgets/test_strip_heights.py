"""How the height of the timeline is shared out between the power and what ran."""

from __future__ import annotations

import pytest

from powertui.widgets.row_shares import strip_heights


@pytest.mark.parametrize("lanes", range(5))
@pytest.mark.parametrize("series", [1, 2, 5])
def test_the_power_goes_last_and_the_tracks_keep_four_rows(series: int, lanes: int) -> None:
    for height in range(3, 60):
        heights = strip_heights(height, series, lanes)
        rest = height - 3 - lanes - sum(heights)
        assert bool(heights) == (height - 3 - lanes >= 6)
        assert rest >= (4 if heights else -lanes)
        assert len(heights) < 2 or rest >= 8


def test_without_power_nothing_is_taken() -> None:
    assert strip_heights(40, 0, 3) == []


@pytest.mark.parametrize(("rows", "quarter"), [(24, 6), (36, 9), (50, 12)])
def test_power_has_a_quarter_of_the_screen(rows: int, quarter: int) -> None:
    """Two or three rows of a screen are its heading and its foot."""
    assert strip_heights(rows - 3, 1, 3)[0] >= quarter

"""Power as a filled area: what its rows stand for, and what a cell shows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from powertui.terminal import glyphs
from powertui.view.curve import Envelope
from powertui.view.power_area import draw_area, power_scale, row_labels, row_roles


def shape(*values: tuple[float, float]) -> Envelope:
    low, high = np.array(values, np.float64).T
    return Envelope(low, high)


@pytest.mark.parametrize("rows", range(1, 30))
@pytest.mark.parametrize(
    ("lowest", "highest"),
    [(0.0, 0.0), (0.3, 0.4), (180, 300), (239, 241), (3, 2500), (-1, 60), (-5, -1)],
)
def test_every_value_is_on_the_scale(rows: int, lowest: float, highest: float) -> None:
    scale = power_scale(lowest, highest, rows)
    assert scale.hi >= highest
    assert scale.lo <= lowest + 1e-9
    linear_rows = rows - 1 if scale.has_floor else rows
    assert scale.hi == pytest.approx(scale.lo + linear_rows * scale.axis.step)


def test_a_ripple_is_no_storm() -> None:
    scale = power_scale(239, 241, 10)
    assert scale.hi - scale.lo >= 0.2 * 240, "±2 W of 240 W take at most a tenth of the height"


def test_a_part_that_never_changes_is_one_row_and_says_so() -> None:
    scale = power_scale(180, 300, 8)
    assert scale.has_floor
    assert row_labels(scale, 8, glyphs.get("unicode"))[-2:] == ["180", "0 ≈"]
    lines = draw_area(shape((180, 180), (300, 300)), scale, 8, glyphs.get("unicode"))
    assert lines[-1] == "██"
    assert row_roles(scale, 8)[-1] == "power_floor"


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_an_area_without_room_for_a_break_stands_on_zero(rows: int) -> None:
    scale = power_scale(180, 300, rows)
    assert not scale.has_floor
    assert scale.lo == 0


def test_where_nothing_is_known_nothing_is_drawn() -> None:
    scale = power_scale(180, 300, 6)
    lines = draw_area(shape((200, 200), (math.nan, math.nan)), scale, 6, glyphs.get("unicode"))
    assert {line[1] for line in lines} == {" "}
    assert power_scale(math.nan, math.nan, 6).hi > 0


@pytest.mark.parametrize("name", ["unicode", "console", "ascii"])
def test_from_the_lowest_to_the_highest_value_of_a_column_is_a_shade(name: str) -> None:
    look = glyphs.get(name)
    scale = power_scale(0, 80, 8)
    column = [line[0] for line in draw_area(shape((20, 80)), scale, 8, look)]
    assert column == [look.area_range] * 6 + [look.area] * 2


def test_a_height_is_shown_to_an_eighth_of_a_row() -> None:
    scale = power_scale(0, 80, 8)
    tops = [
        draw_area(shape((watts, watts)), scale, 8, glyphs.get("unicode"))[4][0]
        for watts in (30, 31.25, 35, 38.75, 40)
    ]
    assert tops == [" ", "▁", "▄", "▇", "█"]


def test_a_row_has_one_color_that_follows_its_height() -> None:
    roles = row_roles(power_scale(0, 80, 10), 10)
    assert roles == [f"ember_{shade}" for shade in range(9, -1, -1)]

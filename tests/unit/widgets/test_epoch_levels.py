"""The usual power of each epoch, and where it is seen beside the power."""

from __future__ import annotations

import numpy as np

from powertui.view import power_area
from powertui.view.curve import Envelope
from powertui.view.epoch_levels import EpochLevel, epoch_levels, level_dashes
from powertui.view.step_curve import StepCurve


def test_a_level_is_the_median_of_its_readings_whatever_a_burst_draws() -> None:
    watts = np.array([240.0] * 7 + [300.0] * 3 + [200.0] * 10)
    curve = StepCurve(np.arange(20, dtype=np.int64), watts)
    assert epoch_levels(curve, [(0, 10), (10, 20)]) == (
        EpochLevel(0, 10, 240.0),
        EpochLevel(10, 20, 200.0),
    )


def test_an_epoch_with_few_readings_or_none_has_no_level() -> None:
    watts = np.array([240.0] * 3 + [np.nan] * 20)
    curve = StepCurve(np.arange(23, dtype=np.int64), watts)
    assert epoch_levels(curve, [(0, 10), (10, 20), (100, 200)]) == ()


def test_of_many_epochs_none_is_drawn() -> None:
    curve = StepCurve(np.arange(1000, dtype=np.int64), np.full(1000, 240.0))
    spans = [(10 * epoch, 10 * epoch + 10) for epoch in range(100)]
    assert epoch_levels(curve, spans) == ()


def test_a_level_is_drawn_where_the_power_is_above_or_below_it_alone() -> None:
    scale = power_area.power_scale(200.0, 300.0, 11)
    watts = np.array([240.0, 240.0, 300.0, 300.0, 210.0, 241.0, np.nan])
    dashes = level_dashes(240.0, range(7), Envelope(watts, watts), scale, 11)
    assert [dash.column for dash in dashes] == [2, 3, 4]
    level_row = {dash.row for dash in dashes}
    assert len(level_row) == 1
    lowest_of_row = scale.axis.lo + (scale.linear_rows(11) - 1 - level_row.pop()) * scale.axis.step
    assert lowest_of_row <= 240.0 < lowest_of_row + scale.axis.step


def test_a_level_beyond_the_axis_is_not_drawn() -> None:
    scale = power_area.power_scale(200.0, 300.0, 11)
    watts = np.full(4, 220.0)
    assert level_dashes(900.0, range(4), Envelope(watts, watts), scale, 11) == []

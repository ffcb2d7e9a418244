"""What a matched filter that knows the levels can say of a clock."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.power_world import shift_bound
from benchmarks.power_world.shift_bound import Readings, errors_by_records, errors_of_shift

_EDGES_S = np.array([10.0, 50.0])
_WATTS = np.array([100.0, 200.0, 100.0])


def _levels(record_s: list[float]) -> shift_bound.Levels:
    return shift_bound.levels(
        _EDGES_S, _WATTS, np.array(record_s), begun_s=9.0, usual_interval_s=5.0
    )


def _means_of_a_second(sigma_w: float) -> Readings:
    lo = np.arange(0.0, 60.0)
    return Readings(lo, lo + 1.0, sigma_w)


def test_errors_of_a_shift_are_its_squared_watts_over_both_edges() -> None:
    taken = _means_of_a_second(10.0)
    # 0.3 s of each edge is 30 W of one reading each.
    expected = np.sqrt(2) * 30.0 / 10.0

    assert errors_of_shift(_levels([10.0, 50.0]), taken, 0.3) == pytest.approx(expected)


def test_an_edge_that_no_record_shows_is_free_between_two_records() -> None:
    taken = _means_of_a_second(10.0)
    shown = errors_by_records(_levels([10.0, 50.0]), taken, 3.0, late_s=0.0)
    open_ones = errors_by_records(_levels([14.0, 46.0]), taken, 3.0, late_s=0.0)
    too_far = errors_by_records(_levels([14.0, 46.0]), taken, 6.0, late_s=0.0)

    assert shown == pytest.approx(errors_of_shift(_levels([10.0, 50.0]), taken, 3.0))
    # The end may be a second later at most: five seconds after the last record.
    assert open_ones == pytest.approx(np.sqrt(2) * 10.0)
    assert too_far > open_ones


def test_readings_that_may_be_late_hide_a_shift_of_as_much() -> None:
    taken = _means_of_a_second(10.0)

    assert errors_by_records(_levels([10.0, 50.0]), taken, 0.5, late_s=0.5) == pytest.approx(0.0)
    assert errors_by_records(_levels([10.0, 50.0]), taken, 2.5, late_s=0.5) > 10.0


def test_foreign_work_is_no_error_of_a_reading() -> None:
    template = _levels([10.0, 50.0])
    lo = np.arange(0.0, 600.0)
    watts = template.mean(lo, lo + 1.0) + np.random.default_rng(0).normal(0.0, 2.0, len(lo))
    watts[200:260] += 80.0

    taken = shift_bound.readings(template, lo, lo + 1.0, watts, 1.0)

    assert taken.sigma_w == pytest.approx(2.0, rel=0.3)

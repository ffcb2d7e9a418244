"""What a matched filter that knows the levels can say of a clock."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.power_world import shift_bound
from benchmarks.power_world.shift_bound import Readings, errors_of_shift, own_error_s

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


def test_the_error_of_a_place_is_that_of_its_edges() -> None:
    # Each of two edges of 100 W is known to 0.1 s by means of a second whose error is 10 W.
    error_s = own_error_s(_levels([10.0, 50.0]), _means_of_a_second(10.0), late_s=0.0)

    assert error_s == pytest.approx(0.1 / np.sqrt(2), rel=0.15)


def test_an_edge_that_no_record_shows_leaves_its_place_open_between_two_records() -> None:
    taken = _means_of_a_second(1.0)
    shown = own_error_s(_levels([10.0, 50.0]), taken, late_s=0.0)
    open_ones = own_error_s(_levels([14.0, 46.0]), taken, late_s=0.0)

    assert shown < 0.02
    # The log may be 1 s later, as the end may, and 1 s earlier, as the start may.
    assert open_ones == pytest.approx(1.0 / np.sqrt(3), rel=0.15)


def test_readings_that_may_be_late_leave_as_much_open() -> None:
    error_s = own_error_s(_levels([10.0, 50.0]), _means_of_a_second(1.0), late_s=0.5)

    assert error_s == pytest.approx(0.5 / np.sqrt(3), rel=0.1)


def test_errors_that_are_alike_leave_more_open() -> None:
    taken = _means_of_a_second(10.0)
    alike = Readings(taken.lo_s, taken.hi_s, taken.sigma_w, lag=0.8)
    template = _levels([10.0, 50.0])

    wider = own_error_s(template, alike, 0.0) / own_error_s(template, taken, 0.0)
    assert wider == pytest.approx(3.0, rel=0.15)


def test_levels_that_no_reading_tells_apart_leave_a_place_open() -> None:
    # Within the work: neither edge has readings on both sides.
    lo = np.arange(15.0, 45.0)
    error_s = own_error_s(_levels([10.0, 50.0]), Readings(lo, lo + 1.0, 1.0), late_s=0.0)

    assert error_s > 5.0


def test_foreign_work_is_no_error_of_a_reading() -> None:
    template = _levels([10.0, 50.0])
    lo = np.arange(0.0, 600.0)
    watts = template.mean(lo, lo + 1.0) + np.random.default_rng(0).normal(0.0, 2.0, len(lo))
    watts[200:260] += 80.0

    taken = shift_bound.readings(template, lo, lo + 1.0, watts, 1.0)

    assert taken.sigma_w == pytest.approx(2.0, rel=0.3)

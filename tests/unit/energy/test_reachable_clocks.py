"""Which wrong clocks the readings of a log show to an observer who knows the order of the work."""

from __future__ import annotations

import pytest

from benchmarks.power_world import SENSORS, course_levels, make_whole, record
from benchmarks.power_world.reachable import REJECTED_AT, contradictions


@pytest.mark.parametrize("sensor", ["counter 0.1 s", "mean 1 s, 1 W", "mean 3 s, 7 W"])
def test_a_clock_that_is_two_seconds_off_is_contradicted_and_a_right_one_is_not(sensor) -> None:
    course = make_whole(11, batches=True, burst=True)
    taken = record(course.world, SENSORS[sensor], 11)

    right, ahead, behind = contradictions(course_levels(course), taken, [0.0, 2.0, -2.0])

    assert right < REJECTED_AT
    assert min(ahead, behind) > REJECTED_AT


def test_what_a_sensor_may_be_late_anyway_contradicts_no_clock() -> None:
    course = make_whole(11, batches=True, burst=True)
    taken = record(course.world, SENSORS["mean 3 s, 7 W"], 11)

    assert max(contradictions(course_levels(course), taken, [0.1, -0.1])) < REJECTED_AT

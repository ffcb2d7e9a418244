"""What training was doing where nothing was profiled."""

from __future__ import annotations

import numpy as np

from powertui.data.energy.findings import expected_power
from powertui.data.model import NS_PER_S, Clock, ScalarSeries


def logged(steps: list[int], every_s: float = 1.0) -> ScalarSeries:
    wall = (np.arange(len(steps)) * every_s * NS_PER_S).astype(np.int64)
    return ScalarSeries(
        "log", "train", "loss", np.array(steps, np.int64), wall, np.ones(len(steps))
    )


def test_values_that_are_logged_again_for_one_step_are_no_pace() -> None:
    """Three values for each step: most of the time the step stands still, which is no usual
    pace.
    """
    series = logged([step for step in range(0, 200, 10) for _ in range(3)])
    found = expected_power.training_pace([series], Clock(0, 0, "test"))
    assert len(found.start) == 19  # only where it went on
    assert (found.end - found.start).tolist() == [1.0] * 19
    assert found.holds(np.array([2.0, 2.2, 0.5]), np.array([3.0, 2.8, 1.5])).tolist() == [
        True,
        True,
        False,
    ]


def test_a_pause_parts_the_usual_pace() -> None:
    series = logged([*range(0, 100, 10), *[100] * 5, *range(110, 210, 10)])
    found = expected_power.training_pace([series], Clock(0, 0, "test"))
    assert found.start.tolist() == [0.0, 14.0]
    assert found.end.tolist() == [10.0, 24.0]
    assert (
        expected_power.training_pace([logged([0, 10])], Clock(0, 0, "test"))
        is expected_power.NOTHING
    )

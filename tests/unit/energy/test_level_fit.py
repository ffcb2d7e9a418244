"""Which offsets the levels of a log like, where a start and an end are known to seconds only."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.energy import level_fit
from powertui.data.energy.level_fit import OpenTimes
from powertui.data.energy.samples import Samples
from powertui.data.energy.window_shares import OUTSIDE, WindowShares
from powertui.data.model import Floats

IDLE_W, WORK_W = 100.0, 300.0
STARTED_S, ENDED_S = 20.0, 80.0  # when power rises and falls


def log_of(begin_s: float, end_s: float, starting_w: float = IDLE_W) -> Samples:
    """Half-second means of a training that takes `starting_w` for three seconds before it works."""
    middle = np.arange(begin_s, end_s, 0.5) + 0.25
    watts = np.select(
        [middle < STARTED_S - 3, middle < STARTED_S, middle < ENDED_S],
        [IDLE_W, starting_w, WORK_W],
        IDLE_W,
    )
    noise = np.random.default_rng(3).normal(0, 2.0, len(watts))
    return Samples(middle - 0.25, middle + 0.25, watts + noise, 0.5, 0.0, 1.0, ())


def shares_of(begin_s: float, end_s: float) -> WindowShares:
    """A training that is recorded from one moment to the other."""
    grid = np.arange(begin_s, end_s + 0.005, 0.01)
    return WindowShares(
        names=("base", "training", OUTSIDE),
        span=(begin_s, end_s),
        training=(begin_s, end_s),
        table=(grid - begin_s)[:, None],
        mixture=np.ones(1),
        step=0.01,
        has_bounds=True,
    )


def costs_at(data: Samples, open_to: OpenTimes, offsets: list[float]) -> Floats:
    # The records put both three seconds early.
    shares = shares_of(STARTED_S - 3, ENDED_S - 3)
    costs = level_fit.level_costs(data, shares, open_to, (-30.0, 30.0))
    return costs.at(np.array(offsets))


def known_to(half_s: float) -> OpenTimes:
    moments = np.array([STARTED_S - 3, ENDED_S - 3])
    return level_fit.open_times(moments, np.full(2, half_s))


def test_a_start_and_an_end_that_are_known_exactly_place_the_levels_at_one_offset() -> None:
    there, right, beside = costs_at(log_of(0.0, 100.0), known_to(0.01), [-3.0, 0.0, 3.0])
    assert there < right - 20
    assert right < beside - 20


@pytest.mark.parametrize("starting_w", [IDLE_W, 190.0])
def test_offsets_within_what_is_open_cost_the_same(starting_w: float) -> None:
    data = log_of(0.0, 100.0, starting_w)
    inside = costs_at(data, known_to(5.0), [-5.0, -4.0, -2.0, 0.0, 1.0])
    outside = costs_at(data, known_to(5.0), [-20.0, -12.0, 7.0, 12.0])
    # 2: one reading is at an end of what is open.
    assert np.ptp(inside) < 2
    assert outside.min() > inside.max() + 20


def test_a_log_whose_idling_is_all_open_takes_its_lowest_readings_for_the_idle_machine() -> None:
    data = log_of(STARTED_S - 6, ENDED_S + 1)
    inside = costs_at(data, known_to(5.0), [-2.0, -1.0, 0.0, 1.0])
    outside = costs_at(data, known_to(5.0), [7.0, 12.0])
    assert np.ptp(inside) < 2
    assert outside.min() > inside.max() + 20


def test_readings_that_may_be_anything_cost_about_what_noise_costs() -> None:
    data = log_of(0.0, 100.0)
    shares = shares_of(STARTED_S, ENDED_S)
    costs = []
    for half_s in (0.0, 25.0):
        open_to = level_fit.open_times(np.array([50.0]), np.array([half_s]))
        at_all = level_fit.level_costs(data, shares, open_to, (-30.0, 30.0))
        costs.append(float(at_all.at(np.array([0.0]))[0]))
    known, half_open = costs
    assert half_open == pytest.approx(known, rel=0.3)


def test_open_times_that_overlap_are_one() -> None:
    times = level_fit.open_times(np.array([10.0, 12.0, 30.0]), np.array([2.0, 1.0, 0.0]))
    assert times.start_s.tolist() == [8.0, 30.0]
    assert times.end_s.tolist() == [13.0, 30.0]
    shares = times.share(np.array([0.0, 7.0, 12.0, 29.0]), np.array([5.0, 9.0, 14.0, 31.0]))
    assert shares.tolist() == [0.0, 0.5, 0.5, 0.0]

"""What the machine draws when nothing runs: the lowest level that the log has, and how sure that
is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.energy import account, idle, integrate, log_alignment
from powertui.data.energy.measured_energy import above_idle
from powertui.data.model import (
    PS_PER_S,
    Badge,
    Epochs,
    Figure,
    LogPlace,
    PowerOnTrace,
    PowerSeries,
    Scope,
    Sensor,
)
from powertui.data.power import outages
from tests.synthetic import traces
from tests.unit.energy.test_integrate import placed, ps

WORK = [(20.0, 30.0), (35.0, 45.0), (50.0, 60.0)]  # s; the profile lasts from 20 to 60 s
EDGES = (0.0, 20.0, 30.0, 35.0, 45.0, 50.0, 60.0, 80.0)


def course(
    before: float,
    work: float,
    pauses: float,
    after: float,
    *,
    noise: float = 1.0,
    poll: float = 0.1,
) -> tuple[np.ndarray, ...]:
    """Times and watts of a log over 80 s."""
    times = np.arange(0, 80, poll)
    levels = np.array([before, work, pauses, work, pauses, work, after])
    watts = levels[np.searchsorted(EDGES, times, side="right").clip(1, 7) - 1]
    return times, watts + np.random.default_rng(0).normal(0, noise, len(times))


def asked(*channels: PowerOnTrace, told: bool = False, pauses: bool = True) -> idle.IdlePower:
    stretches = WORK if pauses else [(20.0, 60.0)]
    los, his = (
        np.array([ps(at) for at in side], np.int64) for side in zip(*stretches, strict=True)
    )
    return idle.of_all(channels, idle.When(los, his, ps(20), ps(60), told))


def test_pauses_that_the_log_confirms_beside_the_profile_are_measured() -> None:
    power = placed(*course(100, 300, 100, 100))
    found = asked(power)
    assert found.figure is not None
    assert found.figure.value == pytest.approx(99, abs=1.5)
    assert found.figure.badge is Badge.MEASURED
    assert found.text == "in the pauses of the trace and before and after the profile"
    split = above_idle(integrate.energy(power, ps(25), ps(55)), found.figure)
    assert split.joules is not None
    assert split.active_joules == pytest.approx(split.joules - found.figure.value * 30)
    assert split.idle_joules == pytest.approx(found.figure.value * 30)


@pytest.mark.parametrize("told", [False, True])
def test_pauses_that_draw_as_much_as_work_are_not_idle(told: bool) -> None:
    found = asked(placed(*course(200, 308, 308, 200)), told=told)
    assert found.figure is not None
    assert found.figure.value == pytest.approx(200, abs=2)
    assert found.figure.badge is Badge.MEASURED
    assert found.text == "before and after the profile; in the pauses of the trace 307 W"


def test_a_log_of_the_profile_alone_tells_what_idle_is_at_most() -> None:
    times, watts = course(200, 308, 250, 200)
    inside = (times >= 20) & (times < 60)
    found = asked(placed(times[inside], watts[inside]))
    assert found.figure is not None
    assert (found.figure.badge, found.at_most, found.text) == (
        Badge.ESTIMATED,
        True,
        "in the pauses of the trace",
    )
    assert found.figure.value == pytest.approx(249, abs=2)
    times, watts = course(200, 308, 308, 200)
    found = asked(placed(times[inside], watts[inside]))
    assert found.figure is None
    assert found.text.startswith("unknown: the log never stays below the 308 W of work")


@pytest.mark.parametrize(("before", "after"), [(400.0, 400.0), (400.0, 150.0), (150.0, 400.0)])
def test_another_job_beside_the_profile_is_not_idle(before: float, after: float) -> None:
    """Nor is it one that ran until the profile began, where the other side rests."""
    found = asked(placed(*course(before, 300, 150, after)))
    assert found.figure is not None
    assert found.figure.value == pytest.approx(149, abs=2)
    assert found.figure.badge is (Badge.ESTIMATED if min(before, after) == 400 else Badge.MEASURED)


def test_a_training_that_goes_on_around_the_profile_is_no_rest() -> None:
    assert asked(placed(*course(300, 300, 300, 300)), pauses=False).figure is None
    assert asked(placed(*course(250, 300, 300, 300)), pauses=False).figure is None
    found = asked(placed(*course(300, 300, 250, 300)))
    assert found.figure is not None
    assert (found.figure.badge, found.at_most) == (Badge.ESTIMATED, True)


def test_a_log_that_rests_at_both_ends_needs_no_pause() -> None:
    found = asked(placed(*course(200, 300, 300, 200)), pauses=False)
    assert found.figure is not None
    assert found.figure.value == pytest.approx(200, abs=2)
    assert (found.figure.badge, found.at_most) == (Badge.ESTIMATED, True)
    assert asked(placed(*course(200, 300, 300, 200)), pauses=False, told=True).figure == Figure(
        found.figure.value, Badge.MEASURED
    )


def test_what_a_machine_draws_that_is_off_or_a_sensor_that_restarts_is_not_idle() -> None:
    times, watts = course(100, 300, 100, 100)
    watts[times < 12] = 4.0
    found = asked(placed(times, watts))
    assert found.figure is not None
    assert found.figure.value == pytest.approx(99, abs=1.5)
    watts[times < 12] = 0.0
    series = PowerSeries(
        Sensor("power", "test", Scope.NODE), np.round(times * 1e9).astype(np.int64), watts
    )
    kept = outages.without_outages(series)
    for rows in (watts, kept.watts):
        found = asked(placed(times, rows))
        assert found.figure is not None
        assert found.figure.value == pytest.approx(99, abs=1.5)


def test_the_lowest_of_each_channel_is_added_up() -> None:
    node = placed(*course(200, 308, 308, 200))
    card = placed(*course(90, 300, 60, 90))
    found = asked(node, card)
    assert found.figure is not None
    assert found.figure.value == pytest.approx(259, abs=3)
    assert (found.figure.badge, found.at_most) == (Badge.ESTIMATED, True)
    log = placed(np.arange(0, 80.0), np.full(80, 20.0))
    assert asked(log).figure is None, "a channel that never moves tells nothing of its own"
    both = asked(node, log)
    assert both.figure is not None
    assert both.figure.value == pytest.approx(220, abs=2)


def test_slow_sensors_tell_of_pauses_that_they_can_see() -> None:
    times, watts = course(200, 308, 308, 200, noise=0.2, poll=0.5)
    watts = np.round(watts[(np.arange(len(watts)) // 6) * 6] / 7) * 7  # every 3 s, in steps of 7 W
    found = asked(placed(times, watts))
    assert found.figure is not None
    assert found.figure.value == pytest.approx(200, abs=7)


def test_idle_is_unknown_without_pauses_and_given_by_a_person() -> None:
    times = np.arange(200) * 0.5
    power = placed(times, np.random.default_rng(0).normal(250, 20, 200))
    busy = np.array([ps(-10)], np.int64), np.array([ps(200)], np.int64)
    assert idle.of_all([power], idle.When(*busy, ps(-10), ps(200), False)).figure is None
    short = np.array([ps(-10)], np.int64), np.array([ps(98)], np.int64)
    assert (
        idle.of_all([power], idle.When(*short, ps(-10), ps(100), False)).figure is None
    )  # a pause of two readings tells nothing
    assert idle.given(90.0).figure == Figure(90.0, Badge.ASSUMED)


def test_an_account_says_where_its_idle_power_was_read() -> None:
    """A trace whose pauses draw as much as its work, without epochs."""
    trace = traces.trace({("/host:CPU", "a"): [(ps(lo), ps(hi - lo), "matmul") for lo, hi in WORK]})
    power = placed(*course(200, 308, 308, 200))
    alignment = log_alignment.Alignment(0.0, -0.01, 0.01, "aligned", "wall clocks of both", ())
    steps = traces.steps(*((ps(lo), ps(hi - lo)) for lo, hi in WORK))
    found = account.of_placed(trace, steps, Epochs(), (log_alignment.Placed(power, alignment),))
    assert found.idle is not None
    assert found.idle.value == pytest.approx(200, abs=2)
    assert found.idle_text == "before and after the profile; in the pauses of the trace 307 W"
    whole = found.energy(*trace.span)
    assert whole is not None
    assert whole.active_joules == pytest.approx(
        108 * (trace.span[1] - trace.span[0]) / PS_PER_S, rel=0.05
    )


@pytest.mark.parametrize("told", [False, True])
def test_a_log_of_zeros_tells_no_idle_power(told: bool) -> None:
    assert asked(placed(np.arange(0, 80.0), np.zeros(80)), told=told).figure is None
    assert asked(placed(np.arange(0, 80.0), np.full(80, np.nan)), told=told).figure is None


def test_a_log_of_very_many_readings_is_looked_at_at_its_likeliest_place_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    power = placed(*course(100, 300, 100, 100))
    places = tuple(LogPlace(offset, weight, 0) for weight, offset in ((0.6, 0), (0.4, ps(1))))
    power = replace(power, places=places)
    looked_at: list[PowerOnTrace] = []
    levels = idle._levels

    def counted(channel: PowerOnTrace, when: idle.When) -> idle._Levels:
        looked_at.append(channel)
        return levels(channel, when)

    monkeypatch.setattr(idle, "_levels", counted)
    for limit, count in ((1_000_000, 2), (100, 1)):
        monkeypatch.setattr(idle, "_MAX_READINGS_AT_PLACES", limit)
        looked_at.clear()
        assert asked(power).figure is not None
        assert len(looked_at) == count

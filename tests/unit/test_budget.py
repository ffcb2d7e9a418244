"""An energy budget: what is spent, at which rate, and when it will be gone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from powertui import cli
from powertui.data.budget import BudgetMeter, parse
from powertui.demo import folder
from powertui.errors import UsageError


def followed(watts, budget="1kWh", step_s=10.0):
    meter = BudgetMeter(parse(budget))
    joules = 0.0
    for number, value in enumerate([0.0, *watts]):
        joules += value * step_s
        meter.take(100.0 + number * step_s, joules)
    return meter


@pytest.mark.parametrize(
    ("text", "joules"), [("4kWh", 14.4e6), ("500 kJ", 5e5), (".5MJ", 5e5), ("1J", 1.0)]
)
def test_budgets_as_a_person_writes_them(text, joules):
    assert parse(text).joules == joules


@pytest.mark.parametrize("text", ["", "4", "kWh", "-4kWh", "0kWh", "4 W", "1e3J", "nanJ", "4kwh"])
def test_what_is_no_energy_is_refused(text):
    with pytest.raises(UsageError, match="is not an energy"):
        parse(text)


def test_nothing_is_said_of_the_rate_before_a_minute():
    assert BudgetMeter(parse("1kWh")).words(80) == "budget of 1 kWh: nothing was read yet"
    assert (
        followed([300.0] * 5).words(80)
        == "0.417 % of 1 kWh spent; the rate is known after a minute"
    )


def test_a_steady_load_is_forecast_exactly():
    meter = followed([300.0] * 12)
    forecast = meter.forecast
    assert forecast is not None
    assert forecast.left_s == pytest.approx((3.6e6 - 36_000) / 300.0)
    assert forecast.least_s == pytest.approx(forecast.most_s)
    assert meter.words(80) == "1 % of 1 kWh spent, gone in 3 h (3 h to 3 h) at 300 W"
    assert meter.words(20) == "1 % spent, gone in 3 h (3 h to 3 h)"


def test_a_budget_that_is_gone_says_so():
    assert followed([4000.0] * 100).words(80) == "budget gone: 111 % of 1 kWh spent"


def test_a_load_that_may_stop_has_no_end():
    meter = followed([0.0, 600.0] * 10)
    forecast = meter.forecast
    assert forecast is not None
    assert forecast.most_s == math.inf
    assert "or more)" in meter.words(80)


def test_the_interval_holds_the_true_end_of_loads_that_wander():
    """Loads that stay high or low for minutes: the error of the mean alone would not hold."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        noise = rng.normal(size=2000)
        level = np.empty(2000)
        level[0] = noise[0]
        for n in range(1, 2000):
            level[n] = 0.97 * level[n - 1] + math.sqrt(1 - 0.97**2) * noise[n]
        watts = 300.0 + 40.0 * level
        forecast = followed(watts[:360]).forecast
        assert forecast is not None
        spent = np.cumsum(watts) * 10.0
        end_s = (int(np.searchsorted(spent, 3.6e6)) + 1 - 360) * 10.0
        held += forecast.least_s <= end_s <= forecast.most_s
    assert held >= 190


def test_check_holds_a_run_against_a_budget(capsys):
    assert cli.main(["check", str(folder()), "--budget", "1Wh"]) == 1
    assert "Above: J is 5,164 J" in capsys.readouterr().out
    assert cli.main(["check", str(folder()), "--budget", "4kWh"]) == 0

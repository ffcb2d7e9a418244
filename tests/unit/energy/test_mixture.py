"""Joules of a log that may lie in several places: a mixture of them all, or withheld; never those
of the likeliest place.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.energy import (
    curve_building,
    integrate,
    log_alignment,
    mixture,
    placing,
    trace_account,
)
from powertui.data.energy.idle import IdlePower
from powertui.data.model import PS_PER_S, Badge, Epochs, Figure, LogPlace, PowerOnTrace
from tests.synthetic import traces

S = PS_PER_S
NOWHERE = log_alignment.Alignment(None, None, None, "ambiguous", "by signal", ())


def power(
    *places: tuple[float, float], rows: int = 100, path: str = "log.csv", slack_s: float = 0.1
) -> PowerOnTrace:
    """A ramp of 2 W a second, at these places (seconds late, weight)."""
    one = traces.power(
        np.arange(rows, dtype=np.int64) * S,
        [100.0 + 2 * i for i in range(rows)],
        slack_ps=round(slack_s * S),
    )
    found = tuple(LogPlace(round(at * S), weight, round(slack_s * S)) for at, weight in places)
    # of a sensor whose own lag is known, so that the place alone is uncertain
    sensor = replace(
        one.series.sensor, window_s=Figure(0.0, Badge.ASSUMED), delay_s=Figure(0.0, Badge.ASSUMED)
    )
    return replace(
        one, status="ambiguous", places=found, series=replace(one.series, sensor=sensor, path=path)
    )


def test_a_sure_place_is_one_place_of_weight_one() -> None:
    one = traces.power(np.arange(10, dtype=np.int64) * S, [100.0] * 10, slack_ps=S)
    assert one.places == (LogPlace(0, 1.0, S),)
    assert mixture.energy(one, 2 * S, 7 * S) == integrate.energy(one, 2 * S, 7 * S)
    later = log_alignment.shifted(one, 3 * S)
    assert later.places == (LogPlace(3 * S, 1.0, S),)


def test_the_mean_and_the_interval_are_those_of_the_mixture() -> None:
    """Two places 10 s apart on a ramp: their joules differ by far more than either interval is
    wide.
    """
    one = power((0.0, 0.7), (10.0, 0.3))
    here, there = (integrate.energy(at, 30 * S, 50 * S) for at in placing.everywhere(one))
    found = mixture.energy(one, 30 * S, 50 * S)
    assert found.joules is not None
    assert here.joules is not None
    assert there.joules is not None
    assert there.joules == pytest.approx(here.joules - 400, abs=1)
    assert found.joules == pytest.approx(0.7 * here.joules + 0.3 * there.joules)
    assert found.lo is not None
    assert found.hi is not None
    assert found.lo < there.joules < here.joules < found.hi
    # Drawn at random from the two normals, 2.5 % lie below and 2.5 % above.
    rng = np.random.default_rng(3)
    pick = rng.random(400_000) < 0.7
    drawn = np.where(
        pick,
        rng.normal(here.joules, here.sigma, len(pick)),
        rng.normal(there.joules, there.sigma, len(pick)),
    )
    low, high = np.percentile(drawn, [2.5, 97.5])
    assert found.lo == pytest.approx(low, abs=0.1 * here.sigma)
    assert found.hi == pytest.approx(high, abs=0.1 * here.sigma)
    assert found.sigma == pytest.approx(float(drawn.std()), rel=0.01)
    assert found.badge is Badge.ESTIMATED


def test_a_window_that_some_place_leaves_without_readings_is_withheld() -> None:
    one = power((0.0, 0.9), (60.0, 0.1))
    assert integrate.energy(one, 10 * S, 40 * S).resolved, (
        "the likeliest place alone would have told a number"
    )
    found = mixture.energy(one, 10 * S, 40 * S)
    assert not found.resolved
    assert found.joules is None
    assert "10 % of the possible places of the log" in found.reason
    assert mixture.energies(one, [10 * S], [40 * S])[0].joules is None
    barely = power((0.0, 0.995), (60.0, 0.005))
    assert mixture.energy(barely, 10 * S, 40 * S).resolved, (
        "a place that weighs next to nothing withholds nothing"
    )


def test_many_windows_say_what_each_says_alone() -> None:
    one = power((0.0, 0.5), (4.0, 0.3), (9.0, 0.2))
    lo, hi = np.array([12, 30, 2, 95]) * S, np.array([20, 60, 30, 120]) * S
    many = mixture.energies(one, lo, hi)
    for row in range(len(lo)):
        alone = mixture.energy(one, int(lo[row]), int(hi[row]))
        assert many[row].resolved == alone.resolved
        assert many[row].badge == alone.badge
        if not alone.resolved:
            assert many[row].joules is None
            continue
        for name in (
            "joules",
            "lo",
            "hi",
            "mean_w",
            "coverage",
            "covered_joules",
            "sigma_timing",
            "sigma_sampling",
        ):
            assert getattr(many[row], name) == pytest.approx(getattr(alone, name)), name


@pytest.mark.parametrize("badge", list(Badge))
def test_joules_of_watts_in_a_guessed_unit_are_assumed_at_however_many_places(
    badge: Badge,
) -> None:
    for places in (((0.0, 1.0),), ((0.0, 0.5), (4.0, 0.5))):
        one = power(*places)
        series = replace(one.series, sensor=replace(one.series.sensor, scale=badge))
        one = replace(one, series=series)
        expected = Badge.ESTIMATED if badge is Badge.MEASURED else badge
        assert mixture.energy(one, 30 * S, 50 * S).badge is expected
        assert mixture.energies(one, [30 * S], [50 * S])[0].badge is expected


def test_a_log_at_many_places_is_summed_up_once_and_asked_at_all_of_them_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built, asked = [], []
    build, across = curve_building._build, integrate.across
    monkeypatch.setattr(curve_building, "_build", lambda one: built.append(one) or build(one))
    monkeypatch.setattr(
        integrate, "across", lambda *args, **more: asked.append(args) or across(*args, **more)
    )
    one = power((0.0, 0.5), (4.0, 0.3), (9.0000001, 0.2))
    watts = one.watts.copy()
    watts[40:43] = np.nan  # a hole, that it may move with the rest
    one = replace(one, watts=watts, series=replace(one.series, watts=watts))
    trace = traces.trace({("/host:CPU", "a"): [(30 * S, 20 * S, "train")]})
    placed = (log_alignment.Placed(one, NOWHERE),)
    found = trace_account.Account(
        trace, traces.steps((30 * S, 20 * S)), Epochs(), placed, (0,), "", lambda: IdlePower(None)
    )
    total = found.energy(20 * S, 70 * S)
    assert (len(built), len(asked)) == (1, 1)
    assert total == mixture.mixed(
        [0.5, 0.3, 0.2], [integrate.energy(at, 20 * S, 70 * S) for at in placing.everywhere(one)]
    )
    for at in placing.everywhere(one):
        alone, moved = build(at), curve_building.power_curve(at)
        for name in (
            "knots",
            "energy",
            "squares",
            "steep",
            "hold_at",
            "hold_energy",
            "changes",
            "known",
            "covered",
        ):
            assert np.array_equal(getattr(alone, name), getattr(moved, name)), name
        assert alone.hold_end == moved.hold_end


def test_channels_of_one_log_move_together() -> None:
    """Two ramps, one up and one down: their sum does not depend on the place, whatever each of them
    does.
    """
    up = power((0.0, 0.5), (10.0, 0.5))
    down = replace(up, series=replace(up.series, watts=300 - up.series.watts), watts=300 - up.watts)
    steps = traces.steps((30 * S, 20 * S))
    trace = traces.trace({("/host:CPU", "a"): [(30 * S, 20 * S, "train")]})
    found = trace_account.Account(
        trace,
        steps,
        Epochs(),
        (log_alignment.Placed(up, NOWHERE), log_alignment.Placed(down, NOWHERE)),
        (0, 1),
        "",
        lambda: IdlePower(None),
    )
    total = found.energy(30 * S, 50 * S)
    assert total is not None
    assert total.joules == pytest.approx(300 * 20)
    assert total.joules is not None
    assert total.hi is not None
    single = mixture.energy(up, 30 * S, 50 * S)
    assert single.hi is not None
    assert single.joules is not None
    assert total.hi - total.joules < 0.2 * (single.hi - single.joules)
    assert found.step_energies[0].joules == pytest.approx(total.joules)
    apart = replace(down, series=replace(down.series, path="other.csv"))
    assert len(mixture.worlds([up, apart])) == 4
    assert sum(weight for weight, _ in mixture.worlds([up, apart])) == pytest.approx(1)


def test_too_many_combinations_are_withheld() -> None:
    many = tuple((float(i), 1 / 40) for i in range(40))
    logs = [power(*many, path=f"{i}.csv") for i in range(2)]
    assert mixture.worlds(logs) == []
    trace = traces.trace({("/host:CPU", "a"): [(30 * S, 20 * S, "train")]})
    placed = tuple(log_alignment.Placed(one, NOWHERE) for one in logs)
    found = trace_account.Account(
        trace, traces.steps((30 * S, 20 * S)), Epochs(), placed, (0, 1), "", lambda: IdlePower(None)
    )
    told = found.energy(45 * S, 60 * S)
    assert told is not None
    assert told.joules is None
    assert "several logs" in told.reason
    assert found.step_energies[0].joules is None

"""Which reading is in force where."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.energy import sensor as sensors
from powertui.data.model import PS_PER_S, Badge, Figure, PowerKind
from powertui.view.power_curve import PowerCurve
from tests.synthetic import traces

S = PS_PER_S


def seconds(*times: float) -> np.ndarray:
    return np.array([round(t * S) for t in times], np.int64)


def test_a_reading_holds_until_the_next() -> None:
    curve = PowerCurve(
        traces.power(seconds(*range(10)), [100.0 + 10 * (i // 3) for i in range(10)])
    )
    values = [curve.value(round(t * S)) for t in np.arange(0.1, 8, 0.37)]
    assert set(values) <= {100.0, 110.0, 120.0, 130.0}
    assert values == sorted(values), "readings, never something between two of them"
    assert math.isnan(curve.value(-20 * S))
    assert math.isnan(curve.value(40 * S))


def test_a_reading_is_drawn_where_it_tells_of_and_not_where_it_was_read() -> None:
    """A sensor that means over 2 s and answers 1 s late: its reading at 10 s is of the second
    around 8 s.
    """
    watts = [100.0] * 10 + [300.0] + [100.0] * 9
    power = traces.power(seconds(*range(20)), watts)
    figures = {"poll_s": 1.0, "refresh_s": 1.0, "window_s": 2.0, "delay_s": 1.0}
    about = {name: Figure(value, Badge.MEASURED) for name, value in figures.items()}
    curve = PowerCurve(
        replace(power, series=replace(power.series, sensor=replace(power.series.sensor, **about)))
    )
    assert [curve.value(round(t * S)) for t in (7.4, 7.6, 8.0, 8.4, 8.6, 10.0)] == [
        100.0,
        300.0,
        300.0,
        300.0,
        100.0,
        100.0,
    ]


def test_a_gap_row_and_a_pause_are_holes() -> None:
    watts = [200.0 + i % 5 for i in range(40)]
    watts[10] = math.nan
    times = seconds(*(i + (60 if i >= 30 else 0) for i in range(40)))
    curve = PowerCurve(traces.power(times, watts))
    edges = np.arange(-2, 105, dtype=np.int64) * S
    known = curve.envelope(edges).known
    at = edges[:-1] // S
    assert not known[(at > 33) & (at < 86)].any(), "nothing is known in a pause"
    assert known[(at >= 2) & (at < 8)].all()
    fine = curve.envelope(np.arange(80, 120, dtype=np.int64) * (S // 10)).known
    assert not fine.all(), "nor at a row without a value"


def test_interval_means_tell_of_the_time_before_their_row() -> None:
    curve = PowerCurve(
        traces.power(seconds(0, 10, 20, 30), [math.nan, 50.0, 70.0, 60.0], kind=PowerKind.INTERVAL)
    )
    assert [curve.value(round(t * S)) for t in (1, 9, 11, 25)] == [50.0, 50.0, 70.0, 60.0]
    assert math.isnan(curve.value(31 * S))


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(2, 200),
    st.integers(1, 40),
    st.integers(-5, 250),
    st.floats(0.01, 30),
)
def test_an_envelope_holds_every_reading_in_force(
    seed: int, size: int, cells: int, start: int, cell_s: float
) -> None:
    random = np.random.default_rng(seed)
    watts = random.uniform(50, 400, size)
    watts[random.random(size) < 0.1] = math.nan
    curve = PowerCurve(traces.power(np.arange(size, dtype=np.int64) * S, watts.tolist()))
    edges = start * S + np.arange(cells + 1, dtype=np.int64) * round(cell_s * S)
    shape = curve.envelope(edges)
    for i in range(cells):
        force = [
            v
            for a, b, v in zip(curve.at[:-1], curve.at[1:], curve.values, strict=True)
            if a < edges[i + 1] and b > edges[i] and v == v
        ]
        if force:
            assert (shape.low[i], shape.high[i]) == (min(force), max(force))
        else:
            assert math.isnan(shape.low[i])


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_rows_are_no_curve(count: int) -> None:
    curve = PowerCurve(traces.power(seconds(*range(count)), [5.0] * count))
    assert not curve.envelope(np.array([0, S], np.int64)).known.any()
    assert math.isnan(curve.value(0))


def test_a_day_of_seconds_costs_its_samples_once_per_window() -> None:
    """86,400 rows over 400 half cells: the arrays that come out are as long as the screen, whatever
    the window.
    """
    day = PowerCurve(
        traces.power(
            np.arange(86_400, dtype=np.int64) * S,
            np.random.default_rng(0).normal(300, 20, 86_400).tolist(),
        )
    )
    for lo, hi in ((0, 86_400), (40_000, 40_100), (40_000, 40_001)):
        shape = day.envelope(np.linspace(lo * S, hi * S, 401).astype(np.int64))
        assert len(shape.low) == 400
        assert shape.known[1:-1].all()


def test_a_reading_is_drawn_around_its_moment() -> None:
    """A sensor that says every second what it measures: a step from 100 W to 200 W is drawn between
    the two readings.
    """
    curve = PowerCurve(
        traces.power(
            seconds(*range(20)), [100.0 + i % 2 if i < 10 else 200.0 + i % 2 for i in range(20)]
        )
    )
    fine = np.arange(0, 18, 0.05)
    jump = next(t for t in fine if curve.value(round(t * S)) >= 200)
    centre = sensors.centre_s(curve.sensor)
    assert 9.4 - centre <= jump <= 9.6 - centre
    assert curve.value(round((5 - centre) * S)) == 101.0
    assert curve.value(round((6 - centre) * S)) == 100.0

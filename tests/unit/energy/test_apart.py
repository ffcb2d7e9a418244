"""What follows from the times of a log alone is worked out once, however many channels
share them.
"""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from powertui.data.energy import curve_building, distances, integrate, sensor
from powertui.data.model import PS_PER_S, Int64s, PowerOnTrace, PowerSeries, Scope, Sensor


def channels(times_s: np.ndarray, count: int) -> list[PowerOnTrace]:
    times = np.round(times_s * 1e9).astype(np.int64)
    rng = np.random.default_rng(1)
    return [
        integrate.own_clock(
            sensor.describe(
                PowerSeries(
                    Sensor(f"node{i}", "test", Scope.NODE),
                    times,
                    np.round(rng.normal(250, 20, len(times))),
                )
            )
        )
        for i in range(count)
    ]


def test_channels_ask_once_how_far_their_rows_lie_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(times: Int64s, _: int) -> distances.Apart:
        asked.append(len(times))
        return real(times, _)

    real = distances._apart
    monkeypatch.setattr(distances._seconds, "_make", counted)
    powers = channels(np.arange(500.0), 20)
    curves = [curve_building.power_curve(power) for power in powers]
    assert asked == [500]
    for name in ("knots", "hold_at"):  # one array for all sensors that lag alike
        columns = [getattr(one, name) for one in curves]
        assert len({id(column) for column in columns}) == len(
            {int(column[0]) for column in columns}
        )


def test_what_is_kept_goes_with_the_times() -> None:
    times = np.arange(100, dtype=np.int64) * PS_PER_S
    seconds = weakref.ref(distances.reading_distances(times).seconds)
    moved = distances.earlier(times, 5)
    assert distances.earlier(times, 5) is moved
    assert distances.earlier(times, 6) is not moved
    assert seconds() is distances.reading_distances(times).seconds
    gone = weakref.ref(moved)
    del moved
    gc.collect()
    assert gone() is None  # as long as somebody else wants them
    del times
    gc.collect()
    assert seconds() is None


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_moments(rows: int) -> None:
    times = np.arange(rows, dtype=np.int64) * PS_PER_S
    found = distances.reading_distances(times)
    assert found.seconds.tolist() == [1.0] * max(rows - 1, 0)
    assert found.most == max(rows - 1, 0)
    assert distances.longest(times) == max(rows - 1, 0) * PS_PER_S


@pytest.mark.parametrize("pause", [0.0, 1.61, 2.0, 40.0])
def test_differences_in_turns_are_those_of_neighbours(pause: float) -> None:
    """Rows that come evenly take a short way; a pause takes the long one, and both say the same of
    the rows before it.
    """
    times = np.arange(400.0)
    times[300:] += pause
    power = channels(times, 1)[0]
    found = curve_building.power_curve(power)
    moved = np.diff(found.power)
    moved[~found.known] = 0
    rows = np.flatnonzero(moved)
    near = np.diff(found.knots[rows + 1]) < 1.6 * found.refresh_s * PS_PER_S
    each = np.zeros(len(moved))
    each[rows[1:]] = np.where(near, moved[rows[1:]] * moved[rows[:-1]], 0.0)
    np.testing.assert_array_equal(found.turns, np.concatenate(([0.0], np.cumsum(each))))
    np.testing.assert_array_equal(found.squares, np.concatenate(([0.0], np.cumsum(moved * moved))))

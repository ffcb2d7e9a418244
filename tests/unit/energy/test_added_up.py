"""The joules of a sum of channels are those of the channels, however many readings they have."""

from __future__ import annotations

import itertools
import weakref
from dataclasses import replace

import numpy as np
import pytest

from powertui.data.energy import (
    curve_building,
    integrate,
    placing,
    scopes,
    summed_channels,
    supplies,
)
from powertui.data.energy import sensor as sensors
from powertui.data.energy.curve import Curve
from powertui.data.model import (
    NS_PER_S,
    PS_PER_S,
    Badge,
    Figure,
    PowerOnTrace,
    PowerSeries,
    Scope,
    Sensor,
)

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

ROWS = 3 * summed_channels.MAX_SUMMED_ROWS + 5  # every third reading, if one took every third


def channel(number: int, *, path: str, late_ns: int = 0) -> PowerOnTrace:
    """Its readings repeat every three: one of them alone tells nothing of the others."""
    times = np.arange(ROWS, dtype=np.int64) * NS_PER_S + late_ns
    watts = np.where(np.arange(ROWS) % 3 == 0, 400.0, 100.0) + 10 * number
    series = sensors.describe(
        PowerSeries(Sensor(f"gpu {number}", "csv", Scope.GPU), times, watts, path=path)
    )
    return placing.on_trace(series, 0, 0, 0, "aligned", "wall clocks of both")


@pytest.mark.parametrize("apart", [False, True], ids=["one log", "two logs"])
def test_joules_do_not_come_from_readings_that_were_left_out(apart: bool) -> None:
    channels = [
        channel(0, path="a.csv"),
        channel(1, path="b.csv" if apart else "a.csv", late_ns=NS_PER_S // 3 if apart else 0),
    ]
    one = summed_channels.summed(channels)
    assert one is not None
    assert len(one.times) <= max(summed_channels.MAX_SUMMED_ROWS, ROWS)
    for lo, hi in ((1000, ROWS - 1000), (7_000, 9_000), (200_000, 203_601)):
        alone = integrate.across(channels, lo * PS_PER_S, hi * PS_PER_S)
        found = integrate.energy(one, lo * PS_PER_S, hi * PS_PER_S)
        assert found.joules is not None
        assert found.joules == pytest.approx(sum(part.joules or 0.0 for part in alone), rel=2e-3)
        assert found.coverage > 0.999


def test_what_is_missing_of_one_channel_is_missing_of_the_sum() -> None:
    hole = channel(1, path="b.csv", late_ns=NS_PER_S // 3)
    watts = hole.watts.copy()
    watts[100_000:101_000] = np.nan
    hole = replace(hole, series=replace(hole.series, watts=watts), watts=watts)
    one = summed_channels.summed([channel(0, path="a.csv"), hole])
    assert one is not None
    assert integrate.energy(one, 99_000 * PS_PER_S, 102_000 * PS_PER_S).coverage == pytest.approx(
        2 / 3, abs=0.01
    )


def test_a_sum_is_made_once_and_has_one_curve_at_one_place_however_sure_that_is() -> None:
    channels = [channel(number, path="a.csv") for number in range(3)]
    unsure = [
        replace(one, offset_lo_ps=-PS_PER_S, offset_hi_ps=PS_PER_S, places=()) for one in channels
    ]
    one, other = summed_channels.together(channels), summed_channels.together(unsure)
    assert one is not None
    assert other is not None
    assert one.series is other.series
    assert curve_building.power_curve(one) is curve_building.power_curve(other)
    later = placing.shifted(one, PS_PER_S)
    assert (
        curve_building.power_curve(later).knots[0]
        == curve_building.power_curve(one).knots[0] + PS_PER_S
    )
    assert summed_channels.together(channels[:2]).series is not one.series  # type: ignore[union-attr]


def test_a_curve_is_looked_up_while_another_thread_adds_one() -> None:
    """A page asks for one place of the power, and the list of runs for another."""
    one = channel(0, path="a.csv")
    curve = curve_building.power_curve(one)
    curves = curve_building._curves_by_place[one.series]

    numbers = itertools.count()

    class Interrupted(weakref.KeyedRef):  # type: ignore[type-arg]
        def __call__(self) -> Curve | None:
            added = (next(numbers), 0)
            curves.data[added] = weakref.KeyedRef(curve, lambda _: None, added)
            return super().__call__()

    for key in list(curves.data):
        curves.data[key] = Interrupted(curve, lambda _: None, key)
    later = curve_building.power_curve(placing.shifted(one, PS_PER_S))
    assert later.knots[0] == curve.knots[0] + PS_PER_S


def test_a_sum_lies_where_its_channels_do_however_long_their_means_are() -> None:
    times = np.arange(200, dtype=np.int64) * NS_PER_S
    channels = []
    for number in range(2):
        watts = np.where(times // (20 * NS_PER_S) % 2 == 0, 100.0, 400.0) + number
        series = sensors.describe(
            PowerSeries(Sensor(f"gpu {number}", "csv", Scope.GPU), times, watts, path="a.csv")
        )
        series = replace(
            series, sensor=replace(series.sensor, window_s=Figure(4.0, Badge.MEASURED))
        )
        channels.append(placing.on_trace(series, 0, 0, 0, "aligned", "wall clocks of both"))
    one = summed_channels.summed(channels)
    assert one is not None
    assert abs(sensors.centre_s(one.series.sensor)) >= 1.0
    at = np.arange(50, 150, dtype=np.int64) * PS_PER_S
    assert integrate.watts_at(one, at) == pytest.approx(
        sum(integrate.watts_at(channel, at) for channel in channels)
    )


def test_a_few_short_channels_are_worked_with_one_by_one() -> None:
    times = np.arange(200, dtype=np.int64) * NS_PER_S
    several = []
    for number in range(summed_channels.MAX_SEPARATE_CHANNELS + 1):
        series = PowerSeries(
            Sensor(f"gpu {number}", "csv", Scope.GPU),
            times,
            np.full(200, 100.0 + number),
            path="a.csv",
        )
        several.append(
            placing.on_trace(sensors.describe(series), 0, 0, 0, "aligned", "wall clocks of both")
        )
    assert summed_channels.where_many(several[:2]) is None
    assert summed_channels.where_many(several[: summed_channels.MAX_SEPARATE_CHANNELS]) is None
    one = summed_channels.where_many(several)
    assert one is not None
    assert one.watts[0] == sum(channel.watts[0] for channel in several)


def test_the_channels_of_a_thousand_hosts_are_told_apart_by_looking_at_each_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was looked at once for each host, which was half of the live screen's first picture."""
    looked_at = 0
    pattern = supplies._OUTLET

    class Counting:
        def search(self, name: str) -> object:
            nonlocal looked_at
            looked_at += 1
            return pattern.search(name)

    monkeypatch.setattr(supplies, "_OUTLET", Counting())
    hosts = [
        PowerSeries(
            Sensor(f"gpu {gpu}", "prometheus", Scope.GPU, f"node{host}"),
            np.zeros(1, np.int64),
            np.full(1, 100.0),
        )
        for host in range(1000)
        for gpu in range(3)
    ]
    assert len(scopes.total(hosts).indices) == 3000
    assert looked_at <= 2 * len(hosts)

"""A hundred channels of one log are told as one, of which one curve is made."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.energy import placing
from powertui.data.model import PowerOnTrace, PowerSeries, Scope, Sensor
from powertui.view import power_curve, power_facts


def channels(count: int) -> tuple[PowerOnTrace, ...]:
    times = np.arange(400) * 1_000_000_000
    made = [
        PowerSeries(
            Sensor(f"gpu {n}", "csv", Scope.GPU, host=f"node{n}"),
            times,
            200.0 + n + np.arange(400) % 3,
            path="power.csv",
        )
        for n in range(count)
    ]
    return tuple(placing.on_trace(one, 0, 0, 0, "aligned", "wall clocks of both") for one in made)


@pytest.mark.parametrize("count", [5, 60])
def test_many_channels_are_one_line_with_one_curve(count: int) -> None:
    power = channels(count)
    (line,) = power_facts._added_up(power)
    assert (line.name, line.named) == (f"{count} channels", True)
    assert len(line.channels) == (count if count <= 16 else 1)
    apart = sum(power_curve.channel_curve(one).value(100_000_000_000_000) for one in power)
    assert line.watts(100_000_000_000_000) == pytest.approx(apart)
    energy = line.energy(0, 300_000_000_000_000)
    assert energy is not None
    assert energy.joules == pytest.approx(sum(201.0 + n for n in range(count)) * 300, rel=0.01)

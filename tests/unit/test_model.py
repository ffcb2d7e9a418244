"""What the ground model says of a sensor's name and of steps in a row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.model import Sensor, Steps


@pytest.mark.parametrize(
    ("name", "host", "channel", "label"),
    [
        ("bmc-17 DCMI power", "bmc-17", "DCMI power", "bmc-17 DCMI power"),
        ("BMC-17: fans", "bmc-17", "fans", "BMC-17: fans"),
        (
            "bmc-17",
            "bmc-17",
            "bmc-17",
            "bmc-17",
        ),  # nothing is left without the host: then it is the name
        ("Total Power", "bmc-17", "Total Power", "bmc-17 Total Power"),
        ("Total Power", "", "Total Power", "Total Power"),
        ("", "", "powerboard", "powerboard"),
    ],
)
def test_a_channel_is_its_sensor_without_the_host(
    name: str, host: str, channel: str, label: str
) -> None:
    sensor = Sensor(name, "powerboard", host=host)
    assert (sensor.channel, sensor.label) == (channel, label)


def steps(starts: list[int], epochs: list[int]) -> Steps:
    number = np.arange(len(starts), dtype=np.int64)
    start = np.array(starts, np.int64)
    return Steps(
        number,
        start,
        np.full(len(starts), 5, np.int64),
        np.array(epochs, np.int32),
        ("s",) * len(starts),
        "test",
    )


def test_two_steps_have_one_distance() -> None:
    found = steps([0, 7], [0, 0])
    assert found.start_to_start().tolist() == [7, -1]
    assert found.ends().tolist() == [7, 12]
    assert [step.start_to_start for step in found] == [7, None]


def test_an_epoch_ends_where_its_last_step_does() -> None:
    found = steps([0, 7, 20], [0, 0, 1])
    assert found.start_to_start().tolist() == [7, -1, -1]
    assert found.ends().tolist() == [7, 12, 25]
    assert steps([3], [0]).ends().tolist() == [8]
    assert steps([], []).start_to_start().tolist() == []


def test_a_step_is_as_long_as_its_mark_where_that_holds_its_work() -> None:
    found = steps([3, 7], [0, 0])
    assert found.lengths().tolist() == [5, 5]
    assert replace(found, asynchronous=True).lengths().tolist() == [4, 5]
    assert found.mark_ends().tolist() == [8, 12]

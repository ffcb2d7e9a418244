"""A profile is as long as the slowest power sensor beside it needs."""

from __future__ import annotations

import pytest

from powertui.sampler.profile_length import DEFAULT_S, profile_length


@pytest.mark.parametrize(
    ("urls", "interval", "seconds"),
    [
        ([], 0.25, DEFAULT_S),
        (["nvml:", "rapl:"], 0.25, DEFAULT_S),
        (["ipmi://bmc"], 0.25, 10.0),
        (["rapl:", "redfish://bmc"], 0.25, 15.0),
        (["rapl:"], 4.0, 12.0),
    ],
)
def test_the_slowest_source_sets_the_length(urls, interval, seconds) -> None:
    assert profile_length(urls, interval).seconds == seconds


def test_it_is_said_before() -> None:
    needed = profile_length(["redfish://admin:secret@bmc"], 0.25)
    assert needed.reason() == (
        "The profile takes 15 s, because redfish may have a new reading only every 5 s."
    )
    assert "2 s are too short for joules" in needed.warning(2.0)
    assert not needed.warning(20.0)
    assert not profile_length(["nvml:"], 0.25).reason()

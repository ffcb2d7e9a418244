"""Recordings of real trainings with a foreign process whose times are known: it is found, and
nothing else is.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import account
from powertui.data.energy.findings.finding import Finding
from powertui.data.opened import Opened

BURSTS = (
    "bursts/jax_no_epochs_100ms",
    "bursts/keras_1ep",
    "bursts/keras_2ep_log_ends_early",
    "bursts/keras_3ep_slow_sensor",
    "bursts/keras_4ep_1s_sensor",
    "long_training",
    "two_epochs_with_burst",
)
UNCONFIRMED = "long_training"


def opened(folder: Path) -> Opened:
    (entry, *_) = logdir.scan(str(folder)).chosen(None)
    return Opened(entry, ReadOptions(power=(str(folder / "power.csv"),), find_power=False))


def power_of(one: Opened, aligning: Aligning | None = None) -> list[Finding]:
    findings = account.findings(one.profiles[0], aligning or Aligning()).findings
    return [found for found in findings if found.kind == "power"]


def truth(folder: Path, one: Opened) -> tuple[float, float]:
    """When the foreign process ran, in s of the trace."""
    clock = one.profiles[0].clock
    (event,) = [
        e
        for e in json.loads((folder / "truth_events.json").read_text())
        if e[0] in ("burst_start", "burn_start")
    ]
    (begin,) = [x for x in event[1:] if isinstance(x, float) and x > 1e9]
    return begin - clock.mid_ns / 1e9, begin - clock.mid_ns / 1e9 + (
        event[-1] if event[-1] < 1e9 else 2.5
    )


@pytest.mark.parametrize("name", BURSTS)
def test_the_burst_is_found_and_nothing_else_is(shared_data: Path, name: str) -> None:
    folder = shared_data / "own" / name
    one = opened(folder)
    begin, end = truth(folder, one)
    (found,) = power_of(one)
    window = max(
        0.5, 3.0 if "slow_sensor" in name else 1.0 if "1s" in name or "long" in name else 0.5
    )
    alignment = account.energy_account(one.profiles[0], Aligning()).alignment
    assert alignment is not None
    assert (alignment.status == "cannot tell") == (name == UNCONFIRMED)
    if name == UNCONFIRMED:  # nothing in the profile shows whether its log's clock is right
        window = (alignment.hi_s - alignment.lo_s) / 2
    assert abs(found.start_ps / 1e12 - begin) <= window
    assert abs(found.end_ps / 1e12 - end) <= window
    assert found.start_within[0] <= begin * 1e12 <= found.start_within[1]
    assert found.end_within[0] <= end * 1e12 <= found.end_within[1]
    assert found.delta_watts == pytest.approx(60, rel=0.1)
    assert found.lo_watts is not None
    assert found.hi_watts is not None
    assert found.lo_watts - 2 < 60 < found.hi_watts + 2  # the process did not draw 60 W to the watt
    assert "unexplained" in found.witnesses
    assert not found.explained


def test_with_a_clock_that_is_believed_the_burst_has_its_bounds(shared_data: Path) -> None:
    """Only the doubt about its clock moves the bounds of this burst."""
    folder = shared_data / "own" / UNCONFIRMED
    one = opened(folder)
    begin, end = truth(folder, one)
    (found,) = power_of(one, Aligning(mode="clock"))
    assert abs(found.start_ps / 1e12 - begin) <= 1.0  # the sensor's refresh
    assert abs(found.end_ps / 1e12 - end) <= 1.0


def test_a_quiet_recording_has_no_finding(shared_data: Path) -> None:
    one = opened(shared_data / "own" / "bursts" / "keras_quiet_3ep")
    everything = account.findings(one.profiles[0])
    assert everything.findings == ()
    assert "a load of +15 W for" in everything.could


def test_what_was_not_profiled_says_so(shared_data: Path) -> None:
    (found,) = power_of(opened(shared_data / "own" / "long_training"))
    assert found.epoch in (3, 4)  # half of it lies in each
    assert (found.step_lo, found.delta_seconds) == (None, None)
    assert "not profiled" in found.text

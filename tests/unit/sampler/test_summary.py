"""What the last lines of a recording say, and what they do not claim."""

from __future__ import annotations

import contextlib
import os
import sys

import pytest

from powertui.data.energy import integrate, placing, sensor
from powertui.data.model import PS_PER_S
from powertui.data.power import registry
from powertui.report import recorded
from powertui.sampler import recording_run
from powertui.sampler.channel_lines import _channel_line, _sum_line
from powertui.sampler.process import RecorderProcess
from powertui.sampler.recording_run import add_energies


def channel(**changes):
    base = {
        "source": "bmc1",
        "channel": "power",
        "host": "bmc1",
        "scope": "node",
        "joules": 2931.4,
        "watts": 244.28,
        "covered_s": 12.0,
        "span_s": 12.0,
        "samples": 13,
        "min_w": 231.0,
        "max_w": 259.0,
        "gaps": 0,
        "readings": 13,
        "missed": 0,
        "reconnects": 0,
    }
    return {**base, **changes}


def test_of_a_stretch_without_readings_the_rest_is_told(tmp_path):
    """The last reading of a slow sensor tells of a time that ended before the recording did: of
    what came before it the joules are known.
    """
    lines = ["time_unix_s,watts"]
    for second in range(40):
        lines.append(f"{1_700_000_000 + second},{200 + second // 4 % 3}")
    path = tmp_path / "power.csv"
    path.write_text("\n".join(lines) + "\n")
    (read,) = recorded.energies(str(path), 1_700_000_000.0, 50.0).values()
    assert read["joules"] == pytest.approx(read["over_s"] * 201, rel=0.02)
    assert 36 < read["over_s"] < 40
    line = _channel_line(channel(energy=read, span_s=50.0))
    assert f"over {read['over_s']:.1f} s of 50.0 s" in line


def test_a_complete_recording():
    assert (
        _channel_line(channel()) == "bmc1 power: 2,931 J, mean 244.3 W (231 to 259 W) over 12.0 s"
    )


def test_the_files_own_joules_and_interval_are_said():
    read = {
        "joules": 2940.0,
        "lo": 2900.0,
        "hi": 2980.0,
        "mean_w": 245.0,
        "coverage": 0.96,
        "over_s": 12.04,
        "reason": "",
    }
    line = _channel_line(channel(energy=read))
    assert line == (
        "bmc1 power: 2,940 J ± 40 (95 %), mean 245.0 W (231 to 259 W) over 12.0 s, 96.0 % of the "
        "time sampled"
    )
    assert _sum_line(
        [channel(energy=read), channel(host="bmc2", joules=1000.0, watts=100.0)]
    ).startswith("2 machines together (bmc1, bmc2): 3,940 J")
    unresolved = channel(
        energy={"joules": None, "lo": None, "hi": None, "reason": "shorter than two refreshes"}
    )
    assert _channel_line(unresolved).endswith(
        "over 12.0 s, without an interval: shorter than two refreshes"
    )
    assert "2,931 J" in _channel_line(unresolved)


def test_a_recordings_end_tells_what_energy_tells_of_its_file(data):
    """One integrator: the lines at the end of a recording hold the energy module's figure."""
    path = str(data / "power" / "recording.csv")
    power, _ = registry.load(path).series
    begin, length = power.clock.mid_ns / 1e9, 4.0
    summary = {
        "path": path,
        "rows": 30,
        "channels": [channel(), channel(source="rapl", channel="package-0")],
    }
    add_energies(summary, recorded.energies, begin, length)
    first = summary["channels"][0]["energy"]
    expected = integrate.energy(
        placing.on_trace(sensor.describe(power), 0, 0, 0, "aligned", ""), 0, 4 * PS_PER_S
    )
    assert expected.resolved
    told = [first["joules"], first["lo"], first["hi"], first["mean_w"]]
    assert told == pytest.approx(
        [expected.joules, expected.lo, expected.hi, expected.mean_w], rel=1e-4
    )  # the beginning as a float lies beside the reading
    assert summary["channels"][1]["energy"] is not None
    assert recorded.energies("/nowhere/at/all.csv", begin, length) == {}


def test_gaps_are_said_with_the_share_of_the_time():
    line = _channel_line(channel(covered_s=9.0, gaps=3, missed=1, reconnects=2))
    assert "over 9.0 s, which is 75.0 % of the time; the rest has no values" in line
    assert line.endswith("(3 of 13 readings without a value, 1 tick missed, 2 reconnects)")


def test_too_few_readings_are_no_energy():
    assert (
        _channel_line(channel(samples=1, span_s=0.4))
        == "bmc1 power: energy not resolved (1 reading in 0.4 s)"
    )
    line = _channel_line(channel(samples=0, joules=None, gaps=5, span_s=5.0))
    assert line == "bmc1 power: energy not resolved (0 readings in 5.0 s, 5 without a value)"


def test_machines_are_added_up():
    two = [channel(), channel(host="bmc2", source="bmc2", joules=1000.0, watts=100.0)]
    assert _sum_line(two) == "2 machines together (bmc1, bmc2): 3,931 J, mean 344 W"
    five = [channel(host=f"bmc{n}", source=f"bmc{n}") for n in range(5)]
    assert _sum_line(five).startswith("5 machines together: ")
    assert "without 1 that had no values" in _sum_line(
        [*two, channel(host="bmc3", joules=None, watts=None, samples=0)]
    )


def test_ports_of_two_protocols_behind_one_address_are_not_added_up():
    ipmi = channel(host="10.0.0.7:6230", how="ipmi DCMI")
    assert _sum_line([ipmi, channel(host="10.0.0.7:8443", how="redfish Power")]) == ""
    assert _sum_line([ipmi, channel(host="10.0.0.7", how="redfish Power")]) == ""
    assert _sum_line([ipmi, channel(host="10.0.0.7:6231", how="ipmi DCMI")]).startswith(
        "2 machines together"
    )


def test_parts_of_one_machine_are_not_added_up():
    assert _sum_line([channel(), channel(channel="Total Power")]) == ""
    assert _sum_line([channel(), channel(host="", source="nvml", scope="gpu")]) == ""
    assert _sum_line([channel()]) == ""


def test_a_message_takes_the_place_of_the_status_line(monkeypatch):
    """On a terminal the readings stand on one line that is written again and again."""
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        talker = recording_run._Talker(False, status=True)
        talker.status(RecorderProcess([]))
        talker.problem("the disk is full")
        talker.problem("still")
    shown = b""
    with contextlib.suppress(
        OSError
    ):  # EIO: all was read. A busy machine passes it on piece by piece
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)
    assert (
        shown.decode().replace("\r\n", "\n")
        == "\r\x1b[K\r\x1b[Kpowertui: the disk is full\npowertui: still\n"
    )

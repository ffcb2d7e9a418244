"""Limits of power: read from trees of files, a library's stand-in and answers; recorded, read back,
and never added up.
"""

from __future__ import annotations

import types
from pathlib import Path

import pytest

from powertui.data.model import PowerCap
from powertui.data.power import registry
from powertui.sampler import limits
from powertui.sampler.limits import PowerLimit, Watcher
from powertui.sampler.recorder import Recorder
from powertui.sampler.recording_file import RecordingFile
from powertui.sampler.source import Channel as Channel_
from powertui.sampler.source import Info, Options, Reading, Stamp, open_source
from tests.unit.sampler.counting import counting
from tests.unit.sampler.simulated_system import put


def test_rapl_tells_the_least_constraint_that_is_set(tmp_path: Path) -> None:
    zone = "sys/class/powercap/intel-rapl:0"
    for name, text in (
        ("name", "package-0"),
        ("energy_uj", 5),
        ("enabled", 1),
        ("constraint_0_power_limit_uw", 205_000_000),
        ("constraint_1_power_limit_uw", 246_000_000),
        ("constraint_2_power_limit_uw", 0),
    ):
        put(tmp_path, f"{zone}/{name}", text)
    source = open_source("rapl:", Options(root=str(tmp_path)))
    with counting(tmp_path):
        source.open()
    assert source.limits() == [PowerLimit("package-0", 205.0)]  # type: ignore[attr-defined]
    put(tmp_path, f"{zone}/enabled", 0)
    assert source.limits() == [PowerLimit("package-0", None)]  # type: ignore[attr-defined]


def test_hwmon_tells_caps_and_opal_that_of_the_machine(tmp_path: Path) -> None:
    for name, text in (
        ("name", "ibmpowernv"),
        ("power1_input", 312_000_000),
        ("power1_label", "System"),
        ("power2_input", 9_000_000),
    ):
        put(tmp_path, f"sys/class/hwmon/hwmon0/{name}", text)
    put(tmp_path, "sys/class/hwmon/hwmon1/name", "amdgpu")
    put(tmp_path, "sys/class/hwmon/hwmon1/power1_average", 45_000_000)
    put(tmp_path, "sys/class/hwmon/hwmon1/power1_cap", 225_000_000)
    put(tmp_path, "sys/firmware/opal/powercap/system-powercap/powercap-current", 2100)
    source = open_source("hwmon:", Options(root=str(tmp_path)))
    source.open()
    assert {one.channel: one.watts for one in source.limits()} == {  # type: ignore[attr-defined]
        "ibmpowernv System": 2100.0,
        "ibmpowernv power2": None,
        "amdgpu power1": 225.0,
    }


def test_hwmon_tells_the_caps_of_channels_whose_energy_is_counted(tmp_path: Path) -> None:
    for name, text in (
        ("name", "ibmpowernv"),
        ("power1_input", 312_000_000),
        ("power1_label", "System"),
        ("energy1_input", 5_000_000),
        ("energy1_label", "System"),
        ("power2_input", 90_000_000),
        ("power2_cap", 190_000_000),
        ("energy2_input", 7_000_000),
        ("energy9_input", 9_000_000),
    ):
        put(tmp_path, f"sys/class/hwmon/hwmon0/{name}", text)
    put(tmp_path, "sys/firmware/opal/powercap/system-powercap/powercap-current", 2100)
    source = open_source("hwmon:", Options(root=str(tmp_path)))
    with counting(tmp_path):
        info = source.open()
    assert {channel.kind for channel in info.channels} == {"interval"}
    assert {one.channel: one.watts for one in source.limits()} == {  # type: ignore[attr-defined]
        "System": 2100.0,
        "energy2": 190.0,
        "energy9": None,
    }


def test_pm_counters_tell_their_caps(tmp_path: Path) -> None:
    us = "1434567890123456 us"
    for name, watts in (
        ("power", 512),
        ("power_cap", 0),
        ("accel0_power", 120),
        ("accel0_power_cap", 560),
        ("cpu_power", 90),
    ):
        put(tmp_path, f"sys/cray/pm_counters/{name}", f"{watts} W {us}")
    source = open_source("pm_counters:", Options(root=str(tmp_path)))
    source.open()
    assert source.limits() == [  # type: ignore[attr-defined]
        PowerLimit("node", None),
        PowerLimit("GPU 0", 560.0),
        PowerLimit("cpu", None),
    ]


@pytest.mark.parametrize(
    ("reasons", "held"),
    [
        (0x1, ""),
        (0x4, "power cap"),
        (0x60, "temperature"),
        (0x84, "power cap, power brake"),
        (0x8, "hardware slowdown"),
        (0x112, ""),
        (0x600, "board limit, reliability"),
    ],
)
def test_nvml_tells_the_limit_and_what_holds_the_board_back(reasons: int, held: str) -> None:
    library = types.SimpleNamespace(
        NVMLError=RuntimeError,
        nvmlDeviceGetEnforcedPowerLimit=lambda _: 300_000,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda _: reasons,
    )
    assert limits.nvml_limit(library, None) == (300.0, held)


def test_dcmi_and_redfish_answers() -> None:
    answer = bytes.fromhex("dc 0000 01 5802 e8030000 0000 0100")
    assert limits.dcmi_limit_w(0, answer) == 600.0
    assert limits.dcmi_limit_w(0x80, answer) is None, "stored, and not active"
    for cut in range(len(answer)):
        limits.dcmi_limit_w(0, answer[:cut])
    assert (
        limits.redfish_limit_w({"PowerControl": [{"PowerLimit": {"LimitInWatts": 500}}]}, 0)
        == 500.0
    )
    assert limits.redfish_limit_w({"PowerLimitWatts": {"SetPoint": 450.5}}) == 450.5
    assert (
        limits.redfish_limit_w(
            {"PowerLimitWatts": {"SetPoint": 450, "Reading": 312.0, "ControlMode": "Automatic"}}
        )
        == 450.0
    )
    assert (
        limits.redfish_limit_w(
            {"PowerControl": [{"PowerConsumedWatts": 590, "PowerLimit": {"LimitInWatts": None}}]}, 0
        )
        is None
    )
    for odd in (
        None,
        [],
        {},
        {"PowerLimitWatts": 5},
        {"PowerLimitWatts": {"SetPoint": "5"}},
        {"PowerLimitWatts": {"SetPoint": True}},
        {"PowerLimitWatts": {"Reading": 312.0}},  # what it draws
        {"PowerLimitWatts": {"SetPoint": None, "Reading": 312.0, "AllowableMax": 700}},
        {"PowerLimitWatts": {"SetPoint": 450, "ControlMode": "Disabled"}},
    ):
        assert limits.redfish_limit_w(odd) is None
    for odd in (
        {"PowerControl": 3},
        {"PowerControl": [3]},
        {"PowerControl": [{"PowerLimit": {"LimitInWatts": -1}}]},
    ):
        assert limits.redfish_limit_w(odd, 0) is None


def test_what_changed_is_told_once() -> None:
    watcher = Watcher()
    assert watcher.changed([PowerLimit("a", 300.0)]) == ([PowerLimit("a", 300.0)], [], [])
    assert watcher.changed([PowerLimit("a", 300.0)]) == ([], [], [])
    assert watcher.changed([PowerLimit("a", 250.0, "heat")])[1:] == (["throttled: a (heat)"], [])
    assert watcher.rest() == ["throttled: a (heat)"]
    assert watcher.changed([PowerLimit("a", 250.0)]) == ([], [], ["throttled: a (heat)"])


class Capped:
    """A source whose board is held back from its fourth reading on."""

    name, min_period, reconnects = "board", 0.01, 0
    channels = (Channel_("GPU 0", "", "gpu"),)

    def __init__(self) -> None:
        self.asked = 0

    def open(self) -> Info:
        return Info("test", "test:", "", self.channels)

    def read(self) -> list[Reading]:
        self.asked += 1
        t, mono, rtt = Stamp.now().middle()
        return [Reading(t, mono, 290.0, rtt, self.name, "GPU 0")]

    def limits(self) -> list[PowerLimit]:
        return [PowerLimit("GPU 0", 300.0, "power cap" if self.asked > 3 else "")]

    def close(self) -> None:
        pass


def test_limits_are_recorded_and_read_and_are_no_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("powertui.sampler.recorder._LIMITS_PERIOD_S", 0.0)
    source = Capped()
    path = tmp_path / "power.csv"
    recorder = Recorder(
        [source], interval=0.02, file=RecordingFile(str(path), 0.02, lambda _: None)
    )
    recorder.open()
    recorder.start()
    while source.asked < 8:
        recorder._halt.wait(0.01)
    recorder.stop()
    log = registry.load(str(path))
    assert not log.warnings
    (series,) = log.series
    assert {*series.watts.tolist()} == {290.0}
    (cap,) = series.limits
    assert cap.watts == 300.0
    (window,) = series.marks
    assert window.name == "throttled: GPU 0 (power cap)"
    assert window.end_ns is not None
    assert window.start_ns <= window.end_ns


def test_a_large_file_is_read_the_same_way(tmp_path: Path) -> None:
    head = (
        "# powertui recording "
        "1\ntime_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark\n"
    )
    rows = [f"{1_795_000_000 + n}.000000,{n}.000000,s,c,100,,0.001,ok,,\n" for n in range(20)]
    rows.insert(5, "1795000004.500000,4.500000,s,,250,,,limit,,c\n")
    rows.insert(12, "1795000010.500000,10.500000,s,,,,,limit,,c\n")
    row = "{}.000000,{}.0,s,c,100,,0.001,ok,,\n"
    found = []
    for count in (1, 400):  # the second is read in one go by pandas
        path = tmp_path / f"{count}.csv"
        path.write_text(
            head
            + "".join(rows)
            + "".join(row.format(1_795_000_020 + n, 20 + n) for n in range(1000 * count))
        )
        found.append(registry.load(str(path)).series[0].limits)
    assert [(cap.start_ns, str(cap.watts)) for cap in found[0]] == [
        (4_500_000_000, "250.0"),
        (10_500_000_000, "nan"),
    ]
    assert str(found[1]) == str(found[0])
    assert isinstance(found[0][0], PowerCap)

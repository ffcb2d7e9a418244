"""Counters that stand still and sensors that say 0 W: what is not known is a gap with its reason,
never 0 W.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from powertui.errors import NotSupported
from powertui.sampler import clocks, inventory, perf
from powertui.sampler.energy_counter import STANDSTILL, STANDSTILL_S, CountedEnergy, motionless
from powertui.sampler.inventory import as_lines, local_targets, look_here
from powertui.sampler.plausible import NOT_MEASURED, Judge
from powertui.sampler.source import Info, Options, Reading, Source, reason_of
from tests.unit.sampler.counting import counting
from tests.unit.sampler.simulated_system import opened, put
from tests.unit.sampler.test_in_band import FakeNvml, counters, nvml, rapl_tree
from tests.unit.sampler.test_without_root import cray, path, program

__all__ = ["cray", "nvml", "path"]


def judged(source: Source, info: Info) -> dict[str, Reading]:
    """As a recording has them."""
    by_name = {channel.name: channel for channel in info.channels}
    return {one.channel: Judge(by_name[one.channel]).judge(one) for one in source.read()}


@given(
    st.lists(
        st.tuples(st.integers(0, 3) | st.integers(0, 10**7), st.floats(0.001, 10.0)), max_size=40
    )
)
def test_a_counter_never_says_zero_and_loses_no_joule(steps: list[tuple[int, float]]) -> None:
    counter, raw, mono, told_j, told_s = CountedEnergy(1.0), 7, 100.0, 0.0, 100.0
    assert counter.take(raw, mono) is not None
    for step, seconds in steps:
        raw, mono = raw + step, mono + seconds
        told = counter.take(raw, mono)
        if told is None or told.watts is None:
            assert told is None or (told.reason == STANDSTILL and told.joules is None)
            continue
        assert told.watts > 0
        told_j, told_s = told_j + told.watts * (mono - told_s), mono
        assert told.joules == raw - 7
        assert told_j == pytest.approx(told.joules)


def test_a_counter_of_whole_joules_tells_the_mean_since_it_moved() -> None:
    """0.5 W, asked every 0.1 s: it moves every 2 s."""
    counter = CountedEnergy(1.0)
    told = [counter.take(int(tick * 0.05), tick * 0.1) for tick in range(101)]
    values = [one.watts for one in told if one is not None and one.watts is not None]
    assert values == pytest.approx([0.5] * 5)


def test_a_counter_that_stops_is_a_gap_after_a_while() -> None:
    counter = CountedEnergy(1e-6, 65_532_610_987)
    for second in range(5):
        counter.take(second * 100_000_000, float(second))
    told = [counter.take(400_000_000, 4.0 + second) for second in range(1, 60)]
    assert told[0] is None
    assert {one.reason for one in told[int(STANDSTILL_S) :] if one is not None} == {STANDSTILL}
    again = counter.take(500_000_000, 64.0)  # it was seen all the time, so it has not wrapped
    assert again is not None
    assert again.watts == pytest.approx(100 / 60)


def test_only_what_can_be_read_stands_still() -> None:
    running = iter(range(1000))
    assert motionless(
        {"dead": lambda: 5, "alive": lambda: next(running), "closed": lambda: None}, 0.01
    ) == {"dead"}


@pytest.mark.parametrize("microjoules", [0, 77_000_000])
def test_rapl_that_stands_still_is_none(tmp_path: Path, microjoules: int) -> None:
    rapl_tree(tmp_path, {"intel-rapl:0": ("package-0", microjoules)})
    with pytest.raises(NotSupported, match="do not change"):
        opened("rapl:", tmp_path)


def test_rapl_a_zone_that_stands_still_is_left_out(tmp_path: Path) -> None:
    rapl_tree(tmp_path, {"intel-rapl:0": ("package-0", 5_000_000)})
    with counting(tmp_path):
        rapl_tree(tmp_path, {"intel-rapl:0:0": ("dram", 0), "intel-rapl:0:1": ("core", 1)})
        _, info = opened("rapl:", tmp_path)
    assert [channel.name for channel in info.channels] == ["package-0"]
    assert info.notes == (
        "Left out, because others include them or you may not read them: package-0 core.",
        "Left out, because they do not change: package-0 dram.",
    )


def test_hwmon_samples_where_the_counter_of_that_name_stands_still(tmp_path: Path) -> None:
    counters(tmp_path, [("System", 0), ("Chip 0", 0)])
    for number, (label, microwatts) in enumerate((("System", 312_000_000), ("Chip 8", 0)), 1):
        put(tmp_path, f"sys/class/hwmon/hwmon4/power{number}_input", microwatts)
        put(tmp_path, f"sys/class/hwmon/hwmon4/power{number}_label", label)
    source, info = opened("hwmon:", tmp_path)
    assert [(one.name, one.kind, one.quantum_w) for one in info.channels] == [
        ("System", "sampled", 1.0),
        ("Chip 8", "sampled", 1.0),
    ]
    assert info.notes == ("Left out, because they do not change: Chip 0.",)
    told = judged(source, info)
    assert told["System"].watts == 312.0
    assert told["Chip 8"].watts is None
    assert reason_of(told["Chip 8"].quality) == NOT_MEASURED
    (tmp_path / "sys/class/hwmon/hwmon4").rename(
        tmp_path / "sys/class/hwmon/hwmon9"
    )  # the driver was loaded anew
    source.read()
    assert judged(source, info)["System"].watts == 312.0


def test_hwmon_of_counters_alone_that_stand_still_is_none(tmp_path: Path) -> None:
    counters(tmp_path, [("Esocket0", 9_000_000)], chip="amd_energy")
    with pytest.raises(NotSupported, match="amd_energy do not change"):
        opened("hwmon:", tmp_path)


def test_a_rail_may_carry_nothing(tmp_path: Path) -> None:
    put(tmp_path, "sys/class/hwmon/hwmon0/name", "ina3221")
    put(tmp_path, "sys/class/hwmon/hwmon0/power1_input", 0)
    put(tmp_path, "sys/class/hwmon/hwmon0/power1_label", "VDD_5V")
    source, info = opened("hwmon:", tmp_path)
    assert judged(source, info)["VDD_5V"].watts == 0.0


def test_nvml_samples_where_the_counter_stands_still(nvml: FakeNvml, tmp_path: Path) -> None:
    nvml.still = True
    source, info = opened("nvml:", tmp_path)
    assert [one.kind for one in info.channels] == ["sampled", "sampled"]
    assert [one.watts for one in judged(source, info).values()] == [61.5, 61.5]
    nvml.power = 0
    assert [reason_of(one.quality) for one in judged(source, info).values()] == [NOT_MEASURED] * 2


def test_pm_counters_that_are_renewed_no_more(cray: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, info = opened("pm_counters:", cray)
    assert all(one.watts for one in judged(source, info).values())
    begun = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: begun + 60)
    told = judged(source, info)
    assert {one.watts for one in told.values()} == {None}
    assert {reason_of(one.quality) for one in told.values()} == {
        "the node controller does not update it"
    }
    put(cray, "sys/cray/pm_counters/freshness", "99999")
    assert all(one.watts for one in judged(source, info).values())


def test_pm_counters_of_what_was_never_measured(cray: Path) -> None:
    source, info = opened("pm_counters:", cray)
    put(cray, "sys/cray/pm_counters/power", "0 W 1434567890123456 us")
    put(cray, "sys/cray/pm_counters/cpu_power", "0 W 0 us")
    told = judged(source, info)
    assert reason_of(told["node"].quality) == NOT_MEASURED
    assert reason_of(told["cpu"].quality) == "it was never measured"


def test_perf_that_shares_a_counter_says_what_it_missed() -> None:
    source = perf.PerfSource(Options())
    event = perf.PerfEvent("package-0", "package", 1, 0, 0, 1e-3)
    source._counters = {event.name: CountedEnergy(event.joules)}
    readings = []
    begun = clocks.steady_s()
    for second, (count, wanted, counted) in enumerate(
        [(0, 10, 10), (50_000, 20, 20), (60_000, 30, 25), (160_000, 40, 35), (260_000, 50, 45)]
    ):
        read, write = os.pipe()
        os.write(write, struct.pack("<qQQ", count, wanted, counted))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(clocks, "steady_s", lambda second=second: begun + second)
            readings.append(source._read_one(event, read))
        os.close(read)
        os.close(write)
    assert [one and one.watts for one in readings] == pytest.approx([None, 50.0, None, None, 100.0])
    assert readings[2] is not None
    assert "a part of the time" in reason_of(readings[2].quality)


@pytest.mark.parametrize("answer", ["0.00", "[N/A]", "[Not Supported]", "[Unknown Error]", "N/A"])
def test_a_board_without_a_sensor_is_not_recorded(
    path: Path, tmp_path: Path, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    program(
        path, "nvidia-smi", f"0, {answer}, NVIDIA GeForce MX450, GPU-8f6e2a54, 00000000:3B:00.0\n"
    )
    rapl_tree(tmp_path, {"intel-rapl:0": ("package-0", 5_000_000)})
    monkeypatch.setattr(
        inventory, "Options", partial(Options, timeout=60.0)
    )  # a busy machine takes its time to run a program
    with counting(tmp_path):
        assert [one.url for one in local_targets(str(tmp_path))] == ["rapl:"]
        assert "nvidia-smi:" not in {one.url for one in look_here(str(tmp_path))}


def test_a_node_that_says_zero_does_not_keep_others_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """System at 0 W: the processors are recorded in its place."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    put(tmp_path, "sys/class/hwmon/hwmon0/name", "acpi_power_meter")
    put(tmp_path, "sys/class/hwmon/hwmon0/power1_average", 0)
    rapl_tree(tmp_path, {"intel-rapl:0": ("package-0", 5_000_000)})
    with counting(tmp_path):
        assert [one.url for one in local_targets(str(tmp_path))] == ["rapl:"]
        assert "It reports 0 W" in "\n".join(as_lines(look_here(str(tmp_path))))


def test_sensors_are_named_in_the_order_of_what_they_resolve(
    cray: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counters, then whole watts, both twenty times a second; then the node's controller, ten
    times; then what cannot be read.
    """
    monkeypatch.setitem(sys.modules, "pynvml", None)
    put(cray, "sys/class/hwmon/hwmon0/name", "ibmpowernv")
    put(cray, "sys/class/hwmon/hwmon0/power1_input", 312_000_000)
    rapl_tree(cray, {"intel-rapl:0": ("package-0", 5_000_000)})
    with counting(cray):
        found = look_here(str(cray))
    assert [one.url for one in found][:4] == ["rapl:", "hwmon:", "pm_counters:", "nvml:"]
    assert [one.every_s for one in found][:3] == [0.05, 0.05, 0.1]
    lines = list(as_lines(found))
    assert lines[lines.index("yes  rapl:  rapl") + 1] == "     every 0.05 s"
    assert found[0].watts == {"package-0": None}
    assert found[0].reasons["package-0"] in (
        "its counter has not changed yet",
        "the counter does not change",
    )  # by how long it took

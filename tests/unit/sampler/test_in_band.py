"""hwmon, RAPL and NVML from trees of files and a library's stand-in: this needs none of the
hardware.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import types

import numpy as np
import pytest

from powertui.data.model import Device
from powertui.data.power import registry
from powertui.errors import AuthenticationFailed, NotSupported
from powertui.sampler import clocks, csv_format
from powertui.sampler.inventory import as_lines, local_targets, look_here
from powertui.sampler.recorder import Recorder
from powertui.sampler.source import Options, open_source, reason_of
from powertui.sampler.sysfs import DENIED
from tests.unit.sampler.counting import counting
from tests.unit.sampler.simulated_system import put


@pytest.fixture
def power9(tmp_path):
    """A POWER9 server: the numbers of hwmon are those of one boot."""
    base = "sys/class/hwmon/"
    put(tmp_path, base + "hwmon0/name", "nvme")
    put(tmp_path, base + "hwmon4/name", "ibmpowernv")
    for index, (label, microwatts) in enumerate(
        (("System", 312_000_000), ("Chip 0", 98_500_000), ("Chip 8", 101_250_000)), 1
    ):
        put(tmp_path, f"{base}hwmon4/power{index}_input", microwatts)
        put(tmp_path, f"{base}hwmon4/power{index}_label", label)
    put(tmp_path, base + "hwmon4/power1_input_highest", 999)
    put(tmp_path, base + "hwmon12/name", "amdgpu")
    put(tmp_path, base + "hwmon12/power1_average", 45_000_000)
    return tmp_path


def opened(url, root, **options):
    source = open_source(url, Options(root=str(root), **options))
    with counting(root):
        return source, source.open()


def test_hwmon_finds_chips_by_name_and_values_by_label(power9):
    source, info = opened("hwmon:", power9)
    assert [(c.name, c.scope) for c in info.channels] == [
        ("ibmpowernv System", "node"),
        ("ibmpowernv Chip 0", "package"),
        ("ibmpowernv Chip 8", "package"),
        ("amdgpu power1", "gpu"),
    ]
    assert [r.watts for r in source.read()] == [312.0, 98.5, 101.25, 45.0]


def test_hwmon_one_chip_and_one_sensor(power9):
    assert [c.name for c in opened("hwmon:ibmpowernv", power9)[1].channels] == [
        "System",
        "Chip 0",
        "Chip 8",
    ]
    assert [c.name for c in opened("hwmon:ibmpowernv", power9, sensors=("chip*",))[1].channels] == [
        "Chip 0",
        "Chip 8",
    ]
    assert [c.name for c in opened("amd:", power9)[1].channels] == ["power1"]


def test_hwmon_two_cards_of_one_kind_have_two_names(power9):
    put(power9, "sys/class/hwmon/hwmon13/name", "amdgpu")
    put(power9, "sys/class/hwmon/hwmon13/power1_average", 55_000_000)
    source, info = opened("amd:", power9)
    assert len({c.name for c in info.channels}) == 2
    assert [r.watts for r in source.read()] == [45.0, 55.0]


def test_hwmon_a_value_that_fails_is_a_gap_and_the_others_stay(power9):
    source, _ = opened("hwmon:ibmpowernv", power9)
    put(power9, "sys/class/hwmon/hwmon4/power2_input", "garbage")
    readings = source.read()
    assert [r.watts for r in readings] == [312.0, None, 101.25]
    assert "not a number" in reason_of(readings[1].quality)


def test_hwmon_a_driver_that_was_loaded_anew_is_found_again(power9):
    source, _ = opened("hwmon:ibmpowernv", power9)
    hwmon = power9 / "sys/class/hwmon"
    (hwmon / "hwmon4").rename(hwmon / "hwmon7")
    assert [r.watts for r in source.read()] == [None] * 3
    assert [r.watts for r in source.read()] == [312.0, 98.5, 101.25]


def test_hwmon_says_what_to_do_where_there_is_none(tmp_path, power9):
    with pytest.raises(NotSupported, match="No hardware monitor") as caught:
        opened("hwmon:", tmp_path / "empty")
    assert "ibmpowernv" in caught.value.hint
    with pytest.raises(NotSupported) as caught:
        opened("hwmon:acpi_power_meter", power9)
    assert "ibmpowernv" in caught.value.hint


def test_hwmon_on_power_counts_in_whole_watts_and_other_chips_are_not_known(power9):
    _, info = opened("hwmon:", power9)
    assert [c.quantum_w for c in info.channels] == [1.0, 1.0, 1.0, None]


def counters(root, energies, chip="ibmpowernv", number=4):
    base = f"sys/class/hwmon/hwmon{number}/"
    put(root, base + "name", chip)
    for index, (label, microjoules) in enumerate(energies, 1):
        put(root, f"{base}energy{index}_input", microjoules)
        put(root, f"{base}energy{index}_label", label)


def test_hwmon_an_energy_counter_comes_before_the_samples_of_its_label(power9):
    counters(power9, [("System", 5_000_000), ("Chip 0", 1_000_000), ("Chip 0 GPU", 2_000_000)])
    source, info = opened("hwmon:ibmpowernv", power9)
    assert [(c.name, c.kind, c.scope, c.quantum_w) for c in info.channels] == [
        ("System", "interval", "node", None),
        ("Chip 0", "interval", "package", None),
        ("Chip 8", "sampled", "package", 1.0),
        ("Chip 0 GPU", "interval", "gpu", None),
    ]
    time.sleep(0.05)
    put(power9, "sys/class/hwmon/hwmon4/energy1_input", 20_000_000)
    system, *_ = source.read()
    assert system.joules == pytest.approx(15.0)
    assert system.watts is not None
    time.sleep(0.05)
    put(power9, "sys/class/hwmon/hwmon4/energy1_input", 26_000_000)
    again = source.read()[0]
    assert again.joules == pytest.approx(21.0)
    assert again.watts == pytest.approx(6.0 / (again.mono - system.mono))


def test_hwmon_a_counter_that_was_set_back_is_a_gap_and_goes_on(power9):
    counters(power9, [("System", 5_000_000)])
    source, _ = opened("hwmon:ibmpowernv", power9, sensors=("System",))
    for microjoules, watts in ((9_000_000, True), (1_000, False), (2_000_000, True)):
        time.sleep(0.05)
        put(power9, "sys/class/hwmon/hwmon4/energy1_input", microjoules)
        (reading,) = source.read()
        assert (reading.watts is not None) is watts
    assert reading.joules == pytest.approx(4.0 + 1.999)


def test_hwmon_a_counter_whose_driver_was_loaded_anew_is_found_again(power9):
    counters(power9, [("System", 5_000_000)])
    source, _ = opened("hwmon:ibmpowernv", power9, sensors=("System",))
    hwmon = power9 / "sys/class/hwmon"
    (hwmon / "hwmon4").rename(hwmon / "hwmon7")
    assert [r.watts for r in source.read()] == [None]
    for microjoules in (6_000_000, 7_000_000):
        time.sleep(0.05)
        put(power9, "sys/class/hwmon/hwmon7/energy1_input", microjoules)
        readings = source.read()
    assert readings[0].watts is not None


def test_hwmon_sockets_are_counted_and_the_cores_inside_them_are_not(tmp_path):
    counters(
        tmp_path, [("Ecore000", 1), ("Ecore001", 1), ("Esocket0", 9_000_000)], chip="amd_energy"
    )
    _, info = opened("hwmon:", tmp_path)
    assert [(c.name, c.scope) for c in info.channels] == [("Esocket0", "package")]


def rapl_tree(root, energies, limit=262_143_999_938):
    base = "sys/class/powercap/"
    for name, (label, energy) in energies.items():
        put(root, f"{base}{name}/name", label)
        put(root, f"{base}{name}/energy_uj", energy)
        put(root, f"{base}{name}/max_energy_range_uj", limit)


TWO_SOCKETS = {
    "intel-rapl:0": ("package-0", 1_000_000),
    "intel-rapl:0:0": ("core", 500_000),
    "intel-rapl:0:1": ("dram", 100_000),
    "intel-rapl:1": ("package-1", 2_000_000),
    "intel-rapl:1:0": ("dram", 0),
    "intel-rapl:2": ("psys", 9_000_000),
}


def test_rapl_reads_domains_that_share_no_joule(tmp_path):
    rapl_tree(tmp_path, TWO_SOCKETS)
    _, info = opened("rapl:", tmp_path)
    assert [(c.name, c.scope, c.kind) for c in info.channels] == [
        ("package-0", "package", "interval"),
        ("package-0 dram", "dram", "interval"),
        ("package-1", "package", "interval"),
        ("package-1 dram", "dram", "interval"),
    ]
    assert "package-0 core" in info.notes[0]
    assert "psys" in info.notes[0]


def advance(source, root, zone, microjoules, seconds=0.05):
    time.sleep(seconds)
    put(root, f"sys/class/powercap/{zone}/energy_uj", microjoules)
    return {r.channel: r for r in source.read()}


def test_rapl_is_the_mean_since_the_last_reading_and_the_energy_itself(tmp_path):
    rapl_tree(tmp_path, {"intel-rapl:0": ("package-0", 1_000_000)})
    source, _ = opened("rapl:", tmp_path)
    first = advance(source, tmp_path, "intel-rapl:0", 6_000_000)["package-0"]
    assert first.joules == pytest.approx(5.0)
    second = advance(source, tmp_path, "intel-rapl:0", 9_000_000)["package-0"]
    assert second.joules == pytest.approx(8.0)
    assert second.watts == pytest.approx(3.0 / (second.mono - first.mono))


@pytest.mark.parametrize("limit", [262_143_999_938, (1 << 32) - 1])
def test_rapl_a_counter_that_begins_again(tmp_path, limit):
    rapl_tree(tmp_path, {"intel-rapl:0": ("package-0", limit - 1_000_000)}, limit)
    source, _ = opened("rapl:", tmp_path)
    reading = advance(source, tmp_path, "intel-rapl:0", 2_000_000)["package-0"]
    assert reading.joules == pytest.approx(3.000001)
    assert reading.watts > 0


def at(monkeypatch, seconds):
    """Time passes for the sampler, and nobody waits."""
    now = clocks.steady_s()
    monkeypatch.setattr(clocks, "steady_s", lambda: now + seconds)


@pytest.mark.parametrize(
    ("seconds", "before", "after", "said"),
    [
        (10, 1_000_000, 3_001_000_000, ""),
        (10, 262_143_000_000, 1_000_000_000, ""),
        (10, 200_000_000_000, 1_000_000, "the counter was set back"),  # 6.2 kW, had it wrapped
        (100, 1_000_000, 3_001_000_000, "the counter may have wrapped more than once"),
    ],
)
def test_rapl_after_a_while(tmp_path, monkeypatch, seconds, before, after, said):
    rapl_tree(tmp_path, {"intel-rapl:0": ("package-0", before)})
    source, _ = opened("rapl:", tmp_path)
    at(monkeypatch, seconds)
    put(tmp_path, "sys/class/powercap/intel-rapl:0/energy_uj", after)
    (reading,) = source.read()
    assert reason_of(reading.quality) == said
    assert reading.joules == pytest.approx(
        0.0 if said else (after - before) % 262_143_999_939 / 1e6
    )


def test_rapl_without_the_range_of_its_counters_a_smaller_number_is_no_wrap(tmp_path):
    rapl_tree(tmp_path, {"intel-rapl:0": ("package-0", 4_000_000_000)}, "lots")
    source, _ = opened("rapl:", tmp_path)
    assert (
        reason_of(advance(source, tmp_path, "intel-rapl:0", 5)["package-0"].quality)
        == "the counter was set back"
    )


def test_counters_that_wrap_are_asked_often_enough_however_seldom_we_are_asked(tmp_path):
    rapl_tree(tmp_path, {"intel-rapl:0": ("package-0", 1)}, 65_532_610_987)
    source = open_source("rapl:", Options(root=str(tmp_path)))
    source.max_period = 0.05
    recorder = Recorder([source], interval=3600)
    many = threading.Event()
    recorder.subscribe(lambda readings: recorder.health()[0][1].readings > 3 and many.set())
    with counting(tmp_path):
        recorder.open()
    recorder.start()
    assert many.wait(60)
    recorder.stop()


@pytest.mark.parametrize("what", ["unreadable", "set back", "gone"])
def test_a_recording_tells_what_a_counter_knows_and_never_zero_watts(tmp_path, monkeypatch, what):
    """Once a second, 100 W. The fourth and fifth readings are in question."""
    counters(tmp_path, [("System", 50_000_000)])
    source, info = opened("hwmon:", tmp_path)
    start, rows = clocks.steady_s(), []
    file = tmp_path / "sys/class/hwmon/hwmon4/energy1_input"
    for second in range(1, 11):
        count = 50_000_000 + second * 100_000_000
        if what == "set back" and second >= 5:
            count = (second - 4) * 100_000_000
        put(tmp_path, "sys/class/hwmon/hwmon4/energy1_input", count)
        if second in (4, 5) and what == "unreadable":
            file.write_text("not now\n")
        if second in (4, 5) and what == "gone":
            file.unlink()
        monkeypatch.setattr(clocks, "steady_s", lambda second=second: start + second)
        monkeypatch.setattr(clocks, "wall_s", lambda second=second: 1_700_000_000.0 + second)
        rows += source.read()
    monkeypatch.undo()
    path = tmp_path / "p.csv"
    path.write_text(
        csv_format.head(1.0, [("hwmon", info)])
        + csv_format.COLUMNS
        + "\n"
        + "".join(map(csv_format.reading_row, rows))
    )
    (series,) = registry.load(str(path)).series
    told = series.watts[1:]
    known = told[np.isfinite(told)]
    assert known == pytest.approx([100.0] * len(known), abs=0.1)
    assert np.isnan(told).sum() == {"unreadable": 0, "set back": 1, "gone": 1}[what]


def test_rapl_a_reading_at_once_after_another_is_left_out(tmp_path):
    """Over a moment the counter's own step would be most of the difference."""
    rapl_tree(tmp_path, {"intel-rapl:0": ("package-0", 1)})
    source, _ = opened("rapl:", tmp_path)
    assert source.read() == []


def test_rapl_zones_can_be_named(tmp_path):
    rapl_tree(tmp_path, TWO_SOCKETS)
    assert [c.name for c in opened("rapl:", tmp_path, sensors=("psys",))[1].channels] == ["psys"]
    with pytest.raises(NotSupported, match="called gpu") as caught:
        opened("rapl:", tmp_path, sensors=("gpu",))
    assert "package-0 core" in caught.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_rapl_counters_that_belong_to_root(tmp_path):
    rapl_tree(tmp_path, TWO_SOCKETS)
    for path in (tmp_path / "sys/class/powercap").glob("*/energy_uj"):
        path.chmod(0o000)
    with pytest.raises(AuthenticationFailed, match="belongs to root"):
        opened("rapl:", tmp_path)


def test_rapl_denied_by_the_kernel(tmp_path, monkeypatch):
    """As above for root, who reads everything here: the kernel's answer is put in its place."""
    rapl_tree(tmp_path, TWO_SOCKETS)
    monkeypatch.setattr("powertui.sampler.rapl.read_number", lambda path: (None, DENIED))
    with pytest.raises(AuthenticationFailed, match="belongs to root") as caught:
        opened("rapl:", tmp_path)
    assert "chmod a+r" in caught.value.hint


def test_what_is_there_and_closed_is_asked_for_by_name(tmp_path, monkeypatch):
    """The device of the BMC and the counters of the processor, both root's."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/ipmi0").touch()
    rapl_tree(tmp_path, TWO_SOCKETS)
    (tmp_path / "ipmitool").write_text("#!/bin/sh\n")
    (tmp_path / "ipmitool").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: not str(path).endswith("ipmi0") and access(path, mode)
    )
    monkeypatch.setattr("powertui.sampler.rapl.read_number", lambda _: (None, DENIED))
    told = look_here(str(tmp_path))
    assert {one.url for one in told if one.denied} == {"ipmitool:open", "rapl:"}
    last = list(as_lines(told))[-1]
    assert "read access to /dev/ipmi0" in last
    assert "intel-rapl:*/energy_uj" in last


class FakeNvml(types.ModuleType):
    """The part of nvidia-ml-py that is used; one board counts energy, one only samples power, one
    tells nothing.
    """

    class NVMLError(Exception):
        pass

    def __init__(self):
        super().__init__("pynvml")
        self.energy, self.power, self.lost, self.still = 1_000_000, 61_500, False, False
        self.shut = 0

    def nvmlInit(self):
        if self.lost:
            raise self.NVMLError("Driver Not Loaded")

    def nvmlShutdown(self):
        self.shut += 1

    def nvmlSystemGetDriverVersion(self):
        return b"550.1"

    def nvmlDeviceGetCount(self):
        return 3

    def nvmlDeviceGetHandleByIndex(self, index):
        return index

    def nvmlDeviceGetName(self, handle):
        return ["Tesla V100", "Tesla P100", "odd"][handle]

    def nvmlDeviceGetTotalEnergyConsumption(self, handle):
        if handle or self.lost:
            raise self.NVMLError("Not Supported")
        self.energy += not self.still  # mJ: it runs
        return self.energy

    def nvmlDeviceGetPowerUsage(self, handle):
        if handle == 2 or self.lost:
            raise self.NVMLError("GPU is lost")
        return self.power

    def nvmlDeviceGetUUID(self, handle):
        return "GPU-8f6e2a54-1111-2222-3333-444455556666"

    def nvmlDeviceGetPciInfo(self, handle):
        if handle:
            raise self.NVMLError("Not Supported")
        return types.SimpleNamespace(busId=b"00000000:3B:00.0")


@pytest.fixture
def nvml(monkeypatch):
    library = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    return library


def test_nvml_counts_where_it_can_and_samples_where_not(nvml, tmp_path, monkeypatch):
    at(monkeypatch, 0.0)  # it stands still until the test says
    source, info = opened("nvml:", tmp_path)
    assert [(c.name, c.kind) for c in info.channels] == [
        ("GPU 0", "interval"),
        ("GPU 1", "sampled"),
    ]
    at(monkeypatch, 0.15)
    nvml.energy += 30_000
    counted, sampled = source.read()
    assert counted.joules == pytest.approx(30.0, abs=0.01)
    assert counted.watts == pytest.approx(30.0 / 0.15, rel=0.001)
    assert sampled.watts == 61.5
    nvml.lost = True
    assert [r.watts for r in source.read()] == [None, None]
    nvml.lost = False
    nvml.energy += 15_000
    at(monkeypatch, 1.0)
    assert source.read()[0].joules == pytest.approx(45.0, abs=0.01), (
        "it went on counting while nobody could ask"
    )
    nvml.energy = 1_000
    at(monkeypatch, 1.0)
    assert reason_of(source.read()[0].quality) == "the counter was set back"
    source.close()
    assert nvml.shut == 1


def test_nvml_tells_which_board_is_which_and_a_recording_keeps_it(nvml, tmp_path):
    source, info = opened("nvml:", tmp_path)
    assert [(c.index, c.uuid[:12], c.pci) for c in info.channels] == [
        (0, "GPU-8f6e2a54", "00000000:3B:00.0"),
        (1, "GPU-8f6e2a54", ""),
    ]
    time.sleep(0.15)
    nvml.energy += 30_000
    path = tmp_path / "nvml.csv"
    path.write_text(
        csv_format.head(1.0, [("nvml", info)])
        + csv_format.COLUMNS
        + "\n"
        + "".join(csv_format.reading_row(r) for r in source.read())
    )
    devices = {one.sensor.name: one.sensor.device for one in registry.load(str(path)).series}
    assert devices["nvml GPU 0"] == Device(
        0, "GPU-8f6e2a54-1111-2222-3333-444455556666", "0000:3b:00.0"
    )
    assert devices["nvml GPU 1"] == Device(1, "GPU-8f6e2a54-1111-2222-3333-444455556666")
    source.close()


def test_nvml_says_why_not(monkeypatch, nvml, tmp_path):
    nvml.lost = True
    with pytest.raises(NotSupported, match="Driver Not Loaded"):
        opened("nvml:", tmp_path)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(NotSupported, match="nvidia-ml-py is not installed"):
        opened("nvml:", tmp_path)


def test_the_inventory_lists_what_there_is_and_why_not_for_the_rest(power9, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    found = {f.url: f for f in look_here(str(power9))}
    assert found["hwmon:"].ok
    assert found["hwmon:"].watts["ibmpowernv System"] == 312.0
    assert not found["rapl:"].ok
    assert found["rapl:"].why_not
    assert found["rapl:"].hint
    text = "\n".join(as_lines(found.values()))
    assert "312.0 W" in text
    assert "no   nvml:" in text


def test_without_a_name_the_node_is_recorded_and_no_joule_twice(power9, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    rapl_tree(power9, TWO_SOCKETS)
    with counting(power9):
        assert [t.url for t in local_targets(str(power9))] == ["hwmon:"]
    for n in (1, 2, 3):
        (power9 / f"sys/class/hwmon/hwmon4/power{n}_input").unlink()
    with counting(power9):
        assert [t.url for t in local_targets(str(power9))] == ["hwmon:", "rapl:"]


@pytest.mark.parametrize("limit", [65_532_610_987, 262_143_328_850])
def test_rapl_a_counter_of_n_values_begins_again_after_n(tmp_path, limit):
    """From its largest value to 0 it is one µJ, not none, whatever the range is."""
    rapl_tree(tmp_path, {"intel-rapl:0": ("package-0", limit)}, limit)
    source, _ = opened("rapl:", tmp_path)
    reading = advance(source, tmp_path, "intel-rapl:0", 0)["package-0"]
    assert reading.joules == pytest.approx(1e-6, rel=1e-9)


def test_a_partition_of_a_power_server_is_told_what_can_be_read_there(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    put(tmp_path, "proc/ppc64/lparcfg", "lparcfg 1.9")
    with pytest.raises(NotSupported, match="partition of a POWER server") as caught:
        opened("hwmon:", tmp_path)
    assert "BMC" in caught.value.hint
    assert "modprobe" not in "\n".join(as_lines(look_here(str(tmp_path))[:1]))
    (tmp_path / "sys/firmware/opal").mkdir(
        parents=True
    )  # no hypervisor: the driver is what is missing
    with pytest.raises(NotSupported) as caught:
        opened("hwmon:", tmp_path)
    assert "modprobe ibmpowernv" in caught.value.hint

"""Sources that any user of a cluster may read: trees and programs made from their
documented forms.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from powertui.errors import AuthenticationFailed, NotSupported, SensorError, UsageError
from powertui.sampler import gpu_programs, inventory, perf, slurm
from powertui.sampler.source import STALE, reason_of
from powertui.sampler.sysfs import DENIED, GONE
from tests.unit.sampler.simulated_system import opened, put
from tests.unit.sampler.test_in_band import rapl_tree
from tests.waiting import until

US = 1_700_000_000_000_000


@pytest.fixture
def cray(tmp_path: Path) -> Path:
    """A node of HPE Cray EX: its own power, its parts', and a cap."""
    tick(tmp_path, 1, 612, 1_000_000)
    for name, watts in (
        ("cpu_power", 140),
        ("memory_power", 60),
        ("accel0_power", 310),
        ("accel1_power", 95),
        ("accel0_power_cap", 0),
    ):
        put(tmp_path, f"sys/cray/pm_counters/{name}", f"{watts} W {US} us")
    put(tmp_path, "sys/cray/pm_counters/accel0_energy", f"777 J {US} us")
    put(tmp_path, "sys/cray/pm_counters/power_cap", "0 W")
    put(tmp_path, "sys/cray/pm_counters/raw_scan_hz", "10")
    return tmp_path


def tick(root: Path, freshness: int, watts: int, joules: int) -> None:
    put(root, "sys/cray/pm_counters/power", f"{watts} W {US + freshness * 100_000} us")
    put(root, "sys/cray/pm_counters/energy", f"{joules} J {US + freshness * 100_000} us")
    put(root, "sys/cray/pm_counters/freshness", str(freshness))


def test_pm_counters_node_and_parts(cray: Path) -> None:
    source, info = opened("pm_counters:", cray)
    assert [(c.name, c.scope, c.index) for c in info.channels] == [
        ("node", "node", None),
        ("GPU 0", "gpu", 0),
        ("GPU 1", "gpu", 1),
        ("cpu", "package", None),
        ("memory", "dram", None),
    ]
    assert info.facts["updated every"] == "0.1 s"
    assert info.notes == ("The node includes GPU 0, GPU 1, cpu, memory.",)
    assert [r.watts for r in source.read()] == [612.0, 310.0, 95.0, 140.0, 60.0]


def test_pm_counters_energy_counts_from_the_start_and_freshness_tells_old_values(
    cray: Path,
) -> None:
    source, _ = opened("pm_counters:", cray, sensors=("node",))
    (first,) = source.read()
    assert (first.watts, first.joules, first.quality) == (612.0, 0.0, "ok")
    (again,) = source.read()
    assert again.quality == STALE
    tick(cray, 2, 640, 1_000_064)
    (moved,) = source.read()
    assert (moved.watts, moved.joules, moved.quality) == (640.0, 64.0, "ok")
    tick(cray, 3, 600, 12)  # the controller began again
    (reset,) = source.read()
    assert reset.joules == 0.0
    tick(cray, 4, 600, 72)
    assert source.read()[0].joules == 60.0


def test_pm_counters_that_began_again_are_known_by_startup_however_far_they_have_come(
    cray: Path,
) -> None:
    put(cray, "sys/cray/pm_counters/startup", f"1434560000000000 {US} us")
    source, _ = opened("pm_counters:", cray, sensors=("node",))
    tick(cray, 2, 640, 1_000_064)
    assert source.read()[0].joules == 64.0
    tick(cray, 3, 640, 1_000_500)
    put(cray, "sys/cray/pm_counters/startup", f"1434569999000000 {US} us")
    assert source.read()[0].joules == 0.0
    tick(cray, 4, 640, 1_000_564)
    assert source.read()[0].joules == 64.0


def test_pm_counters_are_of_one_moment(cray: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Renewed while we read: the node's power is taken again with those of its parts."""
    source, _ = opened("pm_counters:", cray)
    read, moved = Path.read_text, []

    def renewed(path: Path, *how: str) -> str:
        if path.name == "cpu_power" and not moved:
            moved.append(path)
            tick(cray, 2, 700, 1_000_070)
        return read(path, *how)

    monkeypatch.setattr(Path, "read_text", renewed)
    assert source.read()[0].watts == 700.0
    assert source.read()[0].quality == STALE


def test_pm_counters_with_times_behind_their_counts_and_one_accelerator(cray: Path) -> None:
    put(cray, "sys/cray/pm_counters/raw_scan_hz", f"20 {US} us")
    put(cray, "sys/cray/pm_counters/freshness", f"7 {US} us")
    put(cray, "sys/cray/pm_counters/accel_power", f"33 W {US} us")
    source, info = opened("pm_counters:", cray, sensors=("node", "accel"))
    assert (info.facts["updated every"], [c.scope for c in info.channels]) == (
        "0.05 s",
        ["node", "gpu"],
    )
    assert [reading.quality for _ in range(2) for reading in source.read()] == [
        "ok",
        "ok",
        STALE,
        STALE,
    ]


@pytest.mark.parametrize("harm", ["gone", "unreadable"])
def test_pm_counters_that_vanish_or_are_closed_while_recording(
    cray: Path, harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, _ = opened("pm_counters:", cray, sensors=("node",))
    file = cray / "sys/cray/pm_counters/power"
    if harm == "gone":
        file.unlink()
    else:
        monkeypatch.setattr(
            Path,
            "read_text",
            lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")),
        )
    assert reason_of(source.read()[0].quality) == {"gone": GONE, "unreadable": DENIED}[harm]
    monkeypatch.undo()
    tick(cray, 5, 321, 2_000_000)
    assert source.read()[0].watts == 321.0


@pytest.mark.parametrize("text", ["", "612", "612 J 1 us", "lots W 1 us", "\x1b[31m612 W"])
def test_pm_counters_that_make_no_sense_are_gaps(cray: Path, text: str) -> None:
    source, _ = opened("pm_counters:", cray, sensors=("node",))
    put(cray, "sys/cray/pm_counters/power", text)
    put(cray, "sys/cray/pm_counters/freshness", "9")
    (reading,) = source.read()
    assert reading.watts is None
    assert reason_of(reading.quality) == "its content is not a number of W"


def test_pm_counters_are_named_only_where_they_are(cray: Path, tmp_path: Path) -> None:
    assert [f.url for f in inventory.look_here(str(cray)) if f.ok] == ["pm_counters:"]
    assert "pm_counters:" not in {f.url for f in inventory.look_here(str(tmp_path / "empty"))}
    assert [t.url for t in inventory.local_targets(str(cray))] == ["pm_counters:"]
    with pytest.raises(NotSupported, match="No pm_counters channel is called tape"):
        opened("pm_counters:", cray, sensors=("tape",))


# RAPL through perf: the kernel's clock of a processor stands in for its energy, 1 J a second


def perf_tree(root: Path, event: str, kind: int = 1) -> None:
    folder = "sys/bus/event_source/devices/power/"
    put(root, folder + "type", str(kind))
    put(root, folder + "cpumask", "0")
    put(root, folder + "events/energy-pkg", event)
    put(root, folder + "events/energy-pkg.scale", "1e-9")
    put(root, folder + "events/energy-pkg.unit", "Joules")


def perf_or_skip(root: Path) -> None:
    try:
        os.close(perf.open_event(perf.events(str(root))[0]))
    except (OSError, KeyError) as error:
        pytest.skip(f"no perf here: {error}")


def test_perf_counts_energy(tmp_path: Path) -> None:
    perf_tree(tmp_path, "event=0x00")
    perf_or_skip(tmp_path)
    source, info = opened("perf:", tmp_path)
    assert [(c.name, c.scope, c.kind) for c in info.channels] == [
        ("package-0", "package", "interval")
    ]

    def counts_one_watt() -> bool:
        """Where nothing held us up between reading a counter and the clock."""
        time.sleep(0.1)
        (reading,) = source.read()
        time.sleep(0.1)
        (later,) = source.read()
        assert reading.joules is not None
        assert later.joules is not None
        joules = later.joules - reading.joules
        return reading.watts == pytest.approx(1.0, rel=0.2) and joules == pytest.approx(
            later.mono - reading.mono, rel=0.2
        )

    until(counts_one_watt)
    source.close()
    assert source.read() == []
    assert [t.url for t in inventory.local_targets(str(tmp_path))] == ["perf:"]


def test_perf_counters_that_stand_still_are_none(tmp_path: Path) -> None:
    """In a virtual machine: 0 W would be a lie."""
    perf_tree(tmp_path, "event=0x09")  # a dummy, which counts nothing
    perf_or_skip(tmp_path)
    with pytest.raises(NotSupported, match="do not change"):
        opened("perf:", tmp_path)


def test_perf_that_is_closed_to_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    perf_tree(tmp_path, "event=0x02")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(
        perf,
        "open_event",
        lambda event: (_ for _ in ()).throw(PermissionError(13, "Permission denied")),
    )
    with pytest.raises(AuthenticationFailed) as caught:
        opened("perf:", tmp_path)
    assert "perf_event_paranoid=0" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["", "event=", "umask=1,event=0x02", "event=0x02; reboot", "\x1b[31m"]
)
def test_perf_events_that_are_not_understood_are_left_out(tmp_path: Path, text: str) -> None:
    perf_tree(tmp_path, text)
    assert perf.events(str(tmp_path)) == []


# programs

NVIDIA = """0, 61.25, NVIDIA H100 80GB HBM3, GPU-8f6e2a54-1111-2222-3333-444455556666, 00000000:3B:00.0
1, [N/A], NVIDIA H100 80GB HBM3, GPU-8f6e2a54-1111-2222-3333-444455557777, 00000000:5E:00.0
"""
AMD_SMI = """[{"gpu": 0, "power": {"socket_power": {"value": 214, "unit": "W"}, "gfx_voltage": "N/A"}},
 {"gpu": 1, "power": {"socket_power": "N/A"}}]"""
ROCM_SMI = (
    '{"card0": {"Average Graphics Package Power (W)": "41.0"}, "card1": {"Max Graphics '
    'Package Power (W)": "300"}, "system": {}}'
)


def program(folder: Path, name: str, answer: str, code: int = 0) -> Path:
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    (folder / f"{name}.txt").write_text(answer)
    file = folder / name
    file.write_text(
        f"#!{sys.executable}\nimport "
        f'sys\nsys.stdout.write(open("{folder}/{name}.txt").read())\nsys.exit({code})\n'
    )
    file.chmod(0o755)
    return file


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Only programs of this folder are found."""
    folder = tmp_path / "bin"
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr("powertui.sampler.programs._STANDARD_FOLDERS", ())
    return folder


def test_nvidia_smi(path: Path) -> None:
    program(path, "nvidia-smi", NVIDIA)
    source, info = opened("nvidia-smi:")
    (channel,) = info.channels  # the other board tells no power
    assert (channel.name, channel.index, channel.note) == ("GPU 0", 0, "NVIDIA H100 80GB HBM3")
    assert (channel.uuid, channel.pci) == (
        "GPU-8f6e2a54-1111-2222-3333-444455556666",
        "00000000:3B:00.0",
    )
    (reading,) = source.read()
    assert reading.watts == 61.25
    (path / "nvidia-smi.txt").write_text(NVIDIA.replace("61.25", "[N/A]"))
    assert reason_of(source.read()[0].quality) == "it has no value right now"
    (path / "nvidia-smi.txt").write_text("")
    assert reason_of(source.read()[0].quality) == "the device is gone"


def test_a_program_that_fails_says_why(path: Path) -> None:
    program(
        path,
        "nvidia-smi",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        9,
    )
    with pytest.raises(NotSupported, match="couldn't communicate with the NVIDIA driver"):
        opened("nvidia-smi:")


def test_amd_smi_then_rocm_smi(path: Path) -> None:
    program(path, "rocm-smi", ROCM_SMI)
    source, info = opened("amd-smi:")
    assert (info.source, [c.name for c in info.channels]) == ("rocm-smi", ["GPU 0"])
    assert source.read()[0].watts == 41.0
    program(path, "amd-smi", AMD_SMI)
    source, info = opened("amd-smi:")
    assert (info.source, source.read()[0].watts) == ("amd-smi", 214.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1, null, {}]",
        '{"card0": 3}',
        "[" * 5000,
        '[{"gpu": 0, "power": {"socket_power": {"value": 3, "unit": "kW"}}}]',
    ],
)
def test_answers_that_are_not_understood_are_no_power(path: Path, text: str) -> None:
    program(path, "amd-smi", text)
    with pytest.raises(NotSupported):
        opened("amd-smi:")


def test_amd_smi_units() -> None:
    said = (
        '{"gpu_data": [{"gpu": 3, "power": {"socket_power": {"value": 214000000, "unit": "uW"}}}]}'
    )
    assert [(gpu.number, gpu.watts) for gpu in gpu_programs.gpus_from_amd_smi(said)] == [(3, 214.0)]


# Slurm


def test_slurm_counts_the_jobs_energy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    program(path, "sstat", "4711.batch|1000\n4711.0|600\n")
    source, info = opened("slurm:")
    assert (info.url, info.channels[0].kind) == ("slurm:4711", "interval")
    assert source.read() == []  # nothing new yet
    (path / "sstat.txt").write_text("4711.batch|4600\n4711.0|900\n")
    (first,) = (
        source.read()
    )  # 3.6 kJ of an unknown time: the value before may have been half a minute old
    assert (first.watts, first.joules, reason_of(first.quality)) == (
        None,
        0.0,
        "the counting begins here",
    )
    (path / "sstat.txt").write_text("4711.batch|8200\n4711.0|900\n")
    (reading,) = source.read()
    assert reading.joules == 3600.0
    assert reading.watts == pytest.approx(3600.0 / (reading.mono - first.mono))
    (path / "sstat.txt").write_text("4711.batch|10\n")
    assert reason_of(source.read()[0].quality) == "the counter was set back"


def test_slurm_without_a_job_and_without_accounting(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(NotSupported, match="not a Slurm job"):
        opened("slurm:")
    with pytest.raises(UsageError):
        opened("slurm:1;reboot")
    program(path, "sstat", "12.batch|0\n12.0|18446744073709551614\n")
    with pytest.raises(NotSupported, match="counts no energy for job 12") as caught:
        opened("slurm:12")
    assert "AcctGatherEnergyType" in caught.value.hint


def test_slurm_follows_one_step_and_counts_no_joule_twice(path: Path) -> None:
    """Two steps of overlapping nodes, renewed at other moments; then the one that is
    followed ends.
    """
    program(path, "sstat", "7.batch|1000\n7.0|3000\n")
    source, info = opened("slurm:7")
    assert info.facts["step"] == "0"
    (path / "sstat.txt").write_text("7.batch|1000\n7.0|4000\n")
    assert source.read()[0].joules == 0.0
    (path / "sstat.txt").write_text("7.batch|1900\n7.0|4000\n")
    assert source.read() == []
    (path / "sstat.txt").write_text("7.batch|1900\n7.0|7600\n")
    assert source.read()[0].joules == 3600.0
    (path / "sstat.txt").write_text("7.batch|2800\n")
    (ended,) = source.read()
    assert (ended.watts, ended.joules, reason_of(ended.quality)) == (
        None,
        3600.0,
        "its step 0 ended",
    )
    (path / "sstat.txt").write_text("7.batch|2900\n7.1|50\n")
    assert (source.read()[0].watts, source._total) == (None, 3600)
    (path / "sstat.txt").write_text("7.batch|3000\n7.1|50\n")
    assert source.read()[0].joules == 3700.0


def test_slurm_takes_the_step_that_covers_all() -> None:
    steps = slurm.joules_by_step("1.batch|4600\n1.extern|300\n1.0|900\n1.1|\n1.2|4294967294\n")
    assert steps == {"batch": 4600, "extern": 300, "0": 900}
    assert slurm.leading_step(steps) == "extern"
    assert slurm.joules_by_step("") == {}


@pytest.mark.parametrize(
    "text",
    [
        "0::/system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0\n",
        "9:memory:/slurm/uid_1000/job_4711\n0::/\n",
    ],
)
def test_slurm_knows_the_job_by_its_control_group(
    text: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes to a node with ssh has no SLURM_JOB_ID, and is put into the group of
    the job.
    """
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    put(tmp_path, "proc/self/cgroup", text)
    program(path, "sstat", "4711.batch|1000\n")
    assert opened("slurm:", tmp_path)[1].url == "slurm:4711"
    assert slurm.job_of("0::/user.slice/my_job_1\n") == ""


# what to record, what to ask for


def test_a_gpus_power_is_not_recorded_twice(path: Path, tmp_path: Path) -> None:
    program(path, "amd-smi", AMD_SMI)
    root = tmp_path / "root"
    put(root, "sys/class/hwmon/hwmon0/name", "amdgpu")
    put(root, "sys/class/hwmon/hwmon0/power1_average", "45000000")
    assert [t.url for t in inventory.local_targets(str(root))] == ["hwmon:"]
    assert [t.url for t in inventory.local_targets(str(tmp_path / "empty"))] == ["amd-smi:"]


def test_sockets_are_not_counted_twice(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """amd_energy and powercap read the same registers of the processor."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    root = tmp_path / "root"
    put(root, "sys/class/hwmon/hwmon0/name", "amd_energy")
    put(root, "sys/class/hwmon/hwmon0/energy1_input", "77000000")
    put(root, "sys/class/hwmon/hwmon0/energy1_label", "Esocket0")
    rapl_tree(root, {"intel-rapl:0": ("package-0", 77_000_000)})
    program(path, "rocm-smi", ROCM_SMI)
    for source in ("hwmon", "rapl"):
        monkeypatch.setattr(f"powertui.sampler.{source}.motionless", lambda *_: set())
    assert {f.url for f in inventory.look_here(str(root)) if f.ok} == {
        "hwmon:",
        "rapl:",
        "amd-smi:",
    }
    assert [t.url for t in inventory.local_targets(str(root))] == ["hwmon:", "amd-smi:"]


def test_every_closed_source_is_asked_for(
    path: Path, tmp_path: Path, cray: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, perf only where powercap is not asked for with it."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(
        perf,
        "open_event",
        lambda event: (_ for _ in ()).throw(PermissionError(13, "Permission denied")),
    )
    monkeypatch.setattr("powertui.sampler.pm_counters._value", lambda *_: (None, DENIED))
    monkeypatch.setattr("powertui.sampler.hwmon.read_number", lambda _: (None, DENIED))
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    perf_tree(cray, "event=0x02")
    put(cray, "sys/class/hwmon/hwmon0/name", "power_meter")
    put(cray, "sys/class/hwmon/hwmon0/power1_average", "250000000")
    program(path, "sstat", "4711.batch|0\n4711.0|\n")
    told = inventory.look_here(str(cray))
    assert {f.url for f in told if f.denied} == {"pm_counters:", "hwmon:", "perf:", "slurm:"}
    last = list(inventory.as_lines(told))[-1]
    for wish in (
        "/sys/cray/pm_counters",
        "/sys/class/hwmon",
        "perf_event_paranoid=0",
        "AcctGatherEnergyType",
        "/run/powertui",
    ):
        assert last.count(wish) == 1, last
    with pytest.raises(SensorError, match="Slurm counts no energy") as caught:
        inventory.local_targets(str(cray))
    assert "pm_counters: You may not read" in str(caught.value)


def test_what_to_ask_the_administrator_for(path: Path, tmp_path: Path, cray: Path) -> None:
    lines = list(inventory.as_lines(inventory.look_here(str(tmp_path / "empty"))))
    assert lines[-1].startswith(
        "Nothing here measures the whole machine. Ask its administrator for a BMC account"
    )
    assert "Prometheus" in lines[-1]
    assert "administrator" not in "\n".join(inventory.as_lines(inventory.look_here(str(cray))))

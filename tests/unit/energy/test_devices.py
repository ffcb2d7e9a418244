"""GPU channels and the devices of a trace: which is which, how sure that is, and what each drew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import powertui
from powertui import cli
from powertui.data.energy import device_signal, scopes
from powertui.data.energy.expected_work import Intervals
from powertui.data.model import Device, PowerSeries, Scope, Sensor
from tests.synthetic import gpus
from tests.synthetic.gpus import Machine

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")


def energy(
    logdir: Path, log: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> dict[str, Any]:
    assert (
        cli.main(["energy", str(logdir), "--power", str(log), "--tz", "UTC", "--json", *more]) == 0
    )
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    found: dict[str, Any] = run
    return found


def told(run: dict[str, Any]) -> list[tuple[str, bool]]:
    return [(one["how"], one["sure"]) for one in run["devices"]]


def right(run: dict[str, Any], made: Machine, device: int, gpu: int) -> bool:
    """Whether a device has the joules of this GPU of the machine, and not those of another."""
    truth, one = made.joules(gpu, 0.05, made.seconds), run["devices"][device]
    return bool(one["joules"] is not None and abs(one["joules"] - truth) < 0.05 * truth)


@pytest.mark.parametrize("kind", ["smi", "nvml"])
def test_each_device_has_its_own_joules_where_power_follows_what_ran(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    made = gpus.make(4, (0, 1, 2, 3), steps=8, step_s=4.0)
    log = made.smi(tmp_path / "smi.csv") if kind == "smi" else made.nvml(tmp_path / "nvml.csv")
    run = energy(made.write(tmp_path), log, capsys)
    assert [one["device"] for one in run["devices"]] == [f"/device:GPU:{i}" for i in range(4)]
    assert told(run) == [("index and signal", True)] * 4
    for device in range(4):
        assert right(run, made, device, device)
        # nvidia-smi names no machine: whether its clock is this machine's, nothing shows.
        assert run["devices"][device]["badge"] == ("estimated" if kind == "smi" else "measured")
    for step, (lo, hi) in zip(run["steps"], made.steps, strict=True):
        for device, one in enumerate(step["devices"]):
            half = (one["hi"] - one["lo"]) / 2
            assert abs(one["joules"] - made.joules(device, lo, hi)) < 1.5 * half
    # what the machine drew is all of them, profiled or not
    assert run["profile"]["joules"] == pytest.approx(
        sum(one["joules"] for one in run["devices"]), rel=0.01
    )


def test_visible_devices_in_another_order_are_found_by_their_power(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = gpus.make(8, (5, 2, 7))  # CUDA_VISIBLE_DEVICES=5,2,7
    run = energy(made.write(tmp_path), made.smi(tmp_path / "smi.csv"), capsys)
    assert told(run) == [("signal", False)] * 3
    for device, gpu in enumerate(made.order):
        assert right(run, made, device, gpu)
        assert run["devices"][device]["sensor"] == f"GPU {gpu}"
        assert run["devices"][device]["badge"] == "estimated"
        assert "CUDA_VISIBLE_DEVICES has changed the order" in run["devices"][device]["why"]


def test_where_all_compute_alike_the_number_is_an_assumption(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = gpus.make(4, (0, 1, 2, 3), alike=True)
    run = energy(made.write(tmp_path), made.smi(tmp_path / "smi.csv"), capsys)
    assert told(run) == [("index", False)] * 4
    assert {one["badge"] for one in run["devices"]} == {"assumed"}
    assert "CUDA_VISIBLE_DEVICES may have changed the order" in run["devices"][0]["why"]
    assert run["profile"]["badge"] == "measured"  # the machine's own joules do not depend on it


def test_more_gpus_logged_than_profiled_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = gpus.make(8, (0, 1), alike=True)
    run = energy(made.write(tmp_path), made.smi(tmp_path / "smi.csv"), capsys)
    assert told(run) == [("index", False)] * 2
    assert "8 GPUs are logged and 2 profiled" in run["devices"][0]["why"]


def test_devices_that_did_nothing_are_not_guessed_when_the_others_moved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = gpus.make(4, (1, 0))
    run = energy(made.write(tmp_path, empty=2), made.smi(tmp_path / "smi.csv"), capsys)
    assert told(run) == [("signal", False), ("signal", False), ("none", False), ("none", False)]
    assert run["devices"][2]["joules"] is None
    assert "does not show which GPU it is" in run["devices"][2]["reason"]


def test_two_that_compute_alike_in_another_order_are_told_as_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = gpus.make(8, (5, 2), alike=True)  # GPU 0 and GPU 1, whose numbers they have, idled
    run = energy(made.write(tmp_path), made.smi(tmp_path / "smi.csv"), capsys)
    assert told(run) == [("none", False)] * 2
    assert run["devices"][0]["joules"] is None
    assert "by its power it is GPU 2 or GPU 5" in run["devices"][0]["reason"]


def test_one_gpu_on_both_sides_is_sure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = gpus.make(1, (0,))
    run = energy(made.write(tmp_path), made.smi(tmp_path / "smi.csv", by="uuid"), capsys)
    assert told(run) == [("only", True)]
    assert right(run, made, 0, 0)


def one_gpus_rows(log: Path, gpu: int) -> Path:
    """A log without the rows of other GPUs."""
    heading, *rows = log.read_text().splitlines()
    log.write_text("\n".join([heading, *(row for row in rows if f", {gpu}, " in row)]) + "\n")
    return log


def test_the_only_gpu_of_a_log_may_have_another_number_if_its_power_follows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = gpus.make(2, (1,), steps=8, step_s=4.0)  # CUDA_VISIBLE_DEVICES=1
    run = energy(made.write(tmp_path), one_gpus_rows(made.smi(tmp_path / "smi.csv"), 1), capsys)
    assert told(run) == [("signal", False)]
    assert right(run, made, 0, 1)
    assert "CUDA_VISIBLE_DEVICES has changed its number" in run["devices"][0]["why"]


def test_the_only_gpu_of_a_log_that_idled_while_another_one_was_profiled_is_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = gpus.make(2, (0,), steps=8, step_s=4.0)
    log = one_gpus_rows(made.smi(tmp_path / "smi.csv"), 1)
    run = energy(made.write(tmp_path), log, capsys)
    assert told(run) == [("none", False)]
    assert run["devices"][0]["joules"] is None
    assert "does not follow" in run["devices"][0]["why"]
    assert run["profile"]["joules"] is None
    folder = str(tmp_path / "logs")
    assert cli.main(["energy", folder, "--power", str(log), "--tz", "UTC"]) == 0
    assert "No power is counted: 1 GPU is logged" in capsys.readouterr().out


def test_the_only_gpu_of_a_log_is_an_assumption_where_its_power_does_not_follow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that sees GPU 1 alone calls it 0, and the log may be of GPU 0."""
    made = gpus.make(2, (1,), steps=8, step_s=4.0)
    log = one_gpus_rows(made.smi(tmp_path / "smi.csv"), 0)
    run = energy(made.write(tmp_path), log, capsys)
    assert told(run) == [("alone", False)]
    assert run["devices"][0]["badge"] == "assumed"


def test_the_only_gpu_of_a_log_with_another_number_is_assumed_where_its_power_cannot_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = gpus.make(2, (1,), steps=1, step_s=0.8)
    run = energy(made.write(tmp_path), one_gpus_rows(made.smi(tmp_path / "smi.csv"), 1), capsys)
    assert told(run) == [("alone", False)]
    assert "may have changed its number" in run["devices"][0]["why"]


def test_a_uuid_without_a_number_needs_the_signal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = gpus.make(3, (0, 1, 2), alike=True)
    run = energy(made.write(tmp_path), made.smi(tmp_path / "smi.csv", by="pci.bus_id"), capsys)
    assert told(run) == [("none", False)] * 3
    assert {one["joules"] for one in run["devices"]} == {None}


@pytest.mark.parametrize("kind", ["uuid", "pci"])
def test_addresses_settle_it_whatever_the_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    made = gpus.make(8, (5, 2), alike=True)
    made.stats = [
        {kind: gpus.uuid(gpu) if kind == "uuid" else f"0000:{0x10 + gpu:02x}:00.0"}
        for gpu in made.order
    ]
    run = energy(made.write(tmp_path), made.nvml(tmp_path / "nvml.csv"), capsys)
    assert told(run) == [("identity", True)] * 2
    assert right(run, made, 0, 5)
    assert right(run, made, 1, 2)


def test_the_variable_is_named_after_the_maker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = gpus.make(2, (0, 1), alike=True)
    made.stats = [{"device_vendor": "AMD"}] * 2
    run = energy(made.write(tmp_path), made.nvml(tmp_path / "nvml.csv"), capsys)
    assert "HIP_VISIBLE_DEVICES may have changed the order" in run["devices"][0]["why"]


def test_a_sensor_that_cannot_resolve_a_step_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = gpus.make(2, (0, 1), steps=200, step_s=0.06)
    run = energy(made.write(tmp_path), made.smi(tmp_path / "smi.csv"), capsys)
    assert {one["joules"] for step in run["steps"] for one in step["devices"]} == {None}
    assert all("too short" in one["reason"] for step in run["steps"][:5] for one in step["devices"])
    assert run["devices"][0]["per_step"]["joules"] is not None


def test_the_text_the_tool_and_the_python_interface(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = gpus.make(2, (0, 1), alike=True)
    logdir, log = made.write(tmp_path), made.nvml(tmp_path / "nvml.csv")
    assert cli.main(["energy", str(logdir), "--power", str(log)]) == 0
    text = capsys.readouterr().out
    assert "/device:GPU:1" in text
    assert (
        "nvml GPU 1 for /device:GPU:1: by its number alone: CUDA_VISIBLE_DEVICES may have "
        "changed the order"
    ) in text
    frames = powertui.open(logdir, power=log)[0].tool("energy").frames
    assert list(frames["devices"]["device"]) == ["/device:GPU:0", "/device:GPU:1"]
    assert list(frames["devices"]["sure"]) == [False, False]
    assert len(frames["device_steps"]) == 2 * len(made.steps)


def test_power_follows_a_device_only_when_it_does_so_clearly() -> None:
    assert device_signal.by_signal({0: [(9.0, 3), (1.0, 0)]}) == {0: 3}
    assert device_signal.by_signal({0: [(4.9, 3), (0.0, 0)]}) == {
        0: None
    }  # hardly more than chance
    assert device_signal.by_signal({0: [(9.0, 3), (6.0, 0)]}) == {
        0: None
    }  # another's does nearly as much
    assert device_signal.by_signal({0: [(9.0, 3), (1.0, 0)], 1: [(9.0, 3), (1.0, 0)]}) == {
        0: None,
        1: None,
    }  # one for two
    assert device_signal.by_signal({0: []}) == {0: None}


def test_slow_loads_that_have_nothing_to_do_with_one_another_do_not_follow() -> None:
    """Twenty readings of one level say it once: two slow loads are often alike by chance."""
    follows = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        edges = np.cumsum(rng.uniform(4, 12, 20)) * 1e12
        busy = Intervals(edges[0::2].astype(np.int64), edges[1::2].astype(np.int64))
        at = np.arange(1, 120, 0.1) * 1e12
        other = np.cumsum(rng.uniform(4, 12, 40)) * 1e12
        watts = 70 + 260.0 * (np.searchsorted(other, at) % 2) + rng.normal(0, 1, len(at))
        follows += (
            device_signal._follows(busy, [(at, at + 1e11, watts)])
            >= device_signal._MIN_FOLLOW_ERRORS
        )
    assert follows == 0


def series(name: str, path: str, device: Device | None = None) -> PowerSeries:
    return PowerSeries(
        Sensor(name, "x", Scope.GPU, device=device), np.arange(3), np.ones(3), path=path
    )


def test_two_logs_of_one_gpu_are_counted_once() -> None:
    both = [
        series("GPU 0", "a", Device(0)),
        series("nvml GPU 0", "b", Device(0, "GPU-1")),
        series("nvml GPU 1", "b", Device(1, "GPU-2")),
    ]
    assert scopes.of_one(both).indices == (0, 2)
    apart = [series("GPU-1", "a", Device(None, "GPU-1")), series("GPU 0", "b", Device(0))]
    assert scopes.of_one(apart).indices == (0,)  # nobody can say that these are two
    files = [series("GPU 0", "gpu0.csv"), series("GPU 1", "gpu1.csv")]
    assert scopes.of_one(files).indices == (0, 1)


def test_our_nvml_recordings_tell_which_board_is_which(tmp_path: Path) -> None:
    log = gpus.make(2, (0, 1)).nvml(tmp_path / "nvml.csv")
    frame = powertui.open(gpus.make(2, (0, 1)).write(tmp_path), power=log)[0].run.power
    assert [one.sensor.device for one in frame] == [
        Device(g, gpus.uuid(g), f"0000:{0x10 + g:02x}:00.0") for g in range(2)
    ]

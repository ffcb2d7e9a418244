"""`powertui doctor`: the cases that people ask about get a finding, a reason and a next step."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from powertui import demo
from powertui.cli import main
from powertui.data import wire
from tests.synthetic.tfevents import frame, write_scalars
from tests.synthetic.xplane import Event, Line, Plane, blob, encode

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

MS = 10**9
T0 = 1_700_000_000
Doctor = Callable[..., dict[tuple[str, str], list[str]]]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Run the verb; the findings of the whole path and of its runs as {(topic, state): ["what →
    do", …]}.
    """

    def run(path: Path, code: int | None = 0) -> dict[tuple[str, str], list[str]]:
        got = main(["doctor", str(path), "--json"])
        parsed = json.loads(capsys.readouterr().out)
        assert code is None or got == code
        found: dict[tuple[str, str], list[str]] = {}
        for check in [
            *parsed["checks"],
            *(check for one in parsed["runs"] for check in one["checks"]),
        ]:
            found.setdefault((check["topic"], check["state"]), []).append(
                f"{check['what']} → {check['do']}"
            )
        text = main(["doctor", str(path)])
        assert text == got
        said = capsys.readouterr().out
        assert all(check["what"].split("\n")[0][:20] in said for check in parsed["checks"])
        return found

    return run


def profile(folder: Path, *planes: Plane, errors: tuple[str, ...] = (), name: str = "vm") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.xplane.pb"
    steps = [Event("train", i * 10 * MS, 9 * MS, {"step_num": i, "_r": 1}) for i in range(5)]
    content = encode(planes or [Plane("/host:CPU", [Line("python", steps)])])
    path.write_bytes(content + b"".join(blob(2, error.encode()) for error in errors))
    return path


def run_folder(root: Path) -> Path:
    return root / "plugins/profile/2023_11_14_22_13_20"


# ── row 1: wrong level, missing tfevents, only one part ──────────────────────────────────────────


def test_nothing_at_all(doctor: Doctor, tmp_path: Path) -> None:
    (said,) = doctor(tmp_path, 3)["profile", "missing"]
    assert "no profile that powertui reads is here" in said
    assert "log_dir" in said


def test_logged_but_not_profiled(doctor: Doctor, tmp_path: Path) -> None:
    write_scalars(
        tmp_path / "train/events.out.tfevents.1.vm.7.0.v2", [(T0, 0, "epoch_loss", 0.5)], T0
    )
    (said,) = doctor(tmp_path, 3)["profile", "missing"]
    assert "no profile was taken" in said
    assert "profile_batch" in said


def test_profiled_but_the_folder_was_left_behind(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.1700000000.vm.profile-empty").write_bytes(frame(b""))
    (said,) = doctor(tmp_path, 3)["profile", "missing"]
    assert "profile-empty shows it" in said
    assert "rsync" in said


def test_too_deep(doctor: Doctor, tmp_path: Path) -> None:
    profile(run_folder(tmp_path / "train"))
    (said,) = doctor(run_folder(tmp_path / "train"))["level", "note"]
    assert "inside plugins/" in said
    assert "tensorboard --logdir" in said


def test_outside_plugins(doctor: Doctor, tmp_path: Path) -> None:
    profile(tmp_path)
    (said,) = doctor(tmp_path)["level", "note"]
    assert "TensorBoard would not find it" in said


def test_no_profile_empty(doctor: Doctor, tmp_path: Path) -> None:
    profile(run_folder(tmp_path))
    (said,) = doctor(tmp_path)["tfevents", "note"]
    assert "profile-empty" in said
    assert "powertui needs none" in said


def test_only_training(doctor: Doctor, tmp_path: Path) -> None:
    profile(run_folder(tmp_path / "train"))
    write_scalars(
        tmp_path / "train/events.out.tfevents.1.vm.7.0.v2", [(T0, 0, "epoch_loss", 0.5)], T0
    )
    assert "only train/" in doctor(tmp_path)["tfevents", "note"][0]
    write_scalars(
        tmp_path / "validation/events.out.tfevents.1.vm.7.1.v2", [(T0, 0, "epoch_loss", 0.5)], T0
    )
    assert ("tfevents", "note") not in doctor(tmp_path)


def test_only_validation(doctor: Doctor, tmp_path: Path) -> None:
    profile(run_folder(tmp_path / "train"))
    write_scalars(
        tmp_path / "validation/events.out.tfevents.1.vm.7.1.v2", [(T0, 0, "epoch_loss", 0.5)], T0
    )
    assert "only validation/" in doctor(tmp_path)["tfevents", "missing"][0]


# ── row 6: no step marker ────────────────────────────────────────────────────────────────────────


def test_no_step_marker_and_nothing_that_repeats(doctor: Doctor, tmp_path: Path) -> None:
    profile(run_folder(tmp_path), Plane("/host:CPU", [Line("python", [Event("op", 0, MS)])]))
    (said,) = doctor(tmp_path)["steps", "missing"]
    assert "--step-marker" in said
    assert "StepTraceAnnotation" in said


def test_no_step_marker_but_launches(doctor: Doctor, tmp_path: Path) -> None:
    launches = [Event("PjitFunction(f)", i * MS, MS // 2) for i in range(6)]
    profile(run_folder(tmp_path), Plane("/host:CPU", [Line("python", launches)]))
    (said,) = doctor(tmp_path)["steps", "note"]
    assert "launches of PjitFunction(f)" in said
    assert "--step-marker" in said


def test_steps_that_tensorboard_does_not_see(doctor: Doctor) -> None:
    found = doctor(demo.folder())
    assert "TensorBoard's overview does not know" in found["steps", "note"][0]
    assert "200 from events named Profiled batch" in found["steps", "ok"][0]


# ── row 7: no GPU kernels ────────────────────────────────────────────────────────────────────────


def test_cupti_without_permission(doctor: Doctor, tmp_path: Path) -> None:
    profile(run_folder(tmp_path), errors=("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES: cannot trace",))
    (said,) = doctor(tmp_path)["devices", "problem"]
    assert "NVreg_RestrictProfilingToAdminUsers=0" in said
    assert "SYS_ADMIN" in said


def test_libcupti_that_was_not_found(doctor: Doctor, tmp_path: Path) -> None:
    profile(
        run_folder(tmp_path),
        errors=("function cupti_interface_->Subscribe failed: could not load libcupti.so",),
    )
    assert "LD_LIBRARY_PATH" in doctor(tmp_path)["devices", "problem"][0]


def test_other_errors_of_the_profiler_are_shown_as_they_are(doctor: Doctor, tmp_path: Path) -> None:
    profile(run_folder(tmp_path), errors=("the buffer overflowed, 12 events were dropped",))
    found = doctor(tmp_path)
    assert "12 events were dropped" in found["profile", "problem"][0]
    assert ("devices", "problem") not in found


@pytest.mark.parametrize(
    "line",
    [
        Line("tf_gpu_private_4/17", [Event("op", 0, MS)]),
        Line("python", [Event("cudaLaunchKernel", 0, MS)]),
    ],
)
def test_gpu_work_without_a_kernel(doctor: Doctor, tmp_path: Path, line: Line) -> None:
    profile(run_folder(tmp_path), Plane("/host:CPU", [line]))
    (said,) = doctor(tmp_path)["devices", "problem"]
    assert "no kernel was recorded" in said
    assert "NVreg_RestrictProfilingToAdminUsers" in said


def test_idle_devices_are_counted(doctor: Doctor, tmp_path: Path) -> None:
    busy = Plane("/device:GPU:0", [Line("Stream #7(Compute)", [Event("k", 0, MS)], key=7)])
    profile(
        run_folder(tmp_path),
        Plane("/host:CPU", [Line("python", [Event("op", 0, MS)])]),
        busy,
        Plane("/device:GPU:1"),
    )
    assert "1 recorded, 1 present but idle" in doctor(tmp_path)["devices", "ok"][0]


# ── row 10: tools that do not apply ──────────────────────────────────────────────────────────────


def test_a_cpu_run_says_what_does_not_apply(doctor: Doctor, tmp_path: Path) -> None:
    profile(run_folder(tmp_path))
    assert "do not apply" in doctor(tmp_path)["devices", "note"][0]


# ── files ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content", "says", "do"),
    [
        (b"", "empty (0 bytes)", "profile again"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "git-lfs pointer",
            "git lfs pull",
        ),
        (b"\x0a\xef\xbf\xbd\x01" * 400, "EF BF BD", "binary"),
    ],
)
def test_spoilt_profiles_name_the_cure(
    doctor: Doctor, tmp_path: Path, content: bytes, says: str, do: str
) -> None:
    run_folder(tmp_path).mkdir(parents=True)
    (run_folder(tmp_path) / "vm.xplane.pb").write_bytes(content)
    (said,) = doctor(tmp_path, 3)["profile", "problem"]
    assert says in said
    assert do in said


def test_a_profile_of_nothing(doctor: Doctor, tmp_path: Path) -> None:
    profile(run_folder(tmp_path), Plane("/host:CPU"))
    assert "holds no events" in doctor(tmp_path)["profile", "missing"][0]


def test_results_alone(doctor: Doctor, tmp_path: Path) -> None:
    run_folder(tmp_path).mkdir(parents=True)
    (run_folder(tmp_path) / "madrid.overview_page.pb").write_bytes(b"\x0a\x00")
    (said,) = doctor(tmp_path, 3)["timeline", "missing"]
    assert "overview_page.pb" in said
    assert "xplane.pb" in said


def test_caches_and_unread_files_are_named(doctor: Doctor, tmp_path: Path) -> None:
    profile(run_folder(tmp_path))
    (run_folder(tmp_path) / "vm.op_stats_v2.pb").write_bytes(b"x")
    (run_folder(tmp_path) / "model.neff").write_bytes(b"{}")
    said = doctor(tmp_path)["files", "note"]
    assert any("safe to delete" in one for one in said)
    assert any("AWS Neuron" in one for one in said)


# ── clock and power ──────────────────────────────────────────────────────────────────────────────


def test_a_clock_without_a_zone_asks_for_one(doctor: Doctor, tmp_path: Path) -> None:
    path = profile(run_folder(tmp_path))
    os.utime(path, (T0 + 123_456, T0 + 123_456))
    assert "--tz" in doctor(tmp_path)["clock", "note"][0]


def test_no_power_names_how_to_get_some(doctor: Doctor, tmp_path: Path) -> None:
    profile(run_folder(tmp_path))
    (said,) = doctor(tmp_path)["power", "missing"]
    assert "powertui record" in said
    assert "--power" in said


def test_power_at_the_time_and_at_another(doctor: Doctor, tmp_path: Path) -> None:
    shutil.copytree(demo.folder(), tmp_path / "run")
    found = doctor(tmp_path / "run")
    assert "at the time of the profile" in found["power", "ok"][0]
    rows = (tmp_path / "run/power.csv").read_text().splitlines()
    later = [
        rows[0],
        *(f"{float(row.split(',')[0]) + 3600:.5f},{row.split(',')[1]}" for row in rows[1:]),
    ]
    (tmp_path / "run/power.csv").write_text("\n".join(later))
    (said,) = doctor(tmp_path / "run")["power", "problem"]
    assert "power.csv begins 59 minutes after this run. It is not used." in said
    assert "--tz" in said


def test_power_that_belongs_to_nobody(doctor: Doctor, tmp_path: Path) -> None:
    for name in ("a", "b"):
        profile(run_folder(tmp_path / name))
    (tmp_path / "c").mkdir()
    shutil.copy(demo.power_file(), tmp_path / "c/power.csv")
    assert any("which run it belongs to" in one for one in doctor(tmp_path)["power", "note"])


# ── recordings ───────────────────────────────────────────────────────────────────────────────────


def test_a_power_log_that_cannot_be_read_is_not_called_a_profile(
    doctor: Doctor, tmp_path: Path
) -> None:
    log = tmp_path / "pdu.csv"
    log.write_text("ts,p1,p2\n" + "".join(f"{T0 + i},{180 + i},{90 + i}\n" for i in range(30)))
    found = doctor(log, None)
    (problem,) = found[("power", "problem")]
    assert "--watts-col p1 --time-col ts --unit W" in problem
    assert not [topic for topic, _ in found if topic == "profile"]
    (missing,) = found[("timeline", "missing")]
    assert missing.startswith("there is no profile, only power → ")


def test_what_needs_doing_comes_first(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    main(["doctor", str(data / "logdirs/jax_cpu")])
    lines = (
        capsys.readouterr().out.partition("\n\n")[2].splitlines()
    )  # above it stands what no run is the cause of
    states = [
        line.split()[0]
        for line in lines
        if line.startswith("  ") and line.split()[0] in ("problem", "missing", "note", "ok")
    ]
    assert states == sorted(states, key=["problem", "missing", "note", "ok"].index)
    assert "missing" in states


def test_the_mangled_profile(doctor: Doctor, shared_data: Path) -> None:
    (said,) = doctor(shared_data / "public/xplane_utf8_mangled_corrupt", 3)["profile", "problem"]
    assert "U+FFFD" in said


def test_a_pytorch_trace_is_a_profile(doctor: Doctor, shared_data: Path) -> None:
    found = doctor(shared_data / "public/kineto_list_format", 0)
    assert not any(topic == "files" and state == "note" for topic, state in found)


def test_a_profile_from_a_pipe(data: Path) -> None:
    content = (
        data / "logdirs/trace_export/plugins/profile/2026_11_21_00_50_42/vm.xplane.pb"
    ).read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "powertui", "doctor", "-"],
        input=content,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "profile: standard input" in done.stdout.decode()
    assert "1,472 events" in done.stdout.decode()


@pytest.mark.parametrize("pure", ["1", ""])
def test_why_the_compiled_scanner_is_not_used(data: Path, pure: str) -> None:
    command = [sys.executable, "-m", "powertui", "doctor", str(data / "power"), "--json"]
    done = subprocess.run(
        command,
        env=os.environ | {"POWERTUI_PURE": pure},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    said = [check for check in json.loads(done.stdout)["checks"] if check["topic"] == "program"]
    if pure:
        (check,) = said
        assert "POWERTUI_PURE is set" in check["what"]
        assert check["do"] == "unset POWERTUI_PURE"
    else:
        assert bool(said) != wire.COMPILED


# ── power alone ──────────────────────────────────────────────────────────────────────────────────


def test_power_is_looked_at_without_a_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "power.csv").write_text(
        "time,watts\n" + "".join(f"{T0 + i},{100 + i % 7}\n" for i in range(60))
    )
    assert main(["doctor", "--power", str(tmp_path / "power.csv")]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{tmp_path / 'power.csv'}: 1 power log\n")
    assert "60 readings" in said
    assert "timeline" not in said, "nobody asked for a profile"
    (tmp_path / "second.csv").write_text(
        "time,watts\n" + "".join(f"{T0 + i},{90 + i % 5}\n" for i in range(40))
    )
    assert main(["doctor", "--power", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "2 power logs" in said
    assert "60 readings" in said
    assert "40 readings" in said
    (tmp_path / "words.csv").write_text("one,two\nthree,four\n")
    assert main(["doctor", "--power", str(tmp_path / "words.csv")]) == 3
    assert main(["doctor"]) == 2
    assert "Name a path, or a power log with --power." in capsys.readouterr().err

"""`powertui report`: text for a person, and a JSON that scripts may rely on."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from powertui import demo
from powertui.cli import main
from powertui.data import logdir
from powertui.data.energy import account, align, idle
from powertui.data.energy.trace_account import Account
from powertui.data.opened import Opened
from powertui.report import facts, step_facts
from tests.synthetic.tfevents import write_scalars
from tests.synthetic.xplane import Event, Line, Plane, encode

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

JAX = "logdirs/jax_cpu"


def report(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    code = main(["report", *map(str, args)])
    said = capsys.readouterr()
    return code, said.out, said.err


def as_json(capsys: pytest.CaptureFixture[str], *args: str | Path) -> dict[str, Any]:
    code, out, _ = report(capsys, *args, "--json")
    assert code == 0
    parsed: dict[str, Any] = json.loads(out)
    return parsed


# ── the stable interface ─────────────────────────────────────────────────────────────────────────

# Keys and kinds as docs/report.md promises them. Adding keys is fine; taking one away, or changing
# its kind, is not.
PROMISED = {
    "name": str,
    "hosts": list,
    "devices": list,
    "events": int,
    "steps": int,
    "epochs": int,
    "duration_s": float,
    "clock": dict,
    "warnings": list,
    "path": str,
    "files": dict,
    "profiles": list,
    "scalars": list,
    "power": list,
}
CLOCK = {"lo_ns": int, "hi_ns": int, "source": str, "detail": str, "utc_offset_s": int}
PROFILE = {
    "host": str,
    "path": str,
    "format": str,
    "size": int,
    "events": int,
    "lines": int,
    "complete": bool,
    "devices": int,
    "devices_without_events": int,
    "start_s": float,
    "end_s": float,
    "clock": dict,
    "steps": dict,
    "epochs": dict,
    "phases": list,
}
STEPS = {
    "count": int,
    "source": str,
    "asynchronous": bool,
    "duration": dict,
    "start_to_start": dict,
    "length": dict,
    "work_s": type(None),
    "rows": list,
    "rows_left_out": int,
}
STEP = {
    "epoch": int,
    "number": int,
    "name": str,
    "start_s": float,
    "duration_s": float,
    "start_to_start_s": float,
}
EPOCH = {
    "number": int,
    "start_s": float,
    "end_s": float,
    "slack_s": float,
    "steps": int,
    "source": str,
    "scalars": dict,
}
PHASE = {"name": str, "start_s": float, "end_s": float, "epoch": int, "source": str}
POWER = {
    "name": str,
    "source": str,
    "scope": str,
    "path": str,
    "readings": int,
    "span_s": float,
    "min_watts": float,
    "mean_watts": float,
    "max_watts": float,
    "clock": dict,
    "warnings": list,
}


def promised(got: dict[str, Any], kinds: dict[str, type]) -> None:
    assert {key: type(got.get(key, ...)) for key in kinds} == kinds


def test_the_demo_keeps_every_promise(capsys: pytest.CaptureFixture[str]) -> None:
    whole = as_json(capsys, demo.folder())
    (run,) = whole["runs"]
    promised(run, PROMISED)
    promised(run["clock"], CLOCK)
    (profile,) = run["profiles"]
    promised(profile, PROFILE)
    promised(profile["steps"], STEPS)
    promised(profile["steps"]["rows"][0], STEP)
    promised(profile["epochs"]["rows"][0], EPOCH)
    promised(profile["phases"][0], PHASE)
    promised(run["power"][0], POWER)


def test_the_numbers_of_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    (run,) = as_json(capsys, demo.folder())["runs"]
    assert (run["events"], run["steps"], run["epochs"]) == (179_470, 200, 2)
    assert run["hosts"] == ["vm"]
    assert run["devices"] == []
    assert run["duration_s"] == pytest.approx(20.962863689)
    assert run["clock"]["lo_ns"] <= 1_795_224_823_636_256_000 <= run["clock"]["hi_ns"]
    assert [row["steps"] for row in run["profiles"][0]["epochs"]["rows"]] == [100, 100]
    assert len(run["profiles"][0]["steps"]["rows"]) == 200
    assert run["power"][0]["readings"] == 175
    assert run["warnings"] == []


def test_the_way_of_aligning_that_was_asked_for_is_heeded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Here nobody may say whose joules they are: no figure and no sentence rests on the readings."""
    (usual,) = as_json(capsys, demo.folder())["runs"]
    (unaligned,) = as_json(capsys, demo.folder(), "--align", "none")["runs"]
    (elsewhere,) = as_json(capsys, demo.folder(), "--offset", "500s")["runs"]
    assert usual["energy"]["joules"] is not None
    assert "unexplained_power" in [conclusion["kind"] for conclusion in usual["conclusions"]]
    for run in (unaligned, elsewhere):
        assert run["energy"]["joules"] is None
        assert run["energy"]["reason"]
        assert all(finding["watts"] is None for finding in run["findings"])
        assert "unexplained_power" not in [conclusion["kind"] for conclusion in run["conclusions"]]


def test_steps_that_are_dispatched_say_so(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run,) = as_json(capsys, data / JAX)["runs"]
    steps = run["profiles"][0]["steps"]
    assert steps["asynchronous"] is True
    assert steps["work_s"] == pytest.approx(0.0724, abs=1e-3)
    _, out, _ = report(capsys, data / JAX)
    assert "dispatched asynchronously" in out
    assert "3.619 ms a step on average" in out


def test_tables_are_bounded(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_facts, "MAX_HOST_STEPS", 5)
    (run,) = as_json(capsys, data / JAX)["runs"]
    steps = run["profiles"][0]["steps"]
    assert (steps["count"], len(steps["rows"]), steps["rows_left_out"]) == (20, 5, 15)


# ── text, CSV, Markdown ──────────────────────────────────────────────────────────────────────────


def test_text_leads_with_conclusions_time_and_steps(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = report(capsys, demo.folder())
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "logs/Nfit/20261121/train/2026_11_21_01_34_05"
    assert lines[1].startswith("  findings  Epoch 1, steps 46-71: +59 W for 2.52 s, +149 J")
    assert lines[2].startswith("            To do: Ask what else ran on this machine then")
    labels = [line.split()[0] for line in lines[1:] if line[2:3].strip()]
    assert labels[:3] == ["findings", "time", "steps"]
    assert "20.963 s, from 2026-11-21 01:33:43.636 UTC ± 1 ms (task environment" in out
    assert "200: median 90.51 ms (without 1 that traces), 85.47 ms to 1.522 s" in out
    assert "marked by events named Profiled batch with a step_num" in out
    assert "tracing in epoch 0" in out
    assert "validation in epoch 1" in out
    assert "175 readings" in out


def test_csv_has_a_row_per_step(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["report", str(demo.folder()), "--csv"])
    out = capsys.readouterr().out
    assert code == 0
    assert out.count("\n") == 201
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 200
    assert (rows[100]["epoch"], rows[100]["step"], rows[100]["name"]) == (
        "1",
        "0",
        "Profiled batch 0",
    )
    assert float(rows[0]["duration_s"]) == 1.521988594
    assert float(rows[0]["unix_start_s"]) == pytest.approx(1_795_224_823.636, abs=0.001)
    assert rows[99]["start_to_start_s"] == ""  # the next step belongs to the next epoch


def test_names_in_csv_are_no_formulas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [Event(f"=cmd|'/c calc'!A{i}", i * 10**9, 10**8, {"step_num": i}) for i in range(3)]
    (tmp_path / "=evil.xplane.pb").write_bytes(
        encode([Plane("/host:CPU", [Line("python", events)])])
    )
    main(["report", str(tmp_path), "--csv"])
    (_, row, *_) = csv.reader(io.StringIO(capsys.readouterr().out))
    assert [value[0] for value in (row[1], row[4])] == ["'", "'"]


def test_markdown_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = report(capsys, demo.folder(), "--markdown")
    assert code == 0
    assert out.splitlines()[1].startswith("|---|---:|")
    assert "179,470" in out
    assert "- steps: 200: median " in out


def test_names_from_files_reach_no_terminal_raw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [
        Event("\x1b]0;owned\x07train\r", i * 10**9, 10**8, {"step_num": i, "step_name": "\x1b[2J"})
        for i in range(3)
    ]
    folder = tmp_path / "\x1b[31mlogs" / "plugins/profile/\x1b[5mrun"
    folder.mkdir(parents=True)
    (folder / "h\x1b[7m.xplane.pb").write_bytes(
        encode([Plane("/host:CPU\x1b[8m", [Line("l", events)])])
    )
    for form in ([], ["--json"], ["--markdown"], ["--csv"]):
        main(["report", str(tmp_path), *form])
        said = capsys.readouterr()
        assert "\x1b" not in said.out + said.err
        assert "\x07" not in said.out
    main(["doctor", str(tmp_path)])
    assert "\x1b" not in capsys.readouterr().out


# ── choosing ─────────────────────────────────────────────────────────────────────────────────────


def test_one_run_of_several(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("first/one", "second/two"):
        shutil.copytree(data / JAX, tmp_path / name)
    assert len(as_json(capsys, tmp_path)["runs"]) == 2
    (run,) = as_json(capsys, tmp_path, "--run", "first")["runs"]
    assert run["name"].startswith("first/one/")
    code, _, err = report(capsys, tmp_path, "--run", "third")
    assert code == 2
    assert "No run is named" in err
    code, _, err = report(capsys, tmp_path, "--run", "2026")
    assert code == 2
    assert "More than one run" in err


def test_a_pattern_of_a_person_goes_first(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run,) = as_json(capsys, data / JAX, "--step-marker", r"^PjitFunction")["runs"]
    assert "--step-marker" in run["profiles"][0]["steps"]["source"]


def test_a_profile_from_a_pipe(data: Path) -> None:
    content = (data / JAX / "plugins/profile/2026_11_21_00_50_50/vm.xplane.pb").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "powertui", "report", "-", "--json"],
        input=content,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["name"], run["events"], run["steps"]) == ("standard input", 2978, 20)


# ── what cannot be read ──────────────────────────────────────────────────────────────────────────


def spoil(data: Path, folder: Path) -> Path:
    shutil.copytree(data / JAX, folder)
    run = folder / "plugins/profile/2026_11_21_00_50_50"
    (run / "vm.trace.json.gz").unlink()
    return run / "vm.xplane.pb"


def test_power_beside_a_file_that_was_named_is_no_answer_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text("Two logs lie here.\n")
    (tmp_path / "power.csv").write_text(
        "time_unix_s,watts\n" + "".join(f"{1_700_000_000 + i},{200 + i % 3}\n" for i in range(60))
    )
    assert main(["report", str(tmp_path / "README.md")]) == 3
    assert "is text in no format that powertui reads" in capsys.readouterr().out
    assert main(["report", str(tmp_path / "power.csv")]) == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty (0 bytes)"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git-lfs pointer"),
        (b"\x0a\xef\xbf\xbd\x01" * 400, "U+FFFD"),
    ],
)
def test_a_spoilt_profile_is_one_sentence_and_exit_3(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, says: str
) -> None:
    path = spoil(data, tmp_path / "logs")
    path.chmod(0o644)
    path.write_bytes(content)
    code, out, err = report(capsys, tmp_path)
    assert code == 3
    assert says in out
    assert "Traceback" not in out + err
    code, out, _ = report(capsys, tmp_path, "--json")
    assert code == 3
    assert any(says in warning for warning in json.loads(out)["runs"][0]["warnings"])


def test_one_bad_run_does_not_hide_the_others(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(data, tmp_path / "bad").write_bytes(b"")
    shutil.copytree(data / JAX, tmp_path / "good")
    whole = as_json(capsys, tmp_path)
    assert {run["name"].split("/")[0]: run["events"] for run in whole["runs"]} == {
        "bad": 0,
        "good": 2978,
    }


def test_a_truncated_profile_is_read_as_far_as_it_goes(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = spoil(data, tmp_path / "logs")
    content = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(content[: len(content) * 3 // 4])
    (run,) = as_json(capsys, tmp_path)["runs"]
    assert run["warnings"]
    assert "truncated" in run["warnings"][0]


def test_result_files_alone_say_why_there_is_no_timeline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "plugins/profile/r"
    folder.mkdir(parents=True)
    (folder / "h.overview_page.pb").write_bytes(b"\x0a\x00")
    code, out, _ = report(capsys, tmp_path, "--json")
    (run,) = json.loads(out)["runs"]
    assert code == 3
    assert "no timeline" in run["warnings"][0]
    assert run["warnings"][0].endswith("`--tool list` names the pages that show them")
    assert run["clock"]["lo_ns"] is None
    assert run["duration_s"] is None
    assert run["hosts"] == ["h"]


def test_an_empty_folder_names_the_next_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = report(capsys, tmp_path)
    assert code == 3
    assert "powertui doctor" in out
    write_scalars(
        tmp_path / "train/events.out.tfevents.1.h.7.0.v2", [(1.7e9, 0, "epoch_loss", 0.5)], 1.7e9
    )
    code, out, _ = report(capsys, tmp_path)
    assert code == 3
    assert "no profile was taken or kept" in out


def test_a_path_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = report(capsys, tmp_path / "nowhere")
    assert code == 3
    assert out == ""
    assert err.count("\n") <= 2


def test_a_named_power_log_that_is_not_there_is_an_error(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = report(capsys, data / JAX, "--power", "nowhere.csv")
    assert code != 0
    assert "nowhere.csv" in err


# ── weight ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "args", [["report", "--json"], ["report"], ["report", "--csv"], ["doctor"]]
)
def test_neither_textual_nor_pandas_is_imported(args: list[str]) -> None:
    code = (
        "import sys; from powertui.cli import main; "
        f"main([{args[0]!r}, {str(demo.folder())!r}, *{args[1:]!r}]); "
        "print([m for m in ('textual', 'pandas', 'rich', 'plotext') if m in sys.modules], "
        "file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


# ── recordings ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "events", "steps", "epochs"),
    [
        ("own/keras_cifar", 767_110, 700, 2),
        ("own/custom_loop", 69_080, 60, 0),
        ("own/two_epochs_with_burst", 179_470, 200, 2),
        ("public/powerboard_tf22_run195247", 20_501, 21, 2),
    ],
)
def test_the_numbers_of_every_recording(
    shared_data: Path,
    capsys: pytest.CaptureFixture[str],
    path: str,
    events: int,
    steps: int,
    epochs: int,
) -> None:
    (run,) = as_json(capsys, shared_data / path)["runs"]
    assert (run["events"], run["steps"], run["epochs"]) == (events, steps, epochs)


def test_both_runs_of_jax(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [run["steps"] for run in as_json(capsys, shared_data / "own/jax_cpu")["runs"]] == [
        20,
        20,
    ]


def test_the_manual_names_every_promised_key() -> None:
    manual = (Path(__file__).parents[3] / "docs/report.md").read_text()
    for kinds in (PROMISED, CLOCK, PROFILE, STEPS, STEP, EPOCH, PHASE, POWER):
        assert [key for key in kinds if f"`{key}`" not in manual] == []


def test_a_report_looks_for_nothing_that_it_does_not_print(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joules of the profile need no idle power and no epochs'; where power lies is asked once, for
    them and for what stands out.
    """
    placed: list[object] = []
    really = align.place_all
    monkeypatch.setattr(align, "place_all", lambda *args: placed.append(args) or really(*args))
    monkeypatch.setattr(
        Account, "epoch_energies", property(lambda _: pytest.fail("nobody asked for epochs"))
    )
    monkeypatch.setattr(idle, "of_all", lambda *_: pytest.fail("nobody asked what was drawn idle"))
    found = logdir.scan(demo.folder())
    opened = Opened(found.runs[0])
    told = facts.of_run(opened.entry, opened.run, "", opened.profiles)
    assert told["energy"]["joules"] > 0
    assert len(placed) == 1
    assert account.energy_account(opened.profiles[0]).placed is not None
    assert len(placed) == 1
    assert told["energy"] == facts.of_run(opened.entry, opened.run)["energy"]

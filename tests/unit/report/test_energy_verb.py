"""`powertui energy`: its JSON is what it promises, its text is calm, unknown is never 0."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest

from powertui import cli, demo
from tests.synthetic import Burst, Plan, build

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    root = tmp_path_factory.mktemp("energy")
    work = build(3, Plan(seconds=24, step_s=0.2, bursts=(Burst(1, 20, 40, 80.0),)))
    profile = root / "plugins" / "profile" / "2024_01_01_00_00_00" / "host.xplane.pb"
    profile.parent.mkdir(parents=True)
    profile.write_bytes(work.xplane())
    rows = []
    at = -7.0
    while at < work.edges[-1]:
        rows.append(f"{1_700_000_000 + at:.3f},{float(work.energy(at - 0.25, at)) / 0.25:.2f}\n")
        at += 0.25
    (root / "power.csv").write_text("time_unix_s,watts\n" + "".join(rows))
    return root, work


def told(capsys, *args: str) -> str:
    assert cli.main(["energy", *args]) == 0
    return capsys.readouterr().out


def test_json_has_what_the_interface_promises(logdir, capsys) -> None:
    root, work = logdir
    (run,) = json.loads(told(capsys, str(root), "--json"))["runs"]
    alignment = run["alignment"]
    assert {"offset_s", "lo_s", "hi_s", "source", "status"} <= alignment.keys()
    assert alignment["status"] == "aligned"
    assert alignment["lo_s"] < alignment["offset_s"] < alignment["hi_s"]
    assert alignment["offset_s"] == pytest.approx(-7.0, abs=0.05)
    (sensor,) = run["sensors"]
    assert {"name", "refresh_s", "quantum_w"} <= sensor.keys()
    assert sensor["refresh_s"] == pytest.approx(0.25, rel=0.05)
    assert len(run["epochs"]) == 2
    assert len(run["steps"]) == len(work.steps)
    for row in [*run["epochs"], *run["steps"]]:
        assert {"joules", "mean_watts", "lo", "hi", "badge"} <= row.keys()
        assert (row["joules"] is None) == bool(row["reason"])
    for number, epoch in enumerate(run["epochs"]):
        first, last = (
            next(s for s in steps if s[0] == number) for steps in (work.steps, work.steps[::-1])
        )
        truth = float(work.energy(epoch["start_s"], epoch["end_s"]))
        assert epoch["joules"] == pytest.approx(truth, rel=0.01)
        assert epoch["badge"] == "measured"
        assert epoch["start_s"] <= first[2] + 0.1
        assert epoch["end_s"] >= last[3] - 0.3
    (finding,) = [f for f in run["findings"] if f["kind"] == "power"]
    assert {"epoch", "step_lo", "step_hi", "delta_watts", "delta_joules"} <= finding.keys()
    assert finding["epoch"] == 1
    assert abs(finding["step_lo"] - 20) <= 3
    assert abs(finding["step_hi"] - 40) <= 3
    assert finding["delta_watts"] == pytest.approx(80, rel=0.15)


def test_steps_that_are_too_short_are_null_with_a_reason(logdir, capsys) -> None:
    root, _ = logdir
    (run,) = json.loads(told(capsys, str(root), "--json"))["runs"]
    short = [s for s in run["steps"] if s["end_s"] - s["start_s"] < 0.45]
    assert len(short) > 50
    for step in short:
        assert step["joules"] is None
        assert step["badge"] is None
        assert "not resolved" in step["reason"]
    mean = run["epochs"][0]["per_step"]
    assert mean["joules"] > 0
    assert mean["badge"] == "measured"


def test_without_power_everything_is_null_and_says_so(logdir, capsys) -> None:
    root, _ = logdir
    (run,) = json.loads(told(capsys, str(root), "--json", "--no-power"))["runs"]
    assert run["alignment"]["status"] == "none"
    assert run["alignment"]["offset_s"] is None
    assert run["sensors"] == []
    assert all(e["joules"] is None for e in run["epochs"])
    assert "no power log was found" in run["notes"][0]


def test_signal_alone_gives_the_same_place(logdir, capsys) -> None:
    root, _ = logdir
    (run,) = json.loads(
        told(capsys, str(root), "--json", "--power", str(root / "power.csv"), "--align", "signal")
    )["runs"]
    assert run["alignment"]["source"] == "by signal"
    assert run["alignment"]["offset_s"] == pytest.approx(-7.0, abs=0.15)
    assert run["alignment"]["lo_s"] <= -7.0 <= run["alignment"]["hi_s"]


def test_offset_and_idle_are_taken_from_the_person(logdir, capsys) -> None:
    root, _ = logdir
    (run,) = json.loads(told(capsys, str(root), "--json", "--offset=-6.5s", "--idle", "77"))["runs"]
    assert run["alignment"]["offset_s"] == -6.5
    assert run["idle_watts"] == {"watts": 77.0, "badge": "assumed"}
    epoch = run["epochs"][0]
    assert epoch["idle_joules"] == pytest.approx(77 * (epoch["end_s"] - epoch["start_s"]))
    assert epoch["active_joules"] == pytest.approx(epoch["joules"] - epoch["idle_joules"])


def test_csv_has_one_row_per_step(logdir, capsys) -> None:
    root, work = logdir
    rows = list(csv.DictReader(io.StringIO(told(capsys, str(root), "--csv"))))
    assert [(int(r["epoch"]), int(r["step"])) for r in rows] == [
        (e, n) for e, n, _, _ in work.steps
    ]
    for row in rows:
        assert bool(row["joules"]) != bool(row["reason"])
        assert row["joules"] == "" or math.isfinite(float(row["joules"]))


def test_text_and_markdown_tell_the_same(logdir, capsys) -> None:
    root, _ = logdir
    text = told(capsys, str(root), "--verbose")
    for words in (
        "Alignment",
        "aligned, wall clocks of both",
        "Sensors",
        "changes at every poll",
        "epoch 1",
        "measured",
        "Findings",
        "epoch 1, steps",
        "not resolved",
        "tracing",
    ):
        assert words in text, words
    assert max(len(line) for line in text.splitlines() if "…" not in line) < 200
    markdown = told(capsys, str(root), "--markdown", "--verbose")
    assert "### Alignment" in markdown
    assert "| epoch 1 |" in markdown


def test_the_demo_finds_the_burst(capsys) -> None:
    (run,) = json.loads(told(capsys, str(demo.folder()), "--json"))["runs"]
    (finding,) = run["findings"]
    assert finding["epoch"] == 1
    assert abs(finding["step_lo"] - 45) <= 3
    assert abs(finding["step_hi"] - 71) <= 3
    assert finding["delta_watts"] == pytest.approx(55, abs=6)
    assert finding["ops"] == []
    assert "no difference in the trace" in finding["text"]
    assert [e["number"] for e in run["epochs"]] == [0, 1]
    assert run["epochs"][1]["joules"] > run["epochs"][0]["joules"]


def test_powerboards_recording_says_what_its_sensor_is(shared_data, capsys) -> None:
    public = shared_data / "public"
    power = public / "powerboard_power_run195247" / "data" / "ipmi_data.csv"
    text = told(
        capsys, str(public / "powerboard_tf22_run195247"), "--power", str(power), "--verbose"
    )
    assert "changes every 3" in text
    assert "in steps of 7 W" in text
    assert "powerboard marker" in text


def test_a_folder_without_anything_is_an_error_with_a_sentence(tmp_path, capsys) -> None:
    assert cli.main(["energy", str(tmp_path)]) == 3
    assert "powertui doctor" in capsys.readouterr().err
    assert cli.main(["energy", str(tmp_path / "nowhere")]) == 3


def test_bad_arguments_get_a_sentence(logdir, capsys, tmp_path) -> None:
    root, _ = logdir
    assert cli.main(["energy", str(root), "--offset", "soon"]) == 2
    assert cli.main(["energy", str(root), "--run", "nosuch"]) == 2
    (tmp_path / "p").write_text("no pins\n")
    assert cli.main(["energy", str(root), "--pins", str(tmp_path / "p")]) == 3
    assert cli.main(["energy", str(root), "--power", str(tmp_path / "p")]) == 3
    assert capsys.readouterr().err.count("powertui:") == 4


def test_a_power_log_alone_is_told_on_its_own_clock(logdir, tmp_path, capsys) -> None:
    root, _ = logdir
    (tmp_path / "only.csv").write_bytes((root / "power.csv").read_bytes())
    for path in (tmp_path, tmp_path / "only.csv"):
        text = told(capsys, str(path), "--verbose")
        assert "on its own clock" in text
        assert "changes at every poll" in text
        shown = json.loads(told(capsys, str(path), "--json"))
        (run,) = shown["runs"]
        assert run["alignment"]["status"] == "none"
        assert run["whole_log"][0]["joules"] > 1000
        (total,) = shown["totals"]
        assert total["joules"] == run["whole_log"][0]["joules"]
        assert run["sensors"][0]["refresh_s"] == pytest.approx(0.25, rel=0.05)
    assert cli.main(["report", str(tmp_path / "only.csv"), "--json"]) == 0
    (reported,) = json.loads(capsys.readouterr().out)["runs"]
    assert reported["energy"]["joules"] == total["joules"]


def test_a_log_above_the_logdir_is_told_of_and_not_taken(tmp_path, capsys) -> None:
    work = build(1, Plan(seconds=6, step_s=0.5, epochs=1))
    profile = tmp_path / "logs" / "plugins" / "profile" / "2024_01_01_00_00_00" / "host.xplane.pb"
    profile.parent.mkdir(parents=True)
    profile.write_bytes(work.xplane())
    rows = "".join(f"{1_700_000_000 + t},{200 + t % 3}\n" for t in range(-5, 15))
    (tmp_path / "power.csv").write_text("time_unix_s,watts\n" + rows)
    assert cli.main(["energy", str(tmp_path / "logs")]) == 0
    told = capsys.readouterr().out
    assert "no power log was found" in told
    assert str(tmp_path / "power.csv") in told
    assert cli.main(["energy", str(tmp_path)]) == 0
    assert "no power log was found" not in capsys.readouterr().out


def test_a_window_of_two_gpus_has_a_row_of_each(tmp_path, capsys) -> None:
    lines = ["timestamp, index, name, power.draw [W]"]
    for second in range(120):
        for gpu, watts in ((0, 200), (1, 290)):
            moment = f"2026/11/20 14:{second // 60:02d}:{second % 60:02d}.{gpu}00"
            lines.append(f"{moment}, {gpu}, NVIDIA A100-SXM4-40GB, {watts + second % 2:.2f} W")
    log = tmp_path / "gpus.csv"
    log.write_text("\n".join(lines) + "\n")
    assert cli.main(["energy", str(log), "--from", "30s", "--to", "90s"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:4]]
    assert rows[0][0] == "gpus.csv"
    assert rows[1][:2] == ["GPU", "0"]
    assert rows[2][:2] == ["GPU", "1"]
    total, first, second = (float(row[row.index("kJ") - 1]) for row in rows)
    assert total == pytest.approx(first + second, abs=0.02)


def test_what_is_left_out_of_the_answer_is_said_beside_it(tmp_path, capsys) -> None:
    """Two columns of which nothing says what they cover: the answer is of one of them."""
    lines = ["time,alpha_watts,beta_watts"]
    for second in range(60):
        lines.append(f"{1_700_000_000 + second},{100 + second % 3},{50 + second % 2}")
    log = tmp_path / "two.csv"
    log.write_text("\n".join(lines) + "\n")
    doubt = "alpha alone: it is not known which of the 2 channels overlap"
    assert f"counted: {doubt}" in told(capsys, str(log)).splitlines()
    assert cli.main(["report", str(log)]) == 0
    assert f"That is {doubt}." in " ".join(capsys.readouterr().out.split())

"""`powertui export`: which window the arguments mean."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.power_world import SENSORS, make, plan, record, write, write_log
from powertui import cli, units
from powertui.terminal import marked
from tests.synthetic import Plan, build

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    root = tmp_path_factory.mktemp("run")
    work = build(1, Plan(seconds=12, step_s=0.5, epochs=2))
    profile = root / "logs" / "plugins" / "profile" / "2024_01_01_00_00_00" / "host.xplane.pb"
    profile.parent.mkdir(parents=True)
    profile.write_bytes(work.xplane())
    rows = "".join(f"{1_700_000_000 + t},{work.power(t)}\n" for t in range(-5, 15))
    (root / "logs" / "power.csv").write_text("time_unix_s,watts\n" + rows)
    return root, profile, work


def export(capsysbinary, *args: str) -> tuple[int, list[dict[str, str]], str]:
    code = cli.main(["export", *args])
    out, err = capsysbinary.readouterr()
    body = "\r\n".join(line for line in out.decode().split("\r\n") if not line.startswith("# "))
    return code, list(csv.DictReader(io.StringIO(body))), err.decode()


def test_by_time(logdir, capsysbinary) -> None:
    root, _, _ = logdir
    code, rows, err = export(capsysbinary, str(root / "logs"), "--from", "2s", "--to", "5s")
    assert code == 0
    assert len(rows) == 3
    assert all(2 <= float(r["about_s"]) < 5 for r in rows)
    assert "Wrote 3 samples to standard output." in err


def test_a_window_between_two_readings_says_why_its_file_is_empty(logdir, capsysbinary) -> None:
    root, _, _ = logdir
    code, rows, err = export(capsysbinary, str(root / "logs"), "--from", "2.3s", "--to", "2.39s")
    assert (code, rows) == (0, [])
    assert "Wrote 0 samples to standard output. No reading is in the window" in err


def test_by_epoch_and_steps(logdir, capsysbinary) -> None:
    root, _, work = logdir
    _, rows, _ = export(
        capsysbinary, str(root / "logs"), "--epoch", "1", "--steps", "3-5", "--what", "steps"
    )
    assert [(r["epoch"], r["step"]) for r in rows] == [("1", "3"), ("1", "4"), ("1", "5")]
    start = next(lo for e, n, lo, _ in work.steps if (e, n) == (1, 3))
    assert float(rows[0]["start_s"]) == pytest.approx(start)


def test_by_the_mark_that_the_timeline_left(logdir, capsysbinary) -> None:
    root, profile, _ = logdir
    assert cli.main(["export", str(root / "logs"), "--marked"]) == 2
    assert b"m at its start" in capsysbinary.readouterr().err
    assert marked.save(str(profile), int(4e12), int(1e12))
    code, rows, _ = export(capsysbinary, str(root / "logs"), "--marked")
    assert code == 0
    assert len(rows) == 3
    assert all(1 <= float(r["about_s"]) < 4 for r in rows)
    assert marked.forget(str(profile))
    assert marked.load(str(profile)) is None


def test_everything_without_a_window(logdir, capsysbinary) -> None:
    root, _, work = logdir
    _, rows, _ = export(capsysbinary, str(root / "logs"), "--what", "steps")
    assert len(rows) == len(work.steps)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--from", "5s", "--to", "2s"), "ends before it starts"),
        (("--from", "soon"), "is not a time"),
        (("--from", "900s"), "has nothing"),
        (("--from", "1s", "--epoch", "1"), "given twice"),
        (("--epoch", "7"), "There is no epoch 7"),
        (("--steps", "3-5"), "More than one epoch"),
        (("--epoch", "1", "--steps", "900"), "no such step"),
        (("--epoch", "1", "--steps", "a-b"), "is not a range of steps"),
        (("--host", "nobody"), "There is no host"),
        (("--format", "parquet", "--what", "perfetto"), "JSON"),
    ],
)
def test_what_makes_no_sense_gets_a_sentence(logdir, capsysbinary, args, words) -> None:
    root, _, _ = logdir
    assert cli.main(["export", str(root / "logs"), *args]) == 2
    out, err = capsysbinary.readouterr()
    assert words in err.decode()
    assert out == b""


def test_a_file_is_not_overwritten(logdir, tmp_path, capsysbinary) -> None:
    root, _, _ = logdir
    target = tmp_path / "out.csv"
    assert cli.main(["export", str(root / "logs"), "-o", str(target)]) == 0
    before = target.read_bytes()
    assert cli.main(["export", str(root / "logs"), "-o", str(target), "--from", "1s"]) == 2
    assert target.read_bytes() == before
    assert (
        cli.main(["export", str(root / "logs"), "-o", str(target), "--from", "1s", "--force"]) == 0
    )
    assert target.read_bytes() != before


def test_a_state_file_that_others_wrote_is_not_believed(logdir) -> None:
    _, profile, _ = logdir
    place = marked.place()
    place.parent.mkdir(parents=True)
    key = json.dumps(str(profile))
    for value in ('["a", 2]', "[5, 2]", "[1e400, 2]", "[true, 2]", "{}"):
        place.write_text(f"{{{key}: {value}}}")
        assert marked.load(str(profile)) is None
    for text in ("", "[]", "{", '{"x": 1}'):
        place.write_text(text)
        assert marked.load(str(profile)) is None
    assert marked.save(str(profile), 1, 2)
    assert marked.load(str(profile)) == (1, 2)
    for number in range(marked.MAX_RUNS + 5):
        marked.save(f"/other/{number}", 1, 2)
    assert marked.load(str(profile)) is None  # only the last few are kept
    assert place.stat().st_mode & 0o077 == 0


# ── what is asked for is what is written ─────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A training of two epochs, and the same with the log of one sensor."""
    folder = tmp_path_factory.mktemp("world")
    made = make(plan(3, quiet=True))
    logs = write(made, folder)

    def with_log(sensor: str) -> tuple[Path, Path]:
        path = folder / f"{sensor}.csv"
        return logs, write_log(record(made, SENSORS[sensor], 3), path, "wall")

    return with_log


@pytest.fixture(
    scope="module", params=["mean 0.5 s, 1 W", "mean 3 s, 7 W", "counter 0.1 s", "moment 0.04 s"]
)
def recorded(request, world):
    """Sensors that lag by up to two seconds."""
    return world(request.param)


@pytest.fixture(scope="module")
def recorded_once(world):
    """The slowest of them."""
    return world("mean 3 s, 7 W")


def exported(recorded, path: Path, *args: str) -> tuple[pd.DataFrame, dict]:
    logs, log = recorded
    assert (
        cli.main(["export", str(logs), "--power", str(log), "-o", str(path), "--force", *args]) == 0
    )
    return pd.read_csv(path), json.loads(Path(f"{path}.about.json").read_text())


def test_the_steps_that_were_asked_for_are_those_in_the_file(recorded, tmp_path) -> None:
    whole, _ = exported(recorded, tmp_path / "all.csv")
    rows, _ = exported(recorded, tmp_path / "some.csv", "--epoch", "1", "--steps", "20-60")
    assert rows.epoch.eq(1).all()
    assert rows.step.between(20, 60).all()
    mine = whole[(whole.epoch == 1) & whole.step.between(20, 60)]
    assert rows.unix_s.tolist() == mine.unix_s.tolist()
    assert len(rows) > 3


def test_samples_add_up_to_what_the_report_says_of_the_epoch(recorded, tmp_path, capsys) -> None:
    rows, about = exported(recorded, tmp_path / "epoch.csv", "--epoch", "1")
    capsys.readouterr()
    logs, log = recorded
    assert cli.main(["energy", str(logs), "--power", str(log), "--json"]) == 0
    told = next(
        e for e in json.loads(capsys.readouterr().out)["runs"][0]["epochs"] if e["number"] == 1
    )
    (column,) = [name for name in rows.columns if name.startswith("joules: ")]
    assert rows[column].sum() == pytest.approx(told["joules"], rel=1e-9)
    (energy,) = about["energy"]
    assert (energy["joules"], energy["lo"], energy["hi"]) == pytest.approx(
        (told["joules"], told["lo"], told["hi"])
    )
    assert energy["badge"] == told["badge"]
    assert any(key == "energy" and "95 %" in value for key, value in about["about"])


@pytest.mark.parametrize("what", ["samples", "steps", "ops", "events"])
def test_pandas_reads_every_file_without_arguments(recorded_once, tmp_path, what: str) -> None:
    logs, log = recorded_once
    frame, about = exported(recorded_once, tmp_path / "x.csv", "--what", what)
    assert len(frame)
    assert frame.columns.tolist() == [column["name"] for column in about["columns"]]
    for exact, iso in (("unix_s", "time_utc"), ("unix_start_s", "start_utc")):
        if exact in frame:
            moments = pd.to_datetime(frame[iso])
            assert (
                moments - pd.to_datetime(frame[exact], unit="s", utc=True)
            ).abs().max() < pd.Timedelta("1us")
    packed = tmp_path / "x.csv.gz"
    assert (
        cli.main(["export", str(logs), "--power", str(log), "--what", what, "-o", str(packed)]) == 0
    )
    pd.testing.assert_frame_equal(pd.read_csv(packed), frame)


def test_comments_stand_above_the_table_when_they_are_asked_for(
    logdir, tmp_path, capsysbinary
) -> None:
    root, _, _ = logdir
    path = tmp_path / "x.csv"
    assert cli.main(["export", str(root / "logs"), "-o", str(path), "--comments"]) == 0
    assert path.read_text().startswith("# powertui: ")
    assert "# energy: watts: " in path.read_text()
    assert [p.name for p in tmp_path.glob("x.csv*")] == ["x.csv"]
    assert cli.main(["export", str(root / "logs")]) == 0
    assert capsysbinary.readouterr().out.startswith(b"unix_s,time_utc,")


def test_a_note_of_another_file_is_not_replaced(logdir, tmp_path, capsysbinary) -> None:
    root, _, _ = logdir
    note = tmp_path / "x.csv.about.json"
    note.write_text("precious")
    assert cli.main(["export", str(root / "logs"), "-o", str(tmp_path / "x.csv")]) == 2
    assert "already exists" in capsysbinary.readouterr().err.decode()
    assert note.read_text() == "precious"
    assert [p.name for p in tmp_path.glob("*.csv*")] == ["x.csv.about.json"]


def test_every_channel_is_cut_by_its_own_lag(world, tmp_path) -> None:
    (logs, slow_log), (_, quick_log) = world("mean 3 s, 7 W"), world("moment 0.04 s")
    paths = [slow_log, quick_log]
    both = [part for path in paths for part in ("--power", str(path))]
    assert (
        cli.main(
            [
                "export",
                str(logs),
                *both,
                "--epoch",
                "1",
                "--steps",
                "20-60",
                "-o",
                str(tmp_path / "x.csv"),
            ]
        )
        == 0
    )
    frame = pd.read_csv(tmp_path / "x.csv")
    assert frame.step.between(20, 60).all()
    lag = frame.trace_s - frame.about_s
    slow, quick = (frame[name].notna() for name in ("watts: watts", "watts: watts (2)"))
    assert lag[slow].min() > 1.0
    assert lag[quick].max() < 0.1
    assert slow.sum() > 5
    assert quick.sum() > 50


def test_a_power_log_alone_is_exported_with_the_joules_that_energy_reports(
    tmp_path: Path, capsysbinary
) -> None:
    log = tmp_path / "power.csv"
    log.write_text(
        "time_unix_s,watts\n" + "".join(f"{1_700_000_000 + t},{200 + t}\n" for t in range(60))
    )
    code, rows, err = export(capsysbinary, str(log))
    assert code == 0
    assert len(rows) > 50
    cli.main(["energy", str(log), "--json"])
    (whole,) = json.loads(capsysbinary.readouterr().out)["runs"][0]["whole_log"]
    joules = units.energy_interval(whole["joules"], whole["lo"], whole["hi"])
    assert f"The window: {joules}, measured." in err
    code, _, err = export(capsysbinary, str(log), "--what", "openmetrics")
    assert (code, "samples to standard output" in err) == (0, True)
    code, _, err = export(capsysbinary, str(log), "--what", "steps")
    assert (code, "has no profile to export from" in err) == (3, True)

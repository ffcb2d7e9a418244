"""`powertui export`: which window the arguments mean."""

from __future__ import annotations

import csv
import io
import json

import pytest

from powertui import cli
from powertui.terminal import marked
from tests.synthetic import Plan, build


@pytest.fixture
def logdir(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    work = build(1, Plan(seconds=12, step_s=0.5, epochs=2))
    profile = tmp_path / "logs" / "plugins" / "profile" / "2024_01_01_00_00_00" / "host.xplane.pb"
    profile.parent.mkdir(parents=True)
    profile.write_bytes(work.xplane())
    rows = "".join(f"{1_700_000_000 + t},{work.power(t)}\n" for t in range(-5, 15))
    (tmp_path / "logs" / "power.csv").write_text("time_unix_s,watts\n" + rows)
    return tmp_path, profile, work


def export(capsysbinary, *args: str) -> tuple[int, list[dict[str, str]], str]:
    code = cli.main(["export", *args])
    out, err = capsysbinary.readouterr()
    body = "\r\n".join(line for line in out.decode().split("\r\n") if not line.startswith("# "))
    return code, list(csv.DictReader(io.StringIO(body))), err.decode()


def test_by_time(logdir, capsysbinary) -> None:
    root, _, _ = logdir
    code, rows, err = export(capsysbinary, str(root / "logs"), "--from", "2s", "--to", "5s")
    assert code == 0
    assert [round(float(r["trace_s"])) for r in rows] == [2, 3, 4]
    assert "Wrote 3 samples to standard output." in err


def test_by_epoch_and_steps(logdir, capsysbinary) -> None:
    root, _, work = logdir
    _, rows, _ = export(capsysbinary, str(root / "logs"), "--epoch", "1", "--steps", "3-5", "--what", "steps")
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
    assert [round(float(r["trace_s"])) for r in rows] == [1, 2, 3]
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


def test_a_file_beside_the_logs_is_not_overwritten(logdir, capsysbinary) -> None:
    root, _, _ = logdir
    target = root / "out.csv"
    assert cli.main(["export", str(root / "logs"), "-o", str(target)]) == 0
    before = target.read_bytes()
    assert cli.main(["export", str(root / "logs"), "-o", str(target), "--from", "1s"]) == 2
    assert target.read_bytes() == before
    assert cli.main(["export", str(root / "logs"), "-o", str(target), "--from", "1s", "--force"]) == 0
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
    for number in range(marked.KEPT + 5):
        marked.save(f"/other/{number}", 1, 2)
    assert marked.load(str(profile)) is None  # only the last few are kept
    assert place.stat().st_mode & 0o077 == 0

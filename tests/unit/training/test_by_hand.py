"""Trainings that a person put together otherwise: what moves, who sees it, and where it is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import powertui
from powertui import cli
from powertui.data import logdir
from powertui.data.logdir import Logdir, TrainingEntry, by_hand, moves
from powertui.data.logdir.moves import Move
from powertui.errors import PowertuiError
from tests.synthetic.long_training import long_training, two_trainings


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return two_trainings(tmp_path / "logs")


def named(found: Logdir, name: str) -> TrainingEntry:
    return next(one for one in found.trainings if one.name == name)


def moved(found: Logdir, kind: str, number: int = 0, out_of: str = "one", to: str = "two") -> Move:
    source = named(found, out_of)
    chosen = [part for part in by_hand.parts(source) if part.kind == kind][number]
    return by_hand.move((chosen,), (source,), named(found, to) if to else None)


def test_the_parts_of_a_training_are_named(logs: Path) -> None:
    told = [(part.kind, part.name) for part in by_hand.parts(named(logdir.scan(logs), "one"))]
    assert told == [
        ("session", "one/train/session_0"),
        ("session", "one/train/session_1"),
        ("scalars", "one (train, validation, process 77 of vm)"),
        ("power log", "power.csv"),
    ]


def test_a_session_goes_to_another_training_and_reads_what_that_reads(logs: Path) -> None:
    found = logdir.scan(logs)
    after = by_hand.corrected(found, [moved(found, "session", 1)])
    one, two = named(after, "one"), named(after, "two")
    assert [run.name for run in one.sessions] == ["one/train/session_0"]
    assert [run.name for run in two.sessions] == ["one/train/session_1", "two/train/session_0"]
    came = two.sessions[0]
    assert came in after.runs, "the list, report and API have the same run"
    assert {log.path for log in came.power} == {str(logs / "two" / "power.csv")}
    assert {Path(file.path).parts[-3] for file in came.tfevents if file.kind == "scalars"} == {
        "two"
    }
    assert one.sessions[0] in found.runs or one.sessions[0] in after.runs
    assert {log.path for log in one.sessions[0].power} == {str(logs / "one" / "power.csv")}, (
        "the one that stays is as it was"
    )
    assert (one.by_hand, two.by_hand) == (True, True)
    assert two.reasons[-1] == "put in by hand: one/train/session_1"
    assert one.reasons[-1] == "taken out by hand: one/train/session_1"
    assert one.first_ns == named(found, "one").first_ns


def test_what_is_taken_out_is_a_training_of_its_own(logs: Path) -> None:
    found = logdir.scan(logs)
    for kind, name in (
        ("session", "one/train/session_0"),
        ("scalars", "one"),
        ("power log", "one/power.csv"),
    ):
        after = by_hand.corrected(found, [moved(found, kind, to="")])
        assert len(after.trainings) == 3
        own = next(one for one in after.trainings if one.reasons == ("set apart by hand",))
        assert own.name.startswith(name)
        assert len(by_hand.parts(own)) == 1
        left = next(
            one
            for one in after.trainings
            if one.path == named(found, "one").path and one.sessions and one is not own
        )
        assert kind not in [
            part.kind for part in by_hand.parts(left) if part.name != "one/train/session_1"
        ]


def test_scalars_that_leave_take_the_time_with_them(logs: Path) -> None:
    found = logdir.scan(logs)
    after = by_hand.corrected(found, [moved(found, "scalars", to="")])
    left = next(one for one in after.trainings if len(one.sessions) == 2)
    assert (left.first_ns, left.last_ns) == (None, None)
    assert not any(file.kind == "scalars" for run in left.sessions for file in run.tfevents)


def test_power_that_several_trainings_share_leaves_only_the_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (long_training(tmp_path / "logs" / name, sessions=(40.0,)) / "power.csv").rename(
            tmp_path / "logs" / "power.csv"
        )
    found = logdir.scan(tmp_path / "logs")
    after = by_hand.corrected(found, [moved(found, "power log", to="")])
    assert len(after.trainings) == 2
    assert [len(named(after, name).power) for name in ("one", "two")] == [0, 1]
    assert [len(run.power) for name in ("one", "two") for run in named(after, name).sessions] == [
        0,
        1,
    ]
    again = by_hand.corrected(
        after, [*after.moves, moved(found, "power log", out_of="two", to="one")]
    )
    assert [len(named(again, name).power) for name in ("one", "two")] == [1, 0]


def test_moves_follow_each_other_and_the_last_is_taken_back_by_leaving_it_out(logs: Path) -> None:
    found = logdir.scan(logs)
    first = by_hand.corrected(found, [moved(found, "session", 1)])
    back = moved(first, "session", 0, "two", "one")
    assert back.parts == first.moves[0].parts
    both = by_hand.corrected(first, [*first.moves, back])
    assert both.trainings == found.trainings
    assert by_hand.corrected(both, both.moves[:1]).trainings == first.trainings
    assert by_hand.corrected(both, ()) is found


def test_a_training_that_is_emptied_is_gone(logs: Path) -> None:
    found = logdir.scan(logs)
    source = named(found, "two")
    after = by_hand.corrected(
        found, [by_hand.move(by_hand.parts(source), (source,), named(found, "one"))]
    )
    assert [one.name for one in after.trainings] == ["one"]
    assert len(after.trainings[0].sessions) == 3


def test_it_holds_from_wherever_the_logs_are_looked_at(logs: Path, tmp_path: Path) -> None:
    found = logdir.scan(logs)
    moves.add(moved(found, "power log", to=""))
    (tmp_path / "link").symlink_to(logs)
    session = logs / "one" / "train" / "plugins" / "profile" / "session_1"
    for path in (logs, tmp_path / "link", logs / "one", session, session / "vm.xplane.pb"):
        seen = logdir.scan(path)
        run = next(
            run
            for run in seen.runs
            if run.path in (str(session), str(session / "vm.xplane.pb"), run.path) and run.profiles
        )
        assert not [log for log in run.power if Path(log.path).parent.name == "one"], path
    assert not logdir.scan(logs / "two").moves, "nothing was moved there"


def test_several_paths_are_put_together_as_one(logs: Path) -> None:
    paths = [str(logs / "one"), str(logs / "two")]
    (*_, found) = logdir.stream_all(paths)
    session = next(one for one in found.trainings if len(one.sessions) == 2)
    other = next(one for one in found.trainings if len(one.sessions) == 1)
    moves.add(by_hand.move(by_hand.parts(session)[:1], (session,), other))
    (*_, after) = logdir.stream_all(paths)
    assert sorted(len(one.sessions) for one in after.trainings) == [1, 2]
    assert next(one for one in after.trainings if len(one.sessions) == 2).by_hand


def test_report_energy_and_api_see_it(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = logdir.scan(logs)
    moves.add(moved(found, "session", 1))
    runs = powertui.open(logs)
    (came,) = [run for run in runs if run.name == "one/train/session_1"]
    assert came.training.name == "two"
    assert came.training.reasons[-1] == "put in by hand: one/train/session_1"
    moves.add(moved(found, "power log", to=""))
    assert cli.main(["energy", str(logs), "--run", "one/train/session_0"]) == 0
    assert "no power log was found" in capsys.readouterr().out
    assert cli.main(["report", str(logs), "--run", "one/train/session_1", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["trainings"]
    assert (told["name"], told["by_hand"]) == ("two", True)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"moves": []}',
        b"[" * 100_000,
        b'{"what": "powertui: what belongs to which training"}',
        (
            b'{"what": "powertui: what belongs to which training", "moves": [{"parts": '
            b'["relative"], "out_of": [], "to": []}]}'
        ),
        b'{"what": "powertui: what belongs to which training", "moves": [7]}',
    ],
)
def test_a_file_that_is_not_ours_costs_a_sentence_and_is_kept(logs: Path, content: bytes) -> None:
    moves.place().parent.mkdir(parents=True, exist_ok=True)
    moves.place().write_bytes(content)
    found = logdir.scan(logs)
    (problem,) = [str(warn) for warn in found.problems]
    assert problem.endswith(moves.NOT_OURS)
    assert not found.moves
    assert moves.add(moved(found, "session"))
    assert logdir.scan(logs).moves
    assert not logdir.scan(logs).problems
    assert moves.place().with_name("trainings.json.not-read").read_bytes() == content


def test_nothing_is_written_beside_the_logs(logs: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in logs.rglob("*")}
    found = logdir.scan(logs)
    moves.add(moved(found, "session"))
    logdir.scan(logs)
    assert moves.take_back(moves.load()[0][-1])
    assert logdir.scan(logs).trainings == found.trainings
    assert {path: path.stat().st_mtime_ns for path in logs.rglob("*")} == before


def test_a_state_folder_that_cannot_be_written_is_said(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    try:
        assert not moves.add(moved(logdir.scan(logs), "session"))
    except PowertuiError:
        pytest.fail("it is only said")


def test_what_is_no_longer_there_is_passed_over(logs: Path) -> None:
    found = logdir.scan(logs)
    gone = Move((str(logs / "gone"),), (str(logs / "one"),), ())
    assert by_hand.corrected(found, [gone]) is found

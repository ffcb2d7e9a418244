"""Notes: kept in a file of one's own, by the content of the run, whatever else happens to that file."""

from __future__ import annotations

import json
import multiprocessing
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from powertui import cli, demo
from powertui.config import data_folder
from powertui.data import logdir
from powertui.data.logdir import RunEntry
from powertui.data.notes import (
    MAX_NOTE_CHARS,
    add_note,
    checked_text,
    delete_note,
    note_named,
    run_notes,
)
from powertui.errors import PowertuiError, UnreadableFile, UsageError
from powertui.screens.trainings import only

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))


def copied_run(folder: Path) -> RunEntry:
    shutil.copytree(demo.folder(), folder)
    return logdir.scan(str(folder)).runs[0]


def own_file() -> Path:
    (path,) = (data_folder() / "notes").iterdir()
    return path


def texts(entry: RunEntry) -> list[str]:
    return [note.text for note in run_notes(entry).notes]


def test_notes_stay_with_a_run_that_is_moved_and_nothing_is_written_beside_it(
    tmp_path: Path,
) -> None:
    entry = copied_run(tmp_path / "before")
    files = sorted(path for path in (tmp_path / "before").rglob("*"))
    late = add_note(entry, "late", (5, 9), "vm")
    add_note(entry, "whole", None)
    add_note(entry, "early", (2, 2))
    assert sorted((tmp_path / "before").rglob("*")) == files
    (tmp_path / "before").rename(tmp_path / "after")
    moved = logdir.scan(str(tmp_path / "after")).runs[0]
    assert texts(moved) == ["whole", "early", "late"]
    assert run_notes(moved).notes[2] == late
    delete_note(moved, late)
    assert texts(moved) == ["whole", "early"]
    assert own_file().stat().st_mode & 0o077 == 0


def test_beside_the_run_when_that_is_asked_for(tmp_path: Path) -> None:
    entry = copied_run(tmp_path / "run")
    note = add_note(entry, "for all", (1, 2), beside=True)
    assert not data_folder().exists()
    assert run_notes(entry).notes == (note,)
    assert logdir.scan(str(tmp_path / "run")).problems == ()
    delete_note(entry, note)
    assert texts(entry) == []


def _log(path: Path, watts: int) -> None:
    rows = [f"{1_700_000_000 + second},{watts + second % 3}" for second in range(60)]
    path.write_text("timestamp,watts\n" + "\n".join(rows) + "\n")


def test_a_folder_of_logs_alone_has_notes_like_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").mkdir()
    _log(tmp_path / "logs" / "power.csv", 100)
    shown = only(logdir.scan(str(tmp_path / "logs")))
    assert shown is not None
    add_note(shown, "the fan", None, "")  # as a screen writes it
    assert cli.main(["note", str(tmp_path / "logs")]) == 0
    assert "the fan" in capsys.readouterr().out


def test_logs_of_several_machines_are_named_where_one_is_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("node1.csv", "node2.csv"):
        _log(tmp_path / name, 100)
    folder = replace(logdir.scan(str(tmp_path)), by_hand=())
    with pytest.raises(UnreadableFile, match="holds power logs, but no run") as refused:
        folder.only(None)
    assert "node1.csv" in str(refused.value.hint)
    assert "node2.csv" in str(refused.value.hint)


def test_a_text_is_one_line_without_anything_that_a_terminal_obeys() -> None:
    assert checked_text(" a\n\tb \x1b[31m c\u202e ") == "a b \\x1b[31m c\\u202e"
    assert checked_text("x" * MAX_NOTE_CHARS) == "x" * MAX_NOTE_CHARS
    for text, sentence in (
        (" \n", "A note needs a text."),
        ("x" * 1001, "A note has at most 1,000 characters; this one has 1,001."),
    ):
        with pytest.raises(UsageError) as refused:
            checked_text(text)
        assert str(refused.value) == sentence


def test_a_damaged_file_costs_only_its_damaged_lines(tmp_path: Path) -> None:
    entry = copied_run(tmp_path / "run")
    add_note(entry, "first", (1, 2))
    path = own_file()
    hostile = [
        b'{"id": "a", "text": "torn',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"id": 5, "text": "x"}',
        b'{"id": "b", "text": "x", "lo_ps": 9, "hi_ps": 1}',
        b'{"id": "c", "text": "x", "lo_ps": 1e400, "hi_ps": 2}',
        b'{"id": "d", "text": "x", "lo_ps": ' + b"9" * 30 + b', "hi_ps": ' + b"9" * 31 + b"}",
    ]
    with path.open("ab") as file:
        file.write(b"\n".join(hostile))  # the last one without a line end
    before = path.read_bytes()
    add_note(entry, "second", (3, 4))
    assert texts(entry) == ["first", "second"]
    problem = run_notes(entry).problem
    assert problem == f"7 lines of {path} cannot be read as a note; nothing in it was changed."
    assert path.read_bytes().startswith(before)


def test_a_foreign_note_is_made_harmless(tmp_path: Path) -> None:
    entry = copied_run(tmp_path / "run")
    line = {"id": "a\x1b]0;x\x07", "text": "\x1b[2J" + "y" * 5000, "lo_ps": 1, "hi_ps": 2}
    (Path(entry.path) / ".powertui-notes.jsonl").write_text(json.dumps(line))
    (note,) = run_notes(entry).notes
    assert note.id == "a\\x1b]0;x\\x07"
    assert note.text.startswith("\\x1b[2Jyyy")
    assert len(note.text) == MAX_NOTE_CHARS


def test_a_file_that_is_no_file_is_a_sentence(tmp_path: Path) -> None:
    entry = copied_run(tmp_path / "run")
    add_note(entry, "first", None)
    path = own_file()
    path.unlink()
    path.mkdir()
    found = run_notes(entry)
    assert found.notes == ()
    assert found.problem.startswith(f"The notes in {path} cannot be read: ")
    with pytest.raises(PowertuiError) as refused:
        add_note(entry, "second", None)
    assert str(refused.value).startswith(f"The note cannot be kept in {path}: ")
    path.rmdir()
    path.write_bytes(b"\n" * ((4 << 20) + 1))
    assert run_notes(entry).problem == f"{path} is too large for notes."


def _write(folder: str, writer: int) -> None:
    entry = logdir.scan(folder).runs[0]
    for number in range(40):
        add_note(entry, f"{writer} {number} " + "x" * 900, (number, number + 1))


def test_several_programs_write_at_once_and_none_loses_a_note(tmp_path: Path) -> None:
    entry = copied_run(tmp_path / "run")
    spawning = multiprocessing.get_context("spawn")
    folder = str(tmp_path / "run")
    writers = [spawning.Process(target=_write, args=(folder, writer)) for writer in range(3)]
    for process in writers:
        process.start()
    for process in writers:
        process.join(60)
        assert process.exitcode == 0
    found = run_notes(entry)
    assert found.problem == ""
    assert len(found.notes) == 3 * 40


def test_an_id_may_be_shortened_as_long_as_it_is_one(tmp_path: Path) -> None:
    entry = copied_run(tmp_path / "run")
    notes = (add_note(entry, "a", None), add_note(entry, "b", None))
    assert note_named(notes, notes[0].id) is notes[0]
    with pytest.raises(UsageError, match="No note, or more than one"):
        note_named(notes, "")


def test_the_verb_writes_lists_exports_and_deletes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied_run(tmp_path / "run")
    folder = str(tmp_path / "run")
    assert cli.main(["note", folder]) == 0
    assert capsys.readouterr().out.startswith("This run has no notes.")
    assert cli.main(["note", folder, "=cmd() <b>", "--at", "epoch 1 step 45-71"]) == 0
    assert cli.main(["note", folder, "a moment", "--at", "9.2s"]) == 0
    capsys.readouterr()
    assert cli.main(["note", folder, "--json"]) == 0
    moment, steps = json.loads(capsys.readouterr().out)["notes"]
    assert (moment["place"], moment["start_s"], moment["end_s"]) == ("9.2s", 9.2, 9.2)
    assert steps["place"] == "15.648664455s-18.265764969s"
    export = ["export", folder, "--at", "epoch 1 step 45-71", "-o", "-"]
    assert cli.main([*export, "--comments"]) == 0
    written = capsys.readouterr().out
    assert "# note: 15.648664455s-18.265764969s: =cmd() <b>" in written
    assert "a moment" not in written, "it is not in this window"
    assert cli.main([*export, "--what", "perfetto"]) == 0
    events = json.loads(capsys.readouterr().out)["traceEvents"]
    (span,) = (event for event in events if event.get("cat") == "note")
    assert (span["name"], span["ph"], span["ts"]) == ("=cmd() <b>", "X", 15648664.455)
    page = tmp_path / "run.html"
    assert cli.main(["report", folder, "--html", str(page)]) == 0
    assert "<dt>15.648664455s-18.265764969s</dt><dd>=cmd() &lt;b&gt;</dd>" in page.read_text(
        "utf-8"
    )
    capsys.readouterr()
    assert cli.main(["note", folder, "--delete", steps["id"][:6]]) == 0
    assert capsys.readouterr().err == f"Deleted note {steps['id']}: =cmd() <b>\n"
    assert cli.main(["note", folder]) == 0
    assert capsys.readouterr().out == f"{moment['id']}  9.2s  a moment\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["x", "--at", "epoch 9"], "There is no epoch 9."),
        (["x", "--at", "999s"], "The profile has nothing at that moment."),
        (["x", "--at", "1s-2s, host y"], "There is no host 'y'."),
        (["--at", "1s-2s"], "A note needs a text."),
        (["x", "--delete", "1"], "A note is either written or deleted."),
        (["--delete", "zz"], "No note, or more than one, has the id 'zz'."),
    ],
)
def test_what_cannot_be_is_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["note", str(demo.folder()), *words]) == 2
    assert capsys.readouterr().err.splitlines()[0] == f"powertui: {sentence}"

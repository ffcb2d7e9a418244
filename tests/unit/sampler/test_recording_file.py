"""The file: locks, cut lines, full disks, folders that go, rotation. Nothing is lost and everything is said."""

from __future__ import annotations

import os
import resource
import shutil

import pandas as pd
import pytest

from powertui.errors import UsageError
from powertui.sampler.csv_format import COLUMNS, MAGIC, mark_row, reading_row
from powertui.sampler.recording_file import RecordingFile
from powertui.sampler.source import Channel, Info, Reading, Stamp

INFO = Info("test", "test:", "box", (Channel("power", "box", "node", 7.0),), {"fact": "1"}, ("a note",))


def row(n: int, watts: float | None = 245.0) -> str:
    return reading_row(Reading(1e9 + n, float(n), watts, 0.001, "s", "power", "ok" if watts is not None else "none:why, #1"))


def rows_of(path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line[:1].isdigit()]


class Listening(list):
    def __call__(self, text):
        self.append(text)


def opened(path, say=None):
    file = RecordingFile(path, 1.0, Listening() if say is None else say)
    file.add_source("s", INFO)
    return file


def test_pandas_reads_it_with_one_argument(tmp_path):
    path = tmp_path / "p.csv"
    file = opened(path)
    file.write(row(0))
    file.write(row(1, None))
    file.write(mark_row("mark", Stamp(1e9, 2.0), 'a "mark", #2\nsecond line\x1b[31m'))
    file.close("done")
    frame = pd.read_csv(path, comment="#")
    assert list(frame.columns) == COLUMNS.split(",")
    assert frame.watts.tolist()[0] == 245
    assert frame.watts.isna().tolist() == [False, True, True]
    assert frame.reason[1] == "why, #1"
    assert frame["mark"][2] == 'a "mark", #2\\nsecond line\\x1b[31m'


def test_the_head_says_what_was_found_before_the_first_row(tmp_path):
    path = tmp_path / "p.csv"
    file = opened(path)
    file.write(row(0))
    file.close("done")
    lines = path.read_text().splitlines()
    assert lines[0] == MAGIC
    keys = [line.split(":")[0] for line in lines[1 : lines.index(COLUMNS)]]
    assert keys == ["# created", "# host", "# clock", "# interval_s", "# source"]
    assert lines[-1].startswith('# ended: {"time_unix_s"')


def test_a_recording_is_continued_with_a_new_head_and_the_same_columns(tmp_path):
    path = tmp_path / "p.csv"
    for n in range(2):
        file = opened(path)
        file.write(row(n))
        file.close("done")
    text = path.read_text()
    assert text.count(MAGIC) == 2
    assert text.count(COLUMNS) == 1
    assert len(pd.read_csv(path, comment="#")) == 2


def test_a_cut_last_line_is_kept_as_a_comment(tmp_path):
    path = tmp_path / "p.csv"
    file = opened(path)
    file.write(row(0))
    file.close("done")
    with path.open("a") as other:
        other.write("1000000001.5,3.5,s,pow")
    file = opened(path)
    file.write(row(1))
    file.close("done")
    assert "# partial: 1000000001.5,3.5,s,pow\n" in path.read_text()
    assert rows_of(path) == [row(0).strip(), row(1).strip()]


def test_two_recorders_on_one_file_are_refused(tmp_path):
    path = tmp_path / "p.csv"
    first = opened(path)
    first.write(row(0))
    with pytest.raises(UsageError, match="written by another recorder"):
        RecordingFile(path, 1.0)
    first.write(row(1))
    first.close("done")
    RecordingFile(path, 1.0).close("done")
    assert len(rows_of(path)) == 2


@pytest.mark.parametrize("content", ["time,watts\n1,2\n", "\x7fELF", MAGIC + "\nother,columns\n"])
def test_a_file_that_is_not_ours_is_left_alone(tmp_path, content):
    path = tmp_path / "p.csv"
    path.write_text(content)
    with pytest.raises(UsageError, match="another file with -o"):
        RecordingFile(path, 1.0)
    assert path.read_text() == content


def test_a_folder_that_is_not_there_or_a_folder_as_file(tmp_path):
    for path in (tmp_path / "no" / "p.csv", tmp_path):
        with pytest.raises(UsageError, match="cannot be written"):
            RecordingFile(path, 1.0)


def test_nothing_recorded_leaves_no_file(tmp_path):
    path = tmp_path / "p.csv"
    opened(path).close("refused")
    assert not path.exists()


def test_a_full_disk_keeps_the_rows_says_it_once_and_goes_on_when_there_is_room(tmp_path):
    """The kernel refuses every byte beyond a limit, in the middle of a row."""
    path, said = tmp_path / "p.csv", Listening()
    file = opened(path, said)
    file.write(row(0))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 70, hard))
    try:
        for n in range(1, 6):
            file.write(row(n))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(said) == 1
    assert "kept in memory" in said[0]
    file.write(row(6))
    file.close("done")
    assert rows_of(path)[:7] == [row(n).strip() for n in range(7)]
    assert "works again" in said[1]
    assert file.faults == 1
    assert file.lost == 0


def test_what_never_fits_is_rescued_and_said(tmp_path, monkeypatch):
    path, said = tmp_path / "p.csv", Listening()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file = opened(path, said)
    file.write(row(0))
    real_write, fd = os.write, file._fd

    def full(where, data):
        if where == fd:
            raise OSError(28, "No space left on device")
        return real_write(where, data)

    monkeypatch.setattr(os, "write", full)
    file.write(row(1))
    file.close("done")
    monkeypatch.undo()
    assert file.rescued is not None
    assert rows_of(file.rescued) == [row(1).strip()]
    assert file.rescued.read_text().startswith(MAGIC)
    assert any(str(file.rescued) in s for s in said)


def test_a_rotated_file_is_continued_under_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr("powertui.sampler.recording_file._LOOK_EVERY", 0.0)
    path, said = tmp_path / "p.csv", Listening()
    file = opened(path, said)
    file.write(row(0))
    path.rename(tmp_path / "p.csv.1")
    file.write(row(1))
    file.close("done")
    assert rows_of(tmp_path / "p.csv.1") == [row(0).strip()]
    assert rows_of(path) == [row(1).strip()]
    assert path.read_text().startswith(MAGIC)
    assert "renamed or removed" in said[0]
    assert len(pd.read_csv(path, comment="#")) == 1


def test_a_folder_that_goes_and_comes_back_costs_no_row(tmp_path, monkeypatch):
    monkeypatch.setattr("powertui.sampler.recording_file._LOOK_EVERY", 0.0)
    folder, said = tmp_path / "d", Listening()
    folder.mkdir()
    path = folder / "p.csv"
    file = opened(path, said)
    file.write(row(0))
    shutil.rmtree(folder)
    file.write(row(1))
    file.write(row(2))
    assert len(said) == 1
    assert "Rows are kept in memory" in said[0]
    folder.mkdir()
    file.write(row(3))
    file.close("done")
    assert [r for r in rows_of(path) if ",note," not in r] == [row(n).strip() for n in (1, 2, 3)]
    assert "works again; 3 rows had waited" in said[1]


def test_a_folder_that_stays_away_ends_in_a_rescue(tmp_path, monkeypatch):
    monkeypatch.setattr("powertui.sampler.recording_file._LOOK_EVERY", 0.0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / "d"
    folder.mkdir()
    file = opened(folder / "p.csv")
    file.write(row(0))
    shutil.rmtree(folder)
    file.write(row(1))
    file.close("done")
    assert rows_of(file.rescued) == [row(1).strip()]


def test_names_from_a_bmc_cannot_break_the_file(tmp_path):
    path = tmp_path / "p.csv"
    file = RecordingFile(path, 1.0)
    evil = '=cmd|" /C calc"!A0,\n# source: {}\x1b]0;title\x07'
    file.add_source("s", Info("x", "y", evil, (Channel(evil),)))
    file.write(reading_row(Reading(1e9, 0.0, 1.0, 0.0, evil, evil, "none:" + evil)))
    file.close(evil)
    text = path.read_text()
    assert "\x1b" not in text
    assert "\x07" not in text
    frame = pd.read_csv(path, comment="#")
    assert len(frame) == 1
    assert frame.channel[0].startswith("'=cmd")

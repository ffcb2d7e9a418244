"""The file: locks, cut lines, full disks, folders that go, rotation.

Nothing is lost and everything is said.
"""

from __future__ import annotations

import os
import resource
import shutil
import stat

import pandas as pd
import pytest

from powertui.errors import UsageError
from powertui.sampler.csv_format import COLUMNS, MAGIC, mark_row, reading_row
from powertui.sampler.recording_file import RecordingFile
from powertui.sampler.source import Channel, Info, Reading, Stamp

INFO = Info(
    "test", "test:", "box", (Channel("power", "box", "node", 7.0),), {"fact": "1"}, ("a note",)
)


def row(n: int, watts: float | None = 245.0) -> str:
    return reading_row(
        Reading(
            1e9 + n,
            float(n),
            watts,
            0.001,
            "s",
            "power",
            "ok" if watts is not None else "none:why, #1",
        )
    )


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


def test_what_fits_nowhere_is_counted_as_lost(tmp_path, monkeypatch):
    path, said = tmp_path / "p.csv", Listening()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    file = opened(path, said)
    file.write(row(0))
    real_write, fd = os.write, file._fd

    def full(where, data):
        if where == fd:
            raise OSError(28, "No space left on device")
        return real_write(where, data)

    monkeypatch.setattr(os, "write", full)
    file.write(row(1))
    file.write(row(2))
    file.close("done")
    assert (file.lost, file.rescued) == (2, None)
    assert any("2 rows could not be written anywhere" in s for s in said)


def test_a_rotated_file_is_continued_under_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr("powertui.sampler.recording_file._LOOK_PERIOD_S", 0.0)
    path, said = tmp_path / "p.csv", Listening()
    file = opened(path, said)
    file.write(row(0))
    path.rename(tmp_path / "p.csv.1")
    file.write(row(1))
    file.close("done")
    assert rows_of(tmp_path / "p.csv.1") == [row(0).strip()]
    assert rows_of(path) == [row(1).strip()]
    assert path.read_text().startswith(MAGIC)
    assert f"was renamed to {path}.1 while recording, with 1 rows; a new file" in said[0]
    assert file.faults == 0, "nothing is lost"
    assert file.held == len(rows_of(path))
    assert len(pd.read_csv(path, comment="#")) == 1


def test_a_folder_that_goes_and_comes_back_costs_no_row(tmp_path, monkeypatch):
    monkeypatch.setattr("powertui.sampler.recording_file._LOOK_PERIOD_S", 0.0)
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
    monkeypatch.setattr("powertui.sampler.recording_file._LOOK_PERIOD_S", 0.0)
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


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "|", "%", "\uff1d", " ="])
def test_no_name_is_a_formula_as_in_every_export(tmp_path, begin):
    path = tmp_path / "p.csv"
    file = RecordingFile(path, 1.0)
    file.write(reading_row(Reading(1e9, 0.0, 1.0, 0.0, begin + "A1", "s", "good")))
    file.close("")
    frame = pd.read_csv(path, comment="#")
    assert {text[0] for text in (frame.source[0], frame.channel[0])} == {"'", "s"}


# what others do to it


@pytest.fixture
def at_once(monkeypatch):
    """Each row is written after a look at the file."""
    monkeypatch.setattr("powertui.sampler.recording_file._LOOK_PERIOD_S", 0.0)


def counted(file, path) -> None:
    """What is told of the file is what it holds."""
    assert file.held + file.earlier == len(rows_of(path))
    assert pd.read_csv(path, comment="#").columns.tolist() == COLUMNS.split(",")
    ended = [line for line in path.read_text().splitlines() if line.startswith("# ended")]
    assert f'"rows": {file.held}' in ended[-1]


def test_a_file_that_is_emptied_is_begun_anew_and_said(tmp_path):
    path, said = tmp_path / "p.csv", Listening()
    file = opened(path, said)
    for n in range(5):
        file.write(row(n))
    path.write_text("")
    for n in range(5, 8):
        file.write(row(n))
    file.close("done")
    assert "was cut while recording: 5 of its 5 rows are gone" in said[0]
    assert rows_of(path) == [row(n).strip() for n in (5, 6, 7)]
    assert path.read_text().startswith(MAGIC)
    assert file.faults
    counted(file, path)


@pytest.mark.parametrize("keep", [3, 60, 250, 600, 700])
def test_a_file_that_is_cut_in_the_middle_goes_on(tmp_path, keep):
    path, said = tmp_path / "p.csv", Listening()
    file = opened(path, said)
    for n in range(10):
        file.write(row(n))
    left = len(
        [
            line
            for line in path.read_text()[:keep].splitlines(keepends=True)
            if line[:1].isdigit() and line.endswith("\n")
        ]
    )
    os.truncate(path, keep)
    for n in range(10, 13):
        file.write(row(n))
    file.close("done")
    assert f"{10 - left} of its 10 rows are gone" in said[0]
    assert rows_of(path) == [row(n).strip() for n in (*range(left), 10, 11, 12)]
    counted(file, path)


def test_a_cut_is_noticed_without_a_new_row(tmp_path, at_once):
    path, said = tmp_path / "p.csv", Listening()
    file = opened(path, said)
    file.write(row(0))
    path.write_text("")
    file.flush()
    assert said
    file.close("done")
    counted(file, path)


def test_a_file_that_was_overwritten_with_something_else_is_left_alone(
    tmp_path, at_once, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path, said = tmp_path / "p.csv", Listening()
    file = opened(path, said)
    file.write(row(0))
    other = "name,value\n" * 200
    with path.open("w") as stream:
        stream.write(other)
    file.write(row(1))
    file.write(row(2))
    file.close("done")
    assert "it is not a recording any more" in said[0]
    assert path.read_text() == other
    assert file.held == 0
    assert rows_of(file.rescued) == [row(1).strip(), row(2).strip()]


def test_a_removed_file_is_not_claimed_to_hold_its_rows(tmp_path, at_once):
    path, said = tmp_path / "p.csv", Listening()
    file = opened(path, said)
    file.write(row(0))
    path.unlink()
    file.flush()
    assert "was removed while recording, with 1 rows" in said[0]
    file.write(row(1))
    file.close("done")
    assert rows_of(path) == [row(1).strip()]
    counted(file, path)


def test_a_replaced_file_is_continued_in_the_new_one(tmp_path, at_once):
    path, said = tmp_path / "p.csv", Listening()
    other = opened(tmp_path / "other.csv")
    other.write(row(100))
    other.close("done")
    file = opened(path, said)
    file.write(row(0))
    (tmp_path / "other.csv").replace(path)
    file.write(row(1))
    file.close("done")
    assert "was replaced while recording" in said[0]
    assert rows_of(path) == [row(100).strip(), row(1).strip()]
    assert (file.earlier, file.held) == (1, 1)
    counted(file, path)


def test_a_file_that_is_moved_away_and_back_is_no_other_recorder(tmp_path, at_once):
    """Where the path is missing for a moment, our own lock must not be taken for somebody
    else's.
    """
    path, said = tmp_path / "p.csv", Listening()
    file = opened(path, said)
    file.write(row(0))
    assert file._open() == file._fd
    file.write(row(1))
    file.close("done")
    assert said == []
    counted(file, path)


def test_a_file_that_cannot_be_made_again_is_told_by_its_new_name(tmp_path, at_once):
    """Moved away, and a folder put in its place: rows go on into the moved file, and that is the
    file that is told.
    """
    path, said = tmp_path / "p.csv", Listening()
    file = opened(path, said)
    file.write(row(0))
    path.rename(tmp_path / "moved.csv")
    path.mkdir()
    file.write(row(1))
    file.close("done")
    assert file.place == tmp_path / "moved.csv"
    assert rows_of(file.place) == [row(0).strip(), row(1).strip()]
    counted(file, file.place)


def test_rows_that_others_append_are_counted_as_what_the_file_holds(tmp_path, at_once):
    path, said = tmp_path / "p.csv", Listening()
    file = opened(path, said)
    file.write(row(0))
    with path.open("a") as other:
        other.write(row(50))
    file.write(row(1))
    file.close("done")
    assert said == []
    counted(file, path)


def test_a_forked_child_does_not_keep_the_file_locked(tmp_path):
    """A training script forks its data loaders while it records: they inherit the descriptor."""
    path = tmp_path / "p.csv"
    file = opened(path)
    file.write(row(0))
    copy = os.dup(file._fd)  # what a fork does to it: one more descriptor of the same open file
    file.close("done")
    RecordingFile(path, 1.0).close("nothing")
    os.close(copy)


# who may read it, and who may have it written elsewhere


def test_only_its_owner_may_read_it(tmp_path):
    before = os.umask(0)
    try:
        file = opened(tmp_path / "p.csv")
        file.write(row(0))
        assert stat.S_IMODE((tmp_path / "p.csv").stat().st_mode) == 0o600
        file.close("done")
    finally:
        os.umask(before)


def test_a_link_of_ones_own_is_followed(tmp_path):
    (tmp_path / "p.csv").symlink_to("real.csv")
    file = opened(tmp_path / "p.csv")
    file.write(row(0))
    file.close("done")
    assert rows_of(tmp_path / "real.csv") == [row(0).strip()]
    counted(file, tmp_path / "p.csv")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's files")
def test_a_link_of_another_user_is_refused_at_the_start_and_later(tmp_path, at_once):
    path, said = tmp_path / "p.csv", Listening()
    precious = tmp_path / "precious.csv"
    precious.write_text("")
    path.symlink_to(precious)
    os.chown(path, 12345, 12345, follow_symlinks=False)
    with pytest.raises(UsageError, match="symbolic link that belongs to another user"):
        RecordingFile(path, 1.0)
    path.unlink()
    file = opened(path, said)
    file.write(row(0))
    path.rename(tmp_path / "moved.csv")
    path.symlink_to(precious)
    os.chown(path, 12345, 12345, follow_symlinks=False)
    file.write(row(1))
    file.close("done")
    assert "symbolic link that belongs to another user" in said[0]
    assert precious.read_text() == ""
    assert len(rows_of(tmp_path / "moved.csv")) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's files")
def test_a_file_that_another_user_laid_into_a_shared_folder_is_refused(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "p.csv").write_text("")
    os.chown(shared / "p.csv", 12345, 12345)
    with pytest.raises(UsageError, match="belongs to another user"):
        RecordingFile(shared / "p.csv", 1.0)
    assert (shared / "p.csv").read_text() == ""


# what a crash of the machine leaves


@pytest.fixture
def saved(monkeypatch):
    """The size of each file at every moment at which it was saved to the disk."""
    sizes: list[int] = []
    real = os.fsync

    def watched(fd):
        real(fd)
        if stat.S_ISREG(os.fstat(fd).st_mode):
            sizes.append(os.fstat(fd).st_size)

    monkeypatch.setattr(os, "fsync", watched)
    monkeypatch.setattr("powertui.sampler.recording_file._MIN_SYNC_PERIOD_S", 0.0)
    return sizes


def test_it_is_saved_at_gaps_and_at_the_end(tmp_path, saved):
    path = tmp_path / "p.csv"
    file = opened(path)
    file.write(row(0))
    assert saved == []
    file.write(row(1, None))
    file.sync()
    assert saved == [path.stat().st_size]
    file.sync()
    assert len(saved) == 1, "nothing new to save"
    file.write(row(2))
    file.close("done")
    assert saved[1:] == [path.stat().st_size]


def test_it_is_saved_as_often_as_is_asked_for(tmp_path, saved):
    path = tmp_path / "p.csv"
    file = RecordingFile(path, 1.0, sync=0.0)
    for n in range(3):
        file.write(row(n))
        assert saved[-1] == path.stat().st_size
    file.close("done")

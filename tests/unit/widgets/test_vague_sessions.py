"""A session that no clock places says what does, and how well."""

from __future__ import annotations

import os
from pathlib import Path

from powertui.data import logdir
from powertui.data.training.training import Training
from powertui.view.training_surroundings import (
    MIN_EXPLAINED_HALF_PS,
    first_surroundings,
    training_surroundings,
)
from tests.synthetic.long_training import BEGIN, long_training
from tests.synthetic.xplane import Event, Line, Plane, encode

WRITTEN = BEGIN + 60.0


def _training(folder: Path, name: str) -> Training:
    """A training with one session that names no time, in a folder named so, and whose file was
    written then.
    """
    long_training(folder, sessions=())
    path = folder / "train" / "plugins" / "profile" / name / "vm.xplane.pb"
    path.parent.mkdir(parents=True)
    path.write_bytes(
        encode([Plane("/host:CPU", [Line("python", [Event("train_step", 0, 10**11)], 1)])])
    )
    os.utime(path, (WRITTEN, WRITTEN))
    (entry,) = logdir.scan(folder).trainings
    return Training(entry)


def test_where_only_its_file_tells_that_is_said(tmp_path: Path) -> None:
    training = _training(tmp_path, "mine")
    for found in (
        first_surroundings(training),
        training_surroundings(training.seen_from()),
    ):
        (one,) = found.profiles
        assert "when its file was written" in one.evidence
        assert one.half >= MIN_EXPLAINED_HALF_PS


def test_the_folders_name_tells_more_than_the_files_time(tmp_path: Path) -> None:
    (one,) = first_surroundings(
        _training(tmp_path, "2023_11_14_22_14_20")
    ).profiles  # WRITTEN, in UTC
    assert "the folder's local time" in one.evidence
    (by_file,) = first_surroundings(_training(tmp_path / "other", "mine")).profiles
    assert one.half < by_file.half


def test_a_session_with_its_own_clock_says_nothing(tmp_path: Path) -> None:
    long_training(tmp_path)
    (entry,) = logdir.scan(tmp_path).trainings
    assert [one.evidence for one in first_surroundings(Training(entry)).profiles] == [
        "",
        "",
    ]

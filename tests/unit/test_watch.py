"""Following a run that trains: what moves is reported once, what lies still is not."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from powertui.data.watch import FRESH_S, Watch
from tests.synthetic.tfevents import frame, scalar, write_scalars

WALL = 1_795_224_813.0


def touch_old(path: Path) -> None:
    old = time.time() - 10 * FRESH_S
    os.utime(path, (old, old))


def events(folder: Path, name: str = "events.out.tfevents.1795224813.vm.7.0.v2") -> Path:
    return folder / name


def append(path: Path, *records: tuple[float, int, str, float]) -> None:
    with path.open("ab") as stream:
        for record in records:
            stream.write(frame(scalar(*record)))


def test_epochs_are_reported_once_each_with_their_bounds(tmp_path: Path) -> None:
    train = events(tmp_path / "train")
    write_scalars(train, [(WALL + 10, 0, "epoch_loss", 0.5)], WALL)
    watch = Watch(str(tmp_path))
    first = watch.poll()
    assert [e.number for e in first.epochs] == [0]
    assert first.epochs[0].end_ns == int((WALL + 10) * 1e9)
    assert dict(first.epochs[0].scalars) == {"loss": pytest.approx(0.5)}
    assert not watch.poll().epochs
    append(train, (WALL + 16, 1, "epoch_loss", 0.25), (WALL + 16.01, 1, "epoch_accuracy", 0.75))
    second = watch.poll()
    assert [e.number for e in second.epochs] == [1]
    assert second.epochs[0].begin_ns == int((WALL + 10) * 1e9)
    assert dict(second.epochs[0].scalars) == {
        "loss": pytest.approx(0.25),
        "accuracy": pytest.approx(0.75),
    }
    assert [e.number for e in watch.epochs] == [0, 1]


def test_the_first_epoch_begins_with_what_was_logged_first(tmp_path: Path) -> None:
    write_scalars(
        events(tmp_path / "train"),
        [(WALL + 1, 0, "batch_loss", 0.9), (WALL + 10, 0, "epoch_loss", 0.5)],
        WALL,
    )
    (epoch,) = Watch(str(tmp_path)).poll().epochs
    assert (epoch.begin_ns, epoch.end_ns) == (int((WALL + 1) * 1e9), int((WALL + 10) * 1e9))


def test_validation_scalars_join_their_epoch(tmp_path: Path) -> None:
    write_scalars(events(tmp_path / "validation"), [(WALL + 10.2, 0, "epoch_loss", 0.9)], WALL)
    write_scalars(events(tmp_path / "train"), [(WALL + 10, 0, "epoch_loss", 0.5)], WALL)
    watch = Watch(str(tmp_path))
    epoch = watch.poll().epochs[0]
    assert dict(epoch.scalars) == {"loss": pytest.approx(0.5), "val_loss": pytest.approx(0.9)}
    assert epoch.end_ns == int((WALL + 10) * 1e9), (
        "the epoch ends with training, not with validation"
    )


def test_old_runs_stay_silent_until_they_move(tmp_path: Path) -> None:
    old = events(tmp_path / "old" / "train")
    write_scalars(old, [(WALL, 0, "epoch_loss", 0.5)], WALL)
    touch_old(old)
    watch = Watch(str(tmp_path))
    assert not watch.poll()
    append(old, (WALL + 5, 1, "epoch_loss", 0.4))
    assert [e.number for e in watch.poll().epochs] == [0, 1]


def test_a_new_file_of_a_run_is_followed(tmp_path: Path) -> None:
    watch = Watch(str(tmp_path / "logs"))
    watch.poll()
    write_scalars(events(tmp_path / "logs" / "train"), [(WALL + 4, 0, "epoch_loss", 0.5)], WALL)
    assert [e.number for e in watch.poll().epochs] == [0]


def test_a_profile_is_announced_when_it_has_stopped_growing(tmp_path: Path) -> None:
    run = tmp_path / "plugins" / "profile" / "2026_11_21_01_34_05"
    run.mkdir(parents=True)
    watch = Watch(str(tmp_path))
    watch.poll()
    profile = run / "vm.xplane.pb"
    profile.write_bytes(b"\x0a\x04abcd")
    assert not watch.poll().profiles, "it may still be written"
    profile.write_bytes(b"\x0a\x04abcd" * 2)
    assert not watch.poll().profiles
    found = watch.poll().profiles
    assert [entry.path for entry in found] == [str(run)]
    assert not watch.poll().profiles, "once is enough"


def test_profiles_that_were_there_are_not_announced(tmp_path: Path) -> None:
    run = tmp_path / "plugins" / "profile" / "old"
    run.mkdir(parents=True)
    (run / "vm.xplane.pb").write_bytes(b"\x0a\x04abcd")
    watch = Watch(str(tmp_path))
    for _ in range(3):
        assert not watch.poll().profiles


def test_a_missing_folder_is_said_once(tmp_path: Path) -> None:
    watch = Watch(str(tmp_path / "nothing"))
    notes = watch.poll().notes
    assert len(notes) == 1
    assert "nothing" in notes[0]
    assert not watch.poll()

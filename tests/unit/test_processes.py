"""One question to many, by several processes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from powertui.data import processes
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.training.training_records import Logs, TrainingRecords
from powertui.report import summary


def children() -> set[str]:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return set(file.read().split())


def test_answers_come_in_order_from_processes_of_their_own() -> None:
    before = children()
    answers = list(processes.each(lambda item: (item * item, os.getpid()), range(100), processes=3))
    assert [square for square, _ in answers] == [item * item for item in range(100)]
    here, *others = [pid for _, pid in answers]
    assert here == os.getpid(), "the first is worked out before there are copies"
    assert len(set(others)) == 3
    assert here not in others
    assert children() == before


def test_few_are_asked_here() -> None:
    assert set(processes.each(lambda _: os.getpid(), range(processes.MIN_RUNS))) == {os.getpid()}


def test_what_a_process_leaves_is_worked_out_here() -> None:
    here = os.getpid()

    def work(item: int) -> int:
        if item == 7 and os.getpid() != here:
            os._exit(3)
        return item

    assert list(processes.each(work, range(40), processes=2)) == list(range(40))


def test_what_goes_wrong_goes_wrong_here() -> None:
    def work(item: int) -> int:
        return 1 // (item - 9)

    before = children()
    answers = processes.each(work, range(40), processes=2)
    assert len([next(answers) for _ in range(9)]) == 9
    with pytest.raises(ZeroDivisionError):
        next(answers)
    assert children() == before


def test_whoever_stops_listening_leaves_no_process_behind() -> None:
    before = children()
    answers = processes.each(lambda item: "x" * 100_000, range(1000), processes=4)
    assert next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert children() == before


def test_logs_that_another_process_has_read_are_not_read_again(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(5):
        shutil.copytree(data / "logdirs" / "jax_cpu", tmp_path / f"training_{number}")
    read_here: list[str] = []
    read_logs = TrainingRecords._read_logs

    def counted(records: TrainingRecords) -> Logs:
        read_here.append(records.name)
        return read_logs(records)

    monkeypatch.setattr(TrainingRecords, "_read_logs", counted)
    monkeypatch.setattr(processes, "_process_count", lambda items, largest: 2)
    summary.tell(str(tmp_path), None, ReadOptions(), Aligning(), "text")
    assert "training_4" in capsys.readouterr().out
    assert len(read_here) <= 1  # the first run is read here, for what is imported with it

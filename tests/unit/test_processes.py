"""One question to many, by several processes."""

from __future__ import annotations

import multiprocessing
import os
import platform
import resource
import shutil
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from powertui.data import processes
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.training.training_records import Logs, TrainingRecords
from powertui.errors import Cancelled
from powertui.report import summary


def children() -> set[str]:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return set(file.read().split())


def test_answers_come_in_order_from_processes_of_their_own() -> None:
    before = children()
    here = os.getpid()
    at_work = multiprocessing.get_context("fork").Barrier(3)
    has_met = []  # of each process: forked with the others still to come

    def work(item: int) -> tuple[int, int]:
        # A quick process could work all items off before the others have begun.
        if os.getpid() != here and not has_met:
            has_met.append(at_work.wait(timeout=60))
        return item * item, os.getpid()

    answers = list(processes.each(work, range(100), processes=3))
    assert [square for square, _ in answers] == [item * item for item in range(100)]
    first, *others = [pid for _, pid in answers]
    assert first == here, "the first is worked out before there are copies"
    assert len(set(others)) == 3
    assert here not in others
    assert children() == before


def test_a_process_is_asked_about_several_of_thousands_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[int] = []
    ask = processes.answers

    def count(executor, function, questions, **options):  # type: ignore[no-untyped-def]
        sent.extend(len(question) for question in questions)
        return ask(executor, function, questions, **options)

    monkeypatch.setattr(processes, "answers", count)

    def work(item: int) -> int:
        return 1 // (item - 1500) + item  # what goes wrong is in the middle of a question

    answers: list[int] = []
    with pytest.raises(ZeroDivisionError):
        answers.extend(processes.each(work, range(2000), processes=2))
    assert answers[:1500] == [1 // (item - 1500) + item for item in range(1500)]
    assert len(answers) == 1500
    assert sum(sent) == 1999
    assert len(sent) == 125
    sent.clear()
    # Large ones are asked about one by one: several at once would need memory.
    assert len(list(processes.each(str, range(200), 1 << 28, processes=2))) == 200
    assert set(sent) == {1}


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


def _doubled(number: int) -> int:
    """What is sent has to be a function of a module."""
    return 2 * number


def _fails_on_nine(number: int) -> int:
    return 1 // (number - 9)


def test_any_executor_answers_in_order_and_what_it_cannot_is_worked_out_here() -> None:
    failed: list[BaseException] = []
    for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
        with kind(2) as executor:
            answers = processes.answers(executor, _doubled, range(50))
            assert list(answers) == [2 * number for number in range(50)]
            answers = processes.answers(
                executor, _fails_on_nine, range(12), here=_doubled, on_failed=failed.append
            )
            assert list(answers)[9] == 18
    assert [type(error) for error in failed] == [ZeroDivisionError, ZeroDivisionError]


def test_an_executor_that_takes_nothing_any_more_leaves_all_to_us() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    failed: list[BaseException] = []
    answers = processes.answers(executor, _doubled, range(3), on_failed=failed.append)
    assert list(answers) == [0, 2, 4]
    assert len(failed) == 3


def test_whoever_waits_for_an_answer_is_asked_whether_to_stop() -> None:
    never = threading.Event()
    with ThreadPoolExecutor(1) as executor:

        def stop() -> None:
            never.set()
            raise Cancelled("stopped")

        answers = processes.answers(executor, lambda _: never.wait(), range(5), on_wait=stop)
        with pytest.raises(Cancelled):
            next(answers)


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
    monkeypatch.setattr(processes, "_process_count", lambda items, largest, least: 2)
    summary.tell(str(tmp_path), None, ReadOptions(), Aligning(), "text")
    assert "training_4" in capsys.readouterr().out
    assert len(read_here) <= 1  # the first run is read here, for what is imported with it


def test_a_process_for_many_questions_does_not_take_the_same_memory_from_the_system_twice() -> None:
    """2 MB in arrays of 200 KB, given back and taken again: glibc hands such memory back at once
    unless it is asked to keep some.
    """
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("another C library decides for itself")

    def faults(_: int) -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        arrays = [np.ones(25_000) for _ in range(10)]
        del arrays
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    _, *of_children = processes.each(faults, range(80), processes=2)
    assert sorted(of_children)[-10] < 20, of_children

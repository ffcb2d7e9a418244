"""At the end of the program a file is finished, and an answer that nobody will see is not."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from powertui.screens.answer_threads import AnswerThreads, writing

_LONG_ENOUGH_S = 0.2  # for an end that does not wait; one that waits is seen after any time


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def ending(threads: AnswerThreads) -> threading.Thread:
    end = threading.Thread(target=threads.shutdown)
    end.start()
    return end


def test_an_answer_is_not_waited_for(release: threading.Event) -> None:
    threads = AnswerThreads()
    answer = threads.submit(release.wait)
    end = ending(threads)
    end.join()
    assert not answer.done()


def test_what_is_being_written_is_finished(release: threading.Event) -> None:
    threads = AnswerThreads()
    begun = threading.Event()
    written: list[str] = []

    def write() -> None:
        begun.set()
        release.wait()
        written.append("all of it")

    threads.submit(writing(write))
    begun.wait()
    end = ending(threads)
    end.join(_LONG_ENOUGH_S)
    assert end.is_alive()
    release.set()
    end.join()
    assert written == ["all of it"]


def test_a_file_that_cannot_be_written_does_not_keep_the_program(release: threading.Event) -> None:
    threads = AnswerThreads()

    def fail() -> None:
        raise OSError("no space left")

    assert isinstance(threads.submit(writing(fail)).exception(), OSError)
    end = ending(threads)
    end.join()
    assert not release.is_set()

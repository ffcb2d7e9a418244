"""An opened run: read once, asked often."""

from __future__ import annotations

import threading
from pathlib import Path

from powertui.data import logdir
from powertui.data.opened import Opened
from tests.synthetic import traces


def _opened(data: Path) -> Opened:
    return Opened(logdir.scan(str(data / "logdirs")).runs[0])


def test_it_is_read_at_the_first_question(data: Path) -> None:
    opened = _opened(data)
    assert not opened.is_read
    assert opened.name
    assert not opened.is_read
    assert opened.run is opened.run
    assert opened.is_read


def test_an_answer_is_made_once_even_when_many_ask_at_once(data: Path) -> None:
    opened = _opened(data)
    opened.adopt(traces.training())
    made: list[int] = []
    together = threading.Barrier(4)

    def make() -> object:
        made.append(1)
        return object()

    found: list[object] = []

    def ask() -> None:
        together.wait()
        found.append(opened.cached(("x", 1), make))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len({id(one) for one in found}) == 1


def test_a_newer_part_of_the_run_lets_go_of_what_the_older_one_said(data: Path) -> None:
    opened = _opened(data)
    opened.adopt(traces.training(4))
    assert opened.cached("steps", lambda: len(opened.profiles[0].steps)) == 4
    opened.adopt(traces.training(6))
    assert opened.cached("steps", lambda: len(opened.profiles[0].steps)) == 6


def test_an_answer_made_of_an_older_part_is_not_kept(data: Path) -> None:
    opened = _opened(data)
    opened.adopt(traces.training(4))

    def slow() -> int:
        opened.adopt(traces.training(6))  # while it was being made
        return 4

    assert opened.cached("steps", slow) == 4
    assert opened.cached("steps", lambda: 6) == 6


def test_a_failure_is_not_kept(data: Path) -> None:
    opened = _opened(data)
    opened.adopt(traces.training(4))
    for answer in (ValueError("no"), 7):

        def make(answer: object = answer) -> object:
            if isinstance(answer, Exception):
                raise answer
            return answer

        try:
            assert opened.cached("k", make) == 7
        except ValueError:
            assert isinstance(answer, ValueError)


def test_forgetting_by_prefix(data: Path) -> None:
    opened = _opened(data)
    opened.adopt(traces.training(4))
    opened.cached((0, "energy", 1), lambda: 1)
    opened.cached((0, "ops"), lambda: 2)
    opened.forget(0, "energy")
    assert opened.cached((0, "energy", 1), lambda: 3) == 3
    assert opened.cached((0, "ops"), lambda: 4) == 2

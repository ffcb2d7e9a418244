"""Annotations without a number that repeat are a series of steps, where they are what a thread
does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from powertui.data.formats import registry
from powertui.data.model import Steps
from powertui.data.run.steps import find_steps
from tests.synthetic import torch_json
from tests.synthetic.xplane import Event, Line, Plane, encode

MS = 10**9


def _event(name: str, start: float, length: float) -> Event:
    return Event(name, int(start * MS), int(length * MS))


def _steps(folder: Path, *lines: list[Event], thread: str = "python") -> Steps:
    path = folder / "vm.xplane.pb"
    host = [Line(thread, events, key=1 + number) for number, events in enumerate(lines)]
    path.write_bytes(encode([Plane("/host:CPU", host)]))
    return find_steps(registry.read(path))


def _requests(count: int, first: int = 0, step: int = 1, name: str = "handle") -> list[Event]:
    return [
        event
        for i in range(first, count, step)
        for event in (_event(name, 11.0 * i, 4 + i % 3), _event("np.dot", 11.0 * i + 1, 1))
    ]


def test_equal_annotations_are_one_series(tmp_path: Path) -> None:
    steps = _steps(tmp_path, [_event("$server.py:3 main", 0, 600), *_requests(47)])
    assert len(steps) == 47
    assert steps.inferred
    assert steps.source == "annotations named handle (no step marker in the profile)"
    assert steps.confidence.startswith("unsure: nothing marks steps, these are annotations")


def test_threads_that_answer_in_turn_are_one_series(tmp_path: Path) -> None:
    lines = [_requests(48, first=thread, step=3) for thread in range(3)]
    assert len(_steps(tmp_path, *lines)) == 48


def test_two_launches_in_each_are_parts_of_it(tmp_path: Path) -> None:
    launches = [
        _event("PjitFunction(predict)", 11.0 * i + at, 1.2) for i in range(30) for at in (0.5, 2)
    ]
    assert len(_steps(tmp_path, [*_requests(30), *launches])) == 30


@pytest.mark.parametrize(
    "name", ["EagerExecute", "load_batch", "log_metrics", "fit_loop", "backend_compile", "a::b"]
)
def test_what_a_runtime_writes_or_a_program_does_besides_is_no_step(
    tmp_path: Path, name: str
) -> None:
    assert not len(_steps(tmp_path, _requests(20, name=name)))


def test_what_is_little_of_its_thread_is_no_step(tmp_path: Path) -> None:
    other = [_event("MatMul:MatMul", 11.0 * i + 5, 6) for i in range(20)]
    small = [_event("publish", 11.0 * i, 2) for i in range(20)]
    assert not len(_steps(tmp_path, [*small, *other]))


def test_a_pool_of_a_runtime_is_no_program(tmp_path: Path) -> None:
    assert not len(_steps(tmp_path, _requests(20), thread="tf_XLAEigen/12"))


def test_few_annotations_are_no_series(tmp_path: Path) -> None:
    assert not len(_steps(tmp_path, _requests(4)))


def test_of_pytorch_only_what_the_program_annotated(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    for i in range(23):
        events += [
            torch_json.event(("user_annotation", "Serve", 9_000 * i, 5_000)),
            torch_json.event(("cpu_op", "aten::linear", 9_000 * i + 100, 4_000)),
        ]
    opened = torch_json.write(tmp_path / "annotated", events)
    assert len(find_steps(opened.run.traces[0])) == 23
    bare = [event for event in events if event["cat"] == "cpu_op"]
    assert not len(find_steps(torch_json.write(tmp_path / "bare", bare).run.traces[0]))

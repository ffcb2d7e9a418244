"""The steps with what is asked of them: how far from usual, what their time went to; and a stalled
step against usual ones.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from powertui import api, demo
from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.report import runs


def asked(name: str, lo: int | None = None, hi: int | None = None):  # type: ignore[no-untyped-def]
    opened = Opened(logdir.scan(demo.folder()).runs[0])
    return opened, registry.get(name).answer(Question(opened, 0, lo, hi))


def test_the_first_step_traces_and_is_told_by_what() -> None:
    opened, answer = asked("steps")
    table = answer.table
    over = np.asarray(table["over_usual_s"].values)
    assert int(np.argmax(over)) == 0
    length = np.asarray(table["step_s"].values)
    assert over[0] == length[0] - np.median(length[1:]), "the median leaves it out"
    assert table["went_to"].text(0) == "compilation +586 ms"
    stalled = int(np.argsort(over)[-2])
    assert table["went_to"].text(stalled) == "Conv2D filter grad +18 ms"
    known = [row for row in range(len(table)) if table["joules"].value(row) is not None]
    assert known == [0], "only a step that is longer than a few refreshes of the sensor has joules"
    assert "refreshes every 0.5 s" in table["joules_why"].text(1)
    assert any(note.startswith("Joules: 199 of 200 steps not resolved") for note in answer.notes)
    assert {fact.id for fact in answer.facts} >= {"usual", "joules_per_step"}
    assert len(opened.profiles) == 1


def test_the_step_time_of_a_host_alone_is_shown_once() -> None:
    _, answer = asked("steps")
    assert {"host_s", "duration_s", "usual_s"} <= set(answer.table.ids), "programs read them"
    shown = {column.id for column in answer.table.shown}
    assert "step_s" in shown
    assert not {"host_s", "duration_s", "usual_s"} & shown


def test_a_stalled_step_is_held_against_usual_ones() -> None:
    _, answer = asked("step_ops")
    table = answer.table
    facts = {fact.id: fact.value for fact in answer.facts}
    assert facts["steps"] == "step 0"
    assert facts["difference_s"] == facts["length_s"] - facts["usual_s"]
    assert table["name"].text(0) == "tf.function-graph_building"
    assert table["usual_s"].value(0) == 0
    difference = np.asarray(table["difference_s"].values)
    assert (difference[:-1] >= difference[1:]).all()
    place = table.place(0)
    assert place is not None
    assert place.lo is not None
    assert place.lo < 2e12


def test_a_usual_step_has_nothing_that_took_much_longer() -> None:
    opened, _ = asked("steps")
    steps = opened.profiles[0].steps
    length = steps.ends() - steps.start
    row = int(np.argsort(length)[len(length) // 2])
    _, answer = asked("step_ops", int(steps.start[row]), int(steps.ends()[row]))
    facts = {fact.id: fact.value for fact in answer.facts}
    assert facts["steps"] == f"step {int(steps.number[row])}"
    assert abs(facts["difference_s"]) < 0.02 * facts["usual_s"]


def test_a_window_of_every_step_has_nothing_to_be_held_against() -> None:
    opened, _ = asked("steps")
    lo, hi = opened.profiles[0].trace.span
    _, answer = asked("step_ops", lo, hi + 1)
    assert "none to compare it with" in answer.notes[0]
    assert len(answer.table) == 0


def test_a_step_that_is_only_asked_for_is_as_long_as_its_work(shared_data: Path) -> None:
    """JAX without marks: the host asks for a step in 26 µs, and its work takes 45 ms."""
    (run,) = api.open(str(shared_data / "own/sentences/jax_nomark"))
    opened = run.opened
    facts = {fact.id: fact for fact in registry.get("steps").answer(Question(opened)).facts}
    assert facts["usual"].label == "asking for the median step takes"
    assert facts["step_work_s"].value == pytest.approx(44.8e9, rel=0.01)
    assert runs.read(opened).step_ps == facts["step_work_s"].value

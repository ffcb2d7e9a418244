"""Several series of steps, requests of a server, and loops that nothing marks: which launches are
the steps.
"""

from __future__ import annotations

from pathlib import Path

from powertui.data.formats import registry
from powertui.data.model import Steps
from powertui.data.run import steps
from tests.synthetic.read_traces import host, trace_of
from tests.synthetic.xplane import Event, Plane

_SENTENCES = Path(__file__).resolve().parents[4] / "shared" / "data" / "own" / "sentences"
_MS = 1_000_000_000


def _event(name: str, start: float, length: float, **stats: int | str | bytes) -> Event:
    return Event(name, round(start * _MS), round(length * _MS), dict(stats))


def _recorded(folder: str) -> Steps:
    path = next((_SENTENCES / folder).rglob("*.xplane.pb"))
    return steps.find_steps(registry.read(path))


def test_two_counters_are_two_series_and_no_epochs() -> None:
    found = _recorded("gan_two_counters")
    assert len(found) == 24
    assert set(found.epoch.tolist()) == {-1}
    assert not found.hole.any()
    assert found.notes == (
        "2 series of steps, each counted for itself: 16 of d_train and 8 of g_train.",
    )


def test_the_function_that_computes_gradients_is_the_step() -> None:
    found = _recorded("jax_nomark")
    assert len(found) == 30
    assert "PjitFunction(sgd)" in found.source


def _unmarked(tmp_path: Path, evaluation_ms: float) -> Steps:
    """Twelve steps of 4 ms, of which the host sees 0.1, and an evaluation after every fourth one
    that blocks until its result is there.
    """
    launches, ops = [], []
    at = 0.0
    for step in range(12):
        launches.append(_event("PjitFunction(update)", at, 0.1))
        ops.append(_event("fusion.1", at, 4, hlo_op="fusion.1", hlo_module="jit_update"))
        at += 4
        if step % 4 == 3:
            launches.append(_event("PjitFunction(score)", at - 11, evaluation_ms + 11))
            ops.append(
                _event("fusion.2", at, evaluation_ms, hlo_op="fusion.2", hlo_module="jit_score")
            )
            at += evaluation_ms
    launches.sort(key=lambda event: event.start)
    program = Plane(
        "/host:metadata",
        programs={"jit_update(3)": b"op_name: jit(update)/transpose(jvp(dot))"},
    )
    return steps.find_steps(trace_of(tmp_path, host(launches, ops), program))


def test_launches_that_carry_most_of_the_work_are_the_steps(tmp_path: Path) -> None:
    found = _unmarked(tmp_path, 2.0)
    assert len(found) == 12
    assert "PjitFunction(update)" in found.source


def test_an_evaluation_longer_than_the_training_does_not_take_its_place(tmp_path: Path) -> None:
    assert len(_unmarked(tmp_path, 20.0)) == 12


def test_requests_on_two_threads_are_one_series(tmp_path: Path) -> None:
    threads: list[list[Event]] = [[], []]
    for request in range(20):
        start = request * 5.0
        threads[request % 2].append(_event("PjitFunction(answer)", start, 8 + request % 3))
    found = steps.find_steps(trace_of(tmp_path, host(*threads)))
    assert len(found) == 20
    assert not found.notes


def test_replicas_that_launch_together_are_one_step(tmp_path: Path) -> None:
    threads = [
        [_event("PjitFunction(step)", step * 10 + late, 8) for step in range(10)]
        for late in (0.0, 0.3)
    ]
    assert len(steps.find_steps(trace_of(tmp_path, host(*threads)))) == 10


def test_a_mark_of_several_batches_says_so(tmp_path: Path) -> None:
    marks = [_event("Profiled batch", step * 10, 9, step_num=8 * step, _r=1) for step in range(6)]
    found = steps.find_steps(trace_of(tmp_path, host(marks)))
    assert found.notes == (
        "Each mark is 8 batches (steps_per_execution): a step here is 8 steps of the training.",
    )

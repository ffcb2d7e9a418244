"""Programs of JAX and TensorFlow that compute on cores that other processes use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from powertui import api
from powertui.data.conclusions.conclusion import Conclusion, Kind
from powertui.data.conclusions.run_conclusions import run_conclusions
from tests.synthetic import xplane
from tests.synthetic.xplane import Event

_MS = 10**9
_US = 10**6
_STEPS = 40


def _told(folder: Path, threads: dict[str, list[Event]], *others: xplane.Plane) -> list[Conclusion]:
    lines = [
        xplane.Line(name, events, key=key) for key, (name, events) in enumerate(threads.items(), 1)
    ]
    planes = [xplane.Plane("/host:CPU", lines), *others]
    (folder / "host.xplane.pb").write_bytes(xplane.encode(planes))
    return list(run_conclusions(api.open(str(folder))[0].opened))


def _kinds(told: list[Conclusion]) -> set[Kind]:
    return {conclusion.kind for conclusion in told}


def _jax_steps(late_ms: float, *, queued: bool = False) -> dict[str, list[Event]]:
    """Updates of 30 µs whose results are read at once. In every fifth one the pool's thread begins
    `late_ms` later, or computes for so long what was asked for before (`queued`).
    """
    python: list[Event] = []
    pool: list[Event] = []
    at = 0
    for step in range(_STEPS):
        wait = int(late_ms * _MS) if step % 5 == 4 else 10 * _US
        python.append(Event("PjitFunction(update)", at, 15 * _US))
        execute = "CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice"
        python.append(Event(execute, at + 4 * _US, 9 * _US))
        begin = at + 15 * _US + wait
        python.append(Event("np.asarray(jax.Array)", at + 20 * _US, begin + 12 * _US - at))
        if queued and step % 5 == 4:
            pool.append(Event("sort.3", at + 14 * _US, begin - at - 14 * _US))
        pool.append(Event("dot.2", begin, 8 * _US))
        pool.append(Event("add_fusion", begin + 9 * _US, 6 * _US))
        at = begin + 40 * _US
    return {"python": python, "tf_XLAPjRtCpuClient/7": pool}


def test_tiny_steps_of_jax_that_begin_late_are_busy_cores_and_no_evaluation(
    tmp_path: Path,
) -> None:
    """As a quarter of the steps of a program did while six others used two cores."""
    told = _told(tmp_path, _jax_steps(8.0))
    first = told[0]
    assert first.kind is Kind.BUSY_CORES
    assert first.sentence.startswith(
        "Busy cores: operations waited for a core in at least 96 % of the time (64 ms of "
    )
    assert first.doubt.startswith("compiled programs began late 8 times, by up to 8 ms")
    assert not any("evaluation" in conclusion.sentence for conclusion in told)
    slow = next(conclusion for conclusion in told if conclusion.kind is Kind.SLOW_STEPS)
    assert slow.sentence.startswith(
        "In 8 of 40 steps (every 5th) the same calls as in the others take longer, "
    )
    assert slow.sentence.endswith(": larger inputs, or cores that other processes or threads use.")


@pytest.mark.parametrize(
    "threads",
    [
        _jax_steps(0.3),  # a thread that sleeps deeply needs so long to wake up
        _jax_steps(8.0, queued=True),  # it computes what comes first
    ],
)
def test_programs_that_begin_at_once_or_wait_for_others_are_no_busy_cores(
    tmp_path: Path, threads: dict[str, list[Event]]
) -> None:
    assert Kind.BUSY_CORES not in _kinds(_told(tmp_path, threads))


def test_a_function_named_like_an_optimizer_is_no_program_that_begins_late(tmp_path: Path) -> None:
    """A call that waits itself, and 30 ms of Python after it: nothing was handed over there."""
    python: list[Event] = []
    pool: list[Event] = []
    for step in range(_STEPS):
        at = step * 35 * _MS
        python.append(Event("PjitFunction(sgd)", at, 5 * _MS))
        execute = "CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice"
        python.append(Event(execute, at + 100 * _US, 4900 * _US))
        pool.append(Event("dot.2", at + 200 * _US, 80 * _US))
    threads = {"python": python, "tf_XLAPjRtCpuClient/7": pool}
    assert Kind.BUSY_CORES not in _kinds(_told(tmp_path, threads))


def test_where_a_device_computes_nobody_waits_for_a_core(tmp_path: Path) -> None:
    kernels = [Event("fusion.1", step * 10 * _MS, 5 * _MS) for step in range(_STEPS)]
    device = xplane.Plane("/device:GPU:0", [xplane.Line("Stream #1", kernels, key=1)])
    assert Kind.BUSY_CORES not in _kinds(_told(tmp_path, _jax_steps(8.0), device))


def _function(at: int, length: int, prepared: int) -> Iterator[Event]:
    """A call of a function of TensorFlow, which runs after it is prepared."""
    yield Event("train_step", at, length, {"tf_function_call": "notTraced-nonXla"})
    yield Event("EagerLocalExecute: __inference_train_step_51", at + _US, length - 2 * _US)
    run_at = at + 3 * _US + prepared
    yield Event("KernelAndDeviceFunc::Run", run_at, at + length - 3 * _US - run_at)


def _tensorflow_steps(*, late_ms: float = 0.0, prepared_ms: float = 0.0) -> dict[str, list[Event]]:
    """Steps of 1 ms, in every fifth of which the second operation begins late, or whose function is
    prepared anew before it runs.
    """
    python: list[Event] = []
    pool: dict[str, list[Event]] = {"tf_Compute/1": [], "tf_Compute/2": []}
    at = 0
    for step in range(_STEPS):
        is_slow = step % 5 == 4
        prepared = int(prepared_ms * _MS) if is_slow else 0
        begin = at + 10 * _US + prepared
        pool["tf_Compute/1"].append(Event("matmul:_MklMatMul", begin, 700 * _US))
        begin += 710 * _US + (int(late_ms * _MS) if is_slow else 0)
        pool["tf_Compute/2"].append(Event("mul:Mul", begin, 30 * _US))
        end = begin + 40 * _US
        python += _function(at, end - at, prepared)
        at = end + 50 * _US
    return {"python": python, **pool}


def test_a_function_of_tensorflow_in_which_nothing_runs_waits_for_a_core(tmp_path: Path) -> None:
    told = _told(tmp_path, _tensorflow_steps(late_ms=20.0))
    assert told[0].kind is Kind.BUSY_CORES
    assert told[0].cost.seconds == pytest.approx(8 * 0.02, rel=0.01)


def test_a_function_that_is_prepared_before_it_runs_waits_for_no_core(tmp_path: Path) -> None:
    told = _told(tmp_path, _tensorflow_steps(prepared_ms=20.0))
    assert Kind.BUSY_CORES not in _kinds(told)


def test_a_single_operation_has_no_event_of_its_own_where_it_runs(tmp_path: Path) -> None:
    threads = _tensorflow_steps()
    at = max(event.start + event.duration for event in threads["python"])
    for step in range(20):
        start = at + step * 50 * _MS
        threads["python"].append(Event("EagerLocalExecute: WriteImageSummary", start, 40 * _MS))
        threads["python"].append(Event("KernelAndDeviceFunc::Run", start + _US, 39 * _MS))
    assert Kind.BUSY_CORES not in _kinds(_told(tmp_path, threads))


def test_small_operations_that_stop_are_looked_at_on_all_threads_of_a_pool(tmp_path: Path) -> None:
    """A thread takes what comes next: one operation is now on this thread and then on that."""
    threads = _tensorflow_steps()
    for step in (7, 22, 31):
        events = threads["tf_Compute/2"]
        stopped = events[step]
        events[step] = Event(stopped.name, stopped.start, 12 * _MS)
    even = threads["tf_Compute/1"][::2] + threads["tf_Compute/2"][1::2]
    odd = threads["tf_Compute/1"][1::2] + threads["tf_Compute/2"][::2]
    threads["tf_Compute/1"] = sorted(even, key=lambda event: event.start)
    threads["tf_Compute/2"] = sorted(odd, key=lambda event: event.start)
    busy = next(item for item in _told(tmp_path, threads) if item.kind is Kind.BUSY_CORES)
    assert "3 calls that take a few microseconds took up to 12 ms" in busy.doubt

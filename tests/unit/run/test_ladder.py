"""Which of several things that could mark the steps is taken, and what a person is told of the
others.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from powertui.data.model import Trace
from powertui.data.run import steps
from tests.synthetic.read_traces import host, trace_of
from tests.unit.run.test_step_times import event, gpu


def loaders(tmp_path: Path, name: str = "training_data_read") -> Trace:
    """Each step reads its data first: both carry the number of the step."""
    read_ahead = [event(name, n * 10, 1, step_num=n, _r=1) for n in range(8)]
    batches = [event("Profiled batch", n * 10 + 1.5, 8, step_num=n) for n in range(8)]
    return trace_of(
        tmp_path, host([one for pair in zip(read_ahead, batches, strict=True) for one in pair])
    )


@pytest.mark.parametrize("name", ["training_data_read", "train_input", "train", "aaa"])
def test_what_covers_little_does_not_win_by_its_name(tmp_path: Path, name: str) -> None:
    found = steps.find_steps(loaders(tmp_path, name))
    assert found.source == "events named Profiled batch with a step_num"
    assert [marker.name for marker in found.markers] == [
        found.source,
        f"events named {name} with a step_num",
    ]
    assert found.markers[0].score > found.markers[1].score


def test_the_pattern_of_every_candidate_chooses_it(tmp_path: Path) -> None:
    trace = loaders(tmp_path)
    for marker in steps.find_steps(trace).markers:
        chosen = steps.find_steps(trace, marker=marker.pattern)
        assert chosen.source == marker.name
        assert len(chosen) == marker.count
    assert re.search(steps.find_steps(trace).markers[1].pattern, "training_data_read")


def test_a_marker_that_a_person_names_is_not_doubted(tmp_path: Path) -> None:
    found = steps.find_steps(loaders(tmp_path), marker="^Profiled")
    assert found.confidence == "sure: --step-marker names them"
    assert [marker.name for marker in found.markers] == [
        "events that match --step-marker '^Profiled'",
        "events named training_data_read with a step_num",
    ]


def test_a_number_in_the_name_is_the_programs_own(tmp_path: Path) -> None:
    found = steps.find_steps(
        trace_of(tmp_path, host([event(f"ProfilerStep#{n}", n * 10, 9) for n in range(3, 8)]))
    )
    assert found.confidence == "sure: the program numbers its steps"


def test_a_root_mark_of_every_second_step_does_not_win(tmp_path: Path) -> None:
    batches = [event("batch", n * 10, 9, step_num=n) for n in range(8)]
    roots = [event("train_step_fn", n * 20 + 1, 5, _r=1) for n in range(4)]
    found = steps.find_steps(trace_of(tmp_path, host([*batches, *roots])))
    assert len(found) == 8
    assert "batch" in found.source


def test_a_mark_around_an_epoch_is_not_the_step(tmp_path: Path) -> None:
    around = [event("train_epoch", e * 100, 90, step_num=e, _r=1) for e in range(3)]
    inner = [event("batch", e * 100 + n * 9, 8, step_num=n) for e in range(3) for n in range(10)]
    found = steps.find_steps(trace_of(tmp_path, host([*around, *inner])))
    assert (len(found), int(found.epoch.max())) == (30, 2)


def test_two_marks_that_count_every_second_step_are_one_marker(tmp_path: Path) -> None:
    marks = [event("even" if n % 2 == 0 else "odd", n * 10, 9, step_num=n) for n in range(8)]
    found = steps.find_steps(trace_of(tmp_path, host(marks)))
    assert found.number.tolist() == list(range(8))
    assert "even" in found.source
    assert "odd" in found.source


def test_helpers_that_repeat_never_win(tmp_path: Path) -> None:
    """Conversions run as often, and take longer on the host, as their first calls compile: the
    device's work is elsewhere.
    """
    calls, kernels = [], []
    for n in range(6):
        calls.append(event("PjitFunction(convert_element_type)", n * 10, 4))
        calls.append(event("hipLaunch", n * 10 + 1, 0.1, correlation_id=100 + n))
        kernels.append(event("convert", n * 10 + 1.2, 0.05, correlation_id=100 + n))
        calls.append(event("PjitFunction(step)", n * 10 + 5, 0.5))
        calls.append(event("hipLaunch", n * 10 + 5.2, 0.1, correlation_id=200 + n))
        kernels.append(event("gemm", n * 10 + 5.4, 3, correlation_id=200 + n))
    found = steps.find_steps(trace_of(tmp_path, host(calls), gpu(0, kernels)))
    assert "PjitFunction(step)" in found.source
    assert found.inferred
    assert found.confidence.startswith("unsure")
    assert found.device.tolist() == [3 * 10**9] * 6


def test_helpers_alone_are_no_steps(tmp_path: Path) -> None:
    calls = [event("PjitFunction(convert_element_type)", n * 10, 4) for n in range(6)]
    found = steps.find_steps(trace_of(tmp_path, host(calls)))
    assert len(found) == 0
    assert found.source


def test_the_function_that_a_program_calls_is_the_step_not_its_dispatch(tmp_path: Path) -> None:
    """TensorFlow runs a graph in a pool: its FunctionRun may be over at once."""
    calls = []
    for n in range(6):
        calls.append(event("train_function", n * 20, 18, tf_function_call="notTraced-nonXla"))
        calls.append(event("EagerLocalExecute: __inference_train_function_7", n * 20 + 1, 16))
        calls.append(event("FunctionRun", n * 20 + 2, 0.1 if n % 2 else 3, _r=1))
    found = steps.find_steps(trace_of(tmp_path, host(calls)))
    assert "launches of train_function" in found.source
    assert found.step.tolist() == [18 * 10**9] * 6


def test_functions_compiled_apart_are_told_apart(tmp_path: Path) -> None:
    """Training and validation call their functions by one name."""
    calls = []
    for n in range(12):
        number, length = (1, 18) if n % 4 != 3 else (2, 5)
        calls.append(event("one_step", n * 20, length, tf_function_call="notTraced-nonXla"))
        calls.append(
            event(f"EagerLocalExecute: __inference_one_step_{number}", n * 20 + 1, length - 2)
        )
    found = steps.find_steps(trace_of(tmp_path, host(calls)))
    assert "__inference_one_step_1" in found.source
    assert len(found) == 9


@pytest.mark.parametrize("run", ["jax_rocm_mi300_gemm", "jax_rocm_mi300_conv_legacy"])
def test_real_profiles_of_a_gpu_know_whose_work_it_is(shared_data: Path, run: str) -> None:
    (path,) = (shared_data / "public" / run).glob("*.xplane.pb")
    found = steps.find_steps(registry_read(path))
    assert "convert_element_type" not in found.source
    assert found.device_by == "launch"
    assert int(found.device[found.device >= 0].sum()) > 3 * 10**9


def registry_read(path: Path) -> Trace:
    from powertui.data.formats import registry

    return registry.read(path)

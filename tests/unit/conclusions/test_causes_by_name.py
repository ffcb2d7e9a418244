"""What names of operators do not say, and what the course of a few steps does: programs whose cause
their own clock measured, each as the few events that misled.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui import api
from powertui.data.conclusions.conclusion import Conclusion, Confidence, Kind
from powertui.data.conclusions.makers.purposes import Purpose, purpose_of
from powertui.data.conclusions.run_conclusions import run_conclusions
from tests.synthetic import torch_json, xplane
from tests.synthetic.torch_json import event

_MS = 1_000  # µs
_ENGINE = "autograd::engine::evaluate_function: AddmmBackward0"


def _told(folder: Path, events: list[dict[str, object]]) -> list[Conclusion]:
    return list(run_conclusions(torch_json.write(folder, events)))


def _mark(number: int, at: float, length: float) -> dict[str, object]:
    return event(("user_annotation", f"ProfilerStep#{number}", at, length))


@pytest.mark.parametrize(
    "name",
    [
        _ENGINE,  # evaluate
        "aten::log",
        "aten::_log_softmax",
        "LogSoftmaxBackward0",
        "EagerLocalExecute: LogSoftmax",
        "model/dense/LogSoftmax:LogSoftmax",
        "PjitFunction(log)",
        "PjitFunction(log_softmax)",
        "log.12",
        "loop_log_fusion.3",
        "aten::resize_",
        "$__init__.py:120 dump",  # of json
        "json/__init__.py(120): dump",
    ],
)
def test_an_operator_has_no_purpose(name: str) -> None:
    assert purpose_of([name]) is None


@pytest.mark.parametrize(
    ("name", "purpose"),
    [
        ("evaluate", Purpose.VALIDATION),
        ("train.py(12): evaluate_mean_accuracy", Purpose.VALIDATION),
        ("log_metrics", Purpose.LOGGING),
        ("PjitFunction(log_metrics)", Purpose.LOGGING),
        ("PjitFunction(eval_step)", Purpose.VALIDATION),
        ("EagerLocalExecute: __inference_test_step_77", Purpose.VALIDATION),
        ("save/SaveV2:SaveV2", Purpose.CHECKPOINT),
        ("resize_images", Purpose.INPUT),
        ("$_pickle dump", Purpose.CHECKPOINT),
    ],
)
def test_what_a_program_names_still_has_its_purpose(name: str, purpose: Purpose) -> None:
    assert purpose_of([_ENGINE, name]) is purpose


def test_slow_steps_of_a_backward_pass_are_no_evaluation(tmp_path: Path) -> None:
    events = []
    at = 0.0
    for step in range(20):
        length = 200.0 if step in (6, 13) else 10.0
        events.append(_mark(step, at, length * _MS))
        events.append(event(("cpu_op", "aten::addmm", at, 3 * _MS)))
        events.append(event(("cpu_op", _ENGINE, at + 3 * _MS, (length - 3.5) * _MS)))
        events.append(event(("cpu_op", "aten::mm", at + 3 * _MS, (length - 4) * _MS)))
        at += length * _MS
    for told in _told(tmp_path, events):
        assert told.kind is not Kind.VALIDATION
        assert "valuation" not in told.sentence


def test_silence_after_every_tenth_step_is_told_apart_from_steps_that_compute_longer(
    tmp_path: Path,
) -> None:
    """A checkpoint that no event shows, on a machine on which other steps take longer as well."""
    events = []
    at = 0.0
    for step in range(40):
        silent = 500.0 if step % 10 == 9 else 0.0
        computing = 60.0 if step in (4, 5, 6, 16, 17, 26, 32, 36) else 10.0
        events.append(_mark(step, at, (computing + silent) * _MS))
        events.append(event(("cpu_op", "aten::mm", at, computing * _MS)))
        at += (computing + silent) * _MS
    first = _told(tmp_path, events)[0]
    assert first.kind is Kind.PAUSE
    assert first.sentence.startswith("Pauses in 4 of 40 steps (every 10th) take 71 % of the time")
    assert first.cost.seconds == pytest.approx(2.0, abs=0.01)


def test_a_silence_in_the_longest_step_hides_no_computing_of_all_slow_steps(
    tmp_path: Path,
) -> None:
    events = []
    at = 0.0
    for step in range(40):
        computing = 60.0 if step % 8 == 7 else 10.0
        silent = 40.0 if step == 15 else 0.0
        events.append(_mark(step, at, (computing + silent) * _MS))
        events.append(event(("cpu_op", "aten::mm", at, computing * _MS)))
        at += (computing + silent) * _MS
    told = _told(tmp_path, events)
    sentences = " ".join(conclusion.sentence for conclusion in told)
    same_calls = "In 5 of 40 steps (every 8th) the same calls as in the others take longer, 36 %"
    assert same_calls in sentences
    assert "A pause in step 15 takes 5.8 %" in sentences


def _training(
    at: float, forward: list[tuple[str, float]], backward_ms: float
) -> tuple[list[dict[str, object]], float]:
    """(a forward pass of these operations and a backward pass, when these end)."""
    events = []
    for name, length in forward:
        events.append(event(("cpu_op", name, at, length * _MS)))
        at += length * _MS
    events.append(event(("cpu_op", _ENGINE, at, backward_ms * _MS)))
    events.append(event(("cpu_op", "aten::mm", at, backward_ms * _MS)))
    return events, at + backward_ms * _MS


@pytest.mark.parametrize(
    ("more", "times", "is_evaluation"),
    [
        (40, 1, True),  # more calls of the forward pass
        (0, 41, False),  # one call that waited for a core
    ],
)
def test_more_forward_passes_without_a_backward_pass_are_probably_an_evaluation(
    tmp_path: Path, more: int, times: int, *, is_evaluation: bool
) -> None:
    events: list[dict[str, object]] = []
    at = 0.0
    for step in range(40):
        begin = at
        is_slow = step % 10 == 9
        forward = [("aten::addmm", 4.0 * (times if is_slow else 1))]
        forward += [("aten::addmm", 4.0)] * (more if is_slow else 0)
        pass_events, at = _training(at, forward, backward_ms=6.0)
        events += pass_events
        events.append(_mark(step, begin, at - begin))
    first = _told(tmp_path, events)[0]
    assert "n 4 of 40 steps (every 10th)" in first.sentence
    assert (first.kind is Kind.VALIDATION) is is_evaluation
    assert ("without a backward pass, probably an evaluation" in first.sentence) is is_evaluation
    assert not is_evaluation or first.confidence is Confidence.LIKELY


def test_larger_batches_have_a_backward_pass_and_are_no_evaluation(tmp_path: Path) -> None:
    events: list[dict[str, object]] = []
    at = 0.0
    for step in range(40):
        begin = at
        for _ in range(20 if step % 10 == 9 else 1):
            pass_events, at = _training(at, [("aten::addmm", 4.0)], backward_ms=6.0)
            events += pass_events
        events.append(_mark(step, begin, at - begin))
    assert all(told.kind is not Kind.VALIDATION for told in _told(tmp_path, events))


def test_large_and_small_calls_of_one_operation_are_not_one_kind_of_call(tmp_path: Path) -> None:
    """An optimizer over one large weight and five small ones, in turns."""
    events: list[dict[str, object]] = []
    at = 0.0
    for step in range(20):
        begin = at
        for name in ("aten::mul_", "aten::lerp_", "aten::addcmul_", "aten::sqrt", "aten::add_"):
            for weight in range(12):
                length = 4_000 if weight == 0 else 5
                events.append(event(("cpu_op", name, at, length)))
                at += length + 10
        events.append(_mark(step, begin, at - begin))
    first = _told(tmp_path, events)[0]
    assert first.kind is Kind.COMPUTE
    assert first.cost.share == pytest.approx(0.96, abs=0.03)


def test_an_operator_of_no_known_kind_is_an_operation(tmp_path: Path) -> None:
    events = []
    for step in range(10):
        at = step * 10.0 * _MS
        events.append(_mark(step, at, 10 * _MS))
        events.append(event(("cpu_op", "aten::embedding_dense_backward", at, 9 * _MS)))
    first = _told(tmp_path, events)[0]
    assert first.kind is Kind.COMPUTE
    assert "while no operation runs" not in first.sentence


def test_a_wait_for_input_is_no_slower_machine_though_operations_are_slower_as_well(
    tmp_path: Path,
) -> None:
    events = []
    at = 0.0
    for step in range(40):
        begin = at
        slow = step >= 15
        waits = 60.0 if slow else 0.5
        loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        events.append(event(("user_annotation", loader, at, waits * _MS)))
        at += waits * _MS
        for name in ("aten::addmm", "aten::relu", "aten::mul", "aten::sum", "aten::addcdiv_"):
            took = (3.0 if slow else 1.0) * _MS
            events.append(event(("cpu_op", name, at, took)))
            at += took
        events.append(_mark(step, begin, at - begin))
    told = _told(tmp_path, events)
    assert told[0].kind is Kind.INPUT
    assert Kind.SLOWER_MACHINE not in {conclusion.kind for conclusion in told}


def test_what_runs_once_before_the_first_step_is_not_in_the_steps(tmp_path: Path) -> None:
    events = [
        event(("python_function", "train.py(3): build_vocabulary", 0, 900 * _MS)),
    ]
    for step in range(10):
        at = (900 + step * 10.0) * _MS
        events.append(_mark(step, at, 10 * _MS))
        events.append(event(("python_function", "train.py(9): fit", at, 10 * _MS)))
        events.append(event(("cpu_op", "aten::mm", at, 9 * _MS)))
    first = _told(tmp_path, events)[0]
    assert first.kind is Kind.PYTHON
    assert "90 % of the time (900 ms of 1 s) before the first step" in first.sentence
    assert "build_vocabulary in train.py:3" in first.sentence
    assert "fit in train.py" not in first.sentence
    assert first.stretch is not None
    assert first.stretch.end_ps - first.stretch.start_ps == 900 * 10**9


def test_a_function_that_calls_into_c_waits_for_no_lock(tmp_path: Path) -> None:
    events = []
    for step in range(10):
        at = step * 100.0 * _MS
        events.append(_mark(step, at, 100 * _MS))
        events.append(event(("python_function", "train.py(7): to_rows", at, 95 * _MS)))
        built_in = "<built-in method tensor of type object at 0x7f8694093460>"
        events.append(event(("python_function", built_in, at + _MS, 93 * _MS)))
        events.append(event(("cpu_op", "aten::mm", at + 95 * _MS, 5 * _MS)))
    first = _told(tmp_path, events)[0]
    assert first.sentence.endswith(": to_rows in train.py:7, mostly in tensor.")
    assert "lock" not in first.sentence + first.next


_QUIET = "Python code (such as preprocessing)"


def test_what_a_program_annotates_is_no_call_of_pytorch(tmp_path: Path) -> None:
    """Each turn is annotated as a whole: 80 ms that nothing shows, then 20 ms of an operation."""
    events = []
    for step in range(10):
        at = step * 100.0 * _MS
        events.append(event(("user_annotation", "one_update", at, 100 * _MS)))
        events.append(event(("cpu_op", "aten::mm", at + 80 * _MS, 20 * _MS)))
    first = _told(tmp_path, events)[0]
    assert first.kind is Kind.UNKNOWN_TIME
    assert first.cost.share == pytest.approx(0.8, abs=0.02)
    assert _QUIET in first.sentence


def test_what_a_program_annotates_is_no_call_of_jax(tmp_path: Path) -> None:
    """The same in an XPlane, where no category says who wrote a name."""
    ms = 10**9
    events = []
    for step in range(10):
        events.append(xplane.Event("one_update", step * 100 * ms, 100 * ms))
        events.append(xplane.Event("PjitFunction(update)", (step * 100 + 80) * ms, 20 * ms))
    lines = (xplane.Line("python", events, key=1),)
    (tmp_path / "host.xplane.pb").write_bytes(xplane.encode([xplane.Plane("/host:CPU", lines)]))
    first = run_conclusions(api.open(str(tmp_path))[0].opened).first
    assert first is not None
    assert first.kind is Kind.UNKNOWN_TIME
    assert first.cost.share == pytest.approx(0.8, abs=0.02)
    assert _QUIET in first.sentence


def _busy_machine(
    stops: set[tuple[int, int]],
    *,
    on_host: bool = True,
    growth_ms: float = 0.0,
) -> list[dict[str, object]]:
    """Twenty steps of ten products of 2 ms, a view before each: `stops` are 20 ms longer, each of
    them (which step, which call). `growth_ms`: how much longer a product is in each next step.
    """
    events = []
    at = 0.0
    for step in range(20):
        begin = at
        for call in range(20):
            is_view = call % 2 == 0
            length = 5.0 if is_view else (2.0 + growth_ms * step) * _MS
            length += 20 * _MS if (step, call) in stops else 0
            name = "aten::transpose" if is_view else "aten::mm"
            events.append(event(("cpu_op", name, at, length)))
            if on_host and not is_view:
                events.append(event(("cpu_op", "aten::resolve_conj", at + 1, 1)))
                events.append(event(("cpu_op", "aten::resolve_conj", at + 3, 1)))
            at += length + 1
        events.append(_mark(step, begin, at - begin))
    return events


_STOPS_OF_PRODUCTS = {(step, 1 + 2 * ((step * 7) % 10)) for step in range(20)}
_STOPS_OF_VIEWS = {(4, 6), (13, 2)}


def test_calls_that_others_stop_anywhere_are_busy_cores(tmp_path: Path) -> None:
    told = _told(tmp_path, _busy_machine(_STOPS_OF_PRODUCTS | _STOPS_OF_VIEWS))
    busy = next(conclusion for conclusion in told if conclusion.kind is Kind.BUSY_CORES)
    assert busy.sentence == (
        "Busy cores: operations waited for a core in at least 52 % of the time (440 ms of 841 ms), "
        "52 % of what they took, because other processes or threads used the cores."
    )
    assert busy.confidence is Confidence.LIKELY
    assert "2 calls that take a few microseconds took up to 20 ms" in busy.doubt
    # The products take 44 % without that.
    assert told[0] is busy


def test_what_a_program_does_itself_comes_before_busy_cores_where_it_takes_more(
    tmp_path: Path,
) -> None:
    every_other = {stop for stop in _STOPS_OF_PRODUCTS if stop[0] % 2}
    told = _told(tmp_path, _busy_machine(every_other | _STOPS_OF_VIEWS))
    assert [conclusion.kind for conclusion in told[:2]] == [Kind.COMPUTE, Kind.BUSY_CORES]


def test_computing_that_mostly_waits_for_a_core_comes_after_that(tmp_path: Path) -> None:
    others = {(step, 1 + 2 * call) for step in range(20) for call in (step % 10, (step + 3) % 10)}
    told = _told(tmp_path, _busy_machine(others | _STOPS_OF_VIEWS))
    computing = next(conclusion for conclusion in told if conclusion.kind is Kind.COMPUTE)
    assert told[0].kind is Kind.BUSY_CORES
    assert computing.cost.largest_share > 0.95
    assert computing.cost.own_share == pytest.approx(1 - told[0].cost.largest_share, abs=0.05)


def test_products_that_grow_from_step_to_step_wait_for_no_core(tmp_path: Path) -> None:
    told = _told(tmp_path, _busy_machine(_STOPS_OF_VIEWS, growth_ms=1.0))
    assert told[0].kind is Kind.COMPUTE
    assert all(conclusion.kind is not Kind.BUSY_CORES for conclusion in told)


@pytest.mark.parametrize(
    ("stops", "on_host"),
    [
        (set(), True),
        (_STOPS_OF_PRODUCTS, True),  # larger inputs, perhaps
        ({(7, 4), (7, 8)}, True),  # one step alone
        # Nothing shows that no device is waited for, whose activity was not recorded.
        (_STOPS_OF_PRODUCTS | _STOPS_OF_VIEWS, False),
    ],
)
def test_without_a_proof_nobody_says_busy_cores(
    tmp_path: Path, stops: set[tuple[int, int]], *, on_host: bool
) -> None:
    told = _told(tmp_path, _busy_machine(stops, on_host=on_host))
    assert all(conclusion.kind is not Kind.BUSY_CORES for conclusion in told)


def test_a_view_that_waited_for_a_core_copies_nothing(tmp_path: Path) -> None:
    events = []
    for step in range(10):
        at = step * 100.0 * _MS
        events.append(_mark(step, at, 100 * _MS))
        for call in range(200):
            length = 20 * _MS if call == 150 else 2.0
            events.append(event(("cpu_op", "aten::select", at, length)))
            at += length + 3
        events.append(event(("cpu_op", "aten::mm", at, 60 * _MS)))
    assert all(told.kind is not Kind.COPIES for told in _told(tmp_path, events))


def test_numbers_that_are_read_one_by_one_are_said(tmp_path: Path) -> None:
    events = []
    for step in range(10):
        begin = at = step * 10.0 * _MS
        for _ in range(500):
            for name in ("aten::select", "aten::item"):
                events.append(event(("cpu_op", name, at, 3.0)))
                at += 8.0
        events.append(_mark(step, begin, 10 * _MS))
    first = _told(tmp_path, events)[0]
    assert first.kind is Kind.LAUNCH
    assert first.sentence.endswith("many to read single numbers (aten::item).")
    assert first.next.startswith("Read whole tensors at once")


@pytest.mark.parametrize(
    "name",
    [
        "<eval_with_key>.7(4): forward",  # what torch.compile runs instead of the program's own
        "<built-in function set_eval_frame>",
        "torch/_dynamo/eval_frame.py(1155): _fn",
        "torch/fx/experimental/symbolic_shapes.py(7000): evaluate_expr",
        "$partial_eval.py:2300 trace_to_jaxpr_dynamic",  # of JAX
        "$core.py:600 eval_jaxpr",
    ],
)
def test_what_compiles_a_program_knows_no_purpose(name: str) -> None:
    assert purpose_of([name]) is None


@pytest.mark.parametrize(("saves", "is_checkpoint"), [(1, False), (10, True)])
def test_one_save_says_nothing_of_the_time_after_all_steps(
    tmp_path: Path, saves: int, *, is_checkpoint: bool
) -> None:
    events = []
    for step in range(10):
        at = step * 100.0 * _MS
        events.append(_mark(step, at, 20 * _MS))
        events.append(event(("cpu_op", "aten::mm", at, 19 * _MS)))
        if step >= 10 - saves:
            events.append(event(("cpu_op", "torch::save", at + 98 * _MS, 1 * _MS)))
    first = _told(tmp_path, events)[0]
    assert first.cost.share == pytest.approx(0.8, abs=0.03)
    assert (first.kind is Kind.CHECKPOINT) is is_checkpoint


_OPTIMIZES = {
    "jit_update(1)": b"jit(update)/transpose(jvp(dot))",
    "jit__lambda_(2)": b"jit(lambda)",
}


def _jax_epochs(
    other: str, *, marks: bool, programs: dict[str, bytes], calls: int = 20
) -> list[xplane.Plane]:
    """40 updates, after every tenth of them 20 calls of another function."""
    ms = 10**9
    python: list[xplane.Event] = []
    pool: list[xplane.Event] = []
    at = 0
    for step in range(40):
        begin = at
        called = ["update", *([other] * calls if step % 10 == 9 else [])]
        for name in called:
            python.append(xplane.Event(f"PjitFunction({name})", at, ms // 50))
            python.append(xplane.Event("np.asarray(jax.Array)", at + ms // 40, ms))
            module = f"jit_{name}" if name == "update" else "jit__lambda_"
            pool.append(xplane.Event("dot.2", at + ms // 40, ms, {"hlo_module": module}))
            at += ms + ms // 10
        if marks:
            python.append(xplane.Event("train", begin, at - begin, {"step_num": step}))
    lines = [
        xplane.Line("python", python, key=1),
        xplane.Line("tf_XLAPjRtCpuClient/7", pool, key=2),
    ]
    metadata = xplane.Plane("/host:metadata", programs=programs)
    return [xplane.Plane("/host:CPU", lines), metadata]


def _of_planes(folder: Path, planes: list[xplane.Plane]) -> list[Conclusion]:
    (folder / "host.xplane.pb").write_bytes(xplane.encode(planes))
    return list(run_conclusions(api.open(str(folder))[0].opened))


@pytest.mark.parametrize("marks", [True, False])
def test_calls_of_functions_without_gradients_between_epochs_are_probably_an_evaluation(
    tmp_path: Path, *, marks: bool
) -> None:
    planes = _jax_epochs("<lambda>", marks=marks, programs=_OPTIMIZES)
    first = _of_planes(tmp_path, planes)[0]
    where = "in" if marks else "after"
    assert first.kind is Kind.VALIDATION
    assert first.confidence is Confidence.LIKELY
    assert first.sentence.startswith(
        f"Computing without a backward pass, probably an evaluation, {where} 4 of 40 steps "
        "(every 10th) takes 67 % of the time"
    )


def test_further_calls_of_a_function_that_trains_are_no_evaluation(tmp_path: Path) -> None:
    planes = _jax_epochs("update", marks=True, programs=_OPTIMIZES)
    told = _of_planes(tmp_path, planes)
    assert all(conclusion.kind is not Kind.VALIDATION for conclusion in told)


def test_steps_that_call_more_are_told_apart_from_those_whose_calls_take_longer(
    tmp_path: Path,
) -> None:
    """An evaluation after every tenth step, and five steps that others made slow."""
    events: list[dict[str, object]] = []
    at = 0.0
    for step in range(40):
        begin = at
        delayed = 30.0 if step in (3, 12, 17, 25, 34) else 0.0
        pass_events, at = _training(at, [("aten::addmm", 4.0)], backward_ms=6.0 + delayed)
        events += pass_events
        for _ in range(20 if step % 10 == 9 else 0):
            events.append(event(("cpu_op", "aten::addmm", at, 4 * _MS)))
            at += 4 * _MS
        events.append(_mark(step, begin, at - begin))
    sentences = " ".join(conclusion.sentence for conclusion in _told(tmp_path, events))
    assert (
        "Computing without a backward pass, probably an evaluation, in 4 of 40 steps (every 10th) "
        "takes 37 % of the time"
    ) in sentences
    assert "In 5 of 40 steps the same calls as in the others take longer, 17 %" in sentences

"""Each second of a profile has one cause, and the first sentence names the costliest."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from powertui import api
from powertui.data.conclusions.conclusion import Conclusion, Confidence, Kind
from powertui.data.conclusions.makers.time_causes import time_causes
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.opened import Opened
from powertui.data.tools import registry, wall_time
from powertui.data.tools.registry import Question
from tests.synthetic import torch_json, xplane
from tests.synthetic.torch_json import event

_RECORDED = Path(__file__).parents[2] / "data" / "causes"
_MS = 1_000  # µs


def _recorded(name: str, folder: Path) -> Opened:
    """A program with its cause built in (make causes), as it was recorded."""
    packed = _RECORDED / f"{name}.xplane.pb.gz"
    (folder / f"{name}.xplane.pb").write_bytes(gzip.decompress(packed.read_bytes()))
    return api.open(str(folder))[0].opened


def _first(run: Opened) -> Conclusion:
    first = run_conclusions(run).first
    assert first is not None
    return first


@pytest.mark.parametrize(
    ("name", "kind", "share", "words"),
    [
        ("tf_slow_step", Kind.PAUSE, 0.975, "A pause in step 14"),
        ("jax_slow_step", Kind.PAUSE, 0.959, "A pause in step 17"),
        ("tf_gc_pause", Kind.PAUSE, 0.884, "garbage collection"),
        ("tf_requests", Kind.BETWEEN_STEPS, 0.959, "waiting for the next request"),
        ("jax_python_unseen", Kind.UNKNOWN_TIME, 0.936, "Python code"),
        ("jax_sleep", Kind.WAITING, 0.982, "sleep, called by step in jax_programs.py"),
    ],
)
def test_the_first_sentence_names_the_cause_with_the_share_that_the_program_measured(
    tmp_path: Path, name: str, kind: Kind, share: float, words: str
) -> None:
    first = _first(_recorded(name, tmp_path))
    assert first.kind is kind
    assert first.cost.share == pytest.approx(share, abs=0.03)
    assert words in first.sentence


def _steps(
    lengths_ms: Sequence[int], inside: Sequence[tuple[str, str, int, int]]
) -> list[dict[str, object]]:
    """Steps one after the other, each with the same events: (category, name, start, length) ms."""
    events = []
    at = 0
    for number, length in enumerate(lengths_ms):
        events.append(event(("user_annotation", f"ProfilerStep#{number}", at, length * _MS)))
        for category, name, start, took in inside:
            events.append(event((category, name, at + start * _MS, took * _MS)))
        at += length * _MS
    return events


_WORK = ("cpu_op", "aten::mm", 1, 8)


def test_the_causes_of_a_profile_add_up_to_all_of_its_time(tmp_path: Path) -> None:
    run = torch_json.write(tmp_path, _steps([10, 10, 10, 400, 10, 10, 10, 10], [_WORK]))
    wall = wall_time.wall_time(run.profiles[0])
    causes = time_causes(run.profiles[0], wall)
    assert sum(cause.ps for cause in causes) == wall.length
    lo, hi = run.profiles[0].trace.span
    assert wall.length == hi - lo


def test_a_step_in_which_no_thread_ran_is_a_pause_and_not_what_all_steps_are_made_of(
    tmp_path: Path,
) -> None:
    run = torch_json.write(tmp_path, _steps([10] * 6 + [400] + [10] * 6, [_WORK]))
    first = _first(run)
    assert first.kind is Kind.PAUSE
    assert "in step 6 takes 75 % of the time (390 ms of 520 ms)" in first.sentence


def test_what_every_fifth_step_does_beside_its_work_is_named(tmp_path: Path) -> None:
    events = _steps([10, 10, 10, 10, 200] * 4, [_WORK])
    for block in range(4):
        at = (block * 240 + 50) * _MS
        events.append(event(("user_annotation", "evaluate", at, 180 * _MS)))
        events.append(event(("cpu_op", "aten::linear", at, 179 * _MS)))
    first = _first(torch_json.write(tmp_path, events))
    assert first.kind is Kind.VALIDATION
    assert first.sentence.startswith("Evaluation in 4 of 20 steps (every 5th) takes 79 %")


def test_thousands_of_short_operations_are_launching_and_not_computing(tmp_path: Path) -> None:
    events = []
    for step in range(5):
        at = step * 10 * _MS
        events.append(event(("user_annotation", f"ProfilerStep#{step}", at, 10 * _MS)))
        events += [event(("cpu_op", "aten::add", at + 20 * call, 5)) for call in range(500)]
    first = _first(torch_json.write(tmp_path, events))
    assert first.kind is Kind.LAUNCH
    assert first.cost.share == pytest.approx(1.0, abs=0.02)
    assert "about 2,500 calls" in first.sentence


def test_only_the_outermost_of_nested_calls_count_as_operations(tmp_path: Path) -> None:
    """An operation that calls three others, two of them at once, and a handle that is deleted."""
    events = []
    for call in range(500):
        at = 40 * call
        events.append(event(("cpu_op", "aten::mul", at, 20)))
        events.append(event(("cpu_op", "aten::to", at + 1, 12)))
        events.append(event(("cpu_op", "aten::_to_copy", at + 2, 11)))
        events.append(event(("cpu_op", "aten::fill_", at + 14, 5)))
        events.append(event(("cpu_op", "release", at + 25, 0.2)))
    first = _first(torch_json.write(tmp_path, events))
    assert first.kind is Kind.LAUNCH
    assert "about 500 calls, one every 40" in first.sentence


def test_python_that_an_operation_calls_back_is_told_with_the_function(tmp_path: Path) -> None:
    called = [
        ("cpu_op", "PjitFunction(train)", 0, 9),
        ("cpu_op", "pure_callback.1", 1, 8),
    ]
    events = _steps([10] * 6, called)
    for step in range(6):
        start = (step * 10 + 1) * _MS
        events.append(event(("python_function", "train.py(7): shuffle_rows", start, 8 * _MS)))
    first = _first(torch_json.write(tmp_path, events))
    assert first.kind is Kind.PYTHON
    assert first.sentence.startswith("Python that operations call back takes 8")
    assert first.sentence.endswith(": shuffle_rows in train.py:7.")


@pytest.mark.parametrize(("python_us", "kind"), [(80, Kind.INPUT), (20, Kind.LAUNCH)])
def test_small_operations_that_python_of_the_input_delays_wait_for_input(
    tmp_path: Path, python_us: int, kind: Kind
) -> None:
    """Both need the interpreter: which of them is the limit, the busier one tells."""
    us = 1_000_000
    calls = [
        xplane.Event("TFE_Py_FastPathExecute_C", call * 100 * us, 20 * us) for call in range(400)
    ]
    prepared = [
        xplane.Event("PyFunc:PyFunc", call * 100 * us, python_us * us) for call in range(400)
    ]
    lines = (
        xplane.Line("python", calls, key=1),
        xplane.Line("tf_data_private_threadpool/1", prepared, key=2),
    )
    (tmp_path / "host.xplane.pb").write_bytes(xplane.encode([xplane.Plane("/host:CPU", lines)]))
    assert _first(api.open(str(tmp_path))[0].opened).kind is kind


def test_a_wait_for_a_server_names_the_function_that_calls_into_python_s_own_modules(
    tmp_path: Path,
) -> None:
    frames = [
        ("python_function", "train.py(12): ask_scheduler", 0, 8),
        ("python_function", "client.py(285): _read_status", 0, 8),
        ("python_function", "<built-in method recv_into of socket object at 0x7f>", 0, 8),
    ]
    work = ("cpu_op", "aten::mm", 8, 2)
    first = _first(torch_json.write(tmp_path, _steps([10] * 6, [*frames, work])))
    assert first.kind is Kind.WAITING
    assert first.sentence.endswith(
        ": an answer over the network, called by ask_scheduler in train.py:12."
    )


def test_a_callback_of_lightning_is_named_as_the_program_names_it(tmp_path: Path) -> None:
    events = _steps([10, 10, 10, 10, 200] * 4, [_WORK])
    name = "[pl][profile][Callback]main.<locals>.PlotWeights.on_train_batch_end"
    for block in range(4):
        at = (block * 240 + 50) * _MS
        events.append(event(("user_annotation", name, at, 180 * _MS)))
    first = _first(torch_json.write(tmp_path, events))
    assert first.sentence.startswith(
        "The callback PlotWeights.on_train_batch_end in 4 of 20 steps (every 5th) takes 7"
    )


def test_steps_that_compile_longer_than_the_others_are_told_with_them(tmp_path: Path) -> None:
    events = []
    lengths = [100, 100, 100, 100, 400] * 4
    for step, (at, length) in enumerate(zip(np.cumsum([0, *lengths]), lengths, strict=False)):
        start = int(at) * _MS
        events.append(event(("user_annotation", f"ProfilerStep#{step}", start, length * _MS)))
        compiling = ("cpu_op", "_compile.<locals>.compile_inner", start, (length - 10) * _MS)
        events.append(event(compiling))
    told = run_conclusions(torch_json.write(tmp_path, events))
    assert [conclusion.kind for conclusion in told].count(Kind.RECOMPILATION) == 1
    assert Kind.COMPILATION not in [conclusion.kind for conclusion in told]
    assert told.first is not None
    assert told.first.cost.share == pytest.approx(0.94, abs=0.02)


@pytest.mark.parametrize(
    ("slow", "kind"),
    [((0,), Kind.COMPUTE), ((0, 19), Kind.COMPUTE), ((0, 5, 9, 14), Kind.RECOMPILATION)],
)
def test_steps_that_compile_again_and_again_are_the_limit_and_those_that_start_are_not(
    tmp_path: Path, slow: tuple[int, ...], kind: Kind
) -> None:
    lengths = [400 if step in slow else 10 for step in range(20)]
    events = _steps(lengths, [("cpu_op", "aten::mm", 1, 8)])
    ends = np.cumsum(lengths)
    for step in slow:
        compiling = ("cpu_op", "_compile.inner", int(ends[step] - 389) * _MS, 388 * _MS)
        events.append(event(compiling))
    assert _first(torch_json.write(tmp_path, events)).kind is kind


def test_a_short_operation_that_waited_for_a_core_is_still_a_short_one(tmp_path: Path) -> None:
    durations = np.full(2_000, 5)
    durations[::200] = 4_000
    starts = np.concatenate([[0], np.cumsum(durations + 15)[:-1]])
    events = [
        event(("cpu_op", "aten::add", int(start), int(length)))
        for start, length in zip(starts, durations, strict=True)
    ]
    first = _first(torch_json.write(tmp_path, events))
    assert first.kind is Kind.LAUNCH


def test_copies_on_the_host_are_no_computing(tmp_path: Path) -> None:
    copy = ("cpu_op", "aten::copy_", 1, 8)
    first = _first(torch_json.write(tmp_path, _steps([10] * 6, [copy])))
    assert first.kind is Kind.COPIES


def test_a_function_that_calls_nothing_for_long_may_wait_for_a_lock(tmp_path: Path) -> None:
    events = _steps([100] * 5, [("cpu_op", "aten::mm", 90, 9)])
    for step in range(5):
        start = step * 100 * _MS
        events.append(event(("python_function", "train.py(7): step", start, 90 * _MS)))
    first = _first(torch_json.write(tmp_path, events))
    assert first.kind is Kind.PYTHON
    assert "it waits for a lock or a file, runs a loop," in first.sentence


def test_a_lock_is_waited_for_in_the_thread_of_the_steps_and_not_in_the_one_that_holds_it(
    tmp_path: Path,
) -> None:
    events = _steps([100] * 5, [("cpu_op", "aten::mm", 90, 9)])
    for step in range(5):
        start = step * 100 * _MS
        events.append(event(("python_function", "train.py(7): step", start, 99 * _MS)))
        for at in range(1, 100, 25):
            sleep = ("python_function", "<built-in function sleep>", start + at * _MS, 20 * _MS)
            events.append(event(sleep, thread=8))
    whole = 500 * _MS
    events.append(event(("python_function", "train.py(1): main", -1, whole)))
    events.append(event(("python_function", "train.py(30): worker", -1, whole), thread=8))
    first = _first(torch_json.write(tmp_path, events))
    assert first.kind is Kind.PYTHON
    assert "step in train.py:7, which calls no function of Python then" in first.sentence
    assert first.next.startswith("If it waits for a lock")


def test_steps_that_a_busy_machine_made_slow_do_not_count_beside_those_that_sleep(
    tmp_path: Path,
) -> None:
    lengths = [10] * 80
    for step in (19, 39, 59, 79):
        lengths[step] = 300
    for step in (1, 16, 40, 46, 48, 61, 63, 70):
        lengths[step] = 40
    first = _first(torch_json.write(tmp_path, _steps(lengths, [_WORK])))
    assert "in 4 of 80 steps (every 20th)" in first.sentence


def test_two_slow_steps_of_twenty_are_named_and_not_called_every_fourth(tmp_path: Path) -> None:
    lengths = [10] * 20
    lengths[11] = lengths[15] = 300
    first = _first(torch_json.write(tmp_path, _steps(lengths, [_WORK])))
    assert "in 2 of 20 steps (11, 15)" in first.sentence
    # What they took beyond the usual 10 ms, as the sum is; "up to 300 ms" was their whole length.
    assert "(580 ms of 780 ms), about 290 ms each: " in first.sentence


def test_a_profile_of_microseconds_without_steps_shows_nothing(tmp_path: Path) -> None:
    events = [event(("cpu_op", "aten::ones", 10, 60)), event(("cpu_op", "aten::add", 100, 80))]
    run = torch_json.write(tmp_path, events)
    (only,) = run_conclusions(run)
    assert only.sentence == (
        "The profile is too short to show what takes time: 170 µs, 2 events, and no step."
    )
    assert only.confidence is Confidence.UNSURE


def test_silence_after_the_only_step_is_the_end_of_the_profile_and_work_there_is_not(
    tmp_path: Path,
) -> None:
    events = [
        event(("user_annotation", "ProfilerStep#0", 0, 100 * _MS)),
        event(("cpu_op", "aten::mm", 1 * _MS, 90 * _MS)),
        event(("cpu_op", "aten::add", 500 * _MS, 1)),
    ]
    silent = run_conclusions(torch_json.write(tmp_path / "silent", events))
    assert Kind.BETWEEN_STEPS not in [conclusion.kind for conclusion in silent]
    events.append(event(("cpu_op", "aten::add", 101 * _MS, 398 * _MS)))
    working = _first(torch_json.write(tmp_path / "working", events))
    assert working.kind is Kind.BETWEEN_STEPS
    assert "aten::add takes 80 % of the time" in working.sentence
    assert "after the only step" in working.sentence


def test_a_first_step_that_takes_long_is_told_after_what_limits_the_run(tmp_path: Path) -> None:
    run = torch_json.write(tmp_path, _steps([600] + [10] * 20, [_WORK]))
    kinds = [conclusion.kind for conclusion in run_conclusions(run)]
    assert kinds[0] is Kind.COMPUTE
    assert Kind.COMPILATION in kinds


def test_an_operation_that_only_saves_tells_a_checkpoint(tmp_path: Path) -> None:
    events = _steps([10] * 4, [_WORK])
    for block in range(5):
        for step in range(4):
            at = (block * 440 + step * 10) * _MS
            events.append(event(("user_annotation", f"ProfilerStep#{4 * block + step}", at, 9_000)))
            events.append(event(("cpu_op", "aten::mm", at, 8 * _MS)))
        events.append(event(("cpu_op", "torch::save", (block * 440 + 41) * _MS, 390 * _MS)))
    first = _first(torch_json.write(tmp_path, events[8:]))
    assert first.kind is Kind.CHECKPOINT


def test_steps_that_were_dispatched_ahead_compute_while_an_evaluation_waits_for_them(
    shared_data: Path,
) -> None:
    """Thirty unmarked steps of JAX; every tenth one is followed by a small evaluation."""
    first = _first(api.open(str(shared_data / "own/sentences/jax_nomark"))[0].opened)
    assert first.kind is Kind.COMPUTE
    assert first.cost.share == pytest.approx(0.98, abs=0.02)


def test_the_program_s_own_function_is_named_and_not_the_library_s_or_a_comprehension(
    tmp_path: Path,
) -> None:
    frames = [
        ("python_function", "photos.py(40): __getitem__", 0, 8),
        ("python_function", "photos.py(42): <listcomp>", 0, 8),
        ("python_function", "$fromnumeric.py:3699 mean", 0, 8),
    ]
    work = ("cpu_op", "aten::mm", 8, 2)
    first = _first(torch_json.write(tmp_path, _steps([10] * 6, [*frames, work])))
    assert first.kind is Kind.PYTHON
    assert first.sentence.startswith("Preparing input in Python takes 80 %")
    assert first.sentence.endswith(": __getitem__ in photos.py:40.")


def test_no_page_says_that_a_program_which_prepares_batches_between_steps_needs_no_input(
    tmp_path: Path,
) -> None:
    events = []
    for step in range(10):
        at = step * 100 * _MS
        events.append(event(("user_annotation", f"ProfilerStep#{step}", at, 20 * _MS)))
        events.append(event(("cpu_op", "aten::mm", at, 20 * _MS)))
        events.append(event(("python_function", "train.py(9): next_batch", at + 20_000, 79_000)))
    run = torch_json.write(tmp_path, events)
    first = _first(run)
    assert first.kind is Kind.INPUT
    for tool in ("overview_page", "input_pipeline_analyzer"):
        facts = {fact.id: fact for fact in registry.get(tool).answer(Question(run)).facts}
        assert facts["bottleneck"].value == "host"
    assert facts["input_conclusion"].value == first.sentence
    assert facts["summary_nextstep"].value == first.next
    assert facts["input_percent"].label == "waiting for input in steps"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("aten::embedding", ": aten::embedding took 22 ms, usually 8 ms."),
        ("", ", and no recorded call took that much longer."),
    ],
)
def test_a_slow_step_names_what_explains_it_or_says_that_nothing_does(
    tmp_path: Path, name: str, words: str
) -> None:
    events = []
    for step in range(40):
        length = 32 if step == 20 else 20
        at = (step * 20 + (12 if step > 20 else 0)) * _MS
        events.append(event(("user_annotation", f"ProfilerStep#{step}", at, length * _MS)))
        took = length - 10 if step == 20 and name else 8
        events.append(event(("cpu_op", name or "aten::mm", at, took * _MS)))
    told = [c.sentence for c in run_conclusions(torch_json.write(tmp_path, events))]
    (slow,) = [sentence for sentence in told if "longer than the steps around" in sentence]
    assert slow == f"Step 20: 12 ms longer than the steps around{words}"


def test_a_fusion_that_copies_is_computing_of_a_compiled_program(tmp_path: Path) -> None:
    inside = [("cpu_op", "copy_bitcast_fusion.3", 0, 4), ("cpu_op", "dot.7", 4, 6)]
    told = run_conclusions(torch_json.write(tmp_path, _steps([10] * 6, inside)))
    assert told.first is not None
    assert told.first.kind is Kind.COMPUTE
    assert Kind.COPIES not in [conclusion.kind for conclusion in told]


def test_operations_that_nobody_compiled_are_launched_and_are_no_steps(tmp_path: Path) -> None:
    """Four turns of a network of four layers without jit, and nothing that marks them."""
    run = _recorded("jax_eager_unmarked", tmp_path)
    assert len(run.profiles[0].steps) == 0
    first = _first(run)
    assert first.kind is Kind.LAUNCH
    assert "jit over the whole step" in first.next

"""What programs of authors showed who knew nothing of the rules: writes, compiling once, two usual
lengths of steps.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.conclusions.conclusion import Conclusion, Kind
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.opened import Opened
from tests.synthetic import torch_json
from tests.synthetic.torch_json import event

_MS = 1_000  # µs


def _first(opened: Opened) -> Conclusion:
    first = run_conclusions(opened).first
    assert first is not None
    return first


def _mark(number: int, at: float, length: float) -> dict[str, object]:
    return event(("user_annotation", f"ProfilerStep#{number}", at, length))


def test_small_operations_that_prepare_a_summary_are_logging(tmp_path: Path) -> None:
    """Each step: a compiled function of 10 ms, 1,000 operations of 30 µs, and the write."""
    events = []
    for step in range(12):
        at = step * 45.0 * _MS
        events.append(_mark(step, at, 45 * _MS))
        events.append(
            event(("cpu_op", "EagerLocalExecute: __inference_train_step_7", at, 10 * _MS))
        )
        events.append(event(("cpu_op", "MatMul", at, 10 * _MS)))
        begin = at + 10.5 * _MS
        events += [event(("cpu_op", "aten::add", begin + 31 * call, 30)) for call in range(1000)]
        write = begin + 31 * 1000
        events.append(event(("cpu_op", "EagerLocalExecute: WriteSummary", write, 100)))
    first = _first(torch_json.write(tmp_path, events))
    assert first.kind is Kind.LOGGING
    assert first.sentence.endswith("WriteSummary.")
    assert first.cost.share == pytest.approx(31 / 45, abs=0.06)


def test_what_compiles_once_before_the_steps_makes_no_share_small(tmp_path: Path) -> None:
    events = [event(("cpu_op", "backend_compile (dynamo_timed)", 0, 900 * _MS))]
    for step in range(20):
        at = (900 + step * 10.0) * _MS
        events.append(_mark(step, at, 10 * _MS))
        events.append(event(("cpu_op", "aten::mm", at, 9 * _MS)))
    opened = torch_json.write(tmp_path, events)
    first = _first(opened)
    assert first.kind is Kind.COMPUTE
    assert "or 90 % of what is left after tracing and compiling" in first.sentence
    sentences = [conclusion.sentence for conclusion in run_conclusions(opened)]
    assert any(text.startswith("Tracing and compiling before the first") for text in sentences)


def test_every_sixth_step_is_slow_also_beside_steps_of_two_usual_lengths(tmp_path: Path) -> None:
    """Four in ten steps take three times as long as the others, and every sixth a hundred times."""
    events, at = [], 0.0
    for step in range(60):
        length = 3.0 if step % 5 < 3 else 9.0
        begin = at
        events.append(event(("cpu_op", "aten::mm", at, (length - 0.5) * _MS)))
        at += length * _MS
        if step % 6 == 5:
            events.append(event(("user_annotation", "recall", at, 200 * _MS)))
            events.append(event(("cpu_op", "aten::topk", at, 199 * _MS)))
            at += 200 * _MS
        events.append(_mark(step, begin, at - begin))
    first = _first(torch_json.write(tmp_path, events))
    assert "in 10 of 60 steps (every 6th)" in first.sentence
    assert "recall" in first.sentence


def test_two_gloo_threads_of_one_rank_are_no_replicas_that_wait_for_each_other(
    tmp_path: Path,
) -> None:
    """Gloo works in two threads of a process, the second 8 ms behind the first."""
    events = []
    for step in range(5):
        at = step * 220.0 * _MS
        events.append(_mark(step, at, 220 * _MS))
        for thread, late in ((8, 0.0), (9, 8.0 * _MS)):
            place = ("user_annotation", "gloo:all_reduce", at + 20 * _MS + late, 170 * _MS)
            events.append(event(place, thread=thread))
    conclusions = list(run_conclusions(torch_json.write(tmp_path, events)))
    assert "straggler" not in {conclusion.kind.value for conclusion in conclusions}
    (first, *_) = conclusions
    assert first.kind is Kind.COLLECTIVES
    assert first.sentence.startswith(
        "Communication between replicas (collectives) takes 81 % of the time"
    )

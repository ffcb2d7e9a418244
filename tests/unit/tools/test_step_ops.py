"""What took longer in a step: no mark of the step itself, names without their counters, and what a
wait waited for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from powertui.data.opened import Opened
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.data.tools.usual_steps import ComparedSteps, UsualSteps
from tests.answers import rows
from tests.synthetic import torch_json
from tests.synthetic.torch_json import event


def _stalled(tmp_path: Path) -> Opened:
    """Twelve steps of 10 ms; the seventh takes 10 ms more, in which the host waits for a kernel."""
    events: list[dict[str, Any]] = []
    at = 0
    for step in range(12):
        more = 10_000 if step == 7 else 0
        events += [
            event(("user_annotation", f"ProfilerStep#{step}", at, 10_000 + more)),
            event(("cpu_op", f"load_batch_{step}", at + 100, 2_000)),
            event(("cpu_op", "aten::conv2d", at + 2_500, 1_000)),
            event(
                ("cuda_runtime", "cudaLaunchKernel", at + 2_600, 10), correlation=step, external=1
            ),
            event(("cuda_runtime", "cudaStreamSynchronize", at + 5_000, 4_500 + more)),
            event(("kernel", "sgemm_kernel", at + 5_100, 4_000 + more), correlation=step),
        ]
        at += 10_000 + more
    tmp_path.mkdir(exist_ok=True)
    return torch_json.write(tmp_path, events)


def _longer(tmp_path: Path) -> list[dict[str, Any]]:
    opened = _stalled(tmp_path)
    tool = next(tool for tool in registry.TOOLS if tool.name == "step_ops")
    return rows(tool.answer(Question(opened)).tables[0])


def test_the_steps_own_mark_is_no_cause(tmp_path: Path) -> None:
    names = [row["name"] for row in _longer(tmp_path)]
    assert not any(name.startswith("ProfilerStep") for name in names)


def test_names_that_count_are_one(tmp_path: Path) -> None:
    found = [row for row in _longer(tmp_path) if row["name"].startswith("load_batch")]
    assert [row["name"] for row in found] == ["load_batch_#"]
    assert found[0]["difference_s"] == 0


def test_a_wait_says_what_it_waited_for(tmp_path: Path) -> None:
    by_name = {row["name"]: row for row in _longer(tmp_path)}
    wait = by_name["cudaStreamSynchronize"]
    assert wait["difference_s"] == 0.01
    assert wait["waited_for"] == "sgemm_kernel"
    assert by_name["aten::conv2d"]["waited_for"] is None


def test_a_wait_is_no_cause_but_what_was_waited_for_is(tmp_path: Path) -> None:
    (profile,) = _stalled(tmp_path).profiles
    compared = UsualSteps(profile.trace, profile.steps).compared(np.array([7]))
    assert compared is not None
    cause = compared.cause()
    assert cause is not None
    assert cause[0] == "sgemm_kernel"
    assert compared.longer_ps(cause) == 10**10


def test_an_op_that_took_more_than_the_step_did_is_no_cause() -> None:
    beside, inside = ("## backward ##", "host"), ("sgemm", "GPU:0")
    here = {beside: 40, inside: 25}
    usual = {beside: 10, inside: 20}
    compared = ComparedSteps(110, 100, 9, 9, here, usual, {})
    assert compared.cause() == inside


def test_a_step_of_the_usual_length_has_no_cause(tmp_path: Path) -> None:
    (profile,) = _stalled(tmp_path).profiles
    compared = UsualSteps(profile.trace, profile.steps).compared(np.array([3]))
    assert compared is not None
    assert compared.cause() is None


def test_frames_of_one_function_are_one_name_whatever_object_it_was_called_on(
    tmp_path: Path,
) -> None:
    events = [
        event(
            ("python_function", f"<built-in method add_ of Tensor object at 0x7f{i:02x}>", i, 0.5)
        )
        for i in range(5)
    ]
    opened = torch_json.write(tmp_path, events)
    tool = next(tool for tool in registry.TOOLS if tool.name == "op_stats")
    found = rows(tool.answer(Question(opened)).tables[0])
    assert [(row["name"], row["count"]) for row in found] == [
        ("<built-in method add_ of Tensor object>", 5)
    ]


def test_a_step_whose_time_is_in_no_op_says_so(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    at = 0
    for step in range(12):
        more = 10_000 if step == 7 else 0  # in which nothing was recorded
        events += [
            event(("user_annotation", f"ProfilerStep#{step}", at, 10_000 + more)),
            event(("cpu_op", "aten::conv2d", at + 2_500, 1_000)),
        ]
        at += 10_000 + more
    tool = next(tool for tool in registry.TOOLS if tool.name == "step_ops")
    result = tool.answer(Question(torch_json.write(tmp_path, events)))
    fact = result.facts[0]
    assert (fact.label, fact.value, fact.why) == ("looked at", "step 7", "against the median step")
    assert result.notes[0] == (
        "No op explains this: of the 10 ms that it took longer, all ops together have 0 s. "
        "Nothing was recorded in the rest."
    )
    explained = tool.answer(Question(_stalled(tmp_path / "waits")))
    assert "No op explains" not in " ".join(explained.notes)

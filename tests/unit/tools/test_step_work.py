"""What a step's time is made of, where no link says which step work belongs to, and where Python
works.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui.data.conclusions.conclusion import Kind
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.opened import Opened
from powertui.data.tools import breakdown, python_frames, shares
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.covered_time import CoveredTime, union
from powertui.data.tools.python_frames import parse_frame
from powertui.data.tools.shares import Shares
from tests.synthetic import torch_json
from tests.synthetic.torch_json import event
from tests.unit.tools.opened_runs import opened

_SENTENCES = Path(__file__).resolve().parents[4] / "shared" / "data" / "own" / "sentences"


def _breakdown(run: Opened) -> Breakdown:
    return breakdown.step_breakdown(run.profiles[0], "corrected")


def _shares(run: Opened) -> Shares:
    found = shares.step_shares(_breakdown(run))
    assert found is not None
    return found


@pytest.mark.parametrize(("folder", "least"), [("jax_capture", 0.9), ("jax_scan", 0.95)])
def test_what_xla_runs_on_threads_of_its_own_is_work_of_the_steps(
    folder: str, least: float
) -> None:
    run = opened(_SENTENCES / folder)
    assert _breakdown(run).by == "time"
    assert _shares(run).host > least
    kinds = {conclusion.kind for conclusion in run_conclusions(run)}
    assert Kind.COMPUTE in kinds
    assert Kind.UNKNOWN_TIME not in kinds


def test_groups_that_reach_the_work_decide() -> None:
    assert _breakdown(opened(_SENTENCES / "tf_input_bound")).by == "group"


# ── Python ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("torch/nn/modules/linear.py(130): forward", "forward in linear.py:130"),
        ("$image_processing.py:214 resize", "resize in image_processing.py:214"),
        ("C:\\train\\load.py(3): read", "read in load.py:3"),
        ("<built-in method run_backward of torch._C._Engine object at 0x7f95>", "run_backward"),
        ("<built-in function sleep>", "sleep"),
        ("$builtins len", "len"),
        ("nn.Module: Linear_0", "nn.Module: Linear_0"),
    ],
)
def test_a_frame_is_named_by_function_file_and_line(text: str, label: str) -> None:
    assert parse_frame(text).label == label


def _with_stacks(folder: Path, inner: str) -> Opened:
    """Four steps of 10 ms: 6 ms of `resize`, in which `inner` takes 5 ms, then 3 ms of an op.

    A second thread waits all the time.
    """
    events: list[dict[str, Any]] = [
        event(("python_function", "train.py(1): <module>", 0, 40_000)),
        event(("python_function", "threading.py(1075): _bootstrap", 0, 40_000), thread=8),
        event(("python_function", "threading.py(655): wait", 1, 39_990), thread=8),
    ]
    for step in range(4):
        at = step * 10_000
        events += [
            event(("user_annotation", f"ProfilerStep#{step}", at, 10_000)),
            event(("python_function", "image_processing.py(214): resize", at + 100, 6_000)),
            event(("python_function", inner, at + 300, 5_000)),
            event(("python_function", "train.py(20): step", at + 6_200, 3_500)),
            event(("cpu_op", "aten::mm", at + 6_500, 3_000)),
        ]
    return torch_json.write(folder, events)


def test_python_is_work_of_the_host_with_the_name_of_its_function(tmp_path: Path) -> None:
    run = _with_stacks(tmp_path, "numpy/core.py(3): zoom")
    found = _shares(run)
    assert found.python == pytest.approx(0.7, abs=0.01)
    assert found.host == pytest.approx(0.3, abs=0.01)
    assert found.other == pytest.approx(0.0, abs=0.01)
    first = run_conclusions(run).first
    assert first is not None
    assert first.kind is Kind.PYTHON
    assert first.sentence == (
        "Preparing input in Python takes 70 % of the time (28 ms of 40 ms) in the steps, while no "
        "operation runs: resize in image_processing.py:214."
    )


def test_a_thread_that_sleeps_does_not_work_and_its_caller_is_named(tmp_path: Path) -> None:
    run = _with_stacks(tmp_path, "<built-in function sleep>")
    found = _shares(run)
    assert found.python == pytest.approx(0.2, abs=0.01)
    assert found.other == pytest.approx(0.5, abs=0.01)
    first = run_conclusions(run).first
    assert first is not None
    assert first.sentence == (
        "Waiting takes 50 % of the time (20 ms of 40 ms): sleep, called by resize in "
        "image_processing.py:214."
    )


def test_a_stretch_that_the_program_named_is_no_work_of_its_own(tmp_path: Path) -> None:
    events = []
    for step in range(4):
        at = step * 10_000
        events += [
            event(("user_annotation", f"ProfilerStep#{step}", at, 10_000)),
            event(("user_annotation", "forward", at + 1_000, 8_000)),
            event(("cpu_op", "aten::mm", at + 6_000, 3_000)),
        ]
    found = _shares(torch_json.write(tmp_path, events))
    assert found.host == pytest.approx(0.3, abs=0.01)
    assert found.other == pytest.approx(0.7, abs=0.01)


def test_the_innermost_event_of_a_thread_says_what_it_does(tmp_path: Path) -> None:
    run = _with_stacks(tmp_path, "<built-in method acquire of _thread.lock object at 0x7f00>")
    working = python_frames.working_stretches(run.profiles[0].trace)
    asleep = working.without(working).start
    assert not len(asleep)
    microsecond = 1_000_000
    lo = np.array([300, 5_300]) * microsecond + run.profiles[0].trace.span[0]
    hi = lo + np.array([5_000, 800]) * microsecond
    assert working.inside(lo, hi).tolist() == [0, 800 * microsecond]


def test_stretches_without_others_are_what_a_walk_leaves() -> None:
    random = np.random.default_rng(5)
    for _ in range(50):
        sets = []
        for _ in range(2):
            start = random.integers(0, 60, 8)
            sets.append(union(start, start + random.integers(1, 9, 8)))
        every = np.arange(80)
        left = sets[0].without(sets[1])
        assert (left.hold(every) == (sets[0].hold(every) & ~sets[1].hold(every))).all()
        assert (left.start[1:] > left.end[:-1]).all()
        assert left.length_until(np.array([100]))[0] == left.hold(every).sum()
    assert not len(CoveredTime(every[:0], every[:0]).without(sets[0]).start)

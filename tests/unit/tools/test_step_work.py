"""What a step's time is made of, where no link says which step work belongs to, and where Python
works.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui.data import logdir
from powertui.data.conclusions.conclusion import Kind
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.opened import Opened
from powertui.data.tools import breakdown, python_frames, shares
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.covered_time import CoveredTime, union
from powertui.data.tools.python_frames import parse_frame
from powertui.data.tools.shares import Shares
from tests.synthetic import torch_json
from tests.synthetic.read_traces import host
from tests.synthetic.torch_json import event
from tests.synthetic.xplane import Event, encode
from tests.unit.tools.opened_runs import opened

_MS = 1_000_000_000
_SENTENCES = Path(__file__).resolve().parents[4] / "shared" / "data" / "own" / "sentences"


def _breakdown(run: Opened) -> Breakdown:
    return breakdown.step_breakdown(run.profiles[0], "corrected")


def _shares(run: Opened) -> Shares:
    return _shares_of(_breakdown(run))


def _shares_of(made: Breakdown) -> Shares:
    found = shares.step_shares(made)
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


def _on_threads(tmp_path: Path, steps: list[Event], work: list[Event]) -> Opened:
    folder = tmp_path / "plugins" / "profile" / "one"
    folder.mkdir(parents=True)
    (folder / "h.xplane.pb").write_bytes(encode([host(steps, work)]))
    return Opened(next(entry for entry in logdir.scan(str(tmp_path)).runs if entry.profiles))


def _xplane(name: str, start: float, length: float, **stats: int) -> Event:
    return Event(name, round(start * _MS), round(length * _MS), dict(stats))


def test_steps_that_are_dispatched_ahead_take_as_long_as_their_work(tmp_path: Path) -> None:
    """Eight marks of 0.1 ms; a pool runs 5 ms of each, one after the other."""
    marks = [_xplane("train", 0.2 * i, 0.1, step_num=i, _r=1) for i in range(8)]
    work = [_xplane("fusion", 0.5 + 5 * i, 4.5) for i in range(8)]
    made = _breakdown(_on_threads(tmp_path, marks, work))
    assert (made.length // _MS).tolist() == [5] * 7 + [4]
    assert _shares_of(made).host == pytest.approx(0.91, abs=0.01)


def test_means_leave_out_the_step_that_compiles(tmp_path: Path) -> None:
    marks = [_xplane("train", 0, 300, step_num=0, _r=1)]
    work = [_xplane("backend_compile", 10, 200), _xplane("fusion", 220, 70)]
    for i in range(1, 8):
        marks.append(_xplane("train", 300 + 10 * i, 9, step_num=i, _r=1))
        work.append(_xplane("fusion", 300 + 10 * i, 8))
    made = _breakdown(_on_threads(tmp_path, marks, work))
    assert len(made) == 8
    assert made.usual().names == [f"train {i}" for i in range(1, 8)]
    assert _shares_of(made).compile == 0
    assert _shares_of(made).host == pytest.approx(8 / 9, abs=0.01)


def test_a_program_that_compiles_in_every_step_is_told_so(tmp_path: Path) -> None:
    marks = [_xplane("train", 20 * i, 19, step_num=i, _r=1) for i in range(6)]
    work = [_xplane("backend_compile", 20 * i, 12) for i in range(6)]
    made = _breakdown(_on_threads(tmp_path, marks, work))
    assert len(made.usual()) == 6
    assert _shares_of(made).compile == pytest.approx(12 / 19, abs=0.01)


def test_a_long_first_dispatch_is_no_tracing(tmp_path: Path) -> None:
    marks = [_xplane("train", 0, 0.186, step_num=0, _r=1)]
    marks += [_xplane("train", 0.2 + 0.02 * i, 0.012, step_num=i, _r=1) for i in range(1, 9)]
    run = _on_threads(tmp_path, marks, [_xplane("fusion", 1 + 4 * i, 3.9) for i in range(9)])
    assert not run.profiles[0].epochs.phases


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
    working = python_frames.working_stretches(run.profiles[0])
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
        assert left.length == left.hold(every).sum()
    assert not len(CoveredTime(every[:0], every[:0]).without(sets[0]).start)

"""A PyTorch thread with Python frames: each moment of it is counted once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from powertui.data import logdir
from powertui.data.model import PS_PER_US, ProcessKind, Trace
from powertui.data.opened import Opened
from powertui.data.tools import op_stats, op_sums, op_table
from powertui.data.tools.covered_time import union
from powertui.data.tools.longer_ops import LongerOps
from powertui.data.tools.op_stats import OpRow
from powertui.data.tools.thread_time import framed_threads
from tests.synthetic.torch_json import Row, event, write

PUBLIC = Path(__file__).resolve().parents[4] / "shared" / "data" / "public"
RUN_BACKWARD = "<built-in method run_backward of torch._C._EngineBase object at 0x7f3d{:08x}>"
STEP = (
    ("user_annotation", "ProfilerStep#5", 0, 62),
    ("python_function", "train.py(10): train", 5, 80),
    ("python_function", "<built-in function linear>", 10, 30),
    ("cpu_op", "aten::linear", 12, 26),
    ("cpu_op", "aten::addmm", 14, 20),
    ("cuda_runtime", "cudaLaunchKernel", 20, 4),
    ("python_function", RUN_BACKWARD.format(1), 45, 10),
    ("python_function", "torch/profiler/profiler.py(700): step", 60, 10),
    ("user_annotation", "ProfilerStep#6", 65, 100),
    ("python_function", RUN_BACKWARD.format(2), 75, 10),
)
ENGINE = (("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 46, 8),)


def by_name(stats: op_stats.OpStats) -> dict[str, OpRow]:
    return {row.full: row for row in stats.ops}


def opened(folder: Path) -> Trace:
    events = [event(row) for row in STEP] + [event(row, thread=8) for row in ENGINE]
    return write(folder, events).profiles[0].trace


def us(ps: int) -> float:
    return ps / PS_PER_US


def test_an_operator_is_not_counted_again_in_the_frame_that_called_it(tmp_path: Path) -> None:
    rows = by_name(op_stats.op_stats(opened(tmp_path)))
    assert us(rows["<built-in function linear>"].self_time) == 4
    assert us(rows["<built-in function linear>"].total) == 30
    assert us(rows["aten::linear"].self_time) == 6
    assert us(rows["aten::addmm"].self_time) == 16
    assert us(rows["cudaLaunchKernel"].self_time) == 4


def test_the_self_times_of_a_thread_are_the_time_that_it_covers(tmp_path: Path) -> None:
    rows = by_name(op_stats.op_stats(opened(tmp_path)))
    engine = rows.pop(ENGINE[0][1])
    assert us(engine.self_time) == 8
    assert sum(us(row.self_time) for row in rows.values()) == 165


def test_a_step_that_begins_inside_a_frame_and_outlasts_it_keeps_its_own_time(
    tmp_path: Path,
) -> None:
    rows = by_name(op_stats.op_stats(opened(tmp_path)))
    assert us(rows["ProfilerStep#6"].self_time) == 90  # 65 to 165 without run_backward
    assert us(rows["torch/profiler/profiler.py(700): step"].self_time) == 5


def test_objects_at_several_addresses_are_one_row_without_an_address(tmp_path: Path) -> None:
    rows = by_name(op_stats.op_stats(opened(tmp_path)))
    assert not any("0x" in name for name in rows)
    backward = rows["<built-in method run_backward of torch._C._EngineBase object>"]
    assert backward.count == 2


def test_a_thread_that_waits_for_the_backward_pass_has_no_share_of_the_host(
    tmp_path: Path,
) -> None:
    rows = by_name(op_stats.op_stats(opened(tmp_path)))
    backward = rows.pop("<built-in method run_backward of torch._C._EngineBase object>")
    assert np.isnan(backward.share)
    assert sum(row.share for row in rows.values()) == pytest.approx(1)


def test_frames_and_operators_are_parts_of_their_own_in_the_table(tmp_path: Path) -> None:
    stats = op_stats.op_stats(opened(tmp_path))
    (table,) = op_table.result(stats).tables
    assert [part.label for part in table.parts] == [
        "host calls",
        "Python frames",
        "all of the host",
    ]
    kinds = {row.full: row.category.value for row in stats.ops}
    assert kinds["train.py(10): train"] == kinds["<built-in function linear>"] == "python"
    assert kinds["aten::linear"] == "matmul"


def test_the_part_inside_a_window_counts(tmp_path: Path) -> None:
    trace = opened(tmp_path)
    zero = trace.span[0]
    rows = by_name(op_stats.op_stats(trace, zero + 15 * PS_PER_US, zero + 22 * PS_PER_US))
    assert {name: us(row.self_time) for name, row in rows.items() if row.self_time} == {
        "aten::addmm": 5,
        "cudaLaunchKernel": 2,
    }
    assert us(rows["train.py(10): train"].total) == 7


def test_what_took_longer_counts_as_the_table_does(tmp_path: Path) -> None:
    trace = opened(tmp_path)
    zero = trace.span[0]
    first, second = ((zero, zero + 60 * PS_PER_US), (zero + 60 * PS_PER_US, trace.span[1]))
    longer = LongerOps(trace)(*first, [second], PS_PER_US)
    here, there = longer["<built-in function linear>"]
    assert us(here) == 4
    assert us(there[0]) == 0
    here, there = longer["train.py(10): train"]
    assert us(here) == 60 - 5 - 30 - 10
    assert us(there[0]) == 0  # ProfilerStep#6 began last


@pytest.mark.parametrize("seed", range(20))
def test_of_events_that_overlap_anyhow_each_moment_is_counted_once(
    tmp_path: Path, seed: int
) -> None:
    random = np.random.default_rng(seed)
    kinds = ("python_function", "cpu_op", "user_annotation")
    begins, lengths = random.integers(0, 300, 60), random.integers(0, 120, 60)
    rows: list[Row] = [
        (kinds[number % 3], f"event {number}", float(begins[number]), float(lengths[number]))
        for number in range(60)
    ]
    trace = write(tmp_path, [event(row) for row in rows]).profiles[0].trace
    stats = op_stats.op_stats(trace)
    start, end = begins, begins + lengths
    assert us(int(stats.self_time.sum())) == union(start, end).length
    # Moment by moment: the one that began last.
    expected: dict[int, int] = {}
    for moment in range(420):
        running = np.flatnonzero((start <= moment) & (moment < end))
        if len(running):
            last = int(start[running].max())
            expected[last] = expected.get(last, 0) + 1
    by_start: dict[int, float] = {}
    for row in stats.ops:
        begin = int(start[int(row.full.split()[1])])
        by_start[begin] = by_start.get(begin, 0) + us(row.self_time)
    assert {begin: ps for begin, ps in by_start.items() if ps} == expected


RECORDED = (
    "kineto_h100_bert",
    "kineto_h100_qwen",
    "kineto_h100_timesformer",
    "kineto_mi300_bert",
    "kineto_mi300_qwen",
)


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_threads_are_counted_once(name: str) -> None:
    folder = PUBLIC / name
    if not folder.is_dir():
        pytest.skip("the shared recordings are not here")
    entry = next(entry for entry in logdir.scan(str(folder)).runs if entry.profiles)
    trace = Opened(entry).profiles[0].trace
    threads = 0
    for number, process in enumerate(trace.processes):
        if process.kind is not ProcessKind.HOST:
            continue
        lines = [line for line in process.tracks if op_sums.counts(line)]
        threads += len(framed_threads(process))
        keys = {line.key for line in lines}
        by_thread = [[line.events for line in lines if line.key == key] for key in keys]
        covered = sum(
            union(
                np.concatenate([events.start for events in thread]),
                np.concatenate([events.end for events in thread]),
            ).length
            for thread in by_thread
        )
        sums = op_sums.summed(process, number, trace.span[0], trace.span[1] + 1)
        assert sums is None or int(sums.self_time.sum()) == covered
    assert threads

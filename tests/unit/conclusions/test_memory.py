"""Device memory that steps give back and take anew, in traces as PyTorch writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from powertui.data.conclusions.conclusion import Conclusion, Confidence, Kind
from powertui.data.conclusions.run_conclusions import run_conclusions
from tests.synthetic import torch_json
from tests.synthetic.torch_json import event

_MS = 1_000  # µs
_STEPS = 20


def _memory(
    folder: Path,
    calls: dict[str, float],
    steps: range,
    more: list[dict[str, Any]] | None = None,
) -> list[Conclusion]:
    """What is said of a program whose steps of 10 ms make these calls, each so many µs long."""
    events = list(more or ())
    for step in range(_STEPS):
        at = step * 10 * _MS
        events.append(event(("user_annotation", f"ProfilerStep#{step}", at, 10 * _MS)))
        events.append(event(("cpu_op", "aten::mm", at + 100, 200)))
        launch = ("cuda_runtime", "cudaLaunchKernel", at + 150, 10.0)
        events.append(event(launch, correlation=step + 1))
        kernel = ("kernel", "sm90_xmma_gemm_f32f32", at + 200, 7 * _MS)
        events.append(event(kernel, correlation=step + 1))
        start = at + 500.0
        for name, length in calls.items() if step in steps else ():
            events.append(event(("cuda_runtime", name, start, length)))
            start += length + 20
    found = run_conclusions(torch_json.write(folder, events))
    return [conclusion for conclusion in found if conclusion.kind is Kind.MEMORY]


@pytest.mark.parametrize(
    "calls",
    [
        {"cudaFree": 1_500, "cudaMalloc": 500},
        {"hipFree": 1_000, "hipMalloc": 1_000},
        {"cuMemUnmap": 400, "cuMemRelease": 600, "cuMemCreate": 700, "cuMemMap": 300},
    ],
)
def test_memory_that_most_steps_give_back_and_take_anew_is_pressure(
    tmp_path: Path, calls: dict[str, float]
) -> None:
    (memory,) = _memory(tmp_path, calls, range(5, _STEPS))
    assert memory.sentence.startswith("15 of 20 steps free device memory and allocate it again")
    assert memory.cost.seconds == pytest.approx(0.030, rel=0.01)
    assert memory.cost.share == pytest.approx(0.15, rel=0.02)
    assert memory.confidence is Confidence.LIKELY
    assert "itself" in memory.doubt  # by torch.cuda.empty_cache(), say


def test_calls_that_took_no_time_that_a_clock_shows_change_nothing(tmp_path: Path) -> None:
    at_once = event(("cuda_runtime", "cudaFree", 60.5 * _MS, 0))
    calls = {"cudaFree": 1_500.0, "cudaMalloc": 500.0}
    (memory,) = _memory(tmp_path, calls, range(5, _STEPS), [at_once])
    assert memory.sentence.startswith("15 of 20 steps free device memory and allocate it again")
    assert memory.cost.seconds == pytest.approx(0.030, rel=0.01)


@pytest.mark.parametrize(
    ("calls", "steps"),
    [
        ({"cudaMalloc": 2_000}, range(_STEPS)),  # it only grows
        ({"cudaFree": 2_000, "cudaMalloc": 2_000}, range(2)),  # it warms up
        ({"cudaFree": 5, "cudaMalloc": 5}, range(_STEPS)),  # it costs nothing
        ({"cudaFreeAsync": 2_000, "cudaMallocAsync": 2_000}, range(_STEPS)),  # from a pool
        ({"cudaFreeHost": 2_000, "cudaHostAlloc": 2_000}, range(_STEPS)),  # of the host
    ],
)
def test_other_calls_are_no_pressure(tmp_path: Path, calls: dict[str, float], steps: range) -> None:
    assert not _memory(tmp_path, calls, steps)


def test_what_the_allocator_holds_is_told_where_it_was_recorded(tmp_path: Path) -> None:
    held = {"Device Type": 1, "Device Id": 0, "Bytes": 8, "Total Allocated": 7e10}
    mark = {"ph": "i", "name": "[memory]", "pid": 100, "tid": 7, "ts": 1e6 + 5_000}
    marks = [{**mark, "args": {**held, "Total Reserved": 8e10}}]
    (memory,) = _memory(tmp_path, {"cudaFree": 900, "cudaMalloc": 900}, range(_STEPS), marks)
    assert memory.sentence.endswith("Its allocator holds up to 80 GB.")

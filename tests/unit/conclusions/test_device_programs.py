"""Programs of a device that wait for copies, compiling or memory: told by what they wait for."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.conclusions.conclusion import Conclusion, Kind
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.opened import Opened
from powertui.data.overview import overview_page
from powertui.data.tools.registry import Question
from tests.synthetic import torch_json
from tests.synthetic.torch_json import event

_MS = 1_000  # µs
_Call = tuple[str, str, float, float]  # category, name, start and length in ms


def _program(folder: Path, calls: list[_Call], copies: list[_Call]) -> Opened:
    """Twelve steps of 40 ms: 6 ms of computing, after these calls of the host and copies."""
    events = []
    for step in range(12):
        at = step * 40 * _MS
        events.append(event(("user_annotation", f"ProfilerStep#{step}", at, 40 * _MS)))
        for number, (category, name, start, length) in enumerate([*calls, *copies]):
            correlation = {"correlation": 100 * step + number}
            row = (category, name, at + start * _MS, length * _MS)
            events.append(event(row, **({} if category == "cpu_op" else correlation)))
            if category == "gpu_memcpy":
                call = ("cuda_runtime", "cudaMemcpyAsync", row[2] - 20, row[3] + 30)
                events.append(event(call, **correlation))
        launch = ("cuda_runtime", "cudaLaunchKernel", at + 33 * _MS, 10.0)
        events.append(event(launch, correlation=100 * step + 50))
        kernel = ("kernel", "sm90_xmma_gemm_f32f32", at + 33 * _MS + 50, 6 * _MS)
        events.append(event(kernel, correlation=100 * step + 50))
    return torch_json.write(folder, events)


def _first(opened: Opened) -> Conclusion:
    first = run_conclusions(opened).first
    assert first is not None
    return first


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "Copying to the devices takes 75 % of a step"),
        ("Memcpy DtoD (Device -> Device)", "Copying between devices takes 75 % of a step"),
        ("Memcpy DtoH (Device -> Pageable)", "Copying results to the host takes 75 % of a step"),
    ],
)
def test_a_device_that_copies_does_not_idle(tmp_path: Path, name: str, words: str) -> None:
    opened = _program(tmp_path, [], [("gpu_memcpy", name, 1, 30)])
    assert _first(opened).sentence.startswith(words)
    assert not [one for one in run_conclusions(opened) if one.kind is Kind.IDLE_DEVICE]
    facts = {fact.id: fact.value for fact in overview_page.answer(Question(opened)).facts}
    idle, copies = facts["device_idle_share"], 0.75
    assert isinstance(idle, float)
    assert idle == pytest.approx(1 - copies - 6 / 40, abs=0.02)


def test_a_short_copy_changes_nothing(tmp_path: Path) -> None:
    copy = ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1.0, 0.2)
    first = _first(_program(tmp_path, [], [copy]))
    assert first.kind is Kind.IDLE_DEVICE
    assert first.cost.share == pytest.approx(0.845, abs=0.01)


def test_devices_that_wait_for_compiling_in_every_step_are_told_so(tmp_path: Path) -> None:
    compiling = ("cpu_op", "CompiledFxGraph backend_compile (dynamo_timed)", 2.0, 28.0)
    opened = _program(tmp_path, [compiling], [])
    first = _first(opened)
    assert "The host meanwhile: compiling 70 %" in first.sentence
    assert "shapes" in first.next
    (anew,) = [one for one in run_conclusions(opened) if one.kind is Kind.RECOMPILATION]
    assert anew.cost.share == pytest.approx(0.70, abs=0.01)


def test_devices_that_wait_for_memory_are_told_so(tmp_path: Path) -> None:
    calls = [("cuda_runtime", "cudaFree", 2.0, 16.0), ("cuda_runtime", "cudaMalloc", 19.0, 8.0)]
    first = _first(_program(tmp_path, calls, []))
    assert "The host meanwhile: freeing device memory and allocating it again 5" in first.sentence


def test_steps_that_are_little_of_the_time_do_not_hide_the_rest(tmp_path: Path) -> None:
    """Four steps of 20 ms, and nothing for a second inside each mark's distance to the next."""
    events = []
    for step in range(4):
        at = step * 1_000 * _MS
        events.append(event(("user_annotation", f"ProfilerStep#{step}", at, 20 * _MS)))
        launch = ("cuda_runtime", "cudaLaunchKernel", at + 100, 10.0)
        events.append(event(launch, correlation=step))
        kernel = ("kernel", "sm90_xmma_gemm_f32f32", at + 200, 19 * _MS)
        events.append(event(kernel, correlation=step))
    first = _first(torch_json.write(tmp_path, events))
    assert first.cost.share == pytest.approx(0.97, abs=0.02), first.sentence

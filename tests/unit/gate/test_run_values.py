"""The quantities of a run that is checked: ops and kernels in seconds per step."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.compare import op_figures
from powertui.data.compare.figure import Family
from powertui.data.compare.part import AskedSide, ComparedPart, HostWindow
from powertui.data.compare.values import Values
from powertui.data.gate.run_values import GateValue, gated_runs
from powertui.data.gate.samples import GateSamples, runs_for_limit
from tests.synthetic import torch_json
from tests.synthetic.torch_json import event

_MS = 1_000  # µs
_STEPS = 16


def _part(folder: Path) -> ComparedPart:
    """16 steps of 100 ms. In each, aten::mm (60 ms) launches gemm (20 ms) and aten::conv (10 ms)
    launches it, too (4 ms); from the ninth on aten::mm takes 70 ms.
    """
    events = []
    for step in range(_STEPS):
        start = step * 100 * _MS
        events.append(event(("user_annotation", f"ProfilerStep#{step}", start, 100 * _MS)))
        mm_ms = 60 if step < _STEPS // 2 else 70
        calls = (("aten::mm", 1, mm_ms, 20), ("aten::conv", 80, 10, 4))
        for number, (name, at_ms, length_ms, kernel_ms) in enumerate(calls):
            at = start + at_ms * _MS
            link = 2 * step + number + 1
            launch = ("cuda_runtime", "cudaLaunchKernel", at + 1, 5)
            kernel = ("kernel", "gemm", at + 10, kernel_ms * _MS)
            events.append(event(("cpu_op", name, at, length_ms * _MS)))
            events.append(event(launch, correlation=link))
            events.append(event(kernel, correlation=link))
    opened = torch_json.write(folder, events)
    return ComparedPart("run", opened, (HostWindow(opened.profiles[0]),))


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> ComparedPart:
    return _part(tmp_path_factory.mktemp("run"))


def test_kernels_of_one_name_are_added_up_over_their_operators_per_step(
    part: ComparedPart,
) -> None:
    (run,) = gated_runs(AskedSide("run", (part,), ()), with_ops=True)
    assert run.steps == _STEPS
    kernels = {name: value for name, value in run.values.items() if name.startswith("kernel:")}
    assert list(kernels) == ["kernel:gemm"]
    assert kernels["kernel:gemm"].value == pytest.approx(0.024)


def test_ops_and_kernels_are_left_out_where_nobody_asks(part: ComparedPart) -> None:
    (run,) = gated_runs(AskedSide("run", (part,), ()), with_ops=False)
    assert not [name for name in run.values if name.startswith(("kernel:", "op:"))]
    assert run.values["step_s"].value == pytest.approx(0.1)


def _of_op(values: Values, name: str) -> tuple[float, tuple[float, ...]]:
    (key,) = (key for key in values if key.family is Family.OP and key.name == name)
    return values[key].value, values[key].blocks


def test_an_op_has_its_own_time_per_step_in_all_and_in_each_block_of_steps(
    part: ComparedPart,
) -> None:
    values = op_figures.op_values(part)
    value, blocks = _of_op(values, "aten::mm")
    launching = 5e-6  # the launch inside is an event of its own
    assert value == pytest.approx(0.065 - launching)
    assert len(blocks) > 1
    assert blocks[0] == pytest.approx(0.060 - launching)
    assert blocks[-1] == pytest.approx(0.070 - launching)
    assert sum(blocks) / len(blocks) == pytest.approx(value)
    for seconds in _of_op(values, "aten::conv")[1]:
        assert seconds == pytest.approx(0.010 - launching)


def test_no_more_than_a_hundred_runs_are_asked_for() -> None:
    samples = GateSamples(tuple(GateValue(value) for value in (0.9, 1.0, 1.1)))
    needed = {runs_for_limit(samples, 1 + step / 10_000) for step in range(100, 1000)}
    assert max(count for count in needed if count is not None) == 100
    assert None in needed
    assert runs_for_limit(samples, 1.0) is None

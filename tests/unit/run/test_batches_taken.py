"""A call that takes several batches says how many, where nothing marks the steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.formats import registry
from powertui.data.model import Steps
from powertui.data.run.steps import find_steps
from tests.synthetic.xplane import Event, Line, Plane, encode

MS = 10**9
TAKE = "IteratorGetNextAsOptionalOp::DoCompute"


def _steps(folder: Path, taken: list[int]) -> Steps:
    """Calls of 20 ms, each with so many batches."""
    calls, input_ops = [], []
    for number, batches in enumerate(taken):
        at = number * 20 * MS
        calls += [
            Event("multi_step", at, 18 * MS, {"tf_function_call": "notTraced-nonXla"}),
            Event("EagerLocalExecute: __inference_multi_step_1", at + MS, 16 * MS),
        ]
        input_ops += [Event(TAKE, at + (2 + batch) * MS, MS // 2) for batch in range(batches)]
    lines = [Line("python", calls, key=1), Line("tf_data_iterator_get_next", input_ops, key=2)]
    path = folder / "vm.xplane.pb"
    path.write_bytes(encode([Plane("/host:CPU", lines)]))
    return find_steps(registry.read(path))


def test_a_call_of_several_batches_says_how_many(tmp_path: Path) -> None:
    steps = _steps(tmp_path, [6] * 9 + [3])  # the last one is cut by the profile's end
    assert len(steps) == 10
    assert steps.notes == (
        (
            "Each step here takes 6 batches from its input: 6 steps of the training "
            "(steps_per_execution), or one batch for each of as many replicas."
        ),
    )


@pytest.mark.parametrize("taken", [[1] * 8, [0] * 8, [1, 5, 2, 6, 3, 1, 4, 2]])
def test_one_batch_each_or_another_number_each_time_is_no_note(
    tmp_path: Path, taken: list[int]
) -> None:
    assert _steps(tmp_path, taken).notes == ()

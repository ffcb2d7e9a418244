"""A machine that is slower for a while: every operation takes longer, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.conclusions.conclusion import Conclusion, Kind
from powertui.data.conclusions.run_conclusions import run_conclusions
from tests.synthetic import torch_json
from tests.synthetic.torch_json import event

_MS = 1_000  # µs
_OPS = {
    "aten::conv2d": 20.0,
    "aten::addmm": 8.0,
    "aten::relu": 4.0,
    "aten::mul": 3.0,
    "aten::sum": 3.0,
    "aten::addcdiv_": 2.0,
}
_SLOW = range(15, 40)


def _told(
    folder: Path, slower: dict[str, float], again: dict[str, int] | None = None
) -> Conclusion:
    """Forty steps; in the last 25 of them these operations take so many times as long."""
    events, at = [], 0.0
    for step in range(40):
        begin = at
        for name, length_ms in _OPS.items():
            is_slow = step in _SLOW
            for _ in range((again or {}).get(name, 1) if is_slow else 1):
                took = length_ms * _MS * (slower.get(name, 1.0) if is_slow else 1.0)
                events.append(event(("cpu_op", name, at, took)))
                at += took
        events.append(event(("user_annotation", f"ProfilerStep#{step}", begin, at - begin)))
    first = run_conclusions(torch_json.write(folder, events)).first
    assert first is not None
    return first


def test_everything_that_is_slower_is_the_machine(tmp_path: Path) -> None:
    first = _told(tmp_path, dict.fromkeys(_OPS, 2.5))
    assert first.kind is Kind.SLOWER_MACHINE
    assert "in the last 25 of 40 steps every operation takes 2.5 times" in first.sentence
    assert first.cost.share == pytest.approx(25 * 1.5 / (15 + 25 * 2.5), abs=0.01)


@pytest.mark.parametrize(
    ("slower", "again"),
    [
        ({name: 2.5 for name in _OPS if name != "aten::addcdiv_"}, {}),  # larger inputs
        ({}, dict.fromkeys(_OPS, 3)),  # more of the same work
        (dict.fromkeys(_OPS, 1.5), {}),  # a machine that is a little busy
    ],
)
def test_other_reasons_are_not_the_machine(
    tmp_path: Path, slower: dict[str, float], again: dict[str, int]
) -> None:
    assert _told(tmp_path, slower, again).kind is not Kind.SLOWER_MACHINE

"""An op that one side alone has is held against runs without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import powertui
from powertui.comparison_view import ComparisonView
from tests.synthetic.step_world import UNIX_S, step_series, write_run

_RUNS = 5


def compared(root: Path, *, in_all: bool) -> ComparisonView:
    """A machine whose runs differ by up to half; B has an op more, in all or in two of its runs."""
    rng = np.random.default_rng(33)
    for number in range(_RUNS):
        for side, turn in (("a", 0), ("b", 1)):
            steps = 0.01 * rng.uniform(1, 1.5) * step_series("white", 20, rng)
            ops = {"aten::mm": 0.5, "aten::add": 0.2}
            if side == "b" and (in_all or number < 2):
                ops["aten::sort"] = 0.1
            unix_s = UNIX_S + 60 * (2 * number + turn)
            write_run(root / side / str(number), steps, ops, unix_s=unix_s)
    return powertui.compare(root / "a", root / "b")


def test_it_is_named_where_the_step_varies_too_much(tmp_path: Path) -> None:
    view = compared(tmp_path, in_all=True)
    assert view.sentence.startswith("Cannot tell whether a step takes longer")
    assert " One op differs: aten::sort (+1." in view.sentence
    by_op = [row for row in view.json["causes"] if row["by"] == "op"]
    assert by_op[0]["name"] == "aten::sort"
    assert [row["name"] for row in view.json["unmatched"]] == ["aten::sort"]


def test_one_of_a_few_runs_is_no_evidence(tmp_path: Path) -> None:
    view = compared(tmp_path, in_all=False)
    assert "differs" not in view.sentence

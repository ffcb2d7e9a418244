"""What each step's time went to by kind of work, beside the op table of the same stretch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import powertui
from powertui.data import logdir
from powertui.data.opened import Opened, Profile
from powertui.data.tools import breakdown, op_stats, op_types, step_kinds, step_time_parts
from powertui.data.tools.breakdown import Breakdown

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")
_DEMO = Path(powertui.__file__).parent / "demo" / "data"


@pytest.fixture
def profile() -> Profile:
    return Opened(next(entry for entry in logdir.scan(str(_DEMO)).runs if entry.profiles)).profiles[
        0
    ]


@pytest.fixture
def steps(profile: Profile) -> Breakdown:
    return breakdown.step_breakdown(profile, "corrected")


@pytest.mark.parametrize("row", [0, 1, 74, 174, 199])
def test_a_step_has_the_self_time_of_each_kind_that_the_op_table_has(
    profile: Profile, steps: Breakdown, row: int
) -> None:
    work = step_kinds.step_kinds(profile, steps.start, steps.length, devices=False)
    assert work is not None
    counted = Counter[str]()
    for kind, self_ps in zip(work.kinds, work.self_ps[row].tolist(), strict=True):
        counted[kind.category.value] += self_ps
    lo = int(steps.start[row])
    hi = lo + int(steps.length[row])
    if row + 1 < len(steps):
        hi = min(hi, int(steps.start[row + 1]))
    expected = Counter[str]()
    for op in op_stats.op_stats(profile.trace, lo, hi).ops:
        if not np.isnan(op.share):
            _type, kind = op_types.kind_of(op.full, op.name)
            expected[kind.value] += op.self_time
    assert +counted == +expected


def test_the_parts_of_a_step_come_to_its_time(profile: Profile, steps: Breakdown) -> None:
    parts = step_time_parts.step_time_parts(profile, steps)
    assert parts is not None
    assert np.allclose(sum(part.times for part in parts), steps.length, rtol=1e-9)
    labels = [part.label for part in parts]
    assert labels[:3] == ["Conv2D filter grad", "Conv2D", "Conv2D input grad"]
    assert "compilation" in labels, "little of all, but most of the first step"


def test_by_other_profilers_rules_nothing_is_told_apart(profile: Profile) -> None:
    assert (
        step_time_parts.step_time_parts(profile, breakdown.step_breakdown(profile, "tf2")) is None
    )

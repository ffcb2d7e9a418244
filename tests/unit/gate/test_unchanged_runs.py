"""How often runs without a change are red, by kinds of scatter that nobody tuned for."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.gate.gate import GateVerdict
from powertui.data.model import Floats
from tests.synthetic.held_out_runs import HELD_OUT_KINDS, held_out_values
from tests.unit.gate.test_gate_verdicts import against, recorded_at


@pytest.mark.parametrize(("base", "new"), [(5, 1), (10, 1), (5, 2), (10, 2), (20, 1), (20, 2)])
def test_few_unchanged_runs_are_seldom_red(base: int, new: int) -> None:
    of_new: Floats = np.repeat([0.0, 1.0], [base, new])
    jobs, red = 0, 0
    for number, kind in enumerate(HELD_OUT_KINDS):
        rng = np.random.default_rng([number, base, new, 1133])
        for _ in range(60):
            seconds = 100 + held_out_values(kind, of_new, 1, rng)[:, 0]
            starts = range(base + new)
            saved = recorded_at(seconds[:base].tolist(), starts[:base])
            checked = recorded_at(seconds[base:].tolist(), starts[base:])
            jobs += 1
            red += against(saved, checked, "step_s=1%").verdict is GateVerdict.ABOVE
    assert red <= (0 if new == 1 else 0.04 * jobs)

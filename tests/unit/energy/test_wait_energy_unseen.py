"""Joules that hosts draw while they wait, on worlds that nobody looked at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from powertui.data.energy.wait_energy import wait_sum
from tests.unit.energy.test_wait_energy import WORLD, found


@pytest.mark.parametrize("seed", [5000, 5001, 5002])
def test_the_interval_holds_on_worlds_that_nobody_looked_at(seed: int, tmp_path: Path) -> None:
    late, joules = found(tmp_path, replace(WORLD, seed=seed))
    total = wait_sum(late.energies)
    assert total is not None
    assert abs(total.joules - joules) <= 1.5 * total.half

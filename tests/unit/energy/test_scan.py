"""Over how many readings noise is alike, which is what a stretch has to stand out from."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.energy import scan


def noise(alike: float, seed: int, count: int = 4_000) -> np.ndarray:
    """Each value holds so much of the one before."""
    rng = np.random.default_rng(seed)
    out = np.empty(count)
    last = 0.0
    for i, fresh in enumerate(rng.normal(size=count)):
        last = out[i] = alike * last + fresh
    return out


@pytest.mark.parametrize("seed", range(4))
def test_memory_is_the_sum_of_the_correlations(seed: int) -> None:
    assert scan._memory(noise(0.0, seed)) == 1
    assert scan._memory(noise(0.5, seed)) in (3, 4)  # 1 + 2 (0.5 + 0.25 + 0.125)
    assert 7 <= scan._memory(noise(0.8, seed)) <= 10  # 1 + 2 (0.8 + 0.64 + … down to a tenth)


def test_what_never_changes_remembers_nothing() -> None:
    assert scan._memory(np.full(50, 3.0)) == 1

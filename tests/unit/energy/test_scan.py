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


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("score", [1.8, 3.2, 4.5])
def test_what_chance_shows_is_counted_as_if_every_stretch_were_looked_at(
    seed: int, score: float
) -> None:
    rng = np.random.default_rng(seed)
    sums = np.concatenate([np.zeros((50, 1)), np.cumsum(rng.normal(size=(50, 90)), axis=1)], axis=1)
    largest = [
        max(np.abs(one[span:] - one[:-span]).max() / np.sqrt(span) for span in range(2, 46))
        for one in sums
    ]  # as long as half of it
    assert scan._as_large(sums, 2, score) == sum(value >= score for value in largest)


def test_resampled_noise_holds_blocks_of_the_noise_itself() -> None:
    rest = np.arange(1.0, 24.0)
    sums = scan._Noise(rest, 2, 1).drawn(np.random.default_rng(3))
    assert sums.shape == (50, 24)
    drawn = np.abs(np.diff(sums, axis=1))
    assert np.allclose(np.sort(np.unique(drawn.round(9))), rest)
    follows = np.isclose(drawn[:, 1:] - drawn[:, :-1], 1.0) | np.isclose(drawn[:, 1:], 1.0)
    assert follows[:, 0].all()  # the first block of four
    binned = scan._Noise(rest, 2, 5).drawn(np.random.default_rng(3))
    assert binned.shape == (50, 6)
    assert np.allclose(np.diff(binned, axis=1)[:, 0], np.diff(sums, axis=1)[:, :5].mean(axis=1))
    assert np.allclose(
        np.diff(binned, axis=1)[:, -1], np.diff(sums, axis=1)[:, 20:].mean(axis=1)
    )  # of three

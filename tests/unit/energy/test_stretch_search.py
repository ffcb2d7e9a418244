"""The search for the stretch that is farthest off gives what every sum, written out, gives."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.energy.findings import stretch_scores, stretch_search
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.energy.findings.residual_noise import ResidualNoise, residual_noise
from powertui.data.model import Floats


def _farthest(search: stretch_search._Search, noise: ResidualNoise) -> tuple[int, int]:
    """The stretch that is farthest off, with every sum written out."""
    beyond = np.where(search.explained, 0.0, search.beyond)
    weight = np.where(search.explained, 0.0, 1.0 / (noise.single**2 + search.doubt**2))
    best, bounds = 0.0, (0, 0)
    for length in search._lengths():
        error = noise.mean_error(length)
        for first in range(len(beyond) - length + 1):
            part = slice(first, first + length)
            if search.explained[part].any():
                continue
            total = weight[part].sum()
            shared = ((search.signed[:, part] @ weight[part]) / total) ** 2
            score = abs((weight * beyond)[part].sum() / total) / np.sqrt(error**2 + shared.sum())
            if score > best * (1 + 1e-9):
                best, bounds = score, (first, first + length)
    return bounds


@pytest.mark.parametrize("seed", range(24))
def test_the_farthest_stretch_is_that_of_every_sum(seed: int) -> None:
    """With doubts and without, with stretches that are explained and without."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(20, 60))
    watts = rng.normal(0, 1, count)
    begin = int(rng.integers(0, count - 8))
    watts[begin : begin + 6] += rng.choice([-4.0, 4.0])
    doubt = rng.uniform(0.5, 1.5, count) if seed % 2 else np.zeros(count)
    ways = rng.normal(0, 0.5, (2, count)) if seed % 2 else np.empty((0, count))
    readings = SensorReadings(
        lo=np.arange(count, dtype=float),
        hi=np.arange(1, count + 1, dtype=float),
        watts=watts,
        floor=np.zeros(count),
        ceiling=np.zeros(count),
        doubt=doubt,
        judged=np.ones(count, np.bool_),
        quantum=0.1,
        ways=ways,
    )
    rows = np.arange(count)
    search = stretch_search._Search(readings, rows, floor=0.05, looks=1, rivals=False)
    search.explained[:] = (rows % 17 < 3) & (seed % 3 == 0)
    noise = residual_noise(rng.normal(0, 1, 200), 0.05)
    assert search._largest(noise) == _farthest(search, noise)


def test_what_is_nowhere_is_not_summed_up_for_every_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Steps have no doubt: two sums a length, and the errors of all lengths in one call."""
    count = 200
    readings = SensorReadings(
        lo=np.arange(count, dtype=float),
        hi=np.arange(1, count + 1, dtype=float),
        watts=np.random.default_rng(1).normal(0, 1, count),
        floor=np.zeros(count),
        ceiling=np.zeros(count),
        doubt=np.zeros(count),
        judged=np.ones(count, np.bool_),
        quantum=0.1,
    )
    search = stretch_search._Search(readings, np.arange(count), floor=0.05, looks=1, rivals=False)
    noise = residual_noise(readings.watts, 0.05)
    sums: list[int] = []
    over = stretch_scores.sums_over

    def counted(running: Floats, length: int) -> Floats:
        sums.append(length)
        return over(running, length)

    monkeypatch.setattr(stretch_scores, "sums_over", counted)
    at_once = search._largest(noise)
    assert sums == []  # of so few readings all lengths are one table
    monkeypatch.setattr(stretch_scores, "CACHED_VALUES", 0)
    assert search._largest(noise) == at_once
    assert len(sums) == 2 * len(search._lengths())
    lengths = search._lengths()
    assert noise.over(lengths).tolist() == [noise.mean_error(length) for length in lengths]

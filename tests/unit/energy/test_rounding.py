"""How long each step was read: piece by piece, and for many channels at once, the same as one after
the other.
"""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.energy import rounding
from powertui.data.model import Floats


def readings(rows: int, seed: int, step: float = 1.0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    level = (
        np.round((250 + 30 * np.sin(np.arange(rows) / 97) + rng.normal(0, 3, rows)) / step) * step
    )
    return level, rng.uniform(0.9, 1.1, rows - 1)


@pytest.mark.parametrize("rows", [2, 3, 2047, 2048, 2049, 8192, 8193, 40_000])
def test_each_step_was_read_half_of_the_time_to_either_side(rows: int) -> None:
    level, seconds = readings(rows, rows)
    found = rounding.steady_rounding(level, seconds, 1.0)
    assert found is not None
    at = np.round(level - level.min()).astype(int)
    whole = np.zeros(at.max() + 1)
    np.add.at(whole, at[:-1], seconds / 2)
    np.add.at(whole, at[1:], seconds / 2)
    assert found.upto.shape[1] == len(whole)
    assert not found.upto[0].any()
    np.testing.assert_allclose(found.upto[-1], whole, rtol=1e-12)
    # Sums at every so many readings, each from the one before.
    blocks = np.split(np.arange(rows), range(found.every, rows, found.every))
    each = np.zeros(rows)
    each[:-1] += seconds / 2
    each[1:] += seconds / 2
    upto = np.zeros(len(whole))
    for number, block in enumerate(blocks):
        upto = upto + np.bincount(at[block], each[block], len(whole))
        assert (found.upto[number + 1] == upto).all()  # to the bit


def test_a_window_of_many_channels_is_that_of_each() -> None:
    rng = np.random.default_rng(4)
    channels = [
        rounding.steady_rounding(*readings(int(rng.integers(2, 9000)), seed, step), step)
        for seed, step in enumerate([1, 2, 5, 0.5, 20] * 5)
    ]
    channels[3] = channels[-1] = None
    windows = []
    for steady in channels:
        rows = 2 if steady is None else (len(steady.upto) - 1) * steady.every
        first, last = sorted(rng.integers(0, rows, 2).tolist())
        windows.append((steady, first, last + 1))
    together = rounding.alike(windows)
    for (steady, first, last), found in zip(windows, together.tolist(), strict=True):
        one = 0.0 if steady is None else float(steady.alike(np.array([first]), np.array([last]))[0])
        assert found == one  # to the bit
    assert (together > 0).any()
    assert rounding.alike([(None, 0, 1)]).tolist() == [0.0]

"""Where the windows of a sensor's readings lie, told by the readings themselves."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.energy.findings import reading_windows
from powertui.data.energy.findings.reading_windows import WindowPrior
from powertui.data.model import Floats

_EDGES = np.cumsum(np.tile([0.13, 0.29, 0.17, 0.31], 40))


def _mean(lo: Floats, hi: Floats) -> Floats:
    """Of a machine that draws 100 W and 200 W by turns."""
    at = np.concatenate([[0.0], _EDGES])
    joules = np.concatenate(
        [[0.0], np.cumsum(np.diff(at) * np.where(np.arange(len(_EDGES)) % 2, 200.0, 100.0))]
    )
    return np.asarray((np.interp(hi, at, joules) - np.interp(lo, at, joules)) / (hi - lo))


@pytest.mark.parametrize(("place", "length"), [(0.0, 1.0), (0.03, 1.0), (-0.04, 1.0), (0.0, 2.0)])
def test_the_place_and_the_length_are_found_through_a_burst(place: float, length: float) -> None:
    hi = np.arange(0.5, 30, 0.1)
    watts = _mean(hi + place - 0.1 * length, hi + place) + np.random.default_rng(3).normal(
        0, 1, len(hi)
    )
    watts[100:130] += 60  # no place explains it

    def left(by: float, times: float) -> tuple[Floats, Floats]:
        return watts - _mean(hi + by - 0.1 * times, hi + by), np.zeros(len(hi))

    found = reading_windows.fit_windows(left, WindowPrior(0.03, 0.0), 0.1)
    assert found.best.place == pytest.approx(place, abs=0.01)
    assert found.best.length == pytest.approx(length)
    assert sum(one.weight for one in found.all) > 0.9


def test_where_nothing_changes_what_was_known_stays() -> None:
    flat = np.random.default_rng(3).normal(0, 1, 200)
    found = reading_windows.fit_windows(
        lambda by, times: (flat, np.zeros(200)), WindowPrior(0.03, 0.2), 0.1
    )
    assert (found.best.place, found.best.length) == (0.0, 1.0)
    assert found.sigma == pytest.approx(0.03, rel=0.2)

"""Stretches of few readings are looked at in one go: the same one must come out as length by
length.
"""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.energy.findings import stretch_scores
from powertui.data.energy.findings.stretch_scores import StretchSums, farthest
from powertui.data.energy.robust_stats import running_sums


def _lengths(count: int) -> list[int]:
    lengths = [1]
    while lengths[-1] <= 0.6 * count:
        lengths.append(max(lengths[-1] + 1, int(lengths[-1] * 1.1)))
    return lengths[:-1] or [1]


@pytest.mark.parametrize("seed", range(60))
def test_in_one_go_as_length_by_length(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(8, 300))
    weight = rng.random(count) * (rng.random(count) > 0.1)
    beyond = rng.normal(size=count)
    if seed % 3 == 0:
        beyond = np.round(beyond)  # many stretches are equally far off: the first one counts
    explained = None
    if seed % 2:
        explained = running_sums((rng.random(count) > 0.8).astype(np.float64))
    sums = StretchSums(running_sums(weight * beyond), running_sums(weight), explained, None)
    lengths = _lengths(count)
    errors = rng.random(len(lengths)) + 0.1
    if seed % 5 == 0:
        errors[:] = 1.0
    at_once = farthest(sums, lengths, errors)
    monkeypatch.setattr(stretch_scores, "CACHED_VALUES", 0)
    assert farthest(sums, lengths, errors) == at_once
    assert at_once[1] > at_once[0]


def test_nothing_is_farthest_where_nothing_is_off() -> None:
    sums = StretchSums(np.zeros(31), running_sums(np.ones(30)), None, None)
    assert farthest(sums, [1, 2], np.ones(2)) == (0, 0)


def test_a_score_that_is_no_number_hides_no_other_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    beyond = np.zeros(30)
    beyond[10] = 3.0
    sums = StretchSums(running_sums(beyond), running_sums(np.ones(30)), None, None)
    errors = np.array([0.0, 1.0])  # of single readings 0 / 0: nothing is known of them
    with np.errstate(all="ignore"):
        at_once = farthest(sums, [2, 3], errors[::-1])
        monkeypatch.setattr(stretch_scores, "CACHED_VALUES", 0)
        assert farthest(sums, [2, 3], errors[::-1]) == at_once
    assert at_once == (9, 11)

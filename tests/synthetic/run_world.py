"""How whole runs of one program differ on one machine, in the order in which they were recorded."""

from __future__ import annotations

import numpy as np

from tests.synthetic.step_world import Floats

# The first three were looked at when the rule for runs in turns was chosen, the others were not.
RUN_KINDS = (
    "alike",
    "trend",
    "random walk",
    "warming up",
    "remembering",
    "level jumps",
    "waves",
    "skewed",
    "B varies more",
)
_OWN_SIGMA = 0.3  # of each run, beside a drift whose size is about 1
_MAX_IN_A_ROW = 2


def run_values(kind: str, of_b: Floats, rng: np.random.Generator) -> Floats:
    """One value for each run, all without any difference between the sides; its scatter is ~1."""
    count = len(of_b)
    own = rng.standard_normal(count)
    at = np.arange(count)
    if kind == "alike":
        return np.asarray(own)
    if kind == "skewed":
        return np.asarray(2 * np.exp(0.5 * own))
    if kind == "B varies more":
        return np.asarray(own * np.where(of_b > 0, 3, 1))
    drift = np.zeros(count)
    if kind == "trend":
        drift = 3 * rng.uniform(-1, 1) * np.linspace(-1, 1, count)
    if kind == "random walk":
        drift = np.cumsum(rng.normal(0, 0.6, count))
    if kind == "warming up":
        drift = 4 * np.exp(-at / (count * rng.uniform(0.1, 0.4)))
    if kind == "remembering":
        level = rng.standard_normal()
        for run in range(count):
            level = 0.8 * level + 0.6 * rng.standard_normal()
            drift[run] = level
    if kind == "level jumps":
        drift = 2.0 * (at >= rng.integers(1, count)) * rng.choice([-1, 1])
    if kind == "waves":
        drift = 1.4 * np.sin(at * rng.uniform(0.2, 1.2) + rng.uniform(0, 6))
    return np.asarray(_OWN_SIGMA * own + drift)


def turns_of(a: int, b: int, rng: np.random.Generator) -> Floats:
    """So many runs of either side in any order with at most two of a side after each other: 1 for B."""
    while True:
        of_b = rng.permutation(np.repeat([0.0, 1.0], [a, b]))
        windows = np.lib.stride_tricks.sliding_window_view(of_b, _MAX_IN_A_ROW + 1)
        if not np.isin(windows.sum(axis=1), (0, _MAX_IN_A_ROW + 1)).any():
            return np.asarray(of_b)

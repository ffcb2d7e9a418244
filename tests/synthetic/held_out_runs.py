"""How runs of one program differ, described apart from the rules that judge them.

No constant of `data/compare` was chosen by these kinds: `run_world.py` and `step_world.py` were for
that. A machine has heavy tails, one bad run, two speeds, a ceiling, a day that slows it down; or one
side varies five times as much as the other.
"""

from __future__ import annotations

import numpy as np

from tests.synthetic.step_world import Floats

HELD_OUT_KINDS = (
    "heavy tails",
    "one bad run",
    "two speeds",
    "at a ceiling",
    "a slower day",
    "a restless day",
    "A varies five times as much",
    "doubling scatter",
)
ORDERS = ("in turns", "A before B", "unknown")
_SHARED_SIGMA = 0.8  # of figures of one run, which move together


def held_out_values(kind: str, of_b: Floats, figures: int, rng: np.random.Generator) -> Floats:
    """[runs × figures] without any difference between the sides; the scatter is about 1."""
    count = len(of_b)
    shared = _scatter(kind, of_b, rng)
    columns = []
    for _ in range(figures):
        own = _scatter(kind, of_b, rng)
        columns.append(_SHARED_SIGMA * shared + np.sqrt(1 - _SHARED_SIGMA**2) * own)
    drift = np.zeros(count)
    hours = np.linspace(0, 1, count)
    if kind == "a slower day":
        drift = rng.uniform(-4, 4) * hours ** rng.uniform(0.5, 2)
    if kind == "a restless day":
        drift = 1.5 * np.sin(rng.uniform(1, 9) * hours + rng.uniform(0, 6)) + 2 * hours
    return np.asarray(np.column_stack(columns) + drift[:, np.newaxis])


def _scatter(kind: str, of_b: Floats, rng: np.random.Generator) -> Floats:
    count = len(of_b)
    values = rng.standard_normal(count)
    if kind == "heavy tails":
        values = rng.standard_t(2, count)
    if kind == "one bad run":
        values[rng.integers(count)] += rng.uniform(4, 20)
    if kind == "two speeds":
        values = 3.0 * (rng.random(count) < rng.uniform(0.2, 0.8)) + 0.1 * values
    if kind == "at a ceiling":
        values = np.minimum(values, 0.0) + 0.02 * rng.standard_normal(count)
    if kind == "A varies five times as much":
        values = values * np.where(of_b > 0, 1, 5)
    if kind == "doubling scatter":
        values = values * 2 ** np.linspace(0, 2, count)
    return np.asarray(values)

"""How a machine drifts from run to run, described after the rules that judge it stood.

The forms of `data/compare/run_drift.py`, their sizes and the level were chosen by `run_world.py`
and `held_out_runs.py`. These kinds were looked at afterwards, to see what the rule is worth: a
drift that is forgotten after a while, a walk, a smooth curve, day and night, noise that is as large
in every octave, a machine that warms up, another program for a while, a bend. A run's own scatter
is 1.
"""

from __future__ import annotations

import numpy as np

from tests.synthetic.step_world import Floats

DRIFTING_KINDS = (
    "forgotten after a while",
    "walk",
    "smooth",
    "day and night",
    "every octave alike",
    "warming up",
    "another program",
    "bend",
)
_OCTAVES = 2.0 ** np.arange(-1, 14)  # of a run, in which a drift is forgotten


def drifting_values(kind: str, starts: Floats, rng: np.random.Generator) -> Floats:
    """One value for each run without any change; `starts` ascend."""
    runs = len(starts)
    share = (starts - starts[0]) / (starts[-1] - starts[0])
    own = rng.standard_normal(runs)
    apart = np.abs(share[:, np.newaxis] - share)
    if kind == "forgotten after a while":
        return own + 1.5 * _drawn(np.exp(-apart / rng.uniform(0.05, 1)), rng)
    if kind == "walk":
        steps = np.sqrt(np.diff(starts)) * rng.standard_normal(runs - 1)
        return own + 10 ** rng.uniform(-1, 0.3) * np.concatenate([[0], np.cumsum(steps)])
    if kind == "smooth":
        return own + 2 * _drawn(np.exp(-((apart / rng.uniform(0.15, 0.8)) ** 2) / 2), rng)
    if kind == "day and night":
        return own + 2 * np.sin(2 * np.pi * (share * rng.uniform(0.3, 2) + rng.random()))
    if kind == "every octave alike":
        lags = np.abs(starts[:, np.newaxis] - starts)
        together = sum(np.exp(-lags / octave) for octave in _OCTAVES)
        return own + rng.uniform(0.3, 1) * _drawn(np.asarray(together), rng)
    if kind == "warming up":
        return own + rng.uniform(1, 6) * np.exp(-share / rng.uniform(0.05, 0.5))
    if kind == "another program":
        first = rng.random()
        return own + 3.0 * ((share > first) & (share < first + rng.uniform(0.05, 0.4)))
    assert kind == "bend"
    return own + rng.uniform(-4, 4) * share + rng.uniform(-8, 8) * share**2


def _drawn(together: Floats, rng: np.random.Generator) -> Floats:
    """Values that go together as this covariance says."""
    root = np.linalg.cholesky(together + 1e-6 * np.eye(len(together)))
    return np.asarray(root @ rng.standard_normal(len(together)))

"""Makes the random numbers that boxes of power are drawn with.

    python scripts/random_draws.py

Other numbers give other intervals: 4,000 draws scatter by a hundredth of an interval's width.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy.findings.random_draws import STORED_DRAWS

# Boxes that are drawn for the intervals of one stretch. Chosen, not measured.
DRAWS = 4000
SEED = 47


def made_draws() -> np.ndarray:
    """[even, normal, even, normal × draws], from 0 to 1 and standard normal."""
    rng = np.random.default_rng(SEED)
    return np.stack(
        [
            rng.random(DRAWS),
            rng.standard_normal(DRAWS),
            rng.random(DRAWS),
            rng.standard_normal(DRAWS),
        ]
    )


if __name__ == "__main__":
    np.save(STORED_DRAWS, made_draws())

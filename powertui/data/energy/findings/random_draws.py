"""The random numbers that boxes are drawn with: the same in every run, and stored.

`numpy.random` is not imported for them: that took a fifth as long as NumPy itself, in every report.
`scripts/random_draws.py` makes the file.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from powertui.data.model import Floats
from powertui.named_tuples import NamedTuple

STORED_DRAWS = Path(__file__).with_name("random_draws.npy")


class RandomDraws(NamedTuple):
    """A number of each kind for every box that is drawn."""

    even: Floats  # from 0 to 1, each as likely
    normal: Floats  # standard normal


@functools.cache
def random_draws() -> tuple[RandomDraws, RandomDraws]:
    """For two sets of boxes, independent of each other."""
    even, normal, further_even, further_normal = np.load(STORED_DRAWS)
    return RandomDraws(even, normal), RandomDraws(further_even, further_normal)

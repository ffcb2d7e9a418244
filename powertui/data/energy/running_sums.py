"""Running sums, and by them the sums over all stretches of one length."""

from __future__ import annotations

import numpy as np

from powertui.data.model import Bools, Floats


def running_sums(values: Floats | Bools) -> Floats:
    """Sums along the last axis, up to each place: 0 first, and all in the end."""
    before_first = np.zeros((*values.shape[:-1], 1))
    sums = np.cumsum(values, axis=-1)
    return np.concatenate([before_first, sums], axis=-1)


def sums_over(running: Floats, length: int) -> Floats:
    """The sums over all stretches of so many values, by running sums."""
    return running[..., length:] - running[..., :-length]

"""Which steps are slow, where pictures mark them: longer than the others scatter."""

from __future__ import annotations

import numpy as np

from powertui.data.model import Bools, Floats, Int64s
from powertui.data.quantiles import median_of_column

# A step is slow from so many times the usual deviation above the median on, and from so much of the
# median. Chosen by eye on the demo and five recordings: of steps that only scatter few are marked.
_SLOW_DEVIATIONS, _MIN_SLOW_SHARE = 4.0, 0.05
_DEVIATION_OF_MEDIAN_DISTANCE = 1.4826  # of values that scatter as a normal distribution does
_MIN_JUDGED_STEPS = 10


def slow_steps(lengths: Floats | Int64s) -> Bools:
    """Which of these lengths are slow; none of a few."""
    if len(lengths) < _MIN_JUDGED_STEPS:
        return np.zeros(len(lengths), np.bool_)
    median = median_of_column(lengths)
    deviation = median_of_column(np.abs(lengths - median)) * _DEVIATION_OF_MEDIAN_DISTANCE
    limit = median + max(_SLOW_DEVIATIONS * deviation, _MIN_SLOW_SHARE * median)
    is_slow: Bools = lengths > limit
    return is_slow

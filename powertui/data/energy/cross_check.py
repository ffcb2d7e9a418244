"""Whether samples fit a trace plainly better beside the place that clocks give them: a quick look
before a search is paid for.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import nnls
from powertui.data.energy.expected_work import WindowShares
from powertui.data.energy.samples import Samples
from powertui.data.model import Floats

_PLACE_STEP_S = 0.2  # from one place that is looked at to the next
_MIN_SAMPLES = 8
_MAX_SAMPLES = 1500  # more are thinned evenly: a bound of time
# (share of the samples that counts, the worst left out; share of the squares left at the clock's
# place that may be left at a better one). Chosen, not measured.
_LOOKS = (
    (1.0, 0.85),
    (0.8, 0.6),  # a burst of another program, which nothing explains anywhere, would hide the rest
)


def may_lie_beside(data: Samples, shares: WindowShares, at_s: float, most_s: float) -> bool:
    """Whether some place up to `most_s` beside `at_s` explains plainly more.

    True costs a search, and settles nothing.
    """
    first, last = shares.span
    near = np.flatnonzero((data.hi + at_s > first - most_s) & (data.lo + at_s < last + most_s))
    near = near[:: max(1, len(near) // _MAX_SAMPLES)]
    if len(near) < _MIN_SAMPLES:
        return False
    steps = round(most_s / _PLACE_STEP_S)
    unexplained = np.array(
        [
            _unexplained(data[near], shares, at_s + _PLACE_STEP_S * step)
            for step in range(-steps, steps + 1)
        ]
    )
    return bool(np.any(unexplained.min(axis=0) < [most for _, most in _LOOKS] * unexplained[steps]))


def _unexplained(data: Samples, shares: WindowShares, offset_s: float) -> Floats:
    """The sum of squares that is left there, for each of the looks; of the same samples at every
    place.
    """
    ran = shares.work(data.lo + offset_s, data.hi + offset_s)
    squares = np.sort(np.square(data.watts - ran @ nnls.fit(ran, data.watts)))
    return np.array([squares[: round(part * len(squares))].sum() for part, _ in _LOOKS])

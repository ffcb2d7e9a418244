"""What a step draws in the course of itself, beyond what its kinds of work tell: for sensors that
look at parts of steps.

One kernel draws more than another of its kind. A sensor that sees a quarter of the time beats with
the steps, and sees now these kernels and now those for seconds on end: that is no foreign load, and
where in its step each reading lies tells so.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import Floats

# Parts of a step at most. This and the others here are chosen, not measured.
_MAX_PARTS = 24
_MIN_PART_READINGS = 30  # readings of each part of a step, at least
_MIN_PARTS = 4  # parts: fewer tell nothing
# of the run: what most of them tell of a part is its own; a load of seconds may meet the same parts
# of steps, too …
_BLOCKS = 12
_MIN_BLOCKS = 4  # … and what fewer tell may be that load
_MIN_BLOCK_READINGS = 2  # readings of a part in one of them
_MAX_LENGTH_DIFFERENCE = 0.3  # a step within this of the usual length is a usual one


def course(residual: Floats, lo: Floats, hi: Floats, start: Floats, end: Floats) -> Floats:
    """What to add to the expectation of each reading; steps run from `start` to `end`, and all in
    s.
    """
    out = np.zeros(len(residual))
    length = end - start
    if len(length) < _MIN_PART_READINGS:
        return out
    usual = float(np.median(length))
    if float(np.median(hi - lo)) >= usual:
        return out
    middle = (lo + hi) / 2
    row = np.clip(np.searchsorted(start, middle, side="right") - 1, 0, len(start) - 1)
    inside = (
        (middle >= start[row])
        & (middle < end[row])
        & (np.abs(length[row] - usual) < _MAX_LENGTH_DIFFERENCE * usual)
    )
    parts = min(_MAX_PARTS, int(inside.sum()) // _MIN_PART_READINGS)
    if parts < _MIN_PARTS:
        return out
    at = np.minimum(
        ((middle - start[row]) / np.maximum(length[row], 1e-12) * parts).astype(np.int64), parts - 1
    )
    when = np.arange(len(residual)) * _BLOCKS // len(residual)
    for part in range(parts):
        here = inside & (at == part)
        levels = [
            np.median(some)
            for block in range(_BLOCKS)
            if len(some := residual[here & (when == block)]) >= _MIN_BLOCK_READINGS
        ]
        if len(levels) >= _MIN_BLOCKS:
            out[here] = np.median(levels)
    return out

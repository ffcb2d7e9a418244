"""How steeply and how often power moves along a curve: what its means leave open depends on it."""

from __future__ import annotations

import numpy as np

from powertui.data.energy import bridge
from powertui.data.energy.bridge import summed_up
from powertui.data.energy.distances import Apart
from powertui.data.model import PS_PER_S, Bools, Floats, Int64s, PowerKind
from powertui.named_tuples import NamedTuple

# Refreshes between two readings from which on the straight line between them is a pause. Chosen:
# one reading that is late is none, one that is missing is.
PAUSE_REFRESHES = bridge.PAUSE_INTERVALS
_ROUNDING_MARGIN = 0.001  # relative, and more than what is lost where ps become seconds
# How much the change across a whole window counts for the slope, of two; the rest is for the change
# from reading to reading. Tuned on simulated trainings; half and twice are not recorded.
_WINDOW_CHANGE_WEIGHT = 0.7


class Slopes(NamedTuple):
    """Differences of neighboring readings, summed up to each knot (W²)."""

    squares: Floats  # of each
    turns: Floats  # of each times the one before it


def turns(
    knots: Int64s,
    between: Apart,
    differences: Floats,
    refresh: float,
) -> Slopes:
    """The squares of differences, and each times the one before it."""
    sums, squares, products = bridge.room_for_two(len(differences))
    np.multiply(differences, differences, out=squares[1:])
    _multiply_neighbors(knots, between, differences, refresh, products[1:])
    np.cumsum(sums, out=sums)
    return Slopes(squares, products)


def _multiply_neighbors(
    knots: Int64s,
    between: Apart,
    moved: Floats,
    refresh: float,
    out: Floats,
) -> None:
    """Each difference times the one before it, where both are a refresh or so long."""
    out[:1] = 0.0
    # Where rows come evenly, the one before is near, and none is that has another one between.
    near_s = PAUSE_REFRESHES * max(refresh, 1e-9)
    is_even = (
        np.isfinite(moved).all()
        and between.most < (1 - _ROUNDING_MARGIN) * near_s
        and 2 * between.least > (1 + _ROUNDING_MARGIN) * near_s
    )
    # So it is where every reading is another one than the one before.
    if len(moved) > 1 and (is_even or (between.most < PAUSE_REFRESHES * refresh and moved.all())):
        np.multiply(moved[1:], moved[:-1], out=out[1:])
        return
    out[:] = 0.0
    rows = np.flatnonzero(moved)
    if len(rows) > 1:
        is_near = np.diff(knots[rows + 1]) < near_s * PS_PER_S
        changes = moved[rows]
        products = changes[1:] * changes[:-1]
        out[rows[1:]] = np.where(is_near, products, 0.0)


def steep(
    knots: Int64s,
    between: Apart,
    level: Floats,
    known: Bools,
    squares: Floats,
    reach: float,
    kind: PowerKind,
) -> tuple[Floats, float]:
    """Squared differences of the readings half a reach before and after each segment, times its
    length, summed up to each knot; and over how many seconds they count.
    """
    if len(level) < 2:
        return squares, reach
    seconds = between.seconds
    lag = 1
    if between.usual > 0:
        lag = max(1, round(reach / between.usual))
    if lag == 1 or kind is PowerKind.INTERVAL:
        if between.most <= PAUSE_REFRESHES * reach:
            return squares, reach
        of_segment = np.maximum(seconds, reach) * np.diff(squares)
        return summed_up(of_segment), 1.0
    # What repeats within the window is not seen in means over it; but one mean and the next differ
    # by what came and what went.
    across = _change_across(knots, level, reach) ** 2
    along = lag * np.diff(level) ** 2
    change = _WINDOW_CHANGE_WEIGHT * across + (2 - _WINDOW_CHANGE_WEIGHT) * along
    of_segment = np.where(known, seconds * change, 0.0)
    return summed_up(of_segment), 1.0


def _change_across(knots: Int64s, level: Floats, reach: float) -> Floats:
    """From the reading half a reach before the middle of each segment to that after it."""
    middle = knots[:-1] + np.diff(knots) // 2
    half_ps = round(reach / 2 * PS_PER_S)
    later = knots.searchsorted(middle + half_ps)
    later = np.minimum(later, len(knots) - 1)
    earlier = knots.searchsorted(middle - half_ps, side="right") - 1
    earlier = np.maximum(earlier, 0)
    change: Floats = level[later] - level[earlier]
    return change

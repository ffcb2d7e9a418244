"""What a drag on the strip of the whole run means: its visible part is moved, made longer or
shorter at an edge, or drawn anew.
"""

from __future__ import annotations

import enum

from powertui.value_types import dataclass
from powertui.view.viewport import Viewport


class Grip(enum.Enum):
    """What the pointer has hold of."""

    MIDDLE = "middle"
    LEFT = "left"
    RIGHT = "right"
    NOTHING = "nothing"  # all is in sight: a stretch is drawn


@dataclass(frozen=True)
class Drag:
    """A drag as it began: in columns of the whole run, and what was visible then."""

    grip: Grip
    column: int
    lo: int
    hi: int


def begin(all_time: Viewport, view: Viewport, column: int) -> Drag:
    """The button went down in this column of the whole run.

    Beside the visible part that comes to the pointer first.
    """
    lo = view.t0
    hi = view.t1
    if view.rung >= all_time.rung:
        return Drag(Grip.NOTHING, column, lo, hi)
    shown = all_time.covered(lo, hi)
    if len(shown) > 2 and column in (shown[0], shown[-1]):
        return Drag(Grip.LEFT if column == shown[0] else Grip.RIGHT, column, lo, hi)
    if column not in shown:
        by = all_time.time(column) + all_time.cell_ps // 2 - (lo + hi) // 2
        lo = lo + by
        hi = hi + by
    return Drag(Grip.MIDDLE, column, lo, hi)


def visible(drag: Drag, all_time: Viewport, column: int) -> tuple[int, int] | None:
    """What is visible with the pointer in this column; None as long as nothing is drawn."""
    by = (column - drag.column) * all_time.cell_ps
    if drag.grip is Grip.MIDDLE:
        return drag.lo + by, drag.hi + by
    if drag.grip is Grip.NOTHING:
        first, last = sorted((drag.column, column))
        return None if first == last else (all_time.time(first), all_time.time(last + 1))
    if drag.grip is Grip.LEFT:
        return min(all_time.time(column), drag.hi - all_time.cell_ps), drag.hi
    return drag.lo, max(all_time.time(column + 1), drag.lo + all_time.cell_ps)

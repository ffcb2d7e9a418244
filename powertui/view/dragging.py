"""What a drag on the strip of the whole run means: its visible part is moved, made longer or
shorter at an edge, or drawn anew.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

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


def begin(whole: Viewport, view: Viewport, column: int) -> Drag:
    """The button went down in this column of the whole run.

    Beside the visible part that comes to the pointer first.
    """
    lo, hi = view.t0, view.t1
    if view.rung >= whole.rung:
        return Drag(Grip.NOTHING, column, lo, hi)
    seen = whole.covered(lo, hi)
    if len(seen) > 2 and column in (seen[0], seen[-1]):
        return Drag(Grip.LEFT if column == seen[0] else Grip.RIGHT, column, lo, hi)
    if column not in seen:
        by = whole.time(column) + whole.cell_ps // 2 - (lo + hi) // 2
        lo, hi = lo + by, hi + by
    return Drag(Grip.MIDDLE, column, lo, hi)


def visible(drag: Drag, whole: Viewport, column: int) -> tuple[int, int] | None:
    """What is visible with the pointer in this column; None as long as nothing is drawn."""
    by = (column - drag.column) * whole.cell_ps
    if drag.grip is Grip.MIDDLE:
        return drag.lo + by, drag.hi + by
    if drag.grip is Grip.NOTHING:
        first, last = sorted((drag.column, column))
        return None if first == last else (whole.time(first), whole.time(last + 1))
    if drag.grip is Grip.LEFT:
        return min(whole.time(column), drag.hi - whole.cell_ps), drag.hi
    return drag.lo, max(whole.time(column + 1), drag.lo + whole.cell_ps)

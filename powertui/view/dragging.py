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
        return Drag(
            grip=Grip.NOTHING,
            column=column,
            lo=lo,
            hi=hi,
        )
    shown = all_time.covered(lo, hi)
    if column not in shown:
        pointer_ps = all_time.time(column) + all_time.cell_ps // 2
        by = pointer_ps - (lo + hi) // 2
        return Drag(
            grip=Grip.MIDDLE,
            column=column,
            lo=lo + by,
            hi=hi + by,
        )
    # A part of two cells has no middle beside its ends: it is moved.
    grip = Grip.MIDDLE
    if len(shown) > 2 and column == shown[0]:
        grip = Grip.LEFT
    elif len(shown) > 2 and column == shown[-1]:
        grip = Grip.RIGHT
    return Drag(grip=grip, column=column, lo=lo, hi=hi)


def visible(drag: Drag, all_time: Viewport, column: int) -> tuple[int, int] | None:
    """What is visible with the pointer in this column; None as long as nothing is drawn."""
    cell_ps = all_time.cell_ps
    lo = drag.lo
    hi = drag.hi
    if drag.grip is Grip.MIDDLE:
        moved_ps = (column - drag.column) * cell_ps
        return lo + moved_ps, hi + moved_ps
    if drag.grip is Grip.LEFT:
        lo = min(all_time.time(column), hi - cell_ps)
        return lo, hi
    if drag.grip is Grip.RIGHT:
        hi = max(all_time.time(column + 1), lo + cell_ps)
        return lo, hi
    if column == drag.column:
        return None
    first = min(drag.column, column)
    last = max(drag.column, column)
    return all_time.time(first), all_time.time(last + 1)

"""What a channel of power is held to, as a line above its curve."""

from __future__ import annotations

from collections.abc import Iterable

from powertui import units
from powertui.data.model import Int64s
from powertui.view.curve import Axis

__all__ = ["draw", "highest"]

# times the highest reading: a limit beyond that would press the curve flat, and is not drawn
_MAX_LIMIT_RATIO = 2.0


def highest(reading: float, limits: Iterable[float]) -> float:
    """How high a chart has to reach."""
    return max(
        [reading, *(watts for watts in limits if reading < watts <= _MAX_LIMIT_RATIO * reading)]
    )


def draw(
    chars: list[list[str]], stretches: Iterable[tuple[Int64s, float]], scale: Axis, horizontal: str
) -> list[tuple[int, int]]:
    """A line wherever no curve is, with its watts at the left end: (columns in which it holds, W).

    The cells that it took.
    """
    height = len(chars)
    points = []
    if height < 2 or scale.hi <= scale.lo:
        return []
    for columns, watts in stretches:
        if not scale.lo <= watts <= scale.hi:
            continue
        row = min(height - 1, int((scale.hi - watts) / (scale.hi - scale.lo) * height))
        text = f" limit {units.quantity(watts, 'W')} "
        for at, column in enumerate(columns.tolist()):
            if chars[row][column] == " ":
                chars[row][column] = text[at] if at < len(text) <= len(columns) else horizontal
                points.append((row, column))
    return points

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
    top = reading
    for watts in limits:
        if reading < watts <= _MAX_LIMIT_RATIO * reading:
            top = max(top, watts)
    return top


def draw(
    chars: list[list[str]],
    stretches: Iterable[tuple[Int64s, float]],
    scale: Axis,
    horizontal: str,
) -> list[tuple[int, int]]:
    """A line wherever no curve is, with its watts at the left end: (columns in which it holds, W).

    The cells that it took.
    """
    height = len(chars)
    range_w = scale.hi - scale.lo
    cells: list[tuple[int, int]] = []
    if height < 2 or range_w <= 0:
        return cells
    for columns, watts in stretches:
        if not scale.lo <= watts <= scale.hi:
            continue
        share_below_top = (scale.hi - watts) / range_w
        row = min(height - 1, int(share_below_top * height))
        words = f" limit {units.quantity(watts, 'W')} "
        if len(words) > len(columns):
            words = ""
        line = words.ljust(len(columns), horizontal)
        for column, char in zip(columns.tolist(), line, strict=True):
            if chars[row][column] == " ":
                chars[row][column] = char
                cells.append((row, column))
    return cells

"""A power series as a filled area in text. Pure arithmetic, no screen.

Cells are full up to the lowest value of a column, and a shade from there to its highest.

An area is seen from further away than a line, and its color follows the height alone: a row is one
style, so that a picture costs few bytes.
"""

from __future__ import annotations

import math

import numpy as np

from powertui.data.model import Floats, Int64s
from powertui.named_tuples import NamedTuple
from powertui.terminal.glyphs import Glyphs
from powertui.view.curve import Axis, Envelope

# Rows of a strip from which on one is spent on the axis's lower part.
_MIN_ROWS_WITH_FLOOR = 4
# The least height of an axis as a share of its highest value: ±2 W of 240 W is a ripple, no storm.
_MIN_AXIS_SHARE = 0.2
# Shades of power in the theme.
_EMBER_SHADES = 10
# Rows from one tick of an axis to the next.
_ROWS_BETWEEN_TICKS = 3
# From this share of the highest value on, the lowest value is far enough from zero to be cut off.
_MIN_FLOOR_SHARE = 0.4
# How far from a row's edge, in rows, the dashed line is drawn on that edge and not in the middle:
# drawn in the middle alone it lay visibly beside an area that is as high (looked at).
_DASH_EDGE_ROWS = 1 / 3
# What a row may stand for, times a power of ten.
_ROUND_FACTORS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 20)


class PowerScale(NamedTuple):
    """An axis, and whether its lowest row stands for all that is below the axis's start."""

    axis: Axis
    has_floor: bool

    @property
    def lo(self) -> float:
        """The value at the lower end of the linear rows."""
        return self.axis.lo

    @property
    def hi(self) -> float:
        """The value at the upper end."""
        return self.axis.hi

    def linear_rows(self, rows: int) -> int:
        """How many of all rows are above the floor."""
        return rows - 1 if self.has_floor else rows


def power_scale(lowest: float, highest: float, rows: int) -> PowerScale:
    """The scale of power between these values in so many rows.

    It begins at zero where that leaves the curve most of the rows, and where no row is left to show
    that a part is missing. Otherwise the lowest row stands for the part that never changes.
    """
    if math.isnan(lowest) or math.isnan(highest):
        lowest = 0.0
        highest = 1.0
    min_range = _MIN_AXIS_SHARE * highest
    if highest - lowest < min_range:
        lowest = highest * (1 - _MIN_AXIS_SHARE)
    is_far_from_zero = lowest >= _MIN_FLOOR_SHARE * highest
    if is_far_from_zero and rows >= _MIN_ROWS_WITH_FLOOR:
        axis = _whole_steps(lowest, highest, rows - 1)
        return PowerScale(axis, has_floor=True)
    axis = _whole_steps(min(lowest, 0.0), highest, rows)
    return PowerScale(axis, has_floor=False)


def _whole_steps(lowest: float, highest: float, rows: int) -> Axis:
    """An axis around these values on which each row is a round number: ticks and rows meet."""
    span = max(
        highest - lowest,
        abs(highest) * 1e-6,
        1e-9,
    )
    if rows == 1 and lowest < 0:
        return Axis(lowest, highest, span)
    exponent = math.floor(math.log10(span / rows))
    power = 10.0**exponent
    for factor in _ROUND_FACTORS:
        step = factor * power
        lo = math.floor(lowest / step + 1e-9) * step
        hi = lo + rows * step
        if hi >= highest:
            break
    return Axis(lo, hi, step)


def row_roles(scale: PowerScale, rows: int) -> list[str]:
    """The role of each row, top first: color is height, so that a row is one run of bytes."""
    linear_rows = scale.linear_rows(rows)
    roles = []
    for row in range(linear_rows - 1, -1, -1):
        height_share = (row + 0.5) / linear_rows
        shade = int(height_share * _EMBER_SHADES)
        roles.append(f"ember_{shade}")
    if scale.has_floor:
        roles.append("power_floor")
    return roles


def row_labels(scale: PowerScale, rows: int, glyphs: Glyphs) -> list[str]:
    """The axis: each value is that of its row's lower edge, so that rows apart are watts apart."""
    last_row = scale.linear_rows(rows) - 1
    axis = scale.axis
    labels = [""] * rows
    for row in range(0, last_row - 1, _ROWS_BETWEEN_TICKS):
        watts = axis.lo + row * axis.step
        labels[last_row - row] = axis.text(watts)
    highest_w = axis.lo + last_row * axis.step
    labels[0] = axis.text(highest_w)
    labels[last_row] = axis.text(axis.lo)
    if scale.has_floor:
        labels[-1] = f"0 {glyphs.broken}"
    return labels


def edge_tick(label: str, glyphs: Glyphs) -> str:
    """What stands behind a label of the axis: a tick at the lower edge of its row. A label in the
    middle of a row was read as half a row more.
    """
    if not label or label.endswith(glyphs.broken):
        return " "
    if glyphs.upper_half:
        return glyphs.bars[0]
    return "_"


def dash(part: float, cell: int, glyphs: Glyphs) -> str:
    """A dashed line in a cell, `part` of a row above its lower edge; "" in the gaps between dashes.

    Every second cell is a gap, at whatever height: one line that wanders looks like one.
    """
    if not glyphs.upper_half:
        return glyphs.dashed
    if cell % 2:
        return ""
    if _DASH_EDGE_ROWS <= part <= 1 - _DASH_EDGE_ROWS:
        return glyphs.horizontal
    return "▁" if part < _DASH_EDGE_ROWS else "▔"


def role_of_text_on(role: str) -> str:
    """The role of text on a full cell of a shade of power."""
    return role.replace("ember", "tile")


def draw_area(
    shape: Envelope,
    scale: PowerScale,
    rows: int,
    glyphs: Glyphs,
) -> list[str]:
    """The area as `rows` lines of text, top first. `shape` has one column for each cell."""
    linear_rows = scale.linear_rows(rows)
    parts = 1
    if glyphs.braille:
        parts = len(glyphs.bars)
    low = _heights(
        shape.low,
        scale.axis,
        linear_rows,
        parts,
    )
    high = _heights(
        shape.high,
        scale.axis,
        linear_rows,
        parts,
    )
    tops = [_top(part, glyphs) for part in range(parts + 1)]
    range_code = len(tops)
    unknown_code = range_code + 1
    chars = np.array([*tops, glyphs.area_range, " "])
    is_unknown = ~shape.known
    lines = []
    for row in range(linear_rows - 1, -1, -1):
        bottom = row * parts
        top = bottom + parts
        is_range = (low <= bottom) & (high >= top)
        code = np.clip(high - bottom, 0, parts)
        code[is_range] = range_code
        code[is_unknown] = unknown_code
        line = chars[code].tolist()
        lines.append("".join(line))
    if scale.has_floor:
        floor = np.where(is_unknown, " ", glyphs.area)
        lines.append("".join(floor.tolist()))
    return lines


def _heights(
    values: Floats,
    scale: Axis,
    rows: int,
    parts: int,
) -> Int64s:
    """How high each value is, in parts of a row, at least one: where power is, it is seen."""
    share = np.nan_to_num((values - scale.lo) / (scale.hi - scale.lo))
    return np.clip(np.rint(share * rows * parts), 1, rows * parts).astype(np.int64)


def _top(part: int, glyphs: Glyphs) -> str:
    """The character of a cell that is filled by so many parts."""
    if part == 0:
        return " "
    if not glyphs.braille or part == len(glyphs.bars):
        return glyphs.area
    return glyphs.bars[part - 1]

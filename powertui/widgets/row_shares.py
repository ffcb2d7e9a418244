"""How the timeline's view shares its rows among power, other strips, lanes and tracks."""

from __future__ import annotations

MAX_POWER_STRIPS = 4
MAX_VALUE_STRIPS = 6
MAX_POWER_ROWS = 20  # of a power strip
_VALUE_ROWS = 4
_MIN_STRIP_ROWS = 2  # in one row a curve would be a line of dots
_NEXT_STRIP_ROWS = 3  # of the power strips below the first
RULER_ROWS = 2  # the ruler and the whole run
STEP_ROWS = 1  # beside the tracks of a profile: the lane of its steps
MIN_TRACK_ROWS = 3  # where nothing in sight was profiled
MIN_TIMELINE_ROWS = 8  # that stay for what ran, beside power
_MIN_FIRST_ROWS = 4  # of the first power strip, where it has more than two
# Of the view's rows, for the first power strip: at 24, 36 and 50 rows it has a quarter of the
# screen, and what ran keeps more than it.
FIRST_STRIP_SHARE = 0.29
# In a view lower than this, strips below the first have three rows and leave as many free (chosen
# by eye).
_MIN_ROOMY_HEIGHT = 40
# Where the panel is beside the tracks, the first power strip gets some of the rows it leaves: from
# so many rows of the view on, so many (looked at: 14 rows of tracks are left).
_HIGH_POWER_ROWS = ((44, 5), (30, 3))


def label_width(width: int) -> int:
    """Label columns for a view this wide: between a fifth and a quarter of it, within reason."""
    return min(26, max(12, width * 9 // 40))


def strip_heights(height: int, series: int, lanes: int) -> list[int]:
    """How many rows each power strip gets beside so many lanes, where eight rows of the timeline
    stay.

    The first is the picture of the page. It has two rows as long as four stay: a pane below takes
    rows from both, and never all of the power's.
    """
    room = height - RULER_ROWS - STEP_ROWS - lanes
    if not series or room < _MIN_STRIP_ROWS + 4:
        return []
    spare = room - MIN_TIMELINE_ROWS
    if spare < _MIN_FIRST_ROWS:
        return [_MIN_STRIP_ROWS]
    first = max(_MIN_FIRST_ROWS, round(height * FIRST_STRIP_SHARE))
    heights = [min(first, spare)]
    spare -= heights[0]
    is_roomy = height >= _MIN_ROOMY_HEIGHT
    max_rows = 4 if is_roomy else 3
    for _ in range(1, min(series, MAX_POWER_STRIPS)):
        rows = min(max_rows, spare // 2)
        if rows < _MIN_STRIP_ROWS:
            break
        heights.append(rows)
        spare -= rows if is_roomy else 2 * rows
    return heights


def near_heights(
    height: int,
    series: int,
    lanes: int,
    *,
    is_high: bool,
    has_findings: bool,
) -> list[int]:
    """How many rows each power strip gets beside the tracks of a profile.

    `is_high`: the panel about the view is beside the tracks and leaves its rows.
    """
    heights = strip_heights(height, series, lanes)
    if heights and is_high:
        heights[0] += next((rows for least, rows in _HIGH_POWER_ROWS if height >= least), 0)
    if has_findings and heights and heights[0] > 4:
        # Findings come last: the power gives its row, so that no track moves a row down.
        heights[0] -= 1
    return heights


def near_value_heights(height: int, values: int, lanes: int) -> list[int]:
    """How many rows each other strip gets there, of those that the power strips leave."""
    spare = height - RULER_ROWS - STEP_ROWS - lanes - MIN_TIMELINE_ROWS
    count = min(values, MAX_VALUE_STRIPS, max(0, spare // _MIN_STRIP_ROWS))
    return [_MIN_STRIP_ROWS] * count


def far_heights(
    height: int,
    power: int,
    values: int,
    lanes: int,
) -> tuple[list[int], list[int]]:
    """Rows of the power strips and of the other strips where nothing in sight was profiled.

    They share what tracks would take. The first power strip is the tallest.
    """
    spare = height - RULER_ROWS - lanes - MIN_TRACK_ROWS
    power = min(power, MAX_POWER_STRIPS)
    values = min(values, MAX_VALUE_STRIPS)
    if not power:
        return [], _values_alone(spare, values)
    values = min(
        values,
        max(2, (spare - 6) // _VALUE_ROWS),
        max(0, spare - _NEXT_STRIP_ROWS) // _MIN_STRIP_ROWS,
    )
    value_rows = 0
    if values == 1:
        value_rows = _MIN_STRIP_ROWS
    elif values:
        value_rows = max(_MIN_STRIP_ROWS, min(_VALUE_ROWS, spare // 2 // values))
    power_rows = spare - value_rows * values
    power = min(power, max(1, power_rows // 5))
    max_first_rows = 16 if values else power_rows
    remaining = power_rows - _NEXT_STRIP_ROWS * (power - 1)
    first = min(max_first_rows, max(_MIN_STRIP_ROWS, remaining))
    return [first] + [_NEXT_STRIP_ROWS] * (power - 1), [value_rows] * values


def _values_alone(spare: int, values: int) -> list[int]:
    """Rows of the other strips where there is no power."""
    values = min(values, spare // _MIN_STRIP_ROWS)
    if not values:
        return []
    return [min(7, spare // values)] * values

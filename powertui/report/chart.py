"""How long each step took, as a small chart for terminals: a stall and a slow start look different.

At most one dot for each place of the width. Of several steps in one dot the
longest is drawn, so that no stall is lost.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import numpy as np

from powertui import units, wrapping
from powertui.data.model import PS_PER_S, Floats, Int64s
from powertui.data.quantiles import percentile_of_column
from powertui.report import braille_plot
from powertui.terminal import capabilities

# Chosen by looking at charts, not measured.
MIN_STEPS = 10  # of fewer steps the median says as much
_PLOT_ROWS = 6
_MIN_COLUMNS = 40
_MAX_COLUMNS = 120  # wider shows no more


def room() -> int:
    """How many columns a chart may take: 0 without a terminal, or where it has no braille."""
    columns = wrapping.terminal_columns()
    if not columns:
        return 0
    wishes = capabilities.wishes_from_env(os.environ)
    detected = capabilities.detect(os.environ, sys.stdout.encoding or "ascii", wishes)
    return min(columns, _MAX_COLUMNS) if detected.glyphs == "unicode" else 0


def of_steps(seconds: Sequence[float], columns: int, indent: str = "") -> list[str]:
    """Lines of at most `columns` characters; none where there are few steps or no room."""
    columns -= len(indent)
    step_count = len(seconds)
    if step_count < MIN_STEPS or columns < _MIN_COLUMNS:
        return []
    values = np.asarray(seconds, np.float64)
    top, above = _top(values)
    # Two dots a character; the labels on the left and the frame take about twelve.
    dots = min(2 * (columns - 12), step_count)
    bounds = np.linspace(0, step_count, dots + 1).astype(np.int64)
    first_steps = bounds[:-1]  # of each dot
    highest = np.maximum.reduceat(values, first_steps)
    heights = np.minimum(highest, top)
    lines = _drawn(first_steps, heights, top, step_count, columns)
    longest = _time(float(values.max()))
    if above == 1:
        lines.append(f"one step goes beyond the top: {longest}")
    elif above:
        lines.append(f"{above:,} steps go beyond the top, up to {longest}")
    return [indent + line for line in lines if line]


def _drawn(
    first_steps: Int64s,
    heights: Floats,
    top: float,
    step_count: int,
    columns: int,
) -> list[str]:
    """The dots in their frame, with three labels on each axis."""
    last = step_count - 1
    return braille_plot.braille_plot(
        first_steps / last,
        heights / top,
        columns=columns,
        rows=_PLOT_ROWS,
        row_labels=("0", _time(top / 2), _time(top)),
        # Steps count from 1 for a person, and from 0 on the axis.
        column_labels=("1", f"{last // 2 + 1:,}", f"{step_count:,}"),
    )


def _top(values: Floats) -> tuple[float, int]:
    """The highest value drawn, and how many are above it.

    One step that traces for seconds must not flatten the rest: values are cut off at twice the 90th
    percentile where the highest is above three times it. The factors are chosen, not measured.
    """
    p90 = percentile_of_column(values, 90)
    highest = float(values.max())
    if p90 <= 0 or highest <= 3 * p90:
        return highest or 1.0, 0
    top = 2 * p90
    count_above = int((values > top).sum())
    return top, count_above


def _time(seconds: float) -> str:
    return units.duration(round(seconds * PS_PER_S), 2)

"""The usual power of each epoch, as it is drawn with the power over time.

It is the median of an epoch's readings: a load that nothing explains stands above it, and a dip
below it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple
from powertui.view.curve import Envelope
from powertui.view.power_area import PowerScale
from powertui.view.step_curve import StepCurve

_MAX_EPOCHS = 24  # of more each would be a few cells wide
_MIN_READINGS = 5  # in an epoch, so that their median is a level (chosen)


class EpochLevel(NamedTuple):
    """An epoch and its usual watts."""

    lo: int  # ps
    hi: int
    watts: float


def epoch_levels(curve: StepCurve, spans: Sequence[tuple[int, int]]) -> tuple[EpochLevel, ...]:
    """The levels of these epochs; one with too few readings has none."""
    levels: list[EpochLevel] = []
    if len(spans) > _MAX_EPOCHS:
        return ()
    for lo, hi in spans:
        first = int(curve.at.searchsorted(lo))
        last = min(int(curve.at.searchsorted(hi)), len(curve.values))
        watts = curve.values[first:last]
        known = watts[np.isfinite(watts)]
        if len(known) >= _MIN_READINGS:
            levels.append(EpochLevel(lo, hi, median_of_column(known)))
    return tuple(levels)


class LevelDash(NamedTuple):
    """Where a piece of a level is drawn, `part` of a row above the lower edge of its row."""

    row: int  # from above
    column: int
    part: float


def level_dashes(
    watts: float,
    columns: range,
    shape: Envelope,
    scale: PowerScale,
    rows: int,
) -> list[LevelDash]:
    """The cells in which a level is seen: where the power is half a row and more above or below it.
    Elsewhere it would only be the upper edge of the area once more.
    """
    axis = scale.axis
    linear_rows = scale.linear_rows(rows)
    height = (watts - axis.lo) / (axis.hi - axis.lo) * linear_rows
    if not 0 <= height < linear_rows:
        return []
    row_watts = (axis.hi - axis.lo) / linear_rows
    level_row = linear_rows - 1 - int(height)
    is_apart = (shape.low - watts > row_watts / 2) | (watts - shape.high > row_watts / 2)
    dashes = []
    for column in columns:
        if is_apart[column] and shape.known[column]:
            dashes.append(LevelDash(level_row, column, height - int(height)))
    return dashes

"""Where a stretch that was found begins and ends.

It ends at readings that speak against it and at pauses, and goes on beyond readings that are not
judged.
"""

from __future__ import annotations

import numpy as np

from powertui.data import wire
from powertui.data.energy import settings
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.energy.findings.residual_noise import ResidualNoise
from powertui.data.model import Bools, Floats, Int64s
from powertui.data.quantiles import median_of_column, median_of_rows, quantile_of_column

# A reading whose doubt is at most this share of a height shows where a stretch ends. Chosen.
_MAX_DOUBT_SHARE = settings.MAX_DOUBT_SHARE
# In a stretch of so many readings a single low one is no pause. Chosen, not measured.
_MIN_READINGS_FOR_FALTER = settings.MIN_SAMPLE_VALUES
# So many readings at most are smoothed over to see a pause. Chosen, not measured.
_MAX_SMOOTH_READINGS = 101


def unbroken(
    readings: SensorReadings,
    rows: Int64s,
    first: int,
    last: int,
    beyond: Floats,
) -> tuple[int, int]:
    """The longest part of a stretch that no reading in between speaks against.

    Such readings may be ones that are not judged: they are not in `rows`.
    """
    inner = slice(rows[first], rows[last - 1] + 1)
    height = median_of_column(beyond[first:last])
    above_floor = np.sign(height) * (readings.watts[inner] - readings.floor[inner])
    against = ~readings.judged[inner] & (above_floor < 0.5 * abs(height))
    if height < 0 or not against.any():
        return first, last
    breaks = np.searchsorted(rows, np.flatnonzero(against) + rows[first])
    bounds = wire.distinct(np.concatenate([[first], breaks, [last]]))
    longest = int(np.argmax(np.diff(bounds)))
    return int(bounds[longest]), int(bounds[longest + 1])


def even_part(
    beyond: Floats,
    doubt: Floats,
    first: int,
    last: int,
    noise: ResidualNoise,
) -> tuple[int, int]:
    """The strongest part of a stretch that is high throughout.

    Two bursts with a pause between them are not one.
    """
    sign = 1.0 if beyond[first:last].sum() > 0 else -1.0
    values = sign * beyond[first:last]
    height = quantile_of_column(values, 3 / 4)
    if height <= 0 or len(values) < 3:
        return first, last
    smooth = _smoothed(values, height, noise)
    if smooth is None:
        return first, last
    sure = doubt[first:last] <= _MAX_DOUBT_SHARE * height
    high = smooth > height / 2
    parts = _true_runs(high | ~sure)
    if not len(parts):
        return first, last
    low, end = max(parts.tolist(), key=lambda part: float(values[part[0] : part[1]].sum()))
    shown = np.flatnonzero(high[low:end] & sure[low:end])
    if not len(shown):
        return first + low, first + end
    # Readings that are not sure join two sure parts only when those are the greater part.
    gaps = np.flatnonzero(np.diff(shown) > max(2, len(shown) // 2))
    pieces = np.split(shown, gaps + 1)
    longest = max(pieces, key=len)
    return first + low + int(longest[0]), first + low + int(longest[-1]) + 1


def _smoothed(values: Floats, height: float, noise: ResidualNoise) -> Floats | None:
    """A running median over as many readings as noise asks for; None where too little is seen of a
    stretch to tell a pause from noise.
    """
    count = len(values)
    # One reading among so many is no pause: a load may falter for a moment.
    falter = int(count >= _MIN_READINGS_FOR_FALTER)
    size = 1 + 2 * max(min(count // 40, _MAX_SMOOTH_READINGS // 2), falter)
    while size < min(count // 3, _MAX_SMOOTH_READINGS) and noise.mean_error(size) > height / 8:
        size += 2
    if noise.mean_error(size) > height / 6:
        return None
    padded = np.pad(values, size // 2, mode="edge")
    return median_of_rows(np.lib.stride_tricks.sliding_window_view(padded, size))


def _true_runs(values: Bools) -> Int64s:
    """[runs, 2]: the first row of each run of true values, and the row after it."""
    padded = np.concatenate([[False], values, [False]]).astype(np.int8)
    return np.flatnonzero(np.diff(padded)).reshape(-1, 2)


def extended(readings: SensorReadings, first: int, last: int, height: float) -> tuple[int, int]:
    """A stretch of rows, carried on over readings that are not judged.

    It goes on as far as readings show the same foreign power again.
    """
    if height <= 0:
        return first, last
    rest = readings.watts - 0.5 * height
    fits_below = readings.judged & (rest <= readings.ceiling)
    against = ~(rest > readings.floor) | ~np.isfinite(readings.ceiling) | fits_below
    shows = ~against & (rest > readings.ceiling)

    def farthest(row: int, step: int) -> int:
        """The last row in this direction that shows it, with nothing against it before."""
        shown = row
        while 0 <= row + step < len(readings) and not against[row + step]:
            row += step
            if shows[row]:
                shown = row
        return shown

    return farthest(first, -1), farthest(last - 1, 1) + 1

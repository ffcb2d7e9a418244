"""Where a stretch that was found begins and ends.

It ends at readings that speak against it and at pauses, and goes on beyond readings that are not
judged.
"""

from __future__ import annotations

import numpy as np

from powertui.data import wire
from powertui.data.energy import settings
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.energy.findings.residual_noise import ResidualNoise, true_runs
from powertui.data.model import Floats, Int64s
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
    first_reading = rows[first]
    inner = slice(first_reading, rows[last - 1] + 1)
    height = median_of_column(beyond[first:last])
    above_floor = np.sign(height) * (readings.watts[inner] - readings.floor[inner])
    is_low = above_floor < 0.5 * abs(height)
    against = ~readings.judged[inner] & is_low
    if height < 0 or not against.any():
        return first, last
    against_rows = np.flatnonzero(against) + first_reading
    breaks = np.searchsorted(rows, against_rows)
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
    stretch = beyond[first:last]
    sign = 1.0 if stretch.sum() > 0 else -1.0
    values = sign * stretch
    height = quantile_of_column(values, 3 / 4)
    if height <= 0 or len(values) < 3:
        return first, last
    smooth = _smoothed(values, height, noise)
    if smooth is None:
        return first, last
    sure = doubt[first:last] <= _MAX_DOUBT_SHARE * height
    high = smooth > height / 2
    parts: list[list[int]] = true_runs(high | ~sure).tolist()
    if not parts:
        return first, last

    def energy(part: list[int]) -> float:
        begin, end = part
        return float(values[begin:end].sum())

    low, end = max(parts, key=energy)
    is_shown = high[low:end] & sure[low:end]
    shown = np.flatnonzero(is_shown)
    if not len(shown):
        return first + low, first + end
    # Readings that are not sure join two sure parts only when those are the greater part.
    max_gap = max(2, len(shown) // 2)
    gaps = np.flatnonzero(np.diff(shown) > max_gap)
    pieces = np.split(shown, gaps + 1)
    longest = max(pieces, key=len)
    start = first + low
    return start + int(longest[0]), start + int(longest[-1]) + 1


def _smoothed(
    values: Floats,
    height: float,
    noise: ResidualNoise,
) -> Floats | None:
    """A running median over as many readings as noise asks for; None where too little is seen of a
    stretch to tell a pause from noise.
    """
    count = len(values)
    # One reading among so many is no pause: a load may falter for a moment.
    falter = int(count >= _MIN_READINGS_FOR_FALTER)
    half = min(count // 40, _MAX_SMOOTH_READINGS // 2)
    size = 1 + 2 * max(half, falter)
    max_size = min(count // 3, _MAX_SMOOTH_READINGS)
    while size < max_size and noise.mean_error(size) > height / 8:
        size += 2
    if noise.mean_error(size) > height / 6:
        return None
    padded = np.pad(values, size // 2, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)
    return median_of_rows(windows)


def extended(
    readings: SensorReadings,
    first: int,
    last: int,
    height: float,
) -> tuple[int, int]:
    """A stretch of rows, carried on over readings that are not judged.

    It goes on as far as readings show the same foreign power again.
    """
    if height <= 0:
        return first, last
    rest = readings.watts - 0.5 * height
    fits_below = readings.judged & (rest <= readings.ceiling)
    is_unknown = ~np.isfinite(readings.ceiling)
    against = ~(rest > readings.floor) | is_unknown | fits_below
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

"""How long a mean is held whose readings differ by noise: sums of sensors of which one is slow, and
loggers that smooth or add noise.

Such a mean changes at publications alone. So all changes that are larger than the noise are at one
distance from one another, that of several readings, and a step of power takes two of them. Its
readings look like those of moments, and are as old as the mean that they repeat.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import refresh, settings
from powertui.data.energy.reading_stretch import ReadingStretch
from powertui.data.energy.robust_stats import MEDIAN_TO_SIGMA
from powertui.data.energy.spectrum_gaps import MIN_GAP_LOG_LIKELIHOOD
from powertui.data.quantiles import median_of_column


def held_readings(stretch: ReadingStretch) -> float | None:
    """How many readings a mean is held for; None where it changes at any of them."""
    moves = np.diff(stretch.level)
    if len(moves) < 2:
        return None
    sigma_w = MEDIAN_TO_SIGMA * median_of_column(np.abs(moves))
    changes = np.flatnonzero(np.abs(moves) > settings.FAR_SIGMAS * sigma_w)
    is_rare = len(changes) * settings.REPEATING_POLLS <= len(moves)
    if sigma_w <= 0 or not is_rare:
        return None
    if not stretch.is_complete:
        changes = changes[stretch.is_read(changes, changes + 1)]
    if len(changes) < 2:
        return None
    # A step that is not on a publication goes on at the next one. Work that repeats as regularly
    # goes up and down in turns.
    signs = np.sign(moves[changes])
    goes_on = signs[1:] == signs[:-1]
    if goes_on.mean() < settings.MINOR_SHARE:
        return None
    before = changes.astype(np.float64)
    held = refresh.distance(before, before + 1, 1.0)
    if held is None or held < settings.REPEATING_POLLS:
        return None
    apart = np.diff(before)
    publications = np.round(apart / held)
    # Both changes are seen up to a reading late. Loggers are late now and then.
    late = np.abs(apart - publications * held)
    if (late <= 1).mean() < settings.LARGE_SHARE:
        return None
    # Changes may be so regular by chance: as rarely as gaps are in a spectrum.
    density = np.maximum(1 - late, refresh.STRAY_CHANCE)
    if float(np.log(density * held).sum()) < MIN_GAP_LOG_LIKELIHOOD:
        return None
    goes_on_at_next = goes_on & (publications == 1)
    return held if goes_on_at_next.mean() >= settings.MINOR_SHARE else None

"""The averaging window of a sensor: as its readings show it, else as is usual for its source."""

from __future__ import annotations

import numpy as np

from powertui.data.energy import averaging_window, settings
from powertui.data.energy.averaging_window import Smear
from powertui.data.energy.reading_stretch import MAX_READINGS
from powertui.data.energy.refresh import HELD_POLLS, HOLE_REFRESHES
from powertui.data.model import NS_PER_S, Badge, Figure, Floats, Int64s

_UNASKED_REFRESHES = 1.2  # in a longer pause something was published that nobody saw

# ── bounds of time, in the readings that one look takes ──
_MAX_LOOKS = 4  # a longer log is cut to one: what is liveliest tells most
_MAX_PUBLICATIONS = 8 * MAX_READINGS  # of what is left, pauses included

# One sigma of a window that nothing shows. Half and twice: no change in findings
# (docs/energy-evidence.md).
_WINDOW_SIGMA_OF_REFRESH = 0.3
# Standard deviations that a window may seem to be from a refresh and still be one: equal steps meet
# a sensor alike again and again.
_REFRESH_WINDOW_SIGMAS = 3.5
# By which readings must miss what is usual for their source …
_CONTRADICTING_SIGMAS = settings.ORDINARY_SIGMAS
_CONTRADICTING_SHARE = settings.MINOR_SHARE  # … and by this share of it


def averaging_window_of(
    times: Int64s,
    watts: Floats,
    poll: float,
    refresh: float,
    usual: float | None,
) -> tuple[Figure | None, float | None]:
    """What a reading averages over, and one sigma of it."""
    is_held = refresh > HELD_POLLS * poll
    readings = _one_per_refresh(times, watts, poll, refresh)
    look = averaging_window.look(readings, refresh, held=is_held)
    if usual is not None:
        if look is None or not _contradicts(look, usual, refresh):
            return Figure(usual, Badge.ASSUMED), None
        return Figure(look.window_s, Badge.ESTIMATED), look.sd_s
    # A meter that publishes now and then averages over the time since it last did, as a rule.
    since_last = Figure(refresh, Badge.ASSUMED)
    least_sigma = _WINDOW_SIGMA_OF_REFRESH * refresh
    if look is None or look.by == "nothing":
        unseen = averaging_window.UNSEEN_S if look is None else look.sd_s
        sigma = least_sigma
        if unseen >= averaging_window.UNSEEN_S > refresh:
            sigma = max(unseen, least_sigma)
        return since_last if is_held else None, sigma
    if look.by == "slow":
        window = since_last if is_held else Figure(look.window_s, Badge.ASSUMED)
        return window, max(look.sd_s, least_sigma)
    if is_held and look.by == "steps" and _may_be_a_refresh(look, refresh):
        return since_last, max(look.sd_s, (refresh - look.window_s) / _REFRESH_WINDOW_SIGMAS)
    return Figure(look.window_s, Badge.ESTIMATED), look.sd_s


def _may_be_a_refresh(look: Smear, refresh: float) -> bool:
    """The readings show a shorter window, but do not exclude a refresh."""
    return look.window_s < refresh < look.window_s + _REFRESH_WINDOW_SIGMAS * look.sd_s


def _contradicts(look: Smear, usual: float, refresh: float) -> bool:
    """The readings cannot be means over the time that is usual for their source."""
    error = _CONTRADICTING_SIGMAS * look.sd_s
    if look.by == "gaps":
        return abs(look.window_s - usual) > error + _CONTRADICTING_SHARE * usual
    return look.by == "steps" and usual > 2 * refresh and look.window_s + error < usual


def _one_per_refresh(times: Int64s, watts: Floats, poll: float, refresh: float) -> Floats:
    """The readings as they followed one another every `refresh`, with NaN where none was taken."""
    no_readings = watts[:0]
    if len(times) < 3:
        return no_readings
    refresh_ns = max(1, round(refresh * NS_PER_S))
    rows_of_a_look = MAX_READINGS * refresh / poll
    if len(times) > _MAX_LOOKS * rows_of_a_look:  # a day of it
        part = _liveliest_part(watts, max(1, round(rows_of_a_look)))
        times = times[part]
        watts = watts[part]
    count = int((times[-1] - times[0]) // refresh_ns) + 1
    if count > _MAX_PUBLICATIONS:
        return no_readings
    if refresh > HELD_POLLS * poll:
        return _published(times, watts, refresh_ns)
    first_middle = times[0] + refresh_ns // 2
    middles = first_middle + np.arange(count, dtype=np.int64) * refresh_ns
    row = times.searchsorted(middles, side="right") - 1
    longest_ns = HOLE_REFRESHES * max(poll, refresh) * NS_PER_S
    is_near = middles - times[row] <= longest_ns
    return np.where(is_near, watts[row], np.nan)


def _liveliest_part(watts: Floats, rows: int) -> slice:
    """So many rows in which power moves most."""
    starts = np.arange(0, len(watts), rows)
    moved = np.add.reduceat(np.abs(np.diff(watts, prepend=watts[0])), starts)
    first = int(starts[moved.argmax()])
    return slice(first, first + rows)


def _published(times: Int64s, watts: Floats, refresh_ns: int) -> Floats:
    """One reading for every publication: as many as a value stayed for, those that nobody asked for
    as NaN.
    """
    changes = np.flatnonzero(watts[1:] != watts[:-1]) + 1
    first = np.concatenate(([0], changes))
    values = watts[first]
    lasted_ns = np.diff(np.append(times[first], times[-1]))
    refreshes = np.round(lasted_ns / refresh_ns).astype(np.int64)
    publications = np.maximum(refreshes, 1)
    is_unasked = np.append(np.diff(times) > _UNASKED_REFRESHES * refresh_ns, False)
    was_asked = np.add.reduceat(is_unasked, first) == 0
    published = np.repeat(values, publications)
    published[np.repeat(~was_asked, publications)] = np.nan
    # The first publication of a value was seen in any case.
    begins = np.cumsum(publications) - publications
    published[begins] = values
    return published

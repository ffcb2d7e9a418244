"""How long each reading looks back, by the readings themselves: a log seldom says it, and its
joules depend on it.

A mean over a window w leaves three marks. It knows nothing of what repeats exactly within it, so
that the spectrum of its readings has gaps at 1/w, 2/w …, whatever the power did. It needs w to
follow a step of power. And where it is no longer than the time between two readings, a reading that
falls on a step is between the levels before and after it, as often as w is long.
"""

from __future__ import annotations

from typing import Literal

from powertui.data.energy import settings
from powertui.data.energy.reading_stretch import ReadingStretch, liveliest
from powertui.data.energy.spectrum_gaps import window_from_gaps
from powertui.data.energy.step_readings import (
    VISIBLE_STEP_SHARE,
    StepCounts,
    count_steps,
    has_lone_step,
)
from powertui.data.energy.step_rise import SHARP_SHARE, sharpest_rise
from powertui.data.model import Floats
from powertui.named_tuples import NamedTuple

# Tuned on simulated trainings; what half and twice do is recorded for UNSEEN_S only.

_MIN_READINGS = 24

# ── what a step's rise shows ──
# A slower rise is power that is slow itself: sensors that forget do so within seconds.
_MAX_RISE_S = 3.0
_RISE_MARGIN = 1.2  # the rise of a filter is known to so much at best
# Refreshes: a faster rise is that of a window shorter than a refresh, which meets a step once or
# twice. A sensor that forgets goes on after that.
_MIN_RISE, _MIN_FORGETTING_RISE = 3.0, 2.0
# Window per time in which a sharp step rises by `SHARP_SHARE`: that of a plain mean is 1.4, twice
# what a filter forgets in is 1.7.
_WINDOW_PER_RISE = 1.3
# The same where the fastest step of all is slow, which leaves any window open from none to that of
# a filter, and its standard deviation.
_SLOW_WINDOW_PER_RISE, _SLOW_SIGMA_PER_RISE = 0.9, 0.75
_RISE_SIGMA_SHARE = 0.5  # of a window: one standard deviation where only a rise shows it

# ── what gaps in the spectrum show ──
# Of a window: power that is shorter moves it less than the steps that are looked at.
_MIN_RISE_OF_WINDOW = settings.VISIBLE_SHARE
_SLOW_RISE_SIGMAS = 1.5  # standard deviations by which a rise may exceed its window
# One standard deviation of a window that gaps show: of the window, and in refreshes.
_GAP_SIGMA_SHARE, _MIN_GAP_SIGMA = settings.SAME_LEVEL_SHARE, 0.2

# ── what readings on a step show ──
# Windows in refreshes before anything is seen, which count like two steps: a sensor that is asked
# more often than it publishes averages over most of the time in between.
_HELD_PRIOR, _PRIOR, _PRIOR_STEPS = 0.75, 0.5, 2
# Power takes its time, too. A reading between two levels may have met a step on its way, and its
# window may be shorter by this time, or this share of it.
_RAMP_S = 0.05
_RAMP_SHARE = 0.4
_MIN_STEPS_VARIANCE = 0.04  # of a share of steps that is nearly none or nearly all
_STEPS_SIGMA = 0.05  # refreshes, however many steps were seen
# One standard deviation of a window of which nothing was seen: meters are known that average over
# a second, or lag by 0.5 to 0.8 s. Half and twice: no change in findings.
UNSEEN_S = 0.9


class Smear(NamedTuple):
    """The window in s, how far it may be from that (one standard deviation), and which mark shows
    it.
    """

    window_s: float
    sd_s: float
    by: Literal["gaps", "rise", "steps", "slow", "nothing"]


def look(watts: Floats, refresh_s: float, *, held: bool = False) -> Smear | None:
    """The window of readings that follow one another every `refresh_s`. None when they are too few
    to say anything.

    `held`: asked more often than it changes, as meters are that average over the time since they
    last did.
    """
    stretch = liveliest(watts)
    if len(stretch.level) < _MIN_READINGS:
        return None
    steps, larger = count_steps(stretch)
    rise = sharpest_rise(stretch)
    if larger.at_once + larger.between < 2:  # a long mean goes so far in two readings by chance
        smear = _by_gaps(stretch, rise, refresh_s)
        if smear is not None:
            return smear
    # A sensor that forgets goes on after the two readings that were seen.
    forgets = steps.two > steps.at_once + steps.between
    least_rise = _MIN_FORGETTING_RISE if forgets else _MIN_RISE
    shows_at_once = steps.at_once >= max(2.0, 0.5 * (steps.between + steps.two))
    # No step shows at once: a slow sensor, or power that is slow itself.
    if least_rise <= rise <= _MAX_RISE_S / (_RISE_MARGIN * refresh_s) and not shows_at_once:
        window = _WINDOW_PER_RISE * rise
        rises_faster = has_lone_step(stretch, window)
    else:
        rises_faster = True
    if not rises_faster:
        return Smear(_round(window) * refresh_s, _RISE_SIGMA_SHARE * window * refresh_s, "rise")
    share = _window_by_steps(steps, _HELD_PRIOR if held else _PRIOR)
    # Where nothing was seen to rise at once, means over a second would look just so. Nor does a
    # rise that takes longer than those of sensors do: that is of power.
    if steps.at_once + steps.between < 2 and not rise < least_rise:
        smear = _by_slowest_rise(stretch, least_rise, refresh_s)
        if smear is not None:
            return smear
        return Smear(_round(share) * refresh_s, max(UNSEEN_S, refresh_s), "nothing")
    sigma = _sigma_by_steps(steps, share)
    if forgets:
        sigma = max(sigma, _RISE_SIGMA_SHARE * share)
    elif steps.all > 1:
        sigma = max(sigma, min(_RAMP_S / refresh_s, _RAMP_SHARE * share))
    by: Literal["steps", "nothing"] = "steps" if steps.all > 1 else "nothing"
    return Smear(_round(share) * refresh_s, sigma * refresh_s, by)


def _by_gaps(stretch: ReadingStretch, rise: float, refresh_s: float) -> Smear | None:
    window = window_from_gaps(stretch.level, rise)
    # A burst of power has such a spectrum, too, but begins at once.
    if window is None or rise < _MIN_RISE_OF_WINDOW * window:
        return None
    # Nor is a pause as long as the gaps tell one: dips of one length have such a spectrum.
    if has_lone_step(stretch, window):
        return None
    longer = 0.0
    if rise > window:
        # A mean so long rises within it. What rises more slowly is slow power, or the gaps are the
        # power's own.
        excess = (rise / SHARP_SHARE - window) / _SLOW_RISE_SIGMAS
        longer = min(excess, _RISE_SIGMA_SHARE * window)
    sigma = max(_GAP_SIGMA_SHARE * window, _MIN_GAP_SIGMA, longer)
    return Smear(_round(window) * refresh_s, sigma * refresh_s, "gaps")


def _by_slowest_rise(stretch: ReadingStretch, least_rise: float, refresh_s: float) -> Smear | None:
    """A filter, if nothing at all rises faster than one would; None where that shows nothing."""
    if refresh_s >= UNSEEN_S:  # a slower sensor shows nothing faster than itself
        return None
    rise = sharpest_rise(stretch.extended(), 1)
    rise_s = min(rise * refresh_s, _MAX_RISE_S)
    sigma_s = rise_s * _SLOW_SIGMA_PER_RISE
    if not (rise > least_rise and sigma_s > UNSEEN_S):
        return None
    window = _SLOW_WINDOW_PER_RISE * rise_s / refresh_s
    return Smear(_round(window) * refresh_s, _SLOW_SIGMA_PER_RISE * rise_s, "slow")


def _window_by_steps(steps: StepCounts, prior: float) -> float:
    """The window in refreshes, by how many readings fall on a step."""
    on_steps = steps.own * (steps.between / VISIBLE_STEP_SHARE + 2 * steps.two)
    share = (on_steps + _PRIOR_STEPS * prior) / (steps.own * steps.all + _PRIOR_STEPS)
    # One step with two readings between its levels may be chance.
    return min(1.0, share) if steps.two < 2 else share


def _sigma_by_steps(steps: StepCounts, share: float) -> float:
    share = min(share, 1.0)
    variance = max(share * (1 - share), _MIN_STEPS_VARIANCE)
    independent = steps.own * steps.all + (_PRIOR_STEPS + 1)
    return float((variance / independent + _STEPS_SIGMA**2) ** 0.5)


def _round(refreshes: float) -> float:
    """No finer than it is known, so that channels of one log mean the same: tenths, and two digits
    of longer ones.
    """
    if refreshes < 10:
        return round(refreshes, 1)
    return float(f"{refreshes:.2g}")

"""What a reading costs where nothing was profiled: idle, or work like that in the profile, is
likely, anything else has its price.

Prices are in units of the ordinary residual's, as in `placement_score`. Unless a comment says
otherwise a value was chosen on simulated worlds; half and twice of it are in
docs/energy-evidence.md, summed up here as "lost" (no longer sure) and "won" (now sure and right).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from powertui.data.energy import settings
from powertui.data.energy.window_shares import WindowShares
from powertui.data.model import Floats
from powertui.named_tuples import NamedTuple

States: TypeAlias = npt.NDArray[np.int8]

# What is known of the moment of a reading.
IN_PROFILE, IN_TRAINING, _AFTER_TRAINING, _BEFORE_TRAINING, _ELSEWHERE = range(5)

# A load above the prediction costs less while it only continues from the reading before.
# Half and twice: 1 won each.
_ONGOING_LOAD_PRICE_PER_S = 3.0
# A reading outside the profile that is neither idle, nor like training, nor like the one before.
# Half: 1 lost. Twice: 2 won.
UNKNOWN_LOAD_PRICE = 3.0
# Something like training, or like the reading before, that goes on unprofiled.
# Half: 2 lost, 1 won. Twice: 1 won.
_UNPROFILED_TRAINING_PRICE_PER_S = 1.0
_STARTUP_PRICE_FACTOR = 0.75  # of that before the training, where programs start and load
# Of one reading. Chosen: as if that went on after every second reading.
_MAX_UNPROFILED_TRAINING_PRICE = float(np.log(2))
# From this sum on the price of unprofiled training grows as a logarithm, because what has gone on
# for long is likely to go on. 1, 2, 3 and 6 were tried on eight simulated logs; at twice the value
# one interval misses.
_LOGARITHMIC_FROM_PRICE = UNKNOWN_LOAD_PRICE
# Share of the known training that may be outside the log. Beyond it the logarithm no longer
# applies, or the log might be placed anywhere. Chosen: logs that end early hold nine tenths of it.
_MAX_UNRECORDED_TRAINING_SHARE = settings.MINOR_SHARE
# Training that pauses before its recorded end, or goes on after it. From two real recordings.
# Half: 1 won. Twice: no change.
_LAPSE_PRICE_PER_S = 6.0
_MAX_LAPSE_PRICE = UNKNOWN_LOAD_PRICE  # of one reading: it is no more than unknown
_AFTER_TRAINING_S = 3.0  # after the recorded end; later readings belong to something else
# In all, because the recorded end may be wrong. Chosen: about that of one unknown reading.
_MAX_PRICE_AFTER_END = 4.0


class Rates(NamedTuple):
    """Prices of a reading, for the time that it stands for."""

    lapse: float  # of training that pauses, or goes on after its recorded end
    lasting: float  # of power above the prediction that goes on
    unprofiled: float  # of something like training that goes on unprofiled


def price_rates(pace_s: float, alike: float) -> Rates:
    """What readings cost that come every `pace_s`, of which `alike` say the same."""
    unprofiled = _UNPROFILED_TRAINING_PRICE_PER_S * pace_s * alike
    return Rates(
        lapse=min(_LAPSE_PRICE_PER_S * pace_s, _MAX_LAPSE_PRICE) * alike,
        lasting=min(_ONGOING_LOAD_PRICE_PER_S * pace_s, UNKNOWN_LOAD_PRICE / 2),
        unprofiled=min(unprofiled, _MAX_UNPROFILED_TRAINING_PRICE),
    )


def known_state(at: Floats, shares: WindowShares) -> States:
    """What is known of these moments."""
    (first, last), (begin, end) = shares.span, shares.training
    state = np.where(at < begin, _BEFORE_TRAINING, _ELSEWHERE)
    if shares.has_bounds:
        is_open = state == _ELSEWHERE
        is_just_after = is_open & (at > end) & (at <= end + _AFTER_TRAINING_S)
        state[is_open & (at >= begin) & (at <= end)] = IN_TRAINING
        state[is_just_after] = _AFTER_TRAINING
    state[(at >= first) & (at <= last)] = IN_PROFILE
    return state.astype(np.int8)


class UnprofiledPrices(NamedTuple):
    """Prices outside the profile."""

    training: Floats  # of each reading, where training is known to run …
    anything: Floats  # … and where nothing is known
    goes_on: Floats  # of each offset, for what goes on there …
    ended: Floats  # … and that it goes on after the training's recorded end


class Likely(NamedTuple):
    """What each reading would cost as what is likely outside the profile."""

    idle: Floats  # as the idle machine's
    busy: Floats  # as work like that in the profile
    steady: Floats  # as more of what the reading before shows


def unprofiled_prices(
    likely: Likely,
    state: States,
    rates: Rates,
    unrecorded: Floats,
    alike: float,
) -> UnprofiledPrices:
    """What readings cost where nothing was profiled: any of these may be.

    `unrecorded`: at each offset, the share of the known training that is outside the log.
    """
    idle, busy = likely.idle, likely.busy
    most_unlike = UNKNOWN_LOAD_PRICE - _MAX_UNPROFILED_TRAINING_PRICE
    like_before = np.minimum(likely.steady, most_unlike)
    idle_or_like_before = np.minimum(idle, like_before)
    busy_or_like_before = np.minimum(busy, like_before)
    cheapest = np.minimum(idle, busy_or_like_before)
    # Programs are busy before they train: they start, and load.
    is_before = state == _BEFORE_TRAINING
    rate = np.where(is_before, _STARTUP_PRICE_FACTOR * rates.unprofiled, rates.unprofiled)
    going_on = np.minimum(idle, busy_or_like_before + rate)
    lapsing = np.minimum(idle, busy_or_like_before + rates.lapse)
    # Whatever records the end may be wrong.
    after_end = np.where(state == _AFTER_TRAINING, lapsing - going_on, 0.0)
    ended = np.minimum(after_end.sum(axis=1), _MAX_PRICE_AFTER_END * alike)
    is_recorded = (state == IN_PROFILE) | (state == IN_TRAINING)
    goes_on = np.where(is_recorded, 0.0, going_on - cheapest).sum(axis=1)
    # What has gone on for long is likely to go on, as long as the log holds the training.
    threshold = _LOGARITHMIC_FROM_PRICE * alike
    if_long = threshold * np.log1p(goes_on / threshold)
    return UnprofiledPrices(
        training=np.minimum(busy, idle_or_like_before + rates.lapse),
        anything=cheapest,
        goes_on=if_long + (goes_on - if_long) * share_of_limit(unrecorded),
        ended=ended,
    )


def share_of_limit(unrecorded: Floats) -> Floats:
    """How far unrecorded training reaches what may be outside the log, at most 1."""
    return np.asarray(np.minimum(unrecorded / _MAX_UNRECORDED_TRAINING_SHARE, 1.0))

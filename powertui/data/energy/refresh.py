"""How often a sensor publishes, told by when its readings change.

A change that is seen between two rows was published between them, and publications follow one another at one distance. Rows that
beat with them show runs of two lengths, a coarse sensor leaves changes out, and a log pauses: none of that moves the distance at
which all changes can lie. Every distance in question is tried; each change that it foretells speaks for it, the more the less
likely that was by chance.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import Floats

_MOST = 300  # changes that are looked at: where they come quickest
_GRID = 0.0025  # from one distance that is tried to the next
_LONGEST = 1.6  # times the usual run of one value …
_SHORTEST = 1 / 16  # … and the other way: so many publications may leave a coarse reading as it is
_JITTER = 0.01  # of the distance: so unevenly they follow one another …
_DRIFT = 0.006  # … and so far each may lie from where the one before lets expect it
_MISSED = -4.0  # natural logarithm of the chance that a change comes at another time: the logger repeats itself, its clock is set
_CLEAR = 4.0  # and what must speak for a distance at the end
_SPREAD = 0.03  # of it: so near to it lies what they are apart from the first to the last
_NEAR = 2.0  # so much less speaks for distances that may be it as well


def distance(before: Floats, after: Floats, poll: float) -> float | None:
    """Seconds between publications; None where the changes do not tell. Each was published after `before` and until `after`."""
    if len(after) < 5:
        return None
    if len(after) > _MOST:
        first = int((after[_MOST:] - after[:-_MOST]).argmin())
        before, after = before[first : first + _MOST], after[first : first + _MOST]
    usual = float(np.median(np.diff(after)))
    shortest, longest = max(poll, _SHORTEST * usual), max(_LONGEST * usual, 2 * poll)
    tried = shortest * np.exp(np.arange(0, np.log(longest / shortest), _GRID))
    low, high = np.full(len(tried), before[0]), np.full(len(tried), after[0])
    score, missed, passed = np.zeros(len(tried)), np.zeros(len(tried), np.bool_), np.zeros(len(tried))
    for a, b in zip(before[1:].tolist(), after[1:].tolist(), strict=True):
        many = np.maximum(np.round((a + b - low - high) / 2 / tried), 1)
        slack = (_JITTER + _DRIFT * many) * tried
        first, last = low + many * tried - slack, high + many * tried + slack
        from_, until = np.maximum(first, a), np.minimum(last, b)
        met = from_ < until
        share = np.where(met, until - from_, 1) / np.where(met, last - first, 1)
        score += np.where(met, np.log(share * np.maximum((b - a) / tried, 1)), _MISSED)
        passed += many
        again = missed & ~met  # two in a row: it is counted from here on
        low = np.where(met, from_, np.where(again, a, low))
        high = np.where(met, until, np.where(again, b, high))
        missed = ~met & ~again
    # Of all publications one in so many changed the reading.
    count = len(after) - 1
    changed = np.minimum(count / passed, 1 - 1e-9)
    score += count * np.log(changed) + (passed - count) * np.log(1 - changed)
    best = int(score.argmax())
    every = float(after[-1] - after[0]) / count
    chance = float(np.log(np.minimum((after - before)[1:] / every, 1)).sum()) - count
    if score[best] < chance + _CLEAR:
        return None
    near = np.flatnonzero(score < score[best] - _NEAR)
    begin, end = near[near < best].max(initial=-1) + 1, near[near > best].min(initial=len(tried))
    between = float(after[-1] - after[0]) / float(passed[best])  # the same, to the last digit, where every change was counted
    told = float(tried[begin:end].mean())
    return between if abs(between - told) <= _SPREAD * told else told

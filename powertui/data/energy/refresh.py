"""How often a sensor publishes, told by when its readings change.

A change that is seen between two rows was published between them, and publications follow one
another at one distance. Rows that beat with them show runs of two lengths, a coarse sensor leaves
changes out, a log pauses, and a logger that repeats its last answer shows a change a row late: none
of that moves the distance at which all changes can lie. Every distance in question is tried; each
change that it foretells speaks for it, the more the less likely that was by chance.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from powertui.data.model import Floats

_Shares = npt.NDArray[np.float32]
_MOST = 150  # changes that are looked at: where they come quickest
_GRID = 0.005  # from one distance that is tried to the next
_LONGEST = 1.6  # times the usual run of one value …
_SHORTEST = 1 / 16  # … and the other way: so many publications may leave a coarse reading as it is
_JITTER = 0.01  # of the distance: so unevenly they follow one another …
_DRIFT = 0.006  # … and so far each may lie from where the one before lets expect it
_PHASES = 24  # parts of a distance that are told apart
_TOGETHER = 8  # changes whose phases are worked out together
_LATE = 0.05  # chance that a change is seen a row late: the logger repeats its last answer …
_MISSED = 0.02  # … and that it comes at any other time: its clock is set
_CLEAR = 4.0  # and what must speak for a distance at the end
_POLL, _SLOW = (
    1.03,
    1.5,
)  # times the poll: what is less changes at every poll, and what is more at none but every second one
_SPREAD = 0.03  # of it: so near to it lies what they are apart from the first to the last
_NEAR = 2.0  # so much less speaks for distances that may be it as well


def distance(before: Floats, after: Floats, poll: float) -> float | None:
    """Seconds between publications; None where the changes do not tell.

    Each was published after `before` and until `after`.
    """
    if len(after) < 5:
        return None
    if len(after) > _MOST:
        first = int((after[_MOST:] - after[:-_MOST]).argmin())
        before, after = before[first : first + _MOST], after[first : first + _MOST]
    usual = float(np.median(np.diff(after)))
    shortest, longest = max(poll, _SHORTEST * usual), max(_LONGEST * usual, 2 * poll)
    tried = shortest * np.exp(np.arange(0, np.log(longest / shortest), _GRID))
    # Where in its distance a publication lies, in parts of it: as likely anywhere, then as the
    # changes tell, less sure after each.
    likely = np.full((len(tried), _PHASES), 1 / _PHASES, np.float32)
    wide = np.empty((len(tried), _PHASES + 2), np.float32)  # the first part lies beside the last
    at, long = after[:, None] / tried, (after - before)[:, None] / tried
    blurs = np.minimum(
        (_JITTER**2 + _DRIFT**2 * np.maximum(np.diff(at, axis=0, prepend=at[:1]), 1))
        * _PHASES**2
        / 2,
        1 / 3,
    )
    share, now = np.empty(at.shape, np.float32), np.empty(at.shape)
    for first in range(0, len(after), _TOGETHER):
        some = slice(first, first + _TOGETHER)
        ago = _ago(at[some])
        likeliest = np.empty(at[some].shape, np.int64)
        for k, (blur, said) in enumerate(
            zip(_column(blurs[some]), _said(ago, long[some], poll / tried), strict=True)
        ):
            wide[:, 1:-1], wide[:, 0], wide[:, -1] = likely, likely[:, -1], likely[:, 0]
            likely += (wide[:, :-2] + wide[:, 2:] - 2 * likely) * blur
            likely *= said
            total = likely.sum(axis=1, out=share[first + k])
            likely /= total[:, None]
            likeliest[k] = likely.argmax(axis=1)
        now[some] = (
            at[some] - np.take_along_axis(ago, likeliest[:, :, None], axis=2)[:, :, 0] / _PHASES
        )
    score = np.log(share * np.maximum(long, 1.0)).sum(axis=0)
    some_before = now[:-1].any(axis=1, keepdims=True)
    passed = np.where(some_before, np.maximum(np.round(np.diff(now, axis=0)), 1), 0).sum(axis=0)
    # Of all publications one in so many changed the reading.
    count = len(after) - 1
    changed = np.minimum(count / passed, 1 - 1e-9)
    score += count * np.log(changed) + (passed - count) * np.log(1 - changed)
    best = int(score.argmax())
    every = float(after[-1] - after[0]) / count
    chance = float(np.log(np.minimum((after - before)[1:] / every, 1)).sum()) - count
    if score[best] < chance + _CLEAR:
        return None
    # Nor whether a sensor that changes at every poll was asked now and then a little late.
    if (
        _POLL * poll < tried[best] < _SLOW * poll
        and score[best] < score[tried <= _POLL * poll].max(initial=-np.inf) + _CLEAR
    ):
        return None
    near = np.flatnonzero(score < score[best] - _NEAR)
    begin, end = near[near < best].max(initial=-1) + 1, near[near > best].min(initial=len(tried))
    between = float(after[-1] - after[0]) / float(
        passed[best]
    )  # the same, to the last digit, where every change was counted
    told = float(tried[begin:end].mean())
    return between if abs(between - told) <= _SPREAD * told else told


def _ago(at: Floats) -> _Shares:
    """How long before each moment, in parts of a distance, the last publication was that the later
    row could have told of.
    """
    phase = np.arange(_PHASES, dtype=np.float32) + np.float32(0.5)
    ago: _Shares = _column(at % 1.0 * _PHASES) - phase
    np.add(ago, np.float32(_PHASES), out=ago, where=ago < 0)
    return ago


def _said(ago: _Shares, long: Floats, poll: Floats) -> _Shares:
    """How likely a change is seen where it was, by each phase.

    `long`, `poll`: since the row before, and one row more.
    """
    on_time = np.clip(_column(long * _PHASES + 0.5) - ago, 0.0, 1.0)
    late = np.clip(_column((long + poll) * _PHASES + 0.5) - ago, 0.0, 1.0)
    said: _Shares = (1 - 2 * _LATE - _MISSED) * on_time + _LATE * late + _MISSED
    return said


def _column(values: Floats) -> _Shares:
    return values.astype(np.float32)[..., None]

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
# Where nothing else is said a value was chosen, not measured.
_MAX_CHANGES = 150  # that are looked at, where they come quickest
_GRID_STEP = 0.005  # relative, from one distance that is tried to the next
_MAX_RUNS_PER_DISTANCE = 1.6  # usual runs of one value: the longest distance that is tried
# The shortest: 16 publications may leave a coarse reading as it is.
_MIN_RUNS_PER_DISTANCE = 1 / 16
_JITTER_SHARE = 0.01  # of the distance, by which a publication may be off
_DRIFT_SHARE = 0.006  # of the distance, by which it may be off from where the last one predicts it
_PHASES = 24  # parts of a distance that are told apart
_BATCH_CHANGES = 8  # whose phases are worked out together
_LATE_CHANCE = 0.05  # that a change shows a row late: the logger repeats its last answer
_STRAY_CHANCE = 0.02  # that it comes at any other time: the logger's clock is set
_MIN_EVIDENCE = 4.0  # difference of log likelihoods that a distance needs
# Polls between publications: below the first the sensor changes at every poll, and from the second
# on at most at every second one.
_EVERY_POLL, _EVERY_SECOND_POLL = 1.03, 1.5
# Two estimates of the distance that differ by less than this share are one.
_SAME_DISTANCE_SHARE = 0.03
_TIE_EVIDENCE = 2.0  # distances whose log likelihood is lower by less than this may be it as well


def distance(before: Floats, after: Floats, poll: float) -> float | None:
    """Seconds between publications; None where the changes do not tell.

    Each was published after `before` and until `after`.
    """
    if len(after) < 5:
        return None
    if len(after) > _MAX_CHANGES:
        first = int((after[_MAX_CHANGES:] - after[:-_MAX_CHANGES]).argmin())
        before, after = before[first : first + _MAX_CHANGES], after[first : first + _MAX_CHANGES]
    usual = float(np.median(np.diff(after)))
    shortest, longest = (
        max(poll, _MIN_RUNS_PER_DISTANCE * usual),
        max(_MAX_RUNS_PER_DISTANCE * usual, 2 * poll),
    )
    tried = shortest * np.exp(np.arange(0, np.log(longest / shortest), _GRID_STEP))
    # Where in its distance a publication lies, in parts of it: as likely anywhere, then as the
    # changes tell, less sure after each.
    likely = np.full((len(tried), _PHASES), 1 / _PHASES, np.float32)
    wide = np.empty((len(tried), _PHASES + 2), np.float32)  # the first part lies beside the last
    at, long = after[:, None] / tried, (after - before)[:, None] / tried
    blurs = np.minimum(
        (_JITTER_SHARE**2 + _DRIFT_SHARE**2 * np.maximum(np.diff(at, axis=0, prepend=at[:1]), 1))
        * _PHASES**2
        / 2,
        1 / 3,
    )
    share, now = np.empty(at.shape, np.float32), np.empty(at.shape)
    for first in range(0, len(after), _BATCH_CHANGES):
        batch = slice(first, first + _BATCH_CHANGES)
        ago = _ago(at[batch])
        likeliest = np.empty(at[batch].shape, np.int64)
        for k, (blur, likelihood) in enumerate(
            zip(_column(blurs[batch]), _said(ago, long[batch], poll / tried), strict=True)
        ):
            wide[:, 1:-1], wide[:, 0], wide[:, -1] = likely, likely[:, -1], likely[:, 0]
            likely += (wide[:, :-2] + wide[:, 2:] - 2 * likely) * blur
            likely *= likelihood
            total = likely.sum(axis=1, out=share[first + k])
            likely /= total[:, None]
            likeliest[k] = likely.argmax(axis=1)
        now[batch] = (
            at[batch] - np.take_along_axis(ago, likeliest[:, :, None], axis=2)[:, :, 0] / _PHASES
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
    if score[best] < chance + _MIN_EVIDENCE:
        return None
    # Nor whether a sensor that changes at every poll was asked now and then a little late.
    if (
        _EVERY_POLL * poll < tried[best] < _EVERY_SECOND_POLL * poll
        and score[best] < score[tried <= _EVERY_POLL * poll].max(initial=-np.inf) + _MIN_EVIDENCE
    ):
        return None
    near = np.flatnonzero(score < score[best] - _TIE_EVIDENCE)
    begin, end = near[near < best].max(initial=-1) + 1, near[near > best].min(initial=len(tried))
    between = float(after[-1] - after[0]) / float(
        passed[best]
    )  # the same, to the last digit, where every change was counted
    fitted = float(tried[begin:end].mean())
    return between if abs(between - fitted) <= _SAME_DISTANCE_SHARE * fitted else fitted


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
    likelihood: _Shares = (
        (1 - 2 * _LATE_CHANCE - _STRAY_CHANCE) * on_time + _LATE_CHANCE * late + _STRAY_CHANCE
    )
    return likelihood


def _column(values: Floats) -> _Shares:
    return values.astype(np.float32)[..., None]

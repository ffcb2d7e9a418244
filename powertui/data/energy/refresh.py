"""How often a sensor publishes, from when its readings change.

A change that is seen between two rows was published between them, and publications follow one
another at one distance. Rows that beat with them show runs of two lengths, a coarse sensor leaves
changes out, a log pauses, and a logger that repeats its last answer shows a change a row late: none
of that moves the distance at which all changes can lie. Every distance in question is tried; each
change at a moment that it predicts is evidence for it, the more the less likely that was by chance.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from powertui.data.energy import settings
from powertui.data.model import Floats, Int64s
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple

# Polls or refreshes: nothing is known across a longer pause.
HOLE_REFRESHES = settings.HOLE_REFRESHES
# Polls per refresh, from which on a sensor is asked clearly more often than it publishes.
HELD_POLLS = settings.MORE_THAN_ONE

_Shares: TypeAlias = npt.NDArray[np.float32]

# ── what is tried: bounds of time ──
_MIN_CHANGES = settings.MIN_ALIKE_VALUES
_MAX_CHANGES = 150  # that are looked at, where they come quickest
_GRID_STEP = 0.005  # relative, from one distance that is tried to the next
_MAX_RUNS_PER_DISTANCE = 1.6  # usual runs of one value: the longest distance that is tried
# The shortest: 16 publications may leave a coarse reading as it is.
_MIN_RUNS_PER_DISTANCE = 1 / 16
_PHASES = 24  # parts of a distance that are told apart
_BATCH_CHANGES = 8  # whose phases are worked out together

# ── how publications and loggers stray. Chosen: no recording shows any of these by itself ──
_JITTER_SHARE = settings.NEGLIGIBLE_SHARE  # of the distance, by which a publication may be off
_DRIFT_SHARE = 0.006  # of the distance, by which it may be off from where the last one predicts it
_LATE_CHANCE = (
    settings.NOTABLE_SHARE
)  # that a change shows a row late: the logger repeats its last answer
_STRAY_CHANCE = settings.SLIGHT_SHARE  # that it comes at any other time: the logger's clock is set

# ── when the answer counts ──
_MIN_EVIDENCE = 4.0  # difference of log likelihoods that a distance needs (e to the 4th: 55 to 1)
# Polls between publications: below the first the sensor changes at every poll, and from the second
# on at most at every second one.
_EVERY_POLL, _EVERY_SECOND_POLL = 1.03, settings.MORE_THAN_ONE
# Two estimates of the distance that differ by less than this share are one.
_SAME_DISTANCE_SHARE = settings.SAME_LEVEL_SHARE
_TIE_EVIDENCE = (
    settings.DECISIVE_COST
)  # distances whose log likelihood is lower by less than this may be it as well


class _Followed(NamedTuple):
    """All changes followed at every distance that is tried: [change, distance]."""

    share: _Shares  # how likely the change was, after those before it
    published_at: Floats  # the likeliest moment, in distances


def distance(before: Floats, after: Floats, poll: float) -> float | None:
    """Seconds between publications; None where the changes leave it open.

    Each was published after `before` and until `after`.
    """
    if len(after) < _MIN_CHANGES:
        return None
    if len(after) > _MAX_CHANGES:
        quickest = _quickest_changes(after)
        before = before[quickest]
        after = after[quickest]
    distances = _distances_to_try(after, poll)
    followed = _follow(
        before=before,
        after=after,
        poll=poll,
        distances=distances,
    )
    since_row_before = (after - before)[:, None] / distances
    score, passed = _scores(followed, since_row_before)
    best = int(score.argmax())
    best_score = score[best]
    if best_score < _chance_score(before, after) + _MIN_EVIDENCE:
        return None
    # A sensor that changes at every poll may have been asked now and then a little late.
    every_poll = _EVERY_POLL * poll
    if every_poll < distances[best] < _EVERY_SECOND_POLL * poll:
        scores_at_every_poll = score[distances <= every_poll]
        at_every_poll = scores_at_every_poll.max(initial=-np.inf)
        if best_score < at_every_poll + _MIN_EVIDENCE:
            return None
    fitted = _mean_of_tied(distances, score, best)
    # The same, to the last digit, where every change was counted.
    counted = float(after[-1] - after[0]) / float(passed[best])
    is_same = abs(counted - fitted) <= _SAME_DISTANCE_SHARE * fitted
    return counted if is_same else fitted


def _quickest_changes(after: Floats) -> slice:
    """As many changes as are looked at, where they come quickest."""
    took_s = after[_MAX_CHANGES:] - after[:-_MAX_CHANGES]
    first = int(took_s.argmin())
    return slice(first, first + _MAX_CHANGES)


def _mean_of_tied(distances: Floats, score: Floats, best: int) -> float:
    """The middle of the distances around the best one that may be it as well."""
    min_score = score[best] - _TIE_EVIDENCE
    worse = np.flatnonzero(score < min_score)
    worse_before = worse[worse < best]
    worse_after = worse[worse > best]
    begin = worse_before.max(initial=-1) + 1
    end = worse_after.min(initial=len(distances))
    return float(distances[begin:end].mean())


def _distances_to_try(after: Floats, poll: float) -> Floats:
    usual_run = median_of_column(np.diff(after))
    shortest = max(poll, _MIN_RUNS_PER_DISTANCE * usual_run)
    longest = max(_MAX_RUNS_PER_DISTANCE * usual_run, 2 * poll)
    largest_logarithm = np.log(longest / shortest)
    logarithms = np.arange(0, largest_logarithm, _GRID_STEP)
    return np.asarray(shortest * np.exp(logarithms))


def _follow(
    before: Floats,
    after: Floats,
    poll: float,
    distances: Floats,
) -> _Followed:
    at = after[:, None] / distances
    since_row_before = (after - before)[:, None] / distances
    poll_share = poll / distances
    blurs = _blurs(at)
    share = np.empty(at.shape, np.float32)
    published_at = np.empty(at.shape)
    phases = _Phases(len(distances))
    for first in range(0, len(after), _BATCH_CHANGES):
        batch = slice(first, first + _BATCH_CHANGES)
        at_of_batch = at[batch]
        ago = _ago(at_of_batch)
        likelihoods = _likelihood(
            ago=ago,
            long=since_row_before[batch],
            poll=poll_share,
        )
        likeliest = np.empty(at_of_batch.shape, np.int64)
        blurs_of_batch = _as_column(blurs[batch])
        changes = zip(blurs_of_batch, likelihoods, share[batch], strict=True)
        for row, (blur, likelihood, total) in enumerate(changes):
            phases.learn(blur, likelihood, total)
            likeliest[row] = phases.likeliest()
        ago_of_likeliest = _at_phase(ago, likeliest) / _PHASES
        published_at[batch] = at_of_batch - ago_of_likeliest
    return _Followed(share, published_at)


class _Phases:
    """Where in its distance a publication is, in parts of it: how likely each, by distance.

    As likely anywhere at first, then as the changes show, less sure after each.
    """

    def __init__(self, count: int) -> None:
        self._likely = np.full((count, _PHASES), 1 / _PHASES, np.float32)
        # The same with the last part before the first one, and the first behind the last.
        self._around = np.empty((count, _PHASES + 2), np.float32)

    def learn(self, blur: _Shares, likelihood: _Shares, total: _Shares) -> None:
        """Take a change in. `total` receives how likely it was, by distance."""
        likely = self._likely
        around = self._around
        around[:, 1:-1] = likely
        around[:, 0] = likely[:, -1]
        around[:, -1] = likely[:, 0]
        beside = around[:, :-2] + around[:, 2:]
        likely += (beside - 2 * likely) * blur
        likely *= likelihood
        likely.sum(axis=1, out=total)
        likely /= total[:, None]

    def likeliest(self) -> Int64s:
        return np.asarray(self._likely.argmax(axis=1))


def _blurs(at: Floats) -> Floats:
    """How much less sure the phase is at each change, as a share that goes to either side."""
    since_last = np.diff(at, axis=0, prepend=at[:1])
    since_last = np.maximum(since_last, 1)
    variance = _JITTER_SHARE**2 + _DRIFT_SHARE**2 * since_last
    blurs = variance * _PHASES**2 / 2
    # At a third a part and its two neighbors share evenly.
    return np.asarray(np.minimum(blurs, 1 / 3))


def _at_phase(ago: _Shares, phase: Int64s) -> _Shares:
    picked: _Shares = np.take_along_axis(ago, phase[:, :, None], axis=2)[:, :, 0]
    return picked


def _scores(followed: _Followed, long: Floats) -> tuple[Floats, Floats]:
    """The log likelihood of each distance, and how many publications it counts."""
    likelihoods = followed.share * np.maximum(long, 1.0)
    score = np.log(likelihoods).sum(axis=0)
    published_at = followed.published_at
    some_before = published_at[:-1].any(axis=1, keepdims=True)
    between = np.diff(published_at, axis=0)
    publications = np.maximum(np.round(between), 1)
    passed = np.where(some_before, publications, 0).sum(axis=0)
    # A distance with fewer publications that left the reading as it was is the likelier one.
    count = len(published_at) - 1
    changed = np.minimum(count / passed, 1 - 1e-9)
    of_changed = count * np.log(changed)
    of_unchanged = (passed - count) * np.log(1 - changed)
    score += of_changed + of_unchanged
    return score, passed


def _chance_score(before: Floats, after: Floats) -> float:
    """The log likelihood of changes that come at any time."""
    count = len(after) - 1
    mean_run = float(after[-1] - after[0]) / count
    since_row_before = (after - before)[1:]
    share_of_run = np.minimum(since_row_before / mean_run, 1)
    return float(np.log(share_of_run).sum()) - count


def _ago(at: Floats) -> _Shares:
    """How long before each moment, in parts of a distance, the last publication was that the later
    row could show.
    """
    phase = np.arange(_PHASES, dtype=np.float32) + np.float32(0.5)
    ago: _Shares = _as_column(at % 1.0 * _PHASES) - phase
    np.add(ago, np.float32(_PHASES), out=ago, where=ago < 0)
    return ago


def _likelihood(ago: _Shares, long: Floats, poll: Floats) -> _Shares:
    """How likely a change is seen where it was, by each phase.

    `long`, `poll`: since the row before, and one row more.
    """
    parts_of_row = _as_column(long * _PHASES + 0.5)
    parts_of_two_rows = _as_column((long + poll) * _PHASES + 0.5)
    on_time = np.clip(parts_of_row - ago, 0.0, 1.0)
    late = np.clip(parts_of_two_rows - ago, 0.0, 1.0)
    on_time_chance = 1 - 2 * _LATE_CHANCE - _STRAY_CHANCE
    of_either = on_time_chance * on_time + _LATE_CHANCE * late
    likelihood: _Shares = of_either + _STRAY_CHANCE
    return likelihood


def _as_column(values: Floats) -> _Shares:
    return values.astype(np.float32)[..., None]

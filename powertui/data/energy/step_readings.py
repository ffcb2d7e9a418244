"""How many readings fall between the levels before and after a step of power.

Where a window is no longer than the time between two readings, a reading that falls on a step is
between its levels, as often as the window is long.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.reading_stretch import ReadingStretch
from powertui.data.energy.step_rise import RISING_STEP_SHARE
from powertui.data.model import Bools, Floats, Int64s
from powertui.named_tuples import NamedTuple

# Of the range of all readings, from which on a step is looked at.
_LARGE_STEP_SHARE = settings.VISIBLE_SHARE
_QUIET_SHARE = 0.12  # of a step, that its neighbors may move
VISIBLE_STEP_SHARE = 1 - 2 * _QUIET_SHARE  # of the readings on a step that differ from its levels
_MAX_BETWEEN = 2  # readings between the levels: more are a rise
_LEVEL_READINGS = settings.CONFIRMING_VALUES  # on either side, that are level
_MIN_READINGS = settings.MIN_SAMPLE_VALUES
# Of the swing over the window: a mean moves by one of it in a refresh while power stays within the
# swing. Chosen, not measured.
_LONE_STEP_SHARE = settings.MORE_THAN_ONE
# Of a step, that the one the other way makes. Chosen, not measured.
_PARTNER_SHARE = settings.LESSER_SHARE
_RESTING_READINGS = settings.MIN_REPEATS  # before a step that takes several refreshes
_SAME_DISTANCE_REFRESHES = 0.5  # distances between steps that differ by less are equal


class StepCounts(NamedTuple):
    """Clear steps between two quiet levels: how many show at once, with a reading between the
    levels, and with two.
    """

    at_once: int
    between: int
    two: int
    all: int
    own: float  # share of all that met the readings in a phase of their own


_NO_STEPS = StepCounts(
    at_once=0,
    between=0,
    two=0,
    all=0,
    own=1.0,
)


def count_steps(stretch: ReadingStretch) -> tuple[StepCounts, StepCounts]:
    """The large ones, and of these the larger ones."""
    level = stretch.level
    large_w = _LARGE_STEP_SHARE * stretch.swing
    if large_w <= 0 or len(level) < _MIN_READINGS:
        return _NO_STEPS, _NO_STEPS
    moves = np.abs(np.diff(level))
    steps = [_with_between(stretch, moves, count, large_w) for count in range(_MAX_BETWEEN + 1)]
    larger = [some.larger(RISING_STEP_SHARE * stretch.swing) for some in steps]
    return _counts(steps), _counts(larger)


def has_lone_step(stretch: ReadingStretch, window: float) -> bool:
    """Whether power steps faster than a mean over `window` refreshes can, and no burst does it.

    A burst enters such a mean at once, and leaves it at once a window later: each of its steps has
    one the other way a window before or after it.
    """
    moves = np.abs(np.diff(stretch.level))
    if stretch.swing <= 0 or len(stretch.level) < _MIN_READINGS:
        return False
    # A sensor that publishes more slowly than power steps shows one reading between the levels, or
    # two, and a mean has moved on in each of them.
    for between in range(_MAX_BETWEEN + 1):
        refreshes = between + 1
        least_share = max(_LARGE_STEP_SHARE, _LONE_STEP_SHARE * refreshes / window)
        steps = _with_between(stretch, moves, between, least_share * stretch.swing)
        last_before = (steps.at - between / 2).astype(np.int64) + _LEVEL_READINGS
        for row in last_before.tolist():
            if _is_lone(stretch, row, refreshes, window):
                return True
    return False


def _is_lone(
    stretch: ReadingStretch,
    row: int,
    refreshes: int,
    window: float,
) -> bool:
    """Whether the step that takes so many refreshes from a row on has none the other way.

    One that takes several has to come out of rest, too: in a mean the power before it still moves.
    """
    level = stretch.level
    moves = level[refreshes:] - level[:-refreshes]
    if refreshes > 1:
        before_w = level[max(row - _RESTING_READINGS, 0) : row + 1]
        if np.ptp(before_w) > _QUIET_SHARE * abs(moves[row]):
            return False
    reach = math.ceil(window) + refreshes
    first = row - reach
    end = row + reach + 1
    if first < 0 or end > len(moves):
        return False
    back_w = -moves[first:end] * np.sign(moves[row])
    return bool(back_w.max() < _PARTNER_SHARE * abs(moves[row]))


class _Steps(NamedTuple):
    """Clear steps with so many readings between the levels."""

    at: Floats  # refreshes
    up: Bools
    jump: Floats  # W

    def larger(self, least_w: float) -> _Steps:
        """The steps of so many W."""
        is_larger = self.jump >= least_w
        return _Steps(self.at[is_larger], self.up[is_larger], self.jump[is_larger])


def _with_between(
    stretch: ReadingStretch,
    moves: Floats,
    between: int,
    large_w: float,
) -> _Steps:
    level = stretch.level
    right_from = _LEVEL_READINGS + between + 1
    size = len(level) - right_from - _LEVEL_READINGS
    before_w = level[_LEVEL_READINGS : _LEVEL_READINGS + size]
    after_w = level[right_from : right_from + size]
    jump = np.abs(after_w - before_w)
    rows = np.flatnonzero(jump >= large_w)
    jump = jump[rows]
    if len(rows):
        is_clear = _is_quiet(moves, rows, between, jump)
        if not stretch.is_complete:
            is_clear &= stretch.is_read(rows + 1, rows + right_from + 1)
        is_clear &= _rises(level, rows, between)
        rows = rows[is_clear]
        jump = jump[is_clear]
    at = np.asarray(rows + between / 2, np.float64)
    return _Steps(at, np.asarray(after_w[rows] > before_w[rows]), jump)


def _is_quiet(
    moves: Floats,
    rows: Int64s,
    between: int,
    jump: Floats,
) -> Bools:
    """Whether the readings next to a step are level, and those one farther on one side at least."""
    quiet_w = _QUIET_SHARE * jump
    far_before = moves[rows] < quiet_w
    before = moves[rows + 1] < quiet_w
    after = moves[rows + between + 3] < quiet_w
    far_after = moves[rows + between + 4] < quiet_w
    return np.asarray(before & after & (far_before | far_after))


def _rises(level: Floats, rows: Int64s, between: int) -> Bools:
    """Whether the readings between the levels come one after the other on the way."""
    before_w = level[_LEVEL_READINGS + rows]
    height_w = level[_LEVEL_READINGS + between + 1 + rows] - before_w
    rises = np.ones(len(rows), np.bool_)
    last_share = np.zeros(len(rows))
    for number in range(between):
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (level[_LEVEL_READINGS + 1 + number + rows] - before_w) / height_w
        rises &= share > last_share + _QUIET_SHARE / (number + 1)
        rises &= share < 1 - _QUIET_SHARE / (between - number)
        last_share = share
    return rises


def _counts(steps: Sequence[_Steps]) -> StepCounts:
    counts = [len(some.at) for some in steps]
    total = sum(counts)
    if not total:
        return _NO_STEPS
    at = np.concatenate([some.at for some in steps])
    up = np.concatenate([some.up for some in steps])
    own_phases = _phases(np.sort(at[up])) + _phases(np.sort(at[~up]))
    at_once, between, two = counts
    return StepCounts(
        at_once=at_once,
        between=between,
        two=two,
        all=total,
        own=own_phases / total,
    )


def _phases(at: Floats) -> float:
    """How many of these steps, by when they came (in refreshes), met the readings in a phase of
    their own.

    A program's steps are of one length: one that is nearly a whole number of refreshes meets the
    sensor alike again and again, and all of them together say no more than one. Each time the phase
    has moved by what cannot be seen of a step it counts as another.
    """
    if len(at) < 3:
        return float(len(at))
    distances = np.diff(at)
    changes = np.abs(np.diff(distances)) > _SAME_DISTANCE_REFRESHES
    ends = np.concatenate(([0], np.flatnonzero(changes) + 1, [len(distances)]))
    phases = 1.0
    for first, last in itertools.pairwise(ends.tolist()):
        steps = last - first
        if steps == 1:
            phases += 1.0
            continue
        length = float(at[last] - at[first]) / steps
        moved = abs(length - round(length))
        phases += steps * min(moved / (2 * _QUIET_SHARE), 1.0)
    return phases

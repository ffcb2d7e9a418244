"""A host's clock that was set while it recorded: its rows then tell two times that do not fit
together.

Each row carries the wall clock and the monotonic clock, which is never set. Where the distance
between the two jumps, the wall clock was stepped: taking the jump out again puts all rows on one
time, whose differences are true lengths. Which of the two wall clocks was right nobody can tell
from the rows, so the zero then lies in an interval that holds both.

Rows with one clock alone show a step by how they follow one another: times that go back, or rows
that all come earlier from one of them on than those before had it. Forwards, a step looks like a
pause of the logger; then both may be, and the interval holds both.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np

from powertui.data.model import NS_PER_S, Floats, Int32s, Int64s
from powertui.data.power import column_times
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# As the recorder notes it; less is how far apart two looks at two clocks can be.
_MIN_STEP_NS = 100_000_000


@dataclass(frozen=True, eq=False)
class Joined:
    """Times without steps, and how far the true zero may be before and behind the one they give."""

    ns: Int64s
    early_ns: int = 0
    late_ns: int = 0
    steps_ns: tuple[int, ...] = ()  # how far the clock was set, each time
    # of these, what may have been pauses instead: by so much some rows may be later than they
    # should
    paused_ns: int = 0
    # where the zero is by each clock in question, from that of most rows on
    clocks_ns: tuple[int, ...] = ()

    @cached_property
    def least_ns(self) -> int:
        """The smallest distance of two rows; below zero where they go back."""
        if len(self.ns) > 1:
            return int(np.diff(self.ns).min())
        return 1


def join(ns: Int64s, mono_s: Floats, block: Int32s) -> Joined:
    """One time for rows in file order.

    Between blocks (a restarted recorder, a restarted machine) the wall clock stands.
    """
    if len(ns) < 2:
        return Joined(ns)
    jump = _jumps(ns, mono_s, block)
    if not jump.any():
        return Joined(ns)
    step_ns = np.rint(jump).astype(np.int64)
    set_by = np.cumsum(step_ns)
    # A look at one clock that was held up before the look at the other is a jump to and fro: it
    # says nothing of the zero. So only the ends of blocks count.
    ends = []
    for start, stop in _runs(block):
        set_in_block = set_by[start:stop]
        set_in_block -= _commonest(set_in_block)
        ends.append(int(set_in_block[0]))
        ends.append(int(set_in_block[-1]))
    steps = np.rint(jump[jump != 0])
    return Joined(
        ns - set_by,
        early_ns=min(0, *ends),
        late_ns=max(0, *ends),
        steps_ns=tuple(map(int, steps)),
        clocks_ns=_clocks(ends),
    )


def _jumps(ns: Int64s, mono_s: Floats, block: Int32s) -> Floats:
    """By how much the wall clock was set before each row, ns; 0 where a block begins."""
    # No machine runs that long: a damaged row.
    is_possible = np.abs(mono_s) < column_times.LONGEST_S
    mono_s = np.where(is_possible, mono_s, np.nan)
    # From the first row on: what a double holds of 1e18 ns is not enough.
    wall_ns = (ns - ns[0]).astype(np.float64)
    mono_ns = (mono_s - mono_s[0]) * NS_PER_S
    offset = wall_ns - mono_ns
    jump: Floats = np.diff(offset, prepend=offset[0])
    block_starts = np.flatnonzero(np.diff(block)) + 1
    jump[block_starts] = 0.0
    is_step = np.abs(jump) > _MIN_STEP_NS  # False for NaN, too: a row without the second clock
    jump[~is_step] = 0.0
    return jump


def _clocks(ends: list[int]) -> tuple[int, ...]:
    """Where the zero is by each clock in question."""
    offsets = {0, *ends}
    return tuple(sorted(offsets))


def _commonest(set_by: Int64s) -> int:
    """By how much the clock was set that most of these rows were stamped with."""
    values, counts = np.unique(set_by, return_counts=True)
    most_frequent = counts.argmax()
    return int(values[most_frequent])


# Of normally distributed values the standard deviation is so many times the median deviation.
_SIGMA_PER_MEDIAN_DEVIATION = 1.4826


class _Polls(NamedTuple):
    """How regularly rows come, and where they do not."""

    interval_ns: float  # the median
    min_step_ns: float  # what differs by less is how rows stray
    odd_rows: Int64s  # rows after which the next one is early or late


def _polls(ns: Int64s) -> _Polls | None:
    """How regularly rows come; None where too many go back in time, or none is odd."""
    apart = np.diff(ns)
    interval = median_of_column(apart)
    if interval <= 0:
        return None
    away = np.abs(apart - interval)
    stray = _SIGMA_PER_MEDIAN_DEVIATION * median_of_column(away)
    max_stray = _MAX_STRAY_SHARE * interval
    min_step = max(
        _MIN_STEP_NS,
        _MIN_STEP_STRAYS * stray,
        max_stray,
    )
    backward = np.flatnonzero(apart < 0)
    odd = backward
    if stray <= max_stray:
        odd = np.flatnonzero(away > min_step)
    if not len(odd) or len(backward) > _MAX_STEPS:
        return None
    return _Polls(interval, min_step, odd)


HOUR = 3600 * NS_PER_S
# All of these were chosen, not measured.
_MIN_ROWS = 24  # of a log in which steps are looked for
_ROWS_AROUND = 8  # on either side, that show when a row was due
_MIN_ROWS_AROUND = 4
_MAX_STEPS = 3  # in one log; more of them are a logger that is not regular
_MAX_ODD_ROWS = 400  # that are looked at
_MAX_STRAY_SHARE = 0.1  # of the usual distance: so much the distances of a regular log may vary
_MIN_STEP_STRAYS = 8.0  # a step is at least so many times as far as rows stray
_MAX_WHOLE_POLL_ERROR = 0.12  # of a poll: so near to a whole number of them, rows are missing
_MAX_MISSING_POLLS = 2.5  # so many without an answer, one after the other, are no wonder
_MAX_FORWARD_STEP_NS = 2 * NS_PER_S  # what is longer is a pause
# By so much, as a logarithm, the power must fit one length of a row better than the other.
_MIN_LOG_RATIO = 0.25


def join_rows(
    ns: Int64s,
    *,
    paused: bool = False,
    joules: Floats | None = None,
) -> Joined:
    """One time for rows in file order that carry one clock alone. `paused`: what looks like a pause
    is known to be one.

    `joules`: what a counter counted since the row before, which tells how long that really was.
    """
    if len(ns) < _MIN_ROWS:
        return Joined(ns)
    polls = _polls(ns)
    if polls is None:
        return Joined(ns)
    certain, possible = _steps(ns, polls, paused, joules)
    if len(certain) > _MAX_STEPS or _repeats_rows(ns, certain):
        return Joined(ns)
    set_by = np.zeros(len(ns), np.int64)
    for row, step in certain.items():
        set_by[row + 1 :] += step
    set_by -= _commonest(set_by)
    ends = [int(set_by[0]), int(set_by[-1])]
    # So many odd rows are a logger that is not regular: none of them shows a step.
    is_irregular = len(polls.odd_rows) >= _MAX_ODD_ROWS
    if is_irregular or len(possible) > _MAX_STEPS:
        possible = []
    late = sum(possible)
    return Joined(
        ns - set_by,
        early_ns=min(0, *ends) - late,
        late_ns=max(0, *ends),
        steps_ns=(*certain.values(), *possible),
        paused_ns=late,
        clocks_ns=() if late else _clocks(ends),
    )


def _steps(
    ns: Int64s,
    polls: _Polls,
    paused: bool,
    joules: Floats | None,
) -> tuple[dict[int, int], list[int]]:
    """(the steps that are certain, by the row before each; those that may have been pauses)"""
    certain: dict[int, int] = {}
    possible: list[int] = []
    for row in polls.odd_rows[:_MAX_ODD_ROWS].tolist():
        step = _step(ns, row, polls)
        if step is None:
            continue
        if step < 0:
            certain[row] = step
        elif not paused:
            if joules is None:
                was_set = None
            else:
                was_set = _was_set(ns, joules, row, step)
            if was_set is None:
                possible.append(step)
            elif was_set:
                certain[row] = step
    # Backward steps first: words on a log show the first few, and those are the certain ones.
    certain = dict(sorted(certain.items(), key=lambda item: item[1] > 0))
    if len(possible) > 1:
        spread = max(possible) - min(possible)
        # One length again and again is a logger that pauses: no clock is set by the same each time.
        if spread < max(polls.min_step_ns, polls.interval_ns):
            possible = []
    return certain, possible


def _was_set(ns: Int64s, joules: Floats, row: int, step: int) -> bool | None:
    """Whether a counter's row after a long distance holds as much as a short one: then the clock
    was set. None: it may be.
    """
    first = max(1, row - _ROWS_AROUND)
    end = row + 2 + _ROWS_AROUND
    joules_around = joules[first:end]
    lengths = np.diff(ns[first - 1 : end])
    lengths = lengths[: len(joules_around)]
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = joules_around / lengths
        typical_power = float(np.nanmedian(powers))
    spent = float(joules[row + 1])
    apart = float(ns[row + 1] - ns[row])
    if not (typical_power > 0 and spent > 0 and apart > step):
        return None
    ratio_if_paused = spent / apart / typical_power
    ratio_if_set = spent / (apart - step) / typical_power
    misfit_if_paused = abs(np.log(ratio_if_paused))
    misfit_if_set = abs(np.log(ratio_if_set))
    if abs(misfit_if_paused - misfit_if_set) < _MIN_LOG_RATIO:
        return None
    return bool(misfit_if_set < misfit_if_paused)


def _step(ns: Int64s, row: int, polls: _Polls) -> int | None:
    """How far the clock was set between this row and the next; None when it was not, or when a row
    or two are only missing.
    """
    interval = polls.interval_ns
    if _is_end_of_summer_time(ns, row, polls):
        return -HOUR
    next_row = row + 1
    first = max(0, row - _ROWS_AROUND)
    before = ns[first:next_row]
    after = ns[next_row : next_row + 1 + _ROWS_AROUND]
    if min(len(before), len(after)) < _MIN_ROWS_AROUND:
        return None
    apart = float(ns[next_row] - ns[row])
    phase_before = _phase(before - ns[row], interval)
    phase_after = _phase(after - ns[row], interval)
    phase_shift = phase_after - phase_before
    turned = (phase_shift + 0.5) % 1.0 - 0.5
    missed_polls = round((apart - interval) / interval - turned)
    moved = interval * (turned + missed_polls)
    if moved < -polls.min_step_ns:
        return _backward_step(ns, row, moved, interval)
    if not polls.min_step_ns < moved < _MAX_FORWARD_STEP_NS:
        return None
    intervals = moved / interval
    is_whole = abs(intervals - round(intervals)) < _MAX_WHOLE_POLL_ERROR
    if is_whole and intervals < _MAX_MISSING_POLLS:
        return None  # rows are missing
    return round(moved)


def _is_end_of_summer_time(ns: Int64s, row: int, polls: _Polls) -> bool:
    """Whether the next row comes one poll later and an hour earlier, and rows go on from there.

    So exact a step needs no rows before it: the log may have begun a moment ago.
    """
    next_row = row + 1
    after = ns[next_row : next_row + 1 + _MIN_ROWS_AROUND]
    if len(after) <= _MIN_ROWS_AROUND:
        return False
    if not (np.diff(after) > 0).all():
        return False
    due = ns[row] + polls.interval_ns - HOUR
    late_ns = abs(float(after[0]) - float(due))
    return late_ns < min(polls.min_step_ns, polls.interval_ns)


def _backward_step(
    ns: Int64s,
    row: int,
    moved: float,
    interval: float,
) -> int | None:
    """How far the clock was put back, where rows come so much earlier than they were due."""
    next_ns = ns[row + 1]
    if next_ns > ns[row] and moved < -0.9 * interval:
        return None  # a row that came late
    after = ns[row + 1 : row + 2 + _ROWS_AROUND]
    next_rows = after[1:6] - after[0]
    polls = np.arange(1, len(next_rows) + 1)
    late = next_rows - interval * polls
    if np.median(late) > 0.5 * interval:
        return None  # two rows in each other's place
    if abs(moved + HOUR) < 2 * interval + NS_PER_S:
        return -HOUR  # the end of summer time
    if next_ns <= ns[0]:
        return None  # two logs, the later one first
    return round(moved)


def _repeats_rows(ns: Int64s, steps: dict[int, int]) -> bool:
    """What comes after times went back are the same rows once more: a buffer that was written
    twice.
    """
    for row in steps:
        until_row = ns[: row + 1]
        after = ns[row + 1 :]
        repeated = after[after <= ns[row]]
        if not len(repeated):
            continue
        if np.isin(repeated, until_row).mean() > 0.5:
            return True
    return False


def _phase(away: Int64s, usual: float) -> float:
    """Where in a period these rows come, as a share of it."""
    angles = 2j * np.pi * (away / usual)
    on_circle = np.exp(angles)
    mean_angle = float(np.angle(on_circle.mean()))
    return mean_angle / (2 * np.pi)


def in_words(steps_ns: tuple[int, ...]) -> str:
    """ "+0.4 s, -3600.0 s …" """
    words = []
    for step in steps_ns[:3]:
        words.append(f"{step / NS_PER_S:+,.1f} s")
    if len(steps_ns) > 3:
        words[-1] += " …"
    return ", ".join(words)


def _runs(block: Int32s) -> list[tuple[int, int]]:
    changes = np.flatnonzero(np.diff(block)) + 1
    edges = [0, *changes.tolist(), len(block)]
    return list(pairwise(edges))

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
from powertui.data.power import times
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
        return int(np.diff(self.ns).min()) if len(self.ns) > 1 else 1


def join(ns: Int64s, mono_s: Floats, block: Int32s) -> Joined:
    """One time for rows in file order.

    Between blocks (a restarted recorder, a restarted machine) the wall clock stands.
    """
    if len(ns) < 2:
        return Joined(ns)
    # From the first row on: what a double holds of 1e18 ns is not enough.
    mono_s = np.where(
        np.abs(mono_s) < times.LONGEST_S, mono_s, np.nan
    )  # no machine runs that long: a damaged row
    offset = (ns - ns[0]).astype(np.float64) - (mono_s - mono_s[0]) * NS_PER_S
    jump = np.diff(offset, prepend=offset[0])
    jump[np.flatnonzero(np.diff(block)) + 1] = 0.0
    jump[~(np.abs(jump) > _MIN_STEP_NS)] = 0.0  # NaN too: a row without the second clock
    if not jump.any():
        return Joined(ns)
    set_by = np.cumsum(np.rint(jump).astype(np.int64))
    for start, stop in _runs(block):  # in each block the clock that most rows were stamped with
        values, counts = np.unique(set_by[start:stop], return_counts=True)
        set_by[start:stop] -= values[counts.argmax()]
    # A look at one clock that was held up before the look at the other is a jump to and fro: it
    # says nothing of the zero.
    ends = [int(set_by[at]) for start, stop in _runs(block) for at in (start, stop - 1)]
    steps = tuple(int(j) for j in np.rint(jump[jump != 0]))
    return Joined(
        ns - set_by, min(0, *ends), max(0, *ends), steps, clocks_ns=tuple(sorted({0, *ends}))
    )


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


def join_rows(ns: Int64s, *, paused: bool = False, joules: Floats | None = None) -> Joined:
    """One time for rows in file order that carry one clock alone. `paused`: what looks like a pause
    is known to be one.

    `joules`: what a counter counted since the row before, which tells how long that really was.
    """
    if len(ns) < _MIN_ROWS:
        return Joined(ns)
    apart = np.diff(ns)
    usual = float(np.median(apart))
    if usual <= 0:
        return Joined(ns)
    stray = 1.4826 * float(np.median(np.abs(apart - usual)))
    least = max(_MIN_STEP_NS, _MIN_STEP_STRAYS * stray, _MAX_STRAY_SHARE * usual)
    back = np.flatnonzero(apart < 0)
    odd = (
        np.flatnonzero(np.abs(apart - usual) > least) if stray <= _MAX_STRAY_SHARE * usual else back
    )
    if not len(odd) or len(back) > _MAX_STEPS:
        return Joined(ns)
    steps = {
        row: step
        for row in odd[:_MAX_ODD_ROWS].tolist()
        if (step := _step(ns, row, usual, least)) is not None
    }
    sure = {row: step for row, step in steps.items() if step < 0}
    forward = {} if paused else {row: step for row, step in steps.items() if step > 0}
    if joules is not None:
        told_by = {row: _was_set(ns, joules, row, step) for row, step in forward.items()}
        sure |= {row: step for row, step in forward.items() if told_by[row] is True}
        forward = {row: step for row, step in forward.items() if told_by[row] is None}
    maybe = list(forward.values())
    if len(maybe) > 1 and max(maybe) - min(maybe) < max(least, usual):
        # one length again and again: a logger that pauses, for no clock is set by the same each
        # time
        maybe = []
    if len(sure) > _MAX_STEPS or _again(ns, sure):
        return Joined(ns)
    set_by = np.zeros(len(ns), np.int64)
    for row, step in sure.items():
        set_by[row + 1 :] += step
    values, counts = np.unique(set_by, return_counts=True)
    set_by -= values[counts.argmax()]  # the clock that most rows were stamped with
    ends = [int(set_by[0]), int(set_by[-1])]
    late = sum(maybe) if len(maybe) <= _MAX_STEPS and len(odd) < _MAX_ODD_ROWS else 0
    all_steps = [*sure.values(), *(maybe if late else ())]
    clocks = () if late else tuple(sorted({0, *ends}))
    return Joined(ns - set_by, min(0, *ends) - late, max(0, *ends), tuple(all_steps), late, clocks)


def _was_set(ns: Int64s, joules: Floats, row: int, step: int) -> bool | None:
    """Whether a counter's row after a long distance holds as much as a short one: then the clock
    was set. None: it may be.
    """
    around = slice(max(1, row - _ROWS_AROUND), row + 2 + _ROWS_AROUND)
    with np.errstate(divide="ignore", invalid="ignore"):
        usual = float(
            np.nanmedian(
                joules[around] / np.diff(ns[around.start - 1 : around.stop])[: len(joules[around])]
            )
        )
    spent, apart = float(joules[row + 1]), float(ns[row + 1] - ns[row])
    if not (usual > 0 and spent > 0 and apart > step):
        return None
    far, near = (abs(np.log(spent / length / usual)) for length in (apart, apart - step))
    if abs(far - near) < _MIN_LOG_RATIO:
        return None
    return bool(near < far)


def _step(ns: Int64s, row: int, usual: float, least: float) -> int | None:
    """How far the clock was set between this row and the next; None when it was not, or when a row
    or two are only missing.
    """
    before, after = ns[max(0, row - _ROWS_AROUND) : row + 1], ns[row + 1 : row + 2 + _ROWS_AROUND]
    if min(len(before), len(after)) < _MIN_ROWS_AROUND:
        return None
    apart = float(ns[row + 1] - ns[row])
    turned = (_phase(after - ns[row], usual) - _phase(before - ns[row], usual) + 0.5) % 1.0 - 0.5
    moved = usual * (turned + round((apart - usual) / usual - turned))
    if moved < -least:
        if apart > 0 and moved < -0.9 * usual:
            return None  # a row that came late
        if (
            np.median(after[1:6] - after[0] - usual * np.arange(1, len(after[1:6]) + 1))
            > 0.5 * usual
        ):
            return None  # two rows in each other's place
        if abs(moved + HOUR) < 2 * usual + NS_PER_S:
            return -HOUR
        return round(moved) if ns[row + 1] > ns[0] else None  # else: two logs, the later one first
    polls = moved / usual
    is_missing = abs(polls - round(polls)) < _MAX_WHOLE_POLL_ERROR and polls < _MAX_MISSING_POLLS
    return round(moved) if least < moved < _MAX_FORWARD_STEP_NS and not is_missing else None


def _phase(away: Int64s, usual: float) -> float:
    """Where in a period these rows come, as a share of it."""
    return float(np.angle(np.exp(2j * np.pi * (away / usual)).mean())) / (2 * np.pi)


def _again(ns: Int64s, steps: dict[int, int]) -> bool:
    """What comes after times went back are the same rows once more: a buffer that was written
    twice.
    """
    for row in steps:
        over = ns[row + 1 :][ns[row + 1 :] <= ns[row]]
        if len(over) and np.isin(over, ns[: row + 1]).mean() > 0.5:
            return True
    return False


def in_words(steps_ns: tuple[int, ...]) -> str:
    """ "+0.4 s, -3600.0 s …" """
    return ", ".join(f"{step / NS_PER_S:+,.1f} s" for step in steps_ns[:3]) + " …" * (
        len(steps_ns) > 3
    )


def _runs(block: Int32s) -> list[tuple[int, int]]:
    edges = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(block)]
    return list(pairwise(edges))

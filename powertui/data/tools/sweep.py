"""The most telling type of work at each moment, and how much of a stretch each type has.

At each moment the highest type that is active counts. The profilers keep that up to date event by
event, which has one consequence that their figures show: an event of no length leaves its type
standing until something of a higher type begins, or until an event of its own type ends. The same
is done here without walking: type by type, from the highest down, as unions.

Events are taken group by group: what runs in one group does not hide what runs in another. So that
one union does for all groups, each is given a stretch of its own on one long axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.model import Int64s, UInt8s
from powertui.data.sorted_columns import among
from powertui.data.tools.covered_time import NO_TIME, CoveredTime, joined, union
from powertui.data.tools.event_types import KINDS
from powertui.value_types import dataclass

_NONE = np.empty(0, np.int64)
# What one axis of int64 holds: groups that last as long as the profile fill it soon.
_MAX_AXIS_PS = float(1 << 62)


@dataclass(frozen=True, eq=False)
class Sweep:
    """For each type the moments at which it or a higher one counts, on an axis on which each group
    has a stretch of its own.
    """

    shift: Int64s  # from a group's time to the axis
    # By type: (starts, ends), apart from each other and ascending.
    covers: tuple[tuple[Int64s, Int64s], ...]

    def inside(self, group: Int64s, lo: Int64s, hi: Int64s) -> Int64s:
        """[stretches × types]: how much of each stretch [lo, hi) of a group each type has.

        What is left is unknown: type 0.
        """
        times = np.zeros((len(lo), KINDS), np.int64)
        shift = self.shift[group]
        axis_lo = lo + shift
        axis_hi = np.maximum(lo, hi) + shift
        # A cover holds its own type and all higher ones, so a type has what its cover adds.
        by_higher_types = np.zeros(len(lo), np.int64)
        for kind in range(KINDS - 1, 0, -1):
            cover = CoveredTime(*self.covers[kind])
            covered = cover.inside(axis_lo, axis_hi)
            times[:, kind] = covered - by_higher_types
            by_higher_types = covered
        length = np.maximum(0, axis_hi - axis_lo)
        times[:, 0] = length - by_higher_types
        return times


@dataclass(frozen=True, eq=False)
class Halves:
    """Two sweeps, of groups before and from `border` on: one axis would be too long for all of
    them.
    """

    left: Sweep | Halves
    right: Sweep | Halves
    border: int

    def inside(self, group: Int64s, lo: Int64s, hi: Int64s) -> Int64s:
        """As `Sweep.inside`."""
        times = np.zeros((len(lo), KINDS), np.int64)
        left = group < self.border
        right = ~left
        left_group = group[left]
        right_group = group[right] - self.border
        times[left] = self.left.inside(left_group, lo[left], hi[left])
        times[right] = self.right.inside(right_group, lo[right], hi[right])
        return times


def sweep_events(
    group: Int64s,
    start: Int64s,
    end: Int64s,
    kind: UInt8s | Int64s,
    lo: Int64s,
    hi: Int64s,
) -> Sweep | Halves:
    """Sweep events of groups 0 … len(lo) - 1.

    `lo` and `hi`: a stretch of each group that will be asked about.
    """
    first, last = _bounds(group, start, end, lo, np.maximum(lo, hi))
    axis_length = (last - first).sum(dtype=np.float64)
    if len(lo) > 1 and float(axis_length) > _MAX_AXIS_PS:
        return _in_halves(
            group=group,
            start=start,
            end=end,
            kind=kind,
            lo=lo,
            hi=hi,
        )
    # One picosecond apart, so that no stretch of one group touches one of the next.
    room = last - first + 1
    shift = np.cumsum(room) - room - first
    event_shift = _of_each(shift, group)
    axis_start = start + event_shift
    axis_end = end + event_shift
    # Events of no length are few, and none where the caller has left them out: what only they ask
    # for is worked out for them alone.
    has_length = end > start
    if not has_length.all():
        moments = _Moments(group, axis_start, axis_end, len(lo))
    else:
        moments = None
    cover = (_NONE, _NONE)
    higher_starts: list[Int64s] = []
    covers: list[tuple[Int64s, Int64s]] = [cover] * KINDS
    for number in range(KINDS - 1, 0, -1):
        rows = np.flatnonzero(kind == number)
        if len(rows) and moments is None:
            cover = _with(cover, axis_start.take(rows), axis_end.take(rows))
        elif len(rows):
            assert moments is not None
            starts = axis_start.take(rows)
            lasting = has_length.take(rows)
            cover = _with(cover, starts[lasting], axis_end[rows[lasting]])
            if not lasting.all():
                dots = rows[~lasting]
                cover = moments.left_standing(cover, higher_starts, dots, starts[lasting])
            higher_starts.append(starts)
        covers[number] = cover
    return Sweep(shift, tuple(covers))


def sweep_times(by_type: Sequence[Sequence[CoveredTime]]) -> Sweep:
    """Sweep what runs at each moment, whatever asked for it: by type, when events of some length
    run. One group.
    """
    cover = NO_TIME
    covers: list[tuple[Int64s, Int64s]] = [cover] * KINDS
    for number in range(KINDS - 1, 0, -1):
        cover = joined([cover, *by_type[number]])
        covers[number] = cover
    return Sweep(np.zeros(1, np.int64), tuple(covers))


def _of_each(values: Int64s, group: Int64s) -> Int64s:
    """The value of each event's group: one number, where there is one group."""
    if len(values) == 1:
        return values
    return values[group]


def _bounds(
    group: Int64s,
    start: Int64s,
    end: Int64s,
    lo: Int64s,
    hi: Int64s,
) -> tuple[Int64s, Int64s]:
    """(the first, the last moment of each group): of its events, and of what is asked about."""
    if len(lo) == 1 and len(start):
        return np.minimum(lo, start.min()), np.maximum(hi, end.max())
    first = lo.copy()
    last = hi.copy()
    np.minimum.at(first, group, start)
    np.maximum.at(last, group, end)
    return first, last


def _in_halves(
    group: Int64s,
    start: Int64s,
    end: Int64s,
    kind: UInt8s | Int64s,
    lo: Int64s,
    hi: Int64s,
) -> Halves:
    """The same, on one axis for the first half of the groups and one for the second."""
    border = len(lo) // 2
    left = group < border
    right = ~left
    return Halves(
        left=sweep_events(
            group=group[left],
            start=start[left],
            end=end[left],
            kind=kind[left],
            lo=lo[:border],
            hi=hi[:border],
        ),
        right=sweep_events(
            group=group[right] - border,
            start=start[right],
            end=end[right],
            kind=kind[right],
            lo=lo[border:],
            hi=hi[border:],
        ),
        border=border,
    )


def _with(cover: tuple[Int64s, Int64s], start: Int64s, end: Int64s) -> tuple[Int64s, Int64s]:
    """The union with events of one type more, all of some length."""
    cover_start, cover_end = cover
    if not len(cover_start):
        return union(start, end)
    starts = np.concatenate([cover_start, start])
    ends = np.concatenate([cover_end, end])
    return union(starts, ends)


class _Moments:
    """What events of no length leave standing, as xprof's own sweep does."""

    def __init__(self, group: Int64s, start: Int64s, end: Int64s, groups: int) -> None:
        self._group = group
        self._start = start
        # The last boundary of each group: nothing stands beyond it.
        self._final = np.full(groups, np.iinfo(np.int64).min)
        np.maximum.at(self._final, group, end)

    def left_standing(
        self,
        cover: tuple[Int64s, Int64s],
        higher_starts: list[Int64s],
        dots: Int64s,
        starts: Int64s,
    ) -> tuple[Int64s, Int64s]:
        """A cover with what events of no length add to it.

        `higher_starts`: when events of higher types start. `dots`: the rows of the events of no
        length. `starts`: when the others of their type start.
        """
        higher = np.sort(np.concatenate([_NONE, *higher_starts]), kind="stable")
        moments, first_at = np.unique(self._start[dots], return_index=True)
        is_covered = CoveredTime(*cover).hold(moments)
        free = ~is_covered & ~among(higher, moments)
        moments = moments[free]
        free_dots = dots[first_at[free]]
        until = self._final[self._group[free_dots]]
        if len(moments):
            for ending in (higher, np.sort(starts, kind="stable")):
                until = np.minimum(until, _next_after(ending, moments))
        return _with(cover, moments, np.maximum(until, moments))


def _next_after(values: Int64s, moments: Int64s) -> Int64s:
    """The first of these (ascending) after each moment; the largest number where there is none."""
    place = values.searchsorted(moments, side="right")
    return np.append(values, np.iinfo(np.int64).max)[place]

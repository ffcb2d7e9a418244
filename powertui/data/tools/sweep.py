"""The most telling type of work at each moment, and how much of a stretch each type has.

At each moment the highest type that is active counts. The profilers keep that up to date event by
event, which has one consequence that their figures show: an event of no length leaves its type
standing until something of a higher type begins, or until an event of its own type ends. The same
is done here without walking: type by type, from the highest down, as unions.

Events are taken group by group: what runs in one group does not hide what runs in another. So that
one union does for all groups, each is given a stretch of its own on one long axis.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import Bools, Int64s, UInt8s
from powertui.data.tools.covered_time import CoveredTime, union
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
    covers: tuple[
        tuple[Int64s, Int64s], ...
    ]  # by type: (starts, ends), apart from each other and ascending

    def inside(self, group: Int64s, lo: Int64s, hi: Int64s) -> Int64s:
        """[stretches × types]: how much of each stretch [lo, hi) of a group each type has.

        What is left is unknown: type 0.
        """
        out = np.zeros((len(lo), KINDS), np.int64)
        a, b = lo + self.shift[group], np.maximum(lo, hi) + self.shift[group]
        above = np.zeros(len(lo), np.int64)
        for kind in range(KINDS - 1, 0, -1):
            part = CoveredTime(*self.covers[kind]).inside(a, b)
            out[:, kind] = part - above
            above = part
        out[:, 0] = np.maximum(0, b - a) - above
        return out


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
        out = np.zeros((len(lo), KINDS), np.int64)
        before = group < self.border
        out[before] = self.left.inside(group[before], lo[before], hi[before])
        out[~before] = self.right.inside(group[~before] - self.border, lo[~before], hi[~before])
        return out


def sweep_events(
    group: Int64s, start: Int64s, end: Int64s, kind: UInt8s | Int64s, lo: Int64s, hi: Int64s
) -> Sweep | Halves:
    """Sweep events of groups 0 … len(lo) - 1.

    `lo` and `hi`: a stretch of each group that will be asked about.
    """
    first, last = lo.copy(), np.maximum(lo, hi)
    np.minimum.at(first, group, start)
    np.maximum.at(last, group, end)
    if len(lo) > 1 and float((last - first).sum(dtype=np.float64)) > _MAX_AXIS_PS:
        border = len(lo) // 2
        parts = []
        for half, less in ((group < border, 0), (group >= border, border)):
            some = slice(0, border) if not less else slice(border, None)
            parts.append(
                sweep_events(
                    group[half] - less, start[half], end[half], kind[half], lo[some], hi[some]
                )
            )
        return Halves(parts[0], parts[1], border)
    ends = np.cumsum(last - first + 1)
    shift = ends - (last - first + 1) - first
    # The last boundary of each group: nothing stands beyond it.
    final = np.full(len(lo), np.iinfo(np.int64).min)
    np.maximum.at(final, group, end + shift[group])
    cover = (_NONE, _NONE)
    above = _NONE
    covers: list[tuple[Int64s, Int64s]] = [cover] * KINDS
    for number in range(KINDS - 1, 0, -1):
        mine = np.flatnonzero(kind == number)
        if len(mine):
            which = group[mine]
            cover = _with(
                cover, above, start[mine] + shift[which], end[mine] + shift[which], which, final
            )
            if number > 1:
                above = np.sort(np.concatenate([above, start[mine] + shift[which]]))
        covers[number] = cover
    return Sweep(shift, tuple(covers))


def _with(
    cover: tuple[Int64s, Int64s],
    above: Int64s,
    start: Int64s,
    end: Int64s,
    group: Int64s,
    final: Int64s,
) -> tuple[Int64s, Int64s]:
    """The union with events of one type more.

    `above`: the starts of all events of higher types, ascending.
    """
    real = end > start
    cover = union(np.concatenate([cover[0], start[real]]), np.concatenate([cover[1], end[real]]))
    moments, at = np.unique(start[~real], return_index=True)
    if len(moments):
        free = ~CoveredTime(*cover).hold(moments) & ~_among(above, moments)
        moments, until = moments[free], final[group[~real][at[free]]]
        if len(moments):
            for starts in (above, np.sort(start[real])):
                until = np.minimum(until, _after(starts, moments))
        cover = union(
            np.concatenate([cover[0], moments]),
            np.concatenate([cover[1], np.maximum(until, moments)]),
        )
    return cover


def _among(values: Int64s, moments: Int64s) -> Bools:
    if not len(values):
        return np.zeros(len(moments), np.bool_)
    at = np.minimum(values.searchsorted(moments), len(values) - 1)
    return np.asarray(values[at] == moments)


def _after(values: Int64s, moments: Int64s) -> Int64s:
    """The first of these (ascending) after each moment; the largest number where there is none."""
    at = values.searchsorted(moments, side="right")
    return np.append(values, np.iinfo(np.int64).max)[at]

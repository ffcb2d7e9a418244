"""Between which offsets a log must lie, by where its power rises and falls around a training of
which only epochs are known.

At the training's last record the program still ran, so the power fell then or later: after it a
program may save or evaluate, for nobody knows how long. By its first record, and what starting
took, it ran, so the power had risen by then or before: a program that reads its data draws power,
too. The two leave an interval as long as what the program did before and after. Where within it the
log lies no reading tells, however alike its epochs look at one of these places.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats

_SOME = (
    0.1  # of what the training draws above the idle machine: more of it, and something still runs …
)
_LITTLE = 0.25  # … less of it may be a pause …
_MUCH = 0.5  # … and so much of it, and it is training, or about to
_LEAST = 2  # readings of idling that show an end
_PAUSE = 0.5  # of an epoch: power that stays away for longer has ended
_LONGER = 1.2  # times the longest pause: the last one may be longer
_SPARE_S, _SPARE = (
    0.05,
    0.25,
)  # s, and of the refresh: when records are written, when sensors see a change
_WIDER = 0.1  # of the interval, on either side
_CLEAR = 4.0  # quanta that the training draws above the idle machine
_STARTING = 0.5  # of the only epoch: so much of it may be what starting took


class OffsetBounds(NamedTuple):
    """The offsets (s) in question; None: that end is not in the log. The likeliest, where an end
    tells: at which nothing ran after the training, else before it.
    """

    lo: float | None
    hi: float | None
    likely: float | None

    @property
    def known(self) -> bool:
        """Whether both ends are in the log."""
        return self.lo is not None and self.hi is not None


_Edge = tuple[float, float]  # as early and as late as readings allow, s


class PowerEdges(NamedTuple):
    """When power rose and fell for longer, on the log's own clock."""

    rises: tuple[_Edge | None, ...]  # to what training draws; None: the log begins within it
    falls: tuple[_Edge | None, ...]  # to the idle machine
    pause: float  # the longest time within that may have drawn no more than the idle machine


def usual_epoch_s(epochs: list[tuple[float, float]]) -> float:
    """How long an epoch takes as a rule: the first one starts, too."""
    lengths = [hi - lo for lo, hi in epochs]
    return float(np.median(lengths[1:] or lengths))


def find_power_edges(data: Samples, epochs: list[tuple[float, float]]) -> PowerEdges | None:
    """When anything ran; None where power tells no program from the idle machine."""
    if len(data) < 2 * _LEAST + 1:
        return None
    idle = float(np.percentile(data.watts, 2))
    middle = (data.lo + data.hi) / 2
    high = _level(data.watts, idle)
    if high - idle < max(_CLEAR * data.quantum, 0.03 * high):
        return None
    longest = max(_PAUSE * usual_epoch_s(epochs), _LEAST * data.refresh)
    noise = 1.4826 * float(np.median(np.abs(np.diff(data.watts)))) if len(data) > 2 else 0.0
    some = max(_SOME * (high - idle), min(4 * noise, _MUCH / 2 * (high - idle)), 1.5 * data.quantum)
    ran, _ = _runs(data.watts > idle + some, middle, longest)
    _, pause = _runs(data.watts > idle + max(some, _LITTLE * (high - idle)), middle, longest)
    trained, _ = _runs(data.watts > idle + _MUCH * (high - idle), middle, longest)
    rises = tuple(_crossing(middle, data.watts, first, -1, idle) for first, _ in trained)
    falls = tuple(_crossing(middle, data.watts, last, 1, idle) for _, last in ran)
    return PowerEdges(rises, falls, _LONGER * pause)


def offset_of_only_run(found: PowerEdges, epochs: list[tuple[float, float]]) -> float | None:
    """The offset at which all that ran is the training, if it ran once, for as long to half an
    epoch and what starting took.
    """
    if (
        len(found.rises) != 1
        or len(found.falls) != 1
        or found.rises[0] is None
        or found.falls[0] is None
    ):
        return None
    rise, fall = sum(found.rises[0]) / 2, sum(found.falls[0]) / 2
    longer, half = fall - rise - (epochs[-1][1] - epochs[0][0]), usual_epoch_s(epochs) / 2
    return (
        epochs[-1][1] - fall
        if -half - _starting([hi - lo for lo, hi in epochs]) < longer < half
        else None
    )


def offset_bounds(
    data: Samples, found: PowerEdges, epochs: list[tuple[float, float]], at: float
) -> OffsetBounds:
    """What the ends leave of the offsets near `at`."""
    starting = _starting([hi - lo for lo, hi in epochs])
    spare = data.age_s + _SPARE_S + _SPARE * data.refresh
    begin, end = epochs[0][0], epochs[-1][1]
    rise = _last(found.rises, (epochs[0][1] - usual_epoch_s(epochs) / 2) - at)
    fall = _first(found.falls, (epochs[-1][0] + end) / 2 - at)
    hidden = max(found.pause, data.refresh / 2)
    lo = end - fall[1] - hidden - spare if fall is not None else None
    hi = begin - rise[0] + starting + spare + data.older_s if rise is not None else None
    wider = (
        _WIDER * max(hi - lo, 0.0)
        if lo is not None and hi is not None
        else _WIDER * (hidden + starting)
    )
    likely = (
        end - sum(fall) / 2
        if fall is not None
        else begin - sum(rise) / 2 + starting / 2
        if rise is not None
        else None
    )
    return OffsetBounds(
        lo - wider if lo is not None else None, hi + wider if hi is not None else None, likely
    )


def _starting(lengths: list[float]) -> float:
    """How long starting took at most, by how much longer the first epoch is than others."""
    if len(lengths) < 2:
        return _STARTING * lengths[0]
    rest = np.array(lengths[1:])
    scatter = 1.4826 * float(np.median(np.abs(rest - np.median(rest))))
    return max(lengths[0] - float(rest.min()), 0.0) + scatter


def _last(edges: tuple[_Edge | None, ...], at: float) -> _Edge | None:
    """The last of them before a moment."""
    return next((edge for edge in reversed(edges) if edge is None or edge[0] <= at), None)


def _first(edges: tuple[_Edge | None, ...], at: float) -> _Edge | None:
    """The first of them after a moment."""
    return next((edge for edge in edges if edge is None or edge[1] >= at), None)


def _level(watts: Floats, idle: float) -> float:
    """What it draws while something runs: the middle of all that is no idling."""
    top = float(np.percentile(watts, 95))
    some = watts[watts > idle + _MUCH * (top - idle)]
    return float(np.median(some)) if len(some) else top


def _runs(on: Bools, at: Floats, longest: float) -> tuple[list[tuple[int, int]], float]:
    """(first and last reading of each run of what is on, the longest pause within one)."""
    rows = np.flatnonzero(on)
    if not len(rows):
        return [], 0.0
    gaps = np.diff(at[rows])
    off = np.diff(rows) > 1
    apart = (np.diff(rows) > _LEAST) & (gaps > longest)
    cuts = np.flatnonzero(apart)
    first, last = np.concatenate([rows[:1], rows[cuts + 1]]), np.append(rows[cuts], rows[-1])
    return list(zip(first.tolist(), last.tolist(), strict=True)), float(
        gaps[off & ~apart].max(initial=0.0)
    )


def _crossing(
    at: Floats, watts: Floats, row: int, way: int, idle: float
) -> tuple[float, float] | None:
    """(earliest, latest) moment of the edge beyond `row`, by a quarter and three quarters of what
    is drawn right inside it.
    """
    outside = len(watts) - 1 - row if way > 0 else row
    if outside < _LEAST:
        return None
    inside = watts[max(row - 6, 0) : row + 1] if way > 0 else watts[row : row + 7]
    level = float(np.median(inside))
    moments = []
    for share in (0.25, 0.75):
        wanted = idle + share * (level - idle)
        here = row
        while (
            0 < here < len(watts) - 1 and watts[here] < wanted
        ):  # into the run, to the first reading that is as high
            here -= way
        there = min(max(here + way, 0), len(watts) - 1)
        drop = float(watts[here] - watts[there])
        part = float(np.clip((watts[here] - wanted) / drop, 0.0, 1.0)) if drop > 0 else 0.5
        moments.append(float(at[here] + part * (at[there] - at[here])))
    return min(moments), max(moments)

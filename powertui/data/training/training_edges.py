"""Bounds for the offset of a log, by where its power rises and falls around a training.

They are for trainings of which only epochs are known.

At the training's last record the program still ran, so the power fell then or later: after it a
program may save or evaluate, for nobody knows how long. By its first record, and what starting
took, it ran, so the power had risen by then or before: a program that reads its data draws power,
too. The two leave an interval as long as what the program did before and after. Where within it the
log lies no reading tells, however alike its epochs look at one of these places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats


@dataclass(frozen=True)
class _EdgeRules:
    """When power counts as risen or fallen.

    Shares named `..._swing` are of what the training draws above the idle machine. The values are
    chosen; what half and twice of them do was not measured.
    """

    running_swing: float = 0.1  # drawing more than this, something still runs
    pause_swing: float = 0.25  # drawing less than this may be a pause
    training_swing: float = 0.5  # drawing this much, it trains or is about to
    min_end_readings: int = 2  # so many readings of the idle machine show an end
    max_pause_epochs: float = 0.5  # power that stays away for longer has ended
    pause_margin: float = 1.2  # the pause at the end may be longer than the longest one within
    spare_s: float = 0.05  # records are written and sensors see a change so late ...
    spare_refreshes: float = 0.25  # ... and so late
    wider_share: float = 0.1  # of the interval: it is widened by this on either side
    min_swing_quanta: float = 4.0  # below this, power does not tell training from idling
    min_swing_share: float = 0.03  # of the level: likewise
    only_epoch_starting: float = 0.5  # of a single epoch: starting took at most this


_RULES = _EdgeRules()


class OffsetBounds(NamedTuple):
    """The offsets (s) in question. A bound is None where that end is not in the log.

    The likeliest offset is the one at which nothing ran after the training; where that end is not
    in the log, the one at which little ran before it.
    """

    lo: float | None
    hi: float | None
    likely: float | None

    @property
    def complete(self) -> bool:
        """Whether both ends are in the log."""
        return self.lo is not None and self.hi is not None


_Edge = tuple[float, float]  # as early and as late as readings allow, s


class PowerEdges(NamedTuple):
    """When power rose and fell for longer, on the log's own clock."""

    rises: tuple[_Edge | None, ...]  # to what training draws; None: the log begins within it
    falls: tuple[_Edge | None, ...]  # to the idle machine
    pause: float  # the longest time within that may have drawn no more than the idle machine


def usual_epoch_s(epochs: list[tuple[float, float]]) -> float:
    """How long an epoch usually takes, s. The first one also holds what starting took."""
    lengths = [hi - lo for lo, hi in epochs]
    return float(np.median(lengths[1:] or lengths))


def find_power_edges(data: Samples, epochs: list[tuple[float, float]]) -> PowerEdges | None:
    """When anything ran; None where power does not tell a program from the idle machine."""
    if len(data) < 2 * _RULES.min_end_readings + 1:
        return None
    idle = float(np.percentile(data.watts, 2))
    middle = (data.lo + data.hi) / 2
    high = _running_level(data.watts, idle)
    swing = high - idle
    if swing < max(_RULES.min_swing_quanta * data.quantum, _RULES.min_swing_share * high):
        return None
    longest = max(
        _RULES.max_pause_epochs * usual_epoch_s(epochs), _RULES.min_end_readings * data.refresh
    )
    noise = 1.4826 * float(np.median(np.abs(np.diff(data.watts)))) if len(data) > 2 else 0.0
    running = max(
        _RULES.running_swing * swing,
        min(4 * noise, _RULES.training_swing / 2 * swing),
        1.5 * data.quantum,
    )
    at_work = max(running, _RULES.pause_swing * swing)
    runs, _ = _runs(data.watts > idle + running, middle, longest)
    _, pause = _runs(data.watts > idle + at_work, middle, longest)
    training, _ = _runs(data.watts > idle + _RULES.training_swing * swing, middle, longest)
    rises = tuple(_crossing(middle, data.watts, first, -1, idle) for first, _ in training)
    falls = tuple(_crossing(middle, data.watts, last, 1, idle) for _, last in runs)
    return PowerEdges(rises, falls, _RULES.pause_margin * pause)


def offset_of_only_run(edges: PowerEdges, epochs: list[tuple[float, float]]) -> float | None:
    """The offset at which all that ran is this training; None where that cannot be.

    It has to be one run that is as long as the training: at most half an epoch and what starting
    took longer, at most half an epoch shorter.
    """
    if len(edges.rises) != 1 or len(edges.falls) != 1:
        return None
    rise_edge, fall_edge = edges.rises[0], edges.falls[0]
    if rise_edge is None or fall_edge is None:
        return None
    rise, fall = sum(rise_edge) / 2, sum(fall_edge) / 2
    begin, end = epochs[0][0], epochs[-1][1]
    longer = fall - rise - (end - begin)
    half_epoch = usual_epoch_s(epochs) / 2
    if not -half_epoch - _starting_s(epochs) < longer < half_epoch:
        return None
    return end - fall


def offset_bounds(
    data: Samples, edges: PowerEdges, epochs: list[tuple[float, float]], offset: float
) -> OffsetBounds:
    """Between which offsets near `offset` the ends of the training allow the log to lie."""
    starting = _starting_s(epochs)
    spare = data.age_s + _RULES.spare_s + _RULES.spare_refreshes * data.refresh
    begin, end = epochs[0][0], epochs[-1][1]
    # In each case the edge of this run and not of another: the middle of the outer epochs parts
    # them.
    first_middle = epochs[0][1] - usual_epoch_s(epochs) / 2
    last_middle = (epochs[-1][0] + end) / 2
    rise = _last_before(edges.rises, first_middle - offset)
    fall = _first_after(edges.falls, last_middle - offset)
    hidden = max(edges.pause, data.refresh / 2)
    lo = hi = None
    if fall is not None:
        lo = end - fall[1] - hidden - spare
    if rise is not None:
        hi = begin - rise[0] + starting + spare + data.older_s
    if lo is not None and hi is not None:
        wider = _RULES.wider_share * max(hi - lo, 0.0)
    else:
        wider = _RULES.wider_share * (hidden + starting)
    likely = None
    if fall is not None:
        likely = end - sum(fall) / 2
    elif rise is not None:
        likely = begin - sum(rise) / 2 + starting / 2
    return OffsetBounds(
        lo - wider if lo is not None else None, hi + wider if hi is not None else None, likely
    )


def _starting_s(epochs: list[tuple[float, float]]) -> float:
    """How long starting took at most, by how much longer the first epoch is than the others."""
    lengths = [hi - lo for lo, hi in epochs]
    if len(lengths) < 2:
        return _RULES.only_epoch_starting * lengths[0]
    rest = np.array(lengths[1:])
    scatter = 1.4826 * float(np.median(np.abs(rest - np.median(rest))))
    return max(lengths[0] - float(rest.min()), 0.0) + scatter


def _last_before(edges: tuple[_Edge | None, ...], moment: float) -> _Edge | None:
    """The last edge before a moment; None where the log begins within that run."""
    for edge in reversed(edges):
        if edge is None or edge[0] <= moment:
            return edge
    return None


def _first_after(edges: tuple[_Edge | None, ...], moment: float) -> _Edge | None:
    """The first edge after a moment; None where the log ends within that run."""
    for edge in edges:
        if edge is None or edge[1] >= moment:
            return edge
    return None


def _running_level(watts: Floats, idle: float) -> float:
    """The median power while something runs."""
    top = float(np.percentile(watts, 95))
    busy = watts[watts > idle + _RULES.training_swing * (top - idle)]
    return float(np.median(busy)) if len(busy) else top


def _runs(on: Bools, at: Floats, longest: float) -> tuple[list[tuple[int, int]], float]:
    """(first and last reading of each run of what is on, the longest pause within one, s)."""
    rows = np.flatnonzero(on)
    if not len(rows):
        return [], 0.0
    gaps = np.diff(at[rows])
    off = np.diff(rows) > 1
    ended = (np.diff(rows) > _RULES.min_end_readings) & (gaps > longest)
    cuts = np.flatnonzero(ended)
    first = np.concatenate([rows[:1], rows[cuts + 1]])
    last = np.append(rows[cuts], rows[-1])
    runs = list(zip(first.tolist(), last.tolist(), strict=True))
    longest_pause = float(gaps[off & ~ended].max(initial=0.0))
    return runs, longest_pause


def _crossing(
    at: Floats, watts: Floats, row: int, way: int, idle: float
) -> tuple[float, float] | None:
    """(earliest, latest) moment of the edge beyond `row`; None where the log ends there.

    These are the moments at which power crosses a quarter and three quarters of what is drawn right
    inside the run. `way` is 1 for an edge after the row and -1 for one before it.
    """
    outside = len(watts) - 1 - row if way > 0 else row
    if outside < _RULES.min_end_readings:
        return None
    inside = watts[max(row - 6, 0) : row + 1] if way > 0 else watts[row : row + 7]
    level = float(np.median(inside))
    moments = []
    for share in (0.25, 0.75):
        threshold = idle + share * (level - idle)
        # The edge itself may still be low: go into the run, to the first reading as high as this.
        inner = row
        while 0 < inner < len(watts) - 1 and watts[inner] < threshold:
            inner -= way
        outer = min(max(inner + way, 0), len(watts) - 1)
        drop = float(watts[inner] - watts[outer])
        part = float(np.clip((watts[inner] - threshold) / drop, 0.0, 1.0)) if drop > 0 else 0.5
        moments.append(float(at[inner] + part * (at[outer] - at[inner])))
    return min(moments), max(moments)

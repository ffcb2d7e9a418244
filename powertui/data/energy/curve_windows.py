"""What the curves of channels say of windows: energy, holes, slopes and changes, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from powertui.data import student
from powertui.data.energy import curve as curves
from powertui.data.energy import rounding, settings
from powertui.data.energy.curve import Curve
from powertui.data.energy.edge_steps import moved_to_steps
from powertui.data.energy.energy_budget import (
    FAR_REFRESHES,
    NEAR_REFRESHES,
    STEADY_CHANGE_FACTOR,
    CurveFigures,
)
from powertui.data.energy.rounding import Steady
from powertui.data.model import PS_PER_S, Bools, Floats, Int32s, Int64s, PowerKind
from powertui.named_tuples import NamedTuple

_EDGE_ENTRIES = 10  # of each window in `_Windows.edges`
_MAX_REACH_PS = 1 << 60  # from any moment, this far either way fits into 64 bits


class WindowEntries(NamedTuple):
    """Entries of one curve for its windows, end to end: ten, eight, two or one for each."""

    reading: curves.CurveEntries  # ten
    bridged: tuple[Floats, Floats, Floats]  # two: J in holes, its variance, s² of them
    cut: Floats  # two
    steep: Floats  # eight: from and to near a, near b, far around a, far around b
    reached: Floats  # four: the shares of these that are within the log
    # One: the variance of a change of which the log says nothing, as a share of the power squared;
    # 0 of readings that are no counter's.
    unseen_share: float
    isolated: Floats  # two: of the slope far around each edge, what its two largest changes are
    moved: Floats  # two
    turned: Floats  # two
    runs: Int32s  # two
    held: Floats  # two
    steps: Steady | None  # how long it read each of its steps …
    read: tuple[Int64s, Int64s]  # one each: … from and to which knot
    peak: list[float]  # one
    pairs: Int64s  # one: differences within
    inside: Bools  # two: the edge lies within the curve


class _Windows(NamedTuple):
    """Where windows lie among the knots of a curve: the same for all channels that share their
    knots.
    """

    edges: curves.Spot  # a, b, and each a reading and two readings earlier and later
    around: Int64s  # knots from and to which the slope near and far around an edge counts
    reached: Floats  # the shares of these times that are within the log
    held: tuple[Int64s, Floats]  # a and b among the readings that hold
    moved: Int64s  # knots from and to which differences count
    pairs: Int64s  # how many those are
    runs: Int64s  # and changes
    read: tuple[Int64s, Int64s]  # and how long each step was read
    ranges: list[tuple[int, int]]  # knots inside
    inside: Bools


WindowCache = dict[tuple[int, int, int, float], _Windows]


def _windows(curve: Curve, a: Int64s, b: Int64s) -> _Windows:
    knots = curve.knots
    count = len(a)
    both = np.concatenate((a, b))
    # A step is smeared over that much on either side.
    reach = _reach_ps(curve, 1.0)
    beside = _moments_around(a, b, reach)
    beyond = _moments_around(a, b, 2 * reach)
    edges = curves.spot(knots, np.concatenate((both, *beside, *beyond)))
    row_a = edges.row[:count]
    row_b = edges.row[count : 2 * count]
    first_inside = row_a + (knots[row_a] < a)
    end_inside = row_b + 1 + (knots[-1] <= b)
    # The segment that b cuts counts with its end.
    ends_moving = np.maximum(row_b + (knots[row_b] < b), row_a)
    last = np.maximum(row_a, row_b)
    near = _moments_around(a, b, _reach_ps(curve, NEAR_REFRESHES))
    far = _moments_around(a, b, _reach_ps(curve, FAR_REFRESHES))
    moments = np.concatenate((*near, *far))
    around = knots.searchsorted(moments)
    ranges = zip(first_inside.tolist(), end_inside.tolist(), strict=True)
    return _Windows(
        edges=edges,
        around=np.minimum(around, len(knots) - 1),
        reached=_shares_within(knots, moments),
        held=curve.held_at(both),
        moved=np.concatenate((row_a, ends_moving)),
        pairs=ends_moving - row_a,
        runs=np.concatenate((row_a, last)),
        read=(row_a, last + 1),
        ranges=list(ranges),
        inside=edges.inside[: 2 * count] == both,
    )


def _moments_around(a: Int64s, b: Int64s, reach: int) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """So far before and after both edges of each window."""
    return a - reach, a + reach, b - reach, b + reach


def _shares_within(knots: Int64s, moments: Int64s) -> Floats:
    """Of each time around an edge, the share that is within the log."""
    begins, ends = moments.reshape(4, 2, -1).swapaxes(0, 1)
    within = np.minimum(ends, knots[-1]) - np.maximum(begins, knots[0])
    shares = within / np.maximum(ends - begins, 1)
    at_least: Floats = np.maximum(shares, settings.MINOR_SHARE)
    return at_least.ravel()


def _reach_ps(curve: Curve, times: float) -> int:
    """So many times what a step is smeared over."""
    reach_ps = round(times * curve.smeared_s * PS_PER_S)
    return min(reach_ps, _MAX_REACH_PS)


def entries_at(
    curve: Curve,
    a: Int64s,
    b: Int64s,
    memo: WindowCache,
) -> WindowEntries:
    """What one curve says of windows; `memo` holds where they are among knots that are shared."""
    key = (id(curve.knots), id(curve.hold_at), curve.hold_end, curve.smeared_s)
    at = memo.get(key)
    if at is None:
        at = _windows(curve, a, b)
        memo[key] = at
    count = len(at.inside)
    return WindowEntries(
        reading=curve.read(at.edges),
        bridged=curve.bridged(at.edges, count),
        cut=curve.cuts(at.edges, count),
        steep=curve.steep[at.around],
        reached=at.reached,
        unseen_share=_unseen_share(curve),
        isolated=curve.isolated(*_far_around(at.around)),
        moved=curve.squares[at.moved],
        turned=curve.turns[at.moved],
        runs=curve.changes[at.runs],
        held=curve.held(*at.held),
        steps=curve.steps,
        read=at.read,
        peak=curve.peaks_of(at.ranges),
        pairs=at.pairs,
        inside=at.inside,
    )


def _unseen_share(curve: Curve) -> float:
    """A counter's few intervals may all be alike by chance, each with a start and an end of work
    within. So one more change counts, as large as they are in other logs.
    """
    is_short = len(curve.knots) <= 2 * FAR_REFRESHES
    if curve.kind is not PowerKind.INTERVAL or not is_short:
        return 0.0
    return settings.BORROWED_ERROR_SHARE**2 / len(curve.knots)


def _far_around(around: Int64s) -> tuple[Int64s, Int64s]:
    """The knots from and to which the slope far around both edges of each window counts."""
    rows = around.reshape(8, -1)
    return rows[4::2].ravel(), rows[5::2].ravel()


class _Table(NamedTuple):
    """The same of many windows of one channel, or of one window of many: rows are the entries of a
    window.
    """

    reading: curves.CurveEntries
    bridged: Sequence[Floats]
    cut: Floats
    steep: Floats
    reached: Floats
    unseen_share: Floats
    isolated: Floats
    moved: Floats
    turned: Floats
    runs: Int32s
    held: Floats
    pairs: Int64s
    inside: Bools
    alike: Floats
    peak: Floats


def _of_windows(look: WindowEntries) -> _Table:
    count = len(look.peak)
    if look.steps is not None:
        alike = look.steps.alike(*look.read)
    else:
        alike = np.zeros(count)
    return _Table(
        reading=look.reading.shaped(_EDGE_ENTRIES, -1),
        bridged=[column.reshape(2, -1) for column in look.bridged],
        cut=look.cut.reshape(2, -1),
        steep=look.steep.reshape(8, -1),
        reached=look.reached.reshape(4, -1),
        unseen_share=np.array([look.unseen_share]),
        isolated=look.isolated.reshape(2, -1),
        moved=look.moved.reshape(2, -1),
        turned=look.turned.reshape(2, -1),
        runs=look.runs.reshape(2, -1),
        held=look.held.reshape(2, -1),
        pairs=look.pairs.reshape(1, -1),
        inside=look.inside.reshape(2, -1),
        alike=alike,
        peak=np.array(look.peak),
    )


def _of_channels(looks: Sequence[WindowEntries]) -> _Table:
    readings = zip(*(look.reading for look in looks), strict=True)
    bridged = zip(*(look.bridged for look in looks), strict=True)
    windows_read = []
    for look in looks:
        first, last = look.read
        windows_read.append((look.steps, int(first[0]), int(last[0])))
    return _Table(
        reading=curves.CurveEntries(*(_side_by_side(column) for column in readings)),
        bridged=[_side_by_side(column) for column in bridged],
        cut=_side_by_side([look.cut for look in looks]),
        steep=_side_by_side([look.steep for look in looks]),
        reached=_side_by_side([look.reached for look in looks]),
        unseen_share=np.array([look.unseen_share for look in looks]),
        isolated=_side_by_side([look.isolated for look in looks]),
        moved=_side_by_side([look.moved for look in looks]),
        turned=_side_by_side([look.turned for look in looks]),
        runs=_side_by_side([look.runs for look in looks]),
        held=_side_by_side([look.held for look in looks]),
        pairs=_side_by_side([look.pairs for look in looks]),
        inside=_side_by_side([look.inside for look in looks]),
        alike=rounding.alike(windows_read),
        peak=np.array([look.peak[0] for look in looks]),
    )


def _side_by_side(columns: Sequence[Any]) -> Any:
    """What each channel says, side by side; one column of length 1 where all share the same object.

    That saves a table of zeros for logs without holes; `CurveFigures` says what it asks of readers.
    """
    first = columns[0]
    if all(column is first for column in columns):
        return first[:, None]
    return np.array(columns).T


def curve_figures(looks: Sequence[WindowEntries]) -> CurveFigures:
    """The arithmetic, once: for many windows of one channel, or for one window of many."""
    if len(looks) > 1:
        table = _of_channels(looks)
    else:
        table = _of_windows(looks[0])
    reading = table.reading
    inside = table.inside
    energy, covered, watts = curves.place(reading)
    # An edge on known ground counts for the maximum, too.
    is_on_known_ground = reading.known[:2] & inside
    known_w = np.where(is_on_known_ground, watts[:2], np.nan)
    at_edges = np.fmax.reduce(known_w)
    near, far, around = _steepness(table)
    since_last = (reading.inside[:2] - reading.start[:2]) / PS_PER_S
    to_next = (reading.end[:2] - reading.inside[:2]) / PS_PER_S
    filled, opened, lost = table.bridged
    return CurveFigures(
        joules=_gained(energy),
        stepped=moved_to_steps(reading, energy, watts),
        length=_gained(covered),
        within=_gained(reading.inside) / PS_PER_S,
        filled=_gained(filled),
        opened=_gained(opened),
        lost=_gained(lost),
        steep=np.maximum(near, around) + table.unseen_share * watts[:2] ** 2,
        far=far,
        inner=np.where(inside, since_last * to_next, 0.0),
        cut=table.cut,
        before=watts[2] - watts[4],
        after=watts[3] - watts[5],
        at_a=watts[0],
        at_b=watts[1],
        moved=_gained(table.moved),
        turned=_gained(table.turned),
        pairs=table.pairs[0],
        runs=_gained(table.runs) + 1.0,
        alike=table.alike,
        held=_gained(table.held),
        peak=np.fmax(table.peak, at_edges),
    )


def _gained(rows: Any) -> Any:
    """From the beginning of each window to its end: rows are what is summed up to either."""
    return rows[1] - rows[0]


def _steepness(table: _Table) -> tuple[Floats, Floats, Floats]:
    """The slope near and far around each edge, and far around it without a change of level."""
    slopes = table.steep[1::2] - table.steep[::2]
    far = slopes[2:] / (2 * FAR_REFRESHES)
    # Before the log begins and after it ends nobody knows what changed.
    near_read = 2 * NEAR_REFRESHES * table.reached[:2]
    far_read = 2 * FAR_REFRESHES * table.reached[2:]
    near = slopes[:2] / near_read
    every_change = slopes[2:] / far_read
    # A counter's change of level shows in its two intervals: where it is beside the edge it leaves
    # nothing open at the edge. The other changes show how the power moves within an interval.
    unisolated = STEADY_CHANGE_FACTOR * (slopes[2:] - table.isolated) / far_read
    # Of few changes two are no exception.
    are_many = far_read > settings.MIN_SAMPLE_VALUES
    around = np.where(are_many, np.minimum(every_change, unisolated), every_change)
    return near, far, around * _chance(far_read)


def _chance(changes: Floats) -> Floats:
    """By how much few changes may be smaller by chance than those that nobody saw."""
    usual = student.variance(np.array(2 * FAR_REFRESHES))
    return np.asarray(student.variance(changes) / usual)

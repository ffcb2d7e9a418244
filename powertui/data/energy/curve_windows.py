"""What the curves of channels say of windows: energy, holes, slopes and changes, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from powertui.data.energy import curve as curves
from powertui.data.energy import rounding
from powertui.data.energy.curve import Curve
from powertui.data.energy.edge_steps import moved_to_steps
from powertui.data.energy.energy_budget import FAR_REFRESHES, NEAR_REFRESHES, CurveFigures
from powertui.data.energy.rounding import Steady
from powertui.data.model import PS_PER_S, Bools, Floats, Int32s, Int64s

_EDGE_ENTRIES = 10  # of each window in `_Windows.edges`
_MAX_REACH_PS = 1 << 60  # from any moment, this far either way fits into 64 bits


class WindowEntries(NamedTuple):
    """Entries of one curve for its windows, end to end: ten, eight, two or one for each."""

    reading: curves.CurveEntries  # ten
    bridged: tuple[Floats, Floats, Floats]  # two: J in holes, its variance, s² of them
    cut: Floats  # two
    steep: Floats  # eight: from and to near a, near b, far around a, far around b
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
    held: tuple[Int64s, Floats]  # a and b among the readings that hold
    moved: Int64s  # knots from and to which differences count
    pairs: Int64s  # how many those are
    runs: Int64s  # and changes
    read: tuple[Int64s, Int64s]  # and how long each step was read
    ranges: list[tuple[int, int]]  # knots inside
    inside: Bools


WindowCache = dict[tuple[int, int, int, float], _Windows]


def _windows(curve: Curve, a: Int64s, b: Int64s) -> _Windows:
    count = len(a)
    reach = min(
        round(curve.smeared_s * PS_PER_S), _MAX_REACH_PS
    )  # a step is smeared over that much on either side
    both = np.concatenate((a, b))
    beside = [side + step * reach for side in (a, b) for step in (-1, 1)]
    beyond = [side + step * reach for side in (a, b) for step in (-2, 2)]
    edges = curves.spot(curve.knots, np.concatenate((both, *beside, *beyond)))
    ra, rb = edges.row[:count], edges.row[count : 2 * count]
    knots = curve.knots
    opens, ends = ra + (knots[ra] < a), rb + 1 + (knots[-1] <= b)
    near, far = (
        min(round(times * curve.smeared_s * PS_PER_S), _MAX_REACH_PS)
        for times in (NEAR_REFRESHES, FAR_REFRESHES)
    )
    last = np.maximum(ra, rb)
    around = np.concatenate(
        (a - near, a + near, b - near, b + near, a - far, a + far, b - far, b + far)
    )
    ends_moving = np.maximum(
        rb + (knots[rb] < b), ra
    )  # the segment that b cuts counts with its end
    return _Windows(
        edges=edges,
        around=np.minimum(knots.searchsorted(around), len(knots) - 1),
        held=curve.held_at(both),
        moved=np.concatenate((ra, ends_moving)),
        pairs=ends_moving - ra,
        runs=np.concatenate((ra, last)),
        read=(ra, last + 1),
        ranges=list(zip(opens.tolist(), ends.tolist(), strict=True)),
        inside=edges.inside[: 2 * count] == both,
    )


def entries_at(curve: Curve, a: Int64s, b: Int64s, memo: WindowCache) -> WindowEntries:
    """What one curve says of windows; `memo` holds where they are among knots that are shared."""
    key = (id(curve.knots), id(curve.hold_at), curve.hold_end, curve.smeared_s)
    at = memo.get(key)
    if at is None:
        at = memo[key] = _windows(curve, a, b)
    return WindowEntries(
        curve.read(at.edges),
        curve.bridged(at.edges, len(at.inside)),
        curve.cuts(at.edges, len(at.inside)),
        curve.steep[at.around],
        curve.squares[at.moved],
        curve.turns[at.moved],
        curve.changes[at.runs],
        curve.held(*at.held),
        curve.steps,
        at.read,
        curve.peaks_of(at.ranges),
        at.pairs,
        at.inside,
    )


def _side_by_side(columns: Sequence[Any]) -> Any:
    """What each channel says, side by side; as one column where they share it."""
    first = columns[0]
    return first[:, None] if all(column is first for column in columns) else np.array(columns).T


def curve_figures(looks: Sequence[WindowEntries]) -> CurveFigures:
    """The arithmetic, once: for many windows of one channel, or for one window of many."""
    if len(looks) > 1:
        columns: list[Any] = [
            _side_by_side(column) for column in zip(*(look.reading for look in looks), strict=True)
        ]
        reading = curves.CurveEntries(*columns)
        bridged = [
            _side_by_side(column) for column in zip(*(look.bridged for look in looks), strict=True)
        ]
        cut, steep, moved, turned, runs, held, pairs, inside = (
            _side_by_side([getattr(look, name) for look in looks])
            for name in ("cut", "steep", "moved", "turned", "runs", "held", "pairs", "inside")
        )
        alike = rounding.alike(
            [(look.steps, int(look.read[0][0]), int(look.read[1][0])) for look in looks]
        )
        peak = np.array([look.peak[0] for look in looks])
    else:
        look = looks[0]
        reading = look.reading.shaped(_EDGE_ENTRIES, -1)
        steep = look.steep.reshape(8, -1)
        bridged = [column.reshape(2, -1) for column in look.bridged]
        cut, moved, turned, runs, held, inside = (
            column.reshape(2, -1)
            for column in (look.cut, look.moved, look.turned, look.runs, look.held, look.inside)
        )
        alike = look.steps.alike(*look.read) if look.steps is not None else np.zeros(len(look.peak))
        peak, pairs = np.array(look.peak), look.pairs.reshape(1, -1)
    energy, covered, watts = curves.place(reading)
    moved_edges = moved_to_steps(reading, energy, watts)
    on_known_ground = (
        reading.known[:2] & inside
    )  # an edge that lies on known ground counts for the maximum, too
    peak = np.fmax(peak, np.fmax.reduce(np.where(on_known_ground, watts[:2], np.nan)))
    slopes = steep[1::2] - steep[::2]
    since_last, to_next = (
        (reading.inside[:2] - reading.start[:2]) / PS_PER_S,
        (reading.end[:2] - reading.inside[:2]) / PS_PER_S,
    )
    return CurveFigures(
        joules=energy[1] - energy[0],
        sharpened=moved_edges,
        length=covered[1] - covered[0],
        within=(reading.inside[1] - reading.inside[0]) / PS_PER_S,
        filled=bridged[0][1] - bridged[0][0],
        opened=bridged[1][1] - bridged[1][0],
        lost=bridged[2][1] - bridged[2][0],
        steep=np.maximum(slopes[:2] / (2 * NEAR_REFRESHES), slopes[2:] / (2 * FAR_REFRESHES)),
        inner=np.where(inside, since_last * to_next, 0.0),
        cut=cut,
        before=watts[2] - watts[4],
        after=watts[3] - watts[5],
        at_a=watts[0],
        at_b=watts[1],
        moved=moved[1] - moved[0],
        turned=turned[1] - turned[0],
        pairs=pairs[0],
        runs=runs[1] - runs[0] + 1.0,
        alike=alike,
        held=held[1] - held[0],
        peak=peak,
    )

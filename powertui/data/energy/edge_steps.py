"""A step of power beside the edge of a window, put where the readings say that it was.

Readings are drawn as a straight line from one to the next, which smears a step over two of them. An
epoch or a profile begins and ends with a step of power: there the straight line puts part of the
energy outside, always on the same side. Means tell where within them the step was, as they hold the
energy of what lay before it and after it. Readings of moments do not: where one clear step lies
beside the edge of a window, it is taken to be at that edge, because what a window is of is what
changed the power. Half of what that moves is moved: straight lines are off by up to half of the
step times the time between two readings, and always to one side, this by a quarter to either side,
and windows add up. Where the profile itself begins or ends, all of it is moved: nothing that runs
is known beside it, and a clear step in just that gap is its own. The interval stays as wide as if
nothing were known of it.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.curve import CurveEntries
from powertui.data.model import PS_PER_S, Bools, Floats
from powertui.named_tuples import NamedTuple

_EDGES = 2  # the beginning and the end of a window


class _Rows(NamedTuple):
    """Where the readings around an edge are among the rows of `moved_to_steps`."""

    edge: int
    before: int
    after: int
    far_before: int
    far_after: int


def _rows(edge: int) -> _Rows:
    before = _EDGES + 2 * edge
    far_before = 3 * _EDGES + 2 * edge
    return _Rows(
        edge=edge,
        before=before,
        after=before + 1,
        far_before=far_before,
        far_after=far_before + 1,
    )


class SteppedEdges(NamedTuple):
    """What the edges of windows gain where the power made a step beside them: [both edges, windows]
    each.
    """

    by_means: Floats  # J from the edge to where the straight lines put it, as means show the step
    share: Floats  # how clearly means show one step
    by_moments: Floats  # J, where the step was at the edge of the window
    # J, the same of an edge at which all that is known of the work begins or ends.
    by_border: Floats
    height: Floats  # W² of that step
    is_clear: Floats  # 1 where one clear step is between the two readings around the edge, else 0
    # s from the edge to the reading nearest to it, where the one clear step beside the edge is on
    # that reading's other side; infinite where it is not …
    away_s: Floats
    by_nearest: Floats  # … and J, as `by_border`, if that reading was taken across the edge


def moved_to_steps(reading: CurveEntries, energy: Floats, watts: Floats) -> SteppedEdges:
    """`reading`, `energy` and `watts` hold rows for a, b, each a reading before and after, and each
    two readings before and after.
    """
    shape = (_EDGES, *energy.shape[1:])
    edges = SteppedEdges(*(np.zeros(shape) for _ in SteppedEdges._fields))
    for edge in range(_EDGES):
        _move_to_step(edges, _rows(edge), reading, energy, watts)
    return edges


def _move_to_step(
    edges: SteppedEdges,
    rows: _Rows,
    reading: CurveEntries,
    energy: Floats,
    watts: Floats,
) -> None:
    """Fills in the row of one edge."""
    edge = rows.edge
    is_begin = edge == 0
    low_w = watts[rows.before]
    high_w = watts[rows.after]
    height_w = high_w - low_w
    at_edge = reading.inside[edge]
    past_s = (at_edge - reading.inside[rows.before]) / PS_PER_S
    left_s = (reading.inside[rows.after] - at_edge) / PS_PER_S
    between_s = past_s + left_s
    between_j = energy[rows.after] - energy[rows.before]
    drawn_j = energy[edge] - energy[rows.before]
    with np.errstate(divide="ignore", invalid="ignore"):
        # The step at which both levels give the energy between the two readings.
        step_s = (high_w * between_s - between_j) / height_w
        clearness = _clearness(watts, rows, height_w)
        across = (reading.right[edge] - reading.left[edge]) / height_w
    is_between = np.isfinite(step_s) & (step_s >= 0) & (step_s <= between_s)
    is_known = reading.known[[edge, rows.before, rows.after]].all(axis=0)
    is_step = is_between & is_known
    step_s = np.where(is_step, step_s, 0.0)
    low_j = low_w * np.minimum(past_s, step_s)
    high_j = high_w * np.maximum(past_s - step_s, 0.0)
    by_means_j = clearness * (low_j + high_j - drawn_j)
    edges.share[edge] = np.where(is_step, clearness, 0.0)
    edges.by_means[edge] = np.where(is_step, by_means_j, 0.0)

    # What lies on either side, if the step is at the edge: half of the difference is moved from
    # one side to the other, so that what both hold together stays as it is drawn.
    before_j = low_w * past_s - drawn_j
    after_j = high_w * left_s - (between_j - drawn_j)
    clear = clearness * np.maximum(1 - (across - 1) ** 2, 0.0)
    moved_j = clear * (before_j - after_j) / 2
    is_clear = is_known & np.isfinite(moved_j)
    by_moments_j = np.where(is_clear, moved_j, 0.0)
    inside_j = -after_j if is_begin else before_j
    is_surely_step = is_clear & (clear >= settings.NEARLY_ALL_SHARE)
    edges.by_moments[edge] = by_moments_j
    edges.by_border[edge] = np.where(is_surely_step, clear * inside_j, by_moments_j)
    edges.height[edge] = np.where(is_clear, height_w**2, 0.0)
    edges.is_clear[edge] = is_surely_step

    past_inside_j = np.zeros_like(drawn_j)
    following_inside_j = np.zeros_like(drawn_j)
    if is_begin:
        after_step_j = watts[rows.far_after] * left_s
        following_inside_j = between_j - drawn_j - after_step_j
    else:
        past_inside_j = watts[rows.far_before] * past_s - drawn_j
    past = _Beside(
        away_s=(at_edge - reading.start[edge]) / PS_PER_S,
        uneven_w=watts[rows.after] - watts[edge],
        inside_j=past_inside_j,
    )
    following = _Beside(
        away_s=(reading.end[edge] - at_edge) / PS_PER_S,
        uneven_w=watts[edge] - watts[rows.before],
        inside_j=following_inside_j,
    )
    is_open = is_known & ~is_surely_step
    away_s, gained_j = _nearest((past, following), height_w, is_open, clearness)
    edges.away_s[edge] = away_s
    edges.by_nearest[edge] = gained_j


class _Beside(NamedTuple):
    """A reading beside an edge, if the step is on its other side."""

    away_s: Floats  # from the edge
    uneven_w: Floats  # how much the power differs on this side, where it should be level
    inside_j: Floats  # J that the edge gains if the step was at it


def _nearest(
    readings: tuple[_Beside, _Beside],
    height_w: Floats,
    is_open: Bools,
    clearness: Floats,
) -> tuple[Floats, Floats]:
    """How far the reading is that has a clear step on its other side, and what the edge gains."""
    away_s = np.full(height_w.shape, np.inf)
    gained_j = np.zeros(height_w.shape)
    for beside in readings:
        with np.errstate(divide="ignore", invalid="ignore"):
            clear = clearness - (beside.uneven_w / height_w) ** 2
        is_clear = is_open & (clear >= settings.NEARLY_ALL_SHARE)
        is_nearer = is_clear & (beside.away_s < away_s)
        away_s = np.where(is_nearer, beside.away_s, away_s)
        gained_j = np.where(is_nearer, beside.inside_j, gained_j)
    return away_s, gained_j


def _clearness(watts: Floats, rows: _Rows, height_w: Floats) -> Floats:
    """1 where both sides are level, 0 where they vary by as much as the step is high."""
    uneven_before = watts[rows.far_before] - watts[rows.before]
    uneven_after = watts[rows.far_after] - watts[rows.after]
    uneven = uneven_before**2 + uneven_after**2
    clearness: Floats = np.maximum(1.0 - uneven / height_w**2, 0.0)
    return clearness

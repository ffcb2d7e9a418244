"""The same batches in another epoch: where a stretch of one epoch lies in the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from powertui.data.model import Int64s, Steps

if TYPE_CHECKING:
    from powertui.view.timeline_model import TimelineModel


def _paired_rows(
    model: TimelineModel,
    source: int,
    target: int,
) -> tuple[Int64s, Int64s]:
    """The rows of the steps that both epochs have, in step."""
    steps = model.steps
    source_rows = np.flatnonzero(steps.epoch == source)
    target_rows = np.flatnonzero(steps.epoch == target)
    _, source_pairs, target_pairs = np.intersect1d(
        steps.number[source_rows], steps.number[target_rows], return_indices=True
    )
    if not len(source_pairs):  # numbers that go on from epoch to epoch: paired in their order
        count = min(len(source_rows), len(target_rows))
        return source_rows[:count], target_rows[:count]
    return source_rows[source_pairs], target_rows[target_pairs]


def _knots(source: Int64s, target: Int64s) -> tuple[Int64s, Int64s]:
    """Moments that belong together, rising on both sides."""
    order = np.argsort(source, kind="stable")
    source = source[order]
    target = np.maximum.accumulate(target[order])
    is_first = np.ones(len(source), np.bool_)
    is_first[1:] = np.diff(source) > 0
    return source[is_first], target[is_first]


class EpochShift:
    """From the time of one epoch to the time of another, step by step.

    Steps pair by their numbers, or by their order where the numbers go on from epoch to epoch.
    Without steps in both, times count from the beginning of each.
    """

    def __init__(
        self,
        model: TimelineModel,
        source: int,
        target: int,
    ) -> None:
        source_rows, target_rows = _paired_rows(model, source, target)
        if len(source_rows):
            self._source, self._target = _knots(
                _edges(model.steps, source_rows), _edges(model.steps, target_rows)
            )
        else:
            self._source = _epoch_start(model, source)
            self._target = _epoch_start(model, target)

    def moved(self, ps: int) -> int:
        """Where a moment of the one epoch lies in the other."""
        source = self._source
        target = self._target
        if ps <= source[0]:
            return int(ps - source[0] + target[0])
        if ps >= source[-1]:
            return int(ps - source[-1] + target[-1])
        moved_ps = np.interp(ps, source, target)
        return round(float(moved_ps))


def _edges(steps: Steps, rows: Int64s) -> Int64s:
    starts = steps.start[rows]
    ends = steps.ends()[rows]
    return np.concatenate([starts, ends])


def _epoch_start(model: TimelineModel, epoch: int) -> Int64s:
    """The start as the only moment of an epoch; 0 where it is not known."""
    start = 0
    bounds = model.epoch_bounds(epoch)
    if bounds is not None:
        start, _ = bounds
    return np.array([start], np.int64)


def next_epoch_with_bounds(model: TimelineModel, epoch: int) -> int | None:
    """The epoch after this one, around the end; None without another."""
    count = len(model.epochs)
    for by in range(1, count):
        candidate = (epoch + by) % count
        if model.epoch_bounds(candidate) is not None:
            return candidate
    return None


def epoch_beside(model: TimelineModel, epoch: int, direction: int) -> int | None:
    """The next epoch of those whose bounds are known (+1), or the one before (-1)."""
    candidate = epoch + direction
    while 0 <= candidate < len(model.epochs):
        if model.epoch_bounds(candidate) is not None:
            return candidate
        candidate += direction
    return None


def marked_part(model: TimelineModel, window: tuple[int, int]) -> int | None:
    """The epoch of which a window holds a part; None for a whole epoch, and for what reaches beyond
    one.
    """
    lo, hi = window
    epoch = model.epoch_at((lo + hi) // 2)
    if epoch is None:
        return None
    bounds = model.epoch_bounds(epoch)
    if bounds is None:
        return None
    # As far as windows reach.
    first_ps, last_ps = model.span
    start = max(bounds[0], first_ps)
    end = min(bounds[1], last_ps)
    is_inside = start <= lo and hi <= end
    if is_inside and window != (start, end):
        return epoch
    return None

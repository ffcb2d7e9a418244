"""The same batches in another epoch: where a stretch of one epoch lies in the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from powertui.data.model import Int64s

if TYPE_CHECKING:
    from powertui.view.timeline_model import TimelineModel


def _paired_rows(model: TimelineModel, source: int, target: int) -> tuple[Int64s, Int64s]:
    """The rows of the steps that both epochs have, in step."""
    rows = [np.flatnonzero(model.steps.epoch == epoch) for epoch in (source, target)]
    numbers = [model.steps.number[part] for part in rows]
    _, mine, theirs = np.intersect1d(numbers[0], numbers[1], return_indices=True)
    if not len(mine):
        mine = theirs = np.arange(min(map(len, rows)))
    return rows[0][mine], rows[1][theirs]


def _knots(source: Int64s, target: Int64s) -> tuple[Int64s, Int64s]:
    """Moments that belong together, rising on both sides."""
    order = np.argsort(source, kind="stable")
    source, target = source[order], np.maximum.accumulate(target[order])
    is_first = np.ones(len(source), np.bool_)
    is_first[1:] = np.diff(source) > 0
    return source[is_first], target[is_first]


class EpochShift:
    """From the time of one epoch to the time of another, step by step.

    Steps pair by their numbers, or by their order where the numbers go on from epoch to epoch.
    Without steps in both, times count from the beginning of each.
    """

    def __init__(self, model: TimelineModel, source: int, target: int) -> None:
        steps = model.steps
        ends = steps.ends()
        rows = _paired_rows(model, source, target)
        self._from, self._to = _knots(
            np.concatenate([steps.start[rows[0]], ends[rows[0]]]),
            np.concatenate([steps.start[rows[1]], ends[rows[1]]]),
        )
        if not len(self._from):
            bounds = model.epoch_bounds(source), model.epoch_bounds(target)
            starts = np.array([pair[0] if pair is not None else 0 for pair in bounds], np.int64)
            self._from, self._to = starts[:1], starts[1:]

    def moved(self, ps: int) -> int:
        """Where a moment of the one epoch lies in the other."""
        if ps <= self._from[0]:
            return int(ps - self._from[0] + self._to[0])
        if ps >= self._from[-1]:
            return int(ps - self._from[-1] + self._to[-1])
        return round(float(np.interp(ps, self._from, self._to)))


def next_epoch_with_bounds(model: TimelineModel, epoch: int) -> int | None:
    """The epoch after this one, around the end; None without another."""
    count = len(model.epochs)
    others = ((epoch + by) % count for by in range(1, count))
    return next((other for other in others if model.epoch_bounds(other) is not None), None)

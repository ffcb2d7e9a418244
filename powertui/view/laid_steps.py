"""Two timelines laid on each other, step on step."""

from __future__ import annotations

import numpy as np

from powertui.data.model import Int64s
from powertui.errors import UsageError
from powertui.view.timeline_model import TimelineModel


class LaidSteps:
    """Which step of B each step of A is held against: by its number within the epoch, or by its
    place where no number is in both.
    """

    def __init__(
        self,
        models: tuple[TimelineModel, TimelineModel],
        bounds: tuple[tuple[int, int], tuple[int, int]],
    ) -> None:
        first, second = (
            _rows(model, *stretch) for model, stretch in zip(models, bounds, strict=True)
        )
        if not len(first) or not len(second):
            raise UsageError("Both timelines need steps to be laid on each other.")
        common, at_first, at_second = np.intersect1d(
            models[0].steps.number[first], models[1].steps.number[second], return_indices=True
        )
        is_numbered = len(common) > 1 and int(common.min()) >= 0
        if is_numbered:
            order = np.argsort(at_first)
            first = first[at_first[order]]
            second = second[at_second[order]]
        else:
            count = min(len(first), len(second))
            first = first[:count]
            second = second[:count]
        self._models = models
        self._rows = first, second
        self._starts = models[0].steps.start[first], models[1].steps.start[second]

    def moved(self, ps: int, side: int) -> int:
        """A moment of one side (0: A, 1: B) on the other: as far behind the start of the same step.

        Before the first step and behind the last one it is laid on that step.
        """
        pair = self._pair(ps, side)
        start = int(self._starts[side][pair])
        return int(self._starts[1 - side][pair]) + ps - start

    def words(self, ps: int, side: int) -> tuple[str, str]:
        """The steps of A and of B that are laid on each other at a moment of one side."""
        pair = self._pair(ps, side)
        first, second = (
            _step_words(model, int(rows[pair]))
            for model, rows in zip(self._models, self._rows, strict=True)
        )
        return first, second

    def _pair(self, ps: int, side: int) -> int:
        pair = int(self._starts[side].searchsorted(ps, side="right")) - 1
        return max(0, pair)


def _rows(model: TimelineModel, lo: int, hi: int) -> Int64s:
    """The steps that start within a stretch."""
    starts = model.steps.start
    return np.flatnonzero((starts >= lo) & (starts < hi))


def _step_words(model: TimelineModel, row: int) -> str:
    step = model.steps[row]
    name = f"step {step.number}" if step.number >= 0 else "a step"
    epoch = int(model.steps.epoch[row])
    if epoch >= 0 and len(model.epochs) > 1:
        name = f"epoch {model.epochs[epoch].number} {name}"
    return name

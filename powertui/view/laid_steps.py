"""Two timelines laid on each other, step on step."""

from __future__ import annotations

import numpy as np

from powertui.data.model import Int64s, Steps
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
        steps_a = models[0].steps
        steps_b = models[1].steps
        rows_a = _rows(steps_a, *bounds[0])
        rows_b = _rows(steps_b, *bounds[1])
        if not len(rows_a) or not len(rows_b):
            raise UsageError("Both timelines need steps to be laid on each other.")
        common, at_a, at_b = np.intersect1d(
            steps_a.number[rows_a],
            steps_b.number[rows_b],
            return_indices=True,
        )
        is_numbered = len(common) > 1 and int(common.min()) >= 0
        if is_numbered:
            order = np.argsort(at_a)
            rows_a = rows_a[at_a[order]]
            rows_b = rows_b[at_b[order]]
        else:
            count = min(len(rows_a), len(rows_b))
            rows_a = rows_a[:count]
            rows_b = rows_b[:count]
        self._models = models
        self._rows = (rows_a, rows_b)
        self._starts = (steps_a.start[rows_a], steps_b.start[rows_b])

    def moved(self, ps: int, side: int) -> int:
        """A moment of one side (0: A, 1: B) on the other: as far behind the start of the same step.

        Before the first step and behind the last one it is laid on that step.
        """
        pair = self._pair(ps, side)
        start_ps = int(self._starts[side][pair])
        other_side = 1 - side
        start_of_other_ps = int(self._starts[other_side][pair])
        return start_of_other_ps + ps - start_ps

    def words(self, ps: int, side: int) -> tuple[str, str]:
        """The steps of A and of B that are laid on each other at a moment of one side."""
        pair = self._pair(ps, side)
        model_a, model_b = self._models
        rows_a, rows_b = self._rows
        words_a = _step_words(model_a, int(rows_a[pair]))
        words_b = _step_words(model_b, int(rows_b[pair]))
        return words_a, words_b

    def _pair(self, ps: int, side: int) -> int:
        starts = self._starts[side]
        started = int(starts.searchsorted(ps, side="right"))
        return max(0, started - 1)


def _rows(steps: Steps, lo: int, hi: int) -> Int64s:
    """The steps that start within a stretch."""
    is_inside = (steps.start >= lo) & (steps.start < hi)
    return np.flatnonzero(is_inside)


def _step_words(model: TimelineModel, row: int) -> str:
    step = model.steps[row]
    name = "a step"
    if step.number >= 0:
        name = f"step {step.number}"
    index = int(model.steps.epoch[row])
    if index >= 0 and len(model.epochs) > 1:
        epoch = model.epochs[index]
        name = f"epoch {epoch.number} {name}"
    return name

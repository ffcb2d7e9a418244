"""Where a stretch is among the steps and epochs of a trace, and what it is compared with there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.energy.findings import epoch_differences, neighbours
from powertui.data.energy.findings.finding import Finding
from powertui.data.energy.fold import Folded
from powertui.data.model import Epochs, Floats, Int64s, Steps
from powertui.data.quantiles import median_of_column
from powertui.data.sorted_columns import are_among

_Stretch = tuple[int | None, int, int]  # epoch, start and end in ps


class StepPlaces:
    """The steps of one trace, with how long each usually takes."""

    def __init__(
        self,
        steps: Steps,
        epochs: Epochs,
        folded: Folded | None,
    ) -> None:
        self.steps = steps
        self.epochs = epochs
        self.folded = folded
        self.lengths = neighbours.seconds(steps)
        self._usual_lengths = _usual_lengths(steps, self.lengths, folded)

    def rows_inside(self, start: int, end: int) -> Int64s:
        """Steps at least half of which is in a stretch, or that contain half of it."""
        steps = self.steps
        if not len(steps):
            return np.empty(0, np.int64)
        ends = steps.ends()
        lengths = ends - steps.start
        overlap = np.minimum(ends, end) - np.maximum(steps.start, start)
        shorter = np.minimum(lengths, end - start)
        is_half_inside = 2 * overlap >= np.maximum(shorter, 1)
        return np.flatnonzero(is_half_inside)

    def placed(self, finding: Finding, rows: Int64s) -> Finding:
        """The same with its epoch and its steps, which are these rows."""
        if not len(rows):
            return replace(finding, epoch=self._epoch_around(finding))
        epoch_of_row = self.steps.epoch[rows]
        in_epochs = epoch_of_row[epoch_of_row >= 0]
        epoch = -1
        if len(in_epochs):
            epoch = int(np.bincount(in_epochs).argmax())
        rows_of_epoch = rows[epoch_of_row == epoch]
        first = int(rows_of_epoch[0])
        last = int(rows_of_epoch[-1])
        return replace(
            finding,
            epoch=self._epoch_number(epoch),
            step_lo=self._step_number(first, first),
            step_hi=self._step_number(last, first),
            elsewhere=self._same_steps_elsewhere(rows_of_epoch),
        )

    def extra_seconds(self, rows: Int64s) -> float | None:
        """Seconds that these steps took longer than usual; None where nothing is usual."""
        if len(rows):
            has_usual = np.isfinite(self._usual_lengths[rows])
            rows = rows[has_usual]
        if not len(rows):
            return None
        return neighbours.longer(self.lengths[rows], self._usual_lengths[rows])

    def are_stalls_in(self, finding: Finding, rows: Int64s) -> bool:
        """Whether these steps stall in a stretch of slower ones, whose seconds leave them out."""
        if finding.kind != "time" or not len(rows):
            return False
        inside = self.rows_inside(finding.start_ps, finding.end_ps)
        is_stall = neighbours.stalling(self.lengths[inside])
        return bool(np.isin(rows, inside[is_stall]).all())

    def _epoch_around(self, finding: Finding) -> int | None:
        """The epoch that contains the middle of a stretch without steps."""
        middle = (finding.start_ps + finding.end_ps) // 2
        for index in range(len(self.epochs)):
            bounds = self.epochs.bounds(index, self.steps)
            if bounds is None:
                continue
            begin, end = bounds
            if begin <= middle < end:
                return self._epoch_number(index)
        return None

    def epoch_span(self, number: int | None) -> tuple[int, int] | None:
        """From when to when (ps) the epoch of that number ran; None where that is not known."""
        for index in range(len(self.epochs)):
            if number is not None and self._epoch_number(index) == number:
                return self.epochs.bounds(index, self.steps)
        return None

    def _epoch_number(self, epoch: int) -> int | None:
        """The program's own number of an epoch."""
        if epoch < 0:
            return None
        if epoch < len(self.epochs):
            return self.epochs[epoch].number
        return epoch

    def _step_number(self, row: int, first: int) -> int:
        """The program's own number of a step, or how many steps it comes after the first."""
        number = int(self.steps.number[row])
        return number if number >= 0 else row - first

    def _same_steps_elsewhere(self, rows: Int64s) -> tuple[_Stretch, ...]:
        """The same steps of other epochs; without these as many steps before and after."""
        elsewhere = self._same_steps_of_other_epochs(rows)
        if elsewhere:
            return elsewhere
        starts = self.steps.start
        ends = self.steps.ends()
        count = len(rows)
        first = int(rows[0])
        last = int(rows[-1])
        around: list[_Stretch] = []
        for begin in (first - count, last + 1):
            end = begin + count
            if begin >= 0 and end <= len(starts):
                stretch = (None, int(starts[begin]), int(ends[end - 1]))
                around.append(stretch)
        return tuple(around)

    def _same_steps_of_other_epochs(self, rows: Int64s) -> tuple[_Stretch, ...]:
        folded = self.folded
        if folded is None:
            return ()
        is_here = are_among(folded.start, self.steps.start[rows])
        lines = np.flatnonzero(is_here.any(axis=1))
        if not len(lines):
            return ()
        line = int(lines[0])
        columns = np.flatnonzero(is_here[line])
        elsewhere: list[_Stretch] = []
        for another, number in enumerate(folded.epochs):
            starts = folded.start[another, columns]
            present = columns[starts >= 0]
            if another == line or not len(present):
                continue
            start = int(folded.start[another, present[0]])
            end = int(folded.end[another, present[-1]])
            elsewhere.append((number, start, end))
        return tuple(elsewhere)


def _usual_lengths(
    steps: Steps,
    lengths: Floats,
    folded: Folded | None,
) -> Floats:
    """How long each step usually takes: as in the other epochs, else as the others of its group.

    NaN where it traced.
    """
    usual = np.full(len(steps), np.nan)
    for rows in neighbours.groups(steps):
        regular_rows = rows[neighbours.regular(lengths[rows])]
        if len(regular_rows):
            usual[regular_rows] = median_of_column(lengths[regular_rows])
    if folded is None:
        return usual
    row_of_start = {start: row for row, start in enumerate(steps.start.tolist())}
    regular = np.isfinite(folded.seconds) & ~folded.tracing
    for line in range(len(folded.epochs)):
        elsewhere = epoch_differences.others(folded.seconds, regular, line)
        is_comparable = regular[line] & np.isfinite(elsewhere)
        for column in np.flatnonzero(is_comparable):
            start = int(folded.start[line, column])
            row = row_of_start[start]
            # A step that is not regular in its own group stays without a usual length.
            if np.isfinite(usual[row]):
                usual[row] = elsewhere[column]
    return usual

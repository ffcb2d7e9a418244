"""The epochs of one host, one row each: when each was, what shows so, its steps, and the scalars
that were logged at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data.by_number import ByNumber
from powertui.data.columns import Column, Field, columns_of, optional, text_column
from powertui.data.model import Epoch
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.tools.registry import Question
from powertui.data.window import touches
from powertui.named_tuples import NamedTuple
from powertui.plain import plain

_Bounds = tuple[int, int] | None  # begin and end, ps; None where nothing shows them


class _EpochRow(NamedTuple):
    """One epoch of the table. Times in ps."""

    epoch: Epoch
    bounds: _Bounds
    steps: int

    @property
    def start(self) -> int | None:
        """When it began: without bounds one end may be known all the same."""
        if self.bounds is None:
            return self.epoch.start
        return self.bounds[0]

    @property
    def end(self) -> int | None:
        if self.bounds is None:
            return self.epoch.end
        return self.bounds[1]

    @property
    def length(self) -> int | None:
        if self.start is None or self.end is None:
            return None
        return self.end - self.start


_FIELDS: tuple[Field[_EpochRow], ...] = (
    Field("number", "epoch", "integer", lambda row: row.epoch.number, weight=9, always=True),
    Field("start_s", "start", "instant", lambda row: row.start, weight=8),
    Field("end_s", "end", "instant", lambda row: row.end, weight=5),
    Field("duration_s", "duration", "duration", lambda row: row.length, weight=9),
    Field("slack_s", "±", "duration", lambda row: row.epoch.slack, weight=2, always=True),
    Field("steps", "steps", "integer", lambda row: row.steps, weight=7, always=True),
)


def answer(question: Question) -> Result:
    """The epochs that touch the window, by number; those without known bounds only where no window
    is named.
    """
    epochs = question.profile.epochs
    steps = question.profile.steps
    step_rows = ByNumber(steps.epoch, len(epochs))
    bounds = []
    for index in range(len(epochs)):
        bounds.append(epochs.bounds(index, steps, step_rows[index]))
    # Without a window epochs are listed, too, of which only a log is known.
    rows = list(range(len(epochs)))
    if question.lo is not None or question.hi is not None:
        rows = _rows_in_window(bounds, *question.window)
    listed = [
        _EpochRow(
            epoch=epochs[row],
            bounds=bounds[row],
            steps=len(step_rows[row]),
        )
        for row in rows
    ]

    def place(row: int) -> Place | None:
        span = listed[row].bounds
        if span is None:
            return None
        return Place(question.opened.name, question.host, *span)

    empty = "No epochs were found: nothing logs them, and no step number restarts."
    if len(epochs):
        empty = "No epoch touches this window."
    table = Table(
        id="epochs",
        title="Epochs",
        columns=tuple(_columns(listed)),
        place=place,
        order=("number", False),
        empty=empty,
        key=("number",),
        noun="epoch",
    )
    return Result(
        id="epochs",
        title="Epochs",
        tables=(table,),
        facts=(Fact("source", "evidence", epochs.source or None),),
    )


def _rows_in_window(bounds: Sequence[_Bounds], lo: int, hi: int) -> list[int]:
    """The epochs with known bounds that touch [lo, hi)."""
    rows = [row for row, span in enumerate(bounds) if span is not None]
    bounds_of_rows = [bounds[row] for row in rows]
    spans = np.array(bounds_of_rows, np.int64).reshape(-1, 2)
    starts, ends = spans.T
    touched = np.flatnonzero(touches(starts, ends, lo, hi))
    return [rows[place] for place in touched.tolist()]


def _columns(rows: Sequence[_EpochRow]) -> Iterator[Column]:
    yield from columns_of(rows, _FIELDS)
    values_by_epoch = [dict(row.epoch.scalars) for row in rows]
    tags = dict.fromkeys(tag for values in values_by_epoch for tag in values)
    for tag in tags:
        values_of_tag = [values.get(tag) for values in values_by_epoch]
        id = f"scalar:{plain(tag, 80)}"
        yield optional(id, plain(tag, 40), "number", values_of_tag, weight=4)
    yield text_column("source", "evidence", [row.epoch.source for row in rows], weight=3)

"""The epochs of one host, one row each: when each was, what shows so, its steps, and the scalars
that were logged at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data.by_number import ByNumber
from powertui.data.columns import Column, int_column, optional, text_column
from powertui.data.model import Epoch
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.tools.registry import Question
from powertui.data.window import touches
from powertui.plain import plain

_Bounds = tuple[int, int] | None  # begin and end, ps; None where nothing shows them


def answer(question: Question) -> Result:
    """The epochs that touch the window, by number; those without known bounds only where no window
    is named.
    """
    epochs = question.profile.epochs
    steps = question.profile.steps
    step_rows = ByNumber(steps.epoch, len(epochs))
    bounds = [epochs.bounds(index, steps, step_rows[index]) for index in range(len(epochs))]
    # Without a window epochs are listed, too, of which only a log is known.
    rows = list(range(len(epochs)))
    if question.lo is not None or question.hi is not None:
        rows = _rows_in_window(bounds, *question.window)
    step_counts = [len(step_rows[row]) for row in rows]
    listed = [epochs[row] for row in rows]
    columns = tuple(_columns(listed, [bounds[row] for row in rows], step_counts))

    def place(row: int) -> Place | None:
        span = bounds[rows[row]]
        if span is None:
            return None
        return Place(question.opened.name, question.host, *span)

    empty = "No epochs were found: nothing logs them, and no step number restarts."
    if len(epochs):
        empty = "No epoch touches this window."
    table = Table(
        "epochs",
        "Epochs",
        columns,
        place=place,
        order=("number", False),
        empty=empty,
        key=("number",),
        noun="epoch",
    )
    return Result(
        "epochs", "Epochs", (table,), (Fact("source", "evidence", epochs.source or None),)
    )


def _rows_in_window(bounds: Sequence[_Bounds], lo: int, hi: int) -> list[int]:
    """The epochs with known bounds that touch [lo, hi)."""
    rows = [row for row, span in enumerate(bounds) if span is not None]
    spans = np.array([bounds[row] for row in rows], np.int64).reshape(-1, 2)
    touched = np.flatnonzero(touches(spans[:, 0], spans[:, 1], lo, hi))
    return [rows[place] for place in touched.tolist()]


def _columns(
    epochs: Sequence[Epoch], bounds: Sequence[_Bounds], step_counts: Sequence[int]
) -> Iterator[Column]:
    starts: list[int | None] = []
    ends: list[int | None] = []
    lengths: list[int | None] = []
    for epoch, span in zip(epochs, bounds, strict=True):
        # Without bounds one end may be known all the same.
        start, end = span if span is not None else (epoch.start, epoch.end)
        starts.append(start)
        ends.append(end)
        lengths.append(None if start is None or end is None else end - start)
    yield int_column("number", "epoch", "integer", [epoch.number for epoch in epochs], weight=9)
    yield optional("start_s", "start", "instant", starts, weight=8)
    yield optional("end_s", "end", "instant", ends, weight=5)
    yield optional("duration_s", "duration", "duration", lengths, weight=9)
    yield int_column("slack_s", "±", "duration", [epoch.slack for epoch in epochs], weight=2)
    yield int_column("steps", "steps", "integer", step_counts, weight=7)
    values_by_epoch = [dict(epoch.scalars) for epoch in epochs]
    tags = dict.fromkeys(tag for values in values_by_epoch for tag in values)
    for tag in tags:
        values_of_tag = [values.get(tag) for values in values_by_epoch]
        id = f"scalar:{plain(tag, 80)}"
        yield optional(id, plain(tag, 40), "number", values_of_tag, weight=4)
    yield text_column("source", "evidence", [epoch.source for epoch in epochs], weight=3)

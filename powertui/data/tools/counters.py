"""The counters of one host's trace, one row each: memory in use, clock rates, energy meters.

A reading holds until the next one: means are over time, and a window begins with the reading before
it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.model import Counter, Floats
from powertui.data.table import Column, Place, Result, Table, int_column, text_column
from powertui.data.tools.registry import Question
from powertui.plain import plain

_EMPTY = "This trace recorded no counters."


class _CounterRow(NamedTuple):
    """What one counter shows in a window."""

    readings: int
    least: float
    mean: float
    most: float
    last: float
    most_ps: int  # when it was highest


def answer(question: Question) -> Result:
    """Every counter that has a reading in the window or before it."""
    lo, hi = question.window
    counters = [counter for counter in question.profile.trace.counters if counter.times[0] < hi]
    rows = [_counter_row(counter, lo, hi) for counter in counters]

    def names(texts: list[str], width: int) -> list[str]:
        return [plain(text, width) for text in texts]

    def floats(values: list[float]) -> Floats:
        return np.array(values, np.float64)

    columns = (
        text_column(
            "name", "counter", names([counter.name for counter in counters], 120), weight=10
        ),
        text_column("unit", "unit", names([counter.unit for counter in counters], 20), weight=9),
        text_column(
            "process", "process", names([counter.process for counter in counters], 80), weight=4
        ),
        int_column(
            "readings",
            "readings",
            "integer",
            [row.readings for row in rows],
            weight=5,
        ),
        Column("least", "least", "number", floats([row.least for row in rows]), weight=7),
        Column("mean", "mean", "number", floats([row.mean for row in rows]), weight=8),
        Column("most", "most", "number", floats([row.most for row in rows]), weight=9),
        Column("last", "last", "number", floats([row.last for row in rows]), weight=6),
        int_column(
            "most_s",
            "most at",
            "instant",
            [row.most_ps for row in rows],
            weight=5,
        ),
    )

    def place(row: int) -> Place | None:
        at = rows[row].most_ps
        return Place(question.opened.name, question.host, at, at + 1)

    table = Table(
        "counters",
        "Counters",
        columns,
        place=place,
        order=("name", False),
        empty=_EMPTY,
        key=("process", "name", "unit"),
        noun="counter",
    )
    return Result("counters", "Counters", (table,))


def _counter_row(counter: Counter, lo: int, hi: int) -> _CounterRow:
    """Return what a counter shows from `lo` to `hi`."""
    first, last = (int(row) for row in np.searchsorted(counter.times, (lo, hi)))
    begin = first
    # The reading before the window holds at its begin, unless one comes at that very moment.
    if first == last or counter.times[first] > lo:
        begin = max(0, first - 1)
    values: Floats = counter.values[begin:last]
    at = np.maximum(counter.times[begin:last], lo)
    held_ps = np.diff(np.append(at, max(hi, int(at[-1])))).astype(np.float64)
    if held_ps.sum():
        mean = float(np.average(values, weights=held_ps))
    else:
        mean = float(values.mean())
    highest = int(np.argmax(values))
    return _CounterRow(
        readings=last - first,
        least=float(values.min()),
        mean=mean,
        most=float(values[highest]),
        last=float(values[-1]),
        most_ps=int(at[highest]),
    )

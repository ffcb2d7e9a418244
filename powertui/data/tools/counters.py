"""The counters of one host's trace, one row each: memory in use, clock rates, energy meters, as the
trace recorded them.

A reading holds until the next one: means are over time, and a window begins with the reading before
it.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import Counter, Floats
from powertui.data.table import Column, Place, Result, Table, text_column
from powertui.data.tools.registry import Question
from powertui.plain import plain

_EMPTY = "This trace recorded no counters."


def answer(question: Question) -> Result:
    """Every counter that has a reading in the window or before it."""
    lo, hi = question.window
    found = [one for one in question.profile.trace.counters if one.times[0] < hi]
    told = np.array([_told(one, lo, hi) for one in found], np.float64).reshape(-1, 6)
    columns = (
        text_column("name", "counter", [plain(one.name, 120) for one in found], weight=10),
        text_column("unit", "unit", [plain(one.unit, 20) for one in found], weight=9),
        text_column("process", "process", [plain(one.process, 80) for one in found], weight=4),
        Column("readings", "readings", "integer", told[:, 0].astype(np.int64), weight=5),
        Column("least", "least", "number", told[:, 1], weight=7),
        Column("mean", "mean", "number", told[:, 2], weight=8),
        Column("most", "most", "number", told[:, 3], weight=9),
        Column("last", "last", "number", told[:, 4], weight=6),
        Column("most_s", "most at", "instant", told[:, 5].astype(np.int64), weight=5),
    )

    def place(row: int) -> Place | None:
        at = int(told[row, 5])
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


def _told(counter: Counter, lo: int, hi: int) -> tuple[float, ...]:
    """Readings within, least, mean, most and last of what held from lo to hi, and when it
    was most.
    """
    first, last = (int(row) for row in np.searchsorted(counter.times, (lo, hi)))
    begin = max(0, first - 1) if first == last or counter.times[first] > lo else first
    values: Floats = counter.values[begin:last]
    at = np.maximum(counter.times[begin:last], lo)
    lasted = np.diff(np.append(at, max(hi, int(at[-1])))).astype(np.float64)
    mean = float(np.average(values, weights=lasted)) if lasted.sum() else float(values.mean())
    top = int(np.argmax(values))
    return (
        float(last - first),
        float(values.min()),
        mean,
        float(values[top]),
        float(values[-1]),
        float(at[top]),
    )

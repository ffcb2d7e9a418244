"""The counters of one host's trace, one row each: memory in use, clock rates, energy meters.

A reading holds until the next one: means are over time, and a window begins with the reading before
it.
"""

from __future__ import annotations

import numpy as np

from powertui.data.columns import Field, columns_of
from powertui.data.model import Counter, Floats
from powertui.data.table import Place, Result, Table
from powertui.data.tools.registry import Question
from powertui.named_tuples import NamedTuple
from powertui.plain import plain

_EMPTY = "This trace recorded no counters."


class _CounterRow(NamedTuple):
    """What one counter shows in a window."""

    counter: Counter
    readings: int
    least: float
    mean: float
    most: float
    last: float
    most_ps: int  # when it was highest


# Texts of a trace are cut to so many characters: they stand in a column.
_FIELDS: tuple[Field[_CounterRow], ...] = (
    Field("name", "counter", "text", lambda row: plain(row.counter.name, 120), weight=10),
    Field("unit", "unit", "text", lambda row: plain(row.counter.unit, 20), weight=9),
    Field("process", "process", "text", lambda row: plain(row.counter.process, 80), weight=4),
    Field("readings", "readings", "integer", lambda row: row.readings, weight=5, always=True),
    Field("least", "least", "number", lambda row: row.least, weight=7, always=True),
    Field("mean", "mean", "number", lambda row: row.mean, weight=8, always=True),
    Field("most", "most", "number", lambda row: row.most, weight=9, always=True),
    Field("last", "last", "number", lambda row: row.last, weight=6, always=True),
    Field("most_s", "most at", "instant", lambda row: row.most_ps, weight=5, always=True),
)


def answer(question: Question) -> Result:
    """Every counter that has a reading in the window or before it."""
    lo, hi = question.window
    rows: list[_CounterRow] = []
    for counter in question.profile.trace.all_counters():
        # A counter that begins after the window shows nothing of it.
        if counter.times[0] < hi:
            rows.append(_counter_row(counter, lo, hi))

    def place(row: int) -> Place | None:
        highest_ps = rows[row].most_ps
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=highest_ps,
            hi=highest_ps + 1,
        )

    table = Table(
        id="counters",
        title="Counters",
        columns=columns_of(rows, _FIELDS),
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
    times = np.maximum(counter.times[begin:last], lo)
    end = max(hi, int(times[-1]))
    moments = np.append(times, end)
    held_ps = np.diff(moments).astype(np.float64)
    if held_ps.sum():
        mean = float(np.average(values, weights=held_ps))
    else:
        mean = float(values.mean())
    highest = int(np.argmax(values))
    return _CounterRow(
        counter=counter,
        readings=last - first,
        least=float(values.min()),
        mean=mean,
        most=float(values[highest]),
        last=float(values[-1]),
        most_ps=int(times[highest]),
    )

"""The counters of one host's trace, one row each: memory in use, clock rates, energy meters.

A reading holds until the next one: means are over time, and a window begins with the reading before
it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data.columns import Column, int_column, text_column
from powertui.data.model import Counter, Floats
from powertui.data.table import Place, Result, Table
from powertui.data.tools.registry import Question
from powertui.named_tuples import NamedTuple
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
    # A counter that begins after the window shows nothing of it.
    counters = [counter for counter in question.profile.trace.counters if counter.times[0] < hi]
    rows = [_counter_row(counter, lo, hi) for counter in counters]

    def place(row: int) -> Place | None:
        highest_ps = rows[row].most_ps
        return Place(question.opened.name, question.host, highest_ps, highest_ps + 1)

    table = Table(
        "counters",
        "Counters",
        tuple(_columns(counters, rows)),
        place=place,
        order=("name", False),
        empty=_EMPTY,
        key=("process", "name", "unit"),
        noun="counter",
    )
    return Result("counters", "Counters", (table,))


def _columns(counters: list[Counter], rows: list[_CounterRow]) -> Iterator[Column]:
    def number_column(id: str, values: list[float], weight: int) -> Column:
        return Column(id, id, "number", np.array(values, np.float64), weight=weight)

    names = [plain(counter.name, 120) for counter in counters]
    units = [plain(counter.unit, 20) for counter in counters]
    processes = [plain(counter.process, 80) for counter in counters]
    yield text_column("name", "counter", names, weight=10)
    yield text_column("unit", "unit", units, weight=9)
    yield text_column("process", "process", processes, weight=4)
    yield int_column("readings", "readings", "integer", [row.readings for row in rows], weight=5)
    yield number_column("least", [row.least for row in rows], 7)
    yield number_column("mean", [row.mean for row in rows], 8)
    yield number_column("most", [row.most for row in rows], 9)
    yield number_column("last", [row.last for row in rows], 6)
    yield int_column("most_s", "most at", "instant", [row.most_ps for row in rows], weight=5)


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
    held_ps = np.diff(np.append(times, end)).astype(np.float64)
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
        most_ps=int(times[highest]),
    )

"""Energy of stretches with a start and an end, as interval rows: the time between two stretches is
a gap.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.model import NS_PER_S, Bools, Clock, Floats, Int64s, PowerSeries, Sensor
from powertui.data.packed import Packed
from powertui.data.power.assemble import power_series
from powertui.data.power.notes import Notes
from powertui.named_tuples import NamedTuple

MAX_TOUCHING_NS = 1_000_000  # ns: stretches this close follow one another


class RowStretches(NamedTuple):
    """The stretches that rows of a table are of."""

    length_ns: Int64s
    lines: Int64s  # of the file


class RowEnds(NamedTuple):
    """The times of rows: where they are of stretches, the ends of these."""

    ns: Int64s
    stretches: RowStretches | None


def stretches_of(
    length_ns: Int64s | None, lines: Int64s | Packed, is_used: Bools
) -> RowStretches | None:
    """The stretches of the used rows of a table; None where its rows are of moments."""
    if length_ns is None:
        return None
    return RowStretches(length_ns[is_used], lines[is_used])


def stretch_series(
    sensor: Sensor, rows: RowEnds, joules: Floats, clock: Clock, notes: Notes
) -> PowerSeries | None:
    """The channel of joules that were drawn in stretches; None where no stretch is left."""
    assert rows.stretches is not None
    starts = rows.ns - rows.stretches.length_ns
    intervals = interval_rows(starts, rows.ns, joules, rows.stretches.lines, notes)
    ns, watts, drawn = intervals
    if not len(ns):
        return None
    made = power_series(sensor, ns, watts, clock=clock, notes=notes, joules=drawn)
    return replace(made, in_stretches=True)


def interval_rows(
    starts: Int64s,
    ends: Int64s,
    joules: Floats,
    lines: Int64s,
    notes: Notes,
) -> tuple[Int64s, Floats, Floats]:
    """(times, mean watts since the row before, joules since the row before).

    Stretches that overlap an earlier one are dropped.
    """
    order = np.argsort(ends, kind="stable")
    ns: list[int] = []
    watts: list[float] = []
    energy: list[float] = []
    for i in order.tolist():
        start = int(starts[i])
        end = int(ends[i])
        if end <= start:
            notes.drop(int(lines[i]), "its window has no length")
            continue
        # Joules of two windows at one time cannot be told apart.
        if ns and start < ns[-1] - MAX_TOUCHING_NS:
            notes.drop(int(lines[i]), "its window overlaps the one before")
            continue
        if not ns or start > ns[-1] + MAX_TOUCHING_NS:
            ns.append(start)
            watts.append(float("nan"))
            energy.append(float("nan"))
        ns.append(end)
        watts.append(float(joules[i]) / (end - start) * NS_PER_S)
        energy.append(float(joules[i]))
    return np.array(ns, np.int64), np.array(watts), np.array(energy)

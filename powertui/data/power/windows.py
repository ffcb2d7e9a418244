"""Energy of stretches with a start and an end, as interval rows: the time between two stretches is
a gap.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import NS_PER_S, Floats, Int64s
from powertui.data.power.notes import Notes

MAX_TOUCHING_NS = 1_000_000  # ns: stretches this close follow one another


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

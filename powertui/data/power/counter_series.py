"""A channel of a counter of energy: what it counted between its readings, and by how much these may
be off.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.model import NS_PER_S, Badge, Clock, Figure, Floats, Int64s, PowerSeries, Sensor
from powertui.data.power import assemble, counters
from powertui.data.power.notes import Notes


def counter_series(
    sensor: Sensor,
    ns: Int64s,
    readings: Floats,
    *,
    clock: Clock,
    notes: Notes,
    wrap_j: float | None = None,
) -> PowerSeries:
    """One channel of readings in joules, in the order in which they were taken. `ns` counts from
    the zero that `clock` describes; `wrap_j` is where the counter starts again, where that is
    known.
    """
    name = sensor.name or notes.path
    published = counters.published_rows(ns, readings)
    repeated = len(readings) - len(published.rows)
    if published.held_j > 0:
        notes.say(f"{name} is read more often than it counts: {repeated} rows repeat a value")
        step_j = Figure(published.held_j, Badge.ESTIMATED)
        sensor = replace(sensor, step_j=step_j)
    ns = ns[published.rows]
    readings = readings[published.rows]
    joules, watts = counters.intervals(ns, readings, notes, name, wrap_j)
    return assemble.power_series(
        sensor,
        ns,
        watts,
        clock=clock,
        notes=notes,
        joules=joules,
    )


def interval_series(
    sensor: Sensor,
    ns: Int64s,
    joules: Floats,
    *,
    clock: Clock,
    notes: Notes,
) -> PowerSeries:
    """One channel of joules that were drawn since the row before."""
    seconds = np.r_[np.nan, np.diff(ns) / NS_PER_S]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_watts = joules / seconds
    return assemble.power_series(
        sensor,
        ns,
        np.where(seconds > 0, mean_watts, np.nan),
        clock=clock,
        notes=notes,
        joules=joules.copy(),
    )

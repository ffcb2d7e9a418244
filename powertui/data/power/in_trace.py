"""Power that a trace recorded itself, as counters: watts, or the joules that a supply rail's meter
has counted.

Its times are those of the events, so that nothing has to be aligned. What neither name nor unit
calls watts or joules is no power.
"""

from __future__ import annotations

from powertui.data.model import (
    IN_TRACE,
    PS_PER_NS,
    Counter,
    Floats,
    PowerSeries,
    Scope,
    Sensor,
    Trace,
)
from powertui.data.power import assemble, counters, units
from powertui.data.power.notes import Notes

_MIN_READINGS = 2  # readings that make a series


def series(trace: Trace) -> tuple[PowerSeries, ...]:
    """Every counter that is power or energy."""
    notes = Notes(trace.path)
    counters_of_power = (counter for counter in trace.counters if len(counter) >= _MIN_READINGS)
    channels = (_series(trace, counter, notes) for counter in counters_of_power)
    return tuple(channel for channel in channels if channel is not None)


def _series(trace: Trace, counter: Counter, notes: Notes) -> PowerSeries | None:
    unit = units.UNITS.get(counter.unit)
    if unit is None or units.no_power(counter.name):
        return None
    ns, values = counter.times // PS_PER_NS, counter.values * unit.factor
    scope = units.scope_of(counter.name)
    rail = unit.quantity == "energy" and scope is Scope.UNKNOWN
    sensor = Sensor(counter.name, IN_TRACE, Scope.RAIL if rail else scope, trace.host)
    joules: Floats | None = None
    if unit.quantity == "energy":
        joules, values = counters.intervals(ns, values, notes, counter.name)
    return assemble.power_series(
        sensor,
        ns,
        values,
        clock=trace.clock,
        notes=notes,
        joules=joules,
    )

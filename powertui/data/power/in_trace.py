"""Power that a trace recorded itself, as counters: watts, or the joules that a supply rail's meter
has counted.

Its times are those of the events, so that nothing has to be aligned. What neither name nor unit
calls watts or joules is no power.
"""

from __future__ import annotations

from powertui.data.model import (
    PS_PER_NS,
    Counter,
    Floats,
    PowerKind,
    PowerSeries,
    Scope,
    Sensor,
    Trace,
)
from powertui.data.power import assemble, counters, units
from powertui.data.power.notes import Notes

SOURCE = "recorded in the trace"
_MIN_READINGS = 2  # readings that make a series


def series(trace: Trace) -> tuple[PowerSeries, ...]:
    """Every counter that is power or energy."""
    notes = Notes(trace.path)
    made = (_made(trace, one, notes) for one in trace.counters if len(one) >= _MIN_READINGS)
    return tuple(one for one in made if one is not None)


def _made(trace: Trace, counter: Counter, notes: Notes) -> PowerSeries | None:
    unit = units.UNITS.get(counter.unit)
    if unit is None or units.no_power(counter.name):
        return None
    ns, values = counter.times // PS_PER_NS, counter.values * unit.factor
    scope = units.scope_of(counter.name)
    rail = unit.quantity == "energy" and scope is Scope.UNKNOWN
    sensor = Sensor(counter.name, SOURCE, Scope.RAIL if rail else scope, trace.host)
    joules: Floats | None = None
    kind = PowerKind.SAMPLED
    if unit.quantity == "energy":
        kind = PowerKind.INTERVAL
        joules, values = counters.intervals(ns, values, notes, counter.name)
    return assemble.power_series(
        sensor,
        ns,
        values,
        clock=trace.clock,
        path=trace.path,
        notes=notes,
        kind=kind,
        joules=joules,
    )

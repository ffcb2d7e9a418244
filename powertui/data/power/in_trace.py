"""Power that a trace recorded itself, as counters: watts, or the joules that a supply rail's meter
has counted.

Its times are those of the events, so that nothing has to be aligned. What neither name nor unit
calls watts or joules is no power. What a device counted over stretches (IBM's AIU) is the mean of
each of them.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.model import (
    IN_TRACE,
    PS_PER_NS,
    PS_PER_S,
    Counter,
    Device,
    Floats,
    PowerSeries,
    Scope,
    Sensor,
    Trace,
)
from powertui.data.power import assemble, counters, units
from powertui.data.power.notes import Notes

_MIN_READINGS = 2  # readings that make a series
_NUMBER = re.compile(r"/device:[A-Z]+:(\d{1,5})$")


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
    if counter.counted is not None and unit.quantity == "power":
        return _counted(trace, counter, unit.factor, notes)
    ns = counter.times // PS_PER_NS
    values = counter.values * unit.factor
    scope = units.scope_of(counter.name)
    rail = unit.quantity == "energy" and scope is Scope.UNKNOWN
    sensor = Sensor(counter.name, IN_TRACE, Scope.RAIL if rail else scope, trace.host)
    number = _NUMBER.search(counter.process)
    if number is not None and scope in (Scope.UNKNOWN, Scope.GPU):
        sensor = Sensor(
            name=f"{_device_name(counter.process)} {counter.name}",
            source=IN_TRACE,
            scope=Scope.GPU,
            host=trace.host,
            device=Device(int(number[1])),
        )
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


def _counted(trace: Trace, counter: Counter, factor: float, notes: Notes) -> PowerSeries | None:
    """Watts over stretches, as a channel of the device that counted them."""
    assert counter.counted is not None
    start, end, value = counter.counted
    if not len(start):
        return None
    # A row before the first stretch and before each that does not follow the one before: from
    # there on something is known.
    begins = np.append(True, start[1:] > end[:-1])
    at = np.concatenate((start[begins], end))
    watts = np.concatenate((np.full(int(begins.sum()), np.nan), value * factor))
    joules = watts * np.concatenate((np.zeros(int(begins.sum())), (end - start) / PS_PER_S))
    order = np.argsort(at, kind="stable")
    number = _NUMBER.search(counter.process)
    if number:
        device = Device(int(number[1]))
    else:
        device = None
    name = _device_name(counter.process)
    sensor = Sensor(
        name=f"{name} {counter.name}".strip(),
        source=IN_TRACE,
        scope=Scope.GPU if device is not None else units.scope_of(counter.name),
        host=trace.host,
        device=device,
        scale=counter.scale,
    )
    return assemble.power_series(
        sensor,
        at[order] // PS_PER_NS,
        watts[order],
        clock=trace.clock,
        notes=notes,
        joules=joules[order],
    )


def _device_name(process: str) -> str:
    """A device as people write it: "GPU 0"."""
    return process.rpartition("/device:")[2].replace(":", " ")

"""The ground that everything stands on: frozen columns for traces, steps and power.

Time inside a profile is int64 **picoseconds since that profile's own zero** (106 days fit). Wall
time is never mixed in: a `Clock` says where the zero lies, as an interval in Unix nanoseconds, and
on what evidence. A power log is int64 **nanoseconds since its own zero** (a year of a rack's log
must fit, and no sensor resolves less), with a `Clock` of the same kind. `PowerOnTrace` is the one
place where both meet.

Nothing here reads a file, draws, or computes an answer.
"""

from __future__ import annotations

from powertui.data.model.arrows import Arrows
from powertui.data.model.ground import (
    NS_PER_S,
    PS_PER_NS,
    PS_PER_S,
    PS_PER_US,
    Z95,
    Badge,
    Bools,
    Clock,
    Figure,
    Floats,
    Int32s,
    Int64s,
    UInt8s,
    UInt32s,
    UInt64s,
    Warn,
    worst_badge,
)
from powertui.data.model.power import (
    IN_TRACE,
    Device,
    LogPlace,
    Mark,
    PowerCap,
    PowerKind,
    PowerOnTrace,
    PowerSeries,
    Scope,
    Sensor,
)
from powertui.data.model.run import Run, ScalarSeries
from powertui.data.model.steps import UNKNOWN, Epoch, Epochs, Marker, Phase, Step, Steps, StepsOn
from powertui.data.model.trace import (
    Aggregates,
    CountedEvents,
    Counter,
    Events,
    Names,
    Process,
    ProcessKind,
    ProcessLaunch,
    Stat,
    StatColumn,
    StatKind,
    StatSource,
    Trace,
    Track,
    TrackKind,
)

__all__ = [
    "IN_TRACE",
    "NS_PER_S",
    "PS_PER_NS",
    "PS_PER_S",
    "PS_PER_US",
    "UNKNOWN",
    "Z95",
    "Aggregates",
    "Arrows",
    "Badge",
    "Bools",
    "Clock",
    "CountedEvents",
    "Counter",
    "Device",
    "Epoch",
    "Epochs",
    "Events",
    "Figure",
    "Floats",
    "Int32s",
    "Int64s",
    "LogPlace",
    "Mark",
    "Marker",
    "Names",
    "Phase",
    "PowerCap",
    "PowerKind",
    "PowerOnTrace",
    "PowerSeries",
    "Process",
    "ProcessKind",
    "ProcessLaunch",
    "Run",
    "ScalarSeries",
    "Scope",
    "Sensor",
    "Stat",
    "StatColumn",
    "StatKind",
    "StatSource",
    "Step",
    "Steps",
    "StepsOn",
    "Trace",
    "Track",
    "TrackKind",
    "UInt8s",
    "UInt32s",
    "UInt64s",
    "Warn",
    "worst_badge",
]

"""What a person means by "that run": profiles, steps, scalars, power."""

from __future__ import annotations

from powertui.data.model.ground import Floats, Int64s, Warn
from powertui.data.model.power import PowerSeries
from powertui.data.model.steps import Epochs, Steps
from powertui.data.model.trace import Trace
from powertui.data.packed import packs
from powertui.value_types import dataclass


@packs("steps", "wall_ns", "values")
@dataclass(frozen=True, eq=False)
class ScalarSeries:
    """One tag of one tfevents file."""

    path: str
    group: str  # "train", "validation", or "" at the top
    tag: str
    steps: Int64s
    wall_ns: Int64s
    values: Floats


@dataclass(frozen=True, eq=False)
class Run:
    """What a person means by "that run": the profiles of all its hosts, its scalars, its power."""

    name: str
    path: str
    traces: tuple[Trace, ...]
    steps: tuple[Steps, ...]  # one per trace
    epochs: tuple[Epochs, ...]  # one per trace: each trace has its own zero
    scalars: tuple[ScalarSeries, ...] = ()
    power: tuple[PowerSeries, ...] = ()
    warnings: tuple[Warn, ...] = ()
    power_hosts: tuple[
        tuple[str, str], ...
    ] = ()  # (a name in the power logs, the host it was said to be)

    @property
    def event_count(self) -> int:
        return sum(trace.event_count for trace in self.traces)

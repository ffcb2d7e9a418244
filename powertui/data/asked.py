"""What a person asked for: how to read runs and power logs, and where the power lies. Made by the
verbs and the Python API.

Nothing here imports more than the standard library: a screen stands before anything is read.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal

from powertui.data.limits import MACHINE, MemoryLimit
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from powertui.data.host_parts import HostReader
    from powertui.power_server import PowerServer

# By whose rules TensorBoard's tools are computed: TensorFlow's up to 2.10 with copies told as
# copies; the same with all that those releases took them for; the converter of today, which counts
# no host event where a device is.
Compat = Literal["corrected", "tf2", "xprof"]
COMPAT: tuple[Compat, ...] = ("corrected", "tf2", "xprof")

# Whose results a tool shows: computed here, stored by the profiler itself, or both compared.
ResultSource = Literal["ours", "recorded", "differences"]
RESULT_SOURCES: tuple[ResultSource, ...] = ("ours", "recorded", "differences")


@dataclass(frozen=True)
class LogColumns:
    """What is said of a power log when it cannot be guessed.

    None: guess, and tell what was guessed.
    """

    time_col: str | None = None  # a column's name, or its number from 1
    watts_col: str | None = None  # one name or number, or several with commas between
    unit: str | None = None  # W, mW, uW, kW, dW, J, mJ, uJ, Wh, kWh
    tz: str | None = None  # zone of local times: "America/Sao_Paulo", "-03:00", "UTC"
    host: str = ""  # whose power it is, when the log does not say
    limit: MemoryLimit = MACHINE  # of the memory that reading may take


@dataclass(frozen=True)
class ReadOptions:
    """How to read a run."""

    step_marker: str | None = None  # a regular expression: events with such names start a step
    tz: str | None = None  # zone of local times in names and logs: "America/Sao_Paulo", "-03:00"
    power: tuple[str, ...] = ()  # power logs that were named, beside those that lie with the run
    # The servers among them, by their address: how each is reached.
    servers: tuple[tuple[str, PowerServer], ...] = ()
    find_power: bool = True  # also take the logs that lie with the run
    columns: LogColumns | None = None
    limit: MemoryLimit = MACHINE  # of the memory that one file may take
    # Who reads the hosts of a run of many; None: this process, one after the other.
    hosts: HostReader | None = None
    compat: Compat = "corrected"  # what whoever reads a host works out of it, too
    match_clocks: bool = False  # hosts' clocks are corrected by the collectives that they share
    power_hosts: tuple[
        tuple[str, str], ...
    ] = ()  # whose power it is: (a name in the log, a host of the run), as a person said now
    usual_hosts: tuple[tuple[str, str], ...] = ()  # the same, as the config file says for every run
    # (an address, what the config file calls the machine there)
    called_hosts: tuple[tuple[str, str], ...] = ()

    def power_paths(self, beside: Iterable[str], *, is_log_alone: bool) -> tuple[str, ...]:
        """The power logs to read, of those that were named and those that lie beside a run.

        Beside a run only the named ones are read where there are any: another log may be another
        machine's. Power logs that are opened by themselves are always read, and first.
        """
        if is_log_alone and self.power:
            return tuple(dict.fromkeys((*beside, *self.power)))
        if self.find_power:
            return tuple(dict.fromkeys((*self.power, *beside)))
        return tuple(dict.fromkeys(self.power))

    def server(self, path: str) -> PowerServer | None:
        """The server that a name in `power` means; None for a file's."""
        return dict(self.servers).get(path)

    @property
    def assigned_hosts(self) -> tuple[tuple[str, str], ...]:
        """Both together: what a person says now wins over what the config file says of the same
        name.
        """
        names = {name.strip().casefold() for name, _ in self.power_hosts}
        usual = (pair for pair in self.usual_hosts if pair[0].strip().casefold() not in names)
        return (*self.power_hosts, *usual)

    @property
    def shown_names(self) -> tuple[tuple[str, str], ...]:
        """(a host as a log names it, what tables call it).

        Whose power it is says more than what the config file calls an address.
        """
        assigned = self.assigned_hosts
        names = {name.strip().casefold() for name, _ in assigned}
        called = (pair for pair in self.called_hosts if pair[0].casefold() not in names)
        return (*assigned, *called)


@dataclass(frozen=True)
class Pin:
    """One moment on both clocks (s): a person saw that an edge of power and an event are
    the same.
    """

    log_s: float
    trace_s: float
    note: str = ""


@dataclass(frozen=True)
class Pins:
    """What a person knows of where the power lies.

    Without pins a nudge shifts whatever alignment there is.
    """

    pins: tuple[Pin, ...] = ()
    nudge_s: float = 0.0
    path: str = ""

    def add(self, log_s: float, trace_s: float, note: str = "") -> Pins:
        """One pin more."""
        return replace(
            self,
            pins=(
                *self.pins,
                Pin(
                    log_s=log_s,
                    trace_s=trace_s,
                    note=" ".join(note.split()),
                ),
            ),
        )

    def remove(self, index: int) -> Pins:
        """One pin less."""
        return replace(self, pins=self.pins[:index] + self.pins[index + 1 :])

    def nudged(self, seconds: float) -> Pins:
        """The same, shifted."""
        return replace(self, nudge_s=self.nudge_s + seconds)


@dataclass(frozen=True)
class Aligning:
    """Where the power is to lie on a trace."""

    mode: Literal["auto", "clock", "signal", "none"] = "auto"
    offset_s: float | None = None
    pins: Pins = field(default_factory=Pins)
    idle_w: float | None = None  # idle power, when the log does not tell

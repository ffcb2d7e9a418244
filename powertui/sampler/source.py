"""What a power source is, and how one is opened by name.

A source answers `read()` with one `Reading` per channel. It never raises for a fault that may pass
(a lost packet, a BMC that restarts): such a reading has no watts and says why. What cannot pass by
itself (a refused password, a sensor that does not exist) is raised by `open()`, once, with a
sentence for a person.

    source = open_source("ipmi://viewer@bmc", Options(password=Secret(...)))
    info = source.open()          # what was found: DCMI or which sensor, cipher suite, quantum
    readings = source.read()
    source.close()

Here are only the shapes. Each source is imported when it is opened, so that naming one costs
nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from typing import Any, Protocol

from powertui.errors import UsageError
from powertui.named_tuples import NamedTuple
from powertui.sampler import clocks
from powertui.sampler.credentials import Secret
from powertui.sampler.schemes import SCHEMES
from powertui.sampler.urls import Address, parse_url, place_of

__all__ = [
    "OK",
    "STALE",
    "SUSPECT",
    "AnswerTime",
    "Channel",
    "Info",
    "Options",
    "Reading",
    "Source",
    "Stamp",
    "machine_of",
    "make_names_unique",
    "none",
    "open_source",
    "reason_of",
    "suspect",
]

OK = "ok"
STALE = "stale"  # a value, but the source says that it is an old one
_NONE = "none:"
# A value that is not believed: the reading has no watts, and the reason says what came.
SUSPECT = "suspect"
# Between reading the one clock and the other. A machine that is busy may hold us up there, which
# would pass for a wall clock that somebody has set.
_MAX_CLOCK_GAP_S = 1e-3
_CLOCK_TRIES = 8


def none(reason: str) -> str:
    """The quality of a reading without a value. The reason is for a person to read."""
    return _NONE + reason


def suspect(reason: str) -> str:
    """The quality of a reading whose value is not believed."""
    return f"{SUSPECT}:{reason}"


def reason_of(quality: str) -> str:
    """Why there is no value: "" when there is one."""
    kind, _, reason = quality.partition(":")
    if kind in (_NONE[:-1], SUSPECT):
        return reason
    return ""


class Reading(NamedTuple):
    """One value of one channel, or the reason why there is none.

    `t` and `mono` are the same moment, the middle of the request, on the host's Unix clock and on
    the clock that nobody sets (`clocks.steady_s`); the BMC's clock is never used. `rtt` bounds the
    error: the value was taken within rtt/2 of that moment.
    """

    t: float  # s since 1970, host clock
    mono: float  # s, clocks.steady_s: it goes on while the machine sleeps
    watts: float | None
    rtt: float  # s
    source: str  # Source.name
    channel: str  # Channel.name
    quality: str = OK  # "ok", "stale", "none:why" or "suspect:why"
    # The energy counter behind watts, where there is one: J since the source was opened.
    joules: float | None = None


class AnswerTime(NamedTuple):
    """When an answer holds: the middle of its request, on both clocks, and its round trip."""

    t: float
    mono: float
    rtt: float

    def reading(
        self,
        source: str,
        channel: str,
        watts: float | None,
        quality: str = OK,
        joules: float | None = None,
    ) -> Reading:
        """What the answer says of one channel."""
        return Reading(
            t=self.t,
            mono=self.mono,
            watts=watts,
            rtt=self.rtt,
            source=source,
            channel=channel,
            quality=quality,
            joules=joules,
        )

    def gap(self, source: str, channel: str, why: str, joules: float | None = None) -> Reading:
        """A reading without a value."""
        return self.reading(source, channel, None, none(why), joules)


class Stamp(NamedTuple):
    """The moment at which a request was sent, by both clocks.

    `middle()` is what the reading is stamped with.
    """

    t: float
    mono: float

    @classmethod
    def now(cls) -> Stamp:
        before = clocks.steady_s()
        for _ in range(_CLOCK_TRIES):
            t = clocks.wall_s()
            mono = clocks.steady_s()
            if mono - before <= _MAX_CLOCK_GAP_S:
                break
            before = mono
        return cls(t, mono)

    def middle(self) -> AnswerTime:
        """The time of an answer that has just come.

        The wall clock is not read again: somebody may have set it meanwhile.
        """
        rtt = clocks.steady_s() - self.mono
        return AnswerTime(self.t + rtt / 2, self.mono + rtt / 2, rtt)


@dataclass(frozen=True)
class Channel:
    """One series of values that a source yields."""

    name: str  # "Total Power", "GPU 0", "package-0"
    host: str = ""  # the machine that is measured
    # What the figure covers: node, package, core, dram, gpu, rail, plug or unknown.
    scope: str = "unknown"
    quantum_w: float | None = None  # the step of its values, when known
    # "sampled", or "interval": the mean since the previous reading (energy counters).
    kind: str = "sampled"
    note: str = ""  # anything that a person should know of it
    most_w: float | None = None  # where its range ends, when it says so
    period_s: float | None = None  # between new values, where the source has a rhythm of its own
    index: int | None = None  # of the device that is measured, as its driver counts
    uuid: str = ""  # of that device: "GPU-8f6e2a54-…"
    pci: str = ""  # its address on the PCI bus
    group: str = ""  # of machines that it is one of: its rack
    # A part of the machine that we run on, whose power is never 0 W: then nothing is measured.
    running: bool = False


@dataclass(frozen=True)
class Info:
    """What `open()` found."""

    source: str  # "ipmi DCMI", "ipmi sensor", "redfish EnvironmentMetrics" …
    url: str  # how to open it again; never holds a password
    host: str  # the machine that is measured ("" when it is this one)
    channels: tuple[Channel, ...]
    # Cipher suite, privilege, firmware … for a person.
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # warnings


class Source(Protocol):
    """A power sensor that can be asked again and again, from one thread at a time."""

    name: str  # short, unique in a recording: "bmc1", "hwmon"
    # Seconds between two questions: faster gains nothing. A source may also have a `max_period`,
    # which must not be exceeded.
    min_period: float
    reconnects: int  # how often a lost connection was built up again
    channels: Sequence[Channel]  # empty before open()

    def open(self) -> Info:
        """Connect and find the sensors. Raises SensorError (AuthenticationFailed, NotSupported)."""

    def read(self) -> list[Reading]:
        """One reading per channel, within the timeout. Raises nothing that may pass by itself."""

    def close(self) -> None:
        """Log out and let go. Raises nothing, and takes no longer than the timeout."""


@dataclass(frozen=True)
class Options:
    """How sources are opened. What a URL says itself wins over these."""

    user: str = ""
    password: Secret | None = None
    kg: Secret | None = None  # the BMC key K_G
    level: str = "user"
    insecure: bool = False  # accept any TLS certificate
    sensors: tuple[str, ...] = ()  # only these channels
    timeout: float = 2.0  # one answer
    root: str = "/"  # in-band sources look below this folder
    name: str = ""  # what the source is called, when not by its host
    # What the machine that a BMC measures is called, when not by the BMC's host and port.
    machine: str = ""
    open_within: float = 0.0  # s that open() may take; 0: what the source needs

    def selects(self, *names: str) -> bool:
        """Whether one of these names of a channel is asked for, with wildcards as in a shell."""
        if not self.sensors:
            return True
        patterns = [sensor.casefold() for sensor in self.sensors]
        return any(fnmatch(name.casefold(), pattern) for name in names for pattern in patterns)


def machine_of(address: Address, options: Options) -> str:
    """What the machine behind a BMC's address is called in every table."""
    return options.machine or (str(place_of(address)) if address.host else "")


def make_names_unique(sources: Sequence[Source]) -> None:
    """Give each source a name of its own: those of one host get a number."""
    original_names = {source.name for source in sources}
    used_names: set[str] = set()
    for source in sources:
        name, number = source.name, 1
        while source.name in used_names or (number > 1 and source.name in original_names):
            number += 1
            source.name = f"{name}#{number}"
        used_names.add(source.name)


def _factory(scheme: str) -> Callable[[Address, Options], Any]:
    """What makes the sources of a scheme: ours, else another package's (plugins.py)."""
    make: Callable[[Address, Options], Any]
    if scheme in SCHEMES:
        module_name, _, function = SCHEMES[scheme].target.partition(":")
        module = importlib.import_module(f"{__package__}.{module_name}")
        make = getattr(module, function)
        return make
    from powertui import plugins

    plugin_by_scheme = {
        plugin.name: plugin for plugin in plugins.plugin_group(plugins.SOURCES).plugins
    }
    if scheme in plugin_by_scheme:
        maker = importlib.import_module("powertui.sampler.foreign").maker
        make = maker(plugin_by_scheme[scheme])
        return make
    schemes = ", ".join(sorted({*SCHEMES, *plugin_by_scheme}))
    raise UsageError(
        f"There is no power source {scheme!r}.",
        hint=f"The sources are: {schemes}." + plugins.left_out(plugins.SOURCES),
    )


def open_source(url: str, options: Options | None = None) -> Source:
    """A source by its URL, not yet connected: call its `open()`.

    `ipmi://user@bmc:623`, `ipmitool:open`, `hwmon:`, `prometheus://server:9090?match=…`,
    `csv:FILE`: schemes.py names them all.
    """
    address = parse_url(url)
    options = options or Options()
    if address.user:
        options = replace(options, user=address.user)
    if address.query.get("sensor"):
        options = replace(options, sensors=tuple(address.query["sensor"].split("|")))
    make = _factory(address.scheme)
    source: Source = make(address, options)
    if options.name:
        source.name = options.name
    return source

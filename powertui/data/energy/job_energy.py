"""The joules of a job that no profile is of: from the power that a server has of it.

A job is known by samples that carry its label: it began between the first of them and the scrape
before, and ended between the last and the scrape after. Half of such a gap is added at both ends
with the power beside it, and all of the gap is in the interval. The gaps of all machines err
together, as one scrape may see them all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

from powertui.data.energy import integrate, scopes, sensor, settings
from powertui.data.model import (
    NS_PER_S,
    PS_PER_NS,
    Badge,
    Int64s,
    PowerKind,
    PowerSeries,
    Scope,
    worst_badge,
)
from powertui.named_tuples import NamedTuple
from powertui.power_server import JobPower, JobStretch
from powertui.value_types import dataclass

_PORT = re.compile(r":\d{1,5}$")
_ROUNDING_NS = 1_000_000  # servers write milliseconds
_EDGE_READINGS = settings.MIN_REPEATS  # whose mean is the power beside an edge


@dataclass(frozen=True)
class MachineEnergy:
    """What one machine drew for a job; `joules` is None where that is not resolved."""

    machine: str
    channels: tuple[str, ...]  # that are added up
    scopes: tuple[Scope, ...]  # what they cover
    first_s: float  # Unix s: the job's samples there
    last_s: float
    ran_s: float  # between them, without pauses
    is_running: bool
    joules: float | None
    half: float  # of the 95 % interval, from the sensors
    start_half: float  # from when it began, and when it ended
    end_half: float
    badge: Badge
    reason: str = ""  # why there are no joules
    left_out: str = ""  # which channels overlap with those that are added up


@dataclass(frozen=True)
class JobEnergy:
    """The energy of a job, machine by machine."""

    machines: tuple[MachineEnergy, ...]
    badge: Badge

    @property
    def joules(self) -> float | None:
        """Of all machines; None where one is not resolved."""
        parts = [machine.joules for machine in self.machines]
        known = [joules for joules in parts if joules is not None]
        return sum(known) if len(known) == len(parts) else None

    @property
    def half(self) -> float:
        """Half of the 95 % interval."""
        sensors = sum(machine.half**2 for machine in self.machines)
        starts = sum(machine.start_half for machine in self.machines)
        ends = sum(machine.end_half for machine in self.machines)
        return math.sqrt(sensors + (starts + ends) ** 2)


def job_energy(job: JobPower, series: Sequence[PowerSeries]) -> JobEnergy:
    """The joules of a job from the power that was fetched for it."""
    by_machine: dict[str, list[PowerSeries]] = {}
    for channel in series:
        by_machine.setdefault(channel.sensor.host, []).append(channel)
    stretches: dict[str, list[JobStretch]] = {}
    for stretch in job.stretches:
        name = _PORT.sub("", stretch.machine)
        stretches.setdefault(name, []).append(stretch)
    machines = []
    for name, of_machine in stretches.items():
        machine = _machine_energy(
            name=name,
            stretches=of_machine,
            series=by_machine.get(name, []),
            is_own=job.is_own,
        )
        machines.append(machine)
    badge = worst_badge([machine.badge for machine in machines])
    return JobEnergy(tuple(machines), badge)


def _machine_energy(
    name: str,
    stretches: Sequence[JobStretch],
    series: Sequence[PowerSeries],
    is_own: bool,
) -> MachineEnergy:
    picked = scopes.total(series)
    parts: list[_Part] = []
    for channel in picked.series:
        described = sensor.describe(channel)
        for stretch in stretches:
            window = _window(described, stretch, is_own)
            if window is not None:
                parts.append(_part(described, stretch, window))
    reason = next((part.reason for part in parts if part.reason), "")
    if not parts:
        reason = "the server has no power for it"
    return MachineEnergy(
        machine=name,
        channels=tuple(channel.sensor.name for channel in picked.series),
        scopes=_scopes(picked.series),
        first_s=stretches[0].first_s,
        last_s=stretches[-1].last_s,
        ran_s=sum(stretch.last_s - stretch.first_s for stretch in stretches),
        is_running=stretches[-1].is_running,
        joules=None if reason else sum(part.joules for part in parts),
        half=math.sqrt(sum(part.half**2 for part in parts)),
        start_half=sum(part.start_half for part in parts),
        end_half=sum(part.end_half for part in parts),
        badge=worst_badge([Badge.MEASURED, *(part.badge for part in parts)]),
        reason=reason,
        left_out=picked.text if len(series) > 1 else "",
    )


class _Part(NamedTuple):
    """One channel in one stretch of the job."""

    joules: float
    half: float
    start_half: float
    end_half: float
    badge: Badge
    reason: str = ""


def _part(
    channel: PowerSeries,
    stretch: JobStretch,
    window: tuple[int, int],
) -> _Part:
    """Its energy, with half of a gap between scrapes at both ends."""
    zero_ns = channel.clock.mid_ns + int(channel.times[0])  # of `own_clock`
    energy = integrate.energy(
        integrate.own_clock(channel),
        (window[0] - zero_ns) * PS_PER_NS,
        (window[1] - zero_ns) * PS_PER_NS,
    )
    interval = energy.interval
    if interval is None:
        reason = energy.reason.removeprefix("not resolved: ")
        return _Part(
            joules=0.0,
            half=0.0,
            start_half=0.0,
            end_half=0.0,
            badge=energy.badge,
            reason=reason,
        )
    start_w, end_w = _edge_watts(channel, window)
    if stretch.is_running:
        end_w = 0.0  # what comes after its last sample is not counted yet
    # An edge may be anywhere in its gap. A job whose length is a multiple of the time between
    # scrapes has both of its edges at the same place in their gaps, so both may err to the utmost.
    return _Part(
        joules=interval.joules + (start_w + end_w) * stretch.spacing_s / 2,
        half=interval.half,
        start_half=start_w * stretch.spacing_s / 2,
        end_half=end_w * stretch.spacing_s / 2,
        badge=energy.badge,
    )


def _scopes(series: Iterable[PowerSeries]) -> tuple[Scope, ...]:
    """What channels cover, each once."""
    return tuple(dict.fromkeys(channel.sensor.scope for channel in series))


def _window(
    channel: PowerSeries,
    stretch: JobStretch,
    is_own: bool,
) -> tuple[int, int] | None:
    """From the first to the last sample of the job in a stretch (Unix ns); None where this channel
    has none then.
    """
    first_ns = round(stretch.first_s * NS_PER_S)
    last_ns = round(stretch.last_s * NS_PER_S)
    if not is_own:
        return first_ns, last_ns
    times: Int64s = channel.times + channel.clock.mid_ns
    inside = times[(times >= first_ns - _ROUNDING_NS) & (times <= last_ns + _ROUNDING_NS)]
    if not len(inside):
        return None
    first_ns = int(inside[0])
    last_ns = int(inside[-1])
    if channel.kind is PowerKind.INTERVAL:  # its first reading is of the time since a scrape before
        first_ns -= round(stretch.spacing_s * NS_PER_S)
    return first_ns, last_ns


def _edge_watts(channel: PowerSeries, window: tuple[int, int]) -> tuple[float, float]:
    """The mean power of the first and of the last readings of a window."""
    first_ns, last_ns = window
    times: Int64s = channel.times + channel.clock.mid_ns
    is_inside = (times >= first_ns) & (times <= last_ns)
    is_read = ~np.isnan(channel.watts)
    watts = channel.watts[is_inside & is_read]
    if not len(watts):
        return 0.0, 0.0
    first_w = np.mean(watts[:_EDGE_READINGS])
    last_w = np.mean(watts[-_EDGE_READINGS:])
    return float(first_w), float(last_w)

"""Which GPU channel belongs to which device of a trace, and how sure that is.

A profiler counts the devices that its program saw, a power log those that the machine has:
CUDA_VISIBLE_DEVICES, or HIP_VISIBLE_DEVICES on AMD's, may leave some out and reorder the rest.
Addresses and UUIDs settle it where both sides have them, one device against one channel does, and
power that follows what ran on one device and not on the others does. Else the numbers are compared,
and that is an assumption which is said.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

import numpy as np

from powertui.data.energy import expected_work, samples, scopes
from powertui.data.energy.expected_work import Intervals
from powertui.data.model import (
    PS_PER_S,
    Badge,
    Device,
    Floats,
    PowerOnTrace,
    Process,
    ProcessKind,
    Scope,
    Trace,
    TrackKind,
)
from powertui.value_types import dataclass

# Chosen, not measured.
_MIN_READINGS = 12  # that power needs to be compared with what ran
_MIN_CORRELATION = 0.5  # of power and what ran, from which on it follows a device
_MIN_FOLLOW_ERRORS = 5.0  # standard errors that this must be above none …
_MIN_LEAD_ERRORS = 4.0  # … and above any other channel's
_MAX_READINGS = 20_000  # that are compared: a bound of time


class DeviceEvidence(str, enum.Enum):
    """On what evidence a channel is a device's."""

    IDENTITY = "identity"  # UUID or PCI address
    ONLY = "only"  # one device, one channel
    INDEX = "index"  # the same number
    FOLLOWS = "index and signal"  # the same number, and its power follows what ran there
    SIGNAL = "signal"  # another number, but its power follows what ran there, and that of no other
    NONE = "none"


_BADGES = {DeviceEvidence.INDEX: Badge.ASSUMED, DeviceEvidence.SIGNAL: Badge.ESTIMATED}


@dataclass(frozen=True)
class Pair:
    """One device of a trace and its channel."""

    device: str  # as the trace names it
    channel: int | None  # into the channels that were given
    how: DeviceEvidence
    why: str  # for a person, a clause

    @property
    def sure(self) -> bool:
        """Whether it is more than an assumption."""
        return self.channel is not None and self.badge is None

    @property
    def badge(self) -> Badge | None:
        """What a figure of this device is worth at most; None where the evidence takes nothing from
        it.
        """
        return _BADGES.get(self.how)


def _planes(trace: Trace) -> dict[int, list[Process]]:
    """The GPUs of a trace by the number that its program gave them; those that recorded nothing,
    too.
    """
    processes_by_number: dict[int, list[Process]] = {}
    for process in trace.processes:
        match = scopes.NUMBER.search(process.name)
        if process.kind is ProcessKind.DEVICE and match is not None:
            processes_by_number.setdefault(int(match[1]), []).append(process)
    return dict(sorted(processes_by_number.items()))


def pairs(
    trace: Trace, power: Sequence[PowerOnTrace], *, on_its_clock: bool = True
) -> tuple[Pair, ...]:
    """Every GPU of a trace with the channel of its host that is its own.

    Empty without GPUs, or without a channel of one. Power that is not on the trace's clock is not
    held against what ran there.
    """
    planes = _planes(trace)
    channels = one_each(power)
    if not planes or not channels:
        return ()
    names = {number: processes[0].name for number, processes in planes.items()}
    if len(planes) == len(channels) == 1:
        return (
            Pair(
                next(iter(names.values())),
                next(iter(channels)),
                DeviceEvidence.ONLY,
                "the only GPU on both sides",
            ),
        )
    settled = {number: _by_identity(processes, channels) for number, processes in planes.items()}
    compared = {row: power[row] for row in channels} if on_its_clock else {}
    scores = _scores(trace, planes, compared)
    signal = _by_signal(scores)
    moved = any(row is not None and channels[row].index != number for number, row in signal.items())
    assigned = {row for row in (*settled.values(), *signal.values()) if row is not None}
    variable = "HIP_VISIBLE_DEVICES" if _is_amd(trace, power) else "CUDA_VISIBLE_DEVICES"
    result = []
    for number, name in names.items():
        same_number = next(
            (row for row, device in channels.items() if device.index == number), None
        )
        by_identity, follows = settled[number], signal[number]
        likelier = _likelier(scores[number], same_number)
        if by_identity is not None:
            result.append(
                Pair(name, by_identity, DeviceEvidence.IDENTITY, "by its UUID or PCI address")
            )
        elif follows is not None and follows == same_number:
            result.append(
                Pair(
                    name,
                    follows,
                    DeviceEvidence.FOLLOWS,
                    "by its number, and its power follows what ran there",
                )
            )
        elif follows is not None:
            why = (
                f"its power follows what ran there, and no other's does: {variable} has "
                "changed the order"
            )
            result.append(Pair(name, follows, DeviceEvidence.SIGNAL, why))
        elif likelier:
            named = " or ".join(power[row].series.sensor.channel for row in likelier[:4])
            result.append(
                Pair(
                    name,
                    None,
                    DeviceEvidence.NONE,
                    f"by its power it is {named}: {variable} has changed the order",
                )
            )
        elif moved:
            why = f"{variable} has changed the order, and its power does not show which GPU it is"
            result.append(Pair(name, None, DeviceEvidence.NONE, why))
        elif same_number is None or same_number in assigned:
            result.append(Pair(name, None, DeviceEvidence.NONE, "no channel has its number"))
        else:
            result.append(
                Pair(
                    name,
                    same_number,
                    DeviceEvidence.INDEX,
                    f"by its number alone: {_doubt(len(planes), len(channels), variable)}",
                )
            )
    return tuple(result)


def gpu_count(trace: Trace) -> int:
    """How many GPUs a trace shows."""
    return len(_planes(trace))


def one_each(power: Sequence[PowerOnTrace]) -> dict[int, Device]:
    """One channel for each GPU of the machine: of two ways to read one (average, instant) the
    first.
    """
    devices: dict[int, Device] = {}
    for row, channel in enumerate(power):
        device = scopes.device(channel.series.sensor)
        if (
            channel.series.sensor.scope is not Scope.GPU
            or channel.status == "none"
            or device is None
        ):
            continue
        if not any(is_same(device, listed) for listed in devices.values()):
            devices[row] = device
    return devices


def is_same(first: Device, second: Device) -> bool:
    """Whether two channels name the same device of a machine."""
    if first.uuid and second.uuid:
        return first.uuid.casefold() == second.uuid.casefold()
    if first.pci and second.pci:
        return first.pci == second.pci
    return first.index is not None and first.index == second.index


def _by_identity(processes: Sequence[Process], channels: Mapping[int, Device]) -> int | None:
    identities = {
        str(stat.value).strip().casefold()
        for process in processes
        for stat in process.stats
        if isinstance(stat.value, str)
    }
    rows = [
        row
        for row, device in channels.items()
        if ({device.uuid.casefold(), device.pci.casefold()} - {""}) & identities
    ]
    return rows[0] if len(rows) == 1 else None


def _is_amd(trace: Trace, power: Sequence[PowerOnTrace]) -> bool:
    vendors = {
        str(stat.value)
        for process in trace.processes
        for stat in process.stats
        if stat.name == "device_vendor"
    }
    sources = " ".join(channel.series.sensor.source.casefold() for channel in power)
    return "AMD" in vendors or "rocm" in sources or "amd" in sources


def _doubt(profiled: int, logged: int, variable: str) -> str:
    if profiled == logged:
        return f"{variable} may have changed the order"
    return (
        f"{logged} GPU{'s are' if logged > 1 else ' is'} logged and {profiled} profiled, "
        f"and {variable} decides which they are"
    )


# ── by signal ────────────────────────────────────────────────────────────────────────────────────


def _scores(
    trace: Trace, planes: Mapping[int, Sequence[Process]], power: Mapping[int, PowerOnTrace]
) -> dict[int, list[tuple[float, int]]]:
    """For each device how surely each channel's power follows what ran there, the surest first.

    Empty where that cannot be said.
    """
    none: dict[int, list[tuple[float, int]]] = {number: [] for number in planes}
    if len(power) < 2 or any(channel.status != "aligned" for channel in power.values()):
        return none
    windows = {row: _windows(channel, trace.span) for row, channel in power.items()}
    busy = {number: _busy(processes) for number, processes in planes.items()}
    return none | {
        number: sorted(((_follows(ran, windows[row]), row) for row in power), reverse=True)
        for number, ran in busy.items()
        if len(ran)
    }


def _by_signal(scores: Mapping[int, Sequence[tuple[float, int]]]) -> dict[int, int | None]:
    """For each device the one channel whose power follows what ran there, clearly more than any
    other's; None for no such.
    """
    best = {
        number: mine[0][1]
        if mine and mine[0][0] >= _MIN_FOLLOW_ERRORS and mine[0][0] - mine[1][0] >= _MIN_LEAD_ERRORS
        else None
        for number, mine in scores.items()
    }
    chosen = [row for row in best.values() if row is not None]
    return {
        number: row if row is not None and chosen.count(row) == 1 else None
        for number, row in best.items()
    }


def _likelier(mine: Sequence[tuple[float, int]], row: int | None) -> list[int]:
    """The channels whose power follows what ran on a device, where that of the one with its number
    clearly does not.
    """
    score_of_number = next((score for score, channel in mine if channel == row), 0.0)
    return (
        sorted(
            channel
            for score, channel in mine
            if score >= _MIN_FOLLOW_ERRORS and score - score_of_number >= _MIN_LEAD_ERRORS
        )
        if row is not None
        else []
    )


def _windows(power: PowerOnTrace, span: tuple[int, int]) -> list[tuple[Floats, Floats, Floats]]:
    """The readings inside a trace (from, to, ps; watts), for every length that the sensor's window
    may have.
    """
    readings = samples.power_samples(power.series)
    if len(readings) > _MAX_READINGS:
        readings = readings[:_MAX_READINGS]
    length = float(np.median(readings.hi - readings.lo)) if len(readings) else 1.0
    out = []
    for factor in sorted({1.0, 0.5, 0.25, min(1.0, readings.refresh / length)}):
        way = readings if factor == 1.0 else readings.scaled(factor)
        lo, hi = (side * PS_PER_S + power.offset_ps for side in (way.lo, way.hi))
        inside = (lo >= span[0]) & (hi <= span[1])
        out.append((lo[inside], hi[inside], way.watts[inside]))
    return out


def _busy(processes: Sequence[Process]) -> Intervals:
    """When something ran on a device: its streams, without what the collector drew from them."""
    tracks = [
        t
        for p in processes
        for t in p.tracks
        if not t.derived and t.kind not in (TrackKind.STEPS, TrackKind.COUNTER)
    ]
    lanes = [track.lane(0) for track in tracks]
    if not lanes:
        nothing = np.empty(0, np.int64)
        return Intervals(nothing, nothing)
    return expected_work.union(
        np.concatenate([lane.start for lane in lanes]), np.concatenate([lane.end for lane in lanes])
    )


def _follows(busy: Intervals, windows: Sequence[tuple[Floats, Floats, Floats]]) -> float:
    """How surely readings go along with the share of their windows in which something ran: in
    standard errors, 0 for not at all.

    Neighbouring readings say much the same, so they count as fewer (Bartlett).
    """
    edges = np.column_stack([busy.start, busy.end]).reshape(-1).astype(np.float64)
    ran = np.concatenate([[0.0], np.cumsum(np.diff(edges) * (np.arange(len(edges) - 1) % 2 == 0))])
    best = 0.0
    for lo, hi, watts in windows:
        share = (np.interp(hi, edges, ran) - np.interp(lo, edges, ran)) / np.maximum(hi - lo, 1.0)
        if len(watts) < _MIN_READINGS or np.ptp(share) < 0.1 or np.ptp(watts) <= 0:
            continue
        correlation = float(np.corrcoef(share, watts)[0, 1])
        independent = len(share) / (
            1 + 2 * float((_autocorrelation(share) * _autocorrelation(watts)).sum())
        )
        if correlation >= _MIN_CORRELATION and independent > 4:
            best = max(
                best, float(np.arctanh(min(correlation, 0.999999))) * (independent - 3) ** 0.5
            )
    return best


def _autocorrelation(values: Floats) -> Floats:
    """How far a series goes along with itself, one reading later, two, and so on."""
    rest = values - values.mean()
    size = 1 << (2 * len(rest) - 1).bit_length()
    power = np.abs(np.fft.rfft(rest, size)) ** 2
    correlation = np.fft.irfft(power, size)[1 : max(2, len(rest) // 4)]
    return np.asarray(np.maximum(correlation / max(float((rest * rest).sum()), 1e-12), 0.0))

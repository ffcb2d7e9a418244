"""Which GPU channel belongs to which device of a trace, and how sure that is.

A profiler counts the devices that its program saw, a power log those that the machine has:
CUDA_VISIBLE_DEVICES, or HIP_VISIBLE_DEVICES on AMD's, may leave some out and reorder the rest.
Addresses and UUIDs settle it where both sides have them, one device against one channel does, and
power that follows what ran on one device and not on the others does. Else the numbers are compared,
and that is an assumption which is said.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence

from powertui.data.energy import scopes
from powertui.data.energy.hostnames import MAX_LISTED_NAMES
from powertui.data.model import (
    IN_TRACE,
    Badge,
    Device,
    PowerOnTrace,
    Process,
    ProcessKind,
    Scope,
    Trace,
)
from powertui.patterns import late_pattern
from powertui.value_types import dataclass


class DeviceEvidence(str, enum.Enum):
    """On what evidence a channel is a device's."""

    IDENTITY = "identity"  # UUID or PCI address
    ONLY = "only"  # one device, one channel
    INDEX = "index"  # the same number
    FOLLOWS = "index and signal"  # the same number, and its power follows what ran there
    SIGNAL = "signal"  # another number, but its power follows what ran there, and that of no other
    ALONE = (
        "alone"  # one device, one channel, of another number: CUDA_VISIBLE_DEVICES changes these
    )
    NONE = "none"


_UUID = late_pattern(r"(?:gpu|mig)-[0-9a-f-]{8,}")  # as NVIDIA's tools write one, in small letters
_BARE_UUID = late_pattern(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)  # as CUDA's own API has it
_BADGES = {
    DeviceEvidence.INDEX: Badge.ASSUMED,
    DeviceEvidence.ALONE: Badge.ASSUMED,
    DeviceEvidence.SIGNAL: Badge.ESTIMATED,
}


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
    trace: Trace,
    power: Sequence[PowerOnTrace],
    *,
    on_its_clock: bool = True,
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
    absent = _absent(planes, channels)
    if len(planes) == len(channels) == 1 and not absent:
        return (_only_pair(trace, planes, power, channels, on_its_clock=on_its_clock),)
    from powertui.data.energy import device_signal

    compared = {row: power[row] for row in channels} if on_its_clock else {}
    scores = device_signal.follow_scores(trace, planes, compared)
    counted = {
        device.index: row
        for row, device in channels.items()
        if device.index is not None and power[row].series.sensor.source == IN_TRACE
    }
    identities = {number: _by_identity(planes[number], channels, counted) for number in planes}
    signals = device_signal.by_signal(scores)
    matching = _Matching(
        power=power,
        channels=channels,
        profiled=len(planes),
        is_reordered=any(
            row is not None and channels[row].index != number for number, row in signals.items()
        ),
        assigned={row for row in (*identities.values(), *signals.values()) if row is not None},
        variable="HIP_VISIBLE_DEVICES" if _is_amd(trace, power) else "CUDA_VISIBLE_DEVICES",
        absent=absent,
    )
    return tuple(
        matching.pair(name, number, identities[number], signals[number], scores[number])
        for number, name in names.items()
    )


def _only_pair(
    trace: Trace,
    planes: Mapping[int, Sequence[Process]],
    power: Sequence[PowerOnTrace],
    channels: Mapping[int, Device],
    *,
    on_its_clock: bool,
) -> Pair:
    """One GPU on both sides.

    It may be another one all the same: a program that sees GPU 1 alone calls it 0. That is what its
    power says.
    """
    ((number, processes),) = planes.items()
    ((row, device),) = channels.items()
    name = processes[0].name
    only = Pair(
        device=name,
        channel=row,
        how=DeviceEvidence.ONLY,
        why="the only GPU on both sides",
    )
    is_own = power[row].series.sensor.source == IN_TRACE
    if is_own or device.index is None or _by_identity(processes, channels, {}) is not None:
        return only
    from powertui.data.energy import device_signal

    follows = device_signal.follows_alone(trace, processes, power[row]) if on_its_clock else None
    if device.index == number and follows is not False:
        return only
    variable = "HIP_VISIBLE_DEVICES" if _is_amd(trace, power) else "CUDA_VISIBLE_DEVICES"
    if device.index == number:
        why = (
            f"by its number alone: its power does not follow what ran there, and {variable} may "
            "have changed the number"
        )
        return Pair(device=name, channel=row, how=DeviceEvidence.ALONE, why=why)
    if follows is False:
        why = (
            f"the only GPU of the log is number {device.index}, and its power does not follow what "
            "ran there"
        )
        return Pair(device=name, channel=None, how=DeviceEvidence.NONE, why=why)
    if follows is None:
        why = f"the only GPU on both sides, but {variable} may have changed its number"
        return Pair(device=name, channel=row, how=DeviceEvidence.ALONE, why=why)
    why = f"its power follows what ran there: {variable} has changed its number"
    return Pair(device=name, channel=row, how=DeviceEvidence.SIGNAL, why=why)


@dataclass(frozen=True)
class _Matching:
    """What is known of all GPUs of a trace, and of all of a log."""

    power: Sequence[PowerOnTrace]
    channels: Mapping[int, Device]
    profiled: int  # GPUs of the trace
    is_reordered: bool  # some number in the trace is clearly another one in the log
    assigned: Collection[int]  # channels that are known to be some GPU's
    variable: str  # that changes the order
    absent: Collection[int]  # GPUs of the trace whose UUID is no channel's, though all have one

    def pair(
        self,
        name: str,
        number: int,
        by_identity: int | None,
        by_signal: int | None,
        scores: Sequence[tuple[float, int]],
    ) -> Pair:
        """The channel of one GPU, by the best evidence."""
        same_number = self._with_number(number)
        if by_identity is not None:
            is_own = self.power[by_identity].series.sensor.source == IN_TRACE
            why = "counted by the device itself" if is_own else "by its UUID or PCI address"
            return Pair(
                device=name,
                channel=by_identity,
                how=DeviceEvidence.IDENTITY,
                why=why,
            )
        if by_signal is not None and by_signal == same_number:
            why = "by its number, and its power follows what ran there"
            return Pair(
                device=name,
                channel=by_signal,
                how=DeviceEvidence.FOLLOWS,
                why=why,
            )
        if by_signal is not None:
            why = (
                f"its power follows what ran there, and no other's does: {self.variable} has "
                "changed the order"
            )
            return Pair(
                device=name,
                channel=by_signal,
                how=DeviceEvidence.SIGNAL,
                why=why,
            )
        from powertui.data.energy import device_signal

        likelier = device_signal.likelier_channels(scores, same_number)
        if likelier:
            channels = [
                self.power[row].series.sensor.channel for row in likelier[:MAX_LISTED_NAMES]
            ]
            why = (
                f"by its power it is {' or '.join(channels)}: {self.variable} has changed the order"
            )
            return Pair(
                device=name,
                channel=None,
                how=DeviceEvidence.NONE,
                why=why,
            )
        if number in self.absent:
            return Pair(
                device=name,
                channel=None,
                how=DeviceEvidence.NONE,
                why="no channel has its UUID",
            )
        if self.is_reordered:
            why = (
                f"{self.variable} has changed the order, and its power does not show which GPU "
                "it is"
            )
            return Pair(
                device=name,
                channel=None,
                how=DeviceEvidence.NONE,
                why=why,
            )
        if same_number is None or same_number in self.assigned:
            return Pair(
                device=name,
                channel=None,
                how=DeviceEvidence.NONE,
                why="no channel has its number",
            )
        why = f"by its number alone: {self._doubt()}"
        return Pair(
            device=name,
            channel=same_number,
            how=DeviceEvidence.INDEX,
            why=why,
        )

    def _with_number(self, number: int) -> int | None:
        for row, device in self.channels.items():
            if device.index == number:
                return row
        return None

    def _doubt(self) -> str:
        logged = len(self.channels)
        if self.profiled == logged:
            return f"{self.variable} may have changed the order"
        return (
            f"{logged} GPU{'s are' if logged > 1 else ' is'} logged and {self.profiled} profiled, "
            f"and {self.variable} decides which they are"
        )


def gpu_count(trace: Trace) -> int:
    """How many GPUs a trace shows."""
    return len(_planes(trace))


def one_each(power: Sequence[PowerOnTrace]) -> dict[int, Device]:
    """One channel for each GPU of the machine.

    Of two ways to read one GPU (average, instant) the first in the log counts, as it does in sums
    (`scopes.of_one`): joules and the pairing with the profile's devices then rest on one channel.
    Neither way is better in every log. An average misses nothing between two readings, but is late
    by its window; an instant value is prompt, but shows one moment. The order is that in which
    whoever recorded the log asked for them. Chosen, not measured.
    """
    devices: dict[int, Device] = {}
    # What a device counted itself comes before what another sensor read of it.
    rows = sorted(range(len(power)), key=lambda row: power[row].series.sensor.source != IN_TRACE)
    for row in rows:
        channel = power[row]
        sensor = channel.series.sensor
        device = scopes.device(sensor)
        if sensor.scope is not Scope.GPU or channel.status == "none" or device is None:
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


def _by_identity(
    processes: Sequence[Process],
    channels: Mapping[int, Device],
    counted: Mapping[int, int],
) -> int | None:
    number = scopes.NUMBER.search(processes[0].name)
    recorded = counted.get(int(number[1])) if number is not None else None
    if recorded is not None:  # the device itself counted it
        return recorded
    identities = _texts(processes)
    rows = []
    for row, device in channels.items():
        names = {device.uuid.casefold(), device.pci.casefold()} - {""}
        if names & identities:
            rows.append(row)
    return rows[0] if len(rows) == 1 else None


def _absent(
    planes: Mapping[int, Sequence[Process]],
    channels: Mapping[int, Device],
) -> frozenset[int]:
    """The GPUs of a trace whose UUID the log does not have, where it has that of each of its own:
    it is a log of other GPUs, and a number that fits by accident shows nothing.
    """
    logged = {device.uuid.casefold() for device in channels.values()}
    if "" in logged:
        return frozenset()
    absent = []
    for number, processes in planes.items():
        uuids = _uuids(processes)
        if uuids and not uuids & logged:
            absent.append(number)
    return frozenset(absent)


def _uuids(processes: Iterable[Process]) -> frozenset[str]:
    return frozenset(text for text in _texts(processes) if _UUID.fullmatch(text))


def shown_uuids(trace: Trace) -> frozenset[str] | None:
    """The UUIDs of a trace's GPUs, in small letters; None unless it shows that of each."""
    by_gpu = [_uuids(processes) for processes in _planes(trace).values()]
    if not by_gpu or not all(by_gpu):
        return None
    return frozenset().union(*by_gpu)


def shown_ids(trace: Trace) -> frozenset[str]:
    """What a trace says of its GPUs, in small letters: UUIDs are among it, where it has them."""
    return _texts(process for processes in _planes(trace).values() for process in processes)


def _texts(processes: Iterable[Process]) -> frozenset[str]:
    texts: set[str] = set()
    for process in processes:
        for stat in process.stats:
            if isinstance(stat.value, str):
                text = stat.value.strip().casefold()
                texts.add(text)
                texts.add(_pci_address(text))
                if _BARE_UUID.fullmatch(text):
                    texts.add(f"gpu-{text}")
    return frozenset(texts - {""})


def _pci_address(text: str) -> str:
    """An address in the form of logs' channels; "" where it is none."""
    if not (":" in text and "." in text):
        return ""
    # Imported here: few profiles hold addresses.
    from powertui.data.power.devices import pci_address

    return pci_address(text)


def _is_amd(trace: Trace, power: Sequence[PowerOnTrace]) -> bool:
    vendors = {
        str(stat.value)
        for process in trace.processes
        for stat in process.stats
        if stat.name == "device_vendor"
    }
    sources = " ".join(channel.series.sensor.source.casefold() for channel in power)
    return "AMD" in vendors or "rocm" in sources or "amd" in sources

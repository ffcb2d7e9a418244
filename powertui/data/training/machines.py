"""Whose power the logs of a training hold: that of the machines of its sessions, by the same rule
as in a run (energy/power_owners).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from powertui.data.energy import account, owner_notes, power_owners, scopes
from powertui.data.energy.devices import Pair
from powertui.data.energy.owner_evidence import Owner
from powertui.data.energy.power_owners import Belongings
from powertui.data.energy.profiled_machines import HostEvidence, Profiled
from powertui.data.energy.scopes import Addends
from powertui.data.formats import filenames
from powertui.data.model import Device, PowerSeries, ProcessLaunch, Scope
from powertui.data.training.training_records import TrainingRecords
from powertui.value_types import dataclass

_ChannelKey = tuple[str, str, str, "Device | None"]
_NOBODY = Owner(machine=None, how=HostEvidence.NOBODY, why="")


@dataclass(frozen=True)
class _UnreadProfile:
    """What the name of a file says of the machine that it was profiled on."""

    host: str
    machine: str = ""
    hostnames: tuple[str, ...] = ()
    launch: ProcessLaunch | None = None


@dataclass(frozen=True, eq=False)
class TrainingPower:
    """The power of a training, and which machine each channel is of."""

    power: tuple[PowerSeries, ...]
    owners: Belongings
    other_gpus: frozenset[_ChannelKey]  # that none of its profiles shows
    pairs: Mapping[_ChannelKey, Pair]  # which channel is which GPU's of a profile

    @property
    def strangers(self) -> tuple[str, ...]:
        """Sentences on the power that belongs to no machine of the training."""
        return owner_notes.strangers(self.power, self.owners)

    @property
    def lacking(self) -> tuple[str, ...]:
        """The machines of which no power is known, where that of others is."""
        owned = {owner.machine for owner in self.owners.owners} - {None}
        if not owned:
            return ()
        names = []
        for row, name in enumerate(self.owners.machines):
            if row not in owned:
                names.append(name or "a host")
        return tuple(names)

    def pair(self, series: PowerSeries) -> Pair | None:
        """The GPU of a profile that a channel is of."""
        return self.pairs.get(_channel_key(series))

    def rows(self, series: Sequence[PowerSeries]) -> frozenset[int]:
        """The places of some channels among all."""
        keys = {_channel_key(channel) for channel in series}
        return frozenset(
            row for row, channel in enumerate(self.power) if _channel_key(channel) in keys
        )

    def is_owned(self, series: PowerSeries) -> bool:
        """Whether a channel is some machine's of the training."""
        return self._owner_of(series).machine is not None

    def total(self, series: Sequence[PowerSeries]) -> Addends:
        """Of owned channels those that may be added up: on each machine the disjoint ones."""
        if self.owners.are_of_logs_alone:
            return scopes.total(series)
        rows_of_machines: dict[int, list[int]] = {}
        for row, channel in enumerate(series):
            machine = self._owner_of(channel).machine
            if machine is not None:
                rows_of_machines.setdefault(machine, []).append(row)
        is_one_of_several = len(rows_of_machines) > 1
        counted: list[int] = []
        words: list[str] = []
        for machine, rows in sorted(rows_of_machines.items()):
            channels = [series[row] for row in rows]
            disjoint = self.of_machine(channels)
            counted += [rows[index] for index in disjoint.indices]
            if not disjoint.text:
                continue
            name = self.owners.machines[machine]
            if name and is_one_of_several:
                words.append(f"{name}: {disjoint.text}")
            else:
                words.append(disjoint.text)
        return Addends(
            series=tuple(series[row] for row in counted),
            indices=tuple(counted),
            text="; ".join(words),
        )

    def of_machine(self, series: Sequence[PowerSeries]) -> Addends:
        """Of one machine's channels those that may be added up."""
        assumed = []
        single = []
        other_gpus = []
        for row, channel in enumerate(series):
            owner = self._owner_of(channel)
            if owner.is_assumed:
                assumed.append(row)
            if owner.is_single:
                single.append(row)
            if _channel_key(channel) in self.other_gpus:
                other_gpus.append(row)
        return scopes.of_one(
            series,
            assumed=assumed,
            single=single,
            other_gpus=other_gpus,
        )

    def _owner_of(self, series: PowerSeries) -> Owner:
        return self._by_channel.get(_channel_key(series), _NOBODY)

    @functools.cached_property
    def _by_channel(self) -> dict[_ChannelKey, Owner]:
        channels = zip(self.power, self.owners.owners, strict=True)
        return {_channel_key(series): owner for series, owner in channels}


def power_of(training: TrainingRecords) -> TrainingPower:
    """The power of a training, as far as its sessions were read: the name inside a profile, and the
    GPUs that it shows, are known only then.
    """
    power = training.logs.power
    assigned = training.options.assigned_hosts
    profiles = tuple(_profiles(training))
    if not profiles:
        # Scalars are written by the machine that trains; without any, a person's word has to do.
        hosts = training.entry.hosts or tuple(dict.fromkeys(host for _, host in assigned))
        if not hosts and training.entry.tfevents:
            hosts = _only_name_in(power) or ("",)
        profiles = tuple(_UnreadProfile(host) for host in hosts)
    owners = power_owners.attribute_power(power, profiles, assigned, _one_process(profiles))
    other_gpus, pairs = _gpus(training)
    return TrainingPower(
        power=power,
        owners=owners,
        other_gpus=other_gpus,
        pairs=pairs,
    )


def _only_name_in(power: Sequence[PowerSeries]) -> tuple[str, ...]:
    """The one host that all logs name; empty where they name several, or none."""
    names = tuple({series.sensor.host for series in power})
    if len(names) == 1 and names != ("",):
        return names
    return ()


def _one_process(profiles: Sequence[Profiled]) -> tuple[tuple[str, ...], ...]:
    """The profiles of one process that says neither its machine nor a rank: a program that exports
    a trace now and then names each as it likes.
    """
    names = [
        profile.host
        for profile in profiles
        if profile.launch is not None and profile.launch.rank is None and not profile.machine
    ]
    if len(names) == len(profiles):
        return (tuple(names),)
    return ()


def _gpus(
    training: TrainingRecords,
) -> tuple[frozenset[_ChannelKey], dict[_ChannelKey, Pair]]:
    """The GPU channels that no profile shows which somebody has read, and the pairs of the
    others.
    """
    shown: set[_ChannelKey] = set()
    others: set[_ChannelKey] = set()
    pairs: dict[_ChannelKey, Pair] = {}
    if not any(series.sensor.scope is Scope.GPU for series in training.logs.power):
        return frozenset(), pairs
    for opened in training.read_sessions():
        for profile in opened.profiles:
            profile_account = account.alone(profile, training.aligning)
            keys = [_channel_key(placed.power.series) for placed in profile_account.placed]
            for row, key in enumerate(keys):
                (others if row in profile_account.other_gpus else shown).add(key)
            for pair in profile_account.pairs:
                if pair.channel is not None:
                    pairs.setdefault(keys[pair.channel], pair)
    return frozenset(others - shown), pairs


def _profiles(training: TrainingRecords) -> Iterator[Profiled]:
    """What says on which machine each profile of its sessions was taken."""
    read = {(opened.entry.path, opened.entry.name): opened for opened in training.read_sessions()}
    for entry in training.entry.sessions:
        opened = read.get((entry.path, entry.name))
        if opened is not None and opened.run.traces:
            yield from opened.run.traces
            continue
        for file in entry.profiles:
            file_name = PurePath(file.path).name
            writer = filenames.trace_writer(file_name)
            machine = ""
            if writer is not None and writer.timed:
                machine = writer.host
            yield _UnreadProfile(
                host=file.host,
                machine=machine,
                launch=ProcessLaunch() if ".json" in file_name else None,
            )


def _channel_key(series: PowerSeries) -> _ChannelKey:
    """What tells a channel from all others, whoever has read it."""
    return series.path, series.sensor.name, series.sensor.host, series.sensor.device

"""Whose power the logs of a training hold: that of the machines of its sessions, by the same rule
as in a run (energy/belongs).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from powertui.data.energy import power_owners, scopes
from powertui.data.energy.power_owners import Belongings
from powertui.data.energy.profiled_machines import Profiled
from powertui.data.energy.scopes import Addends
from powertui.data.formats import filenames
from powertui.data.model import PowerSeries
from powertui.data.training.training_records import TrainingRecords


@dataclass(frozen=True)
class _UnreadProfile:
    """What the name of a file says of the machine that it was profiled on."""

    host: str
    machine: str = ""
    hostnames: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TrainingPower:
    """The power of a training and its owners.

    A training without any host has none: its logs stand for themselves.
    """

    power: tuple[PowerSeries, ...]
    owners: Belongings | None

    @property
    def strangers(self) -> tuple[str, ...]:
        """Sentences on the power that belongs to no machine of the training."""
        return power_owners.strangers(self.power, self.owners) if self.owners is not None else ()

    def is_owned(self, series: PowerSeries) -> bool:
        """Whether a channel is some machine's of the training, or the training has no machine."""
        return self.owners is None or self._machine_of(series) is not None

    def total(self, series: Sequence[PowerSeries]) -> Addends:
        """Of owned channels those that may be added up: on each machine the disjoint ones."""
        if self.owners is None:
            return scopes.total(series)
        rows: dict[int, list[int]] = {}
        for row, channel in enumerate(series):
            if (machine := self._machine_of(channel)) is not None:
                rows.setdefault(machine, []).append(row)
        counted: list[int] = []
        words: list[str] = []
        for machine, mine in sorted(rows.items()):
            disjoint = scopes.of_one([series[row] for row in mine])
            counted += [mine[index] for index in disjoint.indices]
            name = self.owners.machines[machine]
            if disjoint.text:
                words.append(
                    f"{name}: {disjoint.text}" if name and len(rows) > 1 else disjoint.text
                )
        return Addends(tuple(series[row] for row in counted), tuple(counted), "; ".join(words))

    def _machine_of(self, series: PowerSeries) -> int | None:
        return self._by_channel.get(_key(series))

    @functools.cached_property
    def _by_channel(self) -> dict[tuple[object, ...], int | None]:
        owners = self.owners.owners if self.owners is not None else ()
        return {
            _key(series): owner.machine for series, owner in zip(self.power, owners, strict=True)
        }


def power_of(training: TrainingRecords) -> TrainingPower:
    """The power of a training, as far as its sessions were read: the name inside a profile is known
    only then.
    """
    profiles = tuple(_profiles(training)) or tuple(
        _UnreadProfile(host) for host in training.entry.hosts
    )
    power = training.logs.power
    named_hosts = (*training.options.power_hosts, *training.options.usual_hosts)
    return TrainingPower(
        power, power_owners.attribute_power(power, profiles, named_hosts) if profiles else None
    )


def _profiles(training: TrainingRecords) -> Iterator[Profiled]:
    """What says on which machine each profile of its sessions was taken."""
    read = {(opened.entry.path, opened.entry.name): opened for opened in training.read_sessions()}
    for entry in training.entry.sessions:
        opened = read.get((entry.path, entry.name))
        if opened is not None and opened.run.traces:
            yield from opened.run.traces
            continue
        for file in entry.profiles:
            writer = filenames.trace_writer(PurePath(file.path).name)
            yield _UnreadProfile(
                file.host, writer.host if writer is not None and writer.timed else ""
            )


def _key(series: PowerSeries) -> tuple[object, ...]:
    return series.path, series.sensor.name, series.sensor.host, series.sensor.device

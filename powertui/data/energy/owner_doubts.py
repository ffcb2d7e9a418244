"""What takes a channel from a machine again: other channels that contradict it."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import field
from pathlib import PurePath

from powertui.data.energy import host_columns, hostnames, supplies
from powertui.data.energy.hostnames import HostName
from powertui.data.energy.owner_evidence import (
    OTHER_COLUMN,
    OTHERS_COLUMN,
    Owner,
    listed,
    nobody,
)
from powertui.data.energy.profiled_machines import HostEvidence
from powertui.data.model import PowerSeries, Scope
from powertui.value_types import dataclass

# Scopes of channels that may be a whole machine's.
_MACHINE_WIDE = (Scope.NODE, Scope.PLUG, Scope.UNKNOWN)
_SEVERAL_HOSTS = "its columns may be named after several hosts, and none is this run's"
_BY_NAME = (HostEvidence.EQUAL, HostEvidence.ALIKE, HostEvidence.COLUMN)


def undoubted(power: Sequence[PowerSeries], owners: Sequence[Owner]) -> list[Owner]:
    """The owners of some channels; nobody for those that others contradict."""
    owners = _not_behind_one_address(power, owners)
    owners = _not_by_two_names(owners)
    owners = _not_beside_this_hosts_file(power, owners)
    files: dict[str, list[int]] = {}
    for row, series in enumerate(power):
        files.setdefault(series.path, []).append(row)
    for rows in files.values():
        beside = _ChannelsOfFile([power[row] for row in rows], [owners[row] for row in rows])
        for row, owner in zip(rows, beside.undoubted(), strict=True):
            owners[row] = owner
    return owners


def _not_behind_one_address(power: Sequence[PowerSeries], owners: Sequence[Owner]) -> list[Owner]:
    """Several BMCs behind ports of one address (`ssh -L`) cannot all be one host's.

    Which one is, nobody says.
    """
    ports: dict[tuple[int, HostName | None, str], list[int]] = {}
    for row, (series, owner) in enumerate(zip(power, owners, strict=True)):
        sensor = series.sensor
        if not sensor.asked_at or owner.machine is None or owner.how is HostEvidence.COLUMN:
            continue
        protocol = sensor.source.partition(" ")[0]
        key = (owner.machine, hostnames.parse(sensor.host), protocol)
        ports.setdefault(key, []).append(row)
    judged = list(owners)
    for rows in ports.values():
        hosts = list(dict.fromkeys(power[row].sensor.host for row in rows))
        if len(hosts) < 2:
            continue
        for row in rows:
            if owners[row].how is not HostEvidence.SAID:
                judged[row] = nobody(f"{listed(hosts)} cannot all be one host")
    return judged


def _not_by_two_names(owners: Sequence[Owner]) -> list[Owner]:
    """The same, where a log names a machine as its process does, without what has only the name of
    the profile's file.
    """
    certain = {owner.machine for owner in owners if owner.how in _BY_NAME}
    judged = list(owners)
    for row, owner in enumerate(owners):
        if owner.how is HostEvidence.PROFILE_FILE and owner.machine in certain:
            judged[row] = nobody(
                "the profile's file has that name, but the process itself names another",
            )
    return judged


def _not_beside_this_hosts_file(
    power: Sequence[PowerSeries],
    owners: Sequence[Owner],
) -> list[Owner]:
    """The same without assumptions about files that are called as this host's is, with another
    word in the host's place: other1/nvidia-smi.csv beside node17/nvidia-smi.csv.
    """
    of_hosts: set[str] = set()
    assumed: dict[str, list[int]] = {}
    for row, (series, owner) in enumerate(zip(power, owners, strict=True)):
        if owner.how is HostEvidence.FILE:
            of_hosts.add(series.path)
        elif owner.how is HostEvidence.ALONE:
            assumed.setdefault(series.path, []).append(row)
    judged = list(owners)
    for path, rows in assumed.items():
        if any(_is_sibling(path, of_host) for of_host in of_hosts):
            for row in rows:
                judged[row] = nobody("its file is named as this host's is, with another name")
    return judged


def _is_sibling(path: str, of_host: str) -> bool:
    """Whether two paths differ in one folder, or in one of several words of the file's name.

    A word for a quantity or a part of a machine is no name.
    """
    first = PurePath(path)
    second = PurePath(of_host)
    if first.name != second.name:
        if first.parent != second.parent or first.suffix != second.suffix:
            return False
        first_words = re.split(r"[-_.\s]+", first.stem)
        second_words = re.split(r"[-_.\s]+", second.stem)
    else:
        first_words = list(first.parts)
        second_words = list(second.parts)
    if len(first_words) != len(second_words) or len(first_words) < 2:
        return False
    different = []
    for word, second_word in zip(first_words, second_words, strict=True):
        if word != second_word:
            different.append(word)
    return len(different) == 1 and bool(host_columns.host_in(different[0]))


@dataclass(frozen=True, eq=False)
class _ChannelsOfFile:
    """The channels of one log, of which those without a name were taken for the only host's."""

    power: Sequence[PowerSeries]
    owners: Sequence[Owner]
    # What is written in the names of machine-wide channels beside quantities and parts.
    names: set[str] = field(default_factory=set)

    def undoubted(self) -> list[Owner]:
        """The same without assumptions that the columns beside a channel contradict.

        In a file whose columns are named after hosts, a column that names none of them may be
        another host's, or their sum.
        """
        if not any(owner.how is HostEvidence.ALONE for owner in self.owners):
            return list(self.owners)
        for series, owner in zip(self.power, self.owners, strict=True):
            is_unnamed = owner.how is HostEvidence.ALONE or owner.why == OTHERS_COLUMN
            if is_unnamed and series.sensor.scope in _MACHINE_WIDE:
                self.names.add(_name_in(series))
        names_hosts = any(map(self._names_a_host, self.power, self.owners))
        outlets = supplies.outlets(self.power, range(len(self.power)))
        has_outlets = len(outlets) > 1
        return [
            self._undoubted(series, owner, names_hosts, has_outlets)
            for series, owner in zip(self.power, self.owners, strict=True)
        ]

    def _names_beside_part(self, series: PowerSeries) -> frozenset[str]:
        """What the columns of one numbered part hold beside it.

        "web PSU 1" and "db PSU 1" are parts of two machines.
        """
        part = _numbered_part(series)
        if not part:
            return frozenset()
        return self.names_of_parts.get(part, frozenset())

    @functools.cached_property
    def names_of_parts(self) -> dict[str, frozenset[str]]:
        names: dict[str, set[str]] = {}
        for series in self.power:
            part = "" if series.sensor.host else _numbered_part(series)
            if part:
                names.setdefault(part, set()).add(_name_in(series))
        return {part: frozenset(texts) for part, texts in names.items()}

    def _names_a_host(self, series: PowerSeries, owner: Owner) -> bool:
        if owner.how is HostEvidence.COLUMN or owner.why == OTHER_COLUMN:
            return True
        all_have_hosts = all(channel.sensor.host for channel in self.power)
        if series.sensor.host and not all_have_hosts:
            return True
        is_named = owner.how in (HostEvidence.SAID, HostEvidence.PROFILE_FILE)
        return is_named and bool(host_columns.host_in(series.sensor.name))

    def _undoubted(
        self,
        series: PowerSeries,
        owner: Owner,
        names_hosts: bool,
        has_outlets: bool,
    ) -> Owner:
        if owner.how is not HostEvidence.ALONE:
            return owner
        if names_hosts:
            return nobody("the columns beside it are named like hosts")
        if len(self._names_beside_part(series)) > 1:
            return nobody(_SEVERAL_HOSTS)
        if series.sensor.scope not in _MACHINE_WIDE:
            return owner
        if has_outlets and series.sensor.scope is Scope.PLUG:
            return nobody("its outlets may feed several machines")
        if len(self.names - {""}) > 1:
            return nobody(_SEVERAL_HOSTS)
        if "" in self.names and _name_in(series):
            return nobody("its column may be named after another host")
        return owner


def _numbered_part(series: PowerSeries) -> str:
    """A column's name without what may be its host's, where a number or a letter remains."""
    sensor = series.sensor
    is_numbered = sensor.scope is Scope.GPU or supplies.is_supply(sensor.name)
    if not is_numbered:
        return ""
    column = sensor.name.casefold()
    name = _name_in(series)
    if name:
        column = column.replace(name, " ", 1)
    words = re.findall(r"[a-z0-9]+", column)
    part = " ".join(words)
    return part if re.search(r"\d|\b[a-d]\b", part) else ""


def _name_in(series: PowerSeries) -> str:
    return host_columns.host_in(series.sensor.name).casefold()

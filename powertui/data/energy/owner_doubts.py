"""What takes a channel from a machine again: other channels that contradict it."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import field
from pathlib import PurePath

from powertui.data.energy import host_columns, hostnames, supplies
from powertui.data.energy.hostnames import HostName
from powertui.data.energy.owner_evidence import OTHER_COLUMN, OTHERS_COLUMN, Owner, listed
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
    for i, (series, owner) in enumerate(zip(power, owners, strict=True)):
        if (
            series.sensor.asked_at
            and owner.machine is not None
            and owner.how is not HostEvidence.COLUMN
        ):
            protocol = series.sensor.source.partition(" ")[0]
            ports.setdefault(
                (owner.machine, hostnames.parse(series.sensor.host), protocol), []
            ).append(i)
    judged = list(owners)
    for rows in ports.values():
        hosts = list(dict.fromkeys(power[i].sensor.host for i in rows))
        if len(hosts) > 1:
            for i in (row for row in rows if owners[row].how is not HostEvidence.SAID):
                judged[i] = _nobody(f"{listed(hosts)} cannot all be one host")
    return judged


def _not_by_two_names(owners: Sequence[Owner]) -> list[Owner]:
    """The same, where a log names a machine as its process does, without what has only the name of
    the profile's file.
    """
    certain = {owner.machine for owner in owners if owner.how in _BY_NAME}
    why = "the profile's file has that name, but the process itself names another"
    return [
        _nobody(why)
        if owner.how is HostEvidence.PROFILE_FILE and owner.machine in certain
        else owner
        for owner in owners
    ]


def _not_beside_this_hosts_file(
    power: Sequence[PowerSeries],
    owners: Sequence[Owner],
) -> list[Owner]:
    """The same without assumptions about files that are called as this host's is, with another
    word in the host's place: other1/nvidia-smi.csv beside node17/nvidia-smi.csv.
    """
    of_hosts = {
        series.path
        for series, owner in zip(power, owners, strict=True)
        if owner.how is HostEvidence.FILE
    }
    others = {
        series.path
        for series, owner in zip(power, owners, strict=True)
        if owner.how is HostEvidence.ALONE
        and any(_is_sibling(series.path, path) for path in of_hosts)
    }
    return [
        _nobody("its file is named as this host's is, with another name")
        if owner.how is HostEvidence.ALONE and series.path in others
        else owner
        for series, owner in zip(power, owners, strict=True)
    ]


def _is_sibling(path: str, of_host: str) -> bool:
    """Whether two paths differ in one folder, or in one of several words of the file's name.

    A word for a quantity or a part of a machine is no name.
    """
    first = PurePath(path)
    second = PurePath(of_host)
    if first.name != second.name:
        if first.parent != second.parent or first.suffix != second.suffix:
            return False
        words = [re.split(r"[-_.\s]+", place.stem) for place in (first, second)]
    else:
        words = [list(place.parts) for place in (first, second)]
    if len(words[0]) != len(words[1]) or len(words[0]) < 2:
        return False
    different = [mine for mine, its in zip(*words, strict=True) if mine != its]
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
        self.names.update(
            _name_in(series)
            for series, owner in zip(self.power, self.owners, strict=True)
            if series.sensor.scope in _MACHINE_WIDE
            and (owner.how is HostEvidence.ALONE or owner.why == OTHERS_COLUMN)
        )
        names_hosts = any(map(self._names_a_host, self.power, self.owners))
        outlets = supplies.outlets(self.power, range(len(self.power)))
        return [
            self._undoubted(series, owner, names_hosts, len(outlets) > 1)
            for series, owner in zip(self.power, self.owners, strict=True)
        ]

    def _names_beside_part(self, series: PowerSeries) -> frozenset[str]:
        """What the columns of one numbered part hold beside it.

        "web PSU 1" and "db PSU 1" are parts of two machines.
        """
        part = _numbered_part(series)
        return self.names_of_parts.get(part, frozenset()) if part else frozenset()

    @functools.cached_property
    def names_of_parts(self) -> dict[str, frozenset[str]]:
        names: dict[str, set[str]] = {}
        for series in self.power:
            if not series.sensor.host and (part := _numbered_part(series)):
                names.setdefault(part, set()).add(_name_in(series))
        return {part: frozenset(texts) for part, texts in names.items()}

    def _names_a_host(self, series: PowerSeries, owner: Owner) -> bool:
        if owner.how is HostEvidence.COLUMN or owner.why == OTHER_COLUMN:
            return True
        if series.sensor.host and not all(one.sensor.host for one in self.power):
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
            return _nobody("the columns beside it are named like hosts")
        if len(self._names_beside_part(series)) > 1:
            return _nobody(_SEVERAL_HOSTS)
        if series.sensor.scope not in _MACHINE_WIDE:
            return owner
        if has_outlets and series.sensor.scope is Scope.PLUG:
            return _nobody("its outlets may feed several machines")
        if len(self.names - {""}) > 1:
            return _nobody(_SEVERAL_HOSTS)
        if "" in self.names and _name_in(series):
            return _nobody("its column may be named after another host")
        return owner


def _numbered_part(series: PowerSeries) -> str:
    """A column's name without what may be its host's, where a number or a letter remains."""
    is_numbered = series.sensor.scope is Scope.GPU or supplies.is_supply(series.sensor.name)
    if not is_numbered:
        return ""
    column = series.sensor.name.casefold()
    name = _name_in(series)
    part = " ".join(re.findall(r"[a-z0-9]+", column.replace(name, " ", 1) if name else column))
    return part if re.search(r"\d|\b[a-d]\b", part) else ""


def _name_in(series: PowerSeries) -> str:
    return host_columns.host_in(series.sensor.name).casefold()


def _nobody(why: str) -> Owner:
    return Owner(None, HostEvidence.NOBODY, why)

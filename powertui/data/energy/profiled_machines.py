"""The machines that the profiles of a run were taken on, and which of them a name in a log means.

The name that the profiled process wrote down comes first, then that of the profile's file.
Processes of one machine share it, be they workers on different ports or PyTorch's ranks, whose
files are named HOST_PID.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from typing import Protocol

from powertui.data.energy import host_columns, hostnames, rank_machines
from powertui.data.energy.hostnames import HostName
from powertui.data.model import ProcessLaunch
from powertui.value_types import dataclass


class HostEvidence(str, enum.Enum):
    """On what evidence a channel is taken for a host's."""

    SAID = "said"  # by a person
    EQUAL = "equal"  # one name
    ALIKE = "alike"  # one name but for its domain or a controller's marks
    INSIDE = "inside"  # the name that stands inside the profile
    # the profile's file has that name, and the process that was profiled says another
    PROFILE_FILE = "profile's file"
    COLUMN = "column"  # the column is named like the host
    FILE = "file"  # the file, or its folder, is named like the host
    ALONE = "alone"  # it names nobody, and there is one host
    # its controller's name tells nothing, but the only host of the run recorded it itself
    HERE = "recorded here"
    NOBODY = "unmatched"


class Profiled(Protocol):
    """What says on which machine a profile was taken: a trace, or a session that nobody has
    read.
    """

    @property
    def host(self) -> str: ...
    @property
    def hostnames(self) -> tuple[str, ...]: ...
    @property
    def machine(self) -> str: ...
    @property
    def launch(self) -> ProcessLaunch | None: ...


def _equal(label: HostName, machine: HostName) -> bool:
    return label.full == machine.full


def _alike_but_for_a_port(label: HostName, machine: HostName) -> bool:
    return hostnames.means(label, hostnames.without_port(machine))


_TIERS: tuple[Callable[[HostName, HostName], bool], ...] = (
    _equal,
    hostnames.alike,
    hostnames.means,
    _alike_but_for_a_port,
)


@dataclass(frozen=True)
class Machine:
    """A machine of a run.

    `aliases` are the names of its profiles' files, which a person may have chosen.
    """

    name: HostName | None
    aliases: tuple[HostName, ...] = ()
    is_recorded: bool = True  # a profile, or its profiler's name for the file, says the name

    @property
    def names(self) -> tuple[HostName, ...]:
        return (*((self.name,) if self.name is not None else ()), *self.aliases)


class Machines(tuple[Machine, ...]):
    """All machines of a run, found by the first label of their names: a run may have a thousand,
    and a log as many columns.
    """

    @functools.cached_property
    def _by_label(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, machine in enumerate(self):
            for name in machine.names:
                for label in dict.fromkeys(
                    (name.full, name.short, hostnames.without_port(name).short)
                ):
                    found.setdefault(label, []).append(number)
        return found

    @functools.cached_property
    def _likenesses(self) -> frozenset[str]:
        return frozenset(
            form
            for machine in self
            for name in machine.names
            for form in host_columns.likenesses(name.short)
        )

    def called(self, label: HostName) -> tuple[HostEvidence, list[int]]:
        """The machines that a name fits best: by their own names, else by those of their profiles'
        files.

        Names of fields and metrics have no hyphens: node_17 is node-17, where nobody is node_17.
        """
        how, fitting = self._called(label)
        if not fitting and "_" in label.short:
            hyphened = hostnames.parse(label.full.replace("_", "-"))
            if hyphened is not None:
                how, fitting = self._called(hyphened)
                how = HostEvidence.ALIKE if how is HostEvidence.EQUAL else how
        return how, fitting

    def _called(self, label: HostName) -> tuple[HostEvidence, list[int]]:
        candidates: set[int] = set()
        for text in (label.full, label.short, *label.bare):
            candidates.update(self._by_label.get(text, ()))
        rows = sorted(candidates)
        for fits in _TIERS:
            fitting = []
            for row in rows:
                name = self[row].name
                if name is not None and fits(label, name):
                    fitting.append(row)
            if fitting:
                how = HostEvidence.EQUAL if fits is _equal else HostEvidence.ALIKE
                return how, fitting
        for fits in _TIERS:
            fitting = []
            for row in rows:
                if any(fits(label, alias) for alias in self[row].aliases):
                    fitting.append(row)
            if fitting:
                return HostEvidence.PROFILE_FILE, fitting
        return HostEvidence.NOBODY, []

    def named(self, text: str) -> int | None:
        """The one machine that a person means by a name; None for none, or several."""
        name = hostnames.parse(text, controller=False)
        if name is None:
            return None
        _, fitting = self.called(name)
        return fitting[0] if len(fitting) == 1 else None

    def are_named_like(self, text: str) -> bool:
        """Whether a name differs from one of theirs in a number or its last letter alone."""
        name = hostnames.parse(text)
        if name is None or name.address or name.short in self._by_label:
            return False
        return not self._likenesses.isdisjoint(host_columns.likenesses(name.short))


def machines_of(
    traces: Sequence[Profiled],
    same: Sequence[Sequence[str]] = (),
) -> tuple[Machines, tuple[int, ...]]:
    """The machines behind some traces.

    Workers on different ports of one machine share it; traces without a name do not, but where
    their launcher's numbers say so, or a person does: `same` are names of one machine each.
    """
    names = _in_full([_machine_of(trace) for trace in traces])
    keys = _with_same_names(_machine_keys(traces, names), traces, same)
    numbers: dict[str, int] = {}
    of_trace = [numbers.setdefault(key, len(numbers)) for key in keys]
    members: list[list[int]] = [[] for _ in numbers]
    for row, number in enumerate(of_trace):
        members[number].append(row)
    machines = []
    for rows in members:
        recorded = [row for row in rows if _is_recorded(traces[row])]
        first = recorded[0] if recorded else rows[0]
        name = names[first]
        aliases: dict[HostName, None] = {}
        for row in rows:
            file = hostnames.parse(traces[row].host, controller=False)
            if file is not None and file != name:
                aliases[file] = None
        machine = Machine(name, tuple(aliases), bool(recorded))
        machines.append(machine)
    return Machines(tuple(machines)), tuple(of_trace)


def _is_recorded(trace: Profiled) -> bool:
    """Whether it is known which machine a profile is of, by whatever name."""
    return trace.launch is None or hostnames.parse(trace.machine, controller=False) is not None


def _machine_keys(traces: Sequence[Profiled], names: Sequence[HostName | None]) -> list[str]:
    """A text for each trace, equal for those of one machine."""
    shared = rank_machines.shared_machines([trace.launch for trace in traces])
    is_recorded = [_is_recorded(trace) for trace in traces]
    keys = [name.full if name is not None else f"\0{row}" for row, name in enumerate(names)]
    key_of_number: dict[int, str] = {}
    for row, number in enumerate(shared):
        if number is not None and is_recorded[row]:
            key_of_number.setdefault(number, keys[row])
    for row, number in enumerate(shared):
        if number is not None and not is_recorded[row]:
            keys[row] = key_of_number.setdefault(number, keys[row])
    return keys


def _with_same_names(
    keys: list[str],
    traces: Sequence[Profiled],
    same: Sequence[Sequence[str]],
) -> list[str]:
    """The same with one text for profiles that a person put on one machine.

    What is known to be of two machines stays apart.
    """
    for names in same:
        folded = {name.strip().casefold() for name in names}
        rows = [row for row, trace in enumerate(traces) if trace.host.casefold() in folded]
        if any(_is_recorded(traces[row]) for row in rows):
            continue
        old_keys = {keys[row] for row in rows}
        keys = [keys[rows[0]] if key in old_keys else key for key in keys]
    return keys


def _machine_of(trace: Profiled) -> HostName | None:
    """As its process says; else by its file's name, without a port where the profile itself says so
    (vm_9012, which says vm).
    """
    recorded = hostnames.parse(trace.machine, controller=False)
    if recorded is not None:
        return recorded
    name = hostnames.parse(trace.host, controller=False)
    if name is None:
        return None
    bare = hostnames.without_port(name)
    if bare is name:
        return name
    for text in trace.hostnames:
        inside = hostnames.parse(text, controller=False)
        if inside is not None and hostnames.alike(bare, inside):
            return bare
    return name


def _in_full(names: Sequence[HostName | None]) -> list[HostName | None]:
    """The same with nodeB as nodeB.cluster.org where only one domain is known: ranks of one machine
    may name it either way.
    """
    full: dict[str, dict[str, HostName]] = {}
    for name in names:
        if name is not None and name.domain:
            full.setdefault(name.short, {})[name.full] = name
    out = []
    for name in names:
        longer: list[HostName] = []
        if name is not None and not name.domain:
            longer = list(full.get(name.short, {}).values())
        out.append(longer[0] if len(longer) == 1 else name)
    return out


def machine_names(
    machines: Machines,
    traces: Sequence[Profiled],
    of_trace: Sequence[int],
) -> tuple[str, ...]:
    """What each machine is called: as its process or its file says; where two workers share it,
    without their ports.
    """
    words = []
    for number, machine in enumerate(machines):
        mine = [trace for trace, owner in zip(traces, of_trace, strict=True) if owner == number]
        first = mine[0]
        files = {trace.host for trace in mine}
        recorded = _first_recorded_name(mine)
        if recorded:
            words.append(recorded)
        elif len(files) > 1 and machine.name is not None:
            words.append(machine.name.full)
        else:
            inside = first.hostnames[0] if first.hostnames else ""
            words.append(first.host or inside)
    return tuple(words)


def _first_recorded_name(traces: Sequence[Profiled]) -> str:
    """What the first process that names its machine calls it; "" where none does."""
    for trace in traces:
        if hostnames.parse(trace.machine, controller=False) is not None:
            return trace.machine
    return ""


def inside_names(
    traces: Sequence[Profiled],
    of_trace: Sequence[int],
) -> dict[int, list[HostName]]:
    """What the profiles themselves call their machines: asked last, because copies and containers
    make it wrong.
    """
    names: dict[int, list[HostName]] = {}
    for trace, machine in zip(traces, of_trace, strict=True):
        of_machine = names.setdefault(machine, [])
        for text in trace.hostnames:
            name = hostnames.parse(text, controller=False)
            if name is not None:
                of_machine.append(name)
    return names

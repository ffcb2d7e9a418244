"""Whose power it is: which channel belongs to which host of a run.

A channel is a host's when its log says so: the host's name (whatever the case, the domain or the
marks of a controller), what a person said (`--power-host bmc-17=host-a`, the config file), or the
name of its column or file. What names nobody is taken for the host's where the run has one alone,
and that is an assumption. Everything else belongs to nobody here, is said, and is never added to a
host: a watt under the wrong name is worse than none.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from powertui.data.energy import host_columns, hostnames
from powertui.data.energy.hostnames import HostName
from powertui.data.energy.profiled_machines import (
    HostEvidence,
    Machines,
    Profiled,
    inside_names,
    machine_names,
    machines_of,
)
from powertui.data.model import Badge, PowerSeries, Run, Scope
from powertui.errors import UsageError
from powertui.plain import plain

_MAX_LISTED_NAMES = 4  # in one sentence
_NO_SUCH_HOST = "no host of this run has that name"
_OTHER_COLUMN = "its column names another host"


_ASSUMED = (HostEvidence.ALONE, HostEvidence.HERE)


@dataclass(frozen=True)
class Owner:
    """Whose one channel is."""

    machine: int | None  # None: no host of this run
    how: HostEvidence
    why: str  # for a person, a clause

    @property
    def badge(self) -> Badge | None:
        """How far that can be trusted; None where it is nobody's."""
        if self.machine is None:
            return None
        return Badge.ASSUMED if self.how in _ASSUMED else Badge.MEASURED


@dataclass(frozen=True, eq=False)
class Belongings:
    """The machines of a run, and whose each of its channels is."""

    machines: tuple[str, ...]  # as their first profiles name them
    of_trace: tuple[int, ...]  # the machine of each trace: workers and ranks may share one
    owners: tuple[Owner, ...]  # of each channel

    def mine(self, trace: int) -> tuple[int, ...]:
        """The channels of a trace's machine."""
        machine = self.of_trace[trace]
        return tuple(i for i, owner in enumerate(self.owners) if owner.machine == machine)

    @property
    def nobodys(self) -> tuple[int, ...]:
        """The channels that belong to no host of this run."""
        return tuple(i for i, owner in enumerate(self.owners) if owner.machine is None)

    def firsts(self) -> tuple[int, ...]:
        """The first trace of each machine."""
        return tuple(self.of_trace.index(machine) for machine in range(len(self.machines)))


_known: weakref.WeakKeyDictionary[Run, Belongings] = weakref.WeakKeyDictionary()


def of_run(run: Run) -> Belongings:
    """Whose power a run's channels are.

    Worked out once: a run of hundreds of hosts is asked for each of them.
    """
    found = _known.get(run)
    if found is None:
        found = _known[run] = attribute_power(run.power, run.traces, run.power_hosts)
    return found


def attribute_power(
    power: Sequence[PowerSeries], traces: Sequence[Profiled], said: Iterable[tuple[str, str]] = ()
) -> Belongings:
    """Whose power these channels are: of the machines that these traces were made on, or
    nobody's.
    """
    machines, of_trace = machines_of(traces)
    words = machine_names(machines, traces, of_trace)
    told = [(label, machines.named(name)) for label, name in said]
    labels = _labels(power, machines)
    named = _by_name(
        [label for label in dict.fromkeys(labels) if label is not None],
        machines,
        inside_names(traces, of_trace),
    )
    named.update(_recorded_here(power, named, machines))
    owners = []
    for series, label in zip(power, labels, strict=True):
        owner = _as_said(series, label, told)
        if owner is None:
            owner = (
                _unlabelled(series, machines)
                if label is None
                else _by_source(series, label, named[label], machines)
            )
        owners.append(owner)
    owners = _behind_one_address(power, owners)
    return Belongings(words, of_trace, tuple(_not_all(power, owners)))


def _labels(power: Sequence[PowerSeries], machines: Machines) -> list[HostName | None]:
    """The host that each channel names. Where a recording has one BMC alone, and what the config
    file calls it is no host here, its address counts: that says no more than that somebody asked
    it.
    """
    labels = [hostnames.parse(one.sensor.host) for one in power]
    asked = {one.sensor.asked_at for one in power}
    alone = len(asked) == 1 and len(set(labels)) == 1 and asked != {""}
    label = labels[0] if alone else None
    if label is None or machines.called(label)[1]:
        return labels
    return [hostnames.parse(address) for address in asked] * len(labels)


def _behind_one_address(power: Sequence[PowerSeries], owners: Sequence[Owner]) -> list[Owner]:
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
                judged[i] = Owner(
                    None, HostEvidence.NOBODY, f"{_listed(hosts)} cannot all be one host"
                )
    return judged


# ── by name ──────────────────────────────────────────────────────────────────────────────────────


def _by_name(
    labels: Sequence[HostName], machines: Machines, inside: dict[int, list[HostName]]
) -> dict[HostName, Owner]:
    """The owner of every name in the logs.

    What could be two machines, or two names that cannot both be one, is nobody's.
    """
    found: dict[HostName, Owner] = {}
    for label in labels:
        found[label] = _candidates(label, machines)
    taken = {owner.machine for owner in found.values()}
    for label in labels:
        if found[label].how is HostEvidence.NOBODY and not found[label].why:
            own = {
                m
                for m, names in inside.items()
                if m not in taken and any(hostnames.means(label, name) for name in names)
            }
            if len(own) == 1:
                found[label] = Owner(
                    own.pop(), HostEvidence.INSIDE, f"the profile itself names {label.full}"
                )
            else:
                found[label] = Owner(None, HostEvidence.NOBODY, _NO_SUCH_HOST)
    for machine in {owner.machine for owner in found.values()} - {None}:
        mine = [
            label
            for label in labels
            if found[label].machine == machine and found[label].how is not HostEvidence.EQUAL
        ]
        if any(not hostnames.compatible(a, b) for a in mine for b in mine):
            why = (
                f"{_listed([label.full for label in mine])} cannot all be "
                f"{_name(machines, machine)}"
            )
            found.update({label: Owner(None, HostEvidence.NOBODY, why) for label in mine})
    return found


def _recorded_here(
    power: Sequence[PowerSeries], named: dict[HostName, Owner], machines: Machines
) -> dict[HostName, Owner]:
    """The one controller (10.0.0.7, bmc-17) that the only host of a run recorded itself: its own,
    as far as anyone can tell.
    """
    nobodys = [label for label, owner in named.items() if owner.machine is None]
    host = machines[0].name if len(machines) == 1 else None
    if host is None or len(named) != 1 or not nobodys or not nobodys[0].is_no_host:
        return {}
    by = {
        hostnames.parse(one.sensor.logged_on, controller=False)
        for one in power
        if hostnames.parse(one.sensor.host) is not None
    }
    if all(one is not None and hostnames.means(one, host) for one in by):
        return {nobodys[0]: Owner(0, HostEvidence.HERE, "the only host of this run recorded it")}
    return {}


def _candidates(label: HostName, machines: Machines) -> Owner:
    how, fitting = machines.called(label)
    if len(fitting) == 1:
        return Owner(fitting[0], how, f"the log names {label.full}")
    return Owner(None, HostEvidence.NOBODY, _several(label, machines, fitting) if fitting else "")


def _several(label: HostName, machines: Machines, fitting: Sequence[int]) -> str:
    return (
        f"{label.full} could be "
        f"{' or '.join(_name(machines, i) for i in fitting[:_MAX_LISTED_NAMES])}"
    )


def _name(machines: Machines, machine: int | None) -> str:
    name = machines[machine].name if machine is not None else None
    return name.full if name is not None else "a host without a name"


# ── by what was said, by column and file ─────────────────────────────────────────────────────────


def _as_said(
    series: PowerSeries, label: HostName | None, told: Sequence[tuple[str, int | None]]
) -> Owner | None:
    """The machine that a person gave this channel to.

    A machine that this run has not is another run's: its power is not ours.
    """
    for fits in (_is_called, _can_be):
        for left, machine in told:
            if fits(left, series, label):
                if machine is None:
                    return Owner(None, HostEvidence.NOBODY, "it was assigned to another host")
                return Owner(
                    machine,
                    HostEvidence.SAID,
                    f"{left or 'power without a name'} was assigned to this host",
                )
    return None


def _is_called(left: str, series: PowerSeries, label: HostName | None) -> bool:
    """Whether a person's words are a channel's host, source, sensor or file, letter by letter."""
    words, path = left.strip().casefold(), PurePath(series.path)
    name = series.sensor.name.casefold()
    if not words:
        return label is None
    address = series.sensor.asked_at.casefold()
    known = (
        series.sensor.host.casefold(),
        address,
        address.rpartition(":")[0],
        name,
        series.path.casefold(),
        path.name.casefold(),
        path.stem.casefold(),
    )
    if "/" in words and f"/{series.path.casefold()}".endswith(f"/{words}"):
        return True
    return words in known or name.startswith(
        words + " "
    )  # a recording's channel is its source and its sensor


def _can_be(left: str, _series: PowerSeries, label: HostName | None) -> bool:
    name = hostnames.parse(left)
    return (
        label is not None
        and name is not None
        and (name.full == label.full or hostnames.means(name, label))
    )


def _unlabelled(series: PowerSeries, machines: Machines) -> Owner:
    """The owner of a channel whose log says no host beside it: by its column, its file, or because
    there is only one host.
    """
    owner = _by_column(series.sensor.name, machines) or _by_file(series.path, machines)
    if owner is not None:
        return owner
    if len(machines) == 1:
        return Owner(0, HostEvidence.ALONE, "it names no host, and this run has one")
    return Owner(None, HostEvidence.NOBODY, f"it names no host, and this run has {len(machines)}")


def _by_column(column: str, machines: Machines) -> Owner | None:
    """By the name of a column; None where that names no host."""
    named = host_columns.host_in(column)
    if not named:
        alike = [host for host in host_columns.sensor_hosts(column)[:1] if machines.called(host)[1]]
        if alike or machines.are_named_like(column):
            return Owner(
                None,
                HostEvidence.NOBODY,
                "its column may be named after a host or after a part of a machine",
            )
        return None
    owner = _by_words(column, machines)
    if owner is not None:
        return owner
    if host_columns.looks_like_a_host(named) or machines.are_named_like(named):
        return Owner(None, HostEvidence.NOBODY, _OTHER_COLUMN)
    return None


def _by_words(text: str, machines: Machines) -> Owner | None:
    """The machine that a name of a column or source holds beside quantities and parts, by its
    longest reading.
    """
    for host in host_columns.sensor_hosts(text):
        how, fitting = machines.called(host)
        if len(fitting) == 1:
            how = how if how is HostEvidence.PROFILE_FILE else HostEvidence.COLUMN
            return Owner(fitting[0], how, "its column is named like this host")
        if fitting:
            return Owner(None, HostEvidence.NOBODY, _several(host, machines, fitting))
    return None


def _by_source(series: PowerSeries, label: HostName, owner: Owner, machines: Machines) -> Owner:
    """For a controller's address: the host that its source is named after ("node17 DCMI power" of
    `--host node17`, at 10.0.0.7).
    """
    if owner.machine is not None or not label.is_no_host:
        return owner
    named = _by_words(series.sensor.channel, machines)
    if named is None or named.machine is None:
        return owner
    return Owner(named.machine, HostEvidence.COLUMN, "its source is named like this host")


def _by_file(path: str, machines: Machines) -> Owner | None:
    """By the name of the file, else of the folder it lies in.

    Of names that hold one another the longest is meant.
    """
    place = PurePath(path)
    fitting = [
        i
        for i, machine in enumerate(machines)
        if any(hostnames.within(place.name, name) for name in machine.names)
    ]
    fitting = [
        i
        for i in fitting
        if not any(_holds(machines[j].name, machines[i].name) for j in fitting if j != i)
    ]
    if len(fitting) == 1:
        return Owner(fitting[0], HostEvidence.FILE, f"its file is {place.name}")
    if fitting:
        return None
    folder = hostnames.parse(place.parent.name)
    fitting = [
        i
        for i, one in enumerate(machines)
        if folder and any(hostnames.means(folder, name) for name in one.names)
    ]
    if len(fitting) == 1:
        return Owner(fitting[0], HostEvidence.FILE, f"its file is in {place.parent.name}")
    words = {*host_columns.words_in(place.stem), place.parent.name}
    if any(machines.are_named_like(word) for word in words):
        return Owner(None, HostEvidence.NOBODY, "its file is named after another host")
    return None


def _holds(longer: HostName | None, shorter: HostName | None) -> bool:
    return (
        longer is not None
        and shorter is not None
        and longer.short != shorter.short
        and hostnames.within(longer.full, shorter)
    )


def _not_all(power: Sequence[PowerSeries], owners: Sequence[Owner]) -> Iterable[Owner]:
    """The same without assumptions that the columns beside a channel contradict.

    In a file whose columns are named after hosts, a column that names none of them may be another
    host's, or their sum.
    """
    owners = [*_not_by_two_names(owners)]
    by_column: set[str] = set()
    names: dict[str, set[str]] = {}
    for series, owner in zip(power, owners, strict=True):
        named = owner.how in (
            HostEvidence.SAID,
            HostEvidence.PROFILE_FILE,
        ) and host_columns.host_in(series.sensor.name)
        if owner.how is HostEvidence.COLUMN or owner.why == _OTHER_COLUMN or named:
            by_column.add(series.path)
        elif owner.how is HostEvidence.ALONE and series.sensor.scope in (Scope.NODE, Scope.UNKNOWN):
            names.setdefault(series.path, set()).add(
                host_columns.host_in(series.sensor.name).casefold()
            )
    for series, owner in zip(power, owners, strict=True):
        if owner.how is not HostEvidence.ALONE:
            yield owner
        elif series.path in by_column:
            yield Owner(None, HostEvidence.NOBODY, "the columns beside it are named like hosts")
        elif len(names.get(series.path, set()) - {""}) > 1:
            yield Owner(
                None,
                HostEvidence.NOBODY,
                "its columns may be named after several hosts, and none is this run's",
            )
        else:
            yield owner


def _not_by_two_names(owners: Sequence[Owner]) -> Iterable[Owner]:
    """The same, where a log names a machine as its process does, without what has only the name of
    the profile's file.
    """
    by_name = (HostEvidence.EQUAL, HostEvidence.ALIKE, HostEvidence.COLUMN)
    certain = {owner.machine for owner in owners if owner.how in by_name}
    for owner in owners:
        if owner.how is HostEvidence.PROFILE_FILE and owner.machine in certain:
            yield Owner(
                None,
                HostEvidence.NOBODY,
                "the profile's file has that name, but the process itself names another",
            )
        else:
            yield owner


@dataclass(frozen=True, eq=False)
class Share:
    """What one host has of a run's power, and what is nobody's."""

    machine: str
    owners: tuple[Owner, ...]  # of each of the host's channels
    strangers: tuple[tuple[PowerSeries, Owner], ...]  # channels that belong to no host of the run
    notes: tuple[str, ...]  # sentences on what was assumed and what is not counted


def share(run: Run, trace: int) -> Share:
    """One trace's part of a run's power."""
    found = of_run(run)
    return Share(
        found.machines[found.of_trace[trace]],
        tuple(found.owners[i] for i in found.mine(trace)),
        tuple((run.power[i], found.owners[i]) for i in found.nobodys),
        notes(run, found, trace),
    )


# ── what is said of it ───────────────────────────────────────────────────────────────────────────


def notes(run: Run, found: Belongings, trace: int) -> tuple[str, ...]:
    """Sentences for a host: what was assumed, and which power is nobody's."""
    out = []
    assumed = [i for i in found.mine(trace) if found.owners[i].how in _ASSUMED]
    host = found.machines[found.of_trace[trace]]
    if assumed and host:
        names = _listed([run.power[i].sensor.label for i in assumed])
        out.append(
            f"{names} names no host of this run: taken for the power of {host}, the only host "
            "of this run (assumed)."
        )
    workers = found.of_trace.count(found.of_trace[trace])
    if workers > 1 and found.mine(trace):
        out.append(
            f"{host} ran {workers} of the profiled workers: its power is that of all of them."
        )
    return (*out, *strangers(run.power, found))


def strangers(power: Sequence[PowerSeries], found: Belongings) -> tuple[str, ...]:
    """Sentences on the power that belongs to no host of a run, and what would give it one."""
    told = strangers_and_remedies(power, found)
    return tuple(
        f"Not counted: {what}. To say whose it is: {remedy}." if remedy else f"Not counted: {what}."
        for what, remedy in told
    )


def strangers_and_remedies(
    power: Sequence[PowerSeries], found: Belongings
) -> list[tuple[str, str]]:
    """The power that belongs to no host of a run, and the option that would give it one."""
    reasons: dict[str, list[PowerSeries]] = {}
    for i in found.nobodys:
        reasons.setdefault(found.owners[i].why, []).append(power[i])
    out = []
    hosts = [word for word in found.machines if word]
    for why, channels in list(reasons.items())[:_MAX_LISTED_NAMES]:
        names = _listed([one.sensor.host or _label_apart(one, power) for one in channels])
        left = called(channels[0], power)
        whose = f"{left}={hosts[0]}" if len(hosts) == 1 else f"{left}=HOST, one of {_listed(hosts)}"
        out.append((f"power of {names} ({why})", f"--power-host {whose}"))
    if len(reasons) > _MAX_LISTED_NAMES:
        out.append(
            (
                (
                    f"power under {len(reasons) - _MAX_LISTED_NAMES} more names, which belong to "
                    "no host of "
                    "this run"
                ),
                "",
            )
        )
    return out


def called(series: PowerSeries, power: Sequence[PowerSeries]) -> str:
    """What `--power-host` calls a channel: its host as the log says it, its column where that may
    name a host, else its file.
    """
    if series.sensor.host:
        return series.sensor.host
    beside = any(one.path == series.path and one.sensor.name != series.sensor.name for one in power)
    if beside and host_columns.host_in(series.sensor.name):
        return series.sensor.name
    return _file_apart(series.path, power)


def _file_apart(path: str, power: Sequence[PowerSeries]) -> str:
    """As much of a log's path, from its end, as no other log of the run has: logs of several hosts
    may all be power.csv.
    """
    others = {one.path for one in power} - {path}
    parts = PurePath(path).parts
    tails = ("/".join(parts[-k:]) for k in range(1, len(parts) + 1))
    return next(
        (tail for tail in tails if not any(f"/{other}".endswith(f"/{tail}") for other in others)),
        path,
    )


def _label_apart(one: PowerSeries, power: Sequence[PowerSeries]) -> str:
    """What a channel is called, with its file where channels of several files are called so."""
    alike = {other.path for other in power if other.sensor.label == one.sensor.label}
    return (
        one.sensor.label
        if len(alike) < 2
        else f"{one.sensor.label} in {_file_apart(one.path, power)}"
    )


def in_short(run: Run, share: Share) -> str:
    """One line where what a person said fits nothing, or where a host has no power though there is
    some; "" for any other.
    """
    wrong = _unknown(run, run.power_hosts)
    if wrong and not share.owners:
        return plain(" ".join(wrong[0]))
    if share.owners or not share.strangers:
        return ""
    names = [one.sensor.host or one.sensor.label for one, _ in share.strangers]
    return (
        f"No power belongs to {share.machine or 'this host'}: the log names "
        f"{_listed(names)}. See --power-host."
    )


def _listed(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names[:_MAX_LISTED_NAMES]) + (
        f" and {len(names) - _MAX_LISTED_NAMES} more" if len(names) > _MAX_LISTED_NAMES else ""
    )


def check(runs: Sequence[Run], said: Iterable[tuple[str, str]]) -> None:
    """Refuse what a person just typed where it fits none of the runs that were read."""
    for pair in said:
        wrong = [found for run in runs for found in _unknown(run, (pair,))]
        if runs and len(wrong) == len(runs):
            raise UsageError(plain(wrong[0][0]), hint=plain(wrong[0][1]))


def _unknown(run: Run, said: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Of what was said, that which fits nothing: (sentence, what there is).

    For words that a person just typed.
    """
    machines, of_trace = machines_of(run.traces)
    hosts = _listed([word for word in machine_names(machines, run.traces, of_trace) if word])
    logged = _listed([one.sensor.host or _label_apart(one, run.power) for one in run.power])
    out = []
    for left, right in said:
        if machines.named(right) is None:
            wrong, there = (
                f"this run has no host {right}",
                f"Its hosts are: {hosts or 'none with a name'}.",
            )
        elif any(
            fits(left, one, hostnames.parse(one.sensor.host))
            for one in run.power
            for fits in (_is_called, _can_be)
        ):
            continue
        else:
            wrong, there = f"no power is named {left}", f"There is: {logged or 'none'}."
        out.append((f"--power-host {left}={right}: {wrong}.", there))
    return out

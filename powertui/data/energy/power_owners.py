"""Whose power it is: which channel belongs to which host of a run.

A channel is a host's when its log says so: the host's name (whatever the case, the domain or the
marks of a controller), what a person said (`--power-host bmc-17=host-a`, the config file), or the
name of its column or file. What names nobody is taken for the host's where the run has one alone,
and that is an assumption. Everything else belongs to nobody here, is said, and is never added to a
host: a watt under the wrong name is worse than none. Logs without any run have no such doubt: each
channel is of the host that its log names.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable, Sequence

from powertui.data.energy import hostnames, owner_doubts, owner_evidence
from powertui.data.energy.hostnames import HostName
from powertui.data.energy.owner_evidence import Owner
from powertui.data.energy.profiled_machines import (
    HostEvidence,
    Machines,
    Profiled,
    inside_names,
    machine_names,
    machines_of,
)
from powertui.data.model import PowerSeries, Run
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class Belongings:
    """The machines of a run, and whose each of its channels is."""

    machines: tuple[str, ...]  # as their first profiles name them
    # The machine of each trace: workers and ranks may share one. Empty of logs without a run.
    of_trace: tuple[int, ...]
    owners: tuple[Owner, ...]  # of each channel
    may_be_one: bool = False  # whether its profiles leave open that some ran on one machine

    @property
    def are_of_logs_alone(self) -> bool:
        """Whether there is no run, so that the logs stand for themselves."""
        return not self.of_trace

    def mine(self, trace: int) -> tuple[int, ...]:
        """The channels of a trace's machine."""
        machine = self.of_trace[trace]
        return tuple(i for i, owner in enumerate(self.owners) if owner.machine == machine)

    @property
    def nobodys(self) -> tuple[int, ...]:
        """The channels that belong to no host of this run."""
        return tuple(i for i, owner in enumerate(self.owners) if owner.machine is None)


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
    power: Sequence[PowerSeries],
    traces: Sequence[Profiled],
    said: Iterable[tuple[str, str]] = (),
    same: Sequence[Sequence[str]] = (),
) -> Belongings:
    """Whose power these channels are: of the machines that these traces were made on, or
    nobody's; of the hosts that the logs name, where there is no trace.

    `said` are pairs of a name in the log and a host; `same` are hosts that are one machine, where
    no profile says which.
    """
    if not traces:
        return _of_logs_alone(power)
    assigned_names: dict[str, list[str]] = {}
    for words, name in said:
        assigned_names.setdefault(words.strip().casefold(), []).append(name)
    machines, of_trace = machines_of(traces, (*assigned_names.values(), *same))
    host_words = machine_names(machines, traces, of_trace)
    assigned = [
        (words, machine)
        for words, names in assigned_names.items()
        for machine in dict.fromkeys(machines.named(name) for name in names)
    ]
    labels = _labels(power, machines)
    by_name = owner_evidence.owners_by_name(
        [label for label in dict.fromkeys(labels) if label is not None],
        machines,
        inside_names(traces, of_trace),
    )
    by_name.update(owner_evidence.recorded_here(power, by_name, machines))
    gpus = owner_evidence.all_gpus(power, machines)
    channels_of_file = Counter(series.path for series in power)
    owners = []
    for row, (series, label) in enumerate(zip(power, labels, strict=True)):
        owner = owner_evidence.as_assigned(
            series, label, assigned, is_only_of_file=channels_of_file[series.path] == 1
        )
        if owner is None:
            owner = (
                owner_evidence.unlabeled_owner(series, machines, is_gpu=row in gpus)
                if label is None
                else owner_evidence.owner_by_source(series, label, by_name[label], machines)
            )
        owners.append(owner)
    unknown = [machine for machine in machines if not machine.is_recorded]
    return Belongings(
        host_words,
        of_trace,
        tuple(owner_doubts.undoubted(power, owners)),
        may_be_one=len(unknown) > 1,
    )


def _of_logs_alone(power: Sequence[PowerSeries]) -> Belongings:
    """The hosts that logs without a run name. What names none is of a host without a name."""
    hosts = tuple(dict.fromkeys(series.sensor.host for series in power))
    rows = {host: row for row, host in enumerate(hosts)}
    owners = []
    for series in power:
        host = series.sensor.host
        if host:
            owners.append(Owner(rows[host], HostEvidence.EQUAL, f"the log names {host}"))
        else:
            why = "it names no host, and there is no run that it could belong to"
            owners.append(Owner(rows[host], HostEvidence.ALONE, why))
    return Belongings(hosts, (), tuple(owners))


def _labels(power: Sequence[PowerSeries], machines: Machines) -> list[HostName | None]:
    """The host that each channel names. Where a recording has one BMC alone, and what the config
    file calls it is no host here, its address counts: that says no more than that somebody asked
    it.
    """
    labels = [hostnames.parse(channel.sensor.host) for channel in power]
    addresses = {channel.sensor.asked_at for channel in power}
    if len(addresses) != 1 or len(set(labels)) != 1 or addresses == {""}:
        return labels
    label = labels[0]
    if label is None:
        return labels
    _, fitting = machines.called(label)
    if fitting:
        return labels
    address = hostnames.parse(addresses.pop())
    return [address] * len(labels)

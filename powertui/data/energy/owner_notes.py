"""What is said of whose power it is: notes for a host, and the power that belongs to none."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from powertui.data.energy import host_columns, hostnames, power_owners
from powertui.data.energy.hostnames import MAX_LISTED_NAMES
from powertui.data.energy.owner_evidence import (
    ASSUMPTIONS,
    Owner,
    can_be,
    is_called,
    listed,
)
from powertui.data.energy.power_owners import Belongings
from powertui.data.energy.profiled_machines import machine_names, machines_of
from powertui.data.model import PowerSeries, Run
from powertui.errors import UsageError
from powertui.plain import plain
from powertui.value_types import dataclass

_MAX_LISTED_OPTIONS = 3  # more make a line that nobody reads to its end


@dataclass(frozen=True, eq=False)
class Share:
    """What one host has of a run's power, and what is nobody's."""

    machine: str
    owners: tuple[Owner, ...]  # of each of the host's channels
    strangers: tuple[tuple[PowerSeries, Owner], ...]  # channels that belong to no host of the run
    notes: tuple[str, ...]  # sentences on what was assumed and what is not counted
    assumption: str = ""  # the one of them that says what was assumed


def share(run: Run, trace: int) -> Share:
    """One trace's part of a run's power."""
    found = power_owners.of_run(run)
    return Share(
        machine=found.machines[found.of_trace[trace]],
        owners=tuple(found.owners[i] for i in found.mine(trace)),
        strangers=tuple((run.power[i], found.owners[i]) for i in found.nobodys),
        notes=notes(run, found, trace),
        assumption=_assumption(run, found, trace),
    )


def notes(run: Run, found: Belongings, trace: int) -> tuple[str, ...]:
    """Sentences for a host: what was assumed, and which power is nobody's."""
    host = found.machines[found.of_trace[trace]]
    assumed = _assumption(run, found, trace)
    out = [assumed] if assumed else []
    workers = found.of_trace.count(found.of_trace[trace])
    if workers > 1 and found.mine(trace):
        out.append(
            f"{host} ran {workers} of the profiled workers: its power is that of all of them."
        )
    return (*out, *strangers(run.power, found))


def _assumption(run: Run, found: Belongings, trace: int) -> str:
    """The sentence on channels that are taken for a host's because there is no other; "" where
    none is.
    """
    assumed = [i for i in found.mine(trace) if found.owners[i].how in ASSUMPTIONS]
    host = found.machines[found.of_trace[trace]]
    if not assumed or not host:
        return ""
    names = listed([run.power[i].sensor.label for i in assumed])
    verb = "names" if len(assumed) == 1 else "name"
    return (
        f"{names} {verb} no host of this run: taken for the power of {host}, the only host "
        "of this run (assumed)."
    )


def strangers(power: Sequence[PowerSeries], found: Belongings) -> tuple[str, ...]:
    """Sentences on the power that belongs to no host of a run, and what would give it one."""
    told = strangers_and_remedies(power, found)
    return tuple(
        f"Not counted: {what}. To say whose it is: {remedy}." if remedy else f"Not counted: {what}."
        for what, remedy in told
    )


def strangers_and_remedies(
    power: Sequence[PowerSeries],
    found: Belongings,
) -> list[tuple[str, str]]:
    """The power that belongs to no host of a run, and the option that would give it one."""
    reasons: dict[str, list[PowerSeries]] = {}
    for i in found.nobodys:
        reasons.setdefault(found.owners[i].why, []).append(power[i])
    out = []
    hosts = [word for word in found.machines if word]
    for why, channels in list(reasons.items())[:MAX_LISTED_NAMES]:
        names = listed([one.sensor.host or _label_apart(one, power) for one in channels])
        lefts = list(dict.fromkeys(called(channel, power) for channel in channels))
        out.append((f"power of {names} ({why})", _remedy(lefts, hosts, found)))
    if len(reasons) > MAX_LISTED_NAMES:
        out.append(
            (
                (
                    f"power under {len(reasons) - MAX_LISTED_NAMES} more names, which belong to "
                    "no host of "
                    "this run"
                ),
                "",
            )
        )
    return out


def _remedy(
    lefts: Sequence[str],
    hosts: Sequence[str],
    owners: Belongings,
) -> str:
    """What to type, so that channels of these names are a host's."""
    right = hosts[0] if len(hosts) == 1 else "HOST"
    options = [f"--power-host {shlex.quote(f'{left}={right}')}" for left in lefts]
    shown = options[:_MAX_LISTED_OPTIONS]
    if len(hosts) < 2:
        # Of several machines' power one is this host's.
        words = " or ".join(shown)
        return words if hosts else f"{words}, where HOST is what you call the machine that trained"
    words = " ".join(shown)
    if len(options) > len(shown):
        words += f" and so on for all {len(options)} names"
    words += f", {'each HOST ' if len(options) > 1 else ''}one of {listed(hosts)}"
    if owners.may_be_one:
        words += ", or once for each of them that ran on one machine"
    return words


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
    # Power that is nobody's has a remedy, but for what is left out behind the listed names.
    (_, remedy), *_ = strangers_and_remedies(run.power, power_owners.of_run(run))
    return (
        f"No power belongs to {share.machine or 'this host'}: the log names "
        f"{listed(names)}. To say whose it is: {remedy}."
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
    hosts = listed([word for word in machine_names(machines, run.traces, of_trace) if word])
    logged = listed([one.sensor.host or _label_apart(one, run.power) for one in run.power])
    out = []
    for left, right in said:
        if machines.named(right) is None:
            wrong = f"this run has no host {right}"
            there = f"Its hosts are: {hosts or 'none with a name'}."
        elif any(
            fits(left, one, hostnames.parse(one.sensor.host))
            for one in run.power
            for fits in (is_called, can_be)
        ):
            continue
        else:
            wrong = f"no power is named {left}"
            there = f"There is: {logged or 'none'}."
        out.append((f"--power-host {left}={right}: {wrong}.", there))
    return out

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
    belongings = power_owners.of_run(run)
    owners = belongings.owners
    return Share(
        machine=_host(belongings, trace),
        owners=tuple(owners[row] for row in belongings.mine(trace)),
        strangers=tuple((run.power[row], owners[row]) for row in belongings.nobodys),
        notes=notes(run, belongings, trace),
        assumption=_assumption(run, belongings, trace),
    )


def _host(belongings: Belongings, trace: int) -> str:
    """What the machine of a trace is called."""
    return belongings.machines[belongings.of_trace[trace]]


def notes(run: Run, found: Belongings, trace: int) -> tuple[str, ...]:
    """Sentences for a host: what was assumed, and which power is nobody's."""
    out = []
    assumed = _assumption(run, found, trace)
    if assumed:
        out.append(assumed)
    workers = found.of_trace.count(found.of_trace[trace])
    if workers > 1 and found.mine(trace):
        host = _host(found, trace)
        out.append(
            f"{host} ran {workers} of the profiled workers: its power is that of all of them."
        )
    return (*out, *strangers(run.power, found))


def _assumption(run: Run, found: Belongings, trace: int) -> str:
    """The sentence on channels that are taken for a host's because there is no other; "" where
    none is.
    """
    labels = []
    for row in found.mine(trace):
        if found.owners[row].how in ASSUMPTIONS:
            labels.append(run.power[row].sensor.label)
    host = _host(found, trace)
    if not labels or not host:
        return ""
    names = listed(labels)
    verb = "names" if len(labels) == 1 else "name"
    return (
        f"{names} {verb} no host of this run: taken for the power of {host}, the only host "
        "of this run (assumed)."
    )


def strangers(power: Sequence[PowerSeries], found: Belongings) -> tuple[str, ...]:
    """Sentences on the power that belongs to no host of a run, and what would give it one."""
    sentences = []
    for what, remedy in strangers_and_remedies(power, found):
        sentence = f"Not counted: {what}."
        if remedy:
            sentence += f" To say whose it is: {remedy}."
        sentences.append(sentence)
    return tuple(sentences)


def strangers_and_remedies(
    power: Sequence[PowerSeries],
    found: Belongings,
) -> list[tuple[str, str]]:
    """The power that belongs to no host of a run, and the option that would give it one."""
    reasons: dict[str, list[PowerSeries]] = {}
    for row in found.nobodys:
        reasons.setdefault(found.owners[row].why, []).append(power[row])
    out = []
    hosts = [word for word in found.machines if word]
    for why, channels in list(reasons.items())[:MAX_LISTED_NAMES]:
        names = listed([_host_or_label(channel, power) for channel in channels])
        lefts = list(dict.fromkeys(called(channel, power) for channel in channels))
        remedy = _remedy(lefts, hosts, found)
        out.append((f"power of {names} ({why})", remedy))
    unlisted = len(reasons) - MAX_LISTED_NAMES
    if unlisted > 0:
        what = f"power under {unlisted} more names, which belong to no host of this run"
        out.append((what, ""))
    return out


def _host_or_label(channel: PowerSeries, power: Sequence[PowerSeries]) -> str:
    """What a log calls the host of a channel, else the channel itself."""
    return channel.sensor.host or _label_apart(channel, power)


def _remedy(lefts: Sequence[str], hosts: Sequence[str], owners: Belongings) -> str:
    """What to type, so that channels of these names are a host's."""
    right = hosts[0] if len(hosts) == 1 else "HOST"
    options = []
    for left in lefts:
        pair = shlex.quote(f"{left}={right}")
        options.append(f"--power-host {pair}")
    shown = options[:_MAX_LISTED_OPTIONS]
    if len(hosts) < 2:
        # Of several machines' power one is this host's.
        words = " or ".join(shown)
        if hosts:
            return words
        return f"{words}, where HOST is what you call the machine that trained"
    words = " ".join(shown)
    if len(options) > len(shown):
        words += f" and so on for all {len(options)} names"
    each = "each HOST " if len(options) > 1 else ""
    words += f", {each}one of {listed(hosts)}"
    if owners.may_be_one:
        words += ", or once for each of them that ran on one machine"
    return words


def called(series: PowerSeries, power: Sequence[PowerSeries]) -> str:
    """What `--power-host` calls a channel: its host as the log says it, its column where that may
    name a host, else its file.
    """
    name = series.sensor.name
    if series.sensor.host:
        return series.sensor.host
    names_in_file = {channel.sensor.name for channel in power if channel.path == series.path}
    has_others = bool(names_in_file - {name})
    if has_others and host_columns.host_in(name):
        return name
    return _file_apart(series.path, power)


def _file_apart(path: str, power: Sequence[PowerSeries]) -> str:
    """As much of a log's path, from its end, as no other log of the run has: logs of several hosts
    may all be power.csv.
    """
    others = {channel.path for channel in power} - {path}
    parts = PurePath(path).parts
    for count in range(1, len(parts) + 1):
        tail = "/".join(parts[-count:])
        is_shared = any(f"/{other}".endswith(f"/{tail}") for other in others)
        if not is_shared:
            return tail
    return path


def _label_apart(channel: PowerSeries, power: Sequence[PowerSeries]) -> str:
    """What a channel is called, with its file where channels of several files are called so."""
    label = channel.sensor.label
    files = {other.path for other in power if other.sensor.label == label}
    if len(files) < 2:
        return label
    return f"{label} in {_file_apart(channel.path, power)}"


def in_short(run: Run, share: Share) -> str:
    """One line where what a person said fits nothing, or where a host has no power though there is
    some; "" for any other.
    """
    wrong = _unknown(run, run.power_hosts)
    if wrong and not share.owners:
        return plain(" ".join(wrong[0]))
    if share.owners or not share.strangers:
        return ""
    names = listed([channel.sensor.host or channel.sensor.label for channel, _ in share.strangers])
    # Power that is nobody's has a remedy, but for what is left out behind the listed names.
    (_, remedy), *_ = strangers_and_remedies(run.power, power_owners.of_run(run))
    host = share.machine or "this host"
    return f"No power belongs to {host}: the log names {names}. To say whose it is: {remedy}."


def check(runs: Sequence[Run], said: Iterable[tuple[str, str]]) -> None:
    """Refuse what a person just typed where it fits none of the runs that were read."""
    for pair in said:
        wrong: list[tuple[str, str]] = []
        for run in runs:
            wrong += _unknown(run, (pair,))
        if runs and len(wrong) == len(runs):
            sentence, hint = wrong[0]
            raise UsageError(plain(sentence), hint=plain(hint))


def _unknown(run: Run, said: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Of what was said, that which fits nothing: (sentence, what there is).

    For words that a person just typed.
    """
    machines, of_trace = machines_of(run.traces)
    names = machine_names(machines, run.traces, of_trace)
    hosts = listed([word for word in names if word])
    logged = listed([_host_or_label(channel, run.power) for channel in run.power])
    out = []
    for left, right in said:
        if machines.named(right) is None:
            wrong = f"this run has no host {right}"
            there = f"Its hosts are: {hosts or 'none with a name'}."
        elif any(_fits(left, channel) for channel in run.power):
            continue
        else:
            wrong = f"no power is named {left}"
            there = f"There is: {logged or 'none'}."
        out.append((f"--power-host {left}={right}: {wrong}.", there))
    return out


def _fits(left: str, channel: PowerSeries) -> bool:
    """Whether a person's words may mean a channel."""
    label = hostnames.parse(channel.sensor.host)
    return is_called(left, channel, label) or can_be(left, channel, label)

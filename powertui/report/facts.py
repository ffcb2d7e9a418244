"""The facts of a run as one plain dict: the stable JSON of `powertui report`.

Its text is written from the same dict. Counts are integers. What is not known is None, never 0.
Tables are cut at a bound that they name, so that a month of steps does not become a gigabyte of
JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from powertui.data import elsewhere
from powertui.data.logdir import Logdir, OtherFile, RunEntry
from powertui.data.model import (
    NS_PER_S,
    PS_PER_NS,
    PS_PER_S,
    Clock,
    Epochs,
    Mark,
    PowerSeries,
    ProcessKind,
    Run,
    Steps,
    Trace,
    Warn,
)
from powertui.data.run import clocks
from powertui.data.run.phases import training
from powertui.report import step_facts
from powertui.report.step_facts import Facts as Facts

# Bounds of the JSON, chosen and not measured: far above what a person reads.
_MAX_EPOCHS = 2_000
_MAX_WARNINGS = 100
_MAX_SCALARS = 100

if TYPE_CHECKING:
    from powertui.data.asked import Aligning
    from powertui.data.energy.measured_energy import Energy
    from powertui.data.energy.owner_evidence import Owner
    from powertui.data.energy.power_owners import Belongings
    from powertui.data.energy.trace_account import Account
    from powertui.data.opened import Profile


def of_run(
    entry: RunEntry,
    run: Run | None,
    problem: str = "",
    profiles: Sequence[Profile] = (),
    aligning: Aligning | None = None,
) -> Facts:
    """One run.

    `run` is None when nothing of it could be read, and `problem` is why. `profiles` are those of
    the run where they are open; `aligning` is how the person asked to align power logs with them.
    """
    if run is None:  # what the names of its files show is all there is
        run = Run(entry.name, entry.path, (), (), (), warnings=entry.problems)
    traces = run.traces
    spans = [trace.span[1] - trace.span[0] for trace in traces if trace.event_count]
    hosts = dict.fromkeys(trace.host for trace in traces) or filter(None, entry.hosts)
    devices = dict.fromkeys(device for trace in traces for device in trace.devices)
    per_trace = zip(traces, run.steps, run.epochs, strict=True)
    return {
        "name": entry.name,
        "path": entry.path,
        "hosts": list(hosts),
        "devices": list(devices),
        "events": sum(trace.event_count for trace in traces),
        "steps": max(map(len, run.steps), default=0),
        "epochs": max(map(len, run.epochs), default=0),
        "duration_s": max(spans) / PS_PER_S if spans else None,
        "clock": _clock_facts(_best_clock(traces)),
        "from": _instant(clocks.first_began(traces)),
        "warnings": _bounded(_run_warnings(entry, run, problem)),
        "files": _files(entry),
        "profiles": [_profile(trace, steps, epochs) for trace, steps, epochs in per_trace],
        "scalars": _scalars(run),
        "power": _power_of(run),
        "windows": _window_facts(run.power),
        "energy": _energy_of(run, entry, profiles, aligning),
    }


def _run_warnings(entry: RunEntry, run: Run, problem: str) -> list[str]:
    """Why the run was not read, its warnings and those of its traces, why it has no timeline."""
    warnings = [problem, *_warnings(run.warnings)]
    for trace in run.traces:
        warnings += _warnings(trace.warnings)
    if not run.traces:
        warnings.append(why_no_timeline(entry))
    return [warning for warning in warnings if warning]


def of_logdir(scan: Logdir) -> Facts:
    """What belongs to no run."""
    assigned = [file for run in scan.runs for file in run.power]
    unassigned = [file.path for file in scan.power if file not in assigned]
    return {
        "path": scan.path,
        "unread": [_other(file) for file in scan.unread],
        "power_unassigned": unassigned,
        "problems": _bounded(_warnings(scan.problems)),
    }


def _clock_facts(clock: Clock) -> Facts:
    """Where the profile's zero is in Unix ns."""
    return {
        "lo_ns": clock.lo_ns,
        "hi_ns": clock.hi_ns,
        "source": clock.source,
        "detail": clock.detail,
        "utc_offset_s": clock.utc_offset_s,
    }


def _instant(clock: Clock) -> Facts:
    """When the first event was, as an interval in Unix ns."""
    return {"lo_ns": clock.lo_ns, "hi_ns": clock.hi_ns}


def why_no_timeline(entry: RunEntry) -> str:
    """Why a run that was found has nothing to draw; "" when it has."""
    if entry.profiles:
        return ""
    if entry.unread:
        from powertui.data.formats.foreign import way_to_open  # only where something is unread

        unread = ", ".join(sorted({file.what for file in entry.unread}))
        ways = sorted({way_to_open(file.path) for file in entry.unread})
        if all(ways):
            return f"no timeline: {unread}. {' '.join(ways)}"
        return f"no timeline: formats not supported yet: {unread}"
    if entry.results:
        kinds = sorted({file.tool for file in entry.results})
        origin = "a neuron_op_timeline.json" if entry.of_neuron else "an xplane.pb or trace.json.gz"
        return (
            "no timeline: there are only finished results of the profiler's own tools "
            f"({', '.join(kinds)}); "
            f"they were made from {origin} that is not here. "
            "`--tool list` names the pages that show them"
        )
    if entry.power and entry.tfevents:
        return "no timeline: there is no profile, only power and tfevents"
    if entry.power or entry.tfevents:
        present = "power" if entry.power else "tfevents"
        return f"no timeline: there is no profile, only {present}"
    return "no timeline: the folder holds no profile"


# ── one profile ──────────────────────────────────────────────────────────────────────────────────


def _profile(trace: Trace, steps: Steps, epochs: Epochs) -> Facts:
    devices = [process for process in trace.processes if process.kind is ProcessKind.DEVICE]
    lines = sum(1 for _, track in trace.tracks() if track.event_count)
    start_ps, end_ps = trace.span
    return {
        "host": trace.host,
        "path": trace.path,
        "format": trace.format,
        "size": trace.size,
        "events": trace.event_count,
        "lines": lines,
        "complete": trace.complete and not trace.missing,
        "devices": len(devices),
        "devices_without_events": sum(device.empty for device in devices),
        "start_s": start_ps / PS_PER_S,
        "end_s": end_ps / PS_PER_S,
        "clock": _clock_facts(trace.clock),
        "from": _instant(clocks.began(trace)),
        "steps": step_facts.step_facts(trace, steps, epochs),
        "epochs": _epochs(steps, epochs),
        "phases": _phases(steps, epochs),
    }


def _phases(steps: Steps, epochs: Epochs) -> list[Facts]:
    """What was training and what was not, in order."""
    phases = sorted((*epochs.phases, *training(steps, epochs.phases)), key=attrgetter("start"))
    rows = []
    for phase in phases:
        row = {
            "name": phase.name,
            "start_s": phase.start / PS_PER_S,
            "end_s": phase.end / PS_PER_S,
            "epoch": None if phase.epoch is None else epochs[phase.epoch].number,
            "source": phase.source,
        }
        rows.append(row)
    return rows


def _epochs(steps: Steps, epochs: Epochs) -> Facts:
    counts = np.bincount(steps.epoch[steps.epoch >= 0], minlength=len(epochs))
    rows = []
    for index, epoch in enumerate(epochs.epochs[:_MAX_EPOCHS]):
        row = {
            "number": epoch.number,
            "start_s": step_facts.seconds(epoch.start),
            "end_s": step_facts.seconds(epoch.end),
            "slack_s": epoch.slack / PS_PER_S,
            "steps": int(counts[index]),
            "source": epoch.source,
            "scalars": dict(epoch.scalars),
        }
        rows.append(row)
    return {
        "count": len(epochs),
        "source": epochs.source,
        "rows": rows,
        "rows_left_out": max(0, len(epochs) - _MAX_EPOCHS),
    }


# ── the rest ─────────────────────────────────────────────────────────────────────────────────────


def _window_facts(power: Sequence[PowerSeries]) -> list[Facts]:
    """What a recording named while it ran: windows with what they drew, moments without an end."""
    if not any(series.marks for series in power):
        return []
    # Integration takes long to import: only where there is something to integrate.
    from powertui.data.energy import window_energy

    energies = {}
    for window in window_energy.window_energies(power):
        energies[window.path, window.mark] = window.energy
    # The channels of one log share its marks.
    marks_by_log = {series.path: series.marks for series in power}
    facts = []
    for path, marks in marks_by_log.items():
        for mark in marks:
            facts.append(_window(path, mark, energies.get((path, mark))))
    return facts


def _window(path: str, mark: Mark, energy: Energy | None) -> Facts:
    facts: Facts = {
        "name": mark.name,
        "path": path,
        "start_s": mark.start_ns / NS_PER_S,
        "end_s": mark.end_ns / NS_PER_S if mark.end_ns is not None else None,
    }
    if energy is None:
        return facts | dict.fromkeys(("joules", "lo_joules", "hi_joules", "reason"))
    return facts | {
        "joules": energy.joules,
        "lo_joules": energy.lo,
        "hi_joules": energy.hi,
        "reason": energy.reason or None,
    }


def _power_of(run: Run) -> list[Facts]:
    """Every channel, and whose it is: `belongs_to` is a host of the run, null for none."""
    if not run.power:
        return []
    from powertui.data.energy import power_owners

    owners = power_owners.of_run(run)
    channels = []
    for series, owner in zip(run.power, owners.owners, strict=True):
        facts = power_facts(series)
        facts["belongs_to"] = _host_of(owners, owner)
        facts["belongs_why"] = owner.why
        channels.append(facts)
    return channels


def _host_of(owners: Belongings, owner: Owner) -> str | None:
    if owner.machine is None:
        return None
    host = owners.machines[owner.machine]
    if owners.are_of_logs_alone:  # logs may name no host, and then they belong to none
        return host or None
    return host


def _energy_of(
    run: Run, entry: RunEntry, profiles: Sequence[Profile], aligning: Aligning | None
) -> Facts | None:
    """Joules of each host over its whole profile, and of the run or of logs alone, as `powertui
    energy` reports. None without power.
    """
    if not run.power:
        return None
    if not run.traces:
        from powertui.data.energy import logs_alone

        total = _joules(logs_alone.total_as_read(run.power), "no channel has readings")
        return {"hosts": [], **total, "not_used": [], "zones": []}
    from powertui.data.energy import account, host_energy, owner_notes, power_owners
    from powertui.data.energy.clock_alignment import zones_found

    accounts = [account.alone(profile, aligning) for profile in profiles]
    if not profiles:
        accounts = [account.of_run(run, index, entry, aligning) for index in range(len(run.traces))]
    zones = zones_found(channel for item in accounts for channel in item.placed)
    energy = host_energy.of_accounts(accounts, idle=False)
    hosts = []
    why = _why_none_counts(accounts)
    for host, joules in zip(energy.hosts, energy.energies, strict=True):
        hosts.append({"host": host, **_joules(joules, why)})
    not_used: dict[str, None] = {}  # each sentence once, in this order
    for host_account in accounts:
        not_used.update(dict.fromkeys(host_account.elsewhere))
    # With the option that says whose it is: without it a reader has joules and no way to them.
    not_used.update(dict.fromkeys(owner_notes.strangers(run.power, power_owners.of_run(run))))
    return {
        "hosts": hosts,
        **_joules(energy.total, why),
        "not_used": list(not_used),
        "zones": zones,
    }


def _why_none_counts(accounts: Sequence[Account]) -> str:
    """Why no channel of the hosts is counted, where there is one reason for all of them."""
    reasons = {one.text.removeprefix("none: ") for one in accounts if one.text.startswith("none: ")}
    return reasons.pop() if len(reasons) == 1 else "no power belongs to this host"


def _joules(energy: Energy | None, why: str) -> Facts:
    if energy is None:
        unknown = dict.fromkeys(("joules", "lo_joules", "hi_joules", "badge"))
        return {**unknown, "reason": why}
    return {
        "joules": energy.joules,
        "lo_joules": energy.lo,
        "hi_joules": energy.hi,
        "badge": energy.badge.value if energy.resolved else None,
        "reason": energy.reason or None,
    }


def power_facts(series: PowerSeries) -> Facts:
    """One channel: how many readings, over how long, how many watts."""
    watts = series.watts[np.isfinite(series.watts)]
    span_ns = int(series.times[-1] - series.times[0]) if len(series) > 1 else 0
    limits = [limit.watts for limit in series.limits if np.isfinite(limit.watts)]
    return {
        "name": series.sensor.name,
        "host": series.sensor.host,
        "label": series.sensor.label,
        "source": series.sensor.source,
        "scope": series.sensor.scope.value,
        "path": series.path,
        "readings": len(series),
        "span_s": span_ns / NS_PER_S,
        "min_watts": float(watts.min()) if len(watts) else None,
        "mean_watts": float(watts.mean()) if len(watts) else None,
        "max_watts": float(watts.max()) if len(watts) else None,
        "limit_watts": limits[-1] if limits else None,
        "clock": _clock_facts(series.clock),
        "warnings": _bounded(_warnings(series.warnings)),
    }


def _scalars(run: Run) -> list[Facts]:
    scalars = []
    for series in run.scalars[:_MAX_SCALARS]:
        if not len(series.steps):
            continue
        facts = {
            "group": series.group,
            "tag": series.tag,
            "points": len(series.steps),
            "last": float(series.values[-1]),
        }
        scalars.append(facts)
    return scalars


def _files(entry: RunEntry) -> Facts:
    return {
        "profiles": _paths(entry.profiles),
        "alternates": _paths(entry.alternates),
        "tfevents": _paths(entry.tfevents),
        "power": _paths(entry.power),
        "results": list(map(_other, entry.results)),
        "unread": list(map(_other, entry.unread)),
        "ignored": len(entry.ignored),
    }


def _other(file: OtherFile) -> Facts:
    return {
        "path": file.path,
        "host": file.host,
        "tool": file.tool,
        "size": file.size,
        "what": file.what,
    }


def _best_clock(traces: tuple[Trace, ...]) -> Clock:
    """The clock with the narrowest interval."""
    if not traces:
        return Clock(detail="there is no profile")
    dated = [trace.clock for trace in traces if trace.clock.known]
    return min(dated, key=attrgetter("half_ns"), default=traces[0].clock)


def _paths(files: Iterable[Any]) -> list[str]:
    return [file.path for file in files]


def unix_ns(clock: Clock, ps: int) -> int | None:
    """The middle of the interval in which a moment of the trace was, in Unix ns."""
    if not clock.known:
        return None
    return clock.mid_ns + ps // PS_PER_NS


def _warnings(warnings: tuple[Warn, ...]) -> list[str]:
    return list(map(elsewhere.warning_text, warnings))


def _bounded(texts: list[str]) -> list[str]:
    unique = list(dict.fromkeys(texts))
    if len(unique) > _MAX_WARNINGS:
        return [*unique[:_MAX_WARNINGS], f"… and {len(unique) - _MAX_WARNINGS} more"]
    return unique


def why_unread(file: OtherFile) -> str:
    """Why a file that is known by its name was not read."""
    if file.tool == "tmp":
        return file.what
    from powertui.data.formats.foreign import way_to_open

    way = way_to_open(file.path)
    return f"{file.what}. {way}" if way else f"{file.what}; format not supported yet"


def short_path(path: str) -> str:
    """The last part of a path, for a line of text."""
    if path == "-":
        return "standard input"
    return Path(path).name or path

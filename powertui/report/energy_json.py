"""The JSON of `powertui energy`: a stable interface.

What is unknown or not resolved is null, with the reason beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from powertui import __version__
from powertui.data.energy import (
    energy_rows,
    host_energy,
    integrate,
    mixture,
)
from powertui.data.energy import sensor as sensors
from powertui.data.energy.device_energy import DevicePower
from powertui.data.energy.findings.finding import Findings
from powertui.data.energy.host_energy import RunEnergy
from powertui.data.energy.log_alignment import Alignment
from powertui.data.energy.logs_alone import described_sensor
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.owner_evidence import Owner, listed
from powertui.data.energy.trace_account import Account, EpochEnergy
from powertui.data.model import NS_PER_S, PS_PER_S, Figure, Mark, PowerSeries, Warn
from powertui.report.energy_figures import (
    NO_POWER,
    json_energy,
    json_findings,
    json_rows,
    notes_on,
)
from powertui.report.owners_json import json_owners_of_run
from powertui.report.step_facts import seconds
from powertui.report.trace_energy import TraceEnergy


def as_json(path: str, traces: Sequence[TraceEnergy]) -> dict[str, Any]:
    """One object for everything under a path.

    `runs` has one element for every profiled host of every run.
    """
    return {
        "powertui": __version__,
        "path": path,
        "runs": [_json_trace(trace) for trace in traces],
        "totals": [
            *(_json_total(name, accounts) for name, accounts in _by_run(traces)),
            *(_json_total_of_logs(trace) for trace in traces if trace.account is None),
        ],
    }


def _json_total_of_logs(trace: TraceEnergy) -> dict[str, Any]:
    """What logs without a run come to: of all channels that do not overlap, as the text says."""
    energy = json_energy(trace.total_of_logs, NO_POWER)
    return {"name": trace.run.name, **energy, "unmatched": [], "hosts": [], "epochs": []}


# ── a run ────────────────────────────────────────────────────────────────────────────────────────


def _by_run(traces: Sequence[TraceEnergy]) -> list[tuple[str, list[Account]]]:
    """The accounts of each run, with its name."""
    runs: dict[int, tuple[str, list[Account]]] = {}
    for trace in traces:
        if trace.account is not None:
            _, accounts = runs.setdefault(id(trace.run), (trace.run.name, []))
            accounts.append(trace.account)
    return list(runs.values())


def totals(traces: Sequence[TraceEnergy]) -> list[tuple[str, RunEnergy]]:
    """What each run drew, each of its hosts once."""
    return [(name, host_energy.of_accounts(accounts)) for name, accounts in _by_run(traces)]


def _json_total(name: str, accounts: list[Account]) -> dict[str, Any]:
    """A run's energy, each of its hosts once.

    `joules` is null where a host's energy is not known; `hosts` has those that are. `unmatched` is
    the power that belongs to no host, over its whole log: in none of the sums.
    """
    energy = host_energy.of_accounts(accounts)
    why = next(filter(None, map(_why_none, accounts)), NO_POWER)
    unmatched = []
    share = accounts[0].share
    if share is not None:
        for channel, _ in share.strangers:
            series = described_sensor(channel)
            shown = _json_name(series) | {"file": series.path}
            unmatched.append(shown | json_energy(integrate.of_series(series)))
    hosts = []
    for host, host_total in zip(energy.hosts, energy.energies, strict=True):
        hosts.append({"host": host, **json_energy(host_total, why)})
    epochs = []
    for number, epoch_total in energy.epochs:
        epochs.append({"number": number, **json_energy(epoch_total, why)})
    return {
        "name": name,
        **json_energy(energy.total, why),
        "unmatched": unmatched,
        "hosts": hosts,
        "epochs": epochs,
    }


def _why_none(account: Account) -> str:
    """Why a host has no joules though there are logs; "" where it has, or there is none."""
    if account.counted:
        return ""
    if account.apart:
        return account.apart
    if account.text:
        return account.text
    strangers = account.share.strangers if account.share is not None else ()
    if not strangers:
        return ""
    names = listed([series.sensor.label for series, _ in strangers])
    _, first_owner = strangers[0]
    return f"no power belongs to this host: {names} ({first_owner.why})"


# ── a trace ──────────────────────────────────────────────────────────────────────────────────────


def _json_trace(trace: TraceEnergy) -> dict[str, Any]:
    account, findings = trace.account, trace.findings
    # The order of the keys is part of the interface; energies come last.
    shown: dict[str, Any] = {
        "name": trace.run.name,
        "host": trace.host,
        "alignment": _json_alignment(trace),
        "sensors": _json_sensors(trace),
        "unmatched": _json_unmatched(account),
        "owners": json_owners_of_run(trace.run, account),
        "counted": _json_counted(account),
        "idle_watts": _figure(account.idle) if account is not None else None,
        "idle_text": account.idle_text if account is not None else "",
        "epochs": _json_epochs(account),
        "steps": _json_steps(trace),
        "windows": _json_windows(trace),
        "marks": _json_marks(trace),
        **json_findings(findings if findings is not None else _NO_FINDINGS),
        "notes": trace.notes + (notes_on(findings) if findings is not None else []),
        "warnings": [_json_warning(warning) for warning in trace.run.warnings],
    }
    if account is None:
        whole_logs = []
        for series in trace.power:
            whole_logs.append(_json_name(series) | json_energy(integrate.of_series(series)))
        shown["whole_log"] = whole_logs
        return shown
    why = _why_none(account) or NO_POWER
    rows = energy_rows.profile_rows(account) if account.counted else []
    shown["profile"] = json_energy(account.energy(*account.trace.span), why)
    shown["devices"] = [_json_device(device, account) for device in trace.devices]
    shown["parts"] = json_rows(rows)
    shown["per_step"] = json_energy(account.per_step(None), why)
    return shown


_NO_FINDINGS = Findings(None, ())
_NO_ALIGNMENT: dict[str, Any] = {
    "offset_s": None,
    "lo_s": None,
    "hi_s": None,
    "source": "none",
    "status": "none",
    "evidence": [NO_POWER],
    "drift_ppm": 0.0,
}


def _json_alignment(trace: TraceEnergy) -> dict[str, Any]:
    if trace.account is None:
        return {**_NO_ALIGNMENT, "evidence": [trace.problem]}
    alignment = trace.account.alignment
    if alignment is None:
        return _NO_ALIGNMENT
    return alignment.as_dict()


def _json_unmatched(account: Account | None) -> list[dict[str, Any]]:
    """The channels that belong to no host, and why."""
    if account is None or account.share is None:
        return []
    unmatched = []
    for series, owner in account.share.strangers:
        unmatched.append(_json_name(series) | {"file": series.path, "reason": owner.why})
    return unmatched


def _json_counted(account: Account | None) -> dict[str, Any] | None:
    if account is None:
        return None
    channels = [account.placed[index].power.series.sensor.name for index in account.counted]
    return {"channels": channels, "text": account.text}


def _json_epochs(account: Account | None) -> list[dict[str, Any]]:
    if account is None:
        return []
    no_power = _why_none(account) or NO_POWER
    # Why a mean step may have no energy.
    why = "none of its steps is in this profile" if account.counted else no_power
    epochs = []
    for epoch in account.epoch_energies:
        shown = _json_epoch_bounds(epoch) | json_energy(epoch.energy, no_power)
        shown["per_step"] = json_energy(account.per_step(epoch.index), why)
        shown["channels"] = _json_channels(account, epoch)
        epochs.append(shown)
    return epochs


def _json_epoch_bounds(epoch: EpochEnergy) -> dict[str, Any]:
    return {
        "number": epoch.number,
        "start_s": epoch.lo / PS_PER_S,
        "end_s": epoch.hi / PS_PER_S,
    }


def _json_channels(account: Account, epoch: EpochEnergy) -> list[dict[str, Any]]:
    """What each channel of the host measured in an epoch."""
    placed = epoch.told_by.placed[: len(account.placed)]  # a sum of them may follow
    powers = [placement.power for placement in placed]
    energies = mixture.across(powers, epoch.lo, epoch.hi, edge_ps=epoch.edge)
    channels = []
    for index, (power, energy) in enumerate(zip(powers, energies, strict=True)):
        shown = _json_name(power.series) | {"counted": index in account.counted}
        channels.append(shown | json_energy(energy))
    return channels


def _json_steps(trace: TraceEnergy) -> list[dict[str, Any]]:
    account = trace.account
    if account is None:
        return []
    energies = account.step_energies
    rows = []
    for step in account.steps:
        row: dict[str, Any] = {
            "index": step.index,
            "epoch": account.epoch_number(step.epoch),
            "number": step.number,
            "name": step.name,
            "start_s": step.start / PS_PER_S,
            "end_s": step.end / PS_PER_S,
        }
        row |= json_energy(energies[step.index] if energies else None)
        if trace.devices:
            row["devices"] = [_json_device_step(device, step.index) for device in trace.devices]
        rows.append(row)
    return rows


# ── devices ──────────────────────────────────────────────────────────────────────────────────────


def _json_device(device: DevicePower, account: Account) -> dict[str, Any]:
    """A device of the trace: its channel, how sure that is, and its joules.

    They are those of the profile, of each epoch and of a mean step.
    """
    pair = device.pair
    name = {"sensor": None, "host": None}
    if device.channel is not None:
        name = _json_name(device.channel)
    epochs = []
    for epoch, energy in device.epoch_energies(account):
        epochs.append(_json_epoch_bounds(epoch) | json_energy(energy, pair.why))
    return {
        "device": pair.device,
        **name,
        "how": pair.how.value,
        "sure": pair.sure,
        "why": pair.why,
        **json_energy(device.energy(*account.trace.span), pair.why),
        "per_step": json_energy(device.per_step(None), pair.why),
        "epochs": epochs,
    }


_STEP_KEYS = ("joules", "lo", "hi", "mean_watts", "badge", "reason")


def _json_device_step(device: DevicePower, row: int) -> dict[str, Any]:
    """What a device drew in one step: fewer keys than elsewhere, as there are many steps."""
    energies: Sequence[Energy | None] = device.step_energies
    energy = energies[row] if energies else None
    figures = json_energy(energy, device.pair.why)
    return {"device": device.pair.device} | {key: figures[key] for key in _STEP_KEYS}


# ── recordings ───────────────────────────────────────────────────────────────────────────────────


def _json_windows(trace: TraceEnergy) -> list[dict[str, Any]]:
    """The named windows of recordings, with their energy."""
    windows = []
    for window in trace.windows:
        mark = _json_mark(trace, window.path, window.mark)
        windows.append(mark | json_energy(window.energy))
    return windows


def _json_marks(trace: TraceEnergy) -> list[dict[str, Any]]:
    """The moments that recordings named."""
    # The channels of one log share its marks.
    logs = {series.path: series.marks for series in trace.power}
    moments = []
    for path, marks_of_log in logs.items():
        for mark in marks_of_log:
            if mark.end_ns is None:
                moments.append(_json_mark(trace, path, mark))
    return moments


def _json_mark(trace: TraceEnergy, path: str, mark: Mark) -> dict[str, Any]:
    """A mark on the trace, null where nothing places its log, and on the log's own clock."""
    on_trace = trace.placed_marks.get((path, mark))
    return {
        "name": mark.name,
        "log": path,
        "start_s": seconds(on_trace.start_ps) if on_trace is not None else None,
        "end_s": seconds(on_trace.end_ps) if on_trace is not None else None,
        "log_start_s": mark.start_ns / NS_PER_S,
        "log_end_s": mark.end_ns / NS_PER_S if mark.end_ns is not None else None,
    }


# ── sensors ──────────────────────────────────────────────────────────────────────────────────────


def _json_name(series: PowerSeries) -> dict[str, Any]:
    return {"sensor": series.sensor.name, "host": series.sensor.host}


def _json_sensors(trace: TraceEnergy) -> list[dict[str, Any]]:
    """The host's own channels, each with the evidence that it is the host's.

    Without a trace there is no host: then they are all channels of the run.
    """
    account = trace.account
    if account is None:
        return [_json_sensor(series, None) for series in trace.power]
    owners: Sequence[Owner | None] = (None,) * len(account.placed)
    if account.share is not None:
        owners = account.share.owners
    sensors_shown = []
    for placement, owner in zip(account.placed, owners, strict=True):
        shown = _json_sensor(placement.power.series, placement.alignment)
        shown["belongs"] = _json_belongs(owner)
        sensors_shown.append(shown)
    return sensors_shown


_SENSOR_FIGURES = ("poll_s", "refresh_s", "quantum_w", "window_s", "delay_s", "gain")


def _json_belongs(owner: Owner | None) -> dict[str, str] | None:
    """Why a channel is the host's, and how sure that is; None where nobody had to ask."""
    if owner is None or owner.badge is None:
        return None
    return {"how": owner.how.value, "why": owner.why, "badge": owner.badge.value}


def _json_sensor(series: PowerSeries, alignment: Alignment | None) -> dict[str, Any]:
    sensor = series.sensor
    values: dict[str, float | None] = {}
    badges: dict[str, str] = {}
    for name in _SENSOR_FIGURES:
        figure: Figure | None = getattr(sensor, name)
        if figure is None:
            values[name] = None
        else:
            values[name] = figure.value
            badges[name] = figure.badge.value
    badges["scale"] = sensor.scale.value
    return {
        "name": sensor.name,
        "source": sensor.source,
        "scope": sensor.scope.value,
        "host": sensor.host,
        "device": asdict(sensor.device) if sensor.device is not None else None,
        "file": series.path,
        **values,
        "badges": badges,
        "kind": series.kind.value,
        "rows": len(series),
        "text": sensors.sentence(series),
        "alignment": alignment.as_dict() if alignment is not None else None,
        "warnings": [_json_warning(warning) for warning in series.warnings],
    }


def _figure(figure: Figure | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    return {"watts": figure.value, "badge": figure.badge.value}


def _json_warning(warning: Warn) -> dict[str, Any]:
    return {
        "file": warning.file,
        "where": warning.where,
        "cause": warning.cause,
        "count": warning.count,
    }

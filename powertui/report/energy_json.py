"""The JSON of `powertui energy`: a stable interface.

What is unknown or not resolved is null, with the reason beside it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from powertui import __version__
from powertui.data.energy import (
    device_energy,
    host_energy,
    integrate,
    marks,
    mixture,
    window_energy,
)
from powertui.data.energy import sensor as sensors
from powertui.data.energy.account import Account, EpochEnergy
from powertui.data.energy.align import Alignment
from powertui.data.energy.device_energy import DevicePower
from powertui.data.energy.findings.finding import Finding, Findings
from powertui.data.energy.host_energy import RunEnergy
from powertui.data.energy.integrate import Energy
from powertui.data.energy.marks import MarkOnTrace
from powertui.data.energy.window_energy import MarkEnergy
from powertui.data.model import NS_PER_S, PS_PER_S, Figure, Mark, PowerSeries, Run, Warn

NO_POWER = "no power log was found with this run; name one with --power FILE"


@dataclass(frozen=True, eq=False)
class TraceEnergy:
    """One trace of one run, as it is told.

    `account` is None when there is no trace to lay the power on.
    """

    run: Run
    host: str
    account: Account | None
    symmetry: Findings | None
    problem: str = ""

    @property
    def said(self) -> list[str]:
        """What stands above everything else: what is wrong, what was assumed, which power is
        nobody's.
        """
        share = self.account.share if self.account is not None else None
        return [
            *([self.problem] if self.problem else []),
            *(share.notes if share is not None else ()),
        ]

    @property
    def power(self) -> tuple[PowerSeries, ...]:
        """The run's channels, each with what its readings tell of its sensor."""
        return tuple(
            s if s.sensor.poll_s is not None else sensors.describe(s) for s in self.run.power
        )

    @functools.cached_property
    def windows(self) -> list[MarkEnergy]:
        """What the windows of its recordings drew."""
        return window_energy.window_energies(
            [p.power.series for p in self.account.placed]
            if self.account is not None
            else self.run.power
        )

    @functools.cached_property
    def devices(self) -> tuple[DevicePower, ...]:
        """The GPUs of the trace with their power."""
        return device_energy.device_powers(self.account) if self.account is not None else ()

    @functools.cached_property
    def placed_marks(self) -> dict[tuple[str, Mark], MarkOnTrace]:
        """Where the marks of its recordings lie on the trace."""
        return (
            marks.by_log([p.power for p in self.account.placed]) if self.account is not None else {}
        )


def as_json(path: str, told: Sequence[TraceEnergy]) -> dict[str, Any]:
    """One object for everything under a path; one element of `runs` for every profiled host of
    every run.
    """
    return {
        "powertui": __version__,
        "path": path,
        "runs": [_json_run(one) for one in told],
        "totals": [
            _json_total(*one, left)
            for one, left in zip(totals(told), _strangers(told), strict=True)
        ],
    }


def _by_run(told: Sequence[TraceEnergy]) -> list[tuple[str, list[Account]]]:
    """The accounts of each run, with its name."""
    runs: dict[int, tuple[str, list[Account]]] = {}
    for one in told:
        if one.account is not None:
            runs.setdefault(id(one.run), (one.run.name, []))[1].append(one.account)
    return list(runs.values())


def totals(told: Sequence[TraceEnergy]) -> list[tuple[str, RunEnergy]]:
    """What each run drew, each of its hosts once."""
    return [(name, host_energy.of_accounts(accounts)) for name, accounts in _by_run(told)]


def _strangers(told: Sequence[TraceEnergy]) -> list[list[PowerSeries]]:
    """The power of each run that belongs to none of its hosts, described."""
    out = []
    for _, accounts in _by_run(told):
        share = accounts[0].share
        found = [series for series, _ in share.strangers] if share is not None else []
        out.append([s if s.sensor.poll_s is not None else sensors.describe(s) for s in found])
    return out


def _json_total(name: str, found: RunEnergy, strangers: Sequence[PowerSeries]) -> dict[str, Any]:
    """A run's energy: every host once. `joules` is null where one of them is not known; `hosts` has
    those that are.

    `unmatched` is the power that belongs to no host, over its whole log: in none of the sums.
    """
    return {
        "name": name,
        **json_energy(found.total),
        "unmatched": [
            _json_name(s) | {"file": s.path} | json_energy(integrate.of_series(s))
            for s in strangers
        ],
        "hosts": [
            {"host": h, **json_energy(e)} for h, e in zip(found.hosts, found.energies, strict=True)
        ],
        "epochs": [{"number": number, **json_energy(e)} for number, e in found.epochs],
    }


def _json_run(one: TraceEnergy) -> dict[str, Any]:
    found = one.account
    shown: dict[str, Any] = {
        "name": one.run.name,
        "host": one.host,
        "alignment": None,
        "sensors": [_json_sensor(series, None) for series in one.power]
        if found is None
        else _json_own(found),
        "unmatched": [
            _json_name(series) | {"file": series.path, "reason": owner.why}
            for series, owner in found.share.strangers
        ]
        if found is not None and found.share is not None
        else [],
        "counted": None,
        "idle_watts": None,
        "idle_text": "",
        "epochs": [],
        "steps": [],
        "windows": _json_windows(one),
        "marks": _json_marks(one),
        "findings": [],
        "smaller_findings": [],
        "could_find": [],
        "could_find_smaller": [],
        "could_find_except": [],
        "could_find_text": "",
        "notes": one.said,
        "warnings": [_warn(w) for w in one.run.warnings],
    }
    if found is None:
        shown["alignment"] = {**_NO_ALIGNMENT, "evidence": [one.problem]}
        shown["whole_log"] = [
            _json_name(s) | json_energy(integrate.of_series(s)) for s in one.power
        ]
        return shown
    alignment = found.alignment
    shown["alignment"] = alignment.as_dict() if alignment is not None else _NO_ALIGNMENT
    shown["counted"] = {
        "channels": [found.placed[i].power.series.sensor.name for i in found.counted],
        "text": found.text,
    }
    shown["idle_watts"], shown["idle_text"] = _figure(found.idle), found.idle_text
    shown["profile"] = json_energy(found.energy(*found.trace.span))
    for epoch in found.epoch_energies:
        shown["epochs"].append(
            {"number": epoch.number, "start_s": epoch.lo / PS_PER_S, "end_s": epoch.hi / PS_PER_S}
            | json_energy(epoch.energy)
            | {
                "per_step": json_energy(found.per_step(epoch.index), _no_steps(found)),
                "channels": _json_channels(found, epoch),
            }
        )
    shown["devices"] = [_json_device(one, found) for one in one.devices]
    energies = found.step_energies
    for step in found.steps:
        shown["steps"].append(
            {
                "index": step.index,
                "epoch": found.epoch_number(step.epoch),
                "number": step.number,
                "name": step.name,
                "start_s": step.start / PS_PER_S,
                "end_s": step.end / PS_PER_S,
            }
            | json_energy(energies[step.index] if energies else None)
            | (
                {"devices": [_json_of_device(d, d.step_energies, step.index) for d in one.devices]}
                if one.devices
                else {}
            )
        )
    if one.symmetry is not None:
        shown["findings"] = [json_finding(f) for f in one.symmetry.findings]
        shown["smaller_findings"] = [json_finding(f) for f in one.symmetry.smaller]
        shown["could_find"] = [
            {"watts": limit.watts, "seconds": limit.seconds} for limit in one.symmetry.limits
        ]
        shown["could_find_smaller"] = [
            {"watts": limit.watts, "seconds": limit.seconds} for limit in one.symmetry.seen
        ]
        shown["could_find_except"] = [
            {"start_s": start, "end_s": end} for start, end in one.symmetry.apart
        ]
        shown["could_find_text"] = one.symmetry.could
        shown["notes"] += [
            *one.symmetry.notes,
            *([one.symmetry.reason] if one.symmetry.reason else []),
        ]
    return shown


def _json_device(one: DevicePower, found: Account) -> dict[str, Any]:
    """A device of the trace: its channel, how sure that is, and its joules over the profile, each
    epoch and a mean step.
    """
    name = _json_name(one.channel) if one.channel is not None else {"sensor": None, "host": None}
    return {
        "device": one.pair.device,
        **name,
        "how": one.pair.how.value,
        "sure": one.pair.sure,
        "why": one.pair.why,
        **json_energy(one.energy(*found.trace.span), one.pair.why),
        "per_step": json_energy(one.per_step(None), one.pair.why),
        "epochs": [
            {"number": epoch.number, "start_s": epoch.lo / PS_PER_S, "end_s": epoch.hi / PS_PER_S}
            | json_energy(energy, one.pair.why)
            for epoch, energy in one.epoch_energies(found)
        ],
    }


def _json_of_device(
    one: DevicePower, energies: Sequence[Energy | None], row: int
) -> dict[str, Any]:
    found = energies[row] if energies else None
    told = json_energy(found, one.pair.why)
    return {"device": one.pair.device} | {
        key: told[key] for key in ("joules", "lo", "hi", "mean_watts", "badge", "reason")
    }


def _json_windows(one: TraceEnergy) -> list[dict[str, Any]]:
    """Windows of recordings: `start_s` and `end_s` on the trace (null where nothing places the
    log), and on the log's own clock.
    """
    return [
        _json_mark(one, found.path, found.mark) | json_energy(found.energy) for found in one.windows
    ]


def _json_marks(one: TraceEnergy) -> list[dict[str, Any]]:
    logs = {series.path: series.marks for series in one.power}
    return [
        _json_mark(one, path, mark)
        for path, marked in logs.items()
        for mark in marked
        if mark.end_ns is None
    ]


def _json_mark(one: TraceEnergy, path: str, mark: Mark) -> dict[str, Any]:
    placed = one.placed_marks.get((path, mark))
    end = mark.end_ns
    return {
        "name": mark.name,
        "log": path,
        "start_s": placed.start_ps / PS_PER_S if placed is not None else None,
        "end_s": placed.end_ps / PS_PER_S
        if placed is not None and placed.end_ps is not None
        else None,
        "log_start_s": mark.start_ns / NS_PER_S,
        "log_end_s": end / NS_PER_S if end is not None else None,
    }


_NO_ALIGNMENT: dict[str, Any] = {
    "offset_s": None,
    "lo_s": None,
    "hi_s": None,
    "source": "none",
    "status": "none",
    "evidence": [NO_POWER],
    "drift_ppm": 0.0,
}


def json_energy(energy: Energy | None, why: str = NO_POWER) -> dict[str, Any]:
    """Joules with all that is told beside them; null where there are none, and why."""
    if energy is None:
        return {
            "joules": None,
            "mean_watts": None,
            "max_watts": None,
            "lo": None,
            "hi": None,
            "badge": None,
            "reason": why,
        }
    return {
        "joules": energy.joules,
        "mean_watts": energy.mean_w,
        "max_watts": energy.max_w,
        "lo": energy.lo,
        "hi": energy.hi,
        "held_joules": energy.other_joules,
        "gain_joules": energy.gain_j,
        "idle_joules": energy.idle_joules,
        "active_joules": energy.active_joules,
        "coverage": energy.coverage,
        "extrapolated": energy.extrapolated,
        "badge": energy.badge.value if energy.resolved else None,
        "reason": energy.reason or None,
    }


def _json_name(series: PowerSeries) -> dict[str, Any]:
    return {"sensor": series.sensor.name, "host": series.sensor.host}


def _json_own(found: Account) -> list[dict[str, Any]]:
    """The host's own channels, each with the evidence that it is the host's."""
    owners = found.share.owners if found.share is not None else (None,) * len(found.placed)
    return [
        _json_sensor(one.power.series, one.alignment)
        | {
            "belongs": None
            if owner is None or owner.badge is None
            else {"how": owner.how.value, "why": owner.why, "badge": owner.badge.value}
        }
        for one, owner in zip(found.placed, owners, strict=True)
    ]


def _no_steps(found: Account) -> str:
    return "none of its steps is in this profile" if found.counted else NO_POWER


def _json_channels(found: Account, epoch: EpochEnergy) -> list[dict[str, Any]]:
    placed = epoch.told_by.placed[: len(found.placed)]  # a sum of them may follow
    energies = mixture.across([p.power for p in placed], epoch.lo, epoch.hi, edge_ps=epoch.edge)
    return [
        _json_name(p.power.series) | {"counted": i in found.counted} | json_energy(energy)
        for i, (p, energy) in enumerate(zip(found.placed, energies, strict=True))
    ]


def _json_sensor(series: PowerSeries, alignment: Alignment | None) -> dict[str, Any]:
    sensor = series.sensor
    value = {
        name: figure.value if (figure := getattr(sensor, name)) is not None else None
        for name in ("poll_s", "refresh_s", "quantum_w", "window_s", "delay_s", "gain")
    }
    badges = {
        name: figure.badge.value for name in value if (figure := getattr(sensor, name)) is not None
    }
    badges["scale"] = sensor.scale.value
    device = asdict(sensor.device) if sensor.device is not None else None
    return {
        "name": sensor.name,
        "source": sensor.source,
        "scope": sensor.scope.value,
        "host": sensor.host,
        "device": device,
        "file": series.path,
        **value,
        "badges": badges,
        "kind": series.kind.value,
        "rows": len(series),
        "text": sensors.sentence(series),
        "alignment": alignment.as_dict() if alignment is not None else None,
        "warnings": [_warn(w) for w in series.warnings],
    }


def json_finding(one: Finding) -> dict[str, Any]:
    """One stretch that stands out."""
    return {
        "kind": one.kind,
        "witness": ", ".join(one.witnesses),
        "epoch": one.epoch,
        "step_lo": one.step_lo,
        "step_hi": one.step_hi,
        "start_s": one.start_ps / PS_PER_S,
        "end_s": one.end_ps / PS_PER_S,
        "start_lo_s": one.start_within[0] / PS_PER_S,
        "start_hi_s": one.start_within[1] / PS_PER_S,
        "end_lo_s": one.end_within[0] / PS_PER_S,
        "end_hi_s": one.end_within[1] / PS_PER_S,
        "elsewhere": [
            {"epoch": e, "start_s": lo / PS_PER_S, "end_s": hi / PS_PER_S}
            for e, lo, hi in one.elsewhere
        ],
        "delta_watts": one.delta_watts,
        "lo_watts": one.lo_watts,
        "hi_watts": one.hi_watts,
        "delta_joules": one.delta_joules,
        "lo_joules": one.lo_joules,
        "hi_joules": one.hi_joules,
        "delta_seconds": one.delta_seconds,
        "p": one.p,
        "badge": one.badge.value,
        "explained": one.explained,
        "ops": [
            {"name": op.name, "seconds": op.more_s, "usual_s": op.usual_s, "here_s": op.here_s}
            for op in one.ops
        ],
        "text": one.text,
        "step_half": one.step_half,
        "share_lo": one.share[0] if one.share is not None else None,
        "share_hi": one.share[1] if one.share is not None else None,
    }


def _figure(figure: Figure | None) -> dict[str, Any] | None:
    return None if figure is None else {"watts": figure.value, "badge": figure.badge.value}


def _warn(warn: Warn) -> dict[str, Any]:
    return {"file": warn.file, "where": warn.where, "cause": warn.cause, "count": warn.count}

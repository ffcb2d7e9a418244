"""Whose each channel of power is, as JSON: the host and the device, why, and how sure that is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from powertui.data.energy import power_owners, scopes
from powertui.data.energy.devices import Pair
from powertui.data.energy.owner_evidence import Owner
from powertui.data.energy.power_owners import Belongings
from powertui.data.energy.trace_account import Account
from powertui.data.model import Badge, Device, PowerSeries, Run
from powertui.data.training.machines import TrainingPower


def json_owners_of_run(run: Run, account: Account | None) -> list[dict[str, Any]]:
    """One element for each channel of a run, of whichever of its hosts."""
    if account is None:
        return []
    owners = power_owners.of_run(run)
    # An account holds the channels of its own host, in the order of the run.
    rows = owners.mine(run.traces.index(account.trace))
    pairs = {rows[pair.channel]: pair for pair in account.pairs if pair.channel is not None}
    return _json_channels(run.power, owners, pairs, {rows[row] for row in account.counted})


def json_owners_of_training(
    power: TrainingPower,
    counted: Sequence[PowerSeries],
) -> list[dict[str, Any]]:
    """One element for each channel of a training."""
    pairs = {}
    for row, series in enumerate(power.power):
        pair = power.pair(series)
        if pair is not None:
            pairs[row] = pair
    return _json_channels(power.power, power.owners, pairs, power.rows(counted))


def _json_channels(
    power: Sequence[PowerSeries],
    owners: Belongings,
    pairs: Mapping[int, Pair],
    counted: Collection[int],
) -> list[dict[str, Any]]:
    channels = []
    for row, (series, owner) in enumerate(zip(power, owners.owners, strict=True)):
        host = None
        if owner.machine is not None:
            host = owners.machines[owner.machine]
        channel = {
            "sensor": series.sensor.name,
            "file": series.path,
            "host": host,
            **_json_evidence(series, owner, pairs.get(row)),
            "counted": row in counted,
        }
        channels.append(channel)
    return channels


def _json_evidence(series: PowerSeries, owner: Owner, pair: Pair | None) -> dict[str, Any]:
    if pair is None or owner.machine is None:
        device = _device_name(scopes.device(series.sensor))
        return {"device": device, "why": owner.why, "assumed": owner.is_assumed}
    return {
        "device": pair.device,
        "why": f"{owner.why}; its device: {pair.why}",
        "assumed": owner.is_assumed or pair.badge is Badge.ASSUMED,
    }


def _device_name(device: Device | None) -> str | None:
    """A device as its log calls it; None where it names none."""
    if device is None:
        return None
    if device.index is not None:
        return f"GPU {device.index}"
    return device.uuid or device.pci or None

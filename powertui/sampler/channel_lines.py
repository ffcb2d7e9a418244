"""What a recording says of each channel at its end: J, mean W, and how far they may be trusted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from powertui.units import energy_interval, percent, quantity

__all__ = ["channel_lines"]

# How much is listed one by one: chosen so that a screen holds it, not measured.
_MAX_LISTED_CHANNELS = 12
_MAX_NAMED_MACHINES = 4  # in the line of their sum
_WRITTEN_AS_FULL = 0.995  # below this share a percentage is worth a word: it does not read 100 %
_HOST_AND_PORT = re.compile(r"(.+?)(?::\d{1,5})?")


def channel_lines(summary: dict[str, Any]) -> list[str]:
    """The energy of each channel, of many the first ones, and the sum over machines."""
    channels = summary["channels"]
    lines = [_channel_line(channel) for channel in channels[:_MAX_LISTED_CHANNELS]]
    if len(channels) > _MAX_LISTED_CHANNELS:
        lines.append(f"… and {len(channels) - _MAX_LISTED_CHANNELS} more channels")
    if sum_line := _sum_line(channels):
        lines.append(sum_line)
    return lines


def _has_energy(channel: dict[str, Any]) -> bool:
    return channel["joules"] is not None and channel["samples"] >= 2


def _file_energy(channel: dict[str, Any]) -> dict[str, Any] | None:
    """The energy that the file gives, with its interval; None where that is not resolved."""
    energy: dict[str, Any] | None = channel.get("energy")
    if energy and energy["joules"] is not None:
        return energy
    return None


def _joules(channel: dict[str, Any]) -> float:
    """As the file gives it, where that is resolved; else as counted."""
    joules: float = (_file_energy(channel) or channel)["joules"]
    return joules


def _counted(number: int, noun: str) -> str:
    """ "1 tick", "2 ticks"."""
    return f"{number} {noun}" + "s" * (number != 1)


def _channel_line(channel: dict[str, Any]) -> str:
    """J, mean W, and how far they may be trusted."""
    name = f"{channel['source']} {channel['channel']}: "
    gaps = channel["gaps"]
    if not _has_energy(channel):
        why = f"{_counted(channel['samples'], 'reading')} in {channel['span_s']:.1f} s"
        if gaps:
            why += f", {gaps} without a value"
        return f"{name}energy not resolved ({why})"
    notes = []
    if gaps:
        notes.append(f"{gaps} of {channel['readings']} readings without a value")
    if channel["missed"]:
        notes.append(f"{_counted(channel['missed'], 'tick')} missed")
    if channel["reconnects"]:
        notes.append(_counted(channel["reconnects"], "reconnect"))
    if notes:
        remarks = f" ({', '.join(notes)})"
    else:
        remarks = ""
    return name + _energy_text(channel) + remarks


def _energy_text(channel: dict[str, Any]) -> str:
    """The energy as the file gives it, with its interval, where that is resolved.

    Else it is given as counted, with the reason.
    """
    span_s = channel["span_s"]
    spread = ""
    if channel["min_w"] is not None:
        spread = f" ({channel['min_w']:.0f} to {channel['max_w']:.0f} W)"
    if energy := _file_energy(channel):
        text = (
            f"{energy_interval(energy['joules'], energy['lo'], energy['hi'])} (95 %), "
            f"mean {energy['mean_w']:.1f} W{spread} over {energy['over_s']:.1f} s"
        )
        if energy["over_s"] < _WRITTEN_AS_FULL * span_s:
            text += f" of {span_s:.1f} s"
        if energy["coverage"] < _WRITTEN_AS_FULL:
            text += f", {percent(energy['coverage'], 1)} of the time sampled"
        return text
    covered_s = channel["covered_s"]
    text = (
        f"{quantity(channel['joules'], 'J')}, mean {channel['watts']:.1f} W{spread} over "
        f"{covered_s:.1f} s"
    )
    coverage = covered_s / span_s if span_s else 0.0
    if coverage < _WRITTEN_AS_FULL:
        text += f", which is {percent(coverage, 1)} of the time; the rest has no values"
    if unresolved := channel.get("energy"):
        text += f", without an interval: {unresolved['reason']}"
    return text


def _sum_line(channels: list[dict[str, Any]]) -> str:
    """The sum over whole machines.

    Parts of a machine are not added up: they may include each other.
    """
    nodes = [channel for channel in channels if channel["scope"] == "node"]
    machines = {node["host"] or node["source"]: node.get("how", "") for node in nodes}
    if len(machines) < 2 or len(machines) < len(nodes) or _may_be_one_machine(machines):
        return ""
    measured = [node for node in nodes if _has_energy(node)]
    joules = quantity(sum(map(_joules, measured)), "J")
    watts = sum(node["watts"] for node in measured)
    if len(machines) <= _MAX_NAMED_MACHINES:
        names = f" ({', '.join(machines)})"
    else:
        names = ""
    text = f"{len(measured)} machines together{names}: {joules}, mean {watts:,.0f} W"
    missing_count = len(nodes) - len(measured)
    if missing_count:
        text += f" (without {missing_count} that had no values)"
    return text


def _may_be_one_machine(machines: Mapping[str, str]) -> bool:
    """Whether two of them may be the IPMI and the Redfish of one machine.

    Behind two ports of one address nobody can tell.
    """
    protocols: dict[str, set[str]] = {}
    for name, how in machines.items():
        match = _HOST_AND_PORT.fullmatch(name)
        host = match[1] if match else name
        protocols.setdefault(host, set()).add("redfish" if how.startswith("redfish") else "ipmi")
    return any(len(together) > 1 for together in protocols.values())

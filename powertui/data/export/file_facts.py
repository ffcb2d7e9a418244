"""What a reader of an exported file must know: its run, its clock, the window's energy, and how the
power got onto this clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from powertui import units
from powertui.data.energy import mixture
from powertui.data.energy import sensor as sensors
from powertui.data.energy.measured_energy import Energy
from powertui.data.export.sheets import channel_names
from powertui.data.model import NS_PER_S, PS_PER_S, PowerOnTrace
from powertui.data.window import Window


def file_facts(
    window: Window,
    run: str,
    version: str,
    energies: Sequence[tuple[str, Energy]] = (),
) -> list[tuple[str, Any]]:
    """What a reader of the file must know: run, clock, window with its energy, and how the power
    got onto this clock.
    """
    facts: list[tuple[str, Any]] = [
        ("powertui", version),
        ("run", run),
        ("host", window.trace.host),
        ("window", f"{_exact(window.lo)} s to {_exact(window.hi)} s of the profile"),
    ]
    for name, energy in energies:
        facts.append(("energy", f"{name}: {_in_words(energy)}"))
    facts.append(("clock", _clock(window)))
    for name, channel in zip(channel_names(window.power), window.power, strict=True):
        series = channel.series
        sentence = sensors.sentence(series)
        facts.append(("sensor", f"{name}: {sentence} ({series.sensor.source})"))
        facts.append(("alignment", f"{name}: {_alignment(channel)}"))
    return facts


def _clock(window: Window) -> str:
    clock = window.trace.clock
    if not clock.known:
        return "the profile's wall time is not known"
    zero = units.fixed(clock.mid_ns, NS_PER_S, 9)
    half = units.fixed(clock.half_ns, NS_PER_S, 6)
    return f"the profile's zero is at Unix {zero} s +- {half} s ({clock.source})"


def _alignment(channel: PowerOnTrace) -> str:
    """How a channel got onto the profile's clock, and how sure that is."""
    if channel.status == "none":
        return "none, left out"
    zero = _exact(channel.offset_ps)
    low = _exact(channel.offset_lo_ps)
    high = _exact(channel.offset_hi_ps)
    at = f"its zero is at {zero} s of the profile (95 % {low} to {high} s)"
    return f"{channel.status}, {channel.source}; {at}"


def energies(window: Window, *, edge_ps: float = 0.0) -> list[tuple[str, Energy]]:
    """The energy of the window, channel by channel."""
    names = channel_names(window.power)
    return [
        (name, mixture.energy(channel, window.lo, window.hi, edge_ps=edge_ps))
        for name, channel in zip(names, window.power, strict=True)
        if channel.status != "none"
    ]


def _in_words(energy: Energy) -> str:
    """ "123.4 J (95 % 120.0 to 126.8 J), measured" """
    if energy.interval is None:
        return energy.reason or "not resolved"
    joules, lo, hi = energy.interval
    return f"{joules:.6g} J (95 % {lo:.6g} to {hi:.6g} J), {energy.badge.value}"


def shown(energy: Energy) -> str:
    """The same as every page shows it: "123.4 J ± 3.4, measured"."""
    if energy.interval is None:
        return energy.reason or "not resolved"
    joules = units.energy_interval(*energy.interval)
    return f"{joules}, {energy.badge.value}"


def _exact(ps: int) -> str:
    return units.fixed(int(ps), PS_PER_S, 12)

"""Figures in sentences of conclusions: at most four digits, and the units of everyday."""

from __future__ import annotations

from powertui import units
from powertui.data.model import PS_PER_S


def percent(share: float) -> str:
    """A share: "84 %", "7.3 %"."""
    points = 100 * share
    if points >= 9.95:
        return f"{points:.0f} %"
    if points >= 0.05:
        return f"{points:.1f} %"
    return "0 %" if points <= 0 else "less than 0.1 %"


def whole_percent(share: float) -> str:
    """The same where there is room for few cells: "84 %", "7 %"."""
    if share > 0:
        return f"{max(1, round(100 * share))} %"
    return "0 %"


def seconds(length_s: float) -> str:
    """A length of time with three digits."""
    return units.duration(round(length_s * PS_PER_S), 3)


def watts(delta: float) -> str:
    """A difference of power: "+60 W"."""
    return units.difference(delta, "W")


def joules(delta: float) -> str:
    """A difference of energy: "+124 J", "+12.4 kJ"."""
    return units.energy_difference(delta)


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    text = text[:1].upper() + text[1:]
    if text.endswith((".", "!", "?")):
        return text
    return f"{text}."

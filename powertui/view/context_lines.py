"""The lines beside the timeline: named values in sections, and energies as such lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from powertui import units
from powertui.data.category import Category
from powertui.data.model import Badge
from powertui.plain import plain
from powertui.value_types import dataclass
from powertui.view.power_facts import LinePower

if TYPE_CHECKING:
    from powertui.data.energy.measured_energy import Energy


@dataclass(frozen=True)
class ContextLine:
    """One line: a name, a value, and how far the value can be trusted where it is a figure of
    energy or power.
    """

    name: str
    value: str
    badge: Badge | None = None
    category: Category | None = None  # colored after it


@dataclass(frozen=True)
class Section:
    title: str
    facts: tuple[ContextLine, ...]


class SectionLines:
    """The lines of a section while they are collected."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._lines: list[ContextLine] = []

    def add(
        self,
        name: str,
        value: str,
        badge: Badge | None = None,
        category: Category | None = None,
    ) -> None:
        line = ContextLine(name, value, badge, category)
        self._lines.append(line)

    def extend(self, lines: Iterable[ContextLine]) -> None:
        self._lines += lines

    def section(self) -> Section:
        return Section(self._title, tuple(self._lines))


def energies(power: Sequence[LinePower], lo: int, hi: int) -> list[ContextLine]:
    """Energy and mean power of a stretch, per channel; where it is not resolved, why."""
    facts: list[ContextLine] = []
    if hi <= lo:
        return facts
    for line in power:
        energy = line.energy(lo, hi)
        if energy is not None:
            suffix = ""
            if len(power) > 1 or line.named:
                suffix = f" {line.name}"
            facts.extend(energy_lines(energy, suffix))
    return facts


def energy_lines(energy: Energy, suffix: str = "") -> list[ContextLine]:
    """Joules with their interval and badge, or the reason why there is no number."""
    name = f"energy{suffix}"
    if not energy.resolved or energy.joules is None:
        reason = plain(energy.reason, 200)
        return [ContextLine(name, reason)]
    if energy.interval is not None:
        text = units.energy_interval(*energy.interval)
    else:
        text = units.energy(energy.joules)
    facts = [ContextLine(name, text, energy.badge)]
    if energy.mean_w is not None:
        mean = units.quantity(energy.mean_w, "W")
        mean_fact = ContextLine(f"mean{suffix}", mean, energy.badge)
        facts.append(mean_fact)
    return facts

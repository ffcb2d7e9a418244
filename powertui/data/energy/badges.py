"""What the badges of joules say, in words: of those that a table shows."""

from __future__ import annotations

from collections.abc import Iterable

from powertui.data.energy.measured_energy import Energy
from powertui.data.model import Badge

MEANING = {
    Badge.MEASURED: "integrated from readings",
    Badge.ESTIMATED: (
        "a gap was filled, the watts are modelled, or the place of the power log is uncertain"
    ),
    Badge.ASSUMED: "a default or a convention was used",
    Badge.SIMULATED: "nothing was measured: a simulated sensor followed the load, as in the demo",
}
NOT_RESOLVED = "the sensor has too few readings there for an answer"


def legend(shown: Iterable[Energy | None]) -> str:
    """One line for the badges among these; empty without any."""
    energies = [energy for energy in shown if energy is not None]
    badges = {energy.badge for energy in energies if energy.resolved}
    parts = [f"{badge.value}: {meaning}" for badge, meaning in MEANING.items() if badge in badges]
    parts += (
        [f"not resolved: {NOT_RESOLVED}"] if any(not energy.resolved for energy in energies) else []
    )
    return "; ".join(parts)

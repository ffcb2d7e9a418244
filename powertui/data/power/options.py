"""What a person can say about a power log, and what a reader answers."""

from __future__ import annotations

from powertui.data.model import PowerSeries, Warn
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class PowerLog:
    """One power log as read: its channels, what could not be believed, and what had to be
    guessed.
    """

    path: str
    dialect: str
    series: tuple[PowerSeries, ...]
    warnings: tuple[Warn, ...] = ()
    guess: str = ""  # for a person: which columns, which unit, which kind of time

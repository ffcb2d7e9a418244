"""What a person can say about a power log, and what a reader answers."""

from __future__ import annotations

from powertui.data.model import PowerSeries, Warn
from powertui.value_types import dataclass

# Where nothing tells which columns hold times and watts.
COLUMNS_HINT = (
    "Name its columns, or number them from 1: --watts-col NAME --time-col NAME --unit W "
    "(and --tz for local times)."
)


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

"""What a person can say about a power log, and what a reader answers."""

from __future__ import annotations

from dataclasses import dataclass

from powertui.data.limits import MACHINE, Limit
from powertui.data.model import PowerSeries, Warn


@dataclass(frozen=True)
class PowerOptions:
    """Said on the command line when it cannot be guessed. None: guess, and tell what was guessed."""

    time_col: str | None = None  # a column's name, or its number from 1
    watts_col: str | None = None  # one name or number, or several with commas between
    unit: str | None = None  # W, mW, uW, kW, J, mJ, uJ, Wh, kWh
    tz: str | None = None  # zone of local times: "America/Sao_Paulo", "-03:00", "UTC"
    host: str = ""  # whose power it is, when the log does not say
    limit: Limit = MACHINE  # of the memory that reading may take


@dataclass(frozen=True, eq=False)
class PowerLog:
    """One power log as read: its channels, what could not be believed, and what had to be guessed."""

    path: str
    dialect: str
    series: tuple[PowerSeries, ...]
    warnings: tuple[Warn, ...] = ()
    guess: str = ""  # for a person: which columns, which unit, which kind of time

"""The energy of one host of a run, with what the pages and the JSON of `powertui energy` show."""

from __future__ import annotations

import functools

from powertui.data.energy import device_energy, marks, scopes, window_energy
from powertui.data.energy.device_energy import DevicePower
from powertui.data.energy.findings.finding import Findings
from powertui.data.energy.logs_alone import described_sensor, total_of_logs
from powertui.data.energy.marks import MarkOnTrace
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.trace_account import Account
from powertui.data.energy.window_energy import MarkEnergy
from powertui.data.model import Mark, PowerSeries, Run
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class TraceEnergy:
    """The energy of one trace of a run.

    `account` is None when there is no trace to align the power with.
    """

    run: Run
    host: str
    account: Account | None
    findings: Findings | None
    problem: str = ""

    @property
    def notes(self) -> list[str]:
        """What is written above everything else.

        It is what is wrong, what was assumed, and which power belongs to no host.
        """
        notes = [self.problem] if self.problem else []
        if self.account is not None:
            notes += self.account.owner_notes
        return notes

    @functools.cached_property
    def power(self) -> tuple[PowerSeries, ...]:
        """The run's channels, each with what its readings show of its sensor."""
        return tuple(described_sensor(series) for series in self.run.power)

    @functools.cached_property
    def windows(self) -> list[MarkEnergy]:
        """What the windows of its recordings drew."""
        if self.account is None:
            return window_energy.window_energies(self.run.power)
        placed = [placement.power.series for placement in self.account.placed]
        return window_energy.window_energies(placed)

    @functools.cached_property
    def counted_logs(self) -> scopes.Addends:
        """The channels that do not overlap, where there is no trace."""
        return scopes.total(self.power)

    @functools.cached_property
    def total_of_logs(self) -> Energy | None:
        """Their energy, each over its whole log."""
        return total_of_logs(self.power)

    @functools.cached_property
    def devices(self) -> tuple[DevicePower, ...]:
        """The GPUs of the trace with their power."""
        if self.account is None:
            return ()
        return device_energy.device_powers(self.account)

    @functools.cached_property
    def placed_marks(self) -> dict[tuple[str, Mark], MarkOnTrace]:
        """Where the marks of its recordings are on the trace."""
        if self.account is None:
            return {}
        powers = [placement.power for placement in self.account.placed]
        return marks.by_log(powers)

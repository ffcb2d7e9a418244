"""What each GPU of a trace drew, by the channel that is its own."""

from __future__ import annotations

import functools
from dataclasses import replace

from powertui.data.energy.devices import Pair
from powertui.data.energy.idle import IdlePower
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.trace_account import Account, EpochEnergy
from powertui.data.model import PowerSeries, worst_badge
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class DevicePower:
    """A device with its channel and what that drew.

    Figures of a channel that is only assumed to be its own say so.
    """

    pair: Pair
    account: Account | None  # of that channel alone; None where no channel is its own
    channel: PowerSeries | None

    def energy(
        self,
        lo_ps: int,
        hi_ps: int,
        *,
        edge_ps: float = 0.0,
    ) -> Energy | None:
        """Over any window."""
        return (
            self._badged(self.account.energy(lo_ps, hi_ps, edge_ps=edge_ps))
            if self.account is not None
            else None
        )

    def epoch_energies(self, host: Account) -> list[tuple[EpochEnergy, Energy | None]]:
        """Of each epoch that the host's account knows; a device without a channel has no joules."""
        if self.account is None:
            return [(epoch_energy, None) for epoch_energy in host.epoch_energies]
        return [
            (epoch_energy, self._badged(epoch_energy.energy))
            for epoch_energy in self.account.epoch_energies
        ]

    def per_step(self, epoch: int | None) -> Energy | None:
        """Mean energy of one step."""
        if self.account is not None:
            return self._badged(self.account.per_step(epoch))
        return None

    @functools.cached_property
    def step_energies(self) -> tuple[Energy | None, ...]:
        """Every step's."""
        return (
            tuple(self._badged(step_energy) for step_energy in self.account.step_energies)
            if self.account is not None
            else ()
        )

    def _badged(self, measured: Energy | None) -> Energy | None:
        of_pair = self.pair.badge
        if measured is None or of_pair is None:
            return measured
        return replace(measured, badge=worst_badge((measured.badge, of_pair)))


def device_powers(account: Account) -> tuple[DevicePower, ...]:
    """The GPUs of an account's trace with their power."""
    power = [channel.power for channel in account.placed]
    return tuple(
        DevicePower(
            pair,
            None if pair.channel is None else _alone(account, pair.channel),
            None if pair.channel is None else power[pair.channel].series,
        )
        for pair in account.pairs
    )


def _alone(account: Account, channel: int) -> Account:
    """The account of one channel.

    What its device draws when nothing runs, the pauses of all do not tell.
    """
    return replace(account, counted=(channel,), idle_of=lambda: IdlePower(None))

"""What hosts draw while their ranks wait in collectives, and the joules that this comes to.

A wait lasts milliseconds and a reading a second, so no reading shows a wait alone. But readings
hold more and less of them: the watts at which a host waits are those that its readings approach as
the share of waits grows. Where that share is about the same in all readings, they cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from powertui.data.asked import Aligning
from powertui.data.energy import account, settings
from powertui.data.energy.samples import Samples, power_samples
from powertui.data.energy.trace_account import Account
from powertui.data.energy.wait_readings import (
    TOO_FAR_APART,
    over_several_waits,
    slow_variation,
    wait_stretches,
    window_lengths,
)
from powertui.data.energy.wait_tries import (
    ALL_ALIKE,
    MIN_VARIATION,
    LogOffset,
    WaitReadings,
    WaitWatts,
    log_offsets,
    watts_over_offsets,
)
from powertui.data.model import PS_PER_S, Badge, Bools, PowerOnTrace
from powertui.data.opened import Opened
from powertui.data.tools.covered_time import CoveredTime
from powertui.data.tools.rank_lateness import Lateness
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_MIN_READINGS = settings.MIN_SAMPLE_VALUES  # fewer show no spread; chosen, not measured
# An interval as wide as the joules themselves says nothing. Chosen.
_MAX_HALF_SHARE = settings.NEARLY_ALL_SHARE


@dataclass(frozen=True)
class WaitEnergy:
    """What one machine drew while its ranks waited."""

    machine: str
    ranks: tuple[int, ...]  # of the matched ones
    wait_s: float  # of its ranks, on average
    watts: WaitWatts | None
    reason: str = ""  # why the watts are not known

    @property
    def joules(self) -> float | None:
        """None where they are not known."""
        if self.watts is None:
            return None
        return self.watts.watts * self.wait_s

    @property
    def half(self) -> float | None:
        """Half of their 95 % interval."""
        if self.watts is None:
            return None
        return self.watts.half * self.wait_s


class WaitSum(NamedTuple):
    """What all machines drew while waiting."""

    joules: float
    half: float


def wait_energies(
    opened: Opened,
    lateness: Lateness,
    aligning: Aligning,
) -> tuple[WaitEnergy, ...]:
    """Of every machine that has ranks in the collectives."""
    machines: dict[str, list[int]] = {}
    accounts: dict[str, Account] = {}
    has_power = bool(opened.run.power)
    for number, rank in enumerate(lateness.matched.ranks):
        profile = opened.profiles[rank.host]
        machine = profile.trace.machine or profile.host or rank.name
        if has_power:
            profile_account = account.energy_account(profile, aligning)
            if profile_account.share is not None:
                machine = profile_account.share.machine or machine
            accounts.setdefault(machine, profile_account)
        machines.setdefault(machine, []).append(number)
    energies = []
    for machine, ranks in machines.items():
        energy = _of_machine(machine, ranks, lateness, accounts.get(machine))
        energies.append(energy)
    return tuple(energies)


def wait_sum(energies: Sequence[WaitEnergy]) -> WaitSum | None:
    """All machines together; None where one is not known, or where the sum would say nothing."""
    if not energies:
        return None
    joules = 0.0
    squares = 0.0
    for energy in energies:
        if energy.joules is None or energy.half is None:
            return None
        joules += energy.joules
        squares += energy.half**2
    return resolved(WaitSum(joules, math.sqrt(squares)))


def resolved(total: WaitSum) -> WaitSum | None:
    """The same; None where its interval is as wide as itself."""
    if total.half < _MAX_HALF_SHARE * total.joules:
        return total
    return None


def _of_machine(
    machine: str,
    ranks: Sequence[int],
    lateness: Lateness,
    account_of_machine: Account | None,
) -> WaitEnergy:
    waits = [wait_stretches(lateness, rank) for rank in ranks]
    waited_ps = sum(stretches.length for stretches in waits)
    watts: WaitWatts | None = None
    reason = "no power of it is known"
    if account_of_machine is not None and account_of_machine.power is not None:
        span = account_of_machine.trace.span
        watts, reason = _wait_watts(account_of_machine.power, span, waits)
    return WaitEnergy(
        machine=machine,
        ranks=tuple(ranks),
        wait_s=waited_ps / len(waits) / PS_PER_S,
        watts=watts,
        reason=reason,
    )


def _wait_watts(
    power: PowerOnTrace,
    span: tuple[int, int],
    waits: Sequence[CoveredTime],
) -> tuple[WaitWatts | None, str]:
    """The watts at which a machine waits, and why its readings do not show them."""
    if power.status == "none":
        return None, "its power log is not aligned"
    readings = power_samples(power.series)
    offsets = log_offsets(power)
    inside = _always_inside(readings, offsets, span)
    inside_count = int(inside.sum())
    if inside_count < _MIN_READINGS:
        return None, _too_few(readings, power, span)
    chosen = over_several_waits(readings[inside], waits)
    if chosen is None:
        return None, TOO_FAR_APART
    if len(chosen) < _MIN_READINGS:
        return None, _too_few(readings, power, span)
    wait_readings = WaitReadings(
        samples=chosen,
        waits=waits,
        span=span,
        is_gathered=len(chosen) < inside_count,
    )
    # Waiting, a machine draws something, and no more than it ever does.
    half_of_most = float(chosen.watts.max()) / 2
    between = WaitWatts(half_of_most, half_of_most, Badge.ASSUMED)
    likeliest = np.array([power.offset_ps], np.int64)
    shares = wait_readings.waited_shares(likeliest)[0]
    if slow_variation(shares, wait_readings.in_a_row) < MIN_VARIATION:
        return between, ALL_ALIKE
    described = power.series.sensor
    lengths = [1.0]
    if not wait_readings.is_gathered:
        lengths = window_lengths(described, readings.refresh)
    fitted, reason = watts_over_offsets(wait_readings, offsets, lengths)
    if fitted is None:
        return between, reason
    if fitted.half > between.half:
        return between, ALL_ALIKE
    half = fitted.half
    if described.gain:
        half = math.hypot(half, fitted.watts * described.gain.value)
    badge = Badge.ESTIMATED if power.badge is Badge.MEASURED else power.badge
    return WaitWatts(fitted.watts, half, badge), ""


def _too_few(
    readings: Samples,
    power: PowerOnTrace,
    span: tuple[int, int],
) -> str:
    likeliest = [LogOffset(power.offset_ps, 1.0)]
    count = int(_always_inside(readings, likeliest, span).sum())
    if count >= _MIN_READINGS:
        return "its power log is not aligned surely enough: its places are too far apart"
    return f"its log has {count} readings in the profile, too few for waits"


def _always_inside(
    readings: Samples,
    offsets: Sequence[LogOffset],
    span: tuple[int, int],
) -> Bools:
    """The readings that are in the profile at every offset, so that all are held against the
    same.
    """
    begin, end = span
    places = [offset.ps for offset in offsets]
    earliest_s = min(places) / PS_PER_S
    latest_s = max(places) / PS_PER_S
    begins_inside = readings.lo + earliest_s >= begin / PS_PER_S
    ends_inside = readings.hi + latest_s <= end / PS_PER_S
    has_window = readings.hi > readings.lo
    return np.asarray(begins_inside & ends_inside & has_window)

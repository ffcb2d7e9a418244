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
from powertui.data.energy.robust_stats import TAILS
from powertui.data.energy.samples import Samples, power_samples, usual_window_s
from powertui.data.energy.trace_account import Account
from powertui.data.model import PS_PER_S, Z95, Badge, Bools, Floats, Int64s, PowerOnTrace, Sensor
from powertui.data.opened import Opened
from powertui.data.tools.covered_time import CoveredTime, union
from powertui.data.tools.rank_lateness import Lateness
from powertui.data.tools.rank_paces import t_quantile
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_MIN_READINGS = settings.MIN_SAMPLE_VALUES  # fewer show no spread; chosen, not measured
# Correlation of neighboring readings: at 1 all together would count for nothing.
_MAX_LAG = settings.MAX_NEIGHBOR_CORRELATION
_OFFSETS_PER_PLACE = 9  # that are tried over the interval of each place of a log
_MAX_REFINED = 3  # offsets around which finer ones are tried …
_MAX_SPACING = 0.15  # … up to so many windows of a reading away …
_FINE_OFFSETS = 21  # … so many of them
# An interval as wide as the joules themselves says nothing. Chosen.
_MAX_HALF_SHARE = 0.9
_ALL_ALIKE = (
    "its readings hold about the same share of waits, so they do not show what a wait draws"
)
# Standard deviation of the share of waits over so many readings in a row. What varies faster than
# that is how steps fall into the windows of readings, which nobody knows well enough: with 0.01 and
# steps of 0.33 s the watts came out 40 % too high (test_wait_energy).
_MIN_VARIATION = 0.03
_SLOW_READINGS = 4


class WaitWatts(NamedTuple):
    """At what power a host waits."""

    watts: float
    half: float  # half of the 95 % interval
    badge: Badge


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
        return None if self.watts is None else self.watts.watts * self.wait_s

    @property
    def half(self) -> float | None:
        """Half of their 95 % interval."""
        return None if self.watts is None else self.watts.half * self.wait_s


class WaitSum(NamedTuple):
    """What all machines drew while waiting."""

    joules: float
    half: float


def wait_energies(opened: Opened, lateness: Lateness, aligning: Aligning) -> tuple[WaitEnergy, ...]:
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
    return tuple(
        _of_machine(name, ranks, lateness, accounts.get(name)) for name, ranks in machines.items()
    )


def wait_sum(energies: Sequence[WaitEnergy]) -> WaitSum | None:
    """All machines together; None where one is not known, or where the sum would say nothing."""
    joules, squares = 0.0, 0.0
    for energy in energies:
        if energy.joules is None or energy.half is None:
            return None
        joules += energy.joules
        squares += energy.half**2
    return resolved(WaitSum(joules, math.sqrt(squares))) if energies else None


def resolved(total: WaitSum) -> WaitSum | None:
    """The same; None where its interval is as wide as itself."""
    return total if total.half < _MAX_HALF_SHARE * total.joules else None


def _of_machine(
    machine: str, ranks: Sequence[int], lateness: Lateness, account_of_machine: Account | None
) -> WaitEnergy:
    waits = [_wait_stretches(lateness, rank) for rank in ranks]
    wait_s = sum(stretches.length for stretches in waits) / len(waits) / PS_PER_S
    watts: WaitWatts | None = None
    reason = "no power of it is known"
    if account_of_machine is not None and account_of_machine.power is not None:
        watts, reason = _wait_watts(account_of_machine.power, account_of_machine.trace.span, waits)
    return WaitEnergy(
        machine=machine,
        ranks=tuple(ranks),
        wait_s=wait_s,
        watts=watts,
        reason=reason,
    )


def _wait_stretches(lateness: Lateness, rank: int) -> CoveredTime:
    """When a rank waited for the last one, on its own host's clock."""
    matched = lateness.matched
    takes_part = matched.is_in[:, rank]
    start: Int64s = matched.ranks[rank].start[matched.rows[takes_part, rank]]
    wait = np.rint(lateness.waits[takes_part, rank]).astype(np.int64)
    return union(start, start + wait)


def _wait_watts(
    power: PowerOnTrace, span: tuple[int, int], waits: Sequence[CoveredTime]
) -> tuple[WaitWatts | None, str]:
    """The watts at which a machine waits, and why its readings do not show them."""
    if power.status == "none":
        return None, "its power log is not aligned"
    readings = power_samples(power.series)
    offsets = _offsets(power)
    inside = _always_inside(readings, offsets, span)
    if int(inside.sum()) < _MIN_READINGS:
        return None, _too_few(readings, power, span)
    chosen = readings[inside]
    most = float(chosen.watts.max())
    # Waiting, a machine draws something, and no more than it ever does.
    between = WaitWatts(most / 2, most / 2, Badge.ASSUMED)
    sensor = power.series.sensor
    if _slow_variation(_shares(chosen, power.offset_ps, waits)) < _MIN_VARIATION:
        return between, _ALL_ALIKE
    fitted = _over_offsets(chosen, offsets, waits, _lengths(sensor, readings.refresh))
    if fitted is None or fitted.half > between.half:
        return between, _ALL_ALIKE
    gain = sensor.gain
    if gain:
        half = math.hypot(fitted.half, fitted.watts * gain.value)
    else:
        half = fitted.half
    badge = Badge.ESTIMATED if power.badge is Badge.MEASURED else power.badge
    return WaitWatts(fitted.watts, half, badge), ""


def _slow_variation(shares: Floats) -> float:
    """How much the share of waits differs between stretches of some readings."""
    means = np.convolve(shares, np.ones(_SLOW_READINGS) / _SLOW_READINGS, "valid")
    return float(means.std())


def _too_few(readings: Samples, power: PowerOnTrace, span: tuple[int, int]) -> str:
    likeliest = [_Offset(power.offset_ps, 1.0)]
    count = int(_always_inside(readings, likeliest, span).sum())
    if count >= _MIN_READINGS:
        return "its power log is not aligned surely enough: its places are too far apart"
    return f"its log has {count} readings in the profile, too few for waits"


class _Offset(NamedTuple):
    """Where a log may lie on the trace, and how likely that is before its readings are compared
    with the waits.
    """

    ps: int
    weight: float


def _offsets(power: PowerOnTrace) -> list[_Offset]:
    offsets = []
    sigmas = np.linspace(-2.0, 2.0, _OFFSETS_PER_PLACE)
    density = np.exp(-(sigmas**2) / 2)
    density /= density.sum()
    for place in power.places:
        for sigma, weight in zip(sigmas.tolist(), density.tolist(), strict=True):
            shift = round(sigma * place.half_ps / Z95)
            offsets.append(_Offset(place.offset_ps + shift, place.weight * weight))
    return offsets


def _always_inside(readings: Samples, offsets: Sequence[_Offset], span: tuple[int, int]) -> Bools:
    """The readings that are in the profile at every offset, so that all are held against the
    same.
    """
    earliest = min(offset.ps for offset in offsets) / PS_PER_S
    latest = max(offset.ps for offset in offsets) / PS_PER_S
    begins = readings.lo + earliest >= span[0] / PS_PER_S
    ends = readings.hi + latest <= span[1] / PS_PER_S
    return np.asarray(begins & ends & (readings.hi > readings.lo))


def _over_offsets(
    readings: Samples,
    offsets: Sequence[_Offset],
    waits: Sequence[CoveredTime],
    lengths: Sequence[float],
) -> WaitWatts | None:
    """The watts over all places of the log, and over all times that a reading may be the mean of:
    their mean by how well the waits explain the readings there, with an interval that holds what
    differs between them.
    """
    rough = [
        (offset, _fitted(_shares(readings, offset.ps, waits), readings.watts)) for offset in offsets
    ]
    fits = [(offset, fitted) for offset, fitted in rough if fitted is not None]
    if not fits:
        return None
    fits.sort(key=lambda pair: pair[1].squares)
    spacing = _MAX_SPACING * usual_window_s(readings)
    weights: list[float] = []
    fine: list[_Fit] = []
    for offset, _ in fits[:_MAX_REFINED]:
        for shift_s in np.linspace(-spacing, spacing, _FINE_OFFSETS).tolist():
            for length in lengths:
                shares = _shares(readings, offset.ps + round(shift_s * PS_PER_S), waits, length)
                fitted = _fitted(shares, readings.watts)
                if fitted is not None:
                    fine.append(fitted)
                    weights.append(offset.weight)
    squares = np.array([fitted.squares for fitted in fine])
    likelihood = np.exp(-len(readings) / 2 * np.log(squares / squares.min()))
    share = likelihood * np.array(weights)
    share /= share.sum()
    watts = np.array([fitted.watts for fitted in fine])
    mean = float(share @ watts)
    between = Z95**2 * float(share @ (watts - mean) ** 2)
    within = float(share @ np.array([fitted.half**2 for fitted in fine]))
    if mean > 0:
        return WaitWatts(mean, math.sqrt(between + within), Badge.ESTIMATED)
    return None


def _lengths(sensor: Sensor, refresh_s: float) -> list[float]:
    """The times that a reading may be the mean of, as shares of the one that is assumed."""
    window, error = sensor.window_s, sensor.window_err_s
    if window is None or not window.value or window.badge is Badge.MEASURED:
        return [1.0]
    error = error or window.value / 4
    lengths = [window.value + sigmas * error for sigmas in (-2, -1, 0, 1, 2)]
    return [length / window.value for length in (*lengths, refresh_s) if length > 0]


def _shares(
    readings: Samples, offset_ps: int, waits: Sequence[CoveredTime], length: float = 1.0
) -> Floats:
    """Of each reading the share of its window that ranks waited; `length`: were the window so many
    times as long, around the same middle.
    """
    more = (readings.hi - readings.lo) * (length - 1) / 2
    lo = offset_ps + np.rint((readings.lo - more) * PS_PER_S).astype(np.int64)
    hi = offset_ps + np.rint((readings.hi + more) * PS_PER_S).astype(np.int64)
    waited = sum((stretches.inside(lo, hi) for stretches in waits), np.zeros(len(lo), np.int64))
    return np.asarray(waited / (len(waits) * np.maximum(1, hi - lo)), np.float64)


class _Fit(NamedTuple):
    """A line through readings: the watts at a share of 1."""

    watts: float
    half: float
    squares: float  # of what it leaves unexplained


def _fitted(shares: Floats, watts: Floats) -> _Fit | None:
    """The watts at a share of 1, by a line through the readings whose neighbors are alike."""
    lag = _lag(_residuals(shares, watts))
    # What one reading shares with the one before is taken out (Cochrane and Orcutt), so that those
    # that remain are independent.
    x = shares[1:] - lag * shares[:-1]
    y = watts[1:] - lag * watts[:-1]
    columns = np.stack([np.full(len(x), 1 - lag), x], axis=1)
    gram = columns.T @ columns
    if not np.linalg.det(gram) > 0:
        return None
    inverse = np.linalg.inv(gram)
    line = inverse @ (columns.T @ y)
    freedom = len(x) - 2
    residuals = y - columns @ line
    squares = max(float(residuals @ residuals), 1e-9)
    error = math.sqrt(squares / freedom * float(inverse.sum()))
    return _Fit(float(line.sum()), t_quantile(freedom, TAILS[0]) * error, squares)


def _residuals(shares: Floats, watts: Floats) -> Floats:
    centred = shares - shares.mean()
    squares = float(centred @ centred)
    slope = float(centred @ watts) / squares if squares else 0.0
    return np.asarray(watts - watts.mean() - slope * centred, np.float64)


def _lag(residuals: Floats) -> float:
    """How alike neighbors are, 0 to `_MAX_LAG`; the estimate of few is too low by (1 + 3ρ)/n."""
    squares = float(residuals @ residuals)
    if not squares:
        return 0.0
    lag = float(residuals[1:] @ residuals[:-1]) / squares
    lag += (1 + 3 * lag) / len(residuals)
    return min(_MAX_LAG, max(0.0, lag))

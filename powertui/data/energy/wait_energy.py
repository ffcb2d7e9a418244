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
from powertui.data.energy import account, sensor, settings, wait_fit
from powertui.data.energy.samples import Samples, power_samples, usual_pace_s, usual_window_s
from powertui.data.energy.trace_account import Account
from powertui.data.energy.wait_fit import Fits, Following, Response
from powertui.data.energy.wait_readings import (
    TOO_FAR_APART,
    over_several_waits,
    slow_variation,
    usual_period_s,
    wait_stretches,
    window_lengths,
)
from powertui.data.model import PS_PER_S, Z95, Badge, Bools, Floats, Int64s, PowerOnTrace
from powertui.data.opened import Opened
from powertui.data.tools.covered_time import CoveredTime
from powertui.data.tools.rank_lateness import Lateness
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_MIN_READINGS = settings.MIN_SAMPLE_VALUES  # fewer show no spread; chosen, not measured
# That are tried over the interval of each place of a log, and over the time that readings take to
# follow.
_OFFSETS_PER_PLACE = 9
_MAX_REFINED_OFFSETS = 3  # offsets around which finer ones are tried …
_MAX_SPACING = 0.15  # … up to so many windows of a reading away …
_FINE_OFFSETS = 21  # … so many of them
# Of the likelihood, that readings follow as slowly as was tried: they may follow more slowly still.
_MAX_LONGEST_SHARE = settings.MINOR_SHARE
# An interval as wide as the joules themselves says nothing. Chosen.
_MAX_HALF_SHARE = settings.NEARLY_ALL_SHARE
_ALL_ALIKE = (
    "its readings hold about the same share of waits, so they do not show what a wait draws"
)
# Standard deviation of the share of waits over so many readings in a row. What varies faster than
# that is how steps fall into the windows of readings, which nobody knows well enough: with 0.01 and
# steps of 0.33 s the watts came out 40 % too high (test_wait_energy).
_MIN_VARIATION = 0.03
_READINGS_IN_A_ROW = settings.MIN_SPREAD_VALUES
_GATHERED_IN_A_ROW = settings.MIN_REPEATS  # they pass over several waits already


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
    machine: str,
    ranks: Sequence[int],
    lateness: Lateness,
    account_of_machine: Account | None,
) -> WaitEnergy:
    waits = [wait_stretches(lateness, rank) for rank in ranks]
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


def _wait_watts(
    power: PowerOnTrace,
    span: tuple[int, int],
    waits: Sequence[CoveredTime],
) -> tuple[WaitWatts | None, str]:
    """The watts at which a machine waits, and why its readings do not show them."""
    if power.status == "none":
        return None, "its power log is not aligned"
    readings = power_samples(power.series)
    offsets = _offsets(power)
    inside = _always_inside(readings, offsets, span)
    if int(inside.sum()) < _MIN_READINGS:
        return None, _too_few(readings, power, span)
    chosen = over_several_waits(readings[inside], waits)
    if chosen is None:
        return None, TOO_FAR_APART
    if len(chosen) < _MIN_READINGS:
        return None, _too_few(readings, power, span)
    most = float(chosen.watts.max())
    # Waiting, a machine draws something, and no more than it ever does.
    between = WaitWatts(most / 2, most / 2, Badge.ASSUMED)
    described = power.series.sensor
    likeliest = np.array([power.offset_ps], np.int64)
    is_gathered = len(chosen) < int(inside.sum())
    in_a_row = _GATHERED_IN_A_ROW if is_gathered else _READINGS_IN_A_ROW
    if slow_variation(_shares(chosen, likeliest, waits)[0], in_a_row) < _MIN_VARIATION:
        return between, _ALL_ALIKE
    lengths = [1.0]
    if not is_gathered:
        lengths = window_lengths(described, readings.refresh)
    fitted, reason = _over_offsets(
        chosen,
        offsets,
        waits,
        lengths,
        span,
        is_gathered=is_gathered,
    )
    if fitted is None:
        return between, reason
    if fitted.half > between.half:
        return between, _ALL_ALIKE
    gain = described.gain
    if gain:
        half = math.hypot(fitted.half, fitted.watts * gain.value)
    else:
        half = fitted.half
    badge = Badge.ESTIMATED if power.badge is Badge.MEASURED else power.badge
    return WaitWatts(fitted.watts, half, badge), ""


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
    gap_s: float = 0.0  # half of the way to the next one of the same place


def _offsets(power: PowerOnTrace) -> list[_Offset]:
    offsets = []
    sigmas = np.linspace(-2.0, 2.0, _OFFSETS_PER_PLACE)
    density = np.exp(-(sigmas**2) / 2)
    density /= density.sum()
    for place in power.places:
        gap_s = (sigmas[1] - sigmas[0]) / 2 * place.half_ps / Z95 / PS_PER_S
        for sigma, weight in zip(sigmas.tolist(), density.tolist(), strict=True):
            shift = round(sigma * place.half_ps / Z95)
            offsets.append(_Offset(place.offset_ps + shift, place.weight * weight, float(gap_s)))
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


class _Try(NamedTuple):
    """Lines through the same readings, for several places of the log."""

    fits: Fits
    places_s: Floats  # where each has the log
    prior: float  # how likely all of them are together, beside others
    length: float  # windows are so many times as long as assumed
    following: Following | None  # how readings follow; None: at once


class _Tries:
    """Lines through the same readings: over places of the log, windows, and how readings follow."""

    def __init__(
        self,
        readings: Samples,
        waits: Sequence[CoveredTime],
        span: tuple[int, int],
        *,
        is_gathered: bool,
    ) -> None:
        self._readings = readings
        self._is_gathered = is_gathered
        self._slow_lengths = (1.0,) if is_gathered else (1.0, settings.MINOR_SHARE)
        self._in_a_row = _GATHERED_IN_A_ROW if is_gathered else _READINGS_IN_A_ROW
        self._waits = waits
        self._spacing_s = _MAX_SPACING * usual_window_s(readings)
        self.response = Response(waits, span, usual_window_s(readings))
        self._all: list[_Try] = []

    def prompt(self, offset: _Offset, lengths: Sequence[float]) -> None:
        """With readings that follow at once, over windows of so many times the assumed one."""
        shifts_s = np.linspace(-self._spacing_s, self._spacing_s, _FINE_OFFSETS)
        places_s = offset.ps / PS_PER_S + shifts_s
        for length in lengths:
            places = np.rint(places_s * PS_PER_S).astype(np.int64)
            shares = _shares(self._readings, places, self._waits, length)
            fits = wait_fit.fits(shares, self._readings.watts)
            prior = offset.weight / len(lengths)
            self._all.append(_Try(fits, places_s, prior, length, None))

    def rough_slow(self, places: Int64s) -> list[int]:
        """The numbers of places at which some way to follow slowly explains the readings, the best
        first.
        """
        least = np.full(len(places), np.inf)
        for following in self.response.followings:
            # Half way between a log that was aligned as if readings were prompt, and one as they
            # are.
            places_s = (places / PS_PER_S + following.time_s / 2)[:, None]
            lo_s, hi_s = self._readings.lo + places_s, self._readings.hi + places_s
            shares, outside = self.response.shares(lo_s, hi_s, following)
            fits = wait_fit.fits(shares, self._readings.watts, outside)
            least = np.minimum(least, fits.squares)
        return [int(number) for number in np.argsort(least, kind="stable")]

    def slow(self, offset: _Offset) -> None:
        """With readings that follow within all times; a log that was aligned as if they were prompt
        was placed too early by up to as much.
        """
        for following in self.response.followings:
            around_s = max(self._spacing_s, offset.gap_s)
            latest_s = around_s + following.time_s
            shifts_s = np.arange(-around_s, latest_s, self._step_s(following))
            places_s = offset.ps / PS_PER_S + shifts_s
            for length in self._slow_lengths:
                prior = offset.weight / len(self._slow_lengths)
                self._follow(places_s, following, length, prior)

    def _step_s(self, following: Following) -> float:
        return max(self._spacing_s * 2 / _FINE_OFFSETS, following.time_s / _OFFSETS_PER_PLACE)

    def refine(self) -> None:
        """Finer times and places around those that explain the readings best, and again."""
        times = _FINE_OFFSETS // 4
        for finer in (1.0, 1 / times):
            best = min(self._all, key=lambda one: float(one.fits.squares.min()))
            if best.following is None:
                return
            place_s = best.places_s[int(best.fits.squares.argmin())]
            step_s = self._step_s(best.following) * finer
            places_s = place_s + np.linspace(-step_s, step_s, _FINE_OFFSETS // 2)
            near = self.response.near(best.following, finer, times)
            for following in near:
                self._follow(places_s, following, best.length, best.prior / len(near))

    def _follow(
        self,
        places_s: Floats,
        following: Following,
        length: float,
        prior: float,
    ) -> None:
        readings = self._readings
        more_s = (readings.hi - readings.lo) * (length - 1) / 2
        lo_s = readings.lo - more_s + places_s[:, None]
        hi_s = readings.hi + more_s + places_s[:, None]
        shares, outside = self.response.shares(lo_s, hi_s, following)
        fits = wait_fit.fits(shares, readings.watts, outside)
        self._all.append(_Try(fits, places_s, prior, length, following))

    def _count(self, following: Following | None) -> float:
        """How many readings count as independent: those that follow slowly overlap."""
        if following is None:
            return len(self._readings)
        pace_s = usual_pace_s(self._readings, following.time_s)
        return len(self._readings) / math.sqrt(max(1.0, following.time_s / max(pace_s, 1e-9)))

    def _variation(self, following: Following) -> float:
        """How much the share of waits differs between stretches of readings that follow so."""
        tries = [one for one in self._all if one.following == following]
        best = min(tries, key=lambda one: float(one.fits.squares.min()))
        place_s = best.places_s[int(best.fits.squares.argmin())]
        lo_s, hi_s = self._readings.lo + place_s, self._readings.hi + place_s
        return slow_variation(self.response.shares(lo_s, hi_s, following)[0], self._in_a_row)

    def _shows_moments(self, best: _Try, squares: float) -> bool:
        """Whether readings are of shorter times than from one wait to the next, or differ from what
        explains them best by much of what waits change.
        """
        if self._is_gathered:
            return False
        averaged_s = best.length * usual_window_s(self._readings)
        if best.following is not None:
            averaged_s += best.following.time_s
        if averaged_s < usual_period_s(self._waits):
            return True
        row = int(best.fits.squares.argmin())
        contrast_w = float(self._readings.watts.max()) - float(best.fits.watts[row])
        sigma_w = math.sqrt(squares / len(self._readings))
        return sigma_w > settings.VISIBLE_SHARE * contrast_w

    def watts(self) -> tuple[WaitWatts | None, str]:
        """Their mean by how well the waits explain the readings, with an interval that holds what
        differs between them. Else why not.
        """
        squares = np.concatenate([one.fits.squares for one in self._all])
        if not np.isfinite(squares).any():
            return None, _ALL_ALIKE
        watts = np.concatenate([one.fits.watts for one in self._all])
        half = np.concatenate([one.fits.half for one in self._all])
        counts = [len(one.places_s) for one in self._all]
        priors = np.repeat([one.prior / len(one.places_s) for one in self._all], counts)
        slow = [one.following for one in self._all]
        number = int(np.repeat(np.arange(len(slow)), counts)[squares.argmin()])
        best = slow[number]
        if self._shows_moments(self._all[number], float(squares.min())):
            return None, TOO_FAR_APART
        share = priors * np.exp(-self._count(best) / 2 * np.log(squares / squares.min()))
        share /= share.sum()
        is_longest = [f is not None and self.response.is_longest(f) for f in slow]
        if share[np.repeat(is_longest, counts)].sum() > _MAX_LONGEST_SHARE:
            longest_s = max(f.time_s for f in slow if f is not None)
            return None, _follows_too_slowly(longest_s)
        # How slowly readings follow has to be learned from them, too. With lateness of 3 s at a
        # time and readings that follow within 3 s, joules were up to 257 % off at less than that.
        if best is not None and self._variation(best) < 2 * _MIN_VARIATION:
            return None, _follows_too_slowly(best.time_s)
        mean = float(share @ watts)
        between = Z95**2 * float(share @ (watts - mean) ** 2)
        within = float(share @ half**2)
        if mean <= 0:
            return None, _ALL_ALIKE
        return WaitWatts(mean, math.sqrt(between + within), Badge.ESTIMATED), ""


def _over_offsets(
    readings: Samples,
    offsets: Sequence[_Offset],
    waits: Sequence[CoveredTime],
    lengths: Sequence[float],
    span: tuple[int, int],
    *,
    is_gathered: bool,
) -> tuple[WaitWatts | None, str]:
    """The watts over all places of the log, over all times that a reading may be the mean of, and
    over all times within which readings may follow. Else why not.
    """
    places = np.array([offset.ps for offset in offsets], np.int64)
    rough = wait_fit.fits(_shares(readings, places, waits), readings.watts).squares
    if not np.isfinite(rough).any():
        return None, _ALL_ALIKE
    tries = _Tries(readings, waits, span, is_gathered=is_gathered)
    for number in np.argsort(rough, kind="stable")[:_MAX_REFINED_OFFSETS].tolist():
        tries.prompt(offsets[number], lengths)
    for number in tries.rough_slow(places)[:_MAX_REFINED_OFFSETS]:
        tries.slow(offsets[number])
    tries.refine()
    return tries.watts()


def _follows_too_slowly(longest_s: float) -> str:
    return (
        f"its readings follow what happens only over {sensor.seconds(longest_s)} or more; "
        "a sensor that follows sooner, or lateness that comes and goes more slowly, would show it"
    )


def _shares(
    readings: Samples,
    offsets_ps: Int64s,
    waits: Sequence[CoveredTime],
    length: float = 1.0,
) -> Floats:
    """[offset, reading]: the share of a reading's window that ranks waited; `length`: were the
    window so many times as long, around the same middle.
    """
    more = (readings.hi - readings.lo) * (length - 1) / 2
    lo = np.rint((readings.lo - more) * PS_PER_S).astype(np.int64) + offsets_ps[:, None]
    hi = np.rint((readings.hi + more) * PS_PER_S).astype(np.int64) + offsets_ps[:, None]
    shape = lo.shape
    waited = np.zeros(lo.size, np.int64)
    for stretches in waits:
        waited += stretches.inside(lo.ravel(), hi.ravel())
    return np.asarray(waited.reshape(shape) / (len(waits) * np.maximum(1, hi - lo)), np.float64)

"""The watts at which a host waits, by lines through its readings: over places of its log, over
windows of the readings, and over how slowly they follow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from powertui.data.energy import sensor, settings, wait_fit
from powertui.data.energy.samples import Samples, usual_pace_s, usual_window_s
from powertui.data.energy.wait_fit import Fits, Following, Response
from powertui.data.energy.wait_readings import TOO_FAR_APART, slow_variation, usual_period_s
from powertui.data.model import PS_PER_S, Z95, Badge, Floats, Int64s, PowerOnTrace
from powertui.data.tools.covered_time import CoveredTime
from powertui.named_tuples import NamedTuple

# That are tried over the interval of each place of a log, and over the time that readings take to
# follow.
_OFFSETS_PER_PLACE = 9
_MAX_REFINED_OFFSETS = 3  # offsets around which finer ones are tried …
_MAX_SPACING = 0.15  # … up to so many windows of a reading away …
_FINE_OFFSETS = 21  # … so many of them
# Of the likelihood, that readings follow as slowly as was tried: they may follow more slowly still.
_MAX_LONGEST_SHARE = settings.MINOR_SHARE
ALL_ALIKE = "its readings hold about the same share of waits, so they do not show what a wait draws"
# Standard deviation of the share of waits over so many readings in a row. What varies faster than
# that is how steps fall into the windows of readings, which nobody knows well enough: with 0.01 and
# steps of 0.33 s the watts came out 40 % too high (test_wait_energy).
MIN_VARIATION = settings.SAME_LEVEL_SHARE
_READINGS_IN_A_ROW = settings.MIN_SPREAD_VALUES
_GATHERED_IN_A_ROW = settings.MIN_REPEATS  # they pass over several waits already


class WaitWatts(NamedTuple):
    """At what power a host waits."""

    watts: float
    half: float  # half of the 95 % interval
    badge: Badge


class WaitReadings(NamedTuple):
    """The readings of a machine in its profile, and when its ranks waited there."""

    samples: Samples
    waits: Sequence[CoveredTime]
    span: tuple[int, int]  # of the profile, ps
    is_gathered: bool  # each is the mean of several that were read in a row

    @property
    def in_a_row(self) -> int:
        """So many show how much the share of waits varies."""
        return _GATHERED_IN_A_ROW if self.is_gathered else _READINGS_IN_A_ROW

    def waited_shares(self, offsets_ps: Int64s, length: float = 1.0) -> Floats:
        """[offset, reading]: the share of a reading's window that ranks waited; `length`: were the
        window so many times as long, around the same middle.
        """
        samples = self.samples
        more_s = (samples.hi - samples.lo) * (length - 1) / 2
        lo_ps = np.rint((samples.lo - more_s) * PS_PER_S).astype(np.int64)
        hi_ps = np.rint((samples.hi + more_s) * PS_PER_S).astype(np.int64)
        lo = lo_ps + offsets_ps[:, None]
        hi = hi_ps + offsets_ps[:, None]
        waited = np.zeros(lo.size, np.int64)
        for stretches in self.waits:
            waited += stretches.inside(lo.ravel(), hi.ravel())
        all_ranks_ps = len(self.waits) * np.maximum(1, hi - lo)
        return np.asarray(waited.reshape(lo.shape) / all_ranks_ps)


class LogOffset(NamedTuple):
    """Where a log may lie on the trace, and how likely that is before its readings are compared
    with the waits.
    """

    ps: int
    weight: float
    gap_s: float = 0.0  # half of the way to the next one of the same place


def log_offsets(power: PowerOnTrace) -> list[LogOffset]:
    """Several over the interval of each place."""
    offsets = []
    sigmas = np.linspace(-2.0, 2.0, _OFFSETS_PER_PLACE)
    half_gap_sigmas = (sigmas[1] - sigmas[0]) / 2
    density = np.exp(-(sigmas**2) / 2)
    density /= density.sum()
    for place in power.places:
        gap_s = float(half_gap_sigmas * place.half_ps / Z95 / PS_PER_S)
        for sigma, weight in zip(sigmas.tolist(), density.tolist(), strict=True):
            shift = round(sigma * place.half_ps / Z95)
            offset = LogOffset(
                ps=place.offset_ps + shift,
                weight=place.weight * weight,
                gap_s=gap_s,
            )
            offsets.append(offset)
    return offsets


def watts_over_offsets(
    readings: WaitReadings,
    offsets: Sequence[LogOffset],
    lengths: Sequence[float],
) -> tuple[WaitWatts | None, str]:
    """The watts over all places of the log, over all times that a reading may be the mean of, and
    over all times within which readings may follow. Else why not.
    """
    places = np.array([offset.ps for offset in offsets], np.int64)
    rough = wait_fit.fits(readings.waited_shares(places), readings.samples.watts)
    if not np.isfinite(rough.squares).any():
        return None, ALL_ALIKE
    tries = _Tries(readings)
    for number in _best_first(rough.squares):
        tries.prompt(offsets[number], lengths)
    for number in _best_first(tries.slow_squares(places)):
        tries.slow(offsets[number])
    tries.refine()
    return tries.watts()


def _best_first(squares: Floats) -> list[int]:
    """The few places that leave least unexplained."""
    numbers: list[int] = np.argsort(squares, kind="stable").tolist()
    return numbers[:_MAX_REFINED_OFFSETS]


class _Try(NamedTuple):
    """Lines through the same readings, for several places of the log."""

    fits: Fits
    places_s: Floats  # where each has the log
    prior: float  # how likely all of them are together, beside others
    length: float  # windows are so many times as long as assumed
    following: Following | None  # how readings follow; None: at once

    @property
    def least_squares(self) -> float:
        """What the best of the lines leaves unexplained."""
        return float(self.fits.squares.min())

    @property
    def best_row(self) -> int:
        """The line that explains most."""
        return int(self.fits.squares.argmin())

    @property
    def best_place_s(self) -> float:
        """Where that one has the log."""
        return float(self.places_s[self.best_row])


def _best(tries: Sequence[_Try]) -> _Try:
    return min(tries, key=lambda attempt: attempt.least_squares)


class _Tries:
    """Lines through the same readings: over places of the log, windows, and how readings follow."""

    def __init__(self, readings: WaitReadings) -> None:
        self._readings = readings
        self._samples = readings.samples
        self._slow_lengths = [1.0]
        if not readings.is_gathered:
            self._slow_lengths.append(settings.MINOR_SHARE)
        window_s = usual_window_s(self._samples)
        self._spacing_s = _MAX_SPACING * window_s
        self.response = Response(readings.waits, readings.span, window_s)
        self._all: list[_Try] = []

    def prompt(self, offset: LogOffset, lengths: Sequence[float]) -> None:
        """With readings that follow at once, over windows of so many times the assumed one."""
        shifts_s = np.linspace(-self._spacing_s, self._spacing_s, _FINE_OFFSETS)
        places_s = offset.ps / PS_PER_S + shifts_s
        places = np.rint(places_s * PS_PER_S).astype(np.int64)
        for length in lengths:
            shares = self._readings.waited_shares(places, length)
            attempt = _Try(
                fits=wait_fit.fits(shares, self._samples.watts),
                places_s=places_s,
                prior=offset.weight / len(lengths),
                length=length,
                following=None,
            )
            self._all.append(attempt)

    def slow_squares(self, places: Int64s) -> Floats:
        """What is left unexplained at each of these places by the way to follow slowly that
        explains most there.
        """
        samples = self._samples
        least = np.full(len(places), np.inf)
        for following in self.response.followings:
            # Half way between a log that was aligned as if readings were prompt, and one as they
            # are.
            places_s = places / PS_PER_S + following.time_s / 2
            shares, outside = self.response.shares(
                lo_s=samples.lo + places_s[:, None],
                hi_s=samples.hi + places_s[:, None],
                following=following,
            )
            fits = wait_fit.fits(shares, samples.watts, outside)
            least = np.minimum(least, fits.squares)
        return least

    def slow(self, offset: LogOffset) -> None:
        """With readings that follow within all times; a log that was aligned as if they were prompt
        was placed too early by up to as much.
        """
        around_s = max(self._spacing_s, offset.gap_s)
        prior = offset.weight / len(self._slow_lengths)
        for following in self.response.followings:
            latest_s = around_s + following.time_s
            shifts_s = np.arange(-around_s, latest_s, self._step_s(following))
            places_s = offset.ps / PS_PER_S + shifts_s
            for length in self._slow_lengths:
                self._follow(places_s, following, length, prior)

    def _step_s(self, following: Following) -> float:
        return max(
            self._spacing_s * 2 / _FINE_OFFSETS,
            following.time_s / _OFFSETS_PER_PLACE,
        )

    def refine(self) -> None:
        """Finer times and places around those that explain the readings best, and again."""
        times = _FINE_OFFSETS // 4
        for finer in (1.0, 1 / times):
            best = _best(self._all)
            if best.following is None:
                return
            step_s = self._step_s(best.following) * finer
            shifts_s = np.linspace(-step_s, step_s, _FINE_OFFSETS // 2)
            places_s = best.best_place_s + shifts_s
            near = self.response.near(best.following, finer, times)
            prior = best.prior / len(near)
            for following in near:
                self._follow(places_s, following, best.length, prior)

    def _follow(
        self,
        places_s: Floats,
        following: Following,
        length: float,
        prior: float,
    ) -> None:
        samples = self._samples
        more_s = (samples.hi - samples.lo) * (length - 1) / 2
        shares, outside = self.response.shares(
            lo_s=samples.lo - more_s + places_s[:, None],
            hi_s=samples.hi + more_s + places_s[:, None],
            following=following,
        )
        attempt = _Try(
            fits=wait_fit.fits(shares, samples.watts, outside),
            places_s=places_s,
            prior=prior,
            length=length,
            following=following,
        )
        self._all.append(attempt)

    def _count(self, following: Following | None) -> float:
        """How many readings count as independent: those that follow slowly overlap."""
        count = len(self._samples)
        if following is None:
            return count
        pace_s = usual_pace_s(self._samples, following.time_s)
        overlapping = following.time_s / max(pace_s, 1e-9)
        return count / math.sqrt(max(1.0, overlapping))

    def _variation(self, following: Following) -> float:
        """How much the share of waits differs between stretches of readings that follow so."""
        tries = [attempt for attempt in self._all if attempt.following == following]
        place_s = _best(tries).best_place_s
        shares, _ = self.response.shares(
            lo_s=self._samples.lo + place_s,
            hi_s=self._samples.hi + place_s,
            following=following,
        )
        return slow_variation(shares, self._readings.in_a_row)

    def _shows_moments(self, best: _Try) -> bool:
        """Whether readings are of shorter times than from one wait to the next, or differ from what
        explains them best by much of what waits change.
        """
        if self._readings.is_gathered:
            return False
        averaged_s = best.length * usual_window_s(self._samples)
        if best.following is not None:
            averaged_s += best.following.time_s
        if averaged_s < usual_period_s(self._readings.waits):
            return True
        waiting_w = float(best.fits.watts[best.best_row])
        contrast_w = float(self._samples.watts.max()) - waiting_w
        sigma_w = math.sqrt(best.least_squares / len(self._samples))
        return sigma_w > settings.VISIBLE_SHARE * contrast_w

    def watts(self) -> tuple[WaitWatts | None, str]:
        """Their mean by how well the waits explain the readings, with an interval that holds what
        differs between them. Else why not.
        """
        best = _best(self._all)
        if not math.isfinite(best.least_squares):
            return None, ALL_ALIKE
        if self._shows_moments(best):
            return None, TOO_FAR_APART
        share = self._shares(best)
        if self._share_of_longest(share) > _MAX_LONGEST_SHARE:
            followings = [attempt.following for attempt in self._all]
            longest_s = max(following.time_s for following in followings if following is not None)
            return None, _follows_too_slowly(longest_s)
        # How slowly readings follow has to be learned from them, too. With lateness of 3 s at a
        # time and readings that follow within 3 s, joules were up to 257 % off at less than that.
        if best.following is not None and self._variation(best.following) < 2 * MIN_VARIATION:
            return None, _follows_too_slowly(best.following.time_s)
        watts = np.concatenate([attempt.fits.watts for attempt in self._all])
        half = np.concatenate([attempt.fits.half for attempt in self._all])
        mean = float(share @ watts)
        between = Z95**2 * float(share @ (watts - mean) ** 2)
        within = float(share @ half**2)
        if mean <= 0:
            return None, ALL_ALIKE
        return (
            WaitWatts(
                watts=mean,
                half=math.sqrt(between + within),
                badge=Badge.ESTIMATED,
            ),
            "",
        )

    def _shares(self, best: _Try) -> Floats:
        """How likely each line is: all together 1."""
        counts = self._line_counts()
        priors = [attempt.prior / len(attempt.places_s) for attempt in self._all]
        squares = np.concatenate([attempt.fits.squares for attempt in self._all])
        misfit = np.log(squares / best.least_squares)
        likelihood = np.exp(-self._count(best.following) / 2 * misfit)
        share = np.repeat(priors, counts) * likelihood
        share /= share.sum()
        return np.asarray(share)

    def _share_of_longest(self, share: Floats) -> float:
        """How likely it is that readings follow as slowly as was tried."""
        is_longest = []
        for attempt in self._all:
            following = attempt.following
            is_longest.append(following is not None and self.response.is_longest(following))
        rows = np.repeat(is_longest, self._line_counts())
        return float(share[rows].sum())

    def _line_counts(self) -> list[int]:
        return [len(attempt.places_s) for attempt in self._all]


def _follows_too_slowly(longest_s: float) -> str:
    return (
        f"its readings follow what happens only over {sensor.seconds(longest_s)} or more; "
        "a sensor that follows sooner, or lateness that comes and goes more slowly, would show it"
    )

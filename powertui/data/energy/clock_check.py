"""What a log's clock and its readings say together of where the log is.

The clock says beforehand how likely each offset is: close to where it puts the log, rarely seconds
or minutes beside it. The readings say how well each offset explains them. From the product follows
one of four answers:

    aligned           the readings agree with the clock, or place a log that has none
    clock corrected   the readings place the log beside its clock
    ambiguous         several places come into question, and the clock's may be one of them
    cannot tell       the readings do not say: the clock is believed as far as its kind is

A fifth `Status`, "none", is never the answer here: `judge` is only asked where there is a clock or
a reading. `log_alignment` gives it to a log that neither of them places.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from powertui.data import wire
from powertui.data.energy import settings
from powertui.data.energy.alignment_places import (
    SURE_S,
    Where,
    weighed_places,
    weighted_quantile,
)
from powertui.data.energy.clock_kinds import ClockOffset
from powertui.data.energy.edge_matching import PLACE_STEPS, SHIFTS, OffsetWeights
from powertui.data.energy.robust_stats import TAILS, normal_quantile
from powertui.data.energy.samples import Samples
from powertui.data.model import Z95, Floats
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

Status = Literal["aligned", "clock corrected", "ambiguous", "cannot tell", "none"]


@dataclass(frozen=True)
class _ClockRules:
    """When an answer is sure. Chosen on half of the worlds of `benchmarks.clock_answers`."""

    min_sure_weight: float = settings.SURE_WEIGHT  # within one place
    min_reading_weight: float = settings.MAJORITY_SHARE  # by them alone: else the clock is sure
    # The same of a clear place. Of 12 clocks corrected with less one was wrong, of 172 confirmed
    # with less 6 (`clock_answers`, six sets of seeds).
    min_clear_weight: float = settings.LIKELY_WEIGHT
    # Within the clock's interval, where no place is sure.
    min_believed_weight: float = settings.MAJORITY_SHARE
    # Odds of the clock, by those before any reading. Of 155 right ones (seeds 700 to 715) none fell
    # below 0.91, of 41 believed ones that were 2 to 30 s off 22 did.
    min_odds_left: float = 0.75
    # Their log at the clock itself, and at its best place by that of a better one elsewhere. Of 32
    # right clocks (seeds 700 to 715) none fell below 0.1, of 17 that were 2 s off 8 fell below -1.
    # Noise alone prefers a place elsewhere by 0.1, one edge by 5.
    min_log_odds_at_clock: float = -1.0
    min_vague_s: float = settings.FOREIGN_CLOCK_S  # known to less, it needs no confirmation
    min_doubt_s: float = 0.2  # sensors are late by as much as that anyway
    min_error_s: float = 0.05  # records are written late, and pauses not known better
    sure_refreshes: float = settings.MAX_ERROR_SHARE  # a place is sure to this part of the refresh


_RULES = _ClockRules()
_PLACE_SURES = 4.0  # a place reaches so many times as far as it may be open

# ── how finely offsets are weighed: bounds of time ──
_MIN_GRID = 601  # offsets that stand for a clock of which readings say nothing
_BELIEVED_PLACES = 4  # pieces of half of the interval that a clock is believed to


class Verdict(NamedTuple):
    """The answer: where the log's zero is (s), between which offsets, and how sure."""

    status: Status
    offset_s: float
    lo_s: float
    hi_s: float
    places: tuple[Where, ...] = ()  # where there are several
    correction_s: float = 0.0  # what is added to the log's times beside what its clock says
    confirmed: bool = False  # whether the readings say that the clock is right


@dataclass(frozen=True)
class _Posterior:
    """Weights of offsets, ascending."""

    offset_s: Floats
    weight: Floats
    newer_s: float  # readings may be so much newer or older than they are taken to be
    older_s: float

    def interval(self, tails: tuple[float, float]) -> tuple[float, float]:
        low = weighted_quantile(self.offset_s, self.weight, tails[0])
        high = weighted_quantile(self.offset_s, self.weight, tails[1])
        return low - self.newer_s, high + self.older_s

    def share(self, lo_s: float, hi_s: float) -> float:
        inside = (self.offset_s >= lo_s) & (self.offset_s <= hi_s)
        return float(self.weight[inside].sum())

    def between(self, lo_s: float, hi_s: float) -> _Posterior:
        """The part between two offsets."""
        inside = (self.offset_s >= lo_s) & (self.offset_s <= hi_s)
        weight = self.weight[inside]
        return replace(self, offset_s=self.offset_s[inside], weight=weight / weight.sum())

    def place_around(self, offset_s: float, reach_s: float) -> _Posterior:
        """The part that belongs to one place."""
        return self.between(offset_s - reach_s, offset_s + reach_s)

    def share_of(self, part: _Posterior) -> float:
        return self.share(float(part.offset_s[0]), float(part.offset_s[-1]))

    @property
    def densest(self) -> float:
        return float(self.offset_s[int(np.argmax(self.weight))])

    @property
    def median(self) -> float:
        return weighted_quantile(self.offset_s, self.weight, 0.5)

    def heaviest(self, reach_s: float) -> float:
        """The offset with most of the weight around it: a grid may be finer at the clock."""
        running = np.concatenate([[0.0], np.cumsum(self.weight)])
        first = self.offset_s.searchsorted(self.offset_s - reach_s, side="left")
        end = self.offset_s.searchsorted(self.offset_s + reach_s, side="right")
        around = running[end] - running[first]
        middle = self.offset_s[around >= around.max() * (1 - 1e-9)]
        return float(middle[len(middle) // 2])

    def places(self, width_s: float) -> tuple[Where, ...]:
        least = max(self.newer_s, self.older_s)
        return weighed_places(self.offset_s, self.weight, width_s, least)


def judge(clock: ClockOffset | None, readings: OffsetWeights | None, data: Samples) -> Verdict:
    """The answer of clock and readings, of which there is at least one.

    Where there are both, three questions in turn: do the readings and the clock together leave one
    narrow place? Do the readings by themselves show that one, so that they may confirm or correct
    it? If not, do they speak against it? Where none says so, the clock is believed.
    """
    if readings is not None and not _is_evidence(readings, has_clock=clock is not None):
        readings = readings.or_anywhere()
    posterior = _posterior(clock, readings, data)
    sure_s = max(SURE_S, _RULES.sure_refreshes * data.refresh)
    if clock is None:
        assert readings is not None
        return _without_clock(readings, posterior, sure_s)
    if readings is None:
        return _believed(clock, posterior, is_less_likely=False)
    heaviest = posterior.densest
    if clock.kind.late_share:
        heaviest = posterior.heaviest(sure_s)
    best = posterior.place_around(heaviest, _PLACE_SURES * sure_s)
    lo, hi = best.interval(TAILS)
    widest_s = 2 * max(clock.kind.believed_s, sure_s + sum(_ages_s(readings, data)))
    is_heavy = posterior.share_of(best) >= _RULES.min_sure_weight
    if is_heavy and hi - lo <= widest_s:
        # One narrow place: also by the readings alone?
        by_readings = _posterior(None, readings, data)
        if by_readings.share_of(best) >= _RULES.min_reading_weight:
            verdict = _sure(clock, best, sure_s)
            is_corrected = verdict.status == "clock corrected"
            may_correct = readings.may_overrule and readings.is_confirmed
            takes_more = is_corrected or readings.is_by_levels
            is_clear = _is_clear(best, by_readings, None if takes_more else clock)
            if is_clear and (may_correct or not is_corrected):
                return verdict
            by_s = max(clock.kind.believed_s, _RULES.min_vague_s)
            if not clock.lo_s - by_s <= verdict.offset_s <= clock.hi_s + by_s:
                # A log of another run, of which a part meets this one, fits somewhere, too.
                return _ambiguous(_unless_overruled(posterior, clock, readings), sure_s)
    # No such place, or none that the readings show: do they speak against the clock?
    believed_lo, believed_hi = clock.believed
    around_clock = (believed_lo - _RULES.min_doubt_s, believed_hi + _RULES.min_doubt_s)
    before, after = _shares_within(around_clock, clock, readings, posterior, data)
    if _is_doubted(before, after, readings) or _is_beside(clock, readings, posterior, data):
        return _ambiguous(_unless_overruled(posterior, clock, readings), sure_s)
    is_worse_here = _best_at_clock(clock, readings) < _RULES.min_log_odds_at_clock
    return _believed(clock, posterior, is_less_likely=is_worse_here and after < before)


def _is_clear(best: _Posterior, by_readings: _Posterior, clock: ClockOffset | None) -> bool:
    """Whether the readings alone show one place, as clearly as an answer takes.

    A clock that they are to confirm rules out what is far from it: only of places near it they
    have to show which it is. A clock that was 2 s ahead was called right to ± 1 s where they liked
    another place beside it as well.
    """
    rivals = by_readings
    if clock is not None:
        near_lo, near_hi = clock.nearby
        first, last = float(best.offset_s[0]), float(best.offset_s[-1])
        rivals = by_readings.between(min(near_lo, first), max(near_hi, last))
    return rivals.share_of(best) >= _RULES.min_clear_weight


def _unless_overruled(
    posterior: _Posterior, clock: ClockOffset, readings: OffsetWeights
) -> _Posterior:
    """The posterior in which the clock's place counts by half at least, unless readings that would
    place the log without a clock rule it out.

    Others fit what they fit by chance: of many places that are alike a search lists some, and may
    not have the clock's among them. A quiet session within an hour of other work, on a right
    clock, was listed at 24 places 6 minutes off, with joules that left out the true ones.
    """
    if readings.is_confirmed and readings.may_overrule:
        return posterior
    believed = clock.believed
    share, least_share = posterior.share(*believed), _RULES.min_believed_weight
    if share >= least_share:
        return posterior
    added_share = (least_share - share) / (1 - share)
    at_clock = np.linspace(*believed, PLACE_STEPS)
    prior = clock.prior(at_clock)
    offsets = np.concatenate([posterior.offset_s, at_clock])
    added = added_share * prior / prior.sum()
    weight = np.concatenate([(1 - added_share) * posterior.weight, added])
    order = np.argsort(offsets, kind="stable")
    return replace(posterior, offset_s=offsets[order], weight=weight[order])


def _is_evidence(readings: OffsetWeights, *, has_clock: bool) -> bool:
    """Whether the readings show a place. Without a clock they must show whose they are, too."""
    return readings.is_confirmed and (has_clock or readings.is_of_training)


def _best_at_clock(clock: ClockOffset, readings: OffsetWeights) -> float:
    """The log weight of the best offset at which the clock is believed; 0 if that is the best."""
    readings = _with_clock_on_grid(readings, clock)
    lo, hi = clock.believed
    inside = (readings.offset_s >= lo) & (readings.offset_s <= hi)
    return float(readings.log_weight[inside].max(initial=-np.inf))


def _shares_within(
    range_s: tuple[float, float],
    clock: ClockOffset,
    readings: OffsetWeights,
    posterior: _Posterior,
    data: Samples,
) -> tuple[float, float]:
    """How likely the log is within a range: before any reading, and now."""
    silent = readings._replace(log_weight=np.zeros(len(readings.offset_s)))
    return _posterior(clock, silent, data).share(*range_s), posterior.share(*range_s)


def _is_beside(
    clock: ClockOffset, readings: OffsetWeights, posterior: _Posterior, data: Samples
) -> bool:
    """Whether the clock is wrong by the readings, though by no more than such clocks often are.

    A clock that is believed to 2 s and is off by as much has the right place where it is believed.
    """
    if not (readings.is_confirmed and readings.may_overrule) or readings.is_by_levels:
        return False
    reach_s = _RULES.min_doubt_s + sum(_ages_s(readings, data))
    at_clock = (clock.lo_s - reach_s, clock.hi_s + reach_s)
    before, after = _shares_within(at_clock, clock, readings, posterior, data)
    return _odds_fell(before, after, to=float(np.exp(_RULES.min_log_odds_at_clock)))


def _is_doubted(before: float, after: float, readings: OffsetWeights) -> bool:
    """Whether the readings speak against the clock, though for no other place."""
    if not _RULES.min_believed_weight <= after < _RULES.min_sure_weight:
        return after < _RULES.min_believed_weight
    if not readings.is_confirmed or readings.is_by_levels:
        return False  # one edge may be anything's, and some means of 10 s fit many places
    return _odds_fell(before, after, to=_RULES.min_odds_left)


def _odds_fell(before: float, after: float, *, to: float) -> bool:
    """Whether the odds of a share (p : 1 - p) are now less than so many times what they were.

    In products: either share may be 1.
    """
    return after * (1 - before) < to * before * (1 - after)


def _posterior(
    clock: ClockOffset | None, readings: OffsetWeights | None, data: Samples
) -> _Posterior:
    if readings is not None:
        readings = _with_clock_on_grid(readings, clock)
        offsets, log_weight, width = readings.offset_s, readings.log_weight, readings.width_s
    else:
        assert clock is not None
        offsets = np.linspace(*clock.believed, _MIN_GRID)
        log_weight, width = np.zeros(len(offsets)), np.ones(len(offsets))
    newer_s, older_s = _ages_s(readings, data)
    if clock is not None and clock.kind.late_share:
        # Such a clock is known better than the age of a reading.
        log_weight = _of_any_age(offsets, log_weight, newer_s, older_s)
        newer_s = older_s = 0.0
    if clock is not None:
        log_weight = log_weight + np.log(np.maximum(clock.prior(offsets), 1e-300))
    weight = np.exp(log_weight - log_weight.max()) * width
    return _Posterior(offsets, weight / weight.sum(), newer_s, older_s)


def _ages_s(readings: OffsetWeights | None, data: Samples) -> tuple[float, float]:
    """By how much readings may be newer or older than they are taken to be."""
    spare_s = _RULES.min_error_s + (readings.common_s if readings is not None else 0.0)
    return data.age_s + spare_s, max(data.age_s, data.older_s) + spare_s


def _of_any_age(offsets: Floats, log_weight: Floats, newer_s: float, older_s: float) -> Floats:
    """The weights of a log whose readings may be so much newer or older (95 % each)."""
    shares = (np.arange(SHIFTS) + 0.5) / SHIFTS
    sigmas = np.array([normal_quantile(share) for share in shares.tolist()])
    by_s = sigmas / Z95 * np.where(sigmas < 0, newer_s, older_s)
    moved = [np.interp(offsets - one, offsets, log_weight) for one in by_s.tolist()]
    return np.asarray(np.logaddexp.reduce(moved, axis=0) - np.log(SHIFTS))


def _with_clock_on_grid(readings: OffsetWeights, clock: ClockOffset | None) -> OffsetWeights:
    """The same weights with offsets where the clock is believed.

    A grid of seconds has none within ±10 ms, and a clock that is on no point of it would count for
    nothing.
    """
    if clock is None or len(readings.offset_s) < 2:
        return readings
    believed = wire.distinct(
        [np.linspace(*clock.believed, PLACE_STEPS), np.linspace(*clock.prompt, PLACE_STEPS)]
    )
    inside = (believed >= readings.offset_s[0]) & (believed <= readings.offset_s[-1])
    offsets = wire.distinct(np.concatenate([readings.offset_s, believed[inside]]))
    log_weight = np.interp(offsets, readings.offset_s, readings.log_weight)
    return readings._replace(offset_s=offsets, log_weight=log_weight, width_s=np.gradient(offsets))


def _without_clock(readings: OffsetWeights, posterior: _Posterior, sure_s: float) -> Verdict:
    if not (_is_evidence(readings, has_clock=False) and readings.may_overrule):
        return _ambiguous(posterior, sure_s)
    lo, hi = posterior.interval(TAILS)
    is_one_place = hi - lo - posterior.newer_s - posterior.older_s <= 2 * sure_s
    if is_one_place and not readings.rivals:
        return Verdict("aligned", posterior.densest, lo, hi)
    return _ambiguous(_with_rivals(posterior, readings.rivals, sure_s), sure_s)


def _with_rivals(posterior: _Posterior, rivals: tuple[float, ...], sure_s: float) -> _Posterior:
    """The posterior in which each rival of the best place counts as much as that does."""
    densest = posterior.densest
    is_best = np.abs(posterior.offset_s - densest) <= sure_s
    around = posterior.offset_s[is_best] - densest
    weight = posterior.weight[is_best]
    offsets = np.concatenate([posterior.offset_s, *(rival + around for rival in rivals)])
    weights = np.concatenate([posterior.weight, *(weight for _ in rivals)])
    order = np.argsort(offsets, kind="stable")
    return replace(posterior, offset_s=offsets[order], weight=weights[order] / weights.sum())


def _ambiguous(posterior: _Posterior, sure_s: float) -> Verdict:
    places = posterior.places(2 * sure_s)
    lo, hi = posterior.interval(TAILS)
    offset = places[0].offset_s
    return Verdict("ambiguous", offset, min(lo, offset), max(hi, offset), places)


def _sure(clock: ClockOffset, posterior: _Posterior, sure_s: float) -> Verdict:
    """One place: the clock's, or one beside it.

    A place that is known to seconds only does not confirm a clock.
    """
    lo, hi = posterior.interval(TAILS)
    at_clock = clock.middle_s
    by_readings = posterior.densest
    if clock.kind.late_share:
        by_readings = posterior.median
    # What agrees is within what is claimed.
    is_contradicted = not lo <= at_clock <= hi
    if is_contradicted and abs(by_readings - at_clock) > _RULES.min_doubt_s:
        correction_s = by_readings - at_clock
        return Verdict("clock corrected", by_readings, lo, hi, correction_s=correction_s)
    is_narrow = clock.kind.believed_s < SURE_S and clock.hi_s - clock.lo_s < 2 * SURE_S
    if is_narrow and not clock.kind.late_share:
        return Verdict("aligned", at_clock, *clock.believed, confirmed=True)
    lo, hi = min(lo, at_clock), max(hi, at_clock)
    # Where the clock is near an end of the interval, its middle is more likely.
    middle = (lo + hi) / 2
    is_central = abs(at_clock - middle) < (hi - lo) / 4 or hi - lo <= 2 * SURE_S
    confirming_s = max(_RULES.min_vague_s, sure_s + posterior.newer_s + posterior.older_s)
    status: Status = "aligned" if hi - lo <= 2 * confirming_s else "cannot tell"
    return Verdict(status, at_clock if is_central else middle, lo, hi, confirmed=True)


def _believed(clock: ClockOffset, posterior: _Posterior, *, is_less_likely: bool) -> Verdict:
    """The clock as far as its kind is believed.

    Farther where the readings make the clock less likely, though not unlikely: of logs that were
    15 s off, one that was claimed to 2 s had fitted well at 14 s.
    """
    lo, hi = clock.believed
    width = hi - lo
    if width <= 2 * SURE_S:
        return Verdict("aligned", clock.middle_s, lo, hi)
    status: Status = "aligned" if width < 2 * _RULES.min_vague_s else "cannot tell"
    if is_less_likely and status == "cannot tell":
        tail_lo, tail_hi = posterior.interval(TAILS)
        lo, hi = min(lo, tail_lo), max(hi, tail_hi)
    places = list(posterior.between(lo, hi).places(width / 2 / _BELIEVED_PLACES))
    nearest = min(places, key=lambda place: abs(place.offset_s - clock.middle_s))
    places.remove(nearest)
    at_clock = nearest._replace(offset_s=clock.middle_s)
    return Verdict(status, clock.middle_s, lo, hi, (at_clock, *places))

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

from powertui.data.energy import settings
from powertui.data.energy.alignment_places import SURE_S, Where
from powertui.data.energy.clock_kinds import ClockOffset
from powertui.data.energy.clock_posterior import (
    Posterior,
    offset_posterior,
    reading_ages_s,
    with_clock_on_grid,
)
from powertui.data.energy.edge_matching import PLACE_STEPS, OffsetWeights
from powertui.data.energy.robust_stats import TAILS
from powertui.data.energy.samples import Samples
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
    min_clear_weight: float = settings.NEARLY_ALL_SHARE
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
    min_doubt_s: float = settings.LATE_S  # sensors are late by as much as that anyway
    sure_refreshes: float = settings.UNKNOWN_SHARE  # a place is sure to this part of the refresh


_RULES = _ClockRules()
_PLACE_SURES = settings.FAR_SIGMAS  # a place reaches so many times as far as it may be open

# ── how finely offsets are weighed: bounds of time ──
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
    # One sigma of when the power was, where it is the readings that place it.
    power_sigma_s: float | None = None


def judge(clock: ClockOffset | None, readings: OffsetWeights | None, data: Samples) -> Verdict:
    """The answer of clock and readings, of which there is at least one.

    Where there are both, three questions in turn: do the readings and the clock together leave one
    narrow place? Do the readings by themselves show that one, so that they may confirm or correct
    it? If not, do they speak against it? Where none says so, the clock is believed.
    """
    if readings is not None and not _is_evidence(readings, has_clock=clock is not None):
        readings = readings.or_anywhere()
    posterior = offset_posterior(clock, readings, data)
    sure_s = max(SURE_S, _RULES.sure_refreshes * data.refresh)
    if clock is None:
        assert readings is not None
        return _without_clock(readings, posterior, sure_s)
    if readings is None:
        return _believed(clock, posterior, is_less_likely=False)
    question = _Question(
        clock=clock,
        readings=readings,
        data=data,
        posterior=posterior,
        sure_s=sure_s,
    )
    answer = _by_one_place(question)
    if answer is not None:
        return answer
    # No such place, or none that the readings show: do they speak against the clock?
    believed_lo, believed_hi = clock.believed
    around_clock = (believed_lo - _RULES.min_doubt_s, believed_hi + _RULES.min_doubt_s)
    before, after = question.shares_within(around_clock)
    is_beside = _is_beside(question) or _is_far_better_nearby(question)
    if _is_doubted(before, after, readings) or is_beside:
        return _ambiguous(_unless_overruled(question), sure_s)
    if _leaves_more_open(clock, posterior):
        return _ambiguous(posterior, sure_s)
    is_worse_here = _best_at_clock(clock, readings) < _RULES.min_log_odds_at_clock
    return _believed(clock, posterior, is_less_likely=is_worse_here and after < before)


@dataclass(frozen=True)
class _Question:
    """A clock, the readings of its log, and what both say together."""

    clock: ClockOffset
    readings: OffsetWeights
    data: Samples
    posterior: Posterior
    sure_s: float  # a place is sure that is known to this

    @property
    def may_correct(self) -> bool:
        """Whether the readings would place a log that has no clock."""
        return self.readings.is_confirmed and self.readings.may_overrule

    @property
    def ages_s(self) -> float:
        """From the newest to the oldest that a reading may be."""
        return sum(reading_ages_s(self.readings, self.data))

    def shares_within(self, range_s: tuple[float, float]) -> tuple[float, float]:
        """How likely the log is within a range: before any reading, and now."""
        no_weight = np.zeros(len(self.readings.offset_s))
        silent = self.readings._replace(log_weight=no_weight)
        before = offset_posterior(self.clock, silent, self.data)
        return before.share(*range_s), self.posterior.share(*range_s)


def _by_one_place(question: _Question) -> Verdict | None:
    """The answer where clock and readings leave one narrow place that the readings show by
    themselves, too; None where they do not.
    """
    clock, posterior = question.clock, question.posterior
    heaviest = posterior.densest
    if clock.kind.late_share:
        heaviest = posterior.heaviest(question.sure_s)
    best = posterior.place_around(heaviest, _PLACE_SURES * question.sure_s)
    lo, hi = best.interval(TAILS)
    widest_s = 2 * max(clock.kind.believed_s, question.sure_s + question.ages_s)
    is_heavy = posterior.share_of(best) >= _RULES.min_sure_weight
    if not is_heavy or hi - lo > widest_s:
        return None
    by_readings = offset_posterior(None, question.readings, question.data)
    if by_readings.share_of(best) < _RULES.min_reading_weight:
        return None
    verdict = _sure(clock, best, question.sure_s)
    is_corrected = verdict.status == "clock corrected"
    takes_more = is_corrected or question.readings.is_by_levels
    is_clear = _is_clear(best, by_readings, None if takes_more else clock)
    if is_clear and (question.may_correct or not is_corrected):
        if not is_corrected and _is_far_better_nearby(question):
            verdict = _corrected(clock, best, verdict)
        return _with_power(verdict, best, question)
    by_s = max(clock.kind.believed_s, _RULES.min_vague_s)
    if clock.lo_s - by_s <= verdict.offset_s <= clock.hi_s + by_s:
        return None
    # A log of another run, of which a part meets this one, fits somewhere, too.
    return _ambiguous(_unless_overruled(question), question.sure_s)


def _with_power(verdict: Verdict, best: Posterior, question: _Question) -> Verdict:
    """With when its power was, where the readings show that as well as a sure place is known,
    unless the clock is known better than the age of a reading.
    """
    sigma_s = best.power_sigma_s(verdict.offset_s, question.readings.common_s)
    if question.clock.kind.late_share or sigma_s > question.sure_s:
        return verdict
    return verdict._replace(power_sigma_s=sigma_s)


def _is_clear(best: Posterior, by_readings: Posterior, clock: ClockOffset | None) -> bool:
    """Whether the readings alone show one place, as clearly as an answer takes.

    A clock that they are to confirm rules out what is far from it: only of places near it they
    have to show which it is. A clock that was 2 s ahead was called right to ± 1 s where they liked
    another place beside it as well.
    """
    rivals = by_readings
    if clock is not None:
        near_lo, near_hi = clock.nearby
        first, last = best.span
        rivals = by_readings.between(min(near_lo, first), max(near_hi, last))
    return rivals.share_of(best) >= _RULES.min_clear_weight


def _unless_overruled(question: _Question) -> Posterior:
    """The posterior in which the clock's place counts by half at least, unless readings that would
    place the log without a clock rule it out.

    Others fit what they fit by chance: of many places that are alike a search lists some, and may
    not have the clock's among them. A quiet session within an hour of other work, on a right
    clock, was listed at 24 places 6 minutes off, with joules that left out the true ones.
    """
    clock, posterior = question.clock, question.posterior
    if question.may_correct:
        return posterior
    share = posterior.share(*clock.believed)
    least_share = _RULES.min_believed_weight
    if share >= least_share:
        return posterior
    added_share = (least_share - share) / (1 - share)
    at_clock = np.linspace(*clock.believed, PLACE_STEPS)
    prior = clock.prior(at_clock)
    added = added_share * prior / prior.sum()
    rest = (1 - added_share) * posterior.weight
    return posterior.joined([posterior.offset_s, at_clock], [rest, added])


def _is_evidence(readings: OffsetWeights, *, has_clock: bool) -> bool:
    """Whether the readings show a place. Without a clock they must show whose they are, too."""
    return readings.is_confirmed and (has_clock or readings.is_of_training)


def _leaves_more_open(clock: ClockOffset, posterior: Posterior) -> bool:
    """Whether a clock that is minutes wide says less than the readings: it only says which of their
    places come into question.

    A BMC's log of 1 s means that fits within 2 s was told as anywhere within ± 2 min, which it
    would not have been without a clock.
    """
    clock_s = clock.hi_s - clock.lo_s
    if clock_s <= 2 * clock.kind.believed_s:
        return False
    lo, hi = posterior.interval(TAILS)
    return hi - lo < clock_s


def _best_at_clock(clock: ClockOffset, readings: OffsetWeights) -> float:
    """The log weight of the best offset at which the clock is believed; 0 if that is the best."""
    readings = with_clock_on_grid(readings, clock)
    lo, hi = clock.believed
    inside = (readings.offset_s >= lo) & (readings.offset_s <= hi)
    return float(readings.log_weight[inside].max(initial=-np.inf))


def _is_beside(question: _Question) -> bool:
    """Whether the clock is wrong by the readings, though by no more than such clocks often are.

    A clock that is believed to 2 s and is off by as much has the right place where it is believed.
    """
    if not question.may_correct or question.readings.is_by_levels:
        return False
    clock = question.clock
    reach_s = _RULES.min_doubt_s + question.ages_s
    before, after = question.shares_within((clock.lo_s - reach_s, clock.hi_s + reach_s))
    least_odds = float(np.exp(_RULES.min_log_odds_at_clock))
    return _odds_fell(before, after, to=least_odds)


def _is_far_better_nearby(question: _Question) -> bool:
    """Whether the readings contradict the clock itself by a place near it, however old they are.

    Both may be within what is claimed: then it is known that the clock is off, not by how much. Of
    96 right clocks none was less likely than such a place by that much; of 101 that were off and
    believed 45 were (seeds 600 to 623 and 12000 to 12023).
    """
    clock, readings = question.clock, question.readings
    if clock.kind.late_share or not question.may_correct or readings.is_by_levels:
        return False
    newer_s, older_s = reading_ages_s(readings, question.data)
    at_clock = _best_between(readings, clock.lo_s - older_s, clock.hi_s + newer_s)
    nearby = _best_between(readings, *clock.nearby)
    clearly_less = float(np.log(1 - _RULES.min_clear_weight))
    return at_clock < nearby + clearly_less


def _best_between(readings: OffsetWeights, lo_s: float, hi_s: float) -> float:
    """The log weight of the best offset between two."""
    offsets = np.linspace(lo_s, hi_s, PLACE_STEPS)
    at_steps = np.interp(offsets, readings.offset_s, readings.log_weight)
    is_between = (readings.offset_s > lo_s) & (readings.offset_s < hi_s)
    on_grid = readings.log_weight[is_between]
    return float(max(at_steps.max(), on_grid.max(initial=-np.inf)))


def _corrected(clock: ClockOffset, best: Posterior, verdict: Verdict) -> Verdict:
    """The same interval around the place of the readings, of a clock that they contradict."""
    correction_s = best.densest - clock.middle_s
    return Verdict(
        status="clock corrected",
        offset_s=best.densest,
        lo_s=verdict.lo_s,
        hi_s=verdict.hi_s,
        correction_s=correction_s,
    )


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


def _without_clock(readings: OffsetWeights, posterior: Posterior, sure_s: float) -> Verdict:
    is_evidence = _is_evidence(readings, has_clock=False)
    if not (is_evidence and readings.may_overrule):
        return _ambiguous(posterior, sure_s)
    lo, hi = posterior.interval(TAILS)
    width_s = hi - lo - posterior.newer_s - posterior.older_s
    if width_s <= 2 * sure_s and not readings.rivals:
        return Verdict(status="aligned", offset_s=posterior.densest, lo_s=lo, hi_s=hi)
    with_rivals = _with_rivals(posterior, readings.rivals, sure_s)
    return _ambiguous(with_rivals, sure_s)


def _with_rivals(posterior: Posterior, rivals: tuple[float, ...], sure_s: float) -> Posterior:
    """The posterior in which each rival of the best place counts as much as that does."""
    densest = posterior.densest
    is_best = np.abs(posterior.offset_s - densest) <= sure_s
    around = posterior.offset_s[is_best] - densest
    weight = posterior.weight[is_best]
    offsets = [posterior.offset_s, *(rival + around for rival in rivals)]
    weights = [posterior.weight, *(weight for _ in rivals)]
    total = np.concatenate(weights).sum()
    both = posterior.joined(offsets, weights)
    return replace(both, weight=both.weight / total)


def _ambiguous(posterior: Posterior, sure_s: float) -> Verdict:
    places = posterior.places(2 * sure_s)
    likeliest_s = places[0].offset_s
    lo, hi = posterior.interval(TAILS)
    return Verdict(
        status="ambiguous",
        offset_s=likeliest_s,
        lo_s=min(lo, likeliest_s),
        hi_s=max(hi, likeliest_s),
        places=places,
    )


def _sure(clock: ClockOffset, posterior: Posterior, sure_s: float) -> Verdict:
    """One place: the clock's, or one beside it."""
    lo, hi = posterior.interval(TAILS)
    at_clock = clock.middle_s
    by_readings = posterior.densest
    if clock.kind.late_share:
        by_readings = posterior.median
    # What agrees is within what is claimed.
    is_contradicted = not lo <= at_clock <= hi
    correction_s = by_readings - at_clock
    if is_contradicted and abs(correction_s) > _RULES.min_doubt_s:
        return Verdict(
            status="clock corrected",
            offset_s=by_readings,
            lo_s=lo,
            hi_s=hi,
            correction_s=correction_s,
        )
    is_narrow = clock.kind.believed_s < SURE_S and clock.hi_s - clock.lo_s < 2 * SURE_S
    if is_narrow and not clock.kind.late_share:
        lo, hi = clock.believed
        return Verdict(status="aligned", offset_s=at_clock, lo_s=lo, hi_s=hi, confirmed=True)
    return _confirmed(at_clock, min(lo, at_clock), max(hi, at_clock), posterior, sure_s)


def _confirmed(
    at_clock: float, lo: float, hi: float, posterior: Posterior, sure_s: float
) -> Verdict:
    """The clock's place with the interval that the readings leave.

    A place that is known to seconds only does not confirm a clock.
    """
    width_s = hi - lo
    confirming_s = max(_RULES.min_vague_s, sure_s + posterior.newer_s + posterior.older_s)
    status: Status = "aligned" if width_s <= 2 * confirming_s else "cannot tell"
    # Where the clock is near an end of the interval, its middle is more likely.
    middle = (lo + hi) / 2
    is_central = abs(at_clock - middle) < width_s / 4 or width_s <= 2 * SURE_S
    offset_s = at_clock if is_central else middle
    return Verdict(status=status, offset_s=offset_s, lo_s=lo, hi_s=hi, confirmed=True)


def _believed(clock: ClockOffset, posterior: Posterior, *, is_less_likely: bool) -> Verdict:
    """The clock as far as its kind is believed.

    Farther where the readings make the clock less likely, though not unlikely: of logs that were
    15 s off, one that was claimed to 2 s had fitted well at 14 s.
    """
    middle = clock.middle_s
    lo, hi = clock.believed
    width_s = hi - lo
    if width_s <= 2 * SURE_S:
        return Verdict(status="aligned", offset_s=middle, lo_s=lo, hi_s=hi)
    status: Status = "aligned" if width_s < 2 * _RULES.min_vague_s else "cannot tell"
    if is_less_likely and status == "cannot tell":
        tail_lo, tail_hi = posterior.interval(TAILS)
        lo = min(lo, tail_lo)
        hi = max(hi, tail_hi)
    within = posterior.between(lo, hi)
    places = list(within.places(width_s / 2 / _BELIEVED_PLACES))
    nearest = min(places, key=lambda place: abs(place.offset_s - middle))
    places.remove(nearest)
    at_clock = nearest._replace(offset_s=middle)
    return Verdict(
        status=status,
        offset_s=middle,
        lo_s=lo,
        hi_s=hi,
        places=(at_clock, *places),
    )

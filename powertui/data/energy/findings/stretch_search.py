"""Finds stretches over which readings are above or below what was expected of them.

A foreign load is a box: so many watts from one moment to another. A reading shows the part of it
that its own window covers, so a box is fitted to the readings through their windows; the edges and
the height that come out are those of the load, not of the sensor. A reading's error has two parts.
Noise averages out over a stretch, as far as neighboring readings are not alike. What is not known
of the expectation (work of a kind that was hardly seen, a window that is only assumed) is shared by
the whole stretch: it cancels only where it is off upwards here and downwards there.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings import edges, stretch_scores
from powertui.data.energy.findings.finding_rules import MIN_ALIKE_HEIGHT
from powertui.data.energy.findings.power_stretch import Box, one_load
from powertui.data.energy.findings.readings import SensorReadings, covered_share, readings_subset
from powertui.data.energy.findings.residual_noise import (
    ResidualNoise,
    centre,
    certainty,
    ordinary,
    residual_noise,
)
from powertui.data.energy.findings.stretch_ends import even_part, extended, unbroken
from powertui.data.energy.robust_stats import noise_floor, running_sums, spread, sums_over
from powertui.data.energy.samples import usual_pace_s, usual_window_s
from powertui.data.model import Bools, Floats, Int64s
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple

# The chance that noise alone shows one stretch anywhere in the recording: the promise to the user.
# At half and at twice this, nothing changes in docs/energy-evidence.md.
ALPHA = 0.002
# So many errors a stretch must be off, however few there are to choose from. Half and twice: no
# change in docs/energy-evidence.md.
MIN_ERRORS = settings.FAR_SIGMAS
# So many readings are needed to know the noise. Chosen, not measured.
MIN_READINGS = settings.MIN_NOISE_READINGS
# Stretches like one another are noise when there are so many. Half and twice: no change.
_COMMON_STRETCHES = settings.MIN_ALIKE_VALUES
# Of one recording. Chosen, not measured.
_MAX_STRETCHES = 12
# A single reading within so many deviations is no tail. Chosen, not measured.
_TAIL_DEVIATIONS = settings.OUTLIER_SIGMAS
# A stretch with more than this share of the readings is what is usual. Chosen, not measured.
_MAX_STRETCH_SHARE = 0.6
# Boxes beside one another are fitted again in so many rounds. Chosen, not measured.
_FIT_ROUNDS = 2
# So many times as likely a stretch is by chance where another one was set aside for it. Chosen.
_PRICE_OF_RIVAL = 20.0
# A reading shows a box from this share of the box's watts on. Chosen, not measured.
_MIN_SHOWN_SHARE = settings.SLIGHT_SHARE


class _FittedBox(NamedTuple):
    box: Box
    first: int  # of the readings that it was fitted to
    last: int
    noise: ResidualNoise


class _Candidate(NamedTuple):
    """A stretch of readings, and how far it is off against the noise of all the others."""

    first: int
    last: int
    noise: ResidualNoise
    score: float
    p: float


def find_stretches(
    readings: SensorReadings,
    *,
    looks: int = 1,
    quiet: Bools | None = None,
    rivals: bool = False,
) -> tuple[list[Box], ResidualNoise]:
    """Stretches that noise does not explain, by their start, and what the noise is.

    `looks`: at so many recordings like this one. `quiet`: the readings that noise may be learned
    from, where somebody knows. `rivals`: two stretches may take most of the readings, so that each
    hides the other.
    """
    judged = np.flatnonzero(readings.judged)
    usual_w = median_of_column(np.abs(readings.watts[judged])) if len(judged) else 0.0
    floor = noise_floor(readings.quantum, usual_w)
    if len(judged) < MIN_READINGS:
        return [], residual_noise(np.empty(0), floor)
    search = _Search(
        readings=readings,
        rows=judged,
        floor=floor,
        looks=looks,
        rivals=rivals,
    )
    if quiet is not None:
        search.learn_from(quiet[judged])
    return search.run()


class _Search:
    """The search in one recording: the largest stretch first, then the largest of the rest."""

    def __init__(
        self,
        readings: SensorReadings,
        rows: Int64s,
        floor: float,
        looks: int,
        rivals: bool,
    ) -> None:
        self.readings = readings
        self.rows = rows
        self.floor = floor
        self.looks = looks
        self.rivals = rivals
        self.usual_w = median_of_column(np.abs(readings.watts[rows]))
        self.beyond = readings.beyond()[rows]
        self.doubt = readings.doubt[rows]
        judged = readings_subset(readings, rows)
        # The parts of the doubt that may cancel over a stretch, after the one that does not.
        self.signed = judged.blunt[None]
        if judged.ways.size:
            self.signed = np.vstack([judged.blunt[None], judged.ways])
        self.is_shared = bool(self.signed.any())
        # So many readings report the same moment.
        pace = usual_pace_s(judged, single=1.0)
        self.together = usual_window_s(judged) / max(pace, 1e-9)
        self.explained = np.zeros(len(rows), np.bool_)  # readings of boxes found so far
        # Of a reading within a range of what is explained nobody knows by how much it is off.
        self.exact = judged.ceiling - judged.floor <= self.floor
        self.free = np.ones(len(rows), np.bool_)  # readings that noise may be learned from
        self.learn_from(self.free)
        self.shortest = 1
        self.cut_off = math.inf

    def learn_from(self, rows: Bools) -> None:
        """Learn noise from these readings alone; from the exact ones where they are enough."""
        exact = rows & self.exact
        self.free = exact if exact.sum() >= MIN_READINGS else rows

    def run(self) -> tuple[list[Box], ResidualNoise]:
        """All stretches, and the noise that the last of them was compared with."""
        noise = residual_noise(np.empty(0), self.floor)
        foreign = np.zeros(len(self.readings))
        fitted: list[_FittedBox] = []
        for _ in range(2 * _MAX_STRETCHES):
            candidate, deviation = self._most_certain()
            if candidate is None:
                break
            noise = candidate.noise
            if self._is_common(candidate):
                self._cut_off_like(candidate, deviation)
                continue
            if candidate.p * self.looks > ALPHA or candidate.score < MIN_ERRORS:
                break
            fit = self._fitted(candidate, foreign)
            if fit is None:
                break
            part = _watts_of_box(self.readings, fit.box)
            min_shown_w = _MIN_SHOWN_SHARE * abs(fit.box.watts)
            shows_box = np.abs(part[self.rows]) > min_shown_w
            if not (shows_box & ~self.explained).any():
                break
            self.explained |= shows_box
            self.explained[candidate.first : candidate.last] = True
            foreign += part
            fitted.append(fit)
            unexplained_count = (~self.explained).sum()
            if unexplained_count < MIN_READINGS or len(fitted) == _MAX_STRETCHES:
                break
        boxes = [fit.box for fit in _fitted_again(self.readings, fitted)]
        noise = replace(noise, shortest=self.shortest, most=self.cut_off)
        return one_load(boxes, self.readings), noise

    def _fitted(self, candidate: _Candidate, foreign: Floats) -> _FittedBox | None:
        """The box behind a stretch, beside the foreign power that is known already."""
        height = median_of_column(self.beyond[candidate.first : candidate.last])
        first = int(self.rows[candidate.first])
        last = int(self.rows[candidate.last - 1]) + 1
        first, last = extended(self.readings, first, last, height)
        box = edges.box(
            readings=self.readings,
            first=first,
            last=last,
            noise=candidate.noise,
            foreign=foreign,
            p=candidate.p,
        )
        if box is None:
            return None
        return _FittedBox(
            box=box,
            first=first,
            last=last,
            noise=candidate.noise,
        )

    def _most_certain(self) -> tuple[_Candidate | None, float]:
        """(the stretch that noise shows most rarely, the deviation of ordinary readings)."""
        usual = self._ordinary(~self.explained & self.free)
        deviation = max(self.floor, spread(usual))
        single = residual_noise(usual[:1], deviation)
        remembering = self._noise(usual)
        # The stretch that is farthest off if all noise were single, and the one for noise that
        # remembers: a burst that counts as noise hides in the second one.
        bounds = {self._largest(single), self._largest(remembering)}
        candidates = []
        for first, last in sorted(bounds):
            if last > first:
                candidates.append(self._weigh(first, last, single))
        if not candidates:
            return None, deviation
        best = min(candidates, key=lambda candidate: (candidate.p, -candidate.score))
        if self.rivals and best.p * self.looks > ALPHA:
            best = self._without_rival(best, single)
        return best, deviation

    def _without_rival(self, candidate: _Candidate, single: ResidualNoise) -> _Candidate:
        """The same stretch against the noise without the strongest other one, which hides it.

        That is one more look, and it is paid for.
        """
        explained = self.explained
        self.explained = explained.copy()
        self.explained[candidate.first : candidate.last] = True
        first, last = self._largest(single)
        self.explained[first:last] = True
        again = candidate
        if last > first:
            again = self._weigh(candidate.first, candidate.last, single)
        self.explained = explained
        again = again._replace(p=_PRICE_OF_RIVAL * again.p)
        return min(candidate, again, key=lambda weighed: weighed.p)

    def _noise(self, usual: Floats) -> ResidualNoise:
        """The noise that readings show which contain no stretch."""
        return residual_noise(
            values=usual,
            floor=self.floor,
            together=self.together,
            usual_w=self.usual_w,
        )

    def _ordinary(self, free: Bools) -> Floats:
        """The readings among these that noise may be learned from."""
        tail = self.cut_off if math.isfinite(self.cut_off) else 0.0
        return ordinary(
            beyond=self.beyond,
            doubt=self.doubt,
            free=free,
            floor=self.floor,
            tail=tail,
            usual_w=self.usual_w,
        )

    def _largest(self, noise: ResidualNoise) -> tuple[int, int]:
        """First and last (exclusive) reading of the stretch that is farthest off.

        That is in errors of a mean of its own length.
        """
        inverse_variance = 1.0 / (noise.single**2 + self.doubt**2)
        beyond = np.where(self.explained, 0.0, self.beyond)
        weight = np.where(self.explained, 0.0, inverse_variance)
        gained = running_sums(weight * beyond)
        weights = running_sums(weight)
        # Most searches have no doubt to share, and the first round nothing explained: neither is
        # summed up for every length then.
        explained = None
        shared = None
        if self.explained.any():
            explained = running_sums(self.explained.astype(np.float64))
        if self.is_shared:
            shared = running_sums(weight * self.signed)
        lengths = self._lengths()
        sums = stretch_scores.StretchSums(gained, weights, explained, shared)
        return stretch_scores.farthest(sums, lengths, noise.over(lengths))

    def _lengths(self) -> list[int]:
        """How many readings a stretch may have, each about a tenth more than the one before."""
        longest = max(1, int(_MAX_STRETCH_SHARE * len(self.beyond)))
        lengths = []
        length = self.shortest
        while length <= longest:
            lengths.append(length)
            length = max(length + 1, int(length * 1.1))
        return lengths

    def _weigh(
        self,
        first: int,
        last: int,
        single: ResidualNoise,
    ) -> _Candidate:
        """A stretch against the noise of all the rest."""
        beyond = self.beyond
        first, last = unbroken(
            readings=self.readings,
            rows=self.rows,
            first=first,
            last=last,
            beyond=beyond,
        )
        # What `even_part` cuts off is not among the rest: another load is no noise.
        rest = self._without(first, last) & self.free
        first, last = even_part(
            beyond=beyond,
            doubt=self.doubt,
            first=first,
            last=last,
            noise=single,
        )
        noise = self._noise(self._ordinary(rest))
        stretch = readings_subset(self.readings, self.rows[first:last])
        weight = 1.0 / (noise.single**2 + stretch.doubt**2)
        score, p = certainty(
            beyond=beyond[first:last],
            weight=weight,
            shared=stretch.shared(weight),
            noise=noise,
        )
        return _Candidate(
            first=first,
            last=last,
            noise=noise,
            score=score,
            p=p,
        )

    def _without(self, first: int, last: int) -> Bools:
        """Readings of no stretch so far, and not of this one or beside it."""
        rest = ~self.explained
        rest[max(0, first - 1) : last + 1] = False
        return rest

    def _is_common(self, candidate: _Candidate) -> bool:
        """Whether stretches like this one turn up again and again among the rest: then the noise
        has such tails.
        """
        stretch = self.beyond[candidate.first : candidate.last]
        length = len(stretch)
        height = abs(float(stretch.mean()))
        is_sure = self.doubt < height / 3
        usable = self._without(candidate.first, candidate.last) & is_sure
        sums = running_sums(self.beyond)
        counts = running_sums(usable)
        means = np.abs(sums_over(sums, length)) / length
        is_usable = sums_over(counts, length) == length
        is_high = means > MIN_ALIKE_HEIGHT * height
        alike = np.flatnonzero(is_high & is_usable)
        if len(alike) < _COMMON_STRETCHES:
            return False
        # Starts within one length of each other are the same stretch.
        is_another = np.diff(alike) > length
        separate = 1 + int(is_another.sum())
        return separate >= _COMMON_STRETCHES

    def _cut_off_like(self, candidate: _Candidate, deviation: float) -> None:
        """Treat stretches like this one as tails of the noise: no reading counts for more.

        What is found after that was looked for once more.
        """
        self.looks += 1
        stretch = self.beyond[candidate.first : candidate.last]
        longer = math.ceil(1.5 * len(stretch))
        self.shortest = max(self.shortest + 1, longer)
        height = abs(float(stretch.mean()))
        self.cut_off = max(
            MIN_ALIKE_HEIGHT * height,
            _TAIL_DEVIATIONS * deviation,
        )
        self.beyond = np.clip(self.beyond, -self.cut_off, self.cut_off)
        rest = ~self.explained
        self.beyond -= centre(self.beyond[rest], self.doubt[rest])


def _fitted_again(readings: SensorReadings, fitted: list[_FittedBox]) -> list[_FittedBox]:
    """Boxes beside one another, each fitted again with the others known.

    The readings beside the first counted as usual while the rest of its load was among them. A box
    of the other sign shows the level there, and stays.
    """
    fitted = list(fitted)
    for _ in range(_FIT_ROUNDS):
        for index, fit in enumerate(fitted):
            rest = [another.box for another in fitted if another is not fit]
            neighbours = _neighbours(fit.box, rest)
            if not neighbours:
                continue
            foreign = np.sum([_watts_of_box(readings, box) for box in neighbours], axis=0)
            box = edges.box(
                readings=readings,
                first=fit.first,
                last=fit.last,
                noise=fit.noise,
                foreign=foreign,
                p=fit.box.p,
            )
            fitted[index] = fit._replace(box=box or fit.box)
    return fitted


def _watts_of_box(readings: SensorReadings, box: Box) -> Floats:
    """What a box adds to each reading."""
    return box.watts * covered_share(readings.lo, readings.hi, box.start, box.end)


def _neighbours(box: Box, others: list[Box]) -> list[Box]:
    """The boxes of the same sign that are no farther from it than it is long."""
    reach = box.end - box.start
    neighbours = []
    for candidate in others:
        is_near = candidate.end > box.start - reach and candidate.start < box.end + reach
        if is_near and candidate.watts * box.watts > 0:
            neighbours.append(candidate)
    return neighbours

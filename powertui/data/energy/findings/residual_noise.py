"""How far a stretch of readings is off, and how often noise alone would show one like it.

Residual noise is what readings differ by from what was expected of them, where nothing happens. A
sensor's own noise, in readings of a steady power, is another: `reading_noise.sensor_noise_w`.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from powertui.data.energy import settings
from powertui.data.energy.robust_stats import (
    MEDIAN_ERROR,
    normal_quantile,
    running_sums,
    scatter,
    spread,
    sums_over,
)
from powertui.data.model import Bools, Floats, Int64s
from powertui.data.quantiles import median_of_column, quantile_of_column
from powertui.value_types import dataclass

# Of a stretch with fewer readings than this, the middle one says little. Chosen, not measured.
_MIN_READINGS_FOR_MEDIAN = settings.MIN_NOISE_READINGS
# Readings farther from the middle one than so many deviations are no noise.
_CLIP_DEVIATIONS = settings.OUTLIER_SIGMAS
# Rounds in which far readings are set aside: each makes the deviation smaller. Chosen.
_CLIP_ROUNDS = 12
# Far readings are tails of the noise when they come at least so often, and mostly as so few
# neighbors. Chosen, not measured.
_MIN_TAIL_RUNS = settings.MIN_ALIKE_VALUES
_MAX_TAIL_READINGS = 2
# Means over so many readings show how long noise remembers. Chosen, not measured.
_MEMORY_READINGS = settings.MIN_SAMPLE_VALUES
# What is known of noise before any reading: so large a share of the power, as surely as so many
# readings would tell it. Chosen, not measured.
_PRIOR_NOISE_SHARE = settings.NEGLIGIBLE_SHARE
_PRIOR_READINGS = 2.0
# Readings are cut into so many blocks to find the center of their means. Chosen, not measured.
_CENTER_BLOCKS = settings.MEDIAN_VALUES
# Degrees of freedom of a doubt that was not learned from a sample. Chosen, not measured.
_DOUBT_FREEDOM = settings.GOOD_SAMPLE_VALUES
# Stretches longer than any that scatter was learned from, as multiples of the longest.
_DRIFT_LENGTHS = (4.0, 64.0, 4096.0)


@dataclass(frozen=True, eq=False)
class ResidualNoise:
    """How uncertain the mean of neighboring readings is when nothing happens."""

    single: float  # the error of a single reading, W
    lengths: Floats  # numbers of readings ...
    errors: Floats  # ... and the error of a mean over so many, W
    alike: float  # how many neighboring readings count as one
    blocks: float  # readings that count as independent
    means: float  # the same for means over `_MEMORY_READINGS` and more: few far ones weigh less
    shortest: int = 1  # readings of a stretch: shorter ones differ everywhere
    # What single readings are off by again and again, W. What is more was cut off.
    most: float = math.inf
    floor: float = 0.0  # what of `single` is rounding, and not learned

    def freedom(
        self,
        random: float,
        count: float,
        shared: float = 0.0,
    ) -> float:
        """The degrees of freedom of the error of a mean over `count` readings.

        The noise was learned from few readings, but rounding is known. Doubts are no sample of
        anything: they count as `_DOUBT_FREEDOM` (Welch and Satterthwaite).
        """
        variance = random**2
        learned = max(variance - self.floor**2 / count, 0.0)
        total = variance + shared**2
        blocks = self.blocks_of(count)
        learned_freedom = max(blocks + _PRIOR_READINGS - 1, 1.0)
        of_noise = learned**2 / learned_freedom
        of_doubts = (total - learned) ** 2 / _DOUBT_FREEDOM
        return total**2 / max(of_noise + of_doubts, 1e-300)

    def blocks_of(self, count: float) -> float:
        """Readings that count as independent, for means over `count` of them."""
        if count >= _MEMORY_READINGS:
            return self.means
        return self.blocks

    def errors_of_chance(self, chance: float) -> float:
        """How many errors a stretch of a few readings is off that noise shows as rarely as this:
        `chance` the other way round.
        """
        freedom = self.freedom(self.single, 1.0)
        # Half of it on either side, and shared by all stretches that count as different.
        chance_of_one = chance / (2 * _different_stretches(self.blocks))
        sigmas = -normal_quantile(min(chance_of_one, 0.4))
        return _student_errors(sigmas, freedom)

    def mean_error(self, length: float) -> float:
        """The error of a mean over so many readings."""
        return float(self.over(length))

    def over(self, lengths: npt.ArrayLike) -> Floats:
        """The same for many lengths."""
        log_lengths, log_errors = self._logs
        logs = np.interp(np.log(lengths), log_lengths, log_errors)
        return np.asarray(np.exp(logs))

    @cached_property
    def _logs(self) -> tuple[Floats, Floats]:
        """The logarithms of lengths and errors: a search asks for one length after the other."""
        return np.log(self.lengths), np.log(self.errors)


def residual_noise(
    values: Floats,
    floor: float,
    together: float = 1.0,
    usual_w: float = 0.0,
) -> ResidualNoise:
    """The noise of readings that are taken to contain no stretch.

    It is learned from how means over more and more readings scatter. `together`: how many readings
    report the same moment, as those of running means do. `usual_w`: what they usually show.
    """
    count = len(values)
    single = max(scatter(values), floor)
    # Few readings that happen to be alike do not show that there is no noise.
    expected_w = max(_PRIOR_NOISE_SHARE * usual_w, floor)
    expected = _PRIOR_READINGS * expected_w**2
    single = math.sqrt((count * single**2 + expected) / (count + _PRIOR_READINGS))
    lengths = [1.0]
    errors = [single]
    alike = 1.0
    length = 2
    memory_readings = max(_MEMORY_READINGS, 2.5 * together)
    sums = running_sums(values)
    # With fewer than eight means of a length, their scatter says nothing.
    while 8 * length <= count:
        means = sums_over(sums, length) / length
        independent = single / math.sqrt(length)
        continued = 0.9 * errors[-1] * math.sqrt(lengths[-1] / length)
        error = max(scatter(means), independent, continued)
        errors.append(error)
        lengths.append(float(length))
        if length <= memory_readings:
            alike = max(alike, length * (error / single) ** 2)
        length = math.ceil(length * 1.5)
    # Of longer stretches there are too few to learn from, and drifts may go on: the error falls
    # more slowly than that of independent readings would.
    for multiple in _DRIFT_LENGTHS:
        lengths.append(lengths[-1] * multiple)
        errors.append(errors[-1] * multiple**-0.25)
    # A few far readings make means over eight scatter more than single ones: that is no memory of
    # more than these eight.
    memory = min(alike, memory_readings)
    return ResidualNoise(
        single=single,
        lengths=np.array(lengths),
        errors=np.array(errors),
        alike=alike,
        blocks=max(count / alike, 2.0),
        means=max(count / memory, 2.0),
        floor=floor,
    )


def centre(residual: Floats, doubt: Floats) -> float:
    """The median of the residuals' means over blocks of neighboring readings.

    The single readings of a fast sensor are skewed, for its windows and the work's edges never
    quite meet, and a stretch is a mean.
    """
    max_doubt = 2 * quantile_of_column(doubt, 1 / 4) + 1e-9
    sure = residual[doubt <= max_doubt]
    size = max(1, len(sure) // _CENTER_BLOCKS)
    count = len(sure) // size
    if not count:
        return 0.0
    blocks = sure[: count * size].reshape(count, size)
    return median_of_column(blocks.mean(axis=1))


def chance(score: float, freedom: float, blocks: float) -> float:
    """The chance of such a score among all stretches of so many independent readings."""
    sigmas = _normal_sigmas(score, freedom)
    chance_of_one = math.erfc(sigmas / math.sqrt(2))
    return min(1.0, _different_stretches(blocks) * chance_of_one)


def _different_stretches(blocks: float) -> float:
    """Of n readings about 2 n log n stretches count as different."""
    return 2 * blocks * max(1.0, math.log(blocks))


def _normal_sigmas(errors: float, freedom: float) -> float:
    """How many standard deviations are as rare as so many errors, where the error is known with so
    many degrees of freedom.

    Student's t by Wallace's approximation (Annals of Mathematical Statistics 30, 1959):
    z = (8f + 1)/(8f + 3) · √(f · ln(1 + t²/f)).
    """
    return (
        (8 * freedom + 1)
        / (8 * freedom + 3)
        * math.sqrt(freedom * math.log1p(errors * errors / freedom))
    )


def _student_errors(sigmas: float, freedom: float) -> float:
    """The other way round: Wallace's approximation, solved for t."""
    factor = (8 * freedom + 3) / (8 * freedom + 1)
    scaled = sigmas * factor
    # Beyond e⁵⁰ nothing is found, however it is counted.
    exponent = min(scaled * scaled / freedom, 50.0)
    return math.sqrt(freedom * math.expm1(exponent))


def ordinary(
    beyond: Floats,
    doubt: Floats,
    free: Bools,
    floor: float,
    tail: float,
    usual_w: float,
) -> Floats:
    """The readings that noise may be learned from.

    They are those of which enough is known, without the far ones, however many these are: bursts
    and pauses are no noise. Tails are. `tail`: W by which single readings are off again and again;
    `usual_w`: what they usually show.
    """
    values = beyond[free]
    doubts = doubt[free]
    if not len(values):
        return values
    # A doubt within what noise is taken to be anyway does not make it larger, and in a short
    # recording each reading counts.
    presumed_w = _PRIOR_NOISE_SHARE * usual_w
    max_doubt = max(floor, presumed_w, 2 * quantile_of_column(doubts, 1 / 4))
    sure = values[doubts <= max_doubt]
    near_middle = calm(sure, floor, tail)
    near = (sure >= near_middle.min()) & (sure <= near_middle.max())
    return np.asarray(sure[near | _tails(sure, near)])


def _tails(values: Floats, near: Bools) -> Bools:
    """The far values that come singly and again and again: no load and no pause does that."""
    tails = np.zeros(len(values), np.bool_)
    off = values - median_of_column(values)
    for sign in (-1.0, 1.0):
        runs = true_runs(~near & (sign * off > 0))
        first = runs[:, 0]
        length = runs[:, 1] - first
        if len(first) < _MIN_TAIL_RUNS or median_of_column(length) > _MAX_TAIL_READINGS:
            continue
        short = length <= 2 * _MAX_TAIL_READINGS
        for offset in range(2 * _MAX_TAIL_READINGS):
            is_that_long = short & (length > offset)
            tails[first[is_that_long] + offset] = True
    return tails


def true_runs(values: Bools) -> Int64s:
    """[runs, 2]: the first row of each run of true values, and the row after it."""
    padded = np.concatenate([[False], values, [False]])
    changes = np.diff(padded.astype(np.int8))
    return np.flatnonzero(changes).reshape(-1, 2)


def calm(values: Floats, floor: float, tail: float = 0.0) -> Floats:
    """The values without those far from the middle one, as often as that makes a difference.

    `tail`: nothing within so much is far.
    """
    for _ in range(_CLIP_ROUNDS):
        if not len(values):
            break
        off = np.abs(values - median_of_column(values))
        deviation = max(spread(values), floor)
        near = off <= max(_CLIP_DEVIATIONS * deviation, tail)
        if near.all():
            break
        values = values[near]
    return values


def certainty(
    beyond: Floats,
    weight: Floats,
    shared: float,
    noise: ResidualNoise,
) -> tuple[float, float]:
    """(how many errors a stretch is off, how often noise alone would show such a stretch anywhere).

    `shared`: by how much the expectation of their weighted mean may be off, one sigma.
    """
    count = len(beyond)
    mean = float(weight @ beyond / weight.sum())
    random = noise.mean_error(count)
    size = abs(mean)
    if count >= _MIN_READINGS_FOR_MEDIAN:
        # A load lifts all readings of a stretch. What lifts the mean alone is noise with tails.
        sign = math.copysign(1.0, mean)
        median = MEDIAN_ERROR * sign * median_of_column(beyond)
        size = min(size, max(median, 0.0))
    score = size / math.hypot(random, shared)
    freedom = noise.freedom(random, count, shared)
    return score, chance(score, freedom, noise.blocks_of(count))

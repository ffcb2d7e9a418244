"""What the scatter of a run's readings makes of a stretch: how far it lies off, and how often
chance would show one like it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from powertui.data.model import Bools, Floats

_MANY = 6  # readings whose middle one is to be trusted
_NEAR = 0.95  # of the readings: with fewer near the middle one, noise has tails
_LONG = 8.0  # readings: means over so many say how long noise remembers
_BLOCKS = 15  # of readings one after another
_KNOWN = 30.0  # degrees of freedom of what is no sample


@dataclass(frozen=True, eq=False)
class Noise:
    """What the mean of so many neighbouring readings is uncertain by, when nothing happens."""

    one: float  # of a single reading
    lengths: Floats
    errors: Floats
    alike: float  # how many readings stand for one
    blocks: float  # readings that count as independent
    means: float  # the same for means over `_LONG` and more, in which a few far ones weigh less
    shortest: int = 1  # readings of a stretch: shorter ones stand out everywhere
    most: float = (
        math.inf
    )  # watts that single readings are off by again and again: what is more was cut off

    def mean_error(self, length: float) -> float:
        """The error of a mean over so many readings."""
        return float(self.over(length))

    def over(self, lengths: npt.ArrayLike) -> Floats:
        """The same for many lengths."""
        return np.asarray(
            np.exp(np.interp(np.log(lengths), np.log(self.lengths), np.log(self.errors)))
        )


def noise_of(values: Floats, floor: float, together: float = 1.0) -> Noise:
    """Learnt from readings that are taken to hold no stretch: how means over more and more of them
    scatter.

    `together`: how many readings tell of the same moment, as running means do.
    """
    count = len(values)
    one = max(_scatter(values), floor)
    lengths, errors, alike = [1.0], [one], 1.0
    length = 2
    sums = np.concatenate([[0.0], np.cumsum(values)])
    while 8 * length <= count:
        means = (sums[length:] - sums[:-length]) / length
        errors.append(
            max(
                _scatter(means),
                one / math.sqrt(length),
                0.9 * errors[-1] * math.sqrt(lengths[-1] / length),
            )
        )
        lengths.append(float(length))
        if length <= max(_LONG, 2.5 * together):
            alike = max(alike, length * (errors[-1] / one) ** 2)
        length = math.ceil(length * 1.5)
    for more in (
        4.0,
        64.0,
        4096.0,
    ):  # of longer stretches there are too few to learn from: drifts may go on
        lengths.append(lengths[-1] * more)
        errors.append(errors[-1] * more**-0.25)
    # A few far readings make means over eight scatter more than single ones: that is no memory of
    # more than these eight.
    memory = min(alike, max(_LONG, 2.5 * together))
    return Noise(
        one,
        np.array(lengths),
        np.array(errors),
        alike,
        max(count / alike, 2.0),
        max(count / memory, 2.0),
    )


def spread(values: Floats) -> float:
    """The median deviation, as that of a normal distribution."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


def centre(residual: Floats, doubt: Floats) -> float:
    """Where the residuals' means lie, as a rule: of a fast sensor the single ones are skewed, for
    its windows and the work's edges never quite meet, and a stretch is a mean.
    """
    sure = residual[doubt <= 2 * float(np.percentile(doubt, 25)) + 1e-9]
    size = max(1, len(sure) // _BLOCKS)
    count = len(sure) // size
    return (
        float(np.median(sure[: count * size].reshape(count, size).mean(axis=1))) if count else 0.0
    )


def _scatter(values: Floats) -> float:
    """Robust deviation: the larger of the median one and that of the inner nine tenths (a few
    median ones come out small).
    """
    if not len(values):
        return 0.0
    inner = np.sort(np.abs(values - np.median(values)))[: max(1, len(values) * 9 // 10)]
    return max(spread(values), 1.26 * float(np.sqrt((inner**2).mean())))


def _chance(score: float, freedom: float, blocks: float) -> float:
    """The chance of such a score among all stretches of so many independent readings: Student's t
    (Wallace's approximation); of n readings about 2 n log n stretches count as different.
    """
    normal = (
        (8 * freedom + 1)
        / (8 * freedom + 3)
        * math.sqrt(freedom * math.log1p(score * score / freedom))
    )
    return min(1.0, 2 * blocks * max(1.0, math.log(blocks)) * math.erfc(normal / math.sqrt(2)))


def ordinary(beyond: Floats, doubt: Floats, free: Bools, floor: float) -> Floats:
    """The readings that noise may be learnt from: those of which enough is known, and the far ones
    only where they are many.
    """
    values, known = beyond[free], doubt[free]
    if not len(values):
        return values
    sure = values[known <= max(floor, 2 * float(np.percentile(known, 25)))]
    near = np.abs(sure - np.median(sure)) <= 6 * max(spread(sure), floor)
    return np.asarray(sure if near.mean() < _NEAR else sure[near])


def certainty(
    beyond: Floats, weight: Floats, shared: float, noise: Noise, floor: float
) -> tuple[float, float]:
    """How many errors a stretch of readings lies off, and how often noise alone would show such a
    stretch anywhere.

    `shared`: by how much the expectation of their weighted mean may be off.
    """
    mean = float(weight @ beyond / weight.sum())
    random = noise.mean_error(len(beyond))
    size = abs(mean)
    if (
        len(beyond) >= _MANY
    ):  # a load lifts all readings of a stretch; what lifts the mean alone is noise with tails
        size = min(size, max(1.25 * math.copysign(1.0, mean) * float(np.median(beyond)), 0.0))
    score = size / math.hypot(random, shared)
    # The noise was learnt from few readings (but rounding is known); doubts are no sample of
    # anything.
    learnt = max(random**2 - floor**2 / len(beyond), 0.0)
    total = random**2 + shared**2
    blocks = noise.means if len(beyond) >= _LONG else noise.blocks
    freedom = total**2 / max(
        learnt**2 / max(blocks - 2, 1.0) + (total - learnt) ** 2 / _KNOWN, 1e-300
    )
    return score, _chance(score, freedom, blocks)

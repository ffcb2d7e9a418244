"""Stretches of a series whose mean differs from the rest by more than the series' own noise
explains.

All stretches are looked at, and that is paid for: a stretch counts when no stretch like it turns up
in resampled noise of the same series, and when Student's t with a Bonferroni bound agrees.
Neighbouring values may be alike; noise is learnt and resampled in blocks as long as that lasts.
"""

from __future__ import annotations

import math

import numpy as np

from powertui.data import wire
from powertui.data.energy import settings
from powertui.data.energy.robust_stats import INNER_TO_SIGMA, MEDIAN_TO_SIGMA
from powertui.data.model import Bools, Floats
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# ── when a stretch counts ──
_FALSE_ALARM_CHANCE = 0.01  # that noise of one series is taken for a stretch
# The same by Student's t, where noise was learned without further stretches: that costs certainty.
_STRICT_ALARM_CHANCE = _FALSE_ALARM_CHANCE / 20
# Errors below which nothing is drawn: 1 in 400 values of normal noise is as large by itself.
_MIN_ERRORS = settings.ORDINARY_SIGMAS
_MIN_FLOORS = 2  # times the smallest difference that matters
# A stretch with this share of the first one's strength is not taken for noise. Chosen: a weaker one
# does not hide the first.
_RIVAL_STRENGTH = 0.4

# ── how much is looked at ──
_MAX_STRETCHES = 8  # of one series
_DRAWS = 400  # of resampled noise: enough to tell 1 in 100 …
_BATCH_DRAWS = 50  # … in batches of this many
_MAX_BINS = 256  # of a series: a bound of time
_MIN_COLUMNS = settings.MIN_SAMPLE_VALUES
_MIN_BLOCKS = settings.MIN_REPEATS  # independent stretches of a series

# ── noise ──
# Of neighbors: less is chance in a series of a hundred values.
_MIN_CORRELATION = settings.MINOR_SHARE


@dataclass(frozen=True)
class ScannedStretch:
    first: int  # columns, the second one past the end
    last: int
    mean: float
    error: float
    p: float
    blocks: float  # independent stretches of the series: what the noise was learnt from


class _Scale(NamedTuple):
    """In which pieces a series is looked at, and what matters in it."""

    block: int  # columns that are known to be alike
    size: int  # columns of a bin
    least_bins: int  # of a stretch
    floor: float  # an error is never smaller
    looks: int  # series that are looked at: each is one more chance of a false alarm


class _Candidate(NamedTuple):
    """A stretch that may be one: columns, what it differs by, and what is left without it."""

    first: int
    last: int
    mean: float
    height: float
    rest: Floats

    @property
    def length(self) -> int:
        return self.last - self.first


def stretches(
    difference: Floats,
    usable: Bools,
    block: int,
    least: int,
    floor: float,
    looks: int,
    rng: np.random.Generator,
) -> list[ScannedStretch]:
    """Stretches whose mean differs from the rest by more than noise, most certain first."""
    columns = np.flatnonzero(usable)
    least_columns = max(_MIN_COLUMNS, _MIN_BLOCKS * block)
    if len(columns) < max(least_columns, 2 * least):
        return []
    values = difference[columns]
    size = max(1, int(np.ceil(len(values) / _MAX_BINS)))
    scale = _Scale(
        block=block,
        size=size,
        least_bins=max(1, int(np.ceil(least / size))),
        floor=floor,
        looks=looks,
    )
    is_used = np.zeros(len(values), np.bool_)
    results: list[ScannedStretch] = []
    for _ in range(_MAX_STRETCHES):
        stretch = _next_stretch(values, is_used, scale)
        if stretch is None:
            break
        trial = _trial_with_rivals(stretch, scale, rng)
        if trial is None:
            break
        is_used[stretch.first : stretch.last] = True
        results.append(
            ScannedStretch(
                first=int(columns[stretch.first]),
                last=int(columns[stretch.last - 1]) + 1,
                mean=stretch.mean,
                error=trial.error,
                p=trial.p,
                blocks=trial.blocks,
            )
        )
        if (~is_used).sum() < least_columns:
            break
    return results


def _next_stretch(values: Floats, is_used: Bools, scale: _Scale) -> _Candidate | None:
    """The strongest stretch of what is not used yet; None where it is too small to matter."""
    level = np.median(values[~is_used])
    flat = np.where(is_used, 0.0, values - level)
    bins = _binned(flat, scale.size)
    first, last = _largest(bins, scale.least_bins, scale.size, len(values))
    if last <= first or is_used[first:last].any():
        return None
    first, last = _sharpen(flat, first, last, scale)
    is_inside = np.zeros(len(values), np.bool_)
    is_inside[first:last] = True
    usual = float(np.median(values[~is_used & ~is_inside]))
    mean = float(values[is_inside].mean())
    height = abs(mean - usual)
    matters = min(height, abs(mean)) >= _MIN_FLOORS * scale.floor
    points_to_its_side = mean * (mean - usual) >= 0
    if not (matters and points_to_its_side):
        return None
    explained = np.where(is_inside, mean, usual)
    rest = np.where(is_used, 0.0, values - explained)
    return _Candidate(first=first, last=last, mean=mean, height=height, rest=rest)


class _Trial(NamedTuple):
    error: float
    p: float
    tail: float
    blocks: float


def _trial_with_rivals(
    stretch: _Candidate, scale: _Scale, rng: np.random.Generator
) -> _Trial | None:
    """How sure a stretch is; None where noise explains it.

    Two stretches in one epoch hide each other as noise. Taking both out of it has its price in
    certainty.
    """
    trial = _trial(stretch, scale, rng)
    if trial.p <= _FALSE_ALARM_CHANCE:
        return trial
    strength = stretch.height * float(np.sqrt(stretch.length))
    rest = _without_others(stretch.rest, strength, scale)
    trial = _trial(stretch._replace(rest=rest), scale, rng)
    if trial.p > _FALSE_ALARM_CHANCE or trial.tail > _STRICT_ALARM_CHANCE:
        return None
    return trial


def _trial(stretch: _Candidate, scale: _Scale, rng: np.random.Generator) -> _Trial:
    """How likely noise like the rest holds a stretch of this height and length anywhere."""
    rest = stretch.rest
    height = stretch.height
    memory = max(scale.block, _memory(rest))
    blocks = len(rest) / memory
    blocks_inside = max(1.0, stretch.length / memory)
    block_error = max(_noise(rest, memory), scale.floor)
    error = block_error / float(np.sqrt(blocks_inside))
    by_student = tail(height / error, blocks, scale.looks)
    if height < _MIN_ERRORS * error:
        p = 1.0
    elif by_student > _FALSE_ALARM_CHANCE:  # whatever resampled noise says
        p = by_student
    else:
        score = height * float(np.sqrt(stretch.length / scale.size))
        enough = _FALSE_ALARM_CHANCE / scale.looks
        by_noise = scale.looks * _chance(
            rest=rest,
            score=score,
            block=memory,
            scale=scale,
            rng=rng,
            enough=enough,
        )
        p = max(by_student, min(1.0, by_noise))
    return _Trial(error=error, p=p, tail=by_student, blocks=blocks)


def _without_others(rest: Floats, strength: float, scale: _Scale) -> Floats:
    """What is left as noise: without further stretches nearly as strong, which would hide each
    other as noise.
    """
    for _ in range(2):
        bins = _binned(rest, scale.size)
        first, last = _largest(bins, scale.least_bins, scale.size, len(rest))
        if last <= first:
            break
        first, last = _sharpen(rest, first, last, scale)
        mean = float(rest[first:last].mean())
        if abs(mean) * np.sqrt(last - first) < _RIVAL_STRENGTH * strength:
            break
        rest = rest.copy()
        rest[first:last] -= mean
        rest -= np.median(rest)
    return rest


def tail(score: float, blocks: float, looks: int) -> float:
    """The chance of such a score, in errors, among all stretches of so many independent blocks,
    looked at so often.

    Student's t, because the noise was learnt from few blocks (Wallace's approximation); stretches
    overlap, so that of n blocks about 2 n log n count as different.
    """
    freedom = max(blocks - 2, 1.0)
    correction = (8 * freedom + 1) / (8 * freedom + 3)
    normal = correction * math.sqrt(freedom * math.log1p(score * score / freedom))
    both_tails = math.erfc(normal / math.sqrt(2))
    return min(1.0, looks * 2 * blocks * max(1.0, math.log(blocks)) * both_tails)


def _memory(values: Floats) -> int:
    """Over how many steps neighbors are alike: the sum of their correlations, as long as they are
    any.
    """
    centred = values - values.mean()
    variation = float(centred @ centred)
    if variation <= 0:
        return 1
    total = 1.0
    for lag in range(1, max(2, len(values) // 8)):
        correlation = float(centred[:-lag] @ centred[lag:]) / variation
        if correlation < _MIN_CORRELATION:
            break
        total += 2 * correlation
    return int(np.ceil(total))


def _binned(values: Floats, size: int) -> Floats:
    if size == 1:
        return values
    missing = -len(values) % size
    padded = np.concatenate([values, np.full(missing, np.nan)]).reshape(-1, size)
    is_known = np.isfinite(padded)
    with np.errstate(invalid="ignore"):  # a bin of nothing
        mean = np.where(is_known, padded, 0.0).sum(axis=1) / is_known.sum(axis=1)
    return np.asarray(mean)


def _largest(bins: Floats, least: int, size: int, total: int) -> tuple[int, int]:
    """The stretch of bins with the largest |sum| / sqrt(length), as columns.

    It is never more than half of all.
    """
    sums = np.concatenate([[0.0], np.cumsum(bins)])
    longest = max(least, len(bins) // 2)
    first, length = wire.strongest(sums, least, longest)
    return first * size, min((first + length) * size, total)


def _sharpen(values: Floats, first: int, last: int, scale: _Scale) -> tuple[int, int]:
    """Ends to the very step: those that make the sum above half of the stretch's height largest."""
    quarter = (last - first) // 4
    height = float(np.median(values[first + quarter : last - quarter]))
    above_half = values - height / 2
    if height <= 0:
        above_half = -above_half
    sums = np.concatenate([[0.0], np.cumsum(above_half)])
    reach = scale.block + scale.size
    middle = (first + last) // 2
    # The sum falls up to the start of the stretch ...
    earliest = max(0, first - reach)
    latest = min(first + reach, middle)
    start = earliest + int(np.argmin(sums[earliest : latest + 1]))
    # ... and rises until its end.
    earliest = max(last - reach, middle + 1)
    latest = min(len(values), last + reach)
    end = earliest + int(np.argmax(sums[earliest : latest + 1]))
    shortest = max(1, scale.block // 2)
    if end - start < shortest:
        return first, last
    return start, end


def _noise(values: Floats, block: int) -> float:
    """Deviation of block means: what one independent sample of this series is uncertain by.

    The larger of two robust measures: the median deviation alone comes out too small in one of ten
    short series.
    """
    in_blocks = len(values) // block * block
    means = values[:in_blocks].reshape(-1, block).mean(axis=1) if in_blocks else values
    means = np.sort(means)
    median_deviation = float(np.median(np.abs(means - np.median(means))))
    cut = len(means) // 20
    if cut:
        spread = float(means[cut : len(means) - cut].std()) * INNER_TO_SIGMA
    else:
        spread = float(means.std())
    return max(MEDIAN_TO_SIGMA * median_deviation, spread)


def _chance(
    rest: Floats,
    score: float,
    block: int,
    scale: _Scale,
    rng: np.random.Generator,
    enough: float,
) -> float:
    """How often resampled noise holds a stretch as large anywhere.

    No more is drawn once that is more than `enough` for certain.
    """
    larger = drawn = 0
    if enough < 1 / (_DRAWS + 1):
        return 1.0
    noise = _Noise(rest, block, scale.size)
    while drawn < _DRAWS and (1 + larger) / (_DRAWS + 1) <= enough:
        larger += _as_large(noise.drawn(rng), scale.least_bins, score)
        drawn += _BATCH_DRAWS
    return (1 + larger) / (drawn + 1)


class _Noise:
    """What series of resampled noise are drawn from: blocks of one series, either way up."""

    def __init__(self, rest: Floats, block: int, size: int) -> None:
        self.count = len(rest)
        self.block = max(1, min(2 * block, self.count // 4))  # columns
        self.size = size  # columns of a bin
        self.bins = -(-self.count // size)
        circular = np.concatenate([rest, rest[: self.block - 1]])
        blocks = np.lib.stride_tricks.sliding_window_view(circular, self.block)
        # Whole blocks are taken, upside down or not: to index the view and to multiply took ten
        # times as long, in the innermost loop of all findings.
        self.blocks = np.concatenate([-blocks, blocks])

    def drawn(self, rng: np.random.Generator) -> Floats:
        """Some series [series, bins], as sums up to each bin."""
        shape = _BATCH_DRAWS, -(-self.count // self.block)
        starts = rng.integers(0, self.count, shape)
        is_upright = rng.integers(0, 2, shape)
        rows = self.blocks.take(starts + self.count * is_upright, axis=0)
        columns = rows.reshape(_BATCH_DRAWS, -1)[:, : self.count]
        sums = np.zeros((_BATCH_DRAWS, self.bins + 1))
        np.cumsum(self._bin_means(columns), axis=1, out=sums[:, 1:])
        return sums

    def _bin_means(self, columns: Floats) -> Floats:
        if self.size == 1:
            return columns
        padded = np.zeros((_BATCH_DRAWS, self.bins * self.size))
        padded[:, : self.count] = columns
        # Column after column of all bins: to sum each bin by itself takes three times as long.
        means: Floats = padded[:, :: self.size].copy()
        for column in range(1, self.size):
            means += padded[:, column :: self.size]
        means[:, :-1] /= self.size
        means[:, -1] /= self.count - (self.bins - 1) * self.size
        return means


def _as_large(sums: Floats, least: int, score: float) -> int:
    """How many of these series hold a stretch with such a |sum| / sqrt(length)."""
    longest = max(least, (sums.shape[1] - 1) // 2)
    longest = max(least, (sums.shape[1] - 1) // 2)
    return wire.reaching(sums, least, longest, score)

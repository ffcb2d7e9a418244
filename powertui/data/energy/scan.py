"""Stretches of a series whose mean differs from the rest by more than the series' own noise
explains.

All stretches are looked at, and that is paid for: a stretch counts when no stretch like it turns up
in resampled noise of the same series, and when Student's t with a Bonferroni bound agrees.
Neighbouring values may be alike; noise is learnt and resampled in blocks as long as that lasts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from powertui.data.model import Bools, Floats
from powertui.value_types import dataclass

_FALSE_ALARM_CHANCE = 0.01  # that noise of one series is taken for a stretch
_MAX_STRETCHES = 8  # of one series
_DRAWS = 400  # of resampled noise: enough to tell 1 in 100 …
_BATCH_DRAWS = 50  # … in batches of this many
# A stretch with this share of the first one's strength is not taken for noise. Chosen, not
# measured.
_RIVAL_STRENGTH = 0.4
_MAX_BINS = 256  # of a series: a bound of time
_PRUNE_EVERY = 4  # lengths, after which series that can hold no longer stretch are left out


@dataclass(frozen=True)
class ScannedStretch:
    first: int  # columns, the second one past the end
    last: int
    mean: float
    error: float
    p: float
    blocks: float  # independent stretches of the series: what the noise was learnt from


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
    if len(columns) < max(8, 3 * block, 2 * least):
        return []
    values = difference[columns]
    size = max(1, int(np.ceil(len(values) / _MAX_BINS)))
    bins = max(1, int(np.ceil(least / size)))
    is_used = np.zeros(len(values), np.bool_)
    results: list[ScannedStretch] = []
    for _ in range(_MAX_STRETCHES):
        flat = np.where(is_used, 0.0, values - np.median(values[~is_used]))
        first, last = _largest(_binned(flat, size), bins, size, len(values))
        if last <= first or is_used[first:last].any():
            break
        first, last = _sharpen(flat, first, last, block, size)
        inside = np.zeros(len(values), np.bool_)
        inside[first:last] = True
        usual = float(np.median(values[~is_used & ~inside]))
        mean = float(values[inside].mean())
        rest = np.where(is_used, 0.0, values - np.where(inside, mean, usual))
        height, length = abs(mean - usual), last - first
        if min(height, abs(mean)) < 2 * floor or mean * (mean - usual) < 0:
            break
        trial = _trial(rest, height, length, block, size, bins, floor, looks, rng)
        if trial.p > _FALSE_ALARM_CHANCE:
            # Two stretches in one epoch hide each other as noise. Taking both out of it has its
            # price in certainty.
            rest = _without_others(rest, height * float(np.sqrt(length)), block, bins, size)
            trial = _trial(rest, height, length, block, size, bins, floor, looks, rng)
            if trial.p > _FALSE_ALARM_CHANCE or trial.tail > _FALSE_ALARM_CHANCE / 20:
                break
        is_used |= inside
        results.append(
            ScannedStretch(
                int(columns[first]),
                int(columns[last - 1]) + 1,
                mean,
                trial.error,
                trial.p,
                trial.blocks,
            )
        )
        if (~is_used).sum() < max(8, 3 * block):
            break
    return results


class _Trial(NamedTuple):
    error: float
    p: float
    tail: float
    blocks: float


def _trial(
    rest: Floats,
    height: float,
    length: int,
    block: int,
    size: int,
    bins: int,
    floor: float,
    looks: int,
    rng: np.random.Generator,
) -> _Trial:
    """How likely noise like `rest` holds a stretch of this height and length anywhere."""
    memory = max(block, _memory(rest))
    error = max(_noise(rest, memory), floor) / float(np.sqrt(max(1.0, length / memory)))
    blocks = len(rest) / memory
    far = tail(height / error, blocks, looks)
    if height < 3 * error:
        return _Trial(error, 1.0, far, blocks)
    if far > _FALSE_ALARM_CHANCE:  # whatever resampled noise says
        return _Trial(error, far, far, blocks)
    drawn = looks * _chance(
        rest,
        height * float(np.sqrt(length / size)),
        memory,
        size,
        bins,
        rng,
        _FALSE_ALARM_CHANCE / looks,
    )
    return _Trial(error, max(far, min(1.0, drawn)), far, blocks)


def _without_others(rest: Floats, score: float, block: int, bins: int, size: int) -> Floats:
    """What is left as noise: without further stretches nearly as strong, which would hide each
    other as noise.
    """
    for _ in range(2):
        first, last = _largest(_binned(rest, size), bins, size, len(rest))
        if last <= first:
            break
        first, last = _sharpen(rest, first, last, block, size)
        mean = float(rest[first:last].mean())
        if abs(mean) * np.sqrt(last - first) < _RIVAL_STRENGTH * score:
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
    normal = (
        (8 * freedom + 1)
        / (8 * freedom + 3)
        * math.sqrt(freedom * math.log1p(score * score / freedom))
    )
    return min(
        1.0, looks * 2 * blocks * max(1.0, math.log(blocks)) * math.erfc(normal / math.sqrt(2))
    )


def _memory(values: Floats) -> int:
    """Over how many steps neighbours are alike: the sum of their correlations, as long as they are
    any.
    """
    centred = values - values.mean()
    power = float(centred @ centred)
    if power <= 0:
        return 1
    total = 1.0
    for lag in range(1, max(2, len(values) // 8)):
        alike = float(centred[:-lag] @ centred[lag:]) / power
        if alike < 0.1:
            break
        total += 2 * alike
    return int(np.ceil(total))


def _binned(values: Floats, size: int) -> Floats:
    if size == 1:
        return values
    pad = -len(values) % size
    padded = np.concatenate([values, np.full(pad, np.nan)]).reshape(-1, size)
    is_known = np.isfinite(padded)
    with np.errstate(invalid="ignore"):  # a bin of nothing
        return np.asarray(np.where(is_known, padded, 0.0).sum(axis=1) / is_known.sum(axis=1))


def _largest(bins: Floats, least: int, size: int, total: int) -> tuple[int, int]:
    """The stretch of bins with the largest |sum| / sqrt(length), as columns.

    It is never more than half of all.
    """
    sums = np.concatenate([[0.0], np.cumsum(bins)])
    best_score, best = 0.0, (0, 0)
    longest = max(least, len(bins) // 2)
    for length in range(least, longest + 1):
        if length >= len(sums):
            break
        score = np.abs(sums[length:] - sums[:-length]) / np.sqrt(length)
        first = int(np.argmax(score))
        if score[first] > best_score:
            best_score = float(score[first])
            best = first, first + length
    return best[0] * size, min(best[1] * size, total)


def _sharpen(values: Floats, first: int, last: int, block: int, size: int) -> tuple[int, int]:
    """Ends to the very step: those that make the sum above half of the stretch's height largest."""
    quarter = (last - first) // 4
    height = float(np.median(values[first + quarter : last - quarter]))
    above_half = values - height / 2 if height > 0 else -values + height / 2
    sums = np.concatenate([[0.0], np.cumsum(above_half)])
    reach = block + size
    middle = (first + last) // 2
    # The sum falls up to the start of the stretch and rises until its end.
    begin, end = max(0, first - reach), min(first + reach, middle)
    low = begin + int(np.argmin(sums[begin : end + 1]))
    begin, end = max(last - reach, middle + 1), min(len(values), last + reach)
    high = begin + int(np.argmax(sums[begin : end + 1]))
    if high - low < max(1, block // 2):
        return first, last
    return low, high


def _noise(values: Floats, block: int) -> float:
    """Deviation of block means: what one independent sample of this series is uncertain by.

    The larger of two robust measures: the median deviation alone comes out too small in one of ten
    short series.
    """
    in_blocks = len(values) // block * block
    means = (
        np.sort(values[:in_blocks].reshape(-1, block).mean(axis=1))
        if in_blocks
        else np.sort(values)
    )
    cut = len(means) // 20
    inner = means[cut : len(means) - cut] if cut else means
    spread = float(inner.std()) * (
        1.26 if cut else 1.0
    )  # 1.26: a normal distribution without its outer tenth
    return max(1.4826 * float(np.median(np.abs(means - np.median(means)))), spread)


def _chance(
    rest: Floats,
    score: float,
    block: int,
    size: int,
    least: int,
    rng: np.random.Generator,
    enough: float,
) -> float:
    """How often resampled noise holds a stretch as large anywhere.

    No more is drawn once that is more than `enough` for certain.
    """
    larger = drawn = 0
    while drawn < _DRAWS and (1 + larger) / (_DRAWS + 1) <= enough:
        larger += _as_large(_resampled(rest, block, size, rng), least, score)
        drawn += _BATCH_DRAWS
    return (1 + larger) / (drawn + 1)


def _resampled(rest: Floats, block: int, size: int, rng: np.random.Generator) -> Floats:
    """Some series of resampled noise [series, bins], as sums up to each bin."""
    count = len(rest)
    length = max(1, min(2 * block, count // 4))
    starts = rng.integers(0, count, (_BATCH_DRAWS, -(-count // length)))
    signs = rng.choice([-1.0, 1.0], (_BATCH_DRAWS, starts.shape[1]))
    blocks = np.lib.stride_tricks.sliding_window_view(
        np.concatenate([rest, rest[: length - 1]]), length
    )
    drawn = (blocks[starts] * signs[..., None]).reshape(_BATCH_DRAWS, -1)[:, :count]
    if size > 1:
        pad = -count % size
        bin_lengths = np.full(-(-count // size), float(size))
        bin_lengths[-1] -= pad
        drawn = (
            np.pad(drawn, ((0, 0), (0, pad))).reshape(_BATCH_DRAWS, -1, size).sum(axis=2)
            / bin_lengths
        )
    return np.concatenate([np.zeros((_BATCH_DRAWS, 1)), np.cumsum(drawn, axis=1)], axis=1)


def _as_large(sums: Floats, least: int, score: float) -> int:
    """How many of these series hold a stretch with such a |sum| / sqrt(length)."""
    most, larger, span = max(least, (sums.shape[1] - 1) // 2), 0, least
    wide = np.ptp(sums, axis=1)  # no stretch adds up to more than its series' sums range over
    while span <= most and len(sums):
        if span % _PRUNE_EVERY == 0:
            open_ = wide >= score * math.sqrt(span) * (1 - 1e-9)
            sums, wide = sums[open_], wide[open_]
        reached = np.abs(sums[:, span:] - sums[:, :-span]).max(axis=1) / np.sqrt(span) >= score
        if reached.any():
            larger += int(reached.sum())
            sums, wide = sums[~reached], wide[~reached]
        span += 1
    return larger

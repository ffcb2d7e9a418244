"""When a log's power jumps from one level to another, on the log's own clock.

At a jump the mean of the readings after a moment differs from the mean of those before it by far
more than it usually does. Means of several lengths are tried: a short dip shows in short ones only,
a step among noisy readings in long ones only. Noise is learned from the smaller differences, so
that jumps do not count as noise themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.energy.samples import Samples
from powertui.data.model import Floats, Int64s
from powertui.value_types import dataclass

_MAX_READINGS = 20_000  # neighbors of a longer log are averaged: a bound of time
_MAX_JUMPS = 150  # the clearest ones; more add time and hardly any evidence
_MEAN_LENGTHS = (1, 2, 4, 8, 16, 32)  # readings on either side that are averaged
_MIN_READINGS = 8
_MEDIAN_TO_SIGMA = 1.4826  # of normally distributed values
# Of a 1 s sensor up to half of the differences contain an edge of epochs of 10 s, so that their
# median is no noise.
_QUIET_PERCENT = 30
_QUIET_TO_SIGMA = 1 / 0.385  # of normally distributed values
# A jump exceeds its noise so many times. Chosen, not measured.
_MIN_NOISE_TIMES = 6.0
# Of the log's swing: smaller jumps are those of single steps. Chosen, not measured.
_MIN_SWING_SHARE = 0.08
_MIN_QUANTA = 1.5  # a value that toggles between two steps of the sensor is no jump
_MIN_NOISE_SWING_SHARE = 0.004  # less noise than this only means that the sensor rounds
_LEVEL_READINGS = 4  # that give the level on either side of a jump
_SHORT_WINDOW_SHARE = 0.5  # a window shorter than this part of the pace hides where a jump is
# Scalars are written 5 to 26 ms after an epoch (13 epochs of five Keras trainings).
_MIN_SIGMA_S = 0.02
_MODEL_SIGMA_PACES = 0.08  # readings are late by chance; chosen, not measured
_UNIFORM_SIGMA = 12**-0.5  # standard error of a moment that is anywhere in an interval


@dataclass(frozen=True)
class PowerJumps:
    """Jumps by time: when (s, on the log's clock), how well that is known, and by how much."""

    at: Floats
    sigma_s: Floats
    watts: Floats  # negative: power falls

    def __len__(self) -> int:
        return len(self.at)

    def between(self, lo_s: float, hi_s: float) -> PowerJumps:
        """Those from `lo_s` to `hi_s`."""
        rows = (self.at >= lo_s) & (self.at <= hi_s)
        return PowerJumps(self.at[rows], self.sigma_s[rows], self.watts[rows])


_NO_JUMPS = PowerJumps(np.empty(0), np.empty(0), np.empty(0))


class _Candidates(NamedTuple):
    """Readings at which power may jump, the clearest first."""

    row: Int64s
    length: Int64s  # readings of the means that show it

    def separated(self, least: int) -> Int64s:
        """The rows whose means contain no clearer jump, in order of time."""
        taken: list[int] = []
        near = np.empty(0)
        for row, length in zip(self.row.tolist(), self.length.tolist(), strict=True):
            if len(near) and np.abs(near - row).min() <= max(length, least):
                continue
            taken.append(row)
            near = np.array(taken)
            if len(taken) == _MAX_JUMPS:
                break
        return np.sort(np.array(taken, np.int64))


def find_jumps(data: Samples, longest_mean_s: float) -> PowerJumps:
    """The jumps of a log. No mean is longer than `longest_mean_s`, a part of an epoch."""
    if len(data) > _MAX_READINGS:
        data = data.gathered(float(data.hi[-1] - data.lo[0]) / _MAX_READINGS)
    if len(data) < _MIN_READINGS:
        return _NO_JUMPS
    swing_w = float(np.ptp(np.percentile(data.watts, (2, 98))))
    if swing_w <= _MIN_QUANTA * data.quantum:
        return _NO_JUMPS
    pace = float(np.median(np.diff(data.hi)))
    window = float(np.median(data.hi - data.lo))
    # Readings beside a jump whose windows contain it, too: they belong to neither side.
    skipped = int(np.ceil(max(window / pace - 1, 0.0) / 2))
    candidates = _candidates(data, swing_w, skipped, longest_mean_s / pace)
    return _refined(data, candidates.separated(1 + skipped), pace, skipped)


def _candidates(data: Samples, swing_w: float, skipped: int, longest: float) -> _Candidates:
    total = np.concatenate([[0.0], np.cumsum(data.watts - data.watts[0])])
    least_w = max(_MIN_SWING_SHARE * swing_w, _MIN_QUANTA * data.quantum)
    rows, lengths, clearness = [], [], []
    for length in _MEAN_LENGTHS:
        row = np.arange(length + skipped, len(data) - length - skipped)
        if len(row) < _MIN_READINGS // 2 or (length > 1 and length > longest):
            break
        after = total[row + skipped + length + 1] - total[row + skipped + 1]
        before = total[row - skipped] - total[row - skipped - length]
        size = np.abs(after - before) / length
        floor = max(_MIN_NOISE_SWING_SHARE * swing_w, data.quantum / 12**0.5) / length**0.5
        noise = max(float(np.percentile(size, _QUIET_PERCENT)) * _QUIET_TO_SIGMA, floor)
        is_clear = (size > _MIN_NOISE_TIMES * noise) & (size > least_w)
        is_clear[1:] &= size[1:] >= size[:-1]
        is_clear[:-1] &= size[:-1] >= size[1:]
        rows.append(row[is_clear])
        lengths.append(np.full(int(is_clear.sum()), length))
        clearness.append(size[is_clear] / noise)
    if not rows:
        return _Candidates(np.empty(0, np.int64), np.empty(0, np.int64))
    order = np.argsort(-np.concatenate(clearness), kind="stable")
    return _Candidates(np.concatenate(rows)[order], np.concatenate(lengths)[order])


def _refined(data: Samples, rows: Int64s, pace: float, skipped: int) -> PowerJumps:
    """When exactly: what the readings in between have of both levels tells."""
    watts, noise_w = data.watts, _noise_w(data)
    at, sigma, jump_w = [], [], []
    for index, row in enumerate(rows.tolist()):
        first = max(row - skipped - _LEVEL_READINGS, 0)
        end = min(row + skipped + 1 + _LEVEL_READINGS, len(data))
        if index:
            first = max(first, min(int(rows[index - 1]) + 1, row - skipped - 1))
        if index + 1 < len(rows):
            end = min(end, max(int(rows[index + 1]), row + skipped + 2))
        before = float(np.median(watts[first : row - skipped]))
        after = float(np.median(watts[row + skipped + 1 : end]))
        step = after - before
        if not step:
            continue
        between = slice(row - skipped, row + skipped + 1)
        share_before = np.clip((after - watts[between]) / step, 0.0, 1.0)
        # Each of these readings stands for the time since the one before it.
        stands_for = np.diff(data.hi[row - skipped - 1 : row + skipped + 1])
        window_s = float(data.hi[row] - data.lo[row])
        begin = float(data.hi[row - skipped - 1]) - max(window_s - pace, 0.0) / 2
        at.append(begin + float((share_before * stands_for).sum()))
        rounded = noise_w * float(np.sqrt((stands_for**2).sum())) / abs(step)
        hidden = 0.0
        if window_s < _SHORT_WINDOW_SHARE * stands_for.max():
            hidden = _UNIFORM_SIGMA * float(stands_for.max())
        sigma.append(float(np.sqrt(rounded**2 + hidden**2 + (_MODEL_SIGMA_PACES * pace) ** 2)))
        jump_w.append(step)
    sigma_s = np.maximum(np.array(sigma), _MIN_SIGMA_S)
    return PowerJumps(np.array(at), sigma_s, np.array(jump_w))


def _noise_w(data: Samples) -> float:
    """The noise of one reading, rounding included."""
    differences = np.abs(np.diff(data.watts))
    measured = _MEDIAN_TO_SIGMA * float(np.median(differences)) / 2**0.5
    return max(measured, data.quantum / 12**0.5)

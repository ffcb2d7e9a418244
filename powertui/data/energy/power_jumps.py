"""When a log's power jumps from one level to another, on the log's own clock.

At a jump the mean of the readings after a moment differs from the mean of those before it by far
more than it usually does. Means of several lengths are tried: a short dip shows in short ones only,
a step among noisy readings in long ones only. Noise is learned from the smaller differences, so
that jumps do not count as noise themselves.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.robust_stats import MEDIAN_TO_SIGMA, rounding_sigma
from powertui.data.energy.samples import Samples, usual_pace_s, usual_window_s
from powertui.data.model import Bools, Floats, Int64s
from powertui.data.quantiles import median_of_column, percentile_of_column, percentiles_of_column
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# ── how much is looked at: bounds of time ──
_MAX_READINGS = 20_000  # neighbors of a longer log are averaged
_MAX_JUMPS = 150  # the clearest ones; more add time and hardly any evidence
_MEAN_LENGTHS = (1, 2, 4, 8, 16, 32)  # readings on either side that are averaged
_MIN_READINGS = settings.MIN_SAMPLE_VALUES
_LEVEL_READINGS = settings.MIN_SPREAD_VALUES  # that give the level on either side of a jump

# ── what is a jump ──
# Chosen: of 20,000 normally distributed differences none is as large by chance.
_MIN_NOISE_TIMES = settings.LARGEST_CHANCE_SIGMAS
# Chosen: below this share of the log's swing jumps are those of single steps.
_MIN_SWING_SHARE = 0.08
# A value that toggles between two steps of the sensor is no jump.
_MIN_QUANTA = settings.MORE_THAN_ONE

# ── noise ──
# Of a 1 s sensor up to half of the differences contain an edge of epochs of 10 s, so that their
# median is no noise.
_QUIET_PERCENT = 30
_QUIET_TO_SIGMA = 1 / 0.385  # of normally distributed values
_MIN_NOISE_SWING_SHARE = (
    settings.LEAST_NOISE_SHARE
)  # less noise than this only means that the sensor rounds

# ── when it was ──
# A window shorter than this part of the pace hides where a jump is.
_SHORT_WINDOW_SHARE = settings.MAJORITY_SHARE
# Scalars are written 5 to 26 ms after an epoch (13 epochs of five Keras trainings).
_MIN_SIGMA_S = 0.02
_MODEL_SIGMA_PACES = 0.08  # readings are late by chance. Chosen: no recording shows it by itself


@dataclass(frozen=True)
class PowerJumps:
    """Jumps by time: when (s, on the log's clock), how well that is known, and by how much."""

    at: Floats
    sigma_s: Floats
    watts: Floats  # negative: power falls

    def __len__(self) -> int:
        return len(self.at)

    def between(self, lo_s: float, hi_s: float) -> PowerJumps:
        """The jumps from `lo_s` to `hi_s`."""
        is_between = (self.at >= lo_s) & (self.at <= hi_s)
        return self.rows(np.flatnonzero(is_between))

    def rows(self, rows: Int64s) -> PowerJumps:
        """Some of them."""
        return PowerJumps(
            at=self.at[rows],
            sigma_s=self.sigma_s[rows],
            watts=self.watts[rows],
        )


_NO_JUMPS = PowerJumps(np.empty(0), np.empty(0), np.empty(0))


class _Candidates(NamedTuple):
    """Readings at which power may jump, the clearest first."""

    row: Int64s
    length: Int64s  # readings of the means that show it

    def separated(self, least: int) -> Int64s:
        """The rows whose means contain no clearer jump, in order of time."""
        chosen: list[int] = []
        clearer = np.empty(0)
        for row, length in zip(self.row.tolist(), self.length.tolist(), strict=True):
            if len(clearer):
                distance = np.abs(clearer - row).min()
                if distance <= max(length, least):
                    continue
            chosen.append(row)
            clearer = np.array(chosen)
            if len(chosen) == _MAX_JUMPS:
                break
        return np.sort(np.array(chosen, np.int64))


def find_jumps(data: Samples, longest_mean_s: float) -> PowerJumps:
    """The jumps of a log. No mean is longer than `longest_mean_s`, a part of an epoch."""
    if len(data) > _MAX_READINGS:
        length_s = float(data.hi[-1] - data.lo[0])
        data = data.gathered(length_s / _MAX_READINGS)
    if len(data) < _MIN_READINGS:
        return _NO_JUMPS
    low_w, high_w = percentiles_of_column(data.watts, (2, 98))
    swing_w = float(high_w - low_w)
    if swing_w <= _MIN_QUANTA * data.quantum:
        return _NO_JUMPS
    pace = usual_pace_s(data, single=0.0)
    skipped = _skipped_readings(data, pace)
    candidates = _candidates(data, swing_w, skipped, longest_mean_s / pace)
    rows = candidates.separated(1 + skipped)
    return _refined(data, rows, pace, skipped)


def _skipped_readings(data: Samples, pace: float) -> int:
    """Readings beside a jump whose windows contain it, too: they belong to neither side.

    Polls of a held value are nearer to one another than its publications, now and then, and both
    are known to a few percent only: windows that seem longer by so little do not overlap.
    """
    windows = usual_window_s(data) / max(pace, data.refresh)
    overlap = max(windows - 1 - settings.SAME_LEVEL_SHARE, 0.0)
    return int(np.ceil(overlap / 2))


def _candidates(
    data: Samples,
    swing_w: float,
    skipped: int,
    longest: float,
) -> _Candidates:
    """All readings at which means of some length differ clearly, and more than beside them."""
    above_first_w = data.watts - data.watts[0]
    total = np.concatenate([[0.0], np.cumsum(above_first_w)])
    limits = _jump_limits(data, swing_w)
    rows = [np.empty(0, np.int64)]
    lengths = [np.empty(0, np.int64)]
    clearness = [np.empty(0)]
    for length in _MEAN_LENGTHS:
        beside = length + skipped
        row = np.arange(beside, len(data) - beside)
        is_too_long = length > 1 and length > longest
        if len(row) < _MIN_READINGS // 2 or is_too_long:
            break
        height_w = _height_w(total, row, skipped, length)
        noise_w = limits.noise_w(height_w, length)
        is_clear = (height_w > _MIN_NOISE_TIMES * noise_w) & (height_w > limits.least_w)
        is_candidate = is_clear & is_local_maximum(height_w)
        candidate_rows = row[is_candidate]
        rows.append(candidate_rows)
        lengths.append(np.full(len(candidate_rows), length))
        clearness.append(height_w[is_candidate] / noise_w)
    row = np.concatenate(rows)
    length_of_row = np.concatenate(lengths)
    clearest_first = -np.concatenate(clearness)
    # The shortest means first: a longer one shows two steps in a row as one, somewhere between.
    order = np.lexsort((clearest_first, length_of_row))
    return _Candidates(row[order], length_of_row[order])


class _JumpLimits(NamedTuple):
    """What a difference of two means has to exceed."""

    least_w: float
    reading_noise_w: float  # of one reading, at the least

    def noise_w(self, height_w: Floats, length: int) -> float:
        """The noise of differences of means over so many readings: what the smaller ones show."""
        quiet_w = percentile_of_column(height_w, _QUIET_PERCENT) * _QUIET_TO_SIGMA
        averaged_w: float = self.reading_noise_w / length**0.5
        return max(quiet_w, averaged_w)


def _jump_limits(data: Samples, swing_w: float) -> _JumpLimits:
    least_w = max(
        _MIN_SWING_SHARE * swing_w,
        _MIN_QUANTA * data.quantum,
    )
    reading_noise_w = max(
        _MIN_NOISE_SWING_SHARE * swing_w,
        rounding_sigma(data.quantum),
    )
    return _JumpLimits(least_w, reading_noise_w)


def _height_w(
    total: Floats,
    row: Int64s,
    skipped: int,
    length: int,
) -> Floats:
    """By how much the means on either side of these readings differ; `total`: watts summed up."""
    after_begin = row + skipped + 1
    after_end = after_begin + length
    after = total[after_end] - total[after_begin]
    before_end = row - skipped
    before_begin = before_end - length
    before = total[before_end] - total[before_begin]
    height_w: Floats = np.abs(after - before) / length
    return height_w


def is_local_maximum(values: Floats) -> Bools:
    """Whether no value beside it is larger."""
    is_highest = np.ones(len(values), np.bool_)
    earlier = values[:-1]
    later = values[1:]
    is_highest[1:] &= later >= earlier
    is_highest[:-1] &= earlier >= later
    return is_highest


def _refined(
    data: Samples,
    rows: Int64s,
    pace: float,
    skipped: int,
) -> PowerJumps:
    """When exactly: a reading that contains the jump is a mean of both levels."""
    noise_w = _noise_w(data)
    at: list[float] = []
    sigma: list[float] = []
    jump_w: list[float] = []
    for index, row in enumerate(rows.tolist()):
        before_w, after_w = _levels_beside(data.watts, rows, index, skipped)
        step_w = after_w - before_w
        if not step_w:
            continue
        first = row - skipped
        end = row + skipped + 1
        parts_before = (after_w - data.watts[first:end]) / step_w
        share_before = np.clip(parts_before, 0.0, 1.0)
        # Each of these readings stands for the time since the one before it.
        stands_for_s = np.diff(data.hi[first - 1 : end])
        before_s = float((share_before * stands_for_s).sum())
        window_s = float(data.hi[row] - data.lo[row])
        overlap_s = max(window_s - pace, 0.0)
        begin = float(data.hi[first - 1]) - overlap_s / 2
        at.append(begin + before_s)
        jump_w.append(step_w)

        squares = (stands_for_s**2).sum()
        by_noise_s = noise_w * float(np.sqrt(squares)) / abs(step_w)
        longest_s = float(stands_for_s.max())
        hidden_s = _hidden_sigma_s(longest_s, window_s)
        model_s = _MODEL_SIGMA_PACES * pace
        variance = by_noise_s**2 + hidden_s**2 + model_s**2
        sigma.append(float(np.sqrt(variance)))
    jumps = PowerJumps(
        at=np.array(at),
        sigma_s=np.maximum(np.array(sigma), _MIN_SIGMA_S),
        watts=np.array(jump_w),
    )
    return _without_repeated(jumps)


def _without_repeated(jumps: PowerJumps) -> PowerJumps:
    """The jumps, each once: two readings before one step may both be put at its moment.

    A sensor cannot show two steps the same way that are nearer than either of them is known.
    """
    rows: list[int] = []
    for row in range(len(jumps)):
        if rows and _is_same_step(jumps, rows[-1], row):
            continue
        rows.append(row)
    return jumps.rows(np.array(rows, np.int64))


def _is_same_step(jumps: PowerJumps, first: int, second: int) -> bool:
    """Whether two jumps are nearer than they are known, and in the same direction."""
    pair = [first, second]
    error_s = float(jumps.sigma_s[pair].sum())
    apart_s = float(np.ptp(jumps.at[pair]))
    if apart_s >= error_s:
        return False
    first_w = float(jumps.watts[first])
    second_w = float(jumps.watts[second])
    return first_w * second_w > 0


def _hidden_sigma_s(longest_s: float, window_s: float) -> float:
    """What a short window hides of the moment: the jump was anywhere since the reading before."""
    if window_s < _SHORT_WINDOW_SHARE * longest_s:
        return rounding_sigma(longest_s)
    return 0.0


def _levels_beside(
    watts: Floats,
    rows: Int64s,
    index: int,
    skipped: int,
) -> tuple[float, float]:
    """Watts before and after a jump, from readings up to the jumps beside it."""
    row = int(rows[index])
    before_end = row - skipped
    after_begin = row + skipped + 1
    before_begin = max(before_end - _LEVEL_READINGS, 0)
    after_end = min(after_begin + _LEVEL_READINGS, len(watts))
    if index:
        after_last_jump = int(rows[index - 1]) + 1
        # One reading at least belongs to either level.
        nearest = min(after_last_jump, before_end - 1)
        before_begin = max(before_begin, nearest)
    if index + 1 < len(rows):
        next_jump = int(rows[index + 1])
        nearest = max(next_jump, after_begin + 1)
        after_end = min(after_end, nearest)
    before_w = median_of_column(watts[before_begin:before_end])
    after_w = median_of_column(watts[after_begin:after_end])
    return before_w, after_w


def _noise_w(data: Samples) -> float:
    """The noise of one reading, rounding included."""
    differences = np.abs(np.diff(data.watts))
    deviation_w = MEDIAN_TO_SIGMA * median_of_column(differences)
    return max(deviation_w / 2**0.5, rounding_sigma(data.quantum))

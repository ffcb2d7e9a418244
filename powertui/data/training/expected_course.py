"""What a sensor should have read of a training, by what its records say it did: steps, pauses,
validation; and by its other epochs.

Each kind has watts of its own, fitted robustly to the readings of the whole training: a burst in
one epoch hardly moves them. Where the epochs are all that is known, a reading is held against the
same share of the other epochs. What is not known is doubt: where between two records steps began,
how alike pauses are, where the log is placed.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings.reading_windows import WindowPrior
from powertui.data.energy.findings.readings import (
    ELSEWHERE_DOUBT_SHARE,
    MIN_INSIDE_SHARE,
    UNLIKE_SHARE,
    Expectation,
    SensorReadings,
    covered_share,
    unjudged_readings,
)
from powertui.data.energy.findings.residual_noise import calm
from powertui.data.energy.robust_stats import rounding_sigma, spread
from powertui.data.energy.samples import Samples, usual_pace_s
from powertui.data.model import NS_PER_S, Bools, Floats
from powertui.data.quantiles import median_of_column, percentile_of_column
from powertui.data.training.epoch_course import epoch_course, usual_length
from powertui.data.training.epoch_ends import EpochEnds, epoch_ends
from powertui.data.training.kind_levels import (
    CHUNK_READINGS,
    MIN_READINGS,
    kind_levels,
    levels_of_each,
)
from powertui.data.training.stretches import KINDS, PAUSE, STARTING, VALIDATION, Stretches
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# This and the others here are chosen, not measured.
# Readings' worth of a kind, from which on it has a level of its own.
_MIN_KIND_READINGS = settings.MAJORITY_SHARE
# Stretches of a kind: of fewer no median can be told.
_MIN_STRETCHES = settings.MIN_SPREAD_VALUES
# Kinds of which one stretch may draw more than another.
_LOOSE_KINDS = (VALIDATION, PAUSE, STARTING)
# What is around the ends of epochs, where nothing but the readings tells.
_ENDS = "ends of epochs"
# Of the swing: how well the level of a kind is known at best.
_MIN_LEVEL_ERROR = settings.NEGLIGIBLE_SHARE
# Starting is over when so many readings, and readings of so many seconds, are at the level: no
# farther from it than so many deviations.
_SETTLED_READINGS = settings.MIN_REPEATS
_SETTLED_S = 2.0
_SETTLED_DEVIATIONS = settings.ORDINARY_SIGMAS
_DRIFT_S = settings.DRIFT_S  # warmth and fans: a level is that of so long around it
_MAX_DRIFT_BLOCKS = 200  # of a training, however long it is
_MIN_DRIFT_BLOCKS = settings.MIN_REPEATS  # with fewer, a load of some length would be a drift

# Of an epoch: one that is read less shows nothing of how epochs go. Chosen, not measured.
_MIN_READ_SHARE = settings.MAJORITY_SHARE

_Spans = tuple[tuple[float, float], ...]  # s


@dataclass(frozen=True, eq=False)
class KnownCourse:
    """What is known of a training's course, on the axis of the readings (s)."""

    stretches: Stretches
    zero_ns: int
    epochs: _Spans  # with both bounds
    by_steps: bool  # records tell steps from pauses
    islands: _Spans  # where a trace explains, and not this


class _Fit(NamedTuple):
    """The level of each kind."""

    kinds: list[str]  # by the records
    levels: Floats  # W, of these and, as the last one, of what is around the ends of epochs
    expected: Floats  # W, of each reading
    low: float  # the least that the machine ever drew, W
    swing: float  # from there to its usual work, W
    ends: EpochEnds | None

    @property
    def watts(self) -> tuple[tuple[str, float], ...]:
        if self.ends is None:
            kinds = self.kinds
        else:
            kinds = [*self.kinds, _ENDS]
        return tuple(zip(kinds, self.levels.tolist(), strict=True))


def expected_course(data: Samples, course: KnownCourse, unsure: WindowPrior) -> Expectation:
    """Every reading; `data` is on the axis already, and `unsure` says how well its windows are
    known.
    """
    shares = _shares(data.lo, data.hi, course)
    good = np.isfinite(data.watts) & (data.watts > 0)
    judged = good & _judged_windows(data, course, shares)
    reason = _reason_for_nothing(course, data, judged)
    if reason:
        return Expectation(
            readings=unjudged_readings(data, data.lo, data.hi),
            watts=(),
            reason=reason,
        )
    fit = _fit(
        data=data,
        course=course,
        shares=shares,
        good=good,
        judged=judged,
    )
    doubt = _Doubts(data, course, unsure, fit).all(shares)
    residual = np.where(good, data.watts - fit.expected, 0.0)
    # Where nothing within an epoch is known, what is slower than two of them is drift, and all else
    # their course.
    shortest_drift_s = 0.0
    if not course.by_steps:
        lengths = [end - start for start, end in course.epochs]
        shortest_drift_s = 2 * median_of_column(lengths)
        starting = _starting_share(data, residual, course.epochs)
        doubt = np.hypot(doubt, UNLIKE_SHARE * fit.swing * starting)
    drift = _drift(data, residual, judged, shortest_drift_s)
    floor = fit.expected + drift
    ceiling = floor
    if len(course.epochs) >= 2:
        others = epoch_course(data, residual - drift, judged, course.epochs)
        ceiling = floor + others.most
        floor = floor + others.least
        doubt = np.hypot(doubt, others.doubt)
    readings = SensorReadings(
        lo=data.lo,
        hi=data.hi,
        watts=np.where(good, data.watts, np.nan),
        floor=np.where(judged, floor, fit.low),
        ceiling=np.where(judged, ceiling, np.inf),
        doubt=np.where(judged, doubt, ELSEWHERE_DOUBT_SHARE * fit.swing),
        judged=judged,
        quantum=data.quantum,
    )
    return Expectation(readings=readings, watts=fit.watts, place_s=unsure.place)


def _judged_windows(data: Samples, course: KnownCourse, shares: Floats) -> Bools:
    """Windows in the training, without those that only contain its start, or that a trace
    explains.
    """
    in_training = shares.sum(axis=1) >= MIN_INSIDE_SHARE
    starting_share = shares[:, KINDS.index(STARTING)]
    is_starting = starting_share >= 1 - MIN_INSIDE_SHARE
    is_covered = _covered(data, course.islands)
    return np.asarray(in_training & ~is_starting & ~is_covered)


def _reason_for_nothing(course: KnownCourse, data: Samples, judged: Bools) -> str:
    """Why nothing can be expected; empty where something can."""
    judged_count = int(judged.sum())
    if judged_count < MIN_READINGS:
        return f"too few readings of the power log are in the training ({judged_count})"
    if course.by_steps:
        return ""
    if len(course.epochs) < 2:
        return "one epoch, and no records within it: there is nothing to compare its power with"
    if _read_epochs(course, data) < 2:
        return "one epoch of the power log, and no records within it: there is none to compare with"
    return ""


def _read_epochs(course: KnownCourse, data: Samples) -> int:
    """How many epochs are mostly within the log."""
    log_start = float(data.lo[0])
    log_end = float(data.hi[-1])
    count = 0
    for start, end in course.epochs:
        read_s = min(log_end, end) - max(log_start, start)
        if read_s >= _MIN_READ_SHARE * (end - start):
            count += 1
    return count


def _fit(
    data: Samples,
    course: KnownCourse,
    shares: Floats,
    good: Bools,
    judged: Bools,
) -> _Fit:
    """The watts of each kind, and what they let one expect of each reading."""
    kinds = []
    kind_columns = []
    for column, kind in enumerate(KINDS):
        if shares[judged, column].sum() > _MIN_KIND_READINGS:
            kinds.append(kind)
            kind_columns.append(column)
    columns = shares[:, kind_columns]
    watts = data.watts[judged]
    low = percentile_of_column(data.watts[good], 3)
    ends = None
    if not course.by_steps:
        ends = _ends(data, judged, course, low)
    if ends is not None:
        share = ends.share(data.lo, data.hi, course.epochs)
        outside_ends = columns * (1 - share)[:, None]
        columns = np.column_stack([*outside_ends.T, share])
    levels = kind_levels(columns[judged], watts, low, data.quantum)
    high = percentile_of_column(watts, 90)
    return _Fit(
        kinds=kinds,
        levels=levels,
        expected=columns @ levels,
        low=low,
        swing=max(high - low, settings.SLIGHT_SHARE * low, data.quantum),
        ends=ends,
    )


def _ends(data: Samples, judged: Bools, course: KnownCourse, low: float) -> EpochEnds | None:
    """For how long around its end an epoch does not train, as the readings show."""
    watts = data.watts[judged]

    def residuals(shares: Floats) -> Floats:
        columns = np.stack([1 - shares, shares], axis=2)
        levels = levels_of_each(columns, watts, low, data.quantum)
        return np.asarray(watts - (columns @ levels[..., None])[..., 0])

    return epoch_ends(
        data=data,
        judged=judged,
        epochs=course.epochs,
        usual_s=usual_length(course.epochs),
        without=watts - kind_levels(np.ones((len(watts), 1)), watts, low, data.quantum),
        fit=residuals,
    )


def _shares(lo: Floats, hi: Floats, course: KnownCourse) -> Floats:
    """[windows, kinds]: the share of each window (s) that each kind fills."""
    shares = np.empty((len(lo), len(KINDS)))
    for first in range(0, len(lo), CHUNK_READINGS):
        rows = slice(first, first + CHUNK_READINGS)
        lo_ns = np.round(lo[rows] * NS_PER_S).astype(np.int64)
        hi_ns = np.round(hi[rows] * NS_PER_S).astype(np.int64)
        shares[rows] = course.stretches.shares(course.zero_ns + lo_ns, course.zero_ns + hi_ns)
    return shares


def _covered(data: Samples, islands: _Spans) -> Bools:
    """Windows that are wholly in an island: there the trace shows more."""
    covered = np.zeros(len(data), np.bool_)
    for lo, hi in islands:
        covered |= (data.lo >= lo) & (data.hi <= hi)
    return covered


# ── doubt ────────────────────────────────────────────────────────────────────────────────────────


class _Doubts:
    """What is not known of the expectation, for each reading (W, one sigma)."""

    def __init__(
        self,
        data: Samples,
        course: KnownCourse,
        unsure: WindowPrior,
        fit: _Fit,
    ) -> None:
        self.data = data
        self.course = course
        self.unsure = unsure
        self.fit = fit
        self.levels = fit.levels[: len(fit.kinds)]  # of kinds by the records

    def all(self, shares: Floats) -> Floats:
        """All of it; `shares` of the kinds in each window."""
        data = self.data
        of_edges_and_kinds = self._of_loose_kinds(self._of_edges(), shares)
        doubt = np.hypot(of_edges_and_kinds, self._of_windows())
        ends = self.fit.ends
        if ends is None:
            return doubt
        unsure_share = ends.unsure(data.lo, data.hi, self.course.epochs)
        training_w = self.fit.levels[0]
        around_ends_w = self.fit.levels[-1]
        unlike_w = abs(float(around_ends_w - training_w))
        return np.hypot(doubt, unsure_share * unlike_w)

    def _of_edges(self) -> Floats:
        """An edge within reach of a window: what the power does there, times how much of the window
        may be on its other side.
        """
        data = self.data
        unsure = self.unsure
        length = np.maximum(data.hi - data.lo, 1e-9)
        doubt = np.full(len(data), _MIN_LEVEL_ERROR * self.fit.swing)
        edge_ns, half_ns = self.course.stretches.edges()
        edges = (edge_ns - self.course.zero_ns) / NS_PER_S
        place_s = np.hypot(unsure.place, data.late / 3**0.5)
        errors = np.hypot(half_ns / NS_PER_S, place_s)
        # Of the longest windows that they may have.
        longest = max(1 + unsure.window, unsure.longest)
        begins = data.hi - longest * length
        if len(self.levels) > 1:
            levels_w = self.levels.tolist()
            jump_w = max(levels_w) - min(levels_w)
        else:
            jump_w = 0.5 * self.fit.swing
        for edge, error in zip(edges.tolist(), errors.tolist(), strict=True):
            first = int(data.hi.searchsorted(edge - error))
            last = int(begins.searchsorted(edge + error))
            rows = slice(first, last)
            share = np.minimum(error / length[rows], 1.0)
            doubt[rows] = np.hypot(doubt[rows], jump_w * share)
        return doubt

    def _of_loose_kinds(self, doubt: Floats, shares: Floats) -> Floats:
        """With what kinds may draw that were seldom seen, or that differ from time to time."""
        unlike_w = UNLIKE_SHARE * self.fit.swing
        for kind in _LOOSE_KINDS:
            if kind not in self.fit.kinds:
                continue
            column = KINDS.index(kind)
            count = int((self.course.stretches.kind == column).sum())
            # A pause to save draws what none between epochs does.
            if count < _MIN_STRETCHES or kind == PAUSE:
                doubt = np.hypot(doubt, unlike_w * shares[:, column])
        return doubt

    def _of_windows(self) -> Floats:
        """How long the windows are: what other ones would have contained."""
        unsure = self.unsure
        squares = np.zeros(len(self.data))
        usual = self._expected(1.0)
        if unsure.window:
            shorter = np.abs(self._expected(1 - unsure.window) - usual)
            longer = np.abs(self._expected(1 + unsure.window) - usual)
            squares += np.maximum(shorter, longer) ** 2
        if unsure.longest > 1.0:
            squares += np.abs(self._expected(unsure.longest) - usual) ** 2 / 4
        return np.asarray(np.sqrt(squares))

    def _expected(self, factor: float) -> Floats:
        """What the records would let one expect of windows so many times as long."""
        data = self.data
        columns = [KINDS.index(kind) for kind in self.fit.kinds]
        expected = np.empty(len(data))
        for first in range(0, len(data), CHUNK_READINGS):
            rows = slice(first, first + CHUNK_READINGS)
            hi = data.hi[rows]
            length = hi - data.lo[rows]
            lo = hi - factor * length
            shares = _shares(lo, hi, self.course)
            expected[rows] = shares[:, columns] @ self.levels
        return expected


# ── what epochs and hours do ─────────────────────────────────────────────────────────────────────


def _drift(
    data: Samples,
    residual: Floats,
    judged: Bools,
    shortest_s: float,
) -> Floats:
    """What the level of a long training does by and by: a running median over ten minutes at least,
    or so many seconds.
    """
    nothing = np.zeros(len(data))
    middles = (data.lo + data.hi) / 2
    at = middles[judged]
    begin = float(at[0])
    length = float(at[-1]) - begin
    block_s = max(_DRIFT_S, length / _MAX_DRIFT_BLOCKS, shortest_s)
    if length < _MIN_DRIFT_BLOCKS * block_s:
        return nothing
    count = int(length / block_s)
    block = ((at - begin) / block_s).astype(np.int64)
    block = np.minimum(block, count - 1)
    block_starts = block.searchsorted(np.arange(1, count))
    moments = []
    levels = []
    for number, in_block in enumerate(np.split(residual[judged], block_starts)):
        if len(in_block) >= MIN_READINGS:
            moments.append(begin + (number + 0.5) * block_s)
            levels.append(median_of_column(in_block))
    if len(levels) < _MIN_DRIFT_BLOCKS:
        return nothing
    # One block that a load fills is no drift.
    smooth = []
    for number in range(len(levels)):
        first = max(0, number - 1)
        around = levels[first : number + 2]
        smooth.append(median_of_column(around))
    return np.asarray(np.interp(middles, moments, smooth))


def _starting_share(data: Samples, residual: Floats, epochs: _Spans) -> Floats:
    """The share of each window in the start of the first epoch.

    That epoch is longer than the others by its start at most, which is over earlier where the
    readings come to the level of training and stay there for a while.
    """
    start, end = epochs[0]
    latest = max(end - usual_length(epochs), start)
    until = _settled_at(data, residual, epochs, latest)
    return covered_share(data.lo, data.hi, start, until)


def _settled_at(data: Samples, residual: Floats, epochs: _Spans, latest: float) -> float:
    """When the readings of the first epoch settle at the level of training; `latest` without."""
    start = epochs[0][0]
    end = epochs[-1][1]
    in_training = (data.lo >= start) & (data.hi <= end)
    noise_w = spread(calm(residual[in_training], data.quantum))
    # Readings that only round show no noise: they are off by their rounding.
    deviation_w = max(noise_w, rounding_sigma(data.quantum))
    farthest_w = _SETTLED_DEVIATIONS * deviation_w
    # False where nothing is expected: NaN is never less than anything.
    at_level = np.abs(residual) <= farthest_w
    in_start = (data.lo >= start) & (data.hi <= latest)
    first = _first_run(at_level & in_start, _readings_to_settle(data))
    if first is None:
        return latest
    return float(data.lo[first])


def _readings_to_settle(data: Samples) -> int:
    """So many readings at the level end the start: some seconds of them, and never only two."""
    if len(data) < 2:
        return _SETTLED_READINGS
    pace_s = usual_pace_s(data, single=0.0)
    within_time = int(np.ceil(_SETTLED_S / pace_s))
    return max(_SETTLED_READINGS, within_time)


def _first_run(values: Bools, length: int) -> int | None:
    """The row from which so many values in a row are true; None where none is."""
    true_before = np.cumsum(np.concatenate([[0], values]))
    true_within = true_before[length:] - true_before[:-length]
    rows = np.flatnonzero(true_within == length)
    if not len(rows):
        return None
    return int(rows[0])

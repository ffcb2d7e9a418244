"""When a training ran steps, validated, or did neither, as far as its records tell: what its power
is held against.

From one record to the next so many steps were done. Where that took no longer than usual, they ran
all the time. Where it took much longer, the steps filled their usual time and the rest was a pause:
at the end of an epoch its validation, then whatever came before the first step of the next. Where
the steps of such an interval lay in it is not known; the edges carry that as their ±. Where only
profiles number the steps, that holds within them; of the rest its epochs are all that is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.energy import settings
from powertui.data.model import NS_PER_S, Bools, Floats, Int64s
from powertui.data.quantiles import median_of_column, median_of_rows
from powertui.data.run.logged_epochs import LOGGED_NS
from powertui.data.training.training_parts import (
    Rate,
    TrainedEpoch,
    bounded_epochs,
    steps_of_each_epoch,
)
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

TRAINING, VALIDATION, PAUSE, STARTING = "training", "validation", "pause", "starting"
KINDS = (TRAINING, VALIDATION, PAUSE, STARTING)
_TRAINING, _VALIDATION, _PAUSE, _STARTING = range(len(KINDS))
# An interval that took so many times its usual time contains a pause. Chosen, not measured.
_PAUSE_TIMES_USUAL = settings.LONG_TIMES_USUAL
# Records on either side that show what is usual. Chosen, not measured.
_USUAL_RECORDS = 50
# Of the steps of an interval: how well it is known how long those took that an epoch still had.
# Chosen, not measured.
_REST_ERROR = settings.BORROWED_ERROR_SHARE


@dataclass(frozen=True, eq=False)
class Stretches:
    """What a training did, by time and without holes: row i from `start[i]` to `end[i]`
    (Unix ns).
    """

    start: Int64s
    end: Int64s
    kind: Int64s  # into KINDS
    half: Int64s  # ± of its start, ns

    def __len__(self) -> int:
        return len(self.start)

    def spans(self, kind: str) -> tuple[Int64s, Int64s]:
        """(starts, ends) of one kind."""
        rows = self.kind == KINDS.index(kind)
        return self.start[rows], self.end[rows]

    def seconds(self, kind: str) -> float:
        """How long it did that."""
        start, end = self.spans(kind)
        return float((end - start).sum()) / NS_PER_S

    def shares(self, lo: Int64s, hi: Int64s) -> Floats:
        """[windows, kinds]: the share of each window (Unix ns) that each kind fills; the rest is
        outside the training.
        """
        length = np.maximum(hi - lo, 1).astype(np.float64)
        columns = []
        for kind in KINDS:
            inside_ns = self.running(kind, hi) - self.running(kind, lo)
            columns.append(inside_ns / length)
        return np.stack(columns, axis=1)

    def running(self, kind: str, at: Int64s) -> Floats:
        """ns of a kind up to each moment."""
        start, end = self.spans(kind)
        if not len(start):
            return np.zeros(len(at))
        length = end - start
        before = np.concatenate([[0], np.cumsum(length)])
        last_begun = start.searchsorted(at, side="right") - 1
        row = np.maximum(last_begun, 0)
        inside = np.clip(at - start[row], 0, length[row])
        up_to = before[row] + inside
        return np.where(last_begun >= 0, up_to, 0).astype(np.float64)

    def edges(self) -> tuple[Int64s, Int64s]:
        """(moments at which what it does changes, the ± of each)."""
        if not len(self):
            return self.start, self.half
        other_kind = self.kind[1:] != self.kind[:-1]
        after_gap = self.start[1:] > self.end[:-1]
        changed = np.concatenate([[True], other_kind | after_gap])
        moments = np.append(self.start[changed], self.end[-1])
        return moments, np.append(self.half[changed], LOGGED_NS)


class _Row(NamedTuple):
    """One stretch, in the order of the columns of `Stretches`."""

    start: int
    end: int
    kind: int
    half: int = 0


class _Intervals(NamedTuple):
    """Of each interval from one record to the next (ns)."""

    steps_ns: Floats  # how long its steps usually take
    step_ns: Floats  # how long one of them does
    paused: Bools  # whether it contains a pause


def training_stretches(rate: Rate, epochs: Sequence[TrainedEpoch]) -> Stretches:
    """From step records where there are any, else from the epochs alone."""
    if len(rate) <= 2:
        rows = _by_epochs(epochs)
    elif rate.within:
        rows = _by_sessions(rate, epochs)
    else:
        rows = _by_rate(rate, epochs)
    columns = np.array(sorted(_without_empty(rows)), np.int64).reshape(-1, 4)
    return Stretches(
        start=columns[:, 0],
        end=columns[:, 1],
        kind=columns[:, 2],
        half=columns[:, 3],
    )


def _without_empty(rows: Sequence[_Row]) -> list[_Row]:
    return [row for row in rows if row.end > row.start]


def _by_epochs(epochs: Sequence[TrainedEpoch]) -> list[_Row]:
    rows = []
    for _, start, end in bounded_epochs(epochs):
        rows.append(
            _Row(
                start=start.ns,
                end=end.ns,
                kind=_TRAINING,
                half=start.half_ns,
            )
        )
    return rows


def _by_sessions(rate: Rate, epochs: Sequence[TrainedEpoch]) -> list[_Row]:
    """The records within sessions, and the epochs around these."""
    rows: list[_Row] = []
    rest = _by_epochs(epochs)
    for begin, end in rate.within:
        bounds = rate.at_ns.searchsorted((begin, end + 1))
        first, last = bounds.tolist()
        if last - first <= 2:
            continue
        part = rate.part(first, last)
        rows += _between_records(part, epochs, _intervals(part))
        lo = int(rate.at_ns[first])
        hi = int(rate.at_ns[last - 1])
        pieces: list[_Row] = []
        for row in rest:
            pieces += _around(row, lo, hi)
        rest = pieces
    return rows + rest


def _around(row: _Row, lo: int, hi: int) -> list[_Row]:
    """What of a stretch is before and after another."""
    before = row._replace(end=min(row.end, lo))
    after = row._replace(start=max(row.start, hi))
    if row.start < hi:
        after = after._replace(half=0)
    return [before, after]


def _by_rate(rate: Rate, epochs: Sequence[TrainedEpoch]) -> list[_Row]:
    intervals = _intervals(rate)
    rows = _before_records(rate, epochs, intervals)
    rows += _between_records(rate, epochs, intervals)
    return rows + _after_records(rate, epochs, intervals)


def _before_records(
    rate: Rate,
    epochs: Sequence[TrainedEpoch],
    intervals: _Intervals,
) -> list[_Row]:
    """Before the first record: its steps at the end, compiling before them."""
    first = int(rate.at_ns[0])
    starts = [epoch.start.ns for epoch in epochs if epoch.start is not None]
    starts = [start for start in starts if start <= first]
    if not starts:
        return []
    begin = min(starts)
    steps_ns = round(rate.every * intervals.step_ns[0])
    steps_begin = max(first - steps_ns, begin)
    return [
        _Row(
            start=begin,
            end=steps_begin,
            kind=_STARTING,
            half=LOGGED_NS,
        ),
        _Row(
            start=steps_begin,
            end=first,
            kind=_TRAINING,
            half=steps_ns // 2,
        ),
    ]


def _after_records(
    rate: Rate,
    epochs: Sequence[TrainedEpoch],
    intervals: _Intervals,
) -> list[_Row]:
    """After the last record: the steps that its epoch still had, then validation or a pause."""
    last = int(rate.at_ns[-1])
    end = max([epoch.end.ns for epoch in epochs if epoch.end is not None], default=0)
    if end <= last:
        return []
    step_ns = float(intervals.step_ns[-1])
    rest = _rest(
        row=len(rate) - 1,
        rate=rate,
        epochs=epochs,
        steps_of_each=steps_of_each_epoch(epochs, rate),
        epoch_end=end,
        step_ns=step_ns,
    )
    if rest is None:
        rest = _Rest(ns=0.0, open_ns=0.0)
    steps_end = last + round(min(rest.ns, end - last))
    # Fewer steps than there are between two records can have run since the last one; as elsewhere,
    # what takes longer contains a pause.
    longest_ns = (_PAUSE_TIMES_USUAL - 1) * rate.every * step_ns
    if last in _validation_ends(epochs):
        kind = _VALIDATION
    elif end - steps_end <= longest_ns:
        kind = _TRAINING
    else:
        kind = _PAUSE
    return [
        _Row(last, steps_end, _TRAINING),
        _Row(
            start=steps_end,
            end=end,
            kind=kind,
            half=LOGGED_NS + round(rest.open_ns),
        ),
    ]


def _epoch_that_ends(epochs: Sequence[TrainedEpoch], end_ns: int | None) -> TrainedEpoch | None:
    for epoch in epochs:
        if epoch.end is not None and epoch.end.ns == end_ns:
            return epoch
    return None


def _validation_ends(epochs: Sequence[TrainedEpoch]) -> dict[int, int]:
    """When validation ended, by when it began."""
    ends = {}
    for epoch in epochs:
        if epoch.validation is not None:
            begin, end = epoch.validation
            ends[begin.ns] = end.ns
    return ends


def _intervals(rate: Rate) -> _Intervals:
    steps = np.diff(rate.step).astype(np.float64)
    length = np.diff(rate.at_ns).astype(np.float64)
    forward = rate.goes_on[1:] & (length > 0)
    each = np.where(forward, length / np.maximum(steps, 1), np.nan)
    step_ns = _usual(each)
    steps_ns = np.where(forward, steps * step_ns, 0.0)
    paused = ~forward | (length > _PAUSE_TIMES_USUAL * steps_ns)
    return _Intervals(steps_ns=steps_ns, step_ns=step_ns, paused=paused)


def _between_records(
    rate: Rate,
    epochs: Sequence[TrainedEpoch],
    intervals: _Intervals,
) -> list[_Row]:
    """From the first record to the last."""
    at = rate.at_ns
    validation_ends = _validation_ends(epochs)
    steps_of_each = steps_of_each_epoch(epochs, rate)
    epoch_ends = np.array([epoch.end.ns for epoch in epochs if epoch.end is not None], np.int64)
    rows: list[_Row] = []
    last = 0
    for row in np.flatnonzero(intervals.paused).tolist():
        begin = int(at[row])
        end = int(at[row + 1])
        if row > last:
            rows.append(_Row(int(at[last]), begin, _TRAINING))
        is_inside = (epoch_ends > begin) & (epoch_ends < end)
        inside = epoch_ends[is_inside]
        epoch_end = None
        rest = None
        if len(inside):
            epoch_end = int(inside[0])
            rest = _rest(
                row=row,
                rate=rate,
                epochs=epochs,
                steps_of_each=steps_of_each,
                epoch_end=epoch_end,
                step_ns=float(intervals.step_ns[row]),
            )
        rows += _split(
            lo=begin,
            hi=end,
            steps_ns=float(intervals.steps_ns[row]),
            bound=epoch_end,
            validated=validation_ends.get(begin),
            rest=rest,
        )
        last = row + 1
    if last < len(at) - 1:
        rows.append(_Row(int(at[last]), int(at[-1]), _TRAINING))
    return rows


class _Rest(NamedTuple):
    """How long the steps took that an epoch still had after its last record (ns)."""

    ns: float
    open_ns: float  # by so much it may be longer


def _rest(
    row: int,
    rate: Rate,
    epochs: Sequence[TrainedEpoch],
    steps_of_each: tuple[int, int] | None,
    epoch_end: int,
    step_ns: float,
) -> _Rest | None:
    """None where no epoch says it.

    Its number of steps does, or the records before the ends of all epochs: where these are alike
    they leave few numbers. Else any fewer than there are between two records may have come after
    the last one.
    """
    epoch = _epoch_that_ends(epochs, epoch_end)
    if epoch is None or epoch.steps is None:
        return None
    before = int(rate.step[row])
    after = before + rate.every
    if row + 1 < len(rate):
        after = int(rate.step[row + 1])
    steps_done = epoch.steps[1]
    if not before <= steps_done <= after:
        return None
    most_done = steps_done
    if steps_of_each is not None:
        most_done = steps_of_each[1] * (epoch.number - epochs[0].number + 1)
    elif steps_done == before and not rate.within:
        most_done = before + rate.every - 1
    steps_open = max(min(most_done, before + rate.every - 1) - steps_done, 0)
    return _Rest(step_ns * (steps_done - before), step_ns * steps_open)


def _split(
    lo: int,
    hi: int,
    steps_ns: float,
    bound: int | None,
    validated: int | None,
    rest: _Rest | None,
) -> list[_Row]:
    """An interval with a pause in it. At the end of an epoch: its last steps, validation, the
    pause, and the first steps of the next one; inside an epoch nobody knows which of the steps were
    before the pause.
    """
    steps_ns = min(steps_ns, hi - lo)
    if rest is not None:
        before = min(rest.ns, steps_ns)
        half = LOGGED_NS + round(_REST_ERROR * steps_ns + rest.open_ns)
    else:
        before = steps_ns / 2 if bound is None else 0.0
        half = LOGGED_NS + round(steps_ns - before)
    pause_begin = steps_end = lo + round(before)
    steps_begin = hi - round(steps_ns - before)
    if bound is not None:
        steps_begin = max(steps_begin, bound)
    rows = [_Row(lo, steps_end, _TRAINING)]
    if bound is not None and steps_end < bound <= steps_begin:
        kind = _VALIDATION if validated is not None else _PAUSE
        rows.append(
            _Row(
                start=steps_end,
                end=bound,
                kind=kind,
                half=half,
            )
        )
        pause_begin = bound
    pause_half = half if pause_begin == steps_end else LOGGED_NS
    rows.append(
        _Row(
            start=pause_begin,
            end=steps_begin,
            kind=_PAUSE,
            half=pause_half,
        )
    )
    rows.append(
        _Row(
            start=steps_begin,
            end=hi,
            kind=_TRAINING,
            half=half,
        )
    )
    return _without_empty(rows)


def _usual(each: Floats) -> Floats:
    """What a step usually takes around each interval, ns: a running median, pauses set aside."""
    count = len(each)
    finite = np.isfinite(each)
    if not finite.any():
        return np.full(count, 0.0)
    middle = median_of_column(each[finite])
    size = 2 * _USUAL_RECORDS + 1
    if count < 2 * size:
        return np.full(count, middle)
    values = np.where(finite, each, middle)
    block_count = count // size
    in_blocks = values[: block_count * size]
    medians = median_of_rows(in_blocks.reshape(block_count, size))
    block_middles = (np.arange(block_count) + 0.5) * size
    return np.asarray(np.interp(np.arange(count), block_middles, medians))

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

from powertui.data.model import Bools, Floats, Int64s
from powertui.data.run.logged_epochs import LOGGED_NS
from powertui.data.training.training_parts import Rate, TrainedEpoch
from powertui.value_types import dataclass

TRAINING, VALIDATION, PAUSE, STARTING = "training", "validation", "pause", "starting"
KINDS = (TRAINING, VALIDATION, PAUSE, STARTING)
# An interval that took so many times its usual time contains a pause. Chosen, not measured.
_PAUSE_TIMES_USUAL = 2.0
# Records on either side that show what is usual. Chosen, not measured.
_USUAL_RECORDS = 50
_SECOND_NS = 1_000_000_000
_Row = tuple[int, int, int, int]  # start, end, index into KINDS, ± of the start


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
        return float((end - start).sum()) / _SECOND_NS

    def shares(self, lo: Int64s, hi: Int64s) -> Floats:
        """[windows, kinds]: the share of each window (Unix ns) that each kind fills; the rest lies
        outside the training.
        """
        length = np.maximum(hi - lo, 1).astype(np.float64)
        return np.stack(
            [(self.running(kind, hi) - self.running(kind, lo)) / length for kind in KINDS], axis=1
        )

    def running(self, kind: str, at: Int64s) -> Floats:
        """ns of a kind up to each moment."""
        rows = self.kind == KINDS.index(kind)
        start, end = self.start[rows], self.end[rows]
        if not len(start):
            return np.zeros(len(at))
        length = end - start
        before = np.concatenate([[0], np.cumsum(length)])
        last_begun = np.searchsorted(start, at, side="right") - 1
        row = np.maximum(last_begun, 0)
        inside = np.clip(at - start[row], 0, length[row])
        return np.where(last_begun >= 0, before[row] + inside, 0).astype(np.float64)

    def edges(self) -> tuple[Int64s, Int64s]:
        """(moments at which what it does changes, the ± of each)."""
        if not len(self):
            return self.start, self.half
        changed = np.concatenate(
            [[True], (self.kind[1:] != self.kind[:-1]) | (self.start[1:] > self.end[:-1])]
        )
        return np.append(self.start[changed], self.end[-1]), np.append(
            self.half[changed], LOGGED_NS
        )


def training_stretches(rate: Rate, epochs: Sequence[TrainedEpoch]) -> Stretches:
    """From step records where there are any, else from the epochs alone."""
    if len(rate) <= 2:
        return _made(_by_epochs(epochs))
    return _made(_by_sessions(rate, epochs) if rate.within else _by_rate(rate, epochs))


def _by_epochs(epochs: Sequence[TrainedEpoch]) -> list[_Row]:
    bounds = [
        (epoch.start, epoch.end)
        for epoch in epochs
        if epoch.start is not None and epoch.end is not None
    ]
    return [(a.ns, b.ns, 0, a.half_ns) for a, b in bounds]


def _by_sessions(rate: Rate, epochs: Sequence[TrainedEpoch]) -> list[_Row]:
    rows: list[_Row] = []
    rest = _by_epochs(epochs)
    for lo, hi in rate.within:
        first, last = rate.at_ns.searchsorted((lo, hi + 1)).tolist()
        if last - first > 2:
            lo, hi = int(rate.at_ns[first]), int(rate.at_ns[last - 1])
            part = rate.part(first, last)
            rows += _inside(part, epochs, _lengths(part))
            rest = [piece for row in rest for piece in _without(row, lo, hi)]
    return rows + rest


def _without(row: _Row, lo: int, hi: int) -> list[_Row]:
    """What of a stretch lies before and after another."""
    start, end, kind, half = row
    return [
        (start, min(end, lo), kind, half),
        (max(start, hi), end, kind, half if start >= hi else 0),
    ]


def _by_rate(rate: Rate, epochs: Sequence[TrainedEpoch]) -> list[_Row]:
    at, lengths = rate.at_ns, _lengths(rate)
    usual = lengths[1]
    rows: list[_Row] = []
    first = int(at[0])
    begins = [
        epoch.start.ns for epoch in epochs if epoch.start is not None and epoch.start.ns <= first
    ]
    if begins:  # before the first record: its steps at the end, compiling before them
        begin = min(begins)
        before = max(first - round(rate.every * usual[0]), begin) if len(usual) else first
        rows += [
            (begin, before, 3, LOGGED_NS),
            (before, first, 0, round(rate.every * usual[0]) // 2),
        ]
    rows += _inside(rate, epochs, lengths)
    end = max([epoch.end.ns for epoch in epochs if epoch.end is not None], default=0)
    if end > int(at[-1]):
        final = next(
            (epoch for epoch in epochs if epoch.end is not None and epoch.end.ns == end), None
        )
        rest = 0.0
        if final is not None and final.steps is not None and len(usual):
            rest = min(
                float(usual[-1]) * max(final.steps[1] - int(rate.step[-1]), 0), end - int(at[-1])
            )
        begin = int(at[-1]) + round(rest)
        # Fewer steps than lie between two records can have run since the last one; as elsewhere,
        # what takes longer holds a pause.
        short = end - begin <= (_PAUSE_TIMES_USUAL - 1) * rate.every * (
            usual[-1] if len(usual) else 0
        )
        kind = 1 if int(at[-1]) in _validated(epochs) else 0 if short else 2
        rows += [(int(at[-1]), begin, 0, 0), (begin, end, kind, LOGGED_NS)]
    return rows


def _validated(epochs: Sequence[TrainedEpoch]) -> dict[int, int]:
    return {
        epoch.validation[0].ns: epoch.validation[1].ns
        for epoch in epochs
        if epoch.validation is not None
    }


def _lengths(rate: Rate) -> tuple[Floats, Floats, Bools]:
    """Of each interval between records: (how long its steps usually take, what one does, whether it
    had a pause). ns.
    """
    at, steps = rate.at_ns, np.diff(rate.step).astype(np.float64)
    length = np.diff(at).astype(np.float64)
    forward = rate.goes_on[1:] & (length > 0)
    each = np.where(forward, length / np.maximum(steps, 1), np.nan)
    usual = _usual(each)
    steps_ns = np.where(forward, steps * usual, 0.0)
    return steps_ns, usual, ~forward | (length > _PAUSE_TIMES_USUAL * steps_ns)


def _inside(
    rate: Rate, epochs: Sequence[TrainedEpoch], lengths: tuple[Floats, Floats, Bools]
) -> list[_Row]:
    """From the first record to the last."""
    at, (steps_ns, usual, paused), validated = rate.at_ns, lengths, _validated(epochs)
    bounds = np.array([epoch.end.ns for epoch in epochs if epoch.end is not None], np.int64)
    rows: list[_Row] = []
    quick = np.flatnonzero(paused)
    last = 0
    for row in quick.tolist():
        if row > last:
            rows.append((int(at[last]), int(at[row]), 0, 0))
        inside = bounds[(bounds > at[row]) & (bounds < at[row + 1])]
        bound = int(inside[0]) if len(inside) else None
        rest = _rest(row, rate, epochs, bound, float(usual[row]))
        rows += _split(
            int(at[row]),
            int(at[row + 1]),
            float(steps_ns[row]),
            bound,
            validated.get(int(at[row])),
            rest,
        )
        last = row + 1
    if last < len(at) - 1:
        rows.append((int(at[last]), int(at[-1]), 0, 0))
    return rows


def _rest(
    row: int, rate: Rate, epochs: Sequence[TrainedEpoch], bound: int | None, usual: float
) -> float | None:
    """How long the steps took that an epoch still had after its last record, ns; None where it is
    not known how many they were.
    """
    epoch = next(
        (epoch for epoch in epochs if epoch.end is not None and epoch.end.ns == bound), None
    )
    if (
        epoch is None
        or epoch.steps is None
        or not int(rate.step[row]) <= epoch.steps[1] <= int(rate.step[row + 1])
    ):
        return None
    return usual * (epoch.steps[1] - int(rate.step[row]))


def _split(
    lo: int, hi: int, steps_ns: float, bound: int | None, validated: int | None, rest: float | None
) -> list[_Row]:
    """An interval with a pause in it. At the end of an epoch: its last steps, validation, the
    pause, and the first steps of the next one; inside an epoch nobody knows which of the steps were
    before the pause.
    """
    steps_ns = min(steps_ns, hi - lo)
    before = steps_ns / 2 if rest is None else min(rest, steps_ns)
    if bound is not None and rest is None:
        before = 0.0
    half = LOGGED_NS + (round(steps_ns) // 2 if rest is None else round(0.1 * steps_ns))
    first, steps = lo + round(before), hi - round(steps_ns - before)
    steps = max(steps, bound) if bound is not None else steps
    rows = [(lo, first, 0, 0)]
    at = first
    if bound is not None and first < bound <= steps:
        rows.append((first, bound, 1 if validated is not None else 2, half))
        at = bound
    rows += [(at, steps, 2, half if at == first else LOGGED_NS), (steps, hi, 0, half)]
    return [row for row in rows if row[1] > row[0]]


def _usual(each: Floats) -> Floats:
    """What a step usually takes around each interval, ns: a running median, pauses left aside."""
    finite = np.isfinite(each)
    if not finite.any():
        return np.full(len(each), 0.0)
    middle = float(np.median(each[finite]))
    values = np.where(finite, each, middle)
    size = 2 * _USUAL_RECORDS + 1
    if len(values) < 2 * size:
        return np.full(len(values), middle)
    blocks = len(values) // size
    medians = np.median(values[: blocks * size].reshape(blocks, size), axis=1)
    at = (np.arange(blocks) + 0.5) * size
    return np.asarray(np.interp(np.arange(len(values)), at, medians))


def _made(rows: Sequence[_Row]) -> Stretches:
    rows = sorted(row for row in rows if row[1] > row[0])
    columns = np.array(rows, np.int64).reshape(-1, 4)
    return Stretches(columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3])

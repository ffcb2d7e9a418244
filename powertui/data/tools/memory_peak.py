"""What is in an allocator at its peak, by the rules of TensorFlow's converter.

`xplane_to_memory_profile.cc`: the peak is the last event after which no more bytes had been in use,
in the order of the file. Only events of the peak's step are replayed; what was there before is
one row, "unused preallocated device memory". Step ids are those of the file; an event without one
belongs to the step after the last that was named.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data.asked import Compat
from powertui.data.model import Bools, Int64s
from powertui.data.model.allocations import AllocatorLog
from powertui.named_tuples import NamedTuple

# The converter's names for what came before the step: today, and in TensorFlow up to 2.x.
BEFORE = "unused preallocated device memory"
_BEFORE_TF2 = "preallocated/unknown"
_STACK = "stack"


class PeakRow(NamedTuple):
    """Allocations at the peak that are alike."""

    op: str
    size: int  # bytes of each; -1 where they differ
    requested: float  # NaN where it is not known
    region: str
    dtype: str
    shape: str
    occurrences: int = 1
    event: int = -1  # of the first of them, among the log's; -1 for none
    differing_bytes: int = 0  # of all of them, where they differ

    @property
    def total(self) -> int:
        """Bytes of all of them."""
        if self.size < 0:
            return self.differing_bytes
        return self.size * self.occurrences

    @property
    def alike(self) -> tuple[object, ...]:
        """What rows that are put together have in common."""
        if np.isnan(self.requested):
            requested = -1.0
        else:
            requested = self.requested
        return (-self.size, -requested, self.op, self.region, self.dtype, self.shape)


class Peak(NamedTuple):
    """The moment at which most was in use."""

    event: int  # of the log
    in_use: float  # bytes


def peak_event(log: AllocatorLog, is_asked: Bools) -> Peak | None:
    """The peak among some events; None where none of them knows what is in use."""
    rows = np.flatnonzero(is_asked & np.isfinite(log.in_use))
    if not len(rows):
        return None
    in_use = log.in_use[rows]
    at_most = rows[in_use == in_use.max()]
    last = at_most[np.argmax(log.order[at_most])]
    return Peak(int(last), float(in_use.max()))


def lifetime_peak(log: AllocatorLog, compat: Compat) -> float | None:
    """The most bytes that were ever in use; None where the allocator does not say.

    The converters take what the last event of the file says, which is not the last in time.
    """
    known = np.flatnonzero(np.isfinite(log.lifetime_peak))
    if not len(known):
        return None
    if compat == "corrected":
        return float(log.lifetime_peak[known].max())
    return float(log.lifetime_peak[known[np.argmax(log.order[known])]])


def step_ids(step: Int64s) -> Int64s:
    """The step of each event, with those that the file does not say."""
    known = step >= 0
    rows = np.arange(len(step))
    last = np.maximum.accumulate(np.where(known, rows, -1))
    next_step = step[np.maximum(last, 0)] + 1
    following = np.where(last >= 0, next_step, 0)
    return np.where(known, step, following).astype(np.int64)


def peak_rows(
    log: AllocatorLog,
    peak: Peak,
    compat: Compat = "corrected",
    moments: Int64s | None = None,
) -> list[PeakRow]:
    """What is allocated at the peak, the largest first.

    Events come one after the other by these moments; without them by their times.
    """
    if moments is None:
        moments = log.times
    order = np.lexsort((log.order, moments))
    steps = np.empty(len(log), np.int64)
    steps[order] = step_ids(log.step[order])
    at_peak = np.flatnonzero(log.in_use[order] == peak.in_use)
    step = int(steps[order[at_peak[-1]]])
    is_counted = (moments <= moments[peak.event]) & (steps == step)
    alive: dict[int, int] = {}
    taken = given_back = given_back_before = 0
    for event in order[is_counted[order]].tolist():
        address = int(log.address[event])
        size = int(log.size[event])
        if log.taken[event]:
            alive[address] = event
            taken += size
        else:
            given_back += size
            if alive.pop(address, None) is None:
                given_back_before += size
    rows = [allocation_row(log, event) for event in alive.values()]
    before = int(log.allocated[peak.event]) - taken + given_back - given_back_before
    if before > 0:
        name = _BEFORE_TF2 if compat == "tf2" else BEFORE
        rows.append(
            PeakRow(
                op=name,
                size=before,
                requested=before,
                region="persist/dynamic",
                dtype="INVALID",
                shape="unknown",
            )
        )
    stack = log.reserved[peak.event]
    if log.reserved_beside and stack > 0:
        rows.append(
            PeakRow(
                op=_STACK,
                size=int(stack),
                requested=stack,
                region=_STACK,
                dtype="INVALID",
                shape="unknown",
            )
        )
    return list(together(rows))


def allocation_row(log: AllocatorLog, event: int) -> PeakRow:
    """One allocation."""
    words = log.words
    return PeakRow(
        op=words.text(words.op[event]),
        size=int(log.size[event]),
        requested=float(log.requested[event]),
        region=words.text(words.region[event]),
        dtype=words.text(words.dtype[event]),
        shape=words.text(words.shape[event]),
        event=event,
    )


def together(rows: list[PeakRow]) -> Iterator[PeakRow]:
    """Rows that are alike as one, the largest first."""
    rows = sorted(rows, key=lambda row: row.alike)
    counts: dict[tuple[object, ...], int] = {}
    first: dict[tuple[object, ...], PeakRow] = {}
    for row in rows:
        count = counts.get(row.alike, 0)
        counts[row.alike] = count + row.occurrences
        first.setdefault(row.alike, row)
    for key, row in first.items():
        yield row._replace(occurrences=counts[key])


def by_op(rows: list[PeakRow]) -> Iterator[PeakRow]:
    """All rows of an op and region as one, the largest first: where no type and shape is known."""
    of_op: dict[tuple[str, str], list[PeakRow]] = {}
    for row in rows:
        of_op.setdefault((row.op, row.region), []).append(row)
    merged = []
    for same in of_op.values():
        largest = max(same, key=lambda row: row.size)
        alike = all(row.size == largest.size for row in same)
        merged.append(
            largest._replace(
                size=largest.size if alike else -1,
                differing_bytes=sum(row.total for row in same),
                occurrences=sum(row.occurrences for row in same),
            )
        )
    merged.sort(key=lambda row: (-row.total, row.op, row.region))
    yield from merged

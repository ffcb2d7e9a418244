"""The pieces of evidence for a profile's zero in Unix time: each an interval, and its source."""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from powertui.data.by_number import ByNumber
from powertui.data.formats import registry
from powertui.data.formats.tfevents import EventLog
from powertui.data.model import NS_PER_S, PS_PER_NS, Steps, Trace
from powertui.data.run import zones
from powertui.data.run.logged_epochs import from_logs
from powertui.named_tuples import NamedTuple

# Collecting, converting and writing a capture: seconds, more for large ones.
_EXPORT_S = 5.0
_EXPORT_BYTES_PER_S = 10e6
# So much later than the export a file may have been written and still be the original. Chosen, not
# measured.
_COPY_S = 60.0


class ClockEvidence(NamedTuple):
    """One interval for the zero, with what says so. Lower rank is better."""

    rank: int
    lo: int  # Unix ns
    hi: int
    source: str
    detail: str

    def agrees_with(self, other: ClockEvidence) -> bool:
        """Whether both can be true."""
        return self.lo <= other.hi and other.lo <= self.hi


# Ranks of evidence, the surest first. A file's own time narrows nothing.
_BATCH_RANK = 1
_EXPORT_RANK = 2
_FOLDER_IN_ZONE_RANK = 3
_EPOCHS_RANK = 4
_TRAINING_RANK = 5
_FOLDER_RANK = 6
FILE_RANK = 7


def written_ns(path: str) -> int | None:
    """When a file was last written; None for what is no file."""
    if path == "-":
        return None
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116
    except OSError:
        return None


def _span(trace: Trace) -> int:
    return trace.span[1] // PS_PER_NS


def _allowance(trace: Trace) -> int:
    """How long collecting and writing this capture may have taken, in ns."""
    return int((_EXPORT_S + trace.size / _EXPORT_BYTES_PER_S) * NS_PER_S)


def from_batches(
    trace: Trace,
    logs: Sequence[EventLog],
    steps: Steps | None,
    ends: Container[int],
) -> list[ClockEvidence]:
    """Keras writes a record `batch_<N>` when the profiler stops."""
    early, late = registry.clock_rule(trace.format).batch_ns
    last_mark_ns = None
    if steps is not None and len(steps) and not steps.asynchronous:
        last_mark_ns = int(steps.mark_ends().max()) // PS_PER_NS
    evidence = []
    for log in logs:
        for batch, wall_ns in log.batches:
            if wall_ns // NS_PER_S not in ends:
                continue
            zero = wall_ns - _span(trace)
            hi = zero + late
            if last_mark_ns is not None:
                hi = min(hi, wall_ns - last_mark_ns)
            evidence.append(
                ClockEvidence(
                    rank=_BATCH_RANK,
                    lo=min(zero + early, hi),
                    hi=hi,
                    source="tfevents batch",
                    detail=f"record batch_{batch} of {Path(log.path).name}",
                )
            )
    return evidence


def from_exports(trace: Trace, exported: Sequence[int]) -> list[ClockEvidence]:
    """The name holds whole seconds, cut: the export began within the second that follows."""
    evidence = []
    for second in exported:
        zero = second * NS_PER_S - _span(trace)
        evidence.append(
            ClockEvidence(
                rank=_EXPORT_RANK,
                lo=zero - _allowance(trace),
                hi=zero + NS_PER_S,
                source="profile-empty",
                detail=f"exported at Unix second {second}",
            )
        )
    return evidence


def from_folder(
    trace: Trace,
    local: datetime | None,
    offsets: tuple[int, ...] | None,
    how: str,
) -> list[ClockEvidence]:
    """A run folder is named when its capture is exported, in the machine's local time."""
    if local is None:
        return []
    shown = f"{local:%Y-%m-%d %H:%M:%S}"
    rank = _FOLDER_RANK
    if offsets:
        rank = _FOLDER_IN_ZONE_RANK
        detail = f"exported at {shown} ({how})"
    elif offsets is not None:
        detail = f"{shown}: {how}"
    else:
        detail = "the folder's name is a local time and its time zone is not known: give --tz"
    possible = offsets or zones.OFFSET_LIMITS
    named_s = int(local.timestamp())
    first_zero = (named_s - max(possible)) * NS_PER_S - _span(trace)
    last_zero = (named_s - min(possible)) * NS_PER_S - _span(trace)
    return [
        ClockEvidence(
            rank=rank,
            lo=first_zero - _allowance(trace),
            hi=last_zero + NS_PER_S,
            source="run directory",
            detail=detail,
        )
    ]


def from_epochs(steps: Steps, logs: Sequence[EventLog]) -> list[ClockEvidence]:
    """The steps of an epoch began after the one before it was logged, and ended before it was
    logged itself.
    """
    ends = steps.mark_ends()
    numbers, place = np.unique(steps.epoch, return_inverse=True)
    rows_of_numbers = ByNumber(place, len(numbers))
    rows_by_number = dict(zip(numbers.tolist(), rows_of_numbers, strict=True))
    evidence = []
    for epoch in from_logs(logs):
        rows = rows_by_number.get(epoch.number)
        if rows is None or epoch.start is None:
            continue
        first_start_ns = int(steps.start[rows].min()) // PS_PER_NS
        last_end_ns = int(ends[rows].max()) // PS_PER_NS
        lo = epoch.start - first_start_ns
        hi = epoch.end - last_end_ns
        if lo > hi:
            continue
        evidence.append(
            ClockEvidence(
                rank=_EPOCHS_RANK,
                lo=lo,
                hi=hi,
                source="epochs",
                detail=f"its steps are inside epoch {epoch.number} of the tfevents",
            )
        )
    return evidence


def from_training(trace: Trace, logs: Sequence[EventLog]) -> list[ClockEvidence]:
    """The profile was taken between the first and the last record of a training."""
    evidence = []
    for log in logs:
        if log.group not in ("train", "training", "") or log.first_ns is None:
            continue
        assert log.last_ns is not None
        start = log.header_ns
        if start is None:
            start = log.first_ns
        last_zero = log.last_ns - _span(trace) + NS_PER_S
        log_name = os.path.basename(log.path)  # noqa: PTH119
        evidence.append(
            ClockEvidence(
                rank=_TRAINING_RANK,
                lo=start,
                hi=max(last_zero, start),
                source="tfevents",
                detail=(
                    f"if the profile was taken between the first and the last record of {log_name}"
                ),
            )
        )
    return evidence


def from_file(trace: Trace) -> list[ClockEvidence]:
    """The file was written when its capture was exported."""
    file_ns = written_ns(trace.path)
    if file_ns is None:
        return []
    hi = file_ns - _span(trace)
    return [
        ClockEvidence(
            rank=FILE_RANK,
            lo=hi - _allowance(trace) - int(_COPY_S * NS_PER_S),
            hi=hi,
            source="file time",
            detail="when the file was last written, which is right only if it was never copied",
        )
    ]

"""When a training began, where its first record came at the end of something."""

from __future__ import annotations

import numpy as np

from powertui.data.energy import settings
from powertui.data.model import NS_PER_S
from powertui.data.quantiles import median_of_column
from powertui.data.training.stretches import KINDS, TRAINING, Stretches
from powertui.data.training.training_parts import Moment, Rate, bounded_epochs
from powertui.data.training.training_records import TrainingRecords

# A first epoch compiles and fills caches. One that seems to have taken more than so many of the
# others waited for something before it. Chosen, not measured.
_MAX_FIRST_STRETCHES = settings.LONG_TIMES_USUAL
# How far its length may be off where only the others show it, as a share. Chosen, not measured.
_FIRST_STRETCH_ERROR = settings.UNKNOWN_SHARE
# That show how long it usually takes from one to the next; chosen, not measured.
_MIN_RECORDS = settings.MIN_REPEATS


def training_start(training: TrainingRecords) -> Moment | None:
    """When the training began, where its first record came at the end of something: of its first
    epoch, or of its first steps. None where that is known, or nothing shows it.

    The log file was opened shortly before; without that, or where it was opened long before, the
    first stretch took about as long as the others.
    """
    return _start_before(training, *_first_record(training))


def stretches_from_start(training: TrainingRecords) -> Stretches:
    """What a training did, with the work that came before its first record.

    Without it power rises one epoch (or one interval of records) before anything is expected, and a
    log whose clock says nothing was placed that much too late.
    """
    stretches = training.stretches
    start = training_start(training) or _start_before(training, *_first_steps(training))
    if start is None or not len(stretches) or start.ns >= int(stretches.start[0]):
        return stretches
    first_end = int(stretches.start[0])
    return Stretches(
        start=np.concatenate([[start.ns], stretches.start]),
        end=np.concatenate([[first_end], stretches.end]),
        kind=np.concatenate([[KINDS.index(TRAINING)], stretches.kind]),
        half=np.concatenate([[start.half_ns], stretches.half]),
    )


def _start_before(
    training: TrainingRecords,
    first_end_ns: int | None,
    usual_ns: int,
) -> Moment | None:
    """When what ended with the first record began."""
    if first_end_ns is None or not usual_ns:
        return None
    opened_ns = _last_opened_before(training, first_end_ns)
    if opened_ns is not None and first_end_ns - opened_ns <= _MAX_FIRST_STRETCHES * usual_ns:
        return Moment(opened_ns, NS_PER_S)
    return Moment(first_end_ns - usual_ns, round(_FIRST_STRETCH_ERROR * usual_ns))


def _last_opened_before(training: TrainingRecords, ns: int) -> int | None:
    """When a log file of the training was opened last before a moment (Unix ns)."""
    latest = None
    for log in training.logs.events:
        if log.header_ns is None or log.is_marker or log.header_ns >= ns:
            continue
        if latest is None or log.header_ns > latest:
            latest = log.header_ns
    return latest


def _first_record(training: TrainingRecords) -> tuple[int | None, int]:
    """When the first record came, and how long it usually takes from one to the next (ns)."""
    epochs = training.epochs
    rate = training.rate
    if epochs:
        lengths = [end.ns - start.ns for _, start, end in bounded_epochs(epochs)]
        first = epochs[0]
        if first.start is not None or first.end is None or not lengths:
            return None, 0
        return first.end.ns, int(median_of_column(lengths))
    if len(rate) < _MIN_RECORDS or rate.within:
        return None, 0
    return int(rate.at_ns[0]), usual_interval_ns(rate)


def _first_steps(training: TrainingRecords) -> tuple[int | None, int]:
    """The same where the first epoch seems to begin with a record: that is of steps which ran."""
    rate = training.rate
    epochs = training.epochs
    if len(rate) < _MIN_RECORDS or rate.within or not epochs or epochs[0].start is None:
        return None, 0
    first_ns = int(rate.at_ns[0])
    if epochs[0].start.ns != first_ns:
        return None, 0
    return first_ns, usual_interval_ns(rate)


def usual_interval_ns(rate: Rate) -> int:
    """How long it usually takes from one record to the next; 0 where that is not known."""
    gaps = np.diff(rate.at_ns)[rate.goes_on[1:]]
    return int(median_of_column(gaps)) if len(gaps) else 0

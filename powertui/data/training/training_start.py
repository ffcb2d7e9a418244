"""When a training began, where its first record came at the end of something."""

from __future__ import annotations

import numpy as np

from powertui.data.model import NS_PER_S
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.training_parts import Moment, bounded_epochs

# A first epoch compiles and fills caches. One that seems to have taken more than so many of the
# others waited for something before it. Chosen, not measured.
_MAX_FIRST_STRETCHES = 2.0
# How far its length may be off where only the others show it, as a share. Chosen, not measured.
_FIRST_STRETCH_ERROR = 0.25
_MIN_RECORDS = 3  # that show how long it usually takes from one to the next; chosen, not measured


def training_start(training: PlacedTraining) -> Moment | None:
    """When the training began, where its first record came at the end of something: of its first
    epoch, or of its first steps. None where that is known, or nothing shows it.

    The log file was opened shortly before; without that, or where it was opened long before, the
    first stretch took about as long as the others.
    """
    first_end_ns, usual_ns = _first_record(training)
    if first_end_ns is None or not usual_ns:
        return None
    opened_ns = _last_opened_before(training, first_end_ns)
    if opened_ns is not None and first_end_ns - opened_ns <= _MAX_FIRST_STRETCHES * usual_ns:
        return Moment(opened_ns, NS_PER_S)
    return Moment(first_end_ns - usual_ns, round(_FIRST_STRETCH_ERROR * usual_ns))


def _last_opened_before(training: PlacedTraining, ns: int) -> int | None:
    """When a log file of the training was opened last before a moment (Unix ns)."""
    latest = None
    for log in training.logs.events:
        if log.header_ns is None or log.is_marker or log.header_ns >= ns:
            continue
        if latest is None or log.header_ns > latest:
            latest = log.header_ns
    return latest


def _first_record(training: PlacedTraining) -> tuple[int | None, int]:
    """When the first record came, and how long it usually takes from one to the next (ns)."""
    epochs = training.epochs
    rate = training.rate
    if epochs:
        lengths = [end.ns - start.ns for _, start, end in bounded_epochs(epochs)]
        first = epochs[0]
        if first.start is not None or first.end is None or not lengths:
            return None, 0
        return first.end.ns, int(np.median(lengths))
    if len(rate) < _MIN_RECORDS or rate.within:
        return None, 0
    gaps = np.diff(rate.at_ns)[rate.goes_on[1:]]
    usual_ns = int(np.median(gaps)) if len(gaps) else 0
    return int(rate.at_ns[0]), usual_ns

"""The moments at which a training changes what it does, for `edge_costs`: seconds from any zero.

Where only epochs are recorded, these are its start, the ends of its epochs and its end; where every
few batches are, also validation and pauses.
"""

from __future__ import annotations

from powertui.data.energy import settings
from powertui.data.energy.edge_costs import (
    BORDER,
    END,
    START,
    ExpectedEdges,
    sorted_edges,
)
from powertui.data.model import NS_PER_S
from powertui.data.training.stretches import KINDS, TRAINING, Stretches
from powertui.data.training.training_records import TrainingRecords
from powertui.data.training.training_start import (
    stretches_from_start,
    training_start,
    usual_interval_ns,
)

# Power rises and falls as steps begin and end; what else changes may do either.
# Of what lies between the first and last record: so long before and after them it may have run.
# Chosen, not measured.
_OPEN_SHARE = settings.MINOR_SHARE
_RISES, _FALLS, _EITHER = 1.0, -1.0, 0.0


def expected_edges(training: TrainingRecords, base_ns: int) -> ExpectedEdges | None:
    """The edges of a training in s from `base_ns`; None where fewer than two are known."""
    if len(training.records) > 2:
        moments = _of_stretches(stretches_from_start(training), begun=bool(training.epochs))
        if not moments:
            moments = _of_loop(training)
    else:
        moments = _of_epochs(training)
    if len(moments) < 2:
        return None
    return sorted_edges(
        [
            ((at_ns - base_ns) / NS_PER_S, half_ns / NS_PER_S, sign, kind)
            for at_ns, half_ns, sign, kind in moments
        ]
    )


def _of_epochs(training: TrainingRecords) -> list[tuple[int, int, float, int]]:
    epochs = [epoch for epoch in training.epochs if epoch.start and epoch.end]
    if not epochs:
        return []
    first = epochs[0].start
    last = epochs[-1].end
    assert first is not None
    assert last is not None
    moments = [(last.ns, last.half_ns, _FALLS, END)]
    start = training_start(training)
    if start is None:
        moments.append((first.ns, first.half_ns, _RISES, START))
    else:
        # The first record came at the end of an epoch, which is a border like the others.
        moments.append((start.ns, start.half_ns, _RISES, START))
        moments.append((first.ns, first.half_ns, _EITHER, BORDER))
    for epoch in epochs[:-1]:
        if epoch.end is not None:
            moments.append((epoch.end.ns, epoch.end.half_ns, _EITHER, BORDER))
    return moments


def _of_loop(training: TrainingRecords) -> list[tuple[int, int, float, int]]:
    """Of a loop that logs every few steps: it began and ended within one interval of its records.

    It may have waited, compiled or evaluated there, too, so these edges are no better than that.
    """
    at, half = stretches_from_start(training).edges()
    usual_ns = usual_interval_ns(training.rate)
    if len(at) < 2 or not usual_ns:
        return []
    half_ns = usual_ns // 2
    return [
        (int(at[0]), int(half[0]) + half_ns, _RISES, START),
        (int(at[-1]) + half_ns, half_ns, _FALLS, END),
    ]


def _of_stretches(stretches: Stretches, *, begun: bool) -> list[tuple[int, int, float, int]]:
    """`begun`: the records contain when the training began, not only its first record."""
    at, half = stretches.edges()
    # A loop that logs every few steps began before its first record and ended after its last one.
    if len(at) < (2 if begun else 4):
        return []
    if begun:
        open_ns = 0
    else:
        open_ns = round(_OPEN_SHARE * int(at[-1] - at[0]))
    moments = [
        (int(at[0]), int(half[0]) + open_ns, _RISES, START),
        (int(at[-1]), int(half[-1]) + open_ns, _FALLS, END),
    ]
    row = stretches.start.searchsorted(at[1:-1], side="right") - 1
    after = stretches.kind[row]
    before = stretches.kind[(row - 1).clip(0)]
    trains = KINDS.index(TRAINING)
    for index in range(len(row)):
        sign = _EITHER
        if after[index] == trains:
            sign = _RISES
        elif before[index] == trains:
            sign = _FALLS
        moments.append((int(at[index + 1]), int(half[index + 1]), sign, BORDER))
    return moments

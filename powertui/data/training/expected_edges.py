"""The moments at which a training changes what it does, for `edge_costs`: seconds from any zero.

Where only epochs are recorded, these are its start, the ends of its epochs and its end; where every
few batches are, also validation and pauses.
"""

from __future__ import annotations

from dataclasses import replace

from powertui.data.energy import settings
from powertui.data.energy.edge_costs import (
    BORDER,
    END,
    START,
    ExpectedEdges,
    sorted_edges,
)
from powertui.data.model import NS_PER_S
from powertui.data.training import epoch_scalars
from powertui.data.training.stretches import KINDS, TRAINING, Stretches
from powertui.data.training.training_records import TrainingRecords
from powertui.data.training.training_start import (
    stretches_from_start,
    training_start,
    usual_interval_ns,
)
from powertui.named_tuples import NamedTuple

# Of what lies between the first and last record: so long before and after them it may have run.
# Chosen, not measured.
_OPEN_SHARE = settings.MINOR_SHARE
# Power rises and falls as steps begin and end; what else changes may do either.
_RISES = 1.0
_FALLS = -1.0
_EITHER = 0.0


class _Change(NamedTuple):
    """A moment at which power may rise or fall."""

    at_ns: int  # Unix time
    half_ns: int
    sign: float
    kind: int  # START, BORDER or END


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
    edges = []
    for change in moments:
        seconds = (change.at_ns - base_ns) / NS_PER_S
        edges.append((seconds, change.half_ns / NS_PER_S, change.sign, change.kind))
    known = sorted_edges(edges)
    if len(training.records) > 2 or not epoch_scalars.has_validation(training.strips):
        return known
    return replace(known, ends_validation=True)


def _of_epochs(training: TrainingRecords) -> list[_Change]:
    epochs = [epoch for epoch in training.epochs if epoch.start and epoch.end]
    if not epochs:
        return []
    first = epochs[0].start
    last = epochs[-1].end
    assert first is not None
    assert last is not None
    moments = [
        _Change(
            at_ns=last.ns,
            half_ns=last.half_ns,
            sign=_FALLS,
            kind=END,
        )
    ]
    start = training_start(training)
    if start is None:
        moments.append(
            _Change(
                at_ns=first.ns,
                half_ns=first.half_ns,
                sign=_RISES,
                kind=START,
            )
        )
    else:
        # The first record came at the end of an epoch, which is a border like the others.
        moments.append(
            _Change(
                at_ns=start.ns,
                half_ns=start.half_ns,
                sign=_RISES,
                kind=START,
            )
        )
        moments.append(
            _Change(
                at_ns=first.ns,
                half_ns=first.half_ns,
                sign=_EITHER,
                kind=BORDER,
            )
        )
    for epoch in epochs[:-1]:
        if epoch.end is not None:
            moments.append(
                _Change(
                    at_ns=epoch.end.ns,
                    half_ns=epoch.end.half_ns,
                    sign=_EITHER,
                    kind=BORDER,
                )
            )
    return moments


def _of_loop(training: TrainingRecords) -> list[_Change]:
    """Of a loop that logs every few steps: it began and ended within one interval of its records.

    It may have waited, compiled or evaluated there, too, so these edges are no better than that.
    """
    at, half = stretches_from_start(training).edges()
    usual_ns = usual_interval_ns(training.rate)
    if len(at) < 2 or not usual_ns:
        return []
    half_ns = usual_ns // 2
    return [
        _Change(
            at_ns=int(at[0]),
            half_ns=int(half[0]) + half_ns,
            sign=_RISES,
            kind=START,
        ),
        _Change(
            at_ns=int(at[-1]) + half_ns,
            half_ns=half_ns,
            sign=_FALLS,
            kind=END,
        ),
    ]


def _of_stretches(stretches: Stretches, *, begun: bool) -> list[_Change]:
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
        _Change(
            at_ns=int(at[0]),
            half_ns=int(half[0]) + open_ns,
            sign=_RISES,
            kind=START,
        ),
        _Change(
            at_ns=int(at[-1]),
            half_ns=int(half[-1]) + open_ns,
            sign=_FALLS,
            kind=END,
        ),
    ]
    borders = at[1:-1]
    row = stretches.start.searchsorted(borders, side="right") - 1
    trains = stretches.kind == KINDS.index(TRAINING)
    trains_after = trains[row].tolist()
    trains_before = trains[(row - 1).clip(0)].tolist()
    for number, (at_ns, half_ns) in enumerate(
        zip(borders.tolist(), half[1:-1].tolist(), strict=True)
    ):
        sign = _EITHER
        if trains_after[number]:
            sign = _RISES
        elif trains_before[number]:
            sign = _FALLS
        moments.append(
            _Change(
                at_ns=at_ns,
                half_ns=half_ns,
                sign=sign,
                kind=BORDER,
            )
        )
    return moments

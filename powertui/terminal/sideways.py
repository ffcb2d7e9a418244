"""Which columns of a screen have moved sideways, and how far: what a pan does to a timeline, with
panes beside it that stand still.

All rows of a pan move by the same distance within the same columns, and some cells beside them
change as well: the time of the cursor, the facts of a step. So rows and columns vote. For every
distance each column says how many cells it would spare, and the stretch of columns that spares
most, with what its new columns cost, is what moved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from powertui.terminal.cells import UNKNOWN, CellCodes

_MAX_SLIDE_CELLS = 64
_SAMPLE = 12  # rows that vote on the distance; all of them vote on the columns
_MIN_VOTE_CELLS = 24  # a row with fewer changed cells has no vote
_NOWHERE = UNKNOWN - 1  # beside the screen: like nothing that can stand on it


class Slide(NamedTuple):
    """The cells of the columns [left, right) have moved. Positive: to the left."""

    left: int
    right: int
    by: int


def find_move(target: CellCodes, shown: CellCodes, differs: npt.NDArray[np.bool_]) -> Slide | None:
    """What moved between two pictures; None when writing is cheaper wherever one looks."""
    heavy = np.flatnonzero(differs.sum(axis=1) >= _MIN_VOTE_CELLS)
    if not len(heavy):
        return None
    sample = (
        heavy
        if len(heavy) <= _SAMPLE
        else heavy[np.linspace(0, len(heavy) - 1, _SAMPLE).astype(int)]
    )
    distances = np.arange(-_MAX_SLIDE_CELLS, _MAX_SLIDE_CELLS + 1)
    gains = _spared(target[sample], shown[sample], differs[sample], distances)
    sums = np.cumsum(gains, axis=1)
    best = (sums - np.minimum(np.minimum.accumulate(sums, axis=1), 0)).max(axis=1) - np.abs(
        distances
    ) * len(sample)
    best[_MAX_SLIDE_CELLS] = 0  # not moved
    by = int(distances[np.argmax(best)])
    if not by:
        return None
    start, stop = _best_stretch(
        _spared(target[heavy], shown[heavy], differs[heavy], np.array([by]))[0]
    )
    left, right = (start, stop + by) if by > 0 else (start + by, stop)
    # Columns at the edge of the screen come from nowhere: they spare nothing and are never part of
    # the stretch.
    return Slide(left, right, by) if 0 <= left < right <= target.shape[1] else None


def _spared(
    target: CellCodes,
    shown: CellCodes,
    differs: npt.NDArray[np.bool_],
    distances: npt.NDArray[np.intp],
) -> npt.NDArray[np.int64]:
    """[distance, column]: how many cells of a column need not be written if they come from so far
    to the right.
    """
    beside = np.full((len(shown), _MAX_SLIDE_CELLS), _NOWHERE, np.int64)
    width = target.shape[1]
    around = np.concatenate((beside, shown, beside), axis=1)
    wrong = np.empty((len(distances), width), np.int64)
    for index, by in enumerate(distances.tolist()):
        wrong[index] = (
            target != around[:, _MAX_SLIDE_CELLS + by : _MAX_SLIDE_CELLS + by + width]
        ).sum(axis=0)
    spared: npt.NDArray[np.int64] = differs.sum(axis=0) - wrong
    return spared


def _best_stretch(gains: npt.NDArray[np.int64]) -> tuple[int, int]:
    """The stretch of columns that spares most."""
    sums = np.concatenate(([0], np.cumsum(gains)))
    lowest = np.minimum.accumulate(sums)
    stop = int(np.argmax(sums - lowest))
    return int(np.flatnonzero(sums[: stop + 1] == lowest[stop])[-1]), stop

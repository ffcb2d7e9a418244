"""Which columns of a screen have moved sideways, and how far: what a pan does to a timeline, with
panes beside it that stand still.

All rows of a pan move by the same distance within the same columns, and some cells beside them
change as well: the time of the cursor, the facts of a step. So rows and columns vote. For every
distance each column says how many cells it would spare, and the stretch of columns that spares
most, with what its new columns cost, is what moved.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from powertui.named_tuples import NamedTuple
from powertui.terminal.cells import UNKNOWN, CellCodes

_MAX_SLIDE_CELLS = 64  # what moved further is drawn again
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
    changed_cells = differs.sum(axis=1)
    voters = np.flatnonzero(changed_cells >= _MIN_VOTE_CELLS)
    if not len(voters):
        return None
    by = _likely_distance(target, shown, differs, voters)
    if not by:
        return None
    gains = _spared(target[voters], shown[voters], differs[voters], np.array([by]))[0]
    start, stop = _best_stretch(gains)
    left = min(start, start + by)
    right = max(stop, stop + by)
    # Columns at the edge of the screen come from nowhere: they spare nothing and are never part of
    # the stretch.
    if 0 <= left < right <= target.shape[1]:
        return Slide(left=left, right=right, by=by)
    return None


def _likely_distance(
    target: CellCodes,
    shown: CellCodes,
    differs: npt.NDArray[np.bool_],
    voters: npt.NDArray[np.intp],
) -> int:
    """The distance that spares most cells in a sample of rows; 0 where none spares any."""
    sample = voters
    if len(voters) > _SAMPLE:
        sample = voters[np.linspace(0, len(voters) - 1, _SAMPLE).astype(int)]
    distances = np.arange(-_MAX_SLIDE_CELLS, _MAX_SLIDE_CELLS + 1)
    gains = _spared(target[sample], shown[sample], differs[sample], distances)
    # Of each distance the stretch of columns that spares most, less what its new columns cost.
    sums = np.cumsum(gains, axis=1)
    lowest = np.minimum(np.minimum.accumulate(sums, axis=1), 0)
    new_cells = np.abs(distances) * len(sample)
    best = (sums - lowest).max(axis=1) - new_cells
    best[_MAX_SLIDE_CELLS] = 0  # not moved
    return int(distances[np.argmax(best)])


def _spared(
    target: CellCodes,
    shown: CellCodes,
    differs: npt.NDArray[np.bool_],
    distances: npt.NDArray[np.intp],
) -> npt.NDArray[np.int64]:
    """[distance, column]: how many cells of a column need not be written if they come from so far
    to the right.
    """
    width = target.shape[1]
    margin = np.full((len(shown), _MAX_SLIDE_CELLS), _NOWHERE, np.int64)
    padded = np.concatenate((margin, shown, margin), axis=1)
    wrong = np.empty((len(distances), width), np.int64)
    for index, by in enumerate(distances.tolist()):
        first = _MAX_SLIDE_CELLS + by
        moved = padded[:, first : first + width]
        wrong[index] = (target != moved).sum(axis=0)
    spared: npt.NDArray[np.int64] = differs.sum(axis=0) - wrong
    return spared


def _best_stretch(gains: npt.NDArray[np.int64]) -> tuple[int, int]:
    """The stretch of columns that spares most."""
    sums = np.concatenate(([0], np.cumsum(gains)))
    lowest = np.minimum.accumulate(sums)
    stop = int(np.argmax(sums - lowest))
    sums_before = sums[: stop + 1]
    starts = np.flatnonzero(sums_before == lowest[stop])
    return int(starts[-1]), stop

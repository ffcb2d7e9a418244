"""One row of the screen from what it shows to what it should show, in the fewest bytes.

Only cells that differ are written. What lies between two of them is hopped over, or written again
where that is shorter: to hop costs three or four bytes, a cell one to three and whatever its
colors cost. A row that moved sideways is moved by "delete n characters" and "insert n characters"
first. Nothing here relies on what a terminal puts into cells that it makes free: they are written
in any case.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from powertui.terminal.cells import (
    CODE_MASK,
    FIRST_CLUSTER,
    LOOK_SHIFT,
    SPACE,
    TAIL,
    UNKNOWN,
    CellCodes,
)
from powertui.terminal.sgr import Pens
from powertui.terminal.sideways import Slide

# More cells than this are never written again: a hop costs at most four bytes.
_MAX_REWRITTEN_CELLS = 4


class RowWriter:
    """Writes the cells of one row. `pen` is the look that the terminal writes with."""

    def __init__(
        self,
        pens: Pens,
        clusters: Sequence[str],
        y: int,
        target: CellCodes,
        pen: int,
    ) -> None:
        self._pens = pens
        self._y = y
        self._target = target
        self._old_pen = self._pen = pen
        self._at = -1  # the cursor's column; -1: somewhere else
        self._parts: list[str] = []
        codes = target & CODE_MASK
        self._blank = (codes == SPACE).tolist()
        self._looks: list[int] = (target >> LOOK_SHIFT).tolist()
        self._text: str | list[str]
        if int(codes.max(initial=0)) < FIRST_CLUSTER:
            self._text = codes.astype(np.uint32).tobytes().decode("utf-32-le", "replace")
        else:
            self._text = [
                chr(code) if code < FIRST_CLUSTER else clusters[code - FIRST_CLUSTER]
                for code in codes.tolist()
            ]

    def write(self, shown: CellCodes, move: Slide | None) -> tuple[str, int]:
        """What brings the row up to date, the shorter way, and the pen afterwards."""
        # What is not known counts as wide: all its bits are set.
        shows_wide = bool(((shown & CODE_MASK) >= TAIL).any())
        if shows_wide or not isinstance(self._text, str):
            # A move may cut wide characters in half: such rows are written in place.
            return self._written(_changed(self._target, shown))
        in_place = np.flatnonzero(self._target != shown)
        if move is None:
            return self._written(in_place)
        after_move = np.flatnonzero(self._target != _moved(shown, move))
        if len(after_move) >= len(in_place):
            return self._written(in_place)
        moved = self._moved(after_move, move)
        if 2 * len(after_move) < len(in_place):
            return moved
        written = self._written(in_place)
        if len(written[0].encode()) < len(moved[0].encode()):
            return written
        return moved

    def _written(self, changed: npt.NDArray[np.intp]) -> tuple[str, int]:
        """The cells that differ, where they stand."""
        self._cells(changed.tolist(), 0, len(self._target))
        return self._done()

    def _moved(self, after: npt.NDArray[np.intp], move: Slide) -> tuple[str, int]:
        """A stretch of cells moved, and the cells that differ then.

        What lies right of the stretch keeps its place: it moves there and back.
        """
        left, right, by = move
        count = abs(by)
        width = len(self._target)
        changed: list[int] = after.tolist()
        self._cells(changed, 0, left)
        if by > 0:  # delete on the left, make room again on the right
            self._go(left)
            self._parts.append(f"\x1b[{count}P")
            self._cells(changed, left, right - count)
            if right < width:
                self._go(right - count)
                self._parts.append(f"\x1b[{count}@")
            self._cells(changed, right - count, width)
        else:  # first take the cells away that would be pushed into the neighbor, then push
            if right < width:
                self._go(right - count)
                self._parts.append(f"\x1b[{count}P")
            self._go(left)
            self._parts.append(f"\x1b[{count}@")
            self._cells(changed, left, width)
        return self._done()

    def _done(self) -> tuple[str, int]:
        text = "".join(self._parts)
        pen = self._pen
        self._parts = []
        self._at = -1
        self._pen = self._old_pen
        return text, pen

    # ── pieces ───────────────────────────────────────────────────────────────────────────────────

    def _cells(self, changed: list[int], start: int, stop: int) -> None:
        """Write the changed cells among columns [start, stop)."""
        index = bisect_left(changed, start)
        end = bisect_left(changed, stop)
        while index < end:
            first = last = changed[index]
            while index < end and changed[index] == last:
                index += 1
                last += 1
            self._reach(first)
            self._pen = self._put(self._parts, first, last, self._pen)
            self._at = last

    def _reach(self, x: int) -> None:
        """Bring the cursor to a cell on its right: by a hop, or by writing again what lies
        between.
        """
        gap = x - self._at
        if self._at >= 0 and 0 < gap <= _MAX_REWRITTEN_CELLS:
            parts: list[str] = []
            pen = self._put(parts, self._at, x, self._pen)
            rewritten = sum(len(part.encode()) for part in parts) + self._step_bytes(pen, x)
            hop = 3 if gap == 1 else 4  # the sequence with or without its number
            if rewritten <= hop + self._step_bytes(self._pen, x):
                self._parts += parts
                self._pen = pen
                self._at = x
                return
        self._go(x)

    def _step_bytes(self, pen: int, x: int) -> int:
        """How many bytes it takes to write a cell in its look after this pen."""
        sequence, _ = self._pens.step(pen, self._looks[x], self._blank[x])
        return len(sequence)

    def _go(self, x: int) -> None:
        """Bring the cursor to a column."""
        gap = x - self._at
        # Behind the last column terminals disagree where the cursor is.
        if self._at < 0 or self._at >= len(self._target):
            self._parts.append(f"\x1b[{self._y + 1};{x + 1}H")
        elif gap:
            direction = "C" if gap > 0 else "D"
            if abs(gap) == 1:
                distance = ""
            else:
                distance = str(abs(gap))
            self._parts.append(f"\x1b[{distance}{direction}")
        self._at = x

    def _put(self, parts: list[str], start: int, stop: int, pen: int) -> int:
        looks = self._looks
        blank = self._blank
        text = self._text
        step = self._pens.step
        first = start
        while first < stop:
            look = looks[first]
            empty = blank[first]
            last = first + 1
            while last < stop and looks[last] == look and blank[last] == empty:
                last += 1
            change, pen = step(pen, look, empty)
            if change:
                parts.append(change)
            piece = text[first:last]
            parts.append(piece if isinstance(piece, str) else "".join(piece))
            first = last
        return pen


def _moved(shown: CellCodes, move: Slide) -> CellCodes:
    """A row after a move.

    What comes free is not known: terminals fill it with one background or another.
    """
    left, right, by = move
    count = abs(by)
    row: CellCodes = shown.copy()
    if by > 0:
        row[left : right - count] = shown[left + count : right]
        row[right - count : right] = UNKNOWN
    else:
        row[left + count : right] = shown[left : right - count]
        row[left : left + count] = UNKNOWN
    return row


def _changed(target: CellCodes, shown: CellCodes) -> npt.NDArray[np.intp]:
    """Columns that differ; of a wide character both, as it is written whole."""
    mask = target != shown
    for cells in (target, shown):
        is_tail = (cells >= 0) & ((cells & CODE_MASK) == TAIL)
        tails = np.flatnonzero(is_tail[1:]) + 1
        heads = tails - 1
        is_touched = mask[tails] | mask[heads]
        mask[tails[is_touched]] = True
        mask[heads[is_touched]] = True
    return np.flatnonzero(mask)

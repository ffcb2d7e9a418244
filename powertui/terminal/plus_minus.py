"""A plus-minus sign in ASCII: two cells, "+-", where the screen was laid out for one.

"+" alone would make "2.617 kJ ±16 J" a different statement. The second cell is taken from blank
space in the same row, so that columns further right stay where they are.
"""

from __future__ import annotations

import numpy as np

from powertui.terminal.cells import CODE_MASK, SPACE, CellCodes

_SIGN = ord("±")
_BORDER = ord("|")  # what stands behind it is of another panel


def has_sign(cells: CellCodes) -> bool:
    """Whether any of these cells holds the sign."""
    return bool(((cells & CODE_MASK) == _SIGN).any())


def spell_out(row: CellCodes) -> None:
    """Write every sign of a row as "+-", in place."""
    # The last one first: making room moves only what stands behind a sign.
    for place in np.flatnonzero((row & CODE_MASK) == _SIGN)[::-1].tolist():
        look = row[place] & ~CODE_MASK
        plus = look | ord("+")
        minus = look | ord("-")
        codes = (row & CODE_MASK).tolist()
        free = _free_cell(codes, place)
        if free is None:
            row[place] = plus
        elif free < place:
            row[free : place + 1] = plus, minus
        else:
            row[place + 2 : free + 1] = row[place + 1 : free].copy()
            row[place : place + 2] = plus, minus


def _free_cell(codes: list[int], place: int) -> int | None:
    """The blank that the second cell may take, or None where the row is full.

    Best is a blank that parts nothing: one of several, or the last before a border. Then the blank
    around the sign ("± 16" and " ±16" stay readable as "+-16"), then the next one ("+-5s").
    """
    end = len(codes)
    for border in range(place + 1, end):
        if codes[border] == _BORDER:
            end = border
            break
    blanks = [column for column in range(place + 1, end) if codes[column] == SPACE]
    for column in blanks:
        if column + 1 == end or codes[column + 1] == SPACE:
            return column
    if place and codes[place - 1] == SPACE and place + 1 not in blanks:
        return place - 1
    return blanks[0] if blanks else None

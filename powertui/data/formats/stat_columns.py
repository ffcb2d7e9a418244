"""Stat columns from texts: what JSON and `ref` stats hold.

Numbers written as text come out as numbers too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.model import Floats, Int64s, StatColumn

_MASK64 = (1 << 64) - 1


def number(text: str) -> tuple[int, float] | None:
    """A text as (int64, float): (0, value) when it is no whole number, None when it is none at all.

    TensorFlow writes ids above 2**63 unsigned; like protobuf's uint64 they wrap.
    """
    if not text or len(text) > 40 or text[-1] not in "0123456789.":
        return None
    try:
        integer = int(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            return None
        return (int(value) if value.is_integer() and abs(value) < 1 << 62 else 0), value
    return wrap(integer), float(integer)


def wrap(value: int) -> int:
    """A whole number as int64, the way uint64 values wrap."""
    value &= _MASK64
    return value - (1 << 64) if value >> 63 else value


def empty(rows: int) -> tuple[Int64s, Floats]:
    """The numbers of a column in which nothing is known yet."""
    return np.zeros(rows, np.int64), np.full(rows, np.nan)


def absent(rows: int) -> StatColumn:
    """The column of a stat that no event has."""
    ints, floats = empty(rows)
    return StatColumn(np.zeros(rows, np.bool_), ints, floats, None)


class Filler:
    """A column that is filled part by part."""

    def __init__(self, rows: int) -> None:
        self._present = np.zeros(rows, np.bool_)
        self._ints, self._floats = empty(rows)
        self._texts: np.ndarray[tuple[int], np.dtype[np.object_]] | None = None

    def put(self, rows: slice | Int64s, part: StatColumn) -> None:
        """These rows are known now."""
        self._present[rows], self._ints[rows], self._floats[rows] = (
            part.present,
            part.ints,
            part.floats,
        )
        if part.texts is not None:
            if self._texts is None:
                self._texts = np.full(len(self._present), None, object)
            self._texts[rows] = part.texts

    def column(self) -> StatColumn:
        """The whole column."""
        return StatColumn(
            self._present,
            self._ints,
            self._floats,
            None if self._texts is None else self._texts.tolist(),
        )


def from_texts(texts: Sequence[str | None]) -> StatColumn:
    """A column of texts; None where a row has none."""
    ints, floats = empty(len(texts))
    present = np.zeros(len(texts), np.bool_)
    for row, text in enumerate(texts):
        if text is not None:
            present[row] = True
            parsed = number(text)
            if parsed is not None:
                ints[row], floats[row] = parsed
    return StatColumn(present, ints, floats, texts)

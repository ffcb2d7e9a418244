"""Stat columns from texts: what JSON and `ref` stats hold.

Numbers written as text come out as numbers too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from powertui.data import wire
from powertui.data.model import Floats, Int32s, Int64s, StatColumn, UInt8s

Objects: TypeAlias = npt.NDArray[np.object_]

_MASK64 = (1 << 64) - 1
_MAX_NUMBER_CHARS = 40  # more than any writer needs for a double; chosen, not measured


def number(text: str) -> tuple[int, float] | None:
    """A text as (int64, float): (0, value) when it is no whole number, None when it is none at all.

    TensorFlow writes ids above 2**63 unsigned; like protobuf's uint64 they wrap.
    """
    if not text or len(text) > _MAX_NUMBER_CHARS:
        return None
    if text[-1] not in "0123456789.":
        return None
    try:
        integer = int(text)
        return wrap(integer), float(integer)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    if value.is_integer() and abs(value) < 1 << 62:
        return int(value), value
    return 0, value


def wrap(value: int) -> int:
    """A whole number as int64, the way uint64 values wrap."""
    value &= _MASK64
    if value >> 63:
        return value - (1 << 64)
    return value


def empty(rows: int) -> tuple[Int64s, Floats]:
    """The numbers of a column in which nothing is known yet."""
    ints = np.zeros(rows, np.int64)
    floats = np.full(rows, np.nan)
    return ints, floats


def absent(rows: int) -> StatColumn:
    """The column of a stat that no event has."""
    ints, floats = empty(rows)
    return StatColumn(np.zeros(rows, np.bool_), ints, floats, None)


class RepeatedTexts:
    """Texts that come again and again, each once."""

    def __init__(self) -> None:
        self.texts: Objects = np.empty(0, object)

    def add(self, texts: Sequence[str]) -> None:
        """Some more of them."""
        more = np.array(texts, object)
        self.texts = np.append(self.texts, more)


class PooledTexts(Sequence[str | None]):
    """A column of texts as places in a pool; -1 for None.

    Millions of rows hold a handful of texts: who can do with the places makes no list of them.
    """

    def __init__(self, pool: RepeatedTexts, slots: Int32s) -> None:
        self.pool = pool
        self.slots = slots

    @cached_property
    def _list(self) -> list[str | None]:
        by_slot: list[str | None] = [*self.pool.texts.tolist(), None]
        return [by_slot[slot] for slot in self.slots.tolist()]

    def __len__(self) -> int:
        return len(self.slots)

    def __iter__(self) -> Iterator[str | None]:
        return iter(self._list)

    @overload
    def __getitem__(self, row: int) -> str | None: ...
    @overload
    def __getitem__(self, row: slice) -> list[str | None]: ...
    def __getitem__(self, row: int | slice) -> str | list[str | None] | None:
        return self._list[row]

    def count(self, value: str | None) -> int:
        """How many rows hold this text."""
        if value is None:
            return int(np.count_nonzero(self.slots < 0))
        return self._list.count(value)


class Filler:
    """A column that is filled part by part."""

    def __init__(self, rows: int) -> None:
        self._present = np.zeros(rows, np.bool_)
        self._ints, self._floats = empty(rows)
        self._texts: Objects | None = None
        self._pooled: PooledTexts | None = None  # as long as all texts come from one pool

    def put(self, rows: slice | Int64s, part: StatColumn) -> None:
        """These rows are known now."""
        self._present[rows] = part.present
        self._ints[rows] = part.ints
        self._floats[rows] = part.floats
        if part.texts is not None:
            self._put_texts(rows, part.texts)

    def put_numbers(self, rows: slice | Int64s, kind: UInt8s, bits: Int64s) -> None:
        """Values of these rows, as `wire.scan_stats` gives them: which there are, and numbers."""
        if isinstance(rows, slice):
            wire.put_numbers(
                kind,
                bits,
                None,
                self._present[rows],
                self._ints[rows],
                self._floats[rows],
            )
        else:
            wire.put_numbers(kind, bits, rows, self._present, self._ints, self._floats)

    def put_texts(
        self,
        rows: Int64s,
        texts: Objects,
        ints: Int64s,
        floats: Floats,
    ) -> None:
        """These rows hold texts, and the numbers that these stand for."""
        self._put_texts(rows, texts)
        self._ints[rows] = ints
        self._floats[rows] = floats

    def put_pooled(
        self,
        rows: Int64s,
        pool: RepeatedTexts,
        slots: Int64s,
        ints: Int64s,
        floats: Floats,
    ) -> None:
        """The same of texts that are in a pool."""
        if self._texts is not None:
            self._texts[rows] = pool.texts[slots]
        else:
            if self._pooled is None:
                no_text = np.full(len(self._present), -1, np.int32)
                self._pooled = PooledTexts(pool, no_text)
            self._pooled.slots[rows] = slots
        self._ints[rows] = ints
        self._floats[rows] = floats

    def _put_texts(self, rows: slice | Int64s, texts: Objects | Sequence[str | None]) -> None:
        if self._texts is None:
            self._texts = np.full(len(self._present), None, object)
            if self._pooled is not None:
                self._texts[:] = list(self._pooled)
                self._pooled = None
        self._texts[rows] = texts

    def column(self) -> StatColumn:
        """The whole column."""
        texts: Sequence[str | None] | None = self._pooled
        if self._texts is not None:
            texts = self._texts.tolist()
        return StatColumn(self._present, self._ints, self._floats, texts)


def from_texts(texts: Sequence[str | None]) -> StatColumn:
    """A column of texts; None where a row has none."""
    row_count = len(texts)
    ints, floats = empty(row_count)
    present = np.zeros(row_count, np.bool_)
    for row, text in enumerate(texts):
        if text is None:
            continue
        present[row] = True
        parsed = number(text)
        if parsed is not None:
            ints[row], floats[row] = parsed
    return StatColumn(present, ints, floats, texts)


class TextColumns:
    """Columns of stats that come value by value; of a value that comes again the last counts."""

    def __init__(self, names: Iterable[str], rows: int) -> None:
        self._texts: dict[str, list[str | None]] = {}
        self._floats: dict[str, list[tuple[int, float]]] = {}
        for name in names:
            self._texts[name] = [None] * rows
            self._floats[name] = []

    def lacks(self, row: int, name: str) -> bool:
        """Whether this stat is one of the columns, and not known of this row."""
        texts = self._texts.get(name)
        return texts is not None and texts[row] is None

    def put(self, row: int, name: str, value: Any, text: str) -> None:
        """This stat of this row is known now."""
        self._texts[name][row] = text
        if isinstance(value, float):
            self._floats[name].append((row, value))

    def columns(self) -> dict[str, StatColumn]:
        """All of them, by name."""
        columns = {}
        for name, texts in self._texts.items():
            column = from_texts(texts)
            # The exact value: the text of a float is rounded, and infinities have no number.
            for row, value in self._floats[name]:
                column.floats[row] = value
            columns[name] = column
        return columns

"""Columns of a comparison: numbers whose unit differs from row to row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.columns import Column, floats_or_nan
from powertui.data.model import Int64s
from powertui.plain import width
from powertui.value_types import dataclass
from powertui.view.table_rows import ALWAYS

_SORT_ARROW_CELLS = 2


@dataclass(frozen=True, eq=False)
class _WordedNumbers(Column):
    """Numbers with their words: they sort and are copied as numbers, and are read as words."""

    words: tuple[str, ...] = ()

    def text(self, row: int, *, padded: bool = False) -> str:
        return self.words[row]

    def take(self, rows: Int64s) -> Column:
        words = tuple(self.words[row] for row in rows.tolist())
        return _WordedNumbers(
            id=self.id,
            label=self.label,
            kind=self.kind,
            values=np.asarray(self.values)[rows],
            weight=self.weight,
            cells=self.cells,
            words=words,
        )


def worded_numbers(
    id: str,
    label: str,
    values: Sequence[float | None],
    words: Sequence[str],
    weight: int,
) -> Column:
    """A column as wide as the longest of its words."""
    cells = max((width(text) for text in words), default=0)
    return _WordedNumbers(
        id=id,
        label=label,
        kind="number",
        values=floats_or_nan(values),
        weight=weight,
        cells=max(cells, width(label) + _SORT_ARROW_CELLS),
        words=tuple(words),
    )


def texts(
    id: str,
    label: str,
    values: Sequence[str],
    weight: int = ALWAYS,
) -> Column:
    """A column of words."""
    return Column(
        id=id,
        label=label,
        kind="text",
        values=tuple(values),
        weight=weight,
    )

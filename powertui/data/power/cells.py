"""The cells of a table of text: rows of equal length by column, and what a cell says as a
number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from powertui.data.model import Bools, Floats, Int64s
from powertui.data.packed import Packed

MAX_READING = 1e30  # in any unit: beyond it a cell is damaged, and a sum or a square would overflow
NUMBER = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*(?![xX])[A-Za-zµ%°]{0,6}")
_THOUSANDS = re.compile(r"\s*[-+]?\d{1,3}(?:,\d{3})+\.\d")
_POINTS = re.compile(r"\s*[-+]?\d{1,3}(?:\.\d{3})+,\d")  # 1.234,5
_COMMA = re.compile(r"([-+]?\d+),(\d+)\s*[A-Za-zµ%°]{0,6}")


def number(text: str) -> float:
    """A reading as a number, its unit dropped: "100.00 W", " 35".

    NaN when it is none ("[N/A]", "na", "ERR!").
    """
    try:
        value = float(text)
    except ValueError:
        match = NUMBER.fullmatch(text.strip())
        if match is None and _THOUSANDS.match(text):
            return number(text.replace(",", ""))
        if match is None and _POINTS.match(text):
            return number(text.replace(".", ""))
        if match is None:
            match = _COMMA.fullmatch(text.strip())
            return float(f"{match[1]}.{match[2]}") if match else float("nan")
        value = float(match[1])
    return value if abs(value) <= MAX_READING else float("nan")


@dataclass(frozen=True)
class Shape:
    """How a text is laid out: what separates its fields, where its header is."""

    delimiter: str  # "" means runs of blanks
    names: tuple[str, ...]  # "column 1" … when there is no header
    first: int  # index of the first line of data
    named: bool  # the file itself names its columns
    above: tuple[str, ...] = ()  # the lines above the header: titles and comments


@dataclass(eq=False)
class FileCells:
    """Rows of equal length. Irregular ones were counted in the notes that `read` was given."""

    names: tuple[str, ...]
    lines: Int64s  # the line of the file (from 1) of each row
    columns: Sequence[Any] = field(
        repr=False
    )  # per name: a list of texts, or a packed column (or an array) of floats
    either: frozenset[int] = (
        frozenset()
    )  # columns in which 2.000 may be two as well as two thousand

    def __len__(self) -> int:
        return len(self.lines)

    def find(self, name: str) -> int | None:
        """A column by name (case and outer blanks do not matter), or by its number from 1."""
        lowered = name.strip().lower()
        for i, column_name in enumerate(self.names):
            if column_name.strip().lower() == lowered:
                return i
        if lowered.isdigit() and 1 <= int(lowered) <= len(self.names):
            return int(lowered) - 1
        return None

    def is_numeric(self, column: int) -> bool:
        """The parser already made numbers of it."""
        return isinstance(self.columns[column], np.ndarray | Packed)

    def _cells(self, column: int) -> Any:
        cells = self.columns[column]
        return cells.unpack() if isinstance(cells, Packed) else cells

    def texts(self, column: int) -> list[str]:
        """The cells as written."""
        cells = self._cells(column)
        if isinstance(cells, np.ndarray):
            return ["" if value != value else repr(float(value)) for value in cells]
        return list(cells)

    def floats(self, column: int) -> tuple[Floats, Bools]:
        """The cells as numbers, and which of them hold something that is no number.

        Empty cells are NaN and not bad.
        """
        cells = self._cells(column)
        if isinstance(cells, np.ndarray):
            beyond = np.abs(cells) > MAX_READING
            return (np.where(beyond, np.nan, cells) if beyond.any() else cells), beyond
        if any(
            "," in cell and _THOUSANDS.match(cell) for cell in cells
        ):  # 1,234.5: a comma parts no decimals here
            cells = [cell.replace(",", "") for cell in cells]
        values = np.fromiter((number(cell) for cell in cells), np.float64, len(cells))
        bad = np.isnan(values)
        for row in np.flatnonzero(bad):
            if cells[row].strip().lower() in ("", "nan", "null", "none"):
                bad[row] = False
        return values, bad

    def take(self, rows: Any) -> FileCells:
        """Some of the rows."""
        picked = np.arange(len(self))[rows]
        every = (self._cells(column) for column in range(len(self.columns)))
        columns = [
            c[picked] if isinstance(c, np.ndarray) else [c[i] for i in picked] for c in every
        ]
        return FileCells(self.names, self.lines[picked], columns, self.either)


def irregular(count: int, width: int) -> str:
    return f"has {count} field{'s' if count != 1 else ''} where the others have {width}"


def was_cut(cell: str, others: Sequence[str]) -> bool:
    """A last cell without a line end: might digits before its decimal point be missing?

    Fewer decimals change the value by nothing that matters; a cut before the point makes 24 of 245.
    """
    if not cell or (not others and re.fullmatch(r"[-+]?\d*", cell)):
        return True
    if not re.fullmatch(r"[-+]?\d*\.?\d*", cell):
        return False
    if "." in cell:
        return False
    if any("." in complete for complete in others):
        return all("." in complete for complete in others)
    return len(cell) < min(len(complete) for complete in others)

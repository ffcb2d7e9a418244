"""The cells of a table of text: rows of equal length by column, and what a cell says as a
number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from powertui.data import wire
from powertui.data.model import Bools, Floats, Int64s
from powertui.data.packed import Packed
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

MAX_READING = 1e30  # in any unit: beyond it a cell is damaged, and a sum or a square would overflow
_PROBED_ROWS = 20_000  # that show whether a column has few values; chosen, not measured
NUMBER = late_pattern(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*(?![xX])[A-Za-zµ%°]{0,6}")
# English thousands: a comma parts no decimals there.
_THOUSANDS = late_pattern(r"\s*[-+]?\d{1,3}(?:,\d{3})+\.\d")
_POINTS = late_pattern(r"\s*[-+]?\d{1,3}(?:\.\d{3})+,\d")  # 1.234,5
# Signs that part thousands and nothing else: blanks that do not break, a Swiss apostrophe.
_ONLY_THOUSANDS = late_pattern(r"(?<=\d)[\u00a0\u2009\u202f'\u2019](?=\d{3}(?!\d))")
_COMMA = late_pattern(r"([-+]?\d+),(\d+)\s*[A-Za-zµ%°]{0,6}")


def number(text: str) -> float:
    """A reading as a number, its unit dropped: "100.00 W", " 35".

    NaN when it is none ("[N/A]", "na", "ERR!").
    """
    try:
        value = float(text)
    except ValueError:
        return _number_in_words(text)
    if abs(value) <= MAX_READING:
        return value
    return float("nan")


def _number_in_words(text: str) -> float:
    """A reading with its unit, or with signs between thousands or a comma before decimals."""
    text = _ONLY_THOUSANDS.sub("", text)
    if match := NUMBER.fullmatch(text.strip()):
        return number(match[1])
    if _THOUSANDS.match(text):
        return number(text.replace(",", ""))
    if _POINTS.match(text):
        return number(text.replace(".", ""))
    if match := _COMMA.fullmatch(text.strip()):
        return float(f"{match[1]}.{match[2]}")
    return float("nan")


class CodedTexts(Sequence[str]):
    """Texts many of which are equal: each text once, and which one each row holds.

    Six million rows that name ten channels are so six million small numbers and ten texts.
    """

    def __init__(self, codes: npt.NDArray[np.signedinteger[Any]], values: Sequence[str]) -> None:
        self.codes = codes
        self.values = values  # all of them occur, in the order of their first rows

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> CodedTexts:
        """The texts of all rows, coded."""
        if isinstance(texts, CodedTexts):
            return texts
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(text, len(numbers)) for text in texts]
        return cls(np.array(codes, np.int32), list(numbers))

    @classmethod
    def in_order(
        cls,
        codes: npt.NDArray[np.signedinteger[Any]],
        values: Sequence[str],
    ) -> CodedTexts:
        """The same where values may be equal, or may not occur, or not in the order of rows."""
        occurring, first_rows = np.unique(codes, return_index=True)
        numbers: dict[str, int] = {}
        new_codes = np.zeros(len(values), np.int32)
        for code in occurring[np.argsort(first_rows)].tolist():
            new_codes[code] = numbers.setdefault(values[code], len(numbers))
        return cls(new_codes[codes], list(numbers))

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, rows: int) -> str: ...
    @overload
    def __getitem__(self, rows: slice) -> list[str]: ...
    def __getitem__(self, rows: int | slice) -> str | list[str]:
        if isinstance(rows, slice):
            return [self.values[code] for code in self.codes[rows].tolist()]
        return self.values[int(self.codes[rows])]

    def __iter__(self) -> Iterator[str]:
        return map(self.values.__getitem__, self.codes.tolist())

    def take(self, rows: Any) -> CodedTexts:
        """Some of the rows."""
        return CodedTexts.in_order(self.codes[rows], self.values)

    def where(self, values: Iterable[str]) -> Bools:
        """The rows that hold one of these texts."""
        chosen = set(values)
        is_chosen = np.array([value in chosen for value in self.values], np.bool_)
        if len(is_chosen):
            return np.asarray(is_chosen[self.codes])
        return np.zeros(0, np.bool_)


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
    lines: Int64s | Packed  # the line of the file (from 1) of each row
    columns: Sequence[Any] = field(
        repr=False
    )  # per name: texts (a list, or coded), or a packed column (or an array) of floats
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

    def texts(self, column: int) -> Sequence[str]:
        """The cells as written."""
        cells = self._cells(column)
        if isinstance(cells, np.ndarray):
            return [_written(value) for value in cells.tolist()]
        return cells if isinstance(cells, CodedTexts) else list(cells)

    def coded(self, column: int, max_values: int) -> CodedTexts | None:
        """The cells as written, coded; None where more than so many differ."""
        cells = self._cells(column)
        # Most columns of readings show at once that they name nothing.
        probe = cells[:_PROBED_ROWS]
        probed = wire.distinct(probe) if isinstance(cells, np.ndarray) else set(probe)
        if len(probed) > max_values:
            return None
        if not isinstance(cells, np.ndarray):
            coded = CodedTexts.from_texts(cells)
            return coded if len(coded.values) <= max_values else None
        numbers, codes = np.unique(cells, return_inverse=True)
        if len(numbers) > max_values:
            return None
        coded = CodedTexts.in_order(codes, [_written(value) for value in numbers.tolist()])
        return coded if len(coded.values) <= max_values else None

    def floats(self, column: int) -> tuple[Floats, Bools]:
        """The cells as numbers, and which of them hold something that is no number.

        Empty cells are NaN and not bad.
        """
        cells = self._cells(column)
        if isinstance(cells, np.ndarray):
            beyond = np.abs(cells) > MAX_READING
            if beyond.any():
                numbers = np.where(beyond, np.nan, cells)
            else:
                numbers = cells
            return numbers, beyond
        if isinstance(cells, CodedTexts):
            # Each text is read once, however many rows hold it.
            numbers, is_bad = _numbers(cells.values)
            return numbers[cells.codes], is_bad[cells.codes]
        return _numbers(cells)

    def take(self, rows: Any) -> FileCells:
        """Some of the rows."""
        picked = np.arange(len(self))[rows]
        every = (self._cells(column) for column in range(len(self.columns)))
        columns: list[Any] = []
        for cells in every:
            if isinstance(cells, np.ndarray):
                columns.append(cells[picked])
            elif isinstance(cells, CodedTexts):
                columns.append(cells.take(picked))
            else:
                columns.append([cells[row] for row in picked])
        return FileCells(self.names, self.lines[picked], columns, self.either)


def _written(value: float) -> str:
    """A number of a parsed column as text."""
    return "" if value != value else repr(value)


def _numbers(cells: Sequence[str]) -> tuple[Floats, Bools]:
    """Texts as numbers, and which of them hold something that is no number."""
    values = _plain_numbers(cells)
    if values is not None:
        return values, np.zeros(len(values), np.bool_)
    if any("," in cell and _THOUSANDS.match(cell) for cell in cells):
        # 1,234.5 somewhere: a comma parts no decimals in this column.
        cells = [cell.replace(",", "") for cell in cells]
    values = np.fromiter((number(cell) for cell in cells), np.float64, len(cells))
    is_bad = np.isnan(values)
    for row in np.flatnonzero(is_bad).tolist():
        if cells[row].strip().lower() in ("", "nan", "null", "none"):
            is_bad[row] = False
    return values, is_bad


def _plain_numbers(cells: Sequence[str]) -> Floats | None:
    """The same of texts that are all finite numbers without a unit, as nearly every column is.

    One call for the column: reading cell by cell took thirty times as long. None of others.
    """
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
    is_reading = np.abs(values) <= MAX_READING
    return values if is_reading.all() else None


def irregular(count: int, width: int) -> str:
    return f"has {count} field{'s' if count != 1 else ''} where the others have {width}"


def was_cut(cell: str, others: Sequence[str]) -> bool:
    """A last cell without a line end: might digits before its decimal point be missing?

    Fewer decimals change the value by nothing that matters; a cut before the point makes 24 of 245.
    """
    # Without other cells to compare, whole digits may be the beginning of a longer number.
    if not cell or (not others and re.fullmatch(r"[-+]?\d*", cell)):
        return True
    is_number = re.fullmatch(r"[-+]?\d*\.?\d*", cell) is not None
    if not is_number or "." in cell:
        return False
    if any("." in complete for complete in others):
        return all("." in complete for complete in others)
    return len(cell) < min(len(complete) for complete in others)


def below_header(count: int, width: int) -> str:
    """What is said of a row that does not fit its header."""
    return f"has {count} fields where the header names {width}"

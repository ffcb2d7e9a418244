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
_NO_NUMBERS = ("", "nan", "null", "none")  # cells that hold no reading, and are not bad
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
    match = NUMBER.fullmatch(text.strip())
    if match is not None:
        return number(match[1])
    if _THOUSANDS.match(text):
        return number(text.replace(",", ""))
    if _POINTS.match(text):
        return number(text.replace(".", ""))
    match = _COMMA.fullmatch(text.strip())
    if match is not None:
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
        return cls(
            np.array(codes, np.int32),
            list(numbers),
        )

    @classmethod
    def in_order(
        cls,
        codes: npt.NDArray[np.signedinteger[Any]],
        values: Sequence[str],
    ) -> CodedTexts:
        """The same where values may be equal, or may not occur, or not in the order of rows."""
        occurring, first_rows = np.unique(codes, return_index=True)
        by_first_row = np.argsort(first_rows)
        numbers: dict[str, int] = {}
        new_codes = np.zeros(len(values), np.int32)
        for code in occurring[by_first_row].tolist():
            text = values[code]
            new_codes[code] = numbers.setdefault(text, len(numbers))
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
        is_chosen = [value in chosen for value in self.values]
        if not is_chosen:
            return np.zeros(0, np.bool_)
        by_code = np.array(is_chosen, np.bool_)
        return np.asarray(by_code[self.codes])


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
        if not lowered.isdigit():
            return None
        place = int(lowered)
        if 1 <= place <= len(self.names):
            return place - 1
        return None

    def is_numeric(self, column: int) -> bool:
        """The parser already made numbers of it."""
        return isinstance(self.columns[column], np.ndarray | Packed)

    def _cells(self, column: int) -> Any:
        cells = self.columns[column]
        if isinstance(cells, Packed):
            return cells.unpack()
        return cells

    def texts(self, column: int) -> Sequence[str]:
        """The cells as written."""
        cells = self._cells(column)
        if isinstance(cells, np.ndarray):
            return _all_written(cells)
        if isinstance(cells, CodedTexts):
            return cells
        return list(cells)

    def coded(self, column: int, max_values: int) -> CodedTexts | None:
        """The cells as written, coded; None where more than so many differ."""
        cells = self._cells(column)
        is_numeric = isinstance(cells, np.ndarray)
        # Most columns of readings show at once that they name nothing.
        probe = cells[:_PROBED_ROWS]
        probed = wire.distinct(probe) if is_numeric else set(probe)
        if len(probed) > max_values:
            return None
        if is_numeric:
            numbers, codes = np.unique(cells, return_inverse=True)
            if len(numbers) > max_values:
                return None
            coded = CodedTexts.in_order(codes, _all_written(numbers))
        else:
            coded = CodedTexts.from_texts(cells)
        if len(coded.values) > max_values:
            return None
        return coded

    def floats(self, column: int) -> tuple[Floats, Bools]:
        """The cells as numbers, and which of them hold something that is no number.

        Empty cells are NaN and not bad.
        """
        cells = self._cells(column)
        if isinstance(cells, np.ndarray):
            beyond = np.abs(cells) > MAX_READING
            if not beyond.any():
                return cells, beyond
            return np.where(beyond, np.nan, cells), beyond
        if isinstance(cells, CodedTexts):
            # Each text is read once, however many rows hold it.
            numbers, is_bad = _numbers(cells.values)
            return numbers[cells.codes], is_bad[cells.codes]
        return _numbers(cells)

    def take(self, rows: Any) -> FileCells:
        """Some of the rows."""
        picked = np.arange(len(self))[rows]
        columns: list[Any] = []
        for column in range(len(self.columns)):
            cells = self._cells(column)
            if isinstance(cells, np.ndarray):
                columns.append(cells[picked])
            elif isinstance(cells, CodedTexts):
                columns.append(cells.take(picked))
            else:
                columns.append([cells[row] for row in picked])
        return FileCells(
            names=self.names,
            lines=self.lines[picked],
            columns=columns,
            either=self.either,
        )


def _written(value: float) -> str:
    """A number of a parsed column as text."""
    if value != value:
        return ""
    return repr(value)


def _all_written(values: Floats) -> list[str]:
    return list(map(_written, values.tolist()))


def _numbers(cells: Sequence[str]) -> tuple[Floats, Bools]:
    """Texts as numbers, and which of them hold something that is no number."""
    plain = _plain_numbers(cells)
    if plain is not None:
        return plain, np.zeros(len(plain), np.bool_)
    if any("," in cell and _THOUSANDS.match(cell) for cell in cells):
        # 1,234.5 somewhere: a comma parts no decimals in this column.
        cells = [cell.replace(",", "") for cell in cells]
    values = np.fromiter(map(number, cells), np.float64, len(cells))
    is_bad = np.isnan(values)
    for row in np.flatnonzero(is_bad).tolist():
        lowered = cells[row].strip().lower()
        if lowered in _NO_NUMBERS:
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
    if is_reading.all():
        return values
    return None


def irregular(count: int, width: int) -> str:
    plural = "s" if count != 1 else ""
    return f"has {count} field{plural} where the others have {width}"


def was_cut(cell: str, others: Sequence[str]) -> bool:
    """A last cell without a line end: might digits before its decimal point be missing?

    Fewer decimals change the value by nothing that matters; a cut before the point makes 24 of 245.
    """
    if not cell:
        return True
    # Without other cells to compare, whole digits may be the beginning of a longer number.
    if not others and re.fullmatch(r"[-+]?\d*", cell):
        return True
    is_number = re.fullmatch(r"[-+]?\d*\.?\d*", cell)
    if not is_number or "." in cell:
        return False
    have_points = ["." in complete for complete in others]
    if any(have_points):
        return all(have_points)
    return len(cell) < min(map(len, others))


def below_header(count: int, width: int) -> str:
    """What is said of a row that does not fit its header."""
    return f"has {count} fields where the header names {width}"

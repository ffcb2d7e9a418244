"""Columns: the values of a table or of one fact, how they sort, and how a person and a program read
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from powertui import units
from powertui.data.model import PS_PER_S, PS_PER_US, Bools, Floats, Int64s
from powertui.data.quantiles import median_of_column
from powertui.value_types import dataclass

# What the values of a column are. It decides how they read, how they sort and where they stand:
#   text      names and words
#   integer   counts and numbers that are not added up alike
#   number    a quantity with `unit`
#   duration  a length of time, ps
#   instant   a moment on the trace's clock, ps
#   share     a part of a whole, 0 to 1
#   flag      yes or no
ColumnKind: TypeAlias = Literal["text", "integer", "number", "duration", "instant", "share", "flag"]
_NUMERIC: frozenset[ColumnKind] = frozenset(("integer", "number", "duration", "instant", "share"))
TIMES: frozenset[ColumnKind] = frozenset(("duration", "instant"))
_MAX_ASKED_TEXTS = 1000  # of a column, whether it has any
_INSTANT_RESOLUTION_PS = 1_000_000_000  # a moment by itself has three decimals of a second
# So many moments of a column say how far they are apart. Chosen: sorting them takes a millisecond.
_MAX_ASKED_MOMENTS = 10_000
Value: TypeAlias = "str | int | float | bool | None"
_Row = TypeVar("_Row")


@dataclass(frozen=True, eq=False)
class Column:
    """One column.

    `id` is its stable name in JSON, CSV and DataFrames, where times are seconds: ids of times end
    in `_s`.
    """

    id: str
    label: str  # what stands above it for a person
    kind: ColumnKind
    values: Sequence[Any] | npt.NDArray[Any]  # texts may be looked up as they are asked for
    # of a number: "W", "J", "B"; of a time as programs read it: "us", "ms", else s; of a share:
    # "%", else 0 to 1
    unit: str = ""
    # None: every row has a value (NaN and empty texts are missing all the same)
    present: Bools | None = None
    # what a narrow screen leaves out first: the smallest. 9 always stays, 0 is for programs alone
    weight: int = 1
    # its label for programs, where TensorBoard's table has one: "Total Duration (us)"
    head: str = ""
    signed: bool = False  # a difference: a person reads its plus sign, too
    faint: Bools | None = None  # rows whose words stand for a value that nobody looked up: dim
    # of words that do not sort by their letters: what their rows sort by; NaN is missing
    ranks: Floats | None = None
    cells: int = 0  # how wide it is drawn; 0: as its kind and its values need

    def __len__(self) -> int:
        return len(self.values)

    @property
    def numeric(self) -> bool:
        """Whether it stands right-aligned and sorts downwards first."""
        return self.kind in _NUMERIC

    @cached_property
    def unknown(self) -> bool:
        """Whether not one row has a value, as far as the column itself tells without looking at
        texts.
        """
        if self.present is not None:
            return not self.present.any()
        values = self.values
        if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
            return False
        return bool(len(values)) and bool(np.isnan(values).all())

    @cached_property
    def wordless(self) -> bool:
        """Whether it is of texts, and not one of its rows has any; a long one is not asked."""
        if self.kind != "text" or not 0 < len(self) <= _MAX_ASKED_TEXTS:
            return False
        return not any(self.values)

    @cached_property
    def known_share(self) -> float:
        """The part of the rows that have a value, as far as the column itself tells: else 1."""
        if not len(self):
            return 1.0
        if self.present is not None:
            return float(self.present.mean())
        values = self.values
        if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
            return 1.0
        return 1.0 - float(np.isnan(values).mean())

    @cached_property
    def _instant_grid(self) -> int:
        """The grid (ps) on which the moments of this column are read: fine enough for their span,
        and to tell neighbors apart: hours need no decimals.
        """
        if not isinstance(self.values, np.ndarray):
            return _INSTANT_RESOLUTION_PS
        known = self.values if self.present is None else self.values[self.present]
        moments = np.unique(known[:_MAX_ASKED_MOMENTS])
        if len(moments) < 2:
            return _INSTANT_RESOLUTION_PS
        apart = int(median_of_column(np.diff(moments)))
        not_above_apart = 10 ** (len(str(max(1, apart))) - 1)
        return min(units.resolution(int(moments[-1] - moments[0])), int(not_above_apart))

    def value(self, row: int) -> Value:
        """One value as Python has it, times still in ps; None where nothing is known."""
        if self.present is not None and not self.present[row]:
            return None
        value = self.values[row]
        if self.kind == "text":
            return str(value) if value is not None and value != "" else None
        if self.kind == "flag":
            return bool(value)
        if value is None or value != value:  # NaN is no value
            return None
        if self.kind in ("number", "share"):
            return float(value)
        return int(value)

    def text(self, row: int, *, padded: bool = False) -> str:
        """One value as a person reads it; "" where nothing is known.

        Text from files still needs `plain`. `padded`: as one of many below each other.
        """
        value = self.value(row)
        if self.kind == "instant" and isinstance(value, int):
            words = units.instant(value, self._instant_grid)
        else:
            words = shown(value, self.kind, self.unit, padded=padded)
        if self.signed and not isinstance(value, str | None) and value > 0:
            return f"+{words}"
        return words

    def exported(self, row: int) -> Value:
        """One value as a program reads it: times in seconds, unless the column says otherwise."""
        return exported_value(self.value(row), self.kind, self.unit)

    @property
    def exported_unit(self) -> str:
        """The unit of `exported`."""
        return exported_unit_of(self.kind, self.unit)

    def exports(self) -> list[Value]:
        """All values as a program reads them, the column at once."""
        if self.kind == "text" or not isinstance(self.values, np.ndarray):
            return [self.exported(row) for row in range(len(self))]
        numbers = self.values
        if self.kind in TIMES:
            numbers = self.values / ps_of(self.unit)
        elif self.kind == "share" and self.unit:
            numbers = self.values * 100
        exports: list[Value] = numbers.tolist()
        is_missing = self._without_presence(_nans(numbers))
        for row in np.flatnonzero(is_missing).tolist():
            exports[row] = None
        return exports

    def _without_presence(self, is_missing: Bools) -> Bools:
        """Which rows are missing, with those that the column itself calls missing."""
        if self.present is None:
            return is_missing
        return is_missing | ~self.present

    def order(self, descending: bool) -> Int64s:
        """Rows in the order of this column.

        Equal rows keep theirs; missing values come last either way.
        """
        keys, is_missing = self._sort_keys()
        is_missing = self._without_presence(is_missing)
        known = np.flatnonzero(~is_missing)
        rest = np.flatnonzero(is_missing)
        known_keys = keys[known]
        if descending:
            known_keys = -known_keys
        order = np.argsort(known_keys, kind="stable")
        return np.concatenate([known[order], rest]).astype(np.int64)

    def _sort_keys(self) -> tuple[npt.NDArray[Any], Bools]:
        """Numbers that sort as the rows do, and which rows are missing."""
        if self.ranks is not None:
            return self.ranks, np.isnan(self.ranks)
        if self.kind == "text":
            texts = [str(self.values[row] or "").lower() for row in range(len(self.values))]
            # An empty list would be an array of floats.
            if texts:
                objects = np.array(texts, dtype=object)
            else:
                objects = np.empty(0, object)
            _, ranks = np.unique(objects, return_inverse=True)
            return ranks, np.array([not text for text in texts], np.bool_)
        keys = np.asarray(self.values)
        if keys.dtype == object:
            keys = floats_or_nan(keys.tolist())
        is_missing = _nans(keys)
        if keys.dtype.kind in "bu":  # what has no sign cannot be turned round
            keys = keys.astype(np.int64)
        return keys, is_missing

    def take(self, rows: Int64s) -> Column:
        """Only these rows, in this order."""
        values: Any
        if isinstance(self.values, np.ndarray):
            values = self.values[rows]
        else:
            values = [self.values[row] for row in rows.tolist()]
        return replace(
            self,
            values=values,
            present=_rows_of(self.present, rows),
            faint=_rows_of(self.faint, rows),
            ranks=_rows_of(self.ranks, rows),
        )


def _nans(values: npt.NDArray[Any]) -> Bools:
    is_nan: Bools = np.zeros(len(values), np.bool_)
    if values.dtype.kind == "f":
        is_nan = np.isnan(values)
    return is_nan


def _rows_of(array: npt.NDArray[Any] | None, rows: Int64s) -> Any:
    return None if array is None else array[rows]


def shown(value: Value, kind: ColumnKind, unit: str = "", *, padded: bool = False) -> str:
    """A value of a kind as a person reads it, with its unit; "" for None.

    `padded`: times and joules have all of their figures, the last zeros too. Watts have not: a
    sensor that shows whole watts would seem to show more.
    """
    if value is None:
        return ""
    if kind == "text":
        return str(value)
    if kind == "flag":
        return "yes" if value else "no"
    if kind == "integer":
        return f"{int(value):,}"
    if kind == "duration":
        return units.duration(int(value), padded=padded)
    if kind == "instant":
        return units.instant(int(value), _INSTANT_RESOLUTION_PS)
    if kind == "share":
        return units.percent(float(value), 1)
    if unit:
        return units.quantity(float(value), unit, padded=padded and unit == "J")
    return units.number(float(value))


def exported_value(value: Value, kind: ColumnKind, unit: str) -> Value:
    """A value of a kind as a program reads it: times in seconds, or in the unit named."""
    if value is None or isinstance(value, str):
        return value
    if kind in TIMES:
        return value / ps_of(unit)
    if kind == "share" and unit:
        return value * 100
    return value


def exported_unit_of(kind: ColumnKind, unit: str) -> str:
    """The unit of such a value: of times seconds, unless another is named."""
    if kind in TIMES:
        return unit or "s"
    return unit


def ps_of(unit: str) -> int:
    """How many ps one unit of a time is, as programs read it: "us", "ms", or seconds."""
    if unit == "us":
        return PS_PER_US
    if unit == "ms":
        return 1000 * PS_PER_US
    return PS_PER_S


class Lazy(Sequence[str]):
    """Texts that are looked up when somebody asks for one."""

    def __init__(self, count: int, text: Callable[[int], str]) -> None:
        self._count, self._text = count, text

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent to another process, it is a list of its texts."""
        return list, (self[:],)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self._text(i) for i in range(*row.indices(self._count))]
        if not 0 <= row < self._count:
            raise IndexError(row)
        return self._text(row)


def text_column(
    id: str,
    label: str,
    values: Iterable[str | None],
    *,
    weight: int = 1,
) -> Column:
    """A column of words."""
    words = [value or "" for value in values]
    return Column(
        id=id,
        label=label,
        kind="text",
        values=words,
        weight=weight,
    )


def int_column(
    id: str,
    label: str,
    kind: ColumnKind,
    values: Iterable[int],
    *,
    present: Bools | None = None,
    weight: int,
) -> Column:
    """A column of counts, moments or lengths of time."""
    integers = np.array(list(values), np.int64)
    return Column(
        id=id,
        label=label,
        kind=kind,
        values=integers,
        present=present,
        weight=weight,
    )


def floats_or_nan(values: Iterable[float | None]) -> Floats:
    """Numbers of which some are not known: NaN stands for those."""
    return np.array([np.nan if value is None else value for value in values], np.float64)


def optional(
    id: str,
    label: str,
    kind: ColumnKind,
    values: Iterable[int | float | None],
    *,
    unit: str = "",
    weight: int = 1,
) -> Column:
    """A column of numbers of which some are not known."""
    listed = list(values)
    present = np.array([value is not None for value in listed], np.bool_)
    numbers: npt.NDArray[Any]
    if kind in ("number", "share"):
        numbers = floats_or_nan(listed)
    else:
        numbers = np.array([0 if value is None else value for value in listed], np.int64)
    return Column(
        id=id,
        label=label,
        kind=kind,
        values=numbers,
        unit=unit,
        present=present,
        weight=weight,
    )


_DTYPES: dict[ColumnKind, type] = {"number": np.float64, "share": np.float64, "flag": np.bool_}


@dataclass(frozen=True)
class Field(Generic[_Row]):
    """One column of a table whose rows are objects, and what it shows of each of them."""

    id: str
    label: str
    kind: ColumnKind
    value: Callable[[_Row], Any]  # None where it is not known
    unit: str = ""
    weight: int = 1
    head: str = ""
    always: bool = False  # every row has a value

    def column(self, rows: Sequence[_Row]) -> Column:
        """The column over these rows."""
        values: Any = [self.value(row) for row in rows]
        if self.kind == "text":
            column = text_column(self.id, self.label, values, weight=self.weight)
        elif self.always:
            values = np.array(values, _DTYPES.get(self.kind, np.int64))
            column = Column(
                id=self.id,
                label=self.label,
                kind=self.kind,
                values=values,
                unit=self.unit,
                weight=self.weight,
            )
        else:
            column = optional(
                self.id,
                self.label,
                self.kind,
                values,
                unit=self.unit,
                weight=self.weight,
            )
        if self.head:
            return replace(column, head=self.head)
        return column


def columns_of(rows: Sequence[_Row], fields: Iterable[Field[_Row]]) -> tuple[Column, ...]:
    """The columns of a table whose rows are objects."""
    return tuple(field.column(rows) for field in fields)

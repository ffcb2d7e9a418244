"""The one shape of an answer: a `Result` of tables, facts, chart series and notes.

A tool, the energy module, a list of runs: whoever answers a question builds a `Result` out of
columns. The writers (text, JSON, CSV, Markdown, DataFrame), the table on screen and the clipboard
are made for `Result` and know no tool: a new tool needs none of them.

Values stay as numpy holds them: times are int64 picoseconds, joules and watts float64. Only a row
that somebody looks at becomes text. What is unknown is missing (`Column.present`, NaN, an empty
text), never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from powertui import units
from powertui.data.model import PS_PER_S, PS_PER_US, Badge, Bools, Floats, Int64s
from powertui.data.texts import CancelCheck, unhindered
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.data.row_card import Card, Lead

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
_INSTANT_RESOLUTION_PS = 1_000_000_000  # moments in tables have three decimals of a second

Value: TypeAlias = "str | int | float | bool | None"
_Row = TypeVar("_Row")
_Answer = TypeVar("_Answer")


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
        words = shown(value, self.kind, self.unit, padded=padded)
        if self.signed and not isinstance(value, str | None) and value > 0:
            return f"+{words}"
        return words

    def exported(self, row: int) -> Value:
        """One value as a program reads it: times in seconds, unless the column says otherwise."""
        return _exported(self.value(row), self.kind, self.unit)

    @property
    def exported_unit(self) -> str:
        """The unit of `exported`."""
        return _exported_unit(self.kind, self.unit)

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
        known, rest = np.flatnonzero(~is_missing), np.flatnonzero(is_missing)
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
            objects = np.array(texts, dtype=object) if texts else np.empty(0, object)
            _, ranks = np.unique(objects, return_inverse=True)
            return ranks, np.array([not text for text in texts], np.bool_)
        keys = np.asarray(self.values)
        if keys.dtype == object:
            filled = [np.nan if value is None else value for value in keys.tolist()]
            keys = np.array(filled, np.float64)
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
        return f"{float(value):.1%}"
    if unit:
        return units.quantity(float(value), unit, padded=padded and unit == "J")
    return f"{float(value):.4g}"


def _exported(value: Value, kind: ColumnKind, unit: str = "") -> Value:
    """A value of a kind as a program reads it: times in seconds, or in the unit named."""
    if value is None or isinstance(value, str):
        return value
    if kind in TIMES:
        return value / ps_of(unit)
    if kind == "share" and unit:
        return value * 100
    return value


def _exported_unit(kind: ColumnKind, unit: str) -> str:
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


@dataclass(frozen=True)
class Place:
    """Where a row lies: which run and host, which stretch of time (ps on the trace's clock), which
    event. None: not known.
    """

    run: str = ""
    host: int | None = None  # index of the trace
    lo: int | None = None
    hi: int | None = None
    track: int | None = None  # counts Trace.tracks()
    event: int | None = None  # that track's row

    @property
    def in_time(self) -> bool:
        """Whether the timeline can show it."""
        return self.lo is not None


def nowhere(_row: int) -> Place | None:
    """Of rows that lie nowhere on a timeline."""
    return None


@dataclass(frozen=True, eq=False)
class TablePart:
    """Some rows of a table that are looked at by themselves: what ran on devices, what ran on the
    host.
    """

    label: str
    keep: Callable[[CancelCheck], Bools]


@dataclass(frozen=True, eq=False)
class Quick:
    """For tables of a million rows whose texts are looked up one by one: the same answers without
    looking at each text.
    """

    order: Callable[[str, bool, CancelCheck], Int64s]  # all rows by a column
    matching: Callable[[str, CancelCheck], Bools]  # which rows hold a text
    # where among these rows the one with this key stands; -1
    find: Callable[[tuple[Value, ...], Int64s], int]


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of the same length.

    `place(row)` says where a row lies; `order` is how the rows are sorted as they come.
    """

    id: str
    title: str
    columns: tuple[Column, ...]
    place: Callable[[int], Place | None] = nowhere
    order: tuple[str, bool] | None = None  # (column id, descending)
    empty: str = ""  # what to say when there is no row, and what would help
    # Columns that identify a row: by them it is found again in the table of another window.
    key: tuple[str, ...] = ()
    noun: str = "row"  # what a row is, in the singular
    summary: str = ""  # beside the count of rows: what all of them come to
    kind_of_work: Callable[[int], str] | None = None  # the category that a row is coloured after
    quick: Quick | None = None
    # what is shown by itself, the first to begin with; none: all rows together
    parts: tuple[TablePart, ...] = ()
    # rows that only hold others: left out until they are asked for
    wrappers: Callable[[CancelCheck], Bools] | None = None
    # what some rows come to, by column
    total: Callable[[Int64s], Mapping[str, Value]] | None = None
    layer: bool = False  # the names are paths: rows can be put together by all but the last part
    # the row that each row lies in, -1 for those at the top: one level
    within: Int64s | None = None
    card: Callable[[int], Card | None] | None = None  # all that is known of a row
    lead: Callable[[int], Lead | None] | None = None  # the page that a row stands for

    def __len__(self) -> int:
        if not self.columns:
            return 0
        return len(self.columns[0])

    def __getitem__(self, id: str) -> Column:
        for column in self.columns:
            if column.id == id:
                return column
        raise KeyError(id)

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns that a person sees."""
        return tuple(column for column in self.columns if column.weight)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the columns, in order."""
        return tuple(column.id for column in self.columns)

    def rows_by(self, id: str, descending: bool, check: CancelCheck = unhindered) -> Int64s:
        """All rows in the order of one column. `check` may raise to break it off."""
        if self.quick is not None:
            return self.quick.order(id, descending, check)
        return self[id].order(descending)

    def matching(self, text: str, check: CancelCheck = unhindered) -> Bools:
        """Which rows hold this text in one of their words, in any case."""
        if self.quick is not None:
            return self.quick.matching(text, check)
        if not text:
            return np.ones(len(self), np.bool_)
        needle = text.lower()
        is_match = np.zeros(len(self), np.bool_)
        for column in self.columns:
            if column.kind != "text":
                continue
            check()
            words = [str(column.values[row] or "").lower() for row in range(len(column))]
            is_match |= np.array([needle in word for word in words], np.bool_)
        return is_match

    def key_of(self, row: int) -> tuple[Value, ...]:
        """What tells this row from all others."""
        return tuple(self[id].value(row) for id in self.key)

    def find(self, key: tuple[Value, ...], rows: Int64s) -> int:
        """At which place in `rows` the row with this key stands; -1 when it is not among them."""
        if not self.key or len(key) != len(self.key):
            return -1
        if self.quick is not None:
            return self.quick.find(key, rows)
        for place, row in enumerate(rows.tolist()):
            if self.key_of(row) == key:
                return place
        return -1

    def take(self, rows: Int64s) -> Table:
        """Only these rows, in this order; they still know their places."""
        row_numbers = np.asarray(rows, np.int64)
        kind_of_work, total = self.kind_of_work, self.total
        return replace(
            self,
            columns=tuple(column.take(row_numbers) for column in self.columns),
            place=_among(row_numbers, self.place),
            order=None,
            kind_of_work=None if kind_of_work is None else _among(row_numbers, kind_of_work),
            quick=None,
            parts=(),
            wrappers=None,
            within=None,
            card=None if self.card is None else _among(row_numbers, self.card),
            lead=None if self.lead is None else _among(row_numbers, self.lead),
            total=None if total is None else lambda rows: total(row_numbers[rows]),
        )


def _among(rows: Int64s, answer: Callable[[int], _Answer]) -> Callable[[int], _Answer]:
    """The same answer about a place among these rows."""
    return lambda place: answer(int(rows[place]))


@dataclass(frozen=True)
class Fact:
    """One figure or word with a name: "device time  64.2 %  measured"."""

    id: str
    label: str
    value: Value
    kind: ColumnKind = "text"
    unit: str = ""
    badge: Badge | None = None
    lo: float | None = None  # its interval, in its unit; of a time, ps like the value
    hi: float | None = None
    why: str = ""  # why there is no value, or what it stands on

    def exported(self) -> tuple[Value, Value, Value]:
        """The value and its interval as a program reads them: in `exported_unit`."""
        return (
            _exported(self.value, self.kind, self.unit),
            _exported(self.lo, self.kind, self.unit),
            _exported(self.hi, self.kind, self.unit),
        )

    @property
    def exported_unit(self) -> str:
        """The unit of `exported`: of times seconds, unless the fact says otherwise."""
        return _exported_unit(self.kind, self.unit)

    def text(self) -> str:
        """The value with its interval, as a person reads it; the reason when there is none."""
        if self.value is None:
            return self.why or "unknown"
        words = shown(self.value, self.kind, self.unit)
        if self.lo is None or self.hi is None:
            return words
        lo = shown(self.lo, self.kind, self.unit)
        hi = shown(self.hi, self.kind, self.unit)
        return f"{words} ({lo} to {hi})"


def if_missing(value: Value, reason: str) -> str:
    """The reason where there is no value; nothing beside a value, which needs none."""
    return reason if value is None else ""


@dataclass(frozen=True, eq=False)
class Series:
    """One curve or one row of bars. `x` are labels or numbers."""

    label: str
    x: Sequence[Any] | npt.NDArray[Any]
    y: npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chart:
    """Series that are drawn together."""

    id: str
    title: str
    series: tuple[Series, ...]
    # bars side by side, a line over numbers, points on two logarithmic axes, hosts by what their
    # time went to
    kind: Literal["bar", "line", "points", "members"] = "bar"
    x_label: str = ""
    y_label: str = ""
    y_unit: str = ""  # of what is drawn on a page: "B"


@dataclass(frozen=True, eq=False)
class Result:
    """An answer: what a page shows and a writer writes."""

    id: str
    title: str
    tables: tuple[Table, ...] = ()
    facts: tuple[Fact, ...] = ()
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()
    mode: str = ""  # by whose rules, where there are several: "corrected", "tf2", "xprof"

    def __getitem__(self, id: str) -> Table:
        for table in self.tables:
            if table.id == id:
                return table
        raise KeyError(id)

    @property
    def table(self) -> Table | None:
        """The first table: what CSV and a DataFrame hold."""
        return self.tables[0] if self.tables else None


class Lazy(Sequence[str]):
    """Texts that are looked up when somebody asks for one."""

    def __init__(self, count: int, text: Callable[[int], str]) -> None:
        self._count, self._text = count, text

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


def plural(noun: str, count: int) -> str:
    """A noun for so many: "1 op", "2 ops", "2 categories"."""
    if count == 1:
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def text_column(
    id: str,
    label: str,
    values: Iterable[str | None],
    *,
    weight: int = 1,
    ranks: Floats | None = None,
) -> Column:
    """A column of words."""
    words = [value or "" for value in values]
    return Column(id, label, "text", words, weight=weight, ranks=ranks)


def int_column(
    id: str,
    label: str,
    kind: ColumnKind,
    values: Iterable[int],
    *,
    present: Bools | None = None,
    weight: int = 1,
) -> Column:
    """A column of counts, moments or lengths of time."""
    integers = np.array(list(values), np.int64)
    return Column(id, label, kind, integers, present=present, weight=weight)


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
        numbers = np.array([np.nan if value is None else value for value in listed], np.float64)
    else:
        numbers = np.array([0 if value is None else value for value in listed], np.int64)
    return Column(id, label, kind, numbers, unit, present, weight)


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
            column = Column(self.id, self.label, self.kind, values, self.unit, weight=self.weight)
        else:
            column = optional(
                self.id, self.label, self.kind, values, unit=self.unit, weight=self.weight
            )
        if self.head:
            return replace(column, head=self.head)
        return column


def columns_of(rows: Sequence[_Row], fields: Iterable[Field[_Row]]) -> tuple[Column, ...]:
    """The columns of a table whose rows are objects."""
    return tuple(field.column(rows) for field in fields)


def stacked(tables: Sequence[Table]) -> Table:
    """Tables with the same columns, one below the other.

    A column that some of them lack is missing there.
    """
    first = max(tables, key=lambda table: len(table.columns))
    counts = [len(table) for table in tables]
    starts = np.cumsum([0, *counts])
    columns = tuple(_stacked(column, tables) for column in first.columns)

    def place(row: int) -> Place | None:
        number = int(np.searchsorted(starts, row, side="right")) - 1
        row_of_table = row - int(starts[number])
        return tables[number].place(row_of_table)

    return replace(
        first, columns=columns, place=place, order=None, kind_of_work=None, quick=None, within=None
    )


def _stacked(column: Column, tables: Sequence[Table]) -> Column:
    values: list[Value] = []
    for table in tables:
        if column.id in table.ids:
            part = table[column.id]
            values += map(part.value, range(len(part)))
        else:
            values += [None] * len(table)
    if column.kind == "text":
        words = [None if value is None else str(value) for value in values]
        return text_column(column.id, column.label, words, weight=column.weight)
    numbers = [None if isinstance(value, str) else value for value in values]
    return optional(
        column.id, column.label, column.kind, numbers, unit=column.unit, weight=column.weight
    )

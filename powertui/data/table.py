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
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from powertui import units
from powertui.data.model import PS_PER_S, PS_PER_US, Badge, Bools, Floats, Int64s
from powertui.data.texts import CancelCheck, unhindered
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
    present: Bools | None = (
        None  # None: every row has a value (NaN and empty texts are missing all the same)
    )
    # what a narrow screen leaves out first: the smallest. 9 always stays, 0 is for programs alone
    weight: int = 1
    head: str = (
        ""  # its label for programs, where TensorBoard's table has one: "Total Duration (us)"
    )
    signed: bool = False  # a difference: a person reads its plus sign, too
    faint: Bools | None = None  # rows whose words stand for a value that nobody looked up: dim
    ranks: Floats | None = (
        None  # of words that do not sort by their letters: what their rows sort by; NaN is missing
    )
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
        return (
            isinstance(values, np.ndarray)
            and values.dtype.kind == "f"
            and bool(len(values))
            and bool(np.isnan(values).all())
        )

    def value(self, row: int) -> Value:
        """One value as Python has it, times still in ps; None where nothing is known."""
        if self.present is not None and not self.present[row]:
            return None
        value = self.values[row]
        if self.kind == "text":
            return str(value) if value is not None and value != "" else None
        if self.kind == "flag":
            return bool(value)
        if value is None or value != value:
            return None
        return float(value) if self.kind in ("number", "share") else int(value)

    def text(self, row: int) -> str:
        """One value as a person reads it; "" where nothing is known.

        Text from files still needs `plain`.
        """
        value = self.value(row)
        words = shown(value, self.kind, self.unit)
        return (
            f"+{words}"
            if self.signed and not isinstance(value, str | None) and value > 0
            else words
        )

    def exported(self, row: int) -> Value:
        """One value as a program reads it: times in seconds, unless the column says otherwise."""
        return _exported(self.value(row), self.kind, self.unit)

    @property
    def exported_unit(self) -> str:
        """The unit of `exported`."""
        return self.unit or "s" if self.kind in TIMES else self.unit

    def exports(self) -> list[Value]:
        """All values as a program reads them, the column at once."""
        if self.kind == "text" or not isinstance(self.values, np.ndarray):
            return [self.exported(row) for row in range(len(self))]
        numbers = self.values
        if self.kind in TIMES:
            numbers = self.values / ps_of(self.unit)
        elif self.kind == "share" and self.unit:
            numbers = self.values * 100
        out: list[Value] = numbers.tolist()
        missing = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(len(out), np.bool_)
        if self.present is not None:
            missing = missing | ~self.present
        for row in np.flatnonzero(missing).tolist():
            out[row] = None
        return out

    def order(self, descending: bool) -> Int64s:
        """Rows in the order of this column.

        Equal rows keep theirs; missing values come last either way.
        """
        keys: npt.NDArray[Any]
        if self.ranks is not None:
            keys, missing = self.ranks, np.isnan(self.ranks)
        elif self.kind == "text":
            texts = [str(self.values[i] or "").lower() for i in range(len(self.values))]
            _, keys = np.unique(
                np.array(texts, dtype=object) if texts else np.empty(0, object), return_inverse=True
            )
            missing = np.array([not text for text in texts], np.bool_)
        else:
            keys = np.asarray(self.values)
            if keys.dtype == object:
                keys = np.array([np.nan if v is None else v for v in keys.tolist()], np.float64)
            missing = np.isnan(keys) if keys.dtype.kind == "f" else np.zeros(len(keys), np.bool_)
            keys = keys.astype(np.int64) if keys.dtype.kind in "bu" else keys
        if self.present is not None:
            missing = missing | ~self.present
        known, rest = np.flatnonzero(~missing), np.flatnonzero(missing)
        ranked = keys[known]
        order = np.argsort(-ranked if descending else ranked, kind="stable")
        return np.concatenate([known[order], rest]).astype(np.int64)

    def take(self, rows: Int64s) -> Column:
        """Only these rows, in this order."""
        values: Any = (
            self.values[rows]
            if isinstance(self.values, np.ndarray)
            else [self.values[i] for i in rows.tolist()]
        )
        present = None if self.present is None else self.present[rows]
        return replace(
            self,
            values=values,
            present=present,
            faint=None if self.faint is None else self.faint[rows],
            ranks=None if self.ranks is None else self.ranks[rows],
        )


def shown(value: Value, kind: ColumnKind, unit: str = "") -> str:
    """A value of a kind as a person reads it, with its unit; "" for None."""
    if value is None:
        return ""
    if kind == "text":
        return str(value)
    if kind == "flag":
        return "yes" if value else "no"
    if kind == "integer":
        return f"{int(value):,}"
    if kind == "duration":
        return units.duration(int(value))
    if kind == "instant":
        return units.instant(int(value), 1_000_000_000)
    if kind == "share":
        return f"{float(value):.1%}"
    return units.quantity(float(value), unit) if unit else f"{float(value):.4g}"


def _exported(value: Value, kind: ColumnKind, unit: str = "") -> Value:
    """A value of a kind as a program reads it: times in seconds, or in the unit named."""
    if value is None or isinstance(value, str):
        return value
    if kind in TIMES:
        return value / ps_of(unit)
    return value * 100 if kind == "share" and unit else value


def ps_of(unit: str) -> int:
    """How many ps one unit of a time is, as programs read it: "us", "ms", or seconds."""
    return {"us": PS_PER_US, "ms": 1000 * PS_PER_US}.get(unit, PS_PER_S)


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
    find: Callable[
        [tuple[Value, ...], Int64s], int
    ]  # where among these rows the one with this key stands; -1


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
    parts: tuple[
        TablePart, ...
    ] = ()  # what is shown by itself, the first to begin with; none: all rows together
    wrappers: Callable[[CancelCheck], Bools] | None = (
        None  # rows that only hold others: left out until they are asked for
    )
    total: Callable[[Int64s], Mapping[str, Value]] | None = (
        None  # what some rows come to, by column
    )
    layer: bool = False  # the names are paths: rows can be put together by all but the last part
    within: Int64s | None = (
        None  # the row that each row lies in, -1 for those at the top: one level
    )

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

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
        return (
            self.quick.order(id, descending, check)
            if self.quick is not None
            else self[id].order(descending)
        )

    def matching(self, text: str, check: CancelCheck = unhindered) -> Bools:
        """Which rows hold this text in one of their words, in any case."""
        if self.quick is not None:
            return self.quick.matching(text, check)
        wanted = text.lower()
        keep = np.zeros(len(self), np.bool_) if wanted else np.ones(len(self), np.bool_)
        for column in self.columns:
            if wanted and column.kind == "text":
                check()
                keep |= np.array(
                    [wanted in str(column.values[i] or "").lower() for i in range(len(column))],
                    np.bool_,
                )
        return keep

    def key_of(self, row: int) -> tuple[Value, ...]:
        """What tells this row from all others."""
        return tuple(self[id].value(row) for id in self.key)

    def find(self, key: tuple[Value, ...], rows: Int64s) -> int:
        """At which place in `rows` the row with this key stands; -1 when it is not among them."""
        if not self.key or len(key) != len(self.key):
            return -1
        if self.quick is not None:
            return self.quick.find(key, rows)
        return next(
            (place for place, row in enumerate(rows.tolist()) if self.key_of(row) == key), -1
        )

    def take(self, rows: Int64s) -> Table:
        """Only these rows, in this order; they still know their places."""
        row_numbers = np.asarray(rows, np.int64)
        place, work, total = self.place, self.kind_of_work, self.total
        return replace(
            self,
            columns=tuple(column.take(row_numbers) for column in self.columns),
            place=lambda row: place(int(row_numbers[row])),
            order=None,
            kind_of_work=None if work is None else lambda row: work(int(row_numbers[row])),
            quick=None,
            parts=(),
            wrappers=None,
            within=None,
            total=None if total is None else lambda rows: total(row_numbers[rows]),
        )


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
        return self.unit or "s" if self.kind in TIMES else self.unit

    def text(self) -> str:
        """The value with its interval, as a person reads it; the reason when there is none."""
        if self.value is None:
            return self.why or "unknown"
        words = shown(self.value, self.kind, self.unit)
        if self.lo is not None and self.hi is not None:
            words += (
                f" ({shown(self.lo, self.kind, self.unit)} to "
                f"{shown(self.hi, self.kind, self.unit)})"
            )
        return words


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
    kind: Literal["bar", "line"] = "bar"
    x_label: str = ""
    y_label: str = ""


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
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeou" else f"{noun}s"


def text_column(
    id: str,
    label: str,
    values: Iterable[str | None],
    *,
    weight: int = 1,
    ranks: Floats | None = None,
) -> Column:
    """A column of words."""
    return Column(id, label, "text", [value or "" for value in values], weight=weight, ranks=ranks)


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
    return Column(id, label, kind, np.array(list(values), np.int64), present=present, weight=weight)


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
    found = list(values)
    present = np.array([value is not None for value in found], np.bool_)
    if kind in ("number", "share"):
        return Column(
            id,
            label,
            kind,
            np.array([np.nan if v is None else v for v in found], np.float64),
            unit,
            present,
            weight,
        )
    return Column(
        id,
        label,
        kind,
        np.array([0 if v is None else v for v in found], np.int64),
        unit,
        present,
        weight,
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
            column = Column(self.id, self.label, self.kind, values, self.unit, weight=self.weight)
        else:
            column = optional(
                self.id, self.label, self.kind, values, unit=self.unit, weight=self.weight
            )
        return replace(column, head=self.head) if self.head else column


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
        at = int(np.searchsorted(starts, row, side="right")) - 1
        return tables[at].place(row - int(starts[at]))

    return replace(
        first, columns=columns, place=place, order=None, kind_of_work=None, quick=None, within=None
    )


def _stacked(column: Column, tables: Sequence[Table]) -> Column:
    parts = [next((c for c in table.columns if c.id == column.id), None) for table in tables]
    values = [
        value
        for part, table in zip(parts, tables, strict=True)
        for value in (
            [part.value(row) for row in range(len(part))]
            if part is not None
            else [None] * len(table)
        )
    ]
    if column.kind == "text":
        return text_column(
            column.id,
            column.label,
            [None if v is None else str(v) for v in values],
            weight=column.weight,
        )
    numbers = [None if v is None or isinstance(v, str) else v for v in values]
    return optional(
        column.id, column.label, column.kind, numbers, unit=column.unit, weight=column.weight
    )

"""The one shape of an answer: a `Result` of tables, facts, chart series and notes.

A tool, the energy module, a list of runs: whoever answers a question builds a `Result` out of
columns. The writers (text, JSON, CSV, Markdown, DataFrame), the table on screen and the clipboard
are made for `Result` and know no tool: a new tool needs none of them.

Values stay as numpy holds them: times are int64 picoseconds, joules and watts float64. Only a row
that somebody looks at becomes text. What is unknown is missing (`Column.present`, NaN, an empty
text), never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from powertui import units
from powertui.data.columns import (
    Column,
    ColumnKind,
    Value,
    exported_unit_of,
    exported_value,
    optional,
    shown,
    text_column,
)
from powertui.data.model import Badge, Bools, Int64s
from powertui.data.texts import CancelCheck, unhindered
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.data.row_card import Card, Lead


_Answer = TypeVar("_Answer")


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
    kind_of_work: Callable[[int], str] | None = None  # the category that a row is colored after
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
    counts_outer: bool = False  # whether a row that holds others is one more of `noun`
    # the column that is drawn as a bar, too, where it is none of shares: how much is too much
    excess: str = ""

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
    signed: bool = False  # a difference: a person reads its plus sign, too

    def exported(self) -> tuple[Value, Value, Value]:
        """The value and its interval as a program reads them: in `exported_unit`."""
        return (
            exported_value(self.value, self.kind, self.unit),
            exported_value(self.lo, self.kind, self.unit),
            exported_value(self.hi, self.kind, self.unit),
        )

    @property
    def exported_unit(self) -> str:
        """The unit of `exported`: of times seconds, unless the fact says otherwise."""
        return exported_unit_of(self.kind, self.unit)

    def text(self) -> str:
        """The value with its interval, as a person reads it; the reason when there is none."""
        if self.value is None:
            return self.why or "unknown"
        words = shown(self.value, self.kind, self.unit)
        if self.lo is None or self.hi is None:
            return words
        if self.unit == "J":
            with_error = units.energy_difference_interval if self.signed else units.energy_interval
            return with_error(float(self.value), self.lo, self.hi)
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
    kind: str = ""  # the kind of work that it is about, where it is about one
    shade: int = 0  # which of several of one kind


class MarkedBars(NamedTuple):
    """Bars from one to one past another that a finding is about, and its size, longest first."""

    first: int
    stop: int
    sizes: tuple[str, ...]


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
    # of each series in a usual bar, where some bars are like no other; (): of all that is drawn
    usual_shares: tuple[float, ...] = ()
    marked: tuple[MarkedBars, ...] = ()

    @property
    def shares(self) -> tuple[float, ...]:
        """What part each series has."""
        if self.usual_shares:
            return self.usual_shares
        sums = [float(np.nansum(series.y)) for series in self.series]
        total = sum(sums) or 1.0
        return tuple(part / total for part in sums)


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


def written(result: Result) -> Result:
    """What writers write of an answer, which can be sent to another process: without what only a
    screen asks of a row.
    """
    tables = []
    for table in result.tables:
        tables.append(
            replace(
                table,
                place=nowhere,
                kind_of_work=None,
                quick=None,
                parts=(),
                wrappers=None,
                total=None,
                card=None,
                lead=None,
            )
        )
    return replace(result, tables=tuple(tables))


def plural(noun: str, count: int) -> str:
    """A noun for so many: "1 op", "2 ops", "2 categories"."""
    if count == 1:
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


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
        first,
        columns=columns,
        place=place,
        order=None,
        kind_of_work=None,
        quick=None,
        within=None,
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
        column.id,
        column.label,
        column.kind,
        numbers,
        unit=column.unit,
        weight=column.weight,
    )

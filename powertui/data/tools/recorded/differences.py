"""What the profiler stored of a run against what powertui computes of it, cell by cell."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

from powertui.data.columns import Column, Field, Value, columns_of
from powertui.data.table import Fact, Result, Table
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Sums of doubles in another order differ in their last digits: 1e-12 in the profiles at hand.
_RELATIVE = 1e-9
_PS = 0.5  # times of the profiler are whole ps before they become doubles
_LAUNCH_SHAPE = ("registers_per_thread", "block_dim", "grid_dim")
_NOTES = (
    "recorded: what the profiler stored. ours: what powertui computes from the profile.",
    "powertui counts copies as copies; with --compat tf2 it counts as TensorFlow 2.2 to 2.10 did.",
)
_MAX_LISTED = 10_000  # cells that differ; all are counted


# What the profiler writes where it knows nothing, and what stands for it here.
_EMPTY: tuple[Value, ...] = (None, 0, "Unknown")


class _Difference(NamedTuple):
    table: str
    row: str
    column: str
    recorded: str
    ours: str


@dataclass(frozen=True)
class _Agreement:
    """How far one table agrees."""

    table: str
    recorded: int  # rows
    ours: int
    matched: int
    equal: int  # cells
    different: int


def differences(recorded: Result, ours: Result) -> Result:
    """Both answers of one tool against each other: tables of the same id, rows of the same key."""
    own_tables = {table.id: table for table in ours.tables}
    agreements: list[_Agreement] = []
    listed: list[_Difference] = []
    alone: list[str] = []
    for table in recorded.tables:
        if table.id in own_tables:
            agreements.append(_compare(table, own_tables[table.id], listed))
        else:
            alone.append(table.title)
    notes = list(_NOTES)
    if alone:
        notes.append(f"Only recorded: {', '.join(alone)}.")
    return Result(
        id=recorded.id,
        title=f"{ours.title}, recorded against ours",
        tables=(_listed_table(listed), _agreement_table(agreements)),
        facts=tuple(_facts(agreements)),
        notes=tuple(notes),
        mode="differences",
    )


def _compare(recorded: Table, ours: Table, listed: list[_Difference]) -> _Agreement:
    """How far two tables agree; their cells that differ are listed."""
    pairs = _pairs(recorded, ours)
    common = [
        id for id in recorded.ids if id in ours.ids and id != "rank" and _is_filled(recorded[id])
    ]
    equal = different = 0
    for recorded_row, own_row in pairs:
        for id in common:
            left = recorded[id]
            right = ours[id]
            if _same(left, recorded_row, right, own_row):
                equal += 1
                continue
            different += 1
            if len(listed) < _MAX_LISTED:
                words = left.text(recorded_row), right.text(own_row)
                listed.append(_Difference(ours.title, _name(recorded, recorded_row), id, *words))
    return _Agreement(
        table=ours.title,
        recorded=len(recorded),
        ours=len(ours),
        matched=len(pairs),
        equal=equal,
        different=different,
    )


def _is_filled(column: Column) -> bool:
    """Whether a column was recorded at all: TensorFlow 2.10 wrote 0 registers and grids of 1,1,1
    for every kernel.
    """
    if column.id not in _LAUNCH_SHAPE:
        return True
    values = (column.value(row) for row in range(len(column)))
    return any(value not in (None, 0, "1,1,1") for value in values)


def _pairs(recorded: Table, ours: Table) -> list[tuple[int, int]]:
    """(a recorded row, ours of the same key); of steps, whose names differ, in their order."""
    key = [id for id in recorded.key if id in ours.ids]
    if not key:
        fewer = min(len(recorded), len(ours))
        return [(row, row) for row in range(fewer)]
    our_rows: dict[tuple[Value, ...], deque[int]] = defaultdict(deque)
    for row, values in enumerate(_keys(ours, key)):
        our_rows[values].append(row)
    pairs = []
    for row, values in enumerate(_keys(recorded, key)):
        rows = our_rows.get(values)
        if rows:
            pairs.append((row, rows.popleft()))
    return pairs


def _keys(table: Table, key: list[str]) -> Iterator[tuple[Value, ...]]:
    """The values of each row in the columns that identify it."""
    for row in range(len(table)):
        yield tuple(table[id].value(row) for id in key)


def _same(left: Column, left_row: int, right: Column, right_row: int) -> bool:
    """Whether two cells say the same; a cell that is empty here says what a 0 there does."""
    recorded = left.value(left_row)
    own = right.value(right_row)
    if own is None or recorded is None:
        return own in _EMPTY and recorded in _EMPTY
    if isinstance(recorded, str) or isinstance(own, str):
        return str(recorded) == str(own)
    larger = max(abs(recorded), abs(own))
    slack = _RELATIVE * larger
    if left.kind == "duration":
        slack = max(slack, _PS)
    return abs(recorded - own) <= slack


def _name(table: Table, row: int) -> str:
    """A row by its key."""
    words = []
    for id in table.key:
        word = table[id].text(row)
        if word:
            words.append(word)
    return " · ".join(words) or str(row)


_DIFFERENCE_FIELDS = (
    Field[_Difference]("row", "row", "text", lambda row: row.row, weight=9),
    Field[_Difference]("column", "column", "text", lambda row: row.column, weight=8),
    Field[_Difference]("recorded", "recorded", "text", lambda row: row.recorded, weight=8),
    Field[_Difference]("ours", "ours", "text", lambda row: row.ours, weight=8),
    Field[_Difference]("table", "table", "text", lambda row: row.table, weight=3),
)
_AGREEMENT_FIELDS = (
    Field[_Agreement]("table", "table", "text", lambda row: row.table, weight=9),
    Field[_Agreement]("recorded_rows", "rows recorded", "integer", lambda row: row.recorded),
    Field[_Agreement]("own_rows", "rows of ours", "integer", lambda row: row.ours),
    Field[_Agreement]("rows_of_both", "rows of both", "integer", lambda row: row.matched),
    Field[_Agreement]("equal", "cells equal", "integer", lambda row: row.equal, weight=6),
    Field[_Agreement]("different", "cells different", "integer", lambda row: row.different),
)


def _listed_table(listed: Sequence[_Difference]) -> Table:
    return Table(
        id="differences",
        title="Cells that differ",
        columns=columns_of(listed, _DIFFERENCE_FIELDS),
        empty="Every cell that both have is equal.",
        noun="cell",
    )


def _agreement_table(agreements: Sequence[_Agreement]) -> Table:
    return Table(
        id="agreement",
        title="Tables that both have",
        columns=columns_of(agreements, _AGREEMENT_FIELDS),
        empty="No table of this page was recorded.",
        key=("table",),
        noun="table",
    )


def _facts(agreements: Sequence[_Agreement]) -> Iterator[Fact]:
    equal = sum(agreement.equal for agreement in agreements)
    different = sum(agreement.different for agreement in agreements)
    only_recorded = 0
    only_ours = 0
    for agreement in agreements:
        only_recorded += agreement.recorded - agreement.matched
        only_ours += agreement.ours - agreement.matched
    yield Fact("equal", "cells equal", equal, "integer")
    yield Fact("different", "cells different", different, "integer")
    yield Fact("only_recorded", "rows only recorded", only_recorded, "integer")
    yield Fact("only_ours", "rows only in ours", only_ours, "integer")

"""Two tables, cell by cell: which cells are equal, which are not, which are on one side alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from scripts.parity.tables import Cell, ComparedTable, Row

# Doubles that were computed in another order: percentages of sums, averages.
_RELATIVE_ERROR = 1e-9


@dataclass(frozen=True)
class Difference:
    """One cell that is not the same on both sides. A side without the row has no cells."""

    table: ComparedTable
    key: tuple[Cell, ...]
    column: str
    ours: Cell
    theirs: Cell
    only: str = ""  # "ours" or "theirs": the side that has the row


@dataclass
class Agreement:
    """How far one table, or several, are the same on both sides."""

    cells: int = 0
    differences: list[Difference] = field(default_factory=list)

    @property
    def equal(self) -> int:
        """How many cells are the same."""
        return self.cells - len(self.differences)

    def add(self, agreement: Agreement) -> None:
        """Include another table."""
        self.cells += agreement.cells
        self.differences += agreement.differences


def compare(table: ComparedTable, ours: Sequence[Row], theirs: Sequence[Row]) -> Agreement:
    """Compare every column of every row that either side has."""
    agreement = Agreement()
    for our_row, their_row in _pairs(table, ours, theirs):
        agreement.add(_compared_row(table, our_row, their_row))
    return agreement


def _compared_row(table: ComparedTable, our_row: Row | None, their_row: Row | None) -> Agreement:
    row = their_row if their_row is not None else our_row
    assert row is not None
    key = _key(table, row)
    agreement = Agreement()
    for column, tolerance in table.tolerance.items():
        # Which columns a table has depends on the device: rates of tensor cores are a GPU's.
        if column not in row:
            continue
        agreement.cells += 1
        if our_row is None:
            difference = Difference(table, key, column, None, row[column], only="theirs")
        elif their_row is None:
            difference = Difference(table, key, column, row[column], None, only="ours")
        elif is_equal(our_row.get(column), their_row[column], tolerance):
            continue
        else:
            difference = Difference(table, key, column, our_row.get(column), their_row[column])
        agreement.differences.append(difference)
    return agreement


def is_equal(ours: Cell, theirs: Cell, tolerance: float) -> bool:
    """Whether two cells say the same. Empty texts and missing numbers are the same nothing."""
    if _is_nothing(ours) or _is_nothing(theirs):
        return _is_nothing(ours) and _is_nothing(theirs)
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return math.isclose(ours, theirs, rel_tol=_RELATIVE_ERROR, abs_tol=tolerance)
    return ours == theirs


def _is_nothing(cell: Cell) -> bool:
    return cell is None or cell == "" or cell != cell


def _key(table: ComparedTable, row: Row) -> tuple[Cell, ...]:
    return tuple("" if row[column] is None else row[column] for column in table.key)


def _pairs(
    table: ComparedTable, ours: Sequence[Row], theirs: Sequence[Row]
) -> list[tuple[Row | None, Row | None]]:
    """Pair rows by their keys, several of one key by their order."""
    ours_by_key: dict[tuple[Cell, ...], list[Row]] = defaultdict(list)
    for row in ours:
        ours_by_key[_key(table, row)].append(row)
    pairs: list[tuple[Row | None, Row | None]] = []
    their_rest: list[Row] = []
    for row in theirs:
        candidates = ours_by_key[_key(table, row)]
        if candidates:
            pairs.append((candidates.pop(0), row))
        else:
            their_rest.append(row)
    our_rest = [row for rows in ours_by_key.values() for row in rows]
    if table.in_order and len(our_rest) == len(their_rest):
        return [*pairs, *zip(our_rest, their_rest, strict=True)]
    pairs += [(None, row) for row in their_rest]
    pairs += [(row, None) for row in our_rest]
    return pairs

"""Long tables: a column names what was read, so that only some rows are power at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.model import Bools
from powertui.data.power import table, units
from powertui.data.power.cells import CodedTexts
from powertui.data.power.units import Unit
from powertui.value_types import dataclass

# Names of what was read, in one table: more of them are no names. Chosen, not measured.
MAX_QUANTITIES = 512
_MAX_PROBED_ROWS = 200  # that show whether a column holds numbers; chosen, not measured
_QUANTITY_WORDS = {
    "sensor",
    "entity",
    "event",
    "field",
    "metric",
    "name",
    "channel",
    "measurement",
    "quantity",
    "counter",
    "variable",
    "signal",
    "parameter",
    "item",
    "key",
    "type",
    "label",
    "fieldname",
    "fieldid",
    "sensorname",
    "property",
    "series",
    "tag",  # of TensorBoard
}
_VALUE_WORDS = {
    "value",
    "state",
    "reading",
    "val",
    "measurement",
    "sample",
    "data",
    "result",
    "values",
    "readings",
    "mean",  # of InfluxQL's GROUP BY time
    "last",
}
_UNIT_WORDS = {"unit", "units", "uom", "einheit"}
# DCGM's numbers of fields.
_DCGM_FIELDS = {
    "155": "DCGM_FI_DEV_POWER_USAGE",
    "156": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "157": "DCGM_FI_DEV_POWER_USAGE_INSTANT",
}


@dataclass(frozen=True, eq=False)
class Long:
    """A table whose rows are of many kinds: which column holds the value, which one names it, and
    the rows of each unit.
    """

    value: int
    quantity: int | None
    kinds: tuple[tuple[Unit | None, Bools], ...]  # None: power by name, without a unit


def long_form(rows: table.FileCells, powers: Sequence[int]) -> Long | None:
    """The power among the rows of a long table; None for a table whose columns are the channels.

    `powers` are the columns whose names mean power.
    """
    value = _value_column(rows, powers)
    if value is None:
        return None
    unit = next(
        (
            column
            for column, name in enumerate(rows.names)
            if _is(name, _UNIT_WORDS) and column != value
        ),
        None,
    )
    quantity, meanings = _quantity_column(rows, {value, unit})
    if unit is not None:
        return _by_unit(rows, value, quantity, unit)
    if quantity is None:
        return None
    names = quantities(rows, quantity)
    # Where the value is power by its own name and so is all that was read, the second column names
    # channels.
    if value in powers and len(meanings) == len(names.values):
        return None
    kinds = []
    for of_unit in dict.fromkeys(meanings.values()):
        of_kind = [name for name, unit_meant in meanings.items() if unit_meant == of_unit]
        kinds.append((of_unit, names.where(of_kind)))
    return Long(value, quantity, tuple(kinds))


def _value_column(rows: table.FileCells, powers: Sequence[int]) -> int | None:
    """The column with the readings: by its name, or the only one that means power."""
    for column, name in enumerate(rows.names):
        if is_value(name) and _holds_numbers(rows, column):
            return column
    if len(powers) == 1:
        return powers[0]
    return None


def _quantity_column(
    rows: table.FileCells,
    others: set[int | None],
) -> tuple[int | None, dict[str, Unit | None]]:
    """The column that names most kinds of power, and the unit of each; (None, {}) without one."""
    best = None
    meanings = dict[str, Unit | None]()
    for column, name in enumerate(rows.names):
        if column in others or not _is(name, _QUANTITY_WORDS):
            continue
        cells = quantities(rows, column).values
        if len(cells) > MAX_QUANTITIES:
            continue
        of_column = {
            cell: _metric_unit(cell) or units.unit_of_name(cell) for cell in cells if is_power(cell)
        }
        if len(of_column) > len(meanings):
            best, meanings = column, of_column
    return best, meanings


def is_value(name: str) -> bool:
    """Whether a column holds whatever the row names."""
    return _is(name, _VALUE_WORDS, max_words=2)


def _holds_numbers(rows: table.FileCells, column: int) -> bool:
    """Whether most of a column's first cells are numbers."""
    cells = rows.columns[column][:_MAX_PROBED_ROWS]
    numbers = sum(bool(np.isfinite(table.number(str(cell)))) for cell in cells)
    return 2 * numbers > len(cells)


def _by_unit(
    rows: table.FileCells,
    value: int,
    quantity: int | None,
    unit_column: int,
) -> Long | None:
    """A long table with a column of units: its rows in units of power or energy."""
    if quantity is None:
        quantity = _column_of_names(rows, {value, unit_column})
    cells = CodedTexts.from_texts(rows.texts(unit_column))
    is_limit = np.zeros(len(rows), np.bool_)
    if quantity is not None:  # a limit in watts is no reading
        names = quantities(rows, quantity)
        is_limit = names.where(filter(units.NO_POWER.search, names.values))
    kinds: dict[Unit | None, Bools] = {}
    for cell in cells.values:
        unit = units.unit_of_symbol(cell)
        if unit is None:
            continue
        of_cell = cells.where([cell]) & ~is_limit
        kinds[unit] = kinds[unit] | of_cell if unit in kinds else of_cell
    with_rows = tuple((unit, of_unit) for unit, of_unit in kinds.items() if of_unit.any())
    return Long(value, quantity, with_rows) if with_rows else None


def _column_of_names(rows: table.FileCells, others: set[int]) -> int | None:
    """The column that names the sensors, where none of its names says that it is power."""
    for column, name in enumerate(rows.names):
        if column not in others and _is(name, _QUANTITY_WORDS) and not rows.is_numeric(column):
            return column
    return None


def quantities(rows: table.FileCells, column: int) -> CodedTexts:
    """The cells that name what was read; DCGM's field numbers by their names."""
    cells = rows.coded(column, MAX_QUANTITIES)
    if cells is None:
        cells = CodedTexts.from_texts(rows.texts(column))
    if rows.is_numeric(column):
        cells = CodedTexts(cells.codes, [value.removesuffix(".0") for value in cells.values])
    is_field = _is(rows.names[column], {"field", "fieldid"})
    if is_field and all(cell.isdigit() for cell in cells[:50]):
        named = [_DCGM_FIELDS.get(value, value) for value in cells.values]
        return CodedTexts.in_order(cells.codes, named)
    return cells


def is_power(name: str) -> bool:
    """Whether a cell names power or energy, not a limit, a temperature, a share of time."""
    return name in units.METRICS or units.unit_of_name(name) is not None or units.means_power(name)


def _metric_unit(name: str) -> Unit | None:
    if name in units.METRICS:
        return units.UNITS[units.METRICS[name]]
    return None


def _is(name: str, words: set[str], max_words: int = 3) -> bool:
    """Whether a column's name is one of these words, or a short one that contains one."""
    tokens = units.tokens(name)
    is_short = len(tokens) <= max_words
    return (is_short and not words.isdisjoint(tokens)) or "".join(tokens) in words

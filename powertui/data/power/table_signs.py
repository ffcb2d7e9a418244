"""How surely a text is a table with time and power, by its first lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.power import (
    groups,
    long_tables,
    power_columns,
    table,
)
from powertui.data.power.column_names import json_members, table_layout, with_metric_names
from powertui.data.power.time_signs import is_time

_MIN_TABLE_ROWS = 3  # fewer may be anything; chosen, not measured
_MAX_PROBED_ROWS = 20  # below a header, in which a reading is looked for; chosen, not measured


# How sure the guess is. A dialect's own reader is always surer.
_BY_NAME = 55  # time and power are both named
_BY_ONE_NAME = 20  # one of them is
_BY_PLACE = 10  # two columns, of which one is the time
_BY_FORM = 1  # numbers below names: who names such a file is asked which of them is the power


def sniff(head: str, path: str) -> int:
    """How surely this is a table with time and power; a dialect's own reader is always surer."""
    if not head.strip() or json_members(head) is not None:
        return 0
    layout = table_layout(head, path)
    if layout is None or len(layout.names) > groups.MAX_CHANNELS:
        return 0
    layout, _ = with_metric_names(layout)
    names = layout.names
    names_time = any(map(is_time, names))
    column = _first_reading(names)
    if layout.named and column is not None:
        is_certain = names_time and _has_reading(head, layout, column)
        return _BY_NAME if is_certain else _BY_ONE_NAME
    if _is_long(head, layout) or _has_units_in_cells(head, layout):
        is_certain = names_time and layout.named
        return _BY_NAME if is_certain else _BY_ONE_NAME
    if power_columns.beside_time(names):
        return _BY_PLACE
    if layout.named and _is_numeric_table(head, layout):
        return _BY_FORM
    return 0


def _first_reading(names: Sequence[str]) -> int | None:
    """The first column whose name means power, else energy; None where no name does."""
    power = power_columns.named_power(names)
    if power:
        return power[0].column
    energy = power_columns.named_energy(names)
    if energy:
        return energy[0]
    return None


def _has_reading(head: str, layout: table.Shape, column: int) -> bool:
    """Whether some row below the header has a number, or nothing, in this column: prose has not."""
    rows = table.first_rows(head, layout, _MAX_PROBED_ROWS)
    if rows is None:
        return False
    cells = rows.texts(column)
    return any(not cell or np.isfinite(table.number(cell)) for cell in cells)


def _is_numeric_table(head: str, layout: table.Shape) -> bool:
    """Whether the first rows have a number in at least two columns, or beside a time."""
    rows = table.first_rows(head, layout, _MAX_PROBED_ROWS)
    if rows is None or len(rows) < _MIN_TABLE_ROWS:
        return False
    numeric_count = 0
    for column in range(len(rows.names)):
        values, _ = rows.floats(column)
        numeric_count += bool(np.isfinite(values).all())
    if numeric_count == 1:
        return any(map(is_time, rows.names))
    return numeric_count >= 2


def _is_long(head: str, layout: table.Shape) -> bool:
    """Whether a column of the first rows names power among what was read."""
    rows = table.first_rows(head, layout)
    if rows is None:
        return False
    return long_tables.long_form(rows, []) is not None


def _has_units_in_cells(head: str, layout: table.Shape) -> bool:
    """Whether cells of the first rows hold watts with their unit."""
    rows = table.first_rows(head, layout)
    if rows is None:
        return False
    return bool(power_columns.by_cells(rows))

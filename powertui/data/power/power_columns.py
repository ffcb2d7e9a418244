"""Which columns of a table are its readings of power or energy, and in which units."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Bools, Scope
from powertui.data.power import groups, long_tables, reading_sizes, table, titles, units
from powertui.data.power.column_hint import column_hint, listed
from powertui.data.power.picked_columns import PickedColumn, with_one_unit
from powertui.data.power.time_signs import is_time
from powertui.data.power.units import Unit
from powertui.data.quantiles import median_of_column
from powertui.errors import UnreadableFile, UsageError
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

_NUMBERED_PART = late_pattern(r"gpu|package|pkg|socket|node|psu|card", re.IGNORECASE)
_PART_SCOPES = {Scope.PACKAGE, Scope.CORE, Scope.DRAM, Scope.GPU}
_MAX_PROBED_CELLS = 200  # of a column, that show its unit; chosen, not measured
# Of one kind in a machine: whole numbers below may be theirs, and are hardly watts. Chosen, not
# measured.
_MAX_PARTS = 16
# Machines of one table draw at most so many times as much as each other. Chosen, not measured.
_ALIKE = 10.0
_UNNAMED = late_pattern(r"column \d+")
# A name that says which part was read and nothing else: "GPU 0", "psu1".
_BARE_PART = late_pattern(
    r"(gpu|package|pkg|socket|dram|psys|node|psu|card)[ _-]?\d*", re.IGNORECASE
)


class NamedColumn(NamedTuple):
    """A column whose name means power or energy."""

    column: int
    unit: Unit | None  # None where the name gives no unit


def named_power(names: Sequence[str]) -> list[NamedColumn]:
    """Columns whose names mean power, by the surest sign that one of them shows.

    A unit of power in a name is surer than a unit of energy, that is surer than a word like
    "power", and that is surer than the name of a part alone ("GPU 0").
    """
    by_unit = []
    for column, name in enumerate(names):
        unit = units.unit_of_name(name)
        if unit is not None:
            by_unit.append(NamedColumn(column, unit))
    power = [candidate for candidate in by_unit if _quantity(candidate) == "power"]
    energy = [candidate for candidate in by_unit if _quantity(candidate) == "energy"]
    if power:
        return power + _of_other_parts(energy, power, names)
    if energy:
        # Energy is often written in several units: they are the same reading.
        return [candidate for candidate in energy if candidate.unit == energy[0].unit]
    by_word = [column for column, name in enumerate(names) if _is_power_word(name)]
    by_part = [column for column, name in enumerate(names) if _is_bare_part(name)]
    return [NamedColumn(column, None) for column in by_word or by_part]


def _of_other_parts(
    energy: Sequence[NamedColumn],
    power: Sequence[NamedColumn],
    names: Sequence[str],
) -> list[NamedColumn]:
    """Of columns of energy those of parts of the machine of which no column tells the power.

    Of what both tell, the power: `GPU Power (W)` beside `GPU Energy (J)`. Energy of the machine, or
    of nothing that is named, may be that of the power.
    """
    told = {units.scope_of(names[candidate.column]) for candidate in power}
    others = [
        candidate
        for candidate in energy
        if units.scope_of(names[candidate.column]) in _PART_SCOPES - told
    ]
    return [candidate for candidate in others if candidate.unit == others[0].unit]


def _is_power_word(name: str) -> bool:
    return units.means_power(name) and not units.means_energy(name)


def _is_bare_part(name: str) -> bool:
    return _BARE_PART.fullmatch(name.strip()) is not None and not is_time(name)


def _holds_numbers_of_parts(rows: table.FileCells, column: int) -> bool:
    """Whether a column called "socket" or "gpu" says which of them a row is about."""
    name = rows.names[column].strip()
    if _NUMBERED_PART.fullmatch(name) is None:
        return False
    values = rows.floats(column)[0]
    values = values[np.isfinite(values)]
    return bool(len(values)) and bool(((values == values.round()) & (values < _MAX_PARTS)).all())


def _quantity(candidate: NamedColumn) -> str:
    return candidate.unit.quantity if candidate.unit is not None else ""


def named_energy(names: Sequence[str]) -> list[int]:
    """Columns whose names mean energy."""
    return [
        column
        for column, name in enumerate(names)
        if units.means_energy(name) and not is_time(name)
    ]


def beside_time(names: Sequence[str]) -> list[NamedColumn]:
    """Of two columns the one that is not the time.

    It is taken for watts only when a person named the file, and the log says so.
    """
    if tuple(names) == table.DATE_TIME_READING:
        return [NamedColumn(2, None)]
    if len(names) != 2:
        return []
    first, second = names
    if units.no_power(second) or units.means_energy(second) or is_time(second):
        return []
    if first == "column 1" or is_time(first):
        return [NamedColumn(1, None)]
    return []


def by_cells(rows: table.FileCells) -> list[NamedColumn]:
    """Columns whose cells hold watts with their unit ("950 W", "1.2 kW"), whatever they are called.

    So Grafana writes formatted values; a column is then called as its series is.
    """
    columns = []
    for column, name in enumerate(rows.names):
        if rows.is_numeric(column) or is_time(name) or units.no_power(name):
            continue
        if _UNNAMED.fullmatch(name):
            continue  # without a header it is prose with a number in each line
        cell_units = units.unit_of_cells(rows.texts(column)[:_MAX_PROBED_CELLS])
        if cell_units is not None and cell_units[0].quantity == "power":
            columns.append(NamedColumn(column, None))
    return columns


def pick_power(
    path: str,
    rows: table.FileCells,
    options: LogColumns,
    above: titles.Titles,
) -> tuple[list[PickedColumn], int | None]:
    """The columns of readings; and in a long table the column that names what was read."""
    given = _given_unit(options)
    if options.watts_col:
        candidates = _asked_columns(path, rows, options.watts_col)
    else:
        candidates = _named_candidates(rows)
        long = long_tables.long_form(rows, [candidate.column for candidate in candidates])
        if long is not None:
            picked = [_long_column(rows, long, unit, where, given) for unit, where in long.kinds]
            return picked, long.quantity
        energy = [] if candidates else named_energy(rows.names)
        if energy:
            candidates = _with_energy_unit(path, rows.names, energy, given, above)
        candidates = candidates or by_cells(rows) or beside_time(rows.names)
        if len(candidates) > 1:
            candidates = candidates[: groups.MAX_CHANNELS]
            candidates = [each for each in candidates if not _is_empty(rows, each.column)]
    candidates = candidates[: groups.MAX_CHANNELS]
    picked = [_picked(rows, candidate, given, above) for candidate in candidates]
    _ask_about_counters(path, rows, picked, given)
    if not picked:
        raise UnreadableFile(
            path, "has no column that is named like power or energy", hint=column_hint(rows)
        )
    return with_one_unit(picked), None


def _named_candidates(rows: table.FileCells) -> list[NamedColumn]:
    """Columns whose names mean power, without those whose cells number parts of a machine."""
    candidates = []
    for candidate in named_power(rows.names):
        if candidate.unit is not None or not _holds_numbers_of_parts(rows, candidate.column):
            candidates.append(candidate)
    return candidates + _machines_beside(rows, candidates)


def _machines_beside(rows: table.FileCells, parts: Sequence[NamedColumn]) -> list[NamedColumn]:
    """Columns whose numbers are of the size of those that names of parts alone say are power: a
    table of machines calls each by its name ("time,node1,thor,node3").
    """
    if not parts or not all(_is_bare_part(rows.names[part.column]) for part in parts):
        return []
    sizes = [_typical_number(rows, part.column) for part in parts]
    least = min(sizes) / _ALIKE
    most = max(sizes) * _ALIKE
    chosen = {part.column for part in parts}
    machines = []
    for column, name in enumerate(rows.names):
        if column in chosen or is_time(name) or units.no_power(name) or units.means_energy(name):
            continue
        if least <= _typical_number(rows, column) <= most and not _counts(rows, column):
            machines.append(NamedColumn(column, None))
    return machines


def _typical_number(rows: table.FileCells, column: int) -> float:
    """The median of a column; NaN of one without numbers."""
    values = rows.floats(column)[0]
    values = values[np.isfinite(values)]
    return median_of_column(values) if len(values) else float("nan")


def _counts(rows: table.FileCells, column: int) -> bool:
    """Whether a column numbers something, or is a setting: steps, epochs, a size of batches."""
    values = rows.floats(column)[0]
    values = values[np.isfinite(values)]
    return bool((values == values.round()).all() and (np.diff(values) >= 0).all())


def _ask_about_counters(
    path: str,
    rows: table.FileCells,
    picked: Sequence[PickedColumn],
    given: Unit | None,
) -> None:
    """Raise where nothing says that readings are power, and all of them only grow: as watts a
    counter of joules would be a wrong answer.
    """
    if given is not None or not picked:
        return
    for item in picked:
        name = rows.names[item.column]
        if item.written or units.means_power(name):
            return
        values = rows.floats(item.column)[0]
        if not (reading_sizes.only_grow(values) or reading_sizes.only_grow(values[::-1])):
            return
    raise UnreadableFile(
        path,
        f"has readings that only grow in `{rows.names[picked[0].column]}`: a counter of energy, or "
        "of something else",
        hint="Name their unit: --unit J (or uJ, mJ, kJ, Wh, kWh), or --unit W for power.",
    )


def _given_unit(options: LogColumns) -> Unit | None:
    if not options.unit:
        return None
    if options.unit not in units.UNITS:
        raise UsageError(
            f"--unit {options.unit}: unknown unit", hint=f"Known units: {', '.join(units.UNITS)}."
        )
    return units.UNITS[options.unit]


def _asked_columns(path: str, rows: table.FileCells, asked: str) -> list[NamedColumn]:
    """The columns that a person named, separated by commas; a name may hold commas itself."""
    if rows.find(asked) is None:
        names = asked.split(",")
    else:
        names = [asked]
    candidates = []
    for name in names:
        column = rows.find(name)
        if column is None:
            raise UsageError(
                f"{path}: there is no column {name!r}",
                hint=f"Its columns are: {listed(rows.names)}.",
            )
        candidates.append(NamedColumn(column, units.unit_of_name(rows.names[column])))
    return candidates


def _with_energy_unit(
    path: str,
    names: Sequence[str],
    columns: Sequence[int],
    given: Unit | None,
    above: titles.Titles,
) -> list[NamedColumn]:
    """Columns of energy, in the unit that was given or is written above the table.

    There is no guessing it: J and Wh look alike.
    """
    candidates = []
    for column in columns:
        unit = given or above.unit_of(names[column], "energy")
        if unit is not None:
            candidates.append(NamedColumn(column, unit))
    if not candidates:
        raise UnreadableFile(
            path,
            f"has no unit for `{names[columns[0]]}`",
            hint="Name it: --unit J (or mJ, kJ, Wh, kWh).",
        )
    return candidates


def _is_empty(rows: table.FileCells, column: int) -> bool:
    values, is_bad = rows.floats(column)
    return bool((is_bad | np.isnan(values)).all())


def _picked(
    rows: table.FileCells,
    candidate: NamedColumn,
    given: Unit | None,
    above: titles.Titles,
) -> PickedColumn:
    """A column of readings with its unit: as given, as its name or a line above the table says, or
    else by the size of its readings.
    """
    name = rows.names[candidate.column]
    written = candidate.unit
    unit = given or written or above.unit_of(name, "power")
    if unit is not None:
        return PickedColumn(candidate.column, name, unit, sure=True, written=written is not None)
    values = rows.floats(candidate.column)[0]
    unit, sure = reading_sizes.unit_by_size(name, values)
    # Else nothing says that it is power at all: percent and degrees have no more than 100.
    is_part = _BARE_PART.fullmatch(name.strip()) is not None
    means_power = units.means_power(name) or (is_part and reading_sizes.exceed_percent(values))
    return PickedColumn(
        candidate.column,
        name,
        unit,
        sure=sure and means_power,
        written=False,
        sized=True,
    )


def _long_column(
    rows: table.FileCells,
    long: long_tables.Long,
    written: Unit | None,
    where: Bools,
    given: Unit | None,
) -> PickedColumn:
    """The rows of one unit in a long table."""
    name = rows.names[long.value]
    unit = given or written
    sure = True
    if unit is None:
        unit, sure = reading_sizes.unit_by_size(name, rows.floats(long.value)[0][where])
    return PickedColumn(
        column=long.value,
        name=name,
        unit=unit,
        sure=sure,
        written=written is not None,
        where=where,
    )

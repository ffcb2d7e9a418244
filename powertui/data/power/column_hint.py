"""What to type for a table whose columns cannot be guessed: its own names, spelled out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import numpy as np

from powertui.data.power import column_times, table, units
from powertui.data.power.time_signs import is_time, rises
from powertui.data.quantiles import median_of_column
from powertui.patterns import late_pattern
from powertui.plain import plain

# What a column of power may be called beyond the words that are taken for it without asking.
_LIKELY_WORDS = frozenset(
    {"p", "pw", "pow", "ptot", "load", "last", "w", "leistung", "potencia", "puissance", "potenza"}
)
# Readings of most machines and their parts, in W; chosen, not measured. It decides only which
# column the answer names.
_LIKELY_WATTS = (3.0, 5000.0)
# Amperes, volts, degrees, shares, and counts.
_OTHER_QUANTITY = late_pattern(
    r"[\[(]\s*[munkµμ]?(?:A|V|Hz|°?C|°?F|%|K|s|B)\s*[\])]|^(?:#|no\.?|idx|index|step|row|pid|C/G|%)$"
    r"|^\W*$",
    re.IGNORECASE,
)
_MAX_LISTED_NAMES = 12  # of columns, in a message
_MAX_NAME_CHARS = 40  # of a file's own words in a message


def column_hint(rows: table.FileCells) -> str:
    """The columns and the options that name two of them, for a table without a known column of
    power, or of time.
    """
    readings = [column for column in range(len(rows.names)) if _holds_numbers(rows, column)]
    time = _likely_time(rows, readings)
    columns = [column for column in readings if column != time and not is_time(rows.names[column])]
    names = f"Its columns are: {plain(listed(rows.names), 200)}."
    if not columns:
        return f"{names} Name two: --watts-col NAME --time-col NAME --unit W"
    watts = [column for column in columns if not _is_other_quantity(rows.names[column])]
    if not watts:
        # Horsepower, dBm, a limit or a peak: told as watts it would be a wrong answer.
        return (
            f"{names} By their names none is power in W (or mW, kW). "
            "Name two: --watts-col NAME --time-col NAME --unit W"
        )
    likely = max(watts, key=lambda column: _likeness(rows, column))
    time_name = "NAME"
    if time is not None:
        time_name = _quoted(rows, time)
    # A name that says kW must not be offered as W: the answer would be a thousandth.
    named_unit = units.unit_of_name(rows.names[likely])
    unit = "W"
    if named_unit is not None and named_unit.quantity == "power":
        unit = named_unit.name
    options = f"--watts-col {_quoted(rows, likely)} --time-col {time_name} --unit {unit}"
    return (
        f"{names} If {_shown(rows.names[likely])} is the power in {unit}, add: "
        f"{options} (and --tz for local times)"
    )


def _is_other_quantity(name: str) -> bool:
    """Whether a column is no power by its name or its unit, or a number of something."""
    if units.no_power(name):
        return True
    return _OTHER_QUANTITY.search(name.strip()) is not None


def listed(names: Sequence[str]) -> str:
    """Names of columns, for a message."""
    words = ", ".join(names[:_MAX_LISTED_NAMES])
    if len(names) > _MAX_LISTED_NAMES:
        words += " …"
    return words


def _shown(name: str) -> str:
    return plain(name, _MAX_NAME_CHARS)


def _quoted(rows: table.FileCells, column: int) -> str:
    """A column as a shell takes it: by its name, or by its number where that is long or odd."""
    name = rows.names[column].strip()
    is_short = 0 < len(name) <= _MAX_NAME_CHARS
    is_plain = name.isprintable() and "," not in name
    if is_short and is_plain and rows.find(name) == column:
        return shlex.quote(name)
    return str(column + 1)


def _holds_numbers(rows: table.FileCells, column: int) -> bool:
    values, _ = rows.floats(column)
    number_count = np.isfinite(values).sum()
    return bool(2 * number_count > len(values))


def _likely_time(rows: table.FileCells, readings: list[int]) -> int | None:
    """The column whose name means time, else one of dates, else the first one that only rises."""
    for column, name in enumerate(rows.names):
        if is_time(name):
            return column
    for column in range(len(rows.names)):
        if column in readings:
            continue
        written = column_times.from_texts(rows.texts(column))
        if written.ok.mean() > 0.5:
            return column
    for column in readings:
        values, _ = rows.floats(column)
        if rises(column_times.from_numbers(values.copy())):
            return column
    return None


def _likeness(rows: table.FileCells, column: int) -> tuple[bool, bool, bool, int]:
    """How much a column looks like power: by its name, its size, that it changes, its place."""
    name = rows.names[column]
    words = set(units.tokens(name))
    words.update(re.split(r"[^a-z]+", name.lower()))
    values, _ = rows.floats(column)
    values = values[np.isfinite(values)]
    typical = median_of_column(np.abs(values))
    min_watts, max_watts = _LIKELY_WATTS
    has_likely_name = not words.isdisjoint(_LIKELY_WORDS)
    has_likely_size = min_watts <= typical <= max_watts
    is_changing = bool(values.min() < values.max())
    return has_likely_name, has_likely_size, is_changing, -column

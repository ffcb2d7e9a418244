"""Points and commas that part thousands: 2.000 is two thousand where 45,3 stands beside it, and two
where 45.3 does.

A column says it itself where it holds 1.234.567, or 950 beside 1.010 (whoever writes three decimals
writes 950.000). Else the other columns say which sign parts decimals there; in a table of commas
nobody writes decimals with them. Where nothing says it, it is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from powertui.data.power.cells import FileCells
from powertui.data.power.notes import Notes
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

_CHECKED_CELLS = 2000  # cells of a column
_POINTS = late_pattern(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+")
_COMMAS = late_pattern(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+")
_UNDER_THOUSAND = late_pattern(r"[-+]?\d{1,3}")
_POINT_DECIMALS = late_pattern(r"[-+]?(?:\d+\.(?:\d{1,2}|\d{4,})|0\.\d+|\d{4,}\.\d+)")
_COMMA_DECIMALS = late_pattern(r"[-+]?(?:\d+,(?:\d{1,2}|\d{4,})|0,\d+|\d{4,},\d+)")


_GROUPED = late_pattern(r"[-+]?[1-9]\d{0,2}(?:(?:\.\d{3})+|(?:,\d{3})+)")


def without_thousands_signs(cells: FileCells, delimiter: str, notes: Notes) -> FileCells:
    """The same with signs between thousands taken out; columns of which it is open are named in
    `either`.
    """
    probes: list[list[str]] = []
    for column in range(len(cells.names)):
        probe: list[str] = []
        if not cells.is_numeric(column):
            probe = _distinct_numbers(cells.texts(column))
        probes.append(probe)
    # Nearly no table has any: cells with a group are the first of each column.
    first_cells = [probe[0] for probe in probes if probe]
    if not any(map(_GROUPED.fullmatch, first_cells)):
        return cells
    columns = list(cells.columns)
    either = set()
    for column, probe in enumerate(probes):
        others = (cell for beside in probes if beside is not probe for cell in beside)
        sign = thousands_sign(probe, others, delimiter)
        if sign == "?":
            either.add(column)
        elif sign:
            columns[column] = [cell.replace(sign, "") for cell in cells.texts(column)]
            sign_name = "points" if sign == "." else "commas"
            example = probe[0]
            without = example.replace(sign, "")
            notes.say(
                f"{cells.names[column]}: {sign_name} separate thousands ({example} is {without})"
            )
    return replace(
        cells,
        columns=columns,
        either=frozenset(either),
    )


def _distinct_numbers(texts: Sequence[str]) -> list[str]:
    """What cells say as numbers, each once, the ones with a group first."""
    numbers = set()
    for cell in texts[:_CHECKED_CELLS]:
        if cell[:1].isdigit() or cell.startswith(("+", "-")):
            numbers.add(cell)
    return sorted(numbers, key=_groups_first)


class _Sign(NamedTuple):
    """A sign that may part thousands, and what shows it."""

    sign: str
    groups: re.Pattern[str]  # cells that may hold it between thousands
    decimals: re.Pattern[str]  # cells in which it parts decimals
    others_decimals: re.Pattern[str]  # cells in which the other sign parts decimals


_SIGNS = (
    _Sign(".", _POINTS, _POINT_DECIMALS, _COMMA_DECIMALS),
    _Sign(",", _COMMAS, _COMMA_DECIMALS, _POINT_DECIMALS),
)


def _groups_first(cell: str) -> tuple[bool, str]:
    has_group = _GROUPED.fullmatch(cell) is not None
    return not has_group, cell


def thousands_sign(cells: Sequence[str], others: Iterable[str], delimiter: str) -> str:
    """The sign that parts thousands in these cells; "?" where it may as well part decimals, ""
    where none does.
    """
    for sign in _SIGNS:
        grouped = list(filter(sign.groups.fullmatch, cells))
        if not grouped or not all(_fits(cell, sign) for cell in cells):
            continue
        if _is_certain(cells, grouped, sign):
            return sign.sign
        return _sign_by_others(sign, others, delimiter)
    return ""


def _fits(cell: str, sign: _Sign) -> bool:
    """Whether a cell may be written with this sign between thousands."""
    if sign.groups.fullmatch(cell):
        return True
    return _UNDER_THOUSAND.fullmatch(cell) is not None


def _is_certain(cells: Sequence[str], grouped: Sequence[str], sign: _Sign) -> bool:
    """Whether a column itself shows that a sign parts its thousands."""
    if any(cell.count(sign.sign) > 1 for cell in grouped):
        return True
    # Whoever writes three decimals writes 950.000, and not 950.
    long_count = 0
    for cell in cells:
        digits = cell.lstrip("+-")
        long_count += len(digits) >= 2
    return len(grouped) < long_count


def _sign_by_others(sign: _Sign, others: Iterable[str], delimiter: str) -> str:
    """What the other columns of a table say of a sign; "?" where they say nothing."""
    others = list(others)
    if any(map(sign.decimals.fullmatch, others)):
        return ""
    if delimiter == sign.sign or any(map(sign.others_decimals.fullmatch, others)):
        return sign.sign
    if delimiter == ";" or sign.sign == ",":
        return "?"
    return ""

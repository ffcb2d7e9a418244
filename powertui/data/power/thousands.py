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

_CHECKED_CELLS = 2000  # cells of a column
_POINTS = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+")
_COMMAS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+")
_UNDER_THOUSAND = re.compile(r"[-+]?\d{1,3}")
_POINT_DECIMALS = re.compile(r"[-+]?(?:\d+\.(?:\d{1,2}|\d{4,})|0\.\d+|\d{4,}\.\d+)")
_COMMA_DECIMALS = re.compile(r"[-+]?(?:\d+,(?:\d{1,2}|\d{4,})|0,\d+|\d{4,},\d+)")


def without_thousands_signs(cells: FileCells, delimiter: str, notes: Notes) -> FileCells:
    """The same with signs between thousands taken out; columns of which it is open are named in
    `either`.
    """
    looked = [
        [] if cells.is_numeric(i) else _unlike(cells.texts(i)) for i in range(len(cells.names))
    ]
    if not any(
        len(some) and (_POINTS.fullmatch(some[0]) or _COMMAS.fullmatch(some[0])) for some in looked
    ):
        return cells
    columns, either = list(cells.columns), set()
    for at, some in enumerate(looked):
        sign = thousands_sign(
            some, [cell for i, column in enumerate(looked) if i != at for cell in column], delimiter
        )
        if sign in (".", ","):
            columns[at] = [cell.replace(sign, "") for cell in cells.texts(at)]
            signs = "points" if sign == "." else "commas"
            notes.say(
                f"{cells.names[at]}: {signs} separate thousands ({some[0]} is "
                f"{some[0].replace(sign, '')})"
            )
        elif sign == "?":
            either.add(at)
    return replace(cells, columns=columns, either=frozenset(either))


def _unlike(texts: Sequence[str]) -> list[str]:
    """What cells say as numbers, each once, the ones with a group first."""
    some = sorted(
        {cell for cell in texts[:_CHECKED_CELLS] if cell[:1].isdigit() or cell[:1] in ("+", "-")}
    )
    return sorted(some, key=lambda cell: not (_POINTS.fullmatch(cell) or _COMMAS.fullmatch(cell)))


def thousands_sign(cells: Sequence[str], others: Iterable[str], delimiter: str) -> str:
    """The sign that parts thousands in these cells; "?" where it may as well part decimals, ""
    where none does.
    """
    for sign, groups, decimals, other_sign in (
        (".", _POINTS, _POINT_DECIMALS, _COMMA_DECIMALS),
        (",", _COMMAS, _COMMA_DECIMALS, _POINT_DECIMALS),
    ):
        grouped = [cell for cell in cells if groups.fullmatch(cell)]
        if not grouped or not all(
            groups.fullmatch(cell) or _UNDER_THOUSAND.fullmatch(cell) for cell in cells
        ):
            continue
        if len(grouped) < len([cell for cell in cells if len(cell.lstrip("+-")) >= 2]) or any(
            cell.count(sign) > 1 for cell in grouped
        ):
            return sign
        others = list(others)
        if any(decimals.fullmatch(cell) for cell in others):
            return ""
        if any(other_sign.fullmatch(cell) for cell in others) or delimiter == sign:
            return sign
        return "?" if delimiter == ";" or sign == "," else ""
    return ""

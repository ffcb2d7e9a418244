"""Where a table begins, under titles and with more than one row of headings.

Instruments write what they are above their table, spreadsheets a title, and a second row of the
header holds units or the names of which the first one names the groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from powertui.data.power import units

_CHECKED_ROWS = 10  # rows below a header that are looked at
_MIN_DATA_SHARE = 0.8  # of them are data
_OTHER_UNIT = re.compile(
    r"[\[(]?(?:-|n/?a|s|sec|secs|seconds?|ms|us|µs|ns|min|h|hh:mm:ss(?:\.\w+)?|yyyy[-/.]?mm[-/.]?dd.*|°?[CFK]|deg\.?\s?[CF]?|%|m?[AV]|k?VA|"
    r"k?var|volts?|amps?|amperes?|[kMG]?Hz|rpm|[kKMG]i?B(?:/s)?|unix|utc|local|date|time|idx|#|"
    r"pf|cos "
    r"?φ?)[\])]?",
    re.IGNORECASE,
)


class Heading(NamedTuple):
    """The names of a table's columns, the first line of data, and the first line of the heading."""

    names: tuple[str, ...]
    first: int
    top: int


def find_heading(
    lines: Sequence[tuple[int, str]],
    fields: Callable[[str], list[str]],
    like_data: Callable[[str], bool],
) -> Heading | None:
    """The heading of a table that does not begin at once; None where none of the lines is one.

    `lines`: with their numbers.
    """
    cells = [fields(line) for _, line in lines]
    widths = [len(row) for row in cells]
    width = max(set(widths), key=widths.count)

    def is_data(row: Sequence[str]) -> bool:
        if len(row) != width and not (len(row) == width + 1 and not row[-1]):
            return False
        return any(like_data(cell) for cell in row if cell)

    def is_words(row: Sequence[str], least: int = 1) -> bool:
        words = [cell for cell in row if cell]
        return (
            len(row) == width
            and len(words) >= least
            and not any(like_data(cell) or not re.search(r"[^\W\d]", cell) for cell in words)
        )

    for k, row in enumerate(cells):
        if not is_words(row, 2):
            continue
        below = k + 1
        while below < len(cells) and below <= k + 2 and is_words(cells[below]):
            below += 1
        rows = cells[below : below + _CHECKED_ROWS]
        if (
            not rows
            or not all(map(is_data, rows[:2]))
            or sum(map(is_data, rows)) < _MIN_DATA_SHARE * len(rows)
        ):
            continue
        return Heading(_names(cells[k:below]), lines[below][0], lines[k][0])
    return None


def _names(block: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """One name a column: of the row of names, with its group where it is not clear alone, and its
    unit.
    """
    rows = list(block)
    unit_row: Sequence[str] = ()
    for k, row in enumerate(rows):
        if len(rows) > 1 and _is_units(row):
            unit_row = rows.pop(k)
            break
    names = list(rows[-1])
    for group in reversed(rows[:-1]):
        clear = len(set(names)) == len(names) and all(names)
        if not clear:
            names = [
                " ".join(part for part in pair if part)
                for pair in zip(_carried(group, names), names, strict=True)
            ]
    if unit_row:
        names = [
            f"{name} [{cell.strip('[]() ')}]" if cell and name else name
            for name, cell in zip(names, unit_row, strict=True)
        ]
    return tuple(names)


def _carried(group: Sequence[str], names: Sequence[str]) -> list[str]:
    """A group's name stands over its first column alone; a group over one column without a name is
    that column.
    """
    out: list[str] = []
    for cell, name in zip(group, names, strict=True):
        out.append(cell or (out[-1] if out and name else ""))
    return out


def _is_units(row: Sequence[str]) -> bool:
    words = [cell for cell in row if cell]
    return (
        bool(words)
        and any(map(units.unit_of_symbol, words))
        and all(units.unit_of_symbol(c) or _OTHER_UNIT.fullmatch(c.strip()) for c in words)
    )

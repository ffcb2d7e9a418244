"""Where a table begins, under titles and with more than one row of headings.

Instruments write what they are above their table, spreadsheets a title, and a second row of the
header holds units or the names of which the first one names the groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from powertui.data.power import units
from powertui.named_tuples import NamedTuple

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
    fields: Callable[[str], Sequence[str]],
    like_data: Callable[[str], bool],
) -> Heading | None:
    """The heading of a table that does not begin at once; None where none of the lines is one.

    `lines`: with their numbers.
    """
    cells = [fields(line) for _, line in lines]
    widths = [len(row) for row in cells]
    typical_width = max(set(widths), key=widths.count)
    rows = _Rows(cells, typical_width, like_data)
    for top, row in enumerate(cells):
        if not rows.are_words(row, min_words=2):
            continue
        below = top + 1
        for second_row in cells[below : below + 2]:
            if not rows.are_words(second_row):
                break
            below += 1
        if rows.is_data_from(below):
            first_line, _ = lines[below]
            top_line, _ = lines[top]
            return Heading(
                names=_names(cells[top:below]),
                first=first_line,
                top=top_line,
            )
    return None


class _Rows(NamedTuple):
    """The first rows of a file, and how many cells a row of its table has."""

    cells: list[Sequence[str]]
    width: int
    like_data: Callable[[str], bool]

    def is_data(self, row: Sequence[str]) -> bool:
        cell_count = len(row)
        if cell_count == self.width + 1 and not row[-1]:
            cell_count -= 1  # a delimiter at the end
        if cell_count != self.width:
            return False
        return any(map(self.like_data, filter(None, row)))

    def are_words(self, row: Sequence[str], min_words: int = 1) -> bool:
        if len(row) != self.width:
            return False
        words = list(filter(None, row))
        if len(words) < min_words or row[0].endswith(":"):
            return False  # "Vertical Label:", "Watts" is a title
        return all(map(self._is_word, words))

    def _is_word(self, cell: str) -> bool:
        has_letter = re.search(r"[^\W\d]", cell)
        return has_letter is not None and not self.like_data(cell)

    def is_data_from(self, first: int) -> bool:
        """Whether nearly all of the rows from this one on are data."""
        rows = self.cells[first : first + _CHECKED_ROWS]
        if not rows:
            return False
        are_data = list(map(self.is_data, rows))
        if not all(are_data[:2]):
            return False
        return sum(are_data) >= _MIN_DATA_SHARE * len(rows)


def _names(block: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """One name a column: of the row of names, with its group where it is not clear alone, and its
    unit.
    """
    rows = list(block)
    unit_row = _taken_unit_row(rows)
    names = list(rows[-1])
    for group in reversed(rows[:-1]):
        is_clear = len(set(names)) == len(names) and all(names)
        if not is_clear:
            pairs = zip(_carried(group, names), names, strict=True)
            names = [" ".join(filter(None, pair)) for pair in pairs]
    if unit_row:
        names = list(map(_with_unit, names, unit_row))
    return tuple(names)


def _with_unit(name: str, cell: str) -> str:
    if not name or not cell:
        return name
    return f"{name} [{cell.strip('[]() ')}]"


def _carried(group: Sequence[str], names: Sequence[str]) -> list[str]:
    """A group's name stands over its first column alone; a group over one column without a name is
    that column.
    """
    carried: list[str] = []
    for cell, name in zip(group, names, strict=True):
        if carried and name:
            group_before = carried[-1]
        else:
            group_before = ""
        carried.append(cell or group_before)
    return carried


def _taken_unit_row(rows: list[Sequence[str]]) -> Sequence[str]:
    """The row of units, which leaves the rows; none where there is none."""
    # A single row of words is the names, even where they look like units.
    if len(rows) > 1:
        for place, row in enumerate(rows):
            if _is_units(row):
                return rows.pop(place)
    return ()


def _is_units(row: Sequence[str]) -> bool:
    words = list(filter(None, row))
    if not any(map(units.unit_of_symbol, words)):
        return False
    for word in words:
        if not units.unit_of_symbol(word) and not _OTHER_UNIT.fullmatch(word.strip()):
            return False
    return True

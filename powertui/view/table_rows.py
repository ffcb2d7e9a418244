"""A table as a screen shows it: which columns have room, and the text of one row.

Nothing here walks all rows to draw some: texts are made for the rows that are looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

import numpy as np

from powertui.data.columns import Column, ColumnKind, Value, shown
from powertui.data.model import Int64s
from powertui.data.names_in_words import in_words
from powertui.data.table import Table
from powertui.plain import plain, width
from powertui.terminal.glyphs import Glyphs
from powertui.value_types import dataclass
from powertui.view import nested_rows, truncation

# The longest bar of a share: where the columns leave room it grows with it, as far as the eye still
# compares lengths at the other end of a row (chosen by eye).
_MIN_BAR_CELLS, _MAX_BAR_CELLS = 12, 36
_MIN_WEIGHT_BEFORE_BAR = 3  # lighter columns give way to a bar: the end beside start and length
_MAX_BAR_RATIO = 2.5  # of the greatest excess to the next one: a bar beyond has a mark at its end
_NAME_SHARE_BESIDE_BAR = 0.3  # of the room, for the names of rows that have a bar
_MIN_NAME_CELLS = 34  # that names keep beside a bar: "conv2d_1_2 · Conv2DBackpropFilter" has 33
_MIN_BAR_WEIGHT = 8  # of a column of shares, to be what its table is about
GAP = 2  # cells between two columns
ALWAYS = 9  # columns of this weight are never left out
_MIN_TEXT_CELLS = 14
# A column with values in fewer of its rows gives way to those that have some everywhere: the joules
# of the one step of 200 that is long enough stood where the causes of all had no room (by eye).
_MIN_KNOWN_SHARE = 0.05
_MAX_TEXT_CELLS = 28  # of a column of words that is not the one that takes what is left
_SAMPLED_ROWS = 200  # rows that decide how wide a column of words is
_SCOPE_ROWS = 500  # rows whose names say which parts of a path tell one layer from another

LIMIT_TEXT = 2000  # characters of one name that are looked at

# Of (op, part of a path), of ("", part), and of (op, ""): how many names have it.
Scopes: TypeAlias = Mapping[tuple[str, str], int]

_WIDTHS: dict[ColumnKind, int] = {
    "integer": 9,
    "number": 11,
    "duration": 10,
    "instant": 12,
    "share": 7,
    "flag": 4,
}


@dataclass(frozen=True)
class Order:
    """How the rows are to stand: by one column, only those that hold a text.

    `column` None: as the table has them.
    """

    column: str | None = None
    descending: bool = True
    text: str = ""
    part: int = 0  # which part of the table
    wrappers: bool = False  # also rows that only hold others
    group: str = ""  # put together by this column; "": not at all


@dataclass(frozen=True)
class FittedColumns:
    """The columns that a width has room for, each with its cells."""

    columns: tuple[Column, ...]
    cells: tuple[int, ...]
    share: Column | None = None  # drawn as a bar behind the last column
    greatest_share: float = 0.0  # what the longest bar stands for
    is_excess: bool = False  # whether it is drawn as what is too much
    bar_cells: int = 0  # of the longest bar

    def at(self, x: int) -> str | None:
        """The id of the column at a cell."""
        start = 0
        for column, cells in zip(self.columns, self.cells, strict=True):
            if start <= x < start + cells:
                return column.id
            start += cells + GAP
        return None


def fit(
    table: Table,
    room: int,
    kept_ids: Collection[str | None] = (),
    name_share: float = 0.0,
) -> FittedColumns:
    """Which columns fit into so many cells.

    One without a single value tells nothing and has none. Of the others the lightest give way,
    never `kept_ids`; the heaviest words take the rest of the room, and have `name_share` of it
    before another column goes.
    """
    columns = []
    cells = {}
    for column in table.columns:
        if column.id in kept_ids or _tells_something(column):
            columns.append(column)
            cells[column.id] = _natural(column)
    texts = [column for column in table.shown if column.kind == "text"]
    main = max(texts, key=lambda column: column.weight, default=None)
    natural = 0
    if main is not None:
        natural = _natural(main, room)
        if table.within is not None:
            natural += 2 * nested_rows.INDENT
        # The name of a row counts more than its last figures.
        if not name_share:
            name_share = 0.4 if table.layer else 1 / 3
        reserved = round(room * name_share)
        cells[main.id] = min(natural, max(_MIN_TEXT_CELLS, reserved))

    def spare() -> int:
        needed = sum(cells[column.id] + GAP for column in columns)
        return room + GAP - needed

    order = list(columns)
    gone: list[Column] = []
    while spare() < 0:
        may_go = []
        for column in columns:
            if column.id not in kept_ids and _staying_weight(column) < ALWAYS:
                may_go.append(column)
        if not may_go:
            break
        lightest = min(reversed(may_go), key=_staying_weight)
        columns.remove(lightest)
        gone.append(lightest)
    # What went before a wider column that had to go, too, may have room in its place.
    for column in sorted(gone, key=_staying_weight, reverse=True):
        has_room = cells[column.id] + GAP <= spare()
        if has_room and _staying_weight(column):
            columns.append(column)
    columns.sort(key=order.index)
    if main is not None and spare() > 0:
        wanting = max(0, natural - cells[main.id])
        cells[main.id] += min(spare(), wanting)
    column_cells = tuple(cells[column.id] for column in columns)
    return FittedColumns(tuple(columns), column_cells)


def _staying_weight(column: Column) -> int:
    """How long a column stays: one without a single value goes first, one of few early."""
    if column.unknown:
        return 0
    if column.known_share >= _MIN_KNOWN_SHARE:
        return column.weight
    return column.weight // 2


def _tells_something(column: Column) -> bool:
    """Whether a person finds a value in it, or has to be told that there is none."""
    if column.wordless:
        return False
    if column.weight >= ALWAYS:
        return True
    return column.weight > 0 and not column.unknown


def fit_with_bar(
    table: Table,
    room: int,
    kept_ids: Collection[str | None] = (),
    name_share: float = 0.0,
) -> FittedColumns:
    """The same with a bar of each row's share behind it, where no column has to go for that."""
    plain_fit = fit(table, room, kept_ids, name_share)
    shares = []
    for column in plain_fit.columns:
        is_share = column.kind == "share" and column.weight >= _MIN_BAR_WEIGHT
        if is_share or column.id == table.excess:
            shares.append(column)
    if not shares:
        return plain_fit
    narrower = fit(
        table,
        room - _MIN_BAR_CELLS - GAP,
        kept_ids,
        _NAME_SHARE_BESIDE_BAR,
    )
    lost = [column for column in plain_fit.columns if column not in narrower.columns]
    loses_column = any(column.weight >= _MIN_WEIGHT_BEFORE_BAR for column in lost)
    loses_name = _name_cells(narrower) < min(_name_cells(plain_fit), _MIN_NAME_CELLS)
    if loses_column or loses_name:
        return plain_fit
    share = max(shares, key=lambda column: column.weight)
    values = np.asarray(share.values, np.float64)
    if share.present is not None:
        values = values[share.present]
    greatest = float(np.nanmax(values, initial=0.0))
    is_excess = share.id == table.excess
    if is_excess:
        # One step that was traced must not make dots of all bars.
        others = values[values < greatest]
        second = float(others.max(initial=0.0))
        if greatest > _MAX_BAR_RATIO * second > 0:
            greatest = second
    used = sum(cells + GAP for cells in narrower.cells)
    bar_cells = min(max(room - used, _MIN_BAR_CELLS), _MAX_BAR_CELLS)
    return FittedColumns(
        columns=narrower.columns,
        cells=narrower.cells,
        share=share,
        greatest_share=greatest,
        is_excess=is_excess,
        bar_cells=bar_cells,
    )


def _name_cells(fit: FittedColumns) -> int:
    """Cells of the widest words."""
    widest = 0
    for column, cells in zip(fit.columns, fit.cells, strict=True):
        if column.kind == "text":
            widest = max(widest, cells)
    return widest


def bar_of_share(fit: FittedColumns, row: int, glyphs: Glyphs) -> str:
    """A row's share as a bar: the greatest of the table has the full length."""
    if fit.share is None or fit.greatest_share <= 0:
        return ""
    value = fit.share.value(row)
    if not isinstance(value, int | float) or value <= 0:
        return ""
    ratio = value / fit.greatest_share
    if value > fit.greatest_share * (1 + 1e-9):
        return glyphs.thin_bar(1.0, fit.bar_cells - 1) + glyphs.right
    return glyphs.thin_bar(ratio, fit.bar_cells)


def holding(
    table: Table,
    rows: Int64s,
    text: str,
    fit: FittedColumns,
) -> tuple[str, ...]:
    """The columns without room whose words are why rows were found: those that hold the text where
    no column in sight does.
    """
    shown, hidden = _words_in_sight(table, fit)
    if not hidden:
        return ()
    low = text.lower()
    added: list[Column] = []
    for row in rows[:_SAMPLED_ROWS].tolist():
        if _first_with(low, row, [*shown, *added]) is None:
            column = _first_with(low, row, hidden)
            if column is not None:
                added.append(column)
    return tuple(column.id for column in added)


def _words_in_sight(table: Table, fit: FittedColumns) -> tuple[list[Column], list[Column]]:
    """The columns of words that have room, and those that have none, the heaviest first."""
    shown = []
    hidden = []
    for column in table.columns:
        if column.kind != "text":
            continue
        if column in fit.columns:
            shown.append(column)
        else:
            hidden.append(column)
    hidden.sort(key=lambda column: -column.weight)
    return shown, hidden


def _first_with(low: str, row: int, columns: Iterable[Column]) -> Column | None:
    """The first column whose words in a row hold a text of small letters."""
    for column in columns:
        if low in column.text(row).lower():
            return column
    return None


def matched_words(
    table: Table,
    row: int,
    text: str,
    fit: FittedColumns,
) -> str | None:
    """The words for which a row was found, where none of those in sight hold the text."""
    if not text:
        return None
    low = text.lower()
    shown, hidden = _words_in_sight(table, fit)
    if _first_with(low, row, shown) is not None:
        return None
    column = _first_with(low, row, hidden)
    if column is None:
        return None
    return plain(column.text(row), LIMIT_TEXT)


def with_found(
    name: str,
    words: str,
    text: str,
    cells: int,
    ellipsis: str = "…",
) -> str:
    """A name with the words for which its row was found behind it, in exactly so many cells."""
    name = name.rstrip()
    room = max(cells - width(name) - 3, cells // 2)
    matched = f" ({truncation.around(words, text, room, ellipsis)})"
    short_name = truncation.middle(name, max(1, cells - width(matched)), ellipsis)
    return fitted(short_name + matched, cells, ellipsis)


def _natural(column: Column, max_text_cells: int = _MAX_TEXT_CELLS) -> int:
    """How many cells a column would like."""
    if column.cells:
        return column.cells
    label_cells = width(column.label) + 2  # the arrow of the sorted column
    if column.kind == "text":
        text_cells = min(max_text_cells, _longest_text(column))
        return max(label_cells, text_cells)
    numbers = column.values
    if column.kind != "integer" or not isinstance(numbers, np.ndarray):
        return max(label_cells, _WIDTHS[column.kind])
    if not len(numbers) or numbers.dtype.kind not in "iu":
        return max(label_cells, _WIDTHS[column.kind])
    lowest = f"{int(numbers.min()):,}"
    highest = f"{int(numbers.max()):,}"
    return max(label_cells, len(lowest), len(highest))


def _longest_text(column: Column) -> int:
    """Cells of the longest of its first texts."""
    longest = 0
    for row in range(min(_SAMPLED_ROWS, len(column))):
        text = plain(column.text(row), 200)
        longest = max(longest, width(text))
    return longest


def cell(
    column: Column,
    row: int,
    cells: int,
    ellipsis: str = "…",
    scopes: Scopes | None = None,
    found: str = "",
) -> str:
    """One value in exactly so many cells: numbers to the right, words to the left, cut where they
    tell least. `scopes`: names are paths. `found`: a text that stays in sight where the words hold
    it.
    """
    if column.kind != "text":
        return truncation.end(column.text(row, padded=True) or "–", cells, ellipsis).rjust(cells)
    text = plain(column.text(row), LIMIT_TEXT)
    name = text
    if scopes is not None and width(text) > cells:
        name = layered(text, scopes)
    shown = fitted(name, cells, ellipsis)
    low = found.lower()
    if low and low not in shown.lower() and low in text.lower():
        shown = truncation.around(text, found, cells, ellipsis)
        shown += " " * (cells - width(shown))
    return shown


def scopes_of(column: Column) -> Scopes:
    """How many of the first names have each part of a path before its last one: all of them, and
    those of the same op. And how many are of each op.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for row in range(min(_SCOPE_ROWS, len(column))):
        path = column.text(row)[:LIMIT_TEXT]
        *parts, op = path.split("/")
        counts[op, ""] += 1
        for part in dict.fromkeys(parts):
            counts["", part] += 1
            counts[op, part] += 1
    return counts


def layered(path: str, scopes: Scopes) -> str:
    """A long path as its layer and its op.

    The layer is the part that tells it from the other rows of this op: the rarest there. A part
    that is itself an op is none: a gradient has that of its forward op in its path.
    """
    *parts, op = path.split("/")
    if len(parts) < 2:
        return path

    def rarity(part: str) -> tuple[bool, int, int]:
        is_op = scopes.get((part, ""), 0) > 0
        names_of_op = scopes.get((op, part), 0)
        all_names = scopes.get(("", part), 0)
        return is_op, names_of_op, all_names

    layer = min(reversed(parts), key=rarity)
    return f"{layer} · {op}"


def has_long_names(column: Column, cells: int) -> bool:
    """Whether one of its first texts has no room: all paths are shortened then, to read alike."""
    return _longest_text(column) > cells


def fitted(text: str, cells: int, ellipsis: str = "…") -> str:
    """Words in exactly so many cells.

    Names of kernels are given by what differs between them. Names of layers and ops differ at both
    ends: they are cut in the middle.
    """
    if width(text) > cells:
        text = in_words(text)
    shown = truncation.middle(text, cells, ellipsis)
    return shown + " " * (cells - width(shown))


def total_cell(
    column: Column,
    value: Value,
    cells: int,
    ellipsis: str,
) -> str:
    """What some rows come to, under their values; blank where a sum means nothing."""
    text = shown(value, column.kind, column.unit, padded=True)
    return truncation.end(text, cells, ellipsis).rjust(cells)


def title(column: Column, cells: int, order: Order) -> str:
    """What stands above a column, with an arrow where the rows are sorted by it."""
    label = column.label
    if column.id == order.column:
        arrow = " v" if order.descending else " ^"
        label = label[: cells - len(arrow)] + arrow
    if column.numeric:
        return label.rjust(cells)
    return label.ljust(cells)

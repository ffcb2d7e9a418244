"""A `Table` as HTML: its heaviest columns, bars behind shares, badges as labels.

It scrolls inside of its own box where the page is narrower.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from powertui.data.columns import Column
from powertui.data.model import Badge
from powertui.data.table import Table, plural
from powertui.html.markup import Markup, breakable, element, left_out_note, optional
from powertui.plain import plain
from powertui.terminal.theme import CATEGORIES
from powertui.view import truncation

_MAX_COLUMNS = 8
_MAX_NAME_CELLS = 96  # kernels have names of thousands of characters
_MAX_SENTENCE_CELLS = 300
_MAX_READ_LETTERS = 1000  # at either end of a name: HLO text can be megabytes
_MIN_WIDE_COLUMNS = 5  # from which on a table is wider than a phone
_MAX_UNBROKEN_ROWS = 10  # of a table that stays on one page of paper
_MIN_BAR_WEIGHT = 7  # of a column that has bars
_MAX_NARROW_LETTERS = 16  # letters that may stand in a narrow column
_BADGES = frozenset(badge.value for badge in Badge)


def table_section(
    table: Table,
    *,
    rows: Sequence[int] | None = None,
    max_rows: int = 15,
    without: Collection[str] = (),
    title: str = "",
) -> Markup | None:
    """The first rows of a table, or these, below its title. None of a table without any.

    `without` names columns that are left out.
    """
    if rows is None:
        rows = range(len(table))
    shown = list(rows)[:max_rows]
    columns = _columns(table, shown, without)
    if not shown or not columns:
        return None
    left_out = len(table) - len(shown)
    return element(
        "section",
        element("h3", title or table.title),
        _scrolled(table, columns, shown),
        left_out_note(left_out, plural(table.noun, left_out)),
        class_=_table_class(len(shown)),
    )


def _table_class(row_count: int) -> str:
    """A short table stays on one page of paper."""
    return "table short" if row_count <= _MAX_UNBROKEN_ROWS else "table"


def rows_section(
    title: str,
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Collection[int] = (),
    left_out: int = 0,
) -> Markup:
    """Rows of words below a title; `numbers` are the columns that stand at the right.

    A column without any word is left out.
    """
    all_rows = list(rows)
    filled = [index for index in range(len(headers)) if any(row[index] for row in all_rows)]
    body = []
    for row in all_rows:
        cells = []
        for index in filled:
            words = row[index]
            class_ = "number" if index in numbers else None
            if (
                class_ is None
                and len(words) > _MAX_NARROW_LETTERS
                and not isinstance(words, Markup)
            ):
                class_ = "words"
            cells.append(element("td", words, class_=class_))
        body.append(element("tr", *cells))
    heads = []
    for index in filled:
        class_ = "number" if index in numbers else None
        heads.append(element("th", headers[index], class_=class_, scope="col"))
    return element(
        "section" if title else "div",
        optional("h3", title),
        _box(heads, body, title or headers[0]),
        left_out_note(left_out),
        class_=_table_class(len(body)),
    )


def _scrolled(table: Table, columns: Sequence[Column], rows: Sequence[int]) -> Markup:
    headers = []
    for column in columns:
        headers.append(element("th", column.label, class_=_class(column), scope="col"))
    body = []
    barred = _heaviest(columns, "share")
    named = _heaviest(columns, "text")
    for row in rows:
        mark = _kind_of_work(table, row)
        cells = []
        for column in columns:
            if column is barred:
                cells.append(_barred_cell(column, row))
            else:
                limit = _MAX_NAME_CELLS if _holds_names(table, column) else _MAX_SENTENCE_CELLS
                cells.append(_cell(column, row, mark if column is named else None, limit))
        body.append(element("tr", *cells))
    return _box(headers, body, table.title)


def _box(headers: Iterable[Markup], rows: Iterable[Markup], label: str) -> Markup:
    """A table in a box that scrolls, by the keyboard, too."""
    heads = list(headers)
    head = element("thead", element("tr", *heads))
    width = "many" if len(heads) >= _MIN_WIDE_COLUMNS else None
    return element(
        "div",
        element("table", head, element("tbody", *rows), class_=width),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=label,
    )


def _columns(
    table: Table,
    rows: Sequence[int],
    without: Collection[str],
) -> list[Column]:
    """The heaviest columns that have a value in one of these rows, in their order."""
    candidates = []
    for column in table.shown:
        if column.id not in without and any(column.text(row) for row in rows):
            candidates.append(column)
    heaviest = sorted(candidates, key=lambda column: -column.weight)[:_MAX_COLUMNS]
    return [column for column in candidates if column in heaviest]


def _class(column: Column) -> str | None:
    return "number" if column.numeric else None


def _heaviest(columns: Sequence[Column], kind: str) -> Column | None:
    """The column of a kind that counts most, the first of equal ones."""
    alike = [column for column in columns if column.kind == kind]
    if kind == "share":  # how much of it was covered, say, is no part of the row
        alike = [column for column in alike if column.weight >= _MIN_BAR_WEIGHT]
    return max(alike, key=lambda column: column.weight, default=None)


def _holds_names(table: Table, column: Column) -> bool:
    """Whether a column of words has names, which may be very long, rather than sentences."""
    return table.kind_of_work is not None or column.id in table.key


def _cell(
    column: Column,
    row: int,
    mark: Markup | None,
    limit: int,
) -> Markup:
    """A value; `mark` stands before a name, of which so many cells are shown."""
    words = column.text(row)
    if column.kind == "text":
        if words in _BADGES:
            return element("td", badge(words))
        classes = []
        if mark is not None:
            classes.append("marked")
        if len(words) > _MAX_NARROW_LETTERS:
            classes.append("words")
        name = breakable(short_name(words, limit))
        return element(
            "td",
            mark,
            name,
            class_=" ".join(classes) or None,
        )
    return element("td", words, class_=_class(column))


def short_name(name: str, limit: int = _MAX_NAME_CELLS) -> str:
    """A name that fits into a cell: its beginning and its end, which tell names apart."""
    if len(name) > 2 * _MAX_READ_LETTERS:
        name = name[:_MAX_READ_LETTERS] + name[-_MAX_READ_LETTERS:]
    return truncation.middle(plain(name), limit)


def badge(words: str) -> Markup:
    """How sure a figure is, as a label."""
    return element("span", words, class_=f"badge {words.replace(' ', '-')}")


def _kind_of_work(table: Table, row: int) -> Markup | None:
    """The color of what a row is."""
    if table.kind_of_work is None:
        return None
    kind = table.kind_of_work(row)
    return element("i", class_=f"dot c-{kind if kind in CATEGORIES else 'other'}")


def _barred_cell(column: Column, row: int) -> Markup:
    """A share with a bar: the greatest of the column has the full length."""
    value = column.value(row)
    values = np.nan_to_num(np.asarray(column.values, np.float64))
    greatest = float(values.max(initial=0.0))
    length = 0.0
    if isinstance(value, float) and greatest > 0:
        length = min(1.0, max(0.0, value / greatest))
    bar = element("i", class_="bar", style=f"--share:{length:.3f}")
    return element("td", bar, column.text(row), class_="number share")

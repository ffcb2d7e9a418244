"""The one table on screen: any `Table`, sorted, filtered, with a cursor. It knows no tool.

A row becomes text when it is looked at, and the order of many rows is worked out in a thread:
length costs nothing, and the keys answer meanwhile. A newer question puts an older one aside.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from powertui.data.category import Category
from powertui.data.model import Int64s
from powertui.data.table import Column, Place, Table, Value, plural
from powertui.data.texts import CancelCheck, unhindered
from powertui.plain import plain, width
from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.theme import Theme
from powertui.view import table_order, table_rows, truncation
from powertui.view.table_order import ListedRows, RowGroup
from powertui.view.table_rows import GAP, FittedColumns, Order
from powertui.widgets import background

_TOTAL = "total of what is listed"
AT_ONCE = 5_000  # rows that are put in order without a thread


class TableView(Widget, can_focus=True):
    """Sort with `sort` or a click on a title; `filter`; Enter sends `Chosen`."""

    DEFAULT_CSS = "TableView { height: 1fr; width: 1fr; padding: 0 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "to_end(-1)", show=False),
        Binding("end", "to_end(1)", show=False),
        Binding("enter", "choose", show=False),
    ]

    class Chosen(Message):
        """Enter on a row, or a second click."""

        def __init__(self, view: TableView, row: int, place: Place | None) -> None:
            super().__init__()
            self.view, self.row, self.place = view, row, place

        @property
        def control(self) -> TableView:
            """The table that it happened in."""
            return self.view

    class Moved(Message):
        """The cursor stands on another row (-1: on none)."""

        def __init__(self, view: TableView, row: int) -> None:
            super().__init__()
            self.view, self.row = view, row

        @property
        def control(self) -> TableView:
            """The table that it happened in."""
            return self.view

    def __init__(
        self,
        *,
        theme: Theme,
        glyphs: str = "unicode",
        waiting: str = "Counting …",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.waiting = waiting  # what stands here before there is a table
        self.table: Table | None = None
        self.order = Order()
        self.cursor = 0  # of the lines
        self.top = 0
        self._stands: ListedRows | None = (
            None  # the lines: behind `table` while a thread puts them in order
        )
        self._open: frozenset[str] = frozenset()  # groups that are unfolded
        self._fit: tuple[tuple[int, Table, Order, ListedRows | None], FittedColumns] | None = None
        self._scopes: tuple[Table, table_rows.Scopes] | None = None
        self._totals: tuple[ListedRows | None, Mapping[str, Value]] | None = None

    def restyle(self, theme: Theme, glyphs: str) -> None:
        """Draw with these styles from now on."""
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.refresh()

    # ── what it shows ────────────────────────────────────────────────────────────────────────────

    def show(self, table: Table | None) -> None:
        """Another table; None while it is being worked out.

        A table of the same kind keeps order and filter.
        """
        same = table is not None and self.table is not None and table.id == self.table.id
        self.table = table
        if table is not None and not same:
            column, descending = table.order or (None, True)
            self.order = Order(column, descending)
            self.cursor = self.top = 0
            self._open = frozenset()
        self._arrange()

    def sort(self, id: str) -> None:
        """By this column; the same one again turns it round."""
        if self.table is None or id not in self.table.ids:
            return
        descending = (
            not self.order.descending if id == self.order.column else self.table[id].numeric
        )
        self._reorder(column=id, descending=descending)

    def longest_first(self) -> None:
        """By the first column of times, the longest at the top."""
        if self.table is not None:
            times = [column for column in self.table.shown if column.kind == "duration"]
            if times:
                self._reorder(
                    column=max(times, key=lambda column: column.weight).id, descending=True
                )
                self.action_to_end(-1)

    def next_group(self) -> str:
        """Put the rows together by the next thing that they have in common.

        What is to be said of it.
        """
        if self.table is None or not table_order.groupings(self.table):
            return "These rows have nothing to group by."
        choices = ("", *table_order.groupings(self.table))
        at = choices.index(self.order.group) if self.order.group in choices else 0
        self._open = frozenset()
        self._reorder(group=choices[(at + 1) % len(choices)])
        by = next(
            (column.label for column in self.table.columns if column.id == self.order.group),
            self.order.group,
        )
        return (
            f"Grouped by {by}. Enter unfolds a group, g groups by the next."
            if by
            else "Not grouped."
        )

    def next_part(self) -> None:
        """Devices, then the host, then all."""
        self._reorder(part=self.order.part + 1)

    def turn_wrappers(self) -> None:
        """Show rows that only hold others, or leave them out."""
        self._reorder(wrappers=not self.order.wrappers)

    def _reorder(self, **changed: Any) -> None:
        self.order = replace(self.order, **changed)
        self._arrange()

    def sort_next(self) -> None:
        """By the next column that is shown."""
        if self.table is None:
            return
        ids = [column.id for column in self._fitted(self.table).columns]
        place = ids.index(self.order.column) if self.order.column in ids else -1
        self.sort(ids[(place + 1) % len(ids)])

    def filter(self, text: str) -> None:
        """Only rows that hold the text in one of their words."""
        self._reorder(text=text)

    def _arrange(self) -> None:
        table, order = self.table, self.order
        self.refresh()
        if table is None:
            background.cancel(self, "arrange")
            self._stands = None
            return
        row, shown, open_ = self.row, self._listed, self._open
        was = shown.key_of(row) if shown is not None and row >= 0 and shown.id == table.id else ()
        same, at = shown is table, self.cursor

        def work(check: CancelCheck) -> tuple[ListedRows, int]:
            found = table_order.listed(table, order, open_, check)
            place = table.find(was, found.lines) if was and not found.groups else -1
            if place < 0 and same and not table.key:
                place = next(iter(np.flatnonzero(found.lines == row).tolist()), at)
            return found, max(0, place)

        if len(table) <= AT_ONCE:
            background.cancel(self, "arrange")
            self._arranged(work(unhindered))
        else:
            background.begin(self, "arrange", work, self._arranged)

    def _arranged(self, found: tuple[ListedRows, int]) -> None:
        self._stands, self.cursor = found
        self.cursor = min(self.cursor, max(0, len(self.lines) - 1))
        self._scroll()
        self.refresh()
        self.post_message(self.Moved(self, self.row))

    @property
    def is_arranging(self) -> bool:
        """Whether the lines are still being put in order."""
        return background.is_under_way(self, "arrange")

    @property
    def _listed(self) -> Table | None:
        """What the lines are of."""
        return self._stands.table if self._stands is not None else None

    @property
    def rows(self) -> Int64s:
        """Rows of the table, as they stand here; in groups, those of closed ones too."""
        return self._stands.rows if self._stands is not None else np.empty(0, np.int64)

    @property
    def lines(self) -> Int64s:
        """The lines: a row, or below 0 the heading of a group."""
        return self._stands.lines if self._stands is not None else np.empty(0, np.int64)

    @property
    def row(self) -> int:
        """The table's row under the cursor; -1 for none, and on the heading of a group."""
        return max(-1, int(self.lines[self.cursor])) if self.cursor < len(self.lines) else -1

    @property
    def group(self) -> RowGroup | None:
        """The group whose heading is under the cursor."""
        line = int(self.lines[self.cursor]) if self.cursor < len(self.lines) else 0
        return self._stands.groups[-1 - line] if line < 0 and self._stands is not None else None

    @property
    def place(self) -> Place | None:
        """Where the row under the cursor lies.

        A row's number alone says nothing once another table is shown.
        """
        row = self.row
        return self._listed.place(row) if row >= 0 and self._listed is not None else None

    @property
    def in_sight(self) -> list[Place]:
        """Where the rows on the screen lie, as far as that is known."""
        listed = self._listed
        rows = self.lines[self.top : self.top + self.rows_visible].tolist()
        return [
            found
            for row in rows
            if listed is not None
            and 0 <= row < len(listed)
            and (found := listed.place(row)) is not None
        ]

    @property
    def rows_visible(self) -> int:
        """How many rows have room between titles and summary."""
        return max(1, self.size.height - 2 - self._has_total)

    @property
    def _has_total(self) -> bool:
        return self._listed is not None and self._listed.total is not None and self.size.height > 4

    def _scroll(self) -> None:
        lowest = max(0, len(self.lines) - self.rows_visible)
        self.top = max(
            0, min(max(self.top, self.cursor - self.rows_visible + 1), self.cursor, lowest)
        )

    # ── moving ───────────────────────────────────────────────────────────────────────────────────

    def action_move(self, by: int) -> None:
        """So many rows down."""
        self.cursor = min(max(0, self.cursor + by), max(0, len(self.lines) - 1))
        self._scroll()
        self.refresh()
        self.post_message(self.Moved(self, self.row))

    def action_page(self, direction: int) -> None:
        """A page down or up."""
        self.action_move(direction * self.rows_visible)

    def action_to_end(self, direction: int) -> None:
        """To the last row or the first."""
        self.action_move(direction * len(self.lines))

    def action_choose(self) -> None:
        """Enter: a group opens or closes, a row is chosen."""
        group, row = self.group, self.row
        if group is not None and self._stands is not None:
            self._unfold(self._open ^ {group.label})
        elif row >= 0 and self._listed is not None:
            self.post_message(self.Chosen(self, row, self._listed.place(row)))

    def _unfold(self, open_: frozenset[str]) -> None:
        assert self._stands is not None
        row, self._open = self.row, open_
        self._stands = self._stands.unfolded(self._open)
        at = np.flatnonzero(self.lines == row)
        self.cursor = (
            int(at[0]) if row >= 0 and len(at) else min(self.cursor, max(0, len(self.lines) - 1))
        )
        self._scroll()
        self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self._scroll()

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def _fitted(self, table: Table) -> FittedColumns:
        room = self.content_size.width - self._indent(table)
        of = (room, table, self.order, self._stands)
        if self._fit is None or self._fit[0] != of:
            fit, order = table_rows.fit(table, room, (self.order.column,)), self.order
            if order.text and self._stands is not None and self._stands.table is table:
                held = table_rows.holding(table, self._stands.rows, order.text, fit)
                wider = table_rows.fit(table, room, (order.column, *held))
                if len(wider.columns) == len(fit.columns) + len(
                    held
                ):  # else the name says what was found
                    fit = wider
            self._fit = (of, fit)
        return self._fit[1]

    def _indent(self, table: Table) -> int:
        return 2 if table.kind_of_work is not None else 0

    def render_line(self, y: int) -> Strip:
        """One line: titles, a row, or the count at the bottom."""
        table = self._listed
        if table is None:
            lines = textwrap.wrap(plain(self.waiting), max(20, self.content_size.width))
            return self._words(lines[y] if y < len(lines) else "")
        if y == 0:
            return self._titles(table)
        if y == self.content_size.height - 1:
            return self._words(self.summary(self.content_size.width))
        if self._has_total and y == self.content_size.height - 2:
            return self._total(table)
        at = self.top + y - 1
        if at >= len(self.lines):
            nothing = (
                f"No row contains {self.order.text!r}."
                if self.order.text
                else table.empty or "No rows."
            )
            return self._words(nothing if y == 1 and not len(self.lines) else "")
        line = int(self.lines[at])
        return (
            self._row(table, line, at == self.cursor)
            if line >= 0
            else self._heading(table, -1 - line, at == self.cursor)
        )

    def summary(self, cells: int = 10_000) -> str:
        """How many rows there are, and how many of them are listed; what tells less is left out
        where it has no room.
        """
        table, stands = self._listed, self._stands
        if table is None or stands is None:
            return ""
        count = (
            len(table)
            - stands.elsewhere
            - (0 if stands.folds is None else int(np.count_nonzero(stands.folds.held)))
        )
        total = f"{count:,} {plural(table.noun, count)}"
        words = [
            f"{len(self.rows):,} of {total} contain {self.order.text!r}"
            if self.order.text
            else total
        ]
        if stands.groups:
            words.append(f"in {len(stands.groups):,} {plural('group', len(stands.groups))}")
        if len(stands.hidden):
            part = table.total(stands.hidden).get("share") if table.total is not None else None
            words.append(
                f"{len(stands.hidden):,} wrappers hidden"
                + (f" ({part:.1%})" if isinstance(part, float) else "")
            )
        if table.summary:
            words += table.summary.split("  ")
        while len(words) > 1 and width("  ".join(words)) > cells:
            words.pop()
        return "  ".join(words)

    def _total(self, table: Table) -> Strip:
        """What the rows that are listed come to."""
        assert table.total is not None
        if self._totals is None or self._totals[0] is not self._stands:
            self._totals = (self._stands, table.total(self.rows))
        return self._sums(table, _TOTAL, self._totals[1], self.theme_colors.style("label"))

    def _heading(self, table: Table, number: int, current: bool) -> Strip:
        """The first line of a group."""
        assert self._stands is not None
        group = self._stands.groups[number]
        mark = self.glyphs.open if group.label in self._open else self.glyphs.closed
        theme = self.theme_colors
        style = theme.style("gutter_focus") if current and self.has_focus else theme.style("title")
        fit, name = self._fitted(table), table_order.name_of(table)
        count = f" ({len(group.rows):,})"
        cells = next(
            (size for column, size in zip(fit.columns, fit.cells, strict=True) if column is name), 0
        )
        room = cells - width(mark + count) - 1
        label, scopes = plain(group.label, 300), self._scopes_of(table)
        if width(label) > room and self.order.group == table_order.LAYER and scopes is not None:
            label = table_rows.layered(label, scopes)
        return self._sums(
            table,
            f"{mark} {truncation.middle(label, room, self.glyphs.ellipsis)}{count}",
            group.total,
            style,
        )

    def _sums(self, table: Table, label: str, values: Mapping[str, Value], style: Style) -> Strip:
        fit, ellipsis = self._fitted(table), self.glyphs.ellipsis
        name = table_order.name_of(table)

        def cell(column: Column, cells: int) -> str:
            if column is name:
                return table_rows.fitted(
                    "total" if label == _TOTAL and cells < len(_TOTAL) else label, cells, ellipsis
                )
            return table_rows.total_cell(column, values.get(column.id), cells, ellipsis)

        cells = [cell(column, size) for column, size in zip(fit.columns, fit.cells, strict=True)]
        text = " " * self._indent(table) + (" " * GAP).join(cells)
        return Strip([Segment(text, style)]).adjust_cell_length(self.content_size.width, style)

    def _scopes_of(self, table: Table) -> table_rows.Scopes | None:
        """How often each part of the names occurs, where they are paths."""
        name = table_order.name_of(table)
        if not table.layer or name is None:
            return None
        if self._scopes is None or self._scopes[0] is not table:
            self._scopes = (table, table_rows.scopes_of(name))
        return self._scopes[1]

    def _words(self, text: str) -> Strip:
        cells = self.content_size.width
        words = truncation.end(plain(text), cells, self.glyphs.ellipsis)
        return Strip([Segment(words, self.theme_colors.style("dim"))]).adjust_cell_length(cells)

    def _titles(self, table: Table) -> Strip:
        fit = self._fitted(table)
        plain_style, key = self.theme_colors.style("dim"), self.theme_colors.style("title")
        segments = [Segment(" " * self._indent(table), plain_style)]
        for column, cells in zip(fit.columns, fit.cells, strict=True):
            style = key if column.id == self.order.column else plain_style
            segments += [
                Segment(table_rows.title(column, cells, self.order), style),
                Segment(" " * GAP, plain_style),
            ]
        return Strip(segments).adjust_cell_length(self.content_size.width)

    def _row(self, table: Table, row: int, current: bool) -> Strip:
        fit = self._fitted(table)
        theme = self.theme_colors
        style = (
            theme.style("gutter_focus")
            if current and self.has_focus
            else theme.style("title" if current else "text")
        )
        ellipsis = self.glyphs.ellipsis
        name, scopes = table_order.name_of(table), self._scopes_of(table)
        cells = [
            self._cell(column, row, size, scopes if column is name else None)
            for column, size in zip(fit.columns, fit.cells, strict=True)
        ]
        elsewhere = table_rows.matched_words(table, row, self.order.text, fit)
        if elsewhere is not None and name in fit.columns:
            at = fit.columns.index(name)
            cells[at] = table_rows.with_found(
                cells[at], elsewhere, self.order.text, fit.cells[at], ellipsis
            )
        segments = [Segment((" " * GAP).join(cells), style)]
        if table.kind_of_work is not None:
            work = table.kind_of_work(row)
            segments.insert(0, Segment(Category(work).code + " ", theme.category_ink(work)))
        return Strip(segments).adjust_cell_length(self.content_size.width, style)

    def _cell(self, column: Column, row: int, cells: int, scopes: table_rows.Scopes | None) -> str:
        return table_rows.cell(column, row, cells, self.glyphs.ellipsis, scopes, self.order.text)

    # ── the mouse ────────────────────────────────────────────────────────────────────────────────

    def on_click(self, event: events.Click) -> None:
        """A title sorts; a row is chosen with the second click."""
        offset = event.get_content_offset(self)
        if offset is None or self.table is None:
            return
        if offset.y == 0:
            id = self._fitted(self.table).at(offset.x - self._indent(self.table))
            if id is not None:
                self.sort(id)
        elif offset.y < self.content_size.height - 1 and self.top + offset.y - 1 < len(self.lines):
            again = self.cursor == self.top + offset.y - 1
            self.action_move(self.top + offset.y - 1 - self.cursor)
            if again:
                self.action_choose()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three rows up."""
        event.stop()
        self.action_move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three rows down."""
        event.stop()
        self.action_move(3)

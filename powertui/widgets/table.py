"""The one table on screen: any `Table`, sorted, filtered, with a cursor. It knows no tool.

A row becomes text when it is looked at, and the order of many rows is worked out in a thread: length costs nothing, and the keys
answer meanwhile. A newer question puts an older one aside.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from powertui.data.category import Category
from powertui.data.model import Int64s
from powertui.data.table import Place, Table
from powertui.data.texts import Check, unhindered
from powertui.plain import plain
from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.theme import Theme
from powertui.view import table_rows
from powertui.view.table_rows import GAP, Fit, Order
from powertui.widgets import background

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
        self.rows: Int64s = np.empty(0, np.int64)  # of the table, as they stand here
        self.cursor = 0
        self.top = 0
        self._listed: Table | None = None  # what the rows are of: behind `table` while a thread puts those in order
        self._fit: tuple[int, Table, Fit] | None = None

    def restyle(self, theme: Theme, glyphs: str) -> None:
        """Draw with these styles from now on."""
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.refresh()

    # ── what it shows ────────────────────────────────────────────────────────────────────────────

    def show(self, table: Table | None) -> None:
        """Another table; None while it is being worked out. A table of the same kind keeps order and filter."""
        same = table is not None and self.table is not None and table.id == self.table.id
        self.table = table
        if table is not None and not same:
            column, descending = table.order or (None, True)
            self.order = Order(column, descending, self.order.text if same else "")
            self.cursor = self.top = 0
        self._arrange()

    def sort(self, id: str) -> None:
        """By this column; the same one again turns it round."""
        if self.table is None or id not in self.table.ids:
            return
        descending = not self.order.descending if id == self.order.column else self.table[id].numeric
        self.order = Order(id, descending, self.order.text)
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
        self.order = Order(self.order.column, self.order.descending, text)
        self._arrange()

    def _arrange(self) -> None:
        table, order = self.table, self.order
        self.refresh()
        if table is None:
            background.cancel(self, "arrange")
            self._listed, self.rows = None, np.empty(0, np.int64)
            return
        row = self.row
        was = self._listed.key_of(row) if self._listed is not None and row >= 0 and self._listed.id == table.id else ()
        same, at = self._listed is table, self.cursor

        def work(check: Check) -> tuple[Table, Int64s, int]:
            rows = table_rows.arranged(table, order, check)
            found = table.find(was, rows) if was else -1
            if found < 0 and same and not table.key:
                found = next(iter(np.flatnonzero(rows == row).tolist()), at)
            return table, rows, max(0, found)

        if len(table) <= AT_ONCE:
            background.cancel(self, "arrange")
            self._arranged(work(unhindered))
        else:
            background.begin(self, "arrange", work, self._arranged)

    def _arranged(self, found: tuple[Table, Int64s, int]) -> None:
        self._listed, self.rows, self.cursor = found
        self.cursor = min(self.cursor, max(0, len(self.rows) - 1))
        self._scroll()
        self.refresh()
        self.post_message(self.Moved(self, self.row))

    @property
    def row(self) -> int:
        """The table's row under the cursor; -1 for none."""
        return int(self.rows[self.cursor]) if self.cursor < len(self.rows) else -1

    @property
    def place(self) -> Place | None:
        """Where the row under the cursor lies. A row's number alone says nothing once another table is shown."""
        row = self.row
        return self._listed.place(row) if row >= 0 and self._listed is not None else None

    @property
    def in_sight(self) -> list[Place]:
        """Where the rows on the screen lie, as far as that is known."""
        listed = self._listed
        rows = self.rows[self.top : self.top + self.rows_visible].tolist()
        return [found for row in rows if listed is not None and row < len(listed) and (found := listed.place(row)) is not None]

    @property
    def rows_visible(self) -> int:
        """How many rows have room between titles and summary."""
        return max(1, self.size.height - 2)

    def _scroll(self) -> None:
        lowest = max(0, len(self.rows) - self.rows_visible)
        self.top = max(0, min(max(self.top, self.cursor - self.rows_visible + 1), self.cursor, lowest))

    # ── moving ───────────────────────────────────────────────────────────────────────────────────

    def action_move(self, by: int) -> None:
        """So many rows down."""
        self.cursor = min(max(0, self.cursor + by), max(0, len(self.rows) - 1))
        self._scroll()
        self.refresh()
        self.post_message(self.Moved(self, self.row))

    def action_page(self, direction: int) -> None:
        """A page down or up."""
        self.action_move(direction * self.rows_visible)

    def action_to_end(self, direction: int) -> None:
        """To the last row or the first."""
        self.action_move(direction * len(self.rows))

    def action_choose(self) -> None:
        """Enter."""
        row = self.row
        if row >= 0 and self._listed is not None:
            self.post_message(self.Chosen(self, row, self._listed.place(row)))

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self._scroll()

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def _fitted(self, table: Table) -> Fit:
        room = self.content_size.width - self._indent(table)
        if self._fit is None or self._fit[0] != room or self._fit[1] is not table:
            self._fit = (room, table, table_rows.fit(table, room))
        return self._fit[2]

    def _indent(self, table: Table) -> int:
        return 2 if table.kind_of_work is not None else 0

    def render_line(self, y: int) -> Strip:
        """One line: titles, a row, or the count at the bottom."""
        table = self._listed
        if table is None:
            return self._words(self.waiting if y == 0 else "")
        if y == 0:
            return self._titles(table)
        if y == self.content_size.height - 1:
            return self._words(self.summary())
        at = self.top + y - 1
        if at >= len(self.rows):
            nothing = f"No row contains {self.order.text!r}." if self.order.text else table.empty or "No rows."
            return self._words(nothing if y == 1 and not len(self.rows) else "")
        return self._row(table, int(self.rows[at]), at == self.cursor)

    def summary(self) -> str:
        """How many rows there are, and how many of them are listed."""
        table = self._listed
        if table is None:
            return ""
        total = f"{len(table):,} {table.noun}{'s' * (len(table) != 1)}"
        words = f"{len(self.rows):,} of {total} contain {self.order.text!r}" if self.order.text else total
        return f"{words}  {table.summary}" if table.summary else words

    def _words(self, text: str) -> Strip:
        cells = self.content_size.width
        return Strip([Segment(table_rows.fitted(plain(text), cells, self.glyphs.ellipsis), self.theme_colors.style("dim"))], cells)

    def _titles(self, table: Table) -> Strip:
        fit = self._fitted(table)
        plain_style, key = self.theme_colors.style("dim"), self.theme_colors.style("title")
        segments = [Segment(" " * self._indent(table), plain_style)]
        for column, cells in zip(fit.columns, fit.cells, strict=True):
            style = key if column.id == self.order.column else plain_style
            segments += [Segment(table_rows.title(column, cells, self.order), style), Segment(" " * GAP, plain_style)]
        return Strip(segments).adjust_cell_length(self.content_size.width)

    def _row(self, table: Table, row: int, current: bool) -> Strip:
        fit = self._fitted(table)
        theme = self.theme_colors
        style = theme.style("gutter_focus") if current and self.has_focus else theme.style("title" if current else "text")
        ellipsis = self.glyphs.ellipsis
        cells = [table_rows.cell(column, row, size, ellipsis) for column, size in zip(fit.columns, fit.cells, strict=True)]
        segments = [Segment((" " * GAP).join(cells), style)]
        if table.kind_of_work is not None:
            work = table.kind_of_work(row)
            segments.insert(0, Segment(Category(work).code + " ", theme.category_ink(work)))
        return Strip(segments).adjust_cell_length(self.content_size.width, style)

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
        elif offset.y < self.content_size.height - 1 and self.top + offset.y - 1 < len(self.rows):
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

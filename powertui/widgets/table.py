"""The one table on screen: any `Table`, sorted, filtered, with a cursor. It knows no tool.

The order of many rows is worked out in a thread: length costs nothing, and the keys answer
meanwhile. A newer question puts an older one aside.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from powertui.data.columns import Value
from powertui.data.table import Place, Table
from powertui.data.texts import CancelCheck, unhindered
from powertui.view import table_order
from powertui.view.table_order import ListedRows, first_order, main_duration
from powertui.widgets import background
from powertui.widgets.table_drawing import TableDrawing

AT_ONCE = 5_000  # rows that are put in order without a thread


class TableView(TableDrawing, can_focus=True):
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

        def __init__(
            self,
            view: TableView,
            row: int,
            place: Place | None,
        ) -> None:
            super().__init__()
            self.view = view
            self.row = row
            self.place = place

        @property
        def control(self) -> TableView:
            """The table that it happened in."""
            return self.view

    class Moved(Message):
        """The cursor stands on another row (-1: on none)."""

        def __init__(self, view: TableView, row: int) -> None:
            super().__init__()
            self.view = view
            self.row = row

        @property
        def control(self) -> TableView:
            """The table that it happened in."""
            return self.view

    # ── what it shows ─────────────────────────────────────────────────────────────────────────────

    def show(self, table: Table | None) -> None:
        """Another table; None while it is being worked out.

        A table of the same kind keeps order and filter.
        """
        is_same_kind = table is not None and self.table is not None and table.id == self.table.id
        self.table = table
        if table is not None and not is_same_kind:
            self.order = first_order(table)
            self.cursor = self.top = 0
            self._open = frozenset()
        self._lay_out_parts()

    def sort(self, id: str) -> None:
        """By this column; the same one again turns it round."""
        if self.table is None or id not in self.table.ids:
            return
        if id == self.order.column:
            descending = not self.order.descending
        else:
            descending = self.table[id].numeric
        # Whoever is still at the top looks for what comes first; a row that was chosen is kept.
        self._reorder(
            keeps_row=self.cursor > 0,
            column=id,
            descending=descending,
        )

    def longest_first(self) -> None:
        """By the first column of times, the longest at the top."""
        if self.table is None:
            return
        column = main_duration(self.table)
        if column is not None:
            self._reorder(keeps_row=False, column=column.id, descending=True)

    def next_group(self) -> str:
        """Put the rows together by the next thing that they have in common.

        What is to be said of it.
        """
        table = self.table
        groupings = table_order.groupings(table) if table is not None else ()
        if table is None or not groupings:
            return "These rows have nothing to group by."
        choices = ("", *groupings)
        at = 0
        if self.order.group in choices:
            at = choices.index(self.order.group)
        group = choices[(at + 1) % len(choices)]
        self._open = frozenset()
        self._reorder(group=group)
        if not group:
            return "Not grouped."
        name = group  # the layer is no column
        if group in table.ids:
            name = table[group].label
        return f"Grouped by {name}. Enter unfolds a group, g groups by the next."

    def next_part(self) -> None:
        """Devices, then the host, then all."""
        self._reorder(part=self.order.part + 1)

    def turn_wrappers(self) -> None:
        """Show rows that only hold others, or leave them out."""
        self._reorder(wrappers=not self.order.wrappers)

    def _reorder(self, *, keeps_row: bool = True, **changed: Any) -> None:
        self.order = replace(self.order, **changed)
        self._lay_out_parts(keeps_row=keeps_row)

    def sort_next(self) -> None:
        """By the next column that is shown."""
        if self.table is None:
            return
        ids = [column.id for column in self._fitted(self.table).columns]
        if self.order.column in ids:
            place = ids.index(self.order.column)
        else:
            place = -1
        self.sort(ids[(place + 1) % len(ids)])

    def filter(self, text: str) -> None:
        """Only rows that hold the text in one of their words."""
        self._reorder(text=text)

    def _lay_out_parts(self, *, keeps_row: bool = True) -> None:
        """Put the lines in order, in a thread where they are many."""
        table = self.table
        order = self.order
        self.refresh()
        if table is None:
            background.cancel(self, "arrange")
            self._stands = None
            return
        row = self.row
        listed = self._listed
        open_groups = self._open
        key: tuple[Value, ...] = ()
        if keeps_row and listed is not None and row >= 0 and listed.id == table.id:
            key = listed.key_of(row)
        is_same_table = keeps_row and listed is table
        cursor = self.cursor

        def work(check: CancelCheck) -> tuple[ListedRows, int]:
            rows = table_order.listed(
                table,
                order,
                open_groups,
                check,
            )
            line = -1
            if key and not rows.groups:
                line = table.find(key, rows.lines)
            if line < 0 and is_same_table and not table.key:
                line = next(iter(np.flatnonzero(rows.lines == row).tolist()), cursor)
            return rows, max(0, line)

        if len(table) <= AT_ONCE:
            background.cancel(self, "arrange")
            self._arranged(work(unhindered))
        else:
            background.begin(
                self,
                "arrange",
                work,
                self._arranged,
            )

    def _arranged(self, answer: tuple[ListedRows, int]) -> None:
        self._stands, line = answer
        self._go_line(line)

    @property
    def is_arranging(self) -> bool:
        """Whether the lines are still being put in order."""
        return background.is_under_way(self, "arrange")

    @property
    def place(self) -> Place | None:
        """Where the row under the cursor lies.

        A row's number alone says nothing once another table is shown.
        """
        if self._listed is None or self.row < 0:
            return None
        return self._listed.place(self.row)

    @property
    def in_sight(self) -> list[Place]:
        """Where the rows on the screen lie, as far as that is known."""
        listed = self._listed
        if listed is None:
            return []
        places = []
        for row in self.lines[self.top : self.top + self.rows_visible].tolist():
            place = listed.place(row) if 0 <= row < len(listed) else None
            if place is not None:
                places.append(place)
        return places

    def _scroll(self) -> None:
        last_top = max(0, len(self.lines) - self.rows_visible)
        min_top = self.cursor - self.rows_visible + 1
        self.top = max(0, min(max(self.top, min_top), self.cursor, last_top))

    # ── moving ────────────────────────────────────────────────────────────────────────────────────

    def action_move(self, by: int) -> None:
        """So many rows down."""
        self._go_line(self.cursor + by)

    def _go_line(self, line: int) -> None:
        self.cursor = self._existing_line(line)
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
        group = self.group
        row = self.row
        if group is not None:
            self._unfold(self._open ^ {group.label})
        elif row >= 0 and self._listed is not None:
            self.post_message(self.Chosen(self, row, self._listed.place(row)))

    def _unfold(self, open_: frozenset[str]) -> None:
        assert self._stands is not None
        row = self.row
        self._open = open_
        self._stands = self._stands.unfolded(self._open)
        lines = np.flatnonzero(self.lines == row)
        if row >= 0 and len(lines):
            self.cursor = int(lines[0])
        else:
            self.cursor = self._existing_line(self.cursor)
        self._scroll()
        self.refresh()

    def _existing_line(self, line: int) -> int:
        """The line of this number, else the nearest that there is."""
        return min(max(0, line), max(0, len(self.lines) - 1))

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self._scroll()

    # ── the mouse ─────────────────────────────────────────────────────────────────────────────────

    def on_click(self, event: events.Click) -> None:
        """A title sorts; a row is chosen with the second click."""
        offset = event.get_content_offset(self)
        if offset is None or self.table is None:
            return
        if offset.y == 0:
            id = self._fitted(self.table).at(offset.x - self._indent(self.table))
            if id is not None:
                self.sort(id)
            return
        line = self.top + offset.y - 1
        is_a_line = offset.y < self.content_size.height - 1 and line < len(self.lines)
        if is_a_line:
            is_second_click = self.cursor == line
            self.action_move(line - self.cursor)
            if is_second_click:
                self.action_choose()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three rows up."""
        event.stop()
        self.action_move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three rows down."""
        event.stop()
        self.action_move(3)

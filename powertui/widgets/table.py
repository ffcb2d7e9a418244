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

from powertui import units
from powertui.data.category import Category
from powertui.data.model import Int64s
from powertui.data.table import Column, Place, Table, Value, plural
from powertui.data.texts import CancelCheck, unhindered
from powertui.plain import plain, width
from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.theme import Theme
from powertui.view import readable_names, table_order, table_rows, truncation
from powertui.view.table_order import ListedRows, RowGroup
from powertui.view.table_rows import GAP, FittedColumns, Order
from powertui.widgets import background

_TOTAL = "total of what is listed"
AT_ONCE = 5_000  # rows that are put in order without a thread


class TableView(Widget, can_focus=True):
    """Sort with `sort` or a click on a title; `filter`; Enter sends `Chosen`."""

    name_share = 0.0  # of the width, that names have before another column goes; 0: as usual
    has_styled_cells = False  # whether cells of a row have colors of their own
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
        self._names: tuple[tuple[Column, int, tuple[int, ...]], Mapping[int, str]] | None = None
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
        group = self.order.group
        if not group:
            return "Not grouped."
        labels = (column.label for column in self.table.columns if column.id == group)
        name = next(labels, group)
        return f"Grouped by {name}. Enter unfolds a group, g groups by the next."

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
        table = self.table
        order = self.order
        self.refresh()
        if table is None:
            background.cancel(self, "arrange")
            self._stands = None
            return
        row = self.row
        shown = self._listed
        open_ = self._open
        key: tuple[Value, ...] = ()
        if shown is not None and row >= 0 and shown.id == table.id:
            key = shown.key_of(row)
        is_same = shown is table
        cursor = self.cursor

        def work(check: CancelCheck) -> tuple[ListedRows, int]:
            rows = table_order.listed(table, order, open_, check)
            line = table.find(key, rows.lines) if key and not rows.groups else -1
            if line < 0 and is_same and not table.key:
                line = next(iter(np.flatnonzero(rows.lines == row).tolist()), cursor)
            return rows, max(0, line)

        if len(table) <= AT_ONCE:
            background.cancel(self, "arrange")
            self._arranged(work(unhindered))
        else:
            background.begin(self, "arrange", work, self._arranged)

    def _arranged(self, answer: tuple[ListedRows, int]) -> None:
        self._stands, self.cursor = answer
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
            place
            for row in rows
            if listed is not None
            and 0 <= row < len(listed)
            and (place := listed.place(row)) is not None
        ]

    @property
    def rows_visible(self) -> int:
        """How many rows have room between titles and summary."""
        return max(1, self.size.height - 2 - self._has_total)

    @property
    def _has_total(self) -> bool:
        return self._listed is not None and self._listed.total is not None and self.size.height > 4

    def _scroll(self) -> None:
        last_top = max(0, len(self.lines) - self.rows_visible)
        min_top = self.cursor - self.rows_visible + 1
        self.top = max(0, min(max(self.top, min_top), self.cursor, last_top))

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
        group = self.group
        row = self.row
        if group is not None and self._stands is not None:
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
            self.cursor = min(self.cursor, max(0, len(self.lines) - 1))
        self._scroll()
        self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self._scroll()

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def _fitted(self, table: Table) -> FittedColumns:
        """The columns that have room, worked out once for each width, order and filter."""
        room = self.content_size.width - self._indent(table)
        order = self.order
        stands = self._stands
        key = (room, table, order, stands)
        if self._fit is None or self._fit[0] != key:
            fit = table_rows.fit_with_bar(table, room, (order.column,), self.name_share)
            if order.text and stands is not None and stands.table is table:
                matching = table_rows.holding(table, stands.rows, order.text, fit)
                wider = table_rows.fit(table, room, (order.column, *matching))
                # Only where all of them have room; else the name shows the words that match.
                if len(wider.columns) == len(fit.columns) + len(matching):
                    fit = wider
            self._fit = (key, fit)
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
            if y > 1 or len(self.lines):
                return self._words("")
            if self.order.text:
                return self._words(f"No row contains {self.order.text!r}.")
            return self._words(table.empty or "No rows.")
        line = int(self.lines[at])
        is_current = at == self.cursor
        if line < 0:
            return self._heading(table, -1 - line, is_current)
        return self._row(table, line, is_current)

    def summary(self, cells: int = 10_000) -> str:
        """How many rows there are, and how many of them are listed.

        What says less is left out where there is no room.
        """
        table = self._listed
        stands = self._stands
        if table is None or stands is None:
            return ""
        count = len(table) - stands.elsewhere
        if stands.folds is not None:
            count -= int(np.count_nonzero(stands.folds.held))
        total = f"{count:,} {plural(table.noun, count)}"
        words = [total]
        if self.order.text:
            words = [f"{len(self.rows):,} of {total} contain {self.order.text!r}"]
        if stands.groups:
            words.append(f"in {len(stands.groups):,} {plural('group', len(stands.groups))}")
        if len(stands.hidden):
            share = table.total(stands.hidden).get("share") if table.total is not None else None
            percent = f" ({units.percent(share, 1)})" if isinstance(share, float) else ""
            words.append(f"{len(stands.hidden):,} wrappers hidden{percent}")
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
        role = "gutter_focus" if current and self.has_focus else "title"
        fit = self._fitted(table)
        name = table_order.name_of(table)
        count = f" ({len(group.rows):,})"
        cells = fit.cells[fit.columns.index(name)] if name in fit.columns else 0
        room = cells - width(mark + count) - 1
        label = plain(group.label, 300)
        scopes = self._scopes_of(table)
        if width(label) > room and self.order.group == table_order.LAYER and scopes is not None:
            label = table_rows.layered(label, scopes)
        label = truncation.middle(label, room, self.glyphs.ellipsis)
        style = self.theme_colors.style(role)
        return self._sums(table, f"{mark} {label}{count}", group.total, style)

    def _sums(self, table: Table, label: str, values: Mapping[str, Value], style: Style) -> Strip:
        fit = self._fitted(table)
        ellipsis = self.glyphs.ellipsis
        name = table_order.name_of(table)

        def cell(column: Column, cells: int) -> str:
            if column is name:
                is_short = label == _TOTAL and cells < len(_TOTAL)
                return table_rows.fitted("total" if is_short else label, cells, ellipsis)
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
        plain_style = self.theme_colors.style("dim")
        key = self.theme_colors.style("title")
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
        role = "title" if current else "text"
        style = theme.style("gutter_focus" if current and self.has_focus else role)
        ellipsis = self.glyphs.ellipsis
        name = table_order.name_of(table)
        scopes = self._scopes_of(table)
        cells = [
            self._cell(table, column, row, size, scopes if column is name else None)
            for column, size in zip(fit.columns, fit.cells, strict=True)
        ]
        text = self.order.text
        words = table_rows.matched_words(table, row, text, fit)
        if words is not None and name in fit.columns:
            at = fit.columns.index(name)
            cells[at] = table_rows.with_found(cells[at], words, text, fit.cells[at], ellipsis)
        segments = self._segments(table, row, fit, cells, style, current)
        ink = theme.style("overview")
        if table.kind_of_work is not None:
            work = table.kind_of_work(row)
            ink = theme.category_ink(work)
            segments.insert(0, Segment(Category(work).code + " ", ink))
        if fit.share is not None:
            bar = table_rows.bar_of_share(fit, row, self.glyphs)
            segments += [Segment(" " * GAP, style), Segment(bar, style + ink)]
        return Strip(segments).adjust_cell_length(self.content_size.width, style)

    def _segments(
        self,
        table: Table,
        row: int,
        fit: FittedColumns,
        cells: list[str],
        style: Style,
        is_current: bool,
    ) -> list[Segment]:
        """The cells of a row: one piece where they look all the same."""
        if not self.has_styled_cells and (
            is_current or not any(_is_faint(column, row) for column in fit.columns)
        ):
            return [Segment((" " * GAP).join(cells), style)]
        segments: list[Segment] = []
        faint = style if is_current else self.theme_colors.style("dim")
        for column, text in zip(fit.columns, cells, strict=True):
            shade = faint if _is_faint(column, row) else style
            segments += self._cell_segments(table, column, row, text, shade)
            segments.append(Segment(" " * GAP, style))
        segments.pop()
        return segments

    def _cell_segments(
        self, _table: Table, _column: Column, _row: int, text: str, style: Style
    ) -> list[Segment]:
        """A cell in pieces, for tables whose cells have colors of their own."""
        return [Segment(text, style)]

    def _cell(
        self,
        table: Table,
        column: Column,
        row: int,
        cells: int,
        scopes: table_rows.Scopes | None,
    ) -> str:
        if not self.order.text and column is table_order.name_of(table):
            return self._names_in_sight(column, cells, scopes)[row]
        return table_rows.cell(column, row, cells, self.glyphs.ellipsis, scopes, self.order.text)

    def _names_in_sight(
        self, column: Column, cells: int, scopes: table_rows.Scopes | None
    ) -> Mapping[int, str]:
        """The names of the rows on screen: those that differ never look alike."""
        lines = self.lines[self.top : self.top + self.rows_visible]
        rows = tuple(lines[lines >= 0].tolist())
        key = (column, cells, rows)
        if self._names is None or self._names[0] != key:
            names = [plain(column.text(row), table_rows.LIMIT_TEXT) for row in rows]
            if scopes is not None:
                for number, name in enumerate(names):
                    if width(name) > cells:
                        names[number] = table_rows.layered(name, scopes)
            short = readable_names.distinct(names, cells, self.glyphs.ellipsis)
            padded = [name + " " * (cells - width(name)) for name in short]
            self._names = (key, dict(zip(rows, padded, strict=True)))
        return self._names[1]

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
            return
        line = self.top + offset.y - 1
        if offset.y < self.content_size.height - 1 and line < len(self.lines):
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


def _is_faint(column: Column, row: int) -> bool:
    """Whether a cell stands for a value that nobody looked up."""
    return column.faint is not None and bool(column.faint[row])

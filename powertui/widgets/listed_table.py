"""A table of which some lines and some columns are in sight: which, and how they are counted.

A row becomes text when it is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from textual.widget import Widget

from powertui import units
from powertui.data.category import Category
from powertui.data.columns import Column, Value
from powertui.data.model import Int64s
from powertui.data.table import Table, plural
from powertui.plain import plain, width
from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.theme import Theme
from powertui.view import readable_names, table_order, table_rows
from powertui.view.table_order import ListedRows, RowGroup
from powertui.view.table_rows import FittedColumns, Order

_MAX_ROWS_WITHOUT_TOTAL = 4  # of the table: a row of it says more than their sum (chosen by eye)
_MIN_ROWS_WITH_LEGEND = 16  # of the table: below, a row says more than its letter (chosen by eye)


class ListedTable(Widget):
    """The lines of a table that somebody else arranges, and the columns that have room."""

    name_share = 0.0  # of the width, that names have before another column goes; 0: as usual

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
        # the lines: behind `table` while a thread puts them in order
        self._stands: ListedRows | None = None
        self._open: frozenset[str] = frozenset()  # groups that are unfolded
        # Answers that are asked for again for every line of a frame, each with its question.
        self._fit: tuple[tuple[int, Table, Order, ListedRows | None], FittedColumns] | None = None
        self._names: tuple[tuple[Column, int, tuple[int, ...]], Mapping[int, str]] | None = None
        self._scopes: tuple[Table, table_rows.Scopes] | None = None
        self._totals: tuple[ListedRows | None, Mapping[str, Value]] | None = None

    def restyle(self, theme: Theme, glyphs: str) -> None:
        """Draw with these styles from now on."""
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.refresh()

    @property
    def _listed(self) -> Table | None:
        """What the lines are of."""
        if self._stands is not None:
            return self._stands.table
        return None

    @property
    def rows(self) -> Int64s:
        """Rows of the table, as they stand here; in groups, those of closed ones too."""
        if self._stands is not None:
            return self._stands.rows
        return np.empty(0, np.int64)

    @property
    def lines(self) -> Int64s:
        """The lines: a row, or below 0 the heading of a group."""
        if self._stands is not None:
            return self._stands.lines
        return np.empty(0, np.int64)

    @property
    def row(self) -> int:
        """The table's row under the cursor; -1 for none, and on the heading of a group."""
        return max(-1, self._line_at(self.cursor))

    @property
    def group(self) -> RowGroup | None:
        """The group whose heading is under the cursor."""
        if self._stands is None or self.cursor >= len(self.lines):
            return None
        line = self._line_at(self.cursor)
        if line < 0:
            return self._stands.groups[-1 - line]
        return None

    def _line_at(self, at: int) -> int:
        """A row, or below 0 the heading of a group; -1 behind the last line."""
        if at < len(self.lines):
            return int(self.lines[at])
        return -1

    @property
    def rows_visible(self) -> int:
        """How many rows have room between titles and summary."""
        frame_rows = 2 + self._has_total + self._has_legend
        return max(1, self.size.height - frame_rows)

    @property
    def _has_total(self) -> bool:
        table = self._listed
        if table is None or table.total is None:
            return False
        return self.size.height > _MAX_ROWS_WITHOUT_TOTAL

    @property
    def _has_legend(self) -> bool:
        """Whether a line tells the letters before the rows."""
        table = self._listed
        if table is None or table.kind_of_work is None:
            return False
        return self.size.height >= _MIN_ROWS_WITH_LEGEND

    # ── columns and names in sight ───────────────────────────────────────────────────────────────

    def _fitted(self, table: Table) -> FittedColumns:
        """The columns that have room, worked out once for each width, order and filter."""
        room = self.content_size.width - self._indent(table)
        key = (room, table, self.order, self._stands)
        if self._fit is None or self._fit[0] != key:
            fit = self._fit_columns(table, room)
            self._fit = (key, fit)
        return self._fit[1]

    def _fit_columns(self, table: Table, room: int) -> FittedColumns:
        order = self.order
        stands = self._stands
        fit = table_rows.fit_with_bar(
            table,
            room,
            (order.column,),
            self.name_share,
        )
        if not order.text or stands is None or stands.table is not table:
            return fit
        matching = table_rows.holding(
            table,
            stands.rows,
            order.text,
            fit,
        )
        wider = table_rows.fit(table, room, (order.column, *matching))
        # Only where all of them have room; else the name shows the words that match.
        if len(wider.columns) == len(fit.columns) + len(matching):
            return wider
        return fit

    def _indent(self, table: Table) -> int:
        if table.kind_of_work is not None:
            return 2
        return 0

    def _name_cells(self, table: Table) -> int:
        """Cells of the column with the names; 0 where it has no room."""
        fit = self._fitted(table)
        name = table_order.name_of(table)
        for column, cells in zip(fit.columns, fit.cells, strict=True):
            if column is name:
                return cells
        return 0

    def _scopes_of(self, table: Table) -> table_rows.Scopes | None:
        """How often each part of the names occurs, where they are paths."""
        name = table_order.name_of(table)
        if not table.layer or name is None:
            return None
        if self._scopes is None or self._scopes[0] is not table:
            scopes = table_rows.scopes_of(name)
            self._scopes = (table, scopes)
        return self._scopes[1]

    def _kinds_in_sight(self, table: Table) -> list[Category]:
        """The kinds of work of the rows on screen, from the top."""
        assert table.kind_of_work is not None
        kinds = []
        for row in self._rows_in_sight():
            kind = Category(table.kind_of_work(row))
            if kind not in kinds:
                kinds.append(kind)
        return kinds

    def _rows_in_sight(self) -> tuple[int, ...]:
        """The rows on screen, without the headings of groups."""
        lines = self.lines[self.top : self.top + self.rows_visible]
        is_row = lines >= 0
        return tuple(lines[is_row].tolist())

    def _names_in_sight(
        self,
        column: Column,
        cells: int,
        scopes: table_rows.Scopes | None,
    ) -> Mapping[int, str]:
        """The names of the rows on screen: those that differ never look alike."""
        rows = self._rows_in_sight()
        key = (column, cells, rows)
        if self._names is None or self._names[0] != key:
            names = []
            is_narrow = table_rows.has_long_names(column, cells)
            for row in rows:
                name = plain(column.text(row), table_rows.LIMIT_TEXT)
                if not name:
                    name = table_order.NAMELESS
                if scopes is not None and (is_narrow or width(name) > cells):
                    name = table_rows.layered(name, scopes)
                names.append(name)
            short_names = readable_names.distinct(
                names,
                cells,
                self.glyphs.ellipsis,
            )
            padded = {}
            for row, name in zip(rows, short_names, strict=True):
                padded[row] = name + " " * (cells - width(name))
            self._names = (key, padded)
        return self._names[1]

    # ── the count ────────────────────────────────────────────────────────────────────────────────

    def summary(self, cells: int = 10_000) -> str:
        """How many rows there are, and how many of them are listed.

        What says less is left out where there is no room.
        """
        table = self._listed
        stands = self._stands
        if table is None or stands is None:
            return ""
        noun = plural(table.noun, stands.count)
        total = f"{stands.count:,} {noun}"
        words = [total]
        if self.order.text:
            words = [f"{len(self.rows):,} of {total} contain {self.order.text!r}"]
        group_count = len(stands.groups)
        if group_count:
            groups = plural("group", group_count)
            words.append(f"in {group_count:,} {groups}")
        hidden_count = len(stands.hidden)
        if hidden_count:
            share = _share_of(table, stands.hidden)
            words.append(f"{hidden_count:,} wrappers hidden{share}")
        if table.summary:
            words += table.summary.split("  ")
        while len(words) > 1 and width("  ".join(words)) > cells:
            words.pop()
        return "  ".join(words)


def _share_of(table: Table, rows: Int64s) -> str:
    """The share of all time that rows come to, in brackets; "" where the table has none."""
    if table.total is None:
        return ""
    share = table.total(rows).get("share")
    if isinstance(share, float):
        return f" ({units.percent(share, 1)})"
    return ""

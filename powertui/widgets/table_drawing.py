"""A table as lines: titles, rows, headings of groups, totals and the count at the bottom.

A row becomes text when it is looked at.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import numpy as np
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from powertui import units
from powertui.data.category import SHORT_NAMES, Category
from powertui.data.columns import Column, Value
from powertui.data.model import Int64s
from powertui.data.table import Table, plural
from powertui.plain import plain, width
from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.theme import Theme
from powertui.view import readable_names, table_order, table_rows, truncation
from powertui.view.table_order import ListedRows, RowGroup
from powertui.view.table_rows import GAP, FittedColumns, Order

_TOTAL = "total of what is listed"
_MIN_ROWS_WITH_LEGEND = 16  # of the table: below, a row says more than its letter (chosen by eye)


class TableDrawing(Widget):
    """The lines of a table that somebody else arranges."""

    name_share = 0.0  # of the width, that names have before another column goes; 0: as usual
    has_styled_cells = False  # whether cells of a row have colors of their own

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
        return self._stands.table if self._stands is not None else None

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
        return max(1, self.size.height - 2 - self._has_total - self._has_legend)

    @property
    def _has_total(self) -> bool:
        return self._listed is not None and self._listed.total is not None and self.size.height > 4

    @property
    def _has_legend(self) -> bool:
        """Whether a line tells the letters before the rows."""
        has_letters = self._listed is not None and self._listed.kind_of_work is not None
        return has_letters and self.size.height >= _MIN_ROWS_WITH_LEGEND

    # ── drawing ───────────────────────────────────────────────────────────────────────────────────

    def _fitted(self, table: Table) -> FittedColumns:
        """The columns that have room, worked out once for each width, order and filter."""
        room = self.content_size.width - self._indent(table)
        key = (room, table, self.order, self._stands)
        if self._fit is None or self._fit[0] != key:
            self._fit = (key, self._fit_columns(table, room))
        return self._fit[1]

    def _fit_columns(self, table: Table, room: int) -> FittedColumns:
        order = self.order
        stands = self._stands
        fit = table_rows.fit_with_bar(table, room, (order.column,), self.name_share)
        if not order.text or stands is None or stands.table is not table:
            return fit
        matching = table_rows.holding(table, stands.rows, order.text, fit)
        wider = table_rows.fit(table, room, (order.column, *matching))
        # Only where all of them have room; else the name shows the words that match.
        has_room = len(wider.columns) == len(fit.columns) + len(matching)
        return wider if has_room else fit

    def _indent(self, table: Table) -> int:
        return 2 if table.kind_of_work is not None else 0

    def render_line(self, y: int) -> Strip:
        """One line: titles, a row, or the count at the bottom."""
        table = self._listed
        size = self.content_size
        if table is None:
            lines = textwrap.wrap(plain(self.waiting), max(20, size.width))
            return self._words(lines[y] if y < len(lines) else "")
        if y == 0:
            return self._titles(table)
        from_bottom = size.height - 1 - y
        if from_bottom == 0:
            return self._words(self.summary(size.width))
        if self._has_legend and from_bottom == 1:
            return self._legend(table)
        if self._has_total and from_bottom == 1 + self._has_legend:
            return self._total(table)
        return self._listed_line(table, self.top + y - 1)

    def _listed_line(self, table: Table, at: int) -> Strip:
        """A row, the heading of a group, or nothing below the last of them."""
        if not len(self.lines) and at == self.top:
            return self._words(self._why_empty(table))
        if at >= len(self.lines):
            return self._words("")
        line = int(self.lines[at])
        is_current = at == self.cursor
        if line < 0:
            return self._heading(table, -1 - line, is_current)
        return self._row(table, line, is_current)

    def _why_empty(self, table: Table) -> str:
        if self.order.text:
            return f"No row contains {self.order.text!r}."
        return table.empty or "No rows."

    def summary(self, cells: int = 10_000) -> str:
        """How many rows there are, and how many of them are listed.

        What says less is left out where there is no room.
        """
        table = self._listed
        stands = self._stands
        if table is None or stands is None:
            return ""
        total = f"{stands.count:,} {plural(table.noun, stands.count)}"
        words = [total]
        if self.order.text:
            words = [f"{len(self.rows):,} of {total} contain {self.order.text!r}"]
        group_count = len(stands.groups)
        if group_count:
            words.append(f"in {group_count:,} {plural('group', group_count)}")
        hidden_count = len(stands.hidden)
        if hidden_count:
            words.append(f"{hidden_count:,} wrappers hidden{_share_of(table, stands.hidden)}")
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

    def _legend(self, table: Table) -> Strip:
        """The letters of the rows in sight in words."""
        assert table.kind_of_work is not None
        room = self.content_size.width
        dim = self.theme_colors.style("dim")
        kinds = self._kinds_in_sight(table)
        names = [f" {SHORT_NAMES[kind]} " for kind in kinds]
        needed = sum(1 + width(name) for name in names)
        gap = " " if needed + len(names) <= room else ""
        segments: list[Segment] = []
        for kind, name in zip(kinds, names, strict=True):
            words = name + gap
            room -= 1 + width(words)
            if room < 0:
                break
            segments.append(Segment(kind.code, self.theme_colors.category_ink(kind.value)))
            segments.append(Segment(words, dim))
        return Strip(segments).adjust_cell_length(self.content_size.width)

    def _kinds_in_sight(self, table: Table) -> list[Category]:
        """The kinds of work of the rows on screen, from the top."""
        assert table.kind_of_work is not None
        lines = self.lines[self.top : self.top + self.rows_visible]
        kinds = [Category(table.kind_of_work(row)) for row in lines[lines >= 0].tolist()]
        return list(dict.fromkeys(kinds))

    def _heading(self, table: Table, number: int, current: bool) -> Strip:
        """The first line of a group."""
        assert self._stands is not None
        group = self._stands.groups[number]
        if group.label in self._open:
            mark = self.glyphs.open
        else:
            mark = self.glyphs.closed
        count = f" ({len(group.rows):,})"
        room = self._name_cells(table) - width(mark + count) - 1
        label = self._group_label(table, group, room)
        style = self.theme_colors.style("gutter_focus" if current and self.has_focus else "title")
        return self._sums(table, f"{mark} {label}{count}", group.total, style)

    def _name_cells(self, table: Table) -> int:
        """Cells of the column with the names; 0 where it has no room."""
        fit = self._fitted(table)
        name = table_order.name_of(table)
        if name in fit.columns:
            return fit.cells[fit.columns.index(name)]
        return 0

    def _group_label(self, table: Table, group: RowGroup, room: int) -> str:
        label = plain(group.label, 300)
        scopes = self._scopes_of(table)
        if width(label) > room and self.order.group == table_order.LAYER and scopes is not None:
            label = table_rows.layered(label, scopes)
        return truncation.middle(label, room, self.glyphs.ellipsis)

    def _sums(self, table: Table, label: str, values: Mapping[str, Value], style: Style) -> Strip:
        """A line with a label in the place of the name, and what rows come to beside it."""
        fit = self._fitted(table)
        ellipsis = self.glyphs.ellipsis
        name = table_order.name_of(table)
        texts = []
        for column, cells in zip(fit.columns, fit.cells, strict=True):
            if column is not name:
                text = table_rows.total_cell(column, values.get(column.id), cells, ellipsis)
            elif label == _TOTAL and cells < len(_TOTAL):
                text = table_rows.fitted("total", cells, ellipsis)
            else:
                text = table_rows.fitted(label, cells, ellipsis)
            texts.append(text)
        line = " " * self._indent(table) + (" " * GAP).join(texts)
        return Strip([Segment(line, style)]).adjust_cell_length(self.content_size.width, style)

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
        dim = self.theme_colors.style("dim")
        sorted_by = self.theme_colors.style("title")
        segments = [Segment(" " * self._indent(table), dim)]
        for column, cells in zip(fit.columns, fit.cells, strict=True):
            title = table_rows.title(column, cells, self.order)
            style = sorted_by if column.id == self.order.column else dim
            segments.append(Segment(title, style))
            segments.append(Segment(" " * GAP, dim))
        return Strip(segments).adjust_cell_length(self.content_size.width)

    def _row(self, table: Table, row: int, current: bool) -> Strip:
        fit = self._fitted(table)
        theme = self.theme_colors
        role = "text"
        if current:
            role = "gutter_focus" if self.has_focus else "title"
        style = theme.style(role)
        texts = self._texts(table, row, fit)
        segments = self._segments(table, row, texts, style, current)
        bar_ink = theme.style("overview")
        if table.kind_of_work is not None:
            work = table.kind_of_work(row)
            bar_ink = theme.category_ink(work)
            segments.insert(0, Segment(Category(work).code + " ", bar_ink))
        if fit.is_excess:
            bar_ink = theme.style("warn")
        if fit.share is not None:
            bar = table_rows.bar_of_share(fit, row, self.glyphs)
            segments.append(Segment(" " * GAP, style))
            segments.append(Segment(bar, style + bar_ink))
        return Strip(segments).adjust_cell_length(self.content_size.width, style)

    def _texts(self, table: Table, row: int, fit: FittedColumns) -> list[str]:
        """The cells of a row; the words that a filter found elsewhere are in the name's."""
        name = table_order.name_of(table)
        scopes = self._scopes_of(table)
        texts = []
        for column, cells in zip(fit.columns, fit.cells, strict=True):
            column_scopes = scopes if column is name else None
            texts.append(self._cell(table, column, row, cells, column_scopes))
        words = table_rows.matched_words(table, row, self.order.text, fit)
        if words is not None and name in fit.columns:
            at = fit.columns.index(name)
            ellipsis = self.glyphs.ellipsis
            texts[at] = table_rows.with_found(
                texts[at], words, self.order.text, fit.cells[at], ellipsis
            )
        return texts

    def _segments(
        self,
        table: Table,
        row: int,
        texts: list[str],
        style: Style,
        is_current: bool,
    ) -> list[Segment]:
        """The cells of a row: one piece where they look all the same."""
        columns = self._fitted(table).columns
        has_faint = not is_current and any(_is_faint(column, row) for column in columns)
        if not self.has_styled_cells and not has_faint:
            return [Segment((" " * GAP).join(texts), style)]
        segments: list[Segment] = []
        faint = style if is_current else self.theme_colors.style("dim")
        for column, text in zip(columns, texts, strict=True):
            shade = faint if _is_faint(column, row) else style
            segments += self._cell_segments(table, column, row, text, shade)
            segments.append(Segment(" " * GAP, style))
        segments.pop()
        return segments

    def _cell_segments(
        self,
        _table: Table,
        _column: Column,
        _row: int,
        text: str,
        style: Style,
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
        return table_rows.cell(
            column=column,
            row=row,
            cells=cells,
            ellipsis=self.glyphs.ellipsis,
            scopes=scopes,
            found=self.order.text,
        )

    def _names_in_sight(
        self,
        column: Column,
        cells: int,
        scopes: table_rows.Scopes | None,
    ) -> Mapping[int, str]:
        """The names of the rows on screen: those that differ never look alike."""
        lines = self.lines[self.top : self.top + self.rows_visible]
        rows = tuple(lines[lines >= 0].tolist())
        key = (column, cells, rows)
        if self._names is None or self._names[0] != key:
            names = []
            is_narrow = table_rows.has_long_names(column, cells)
            for row in rows:
                name = plain(column.text(row), table_rows.LIMIT_TEXT) or table_order.NAMELESS
                if scopes is not None and (is_narrow or width(name) > cells):
                    name = table_rows.layered(name, scopes)
                names.append(name)
            short = readable_names.distinct(names, cells, self.glyphs.ellipsis)
            padded = [name + " " * (cells - width(name)) for name in short]
            self._names = (key, dict(zip(rows, padded, strict=True)))
        return self._names[1]


def _is_faint(column: Column, row: int) -> bool:
    """Whether a cell stands for a value that nobody looked up."""
    return column.faint is not None and bool(column.faint[row])


def _share_of(table: Table, rows: Int64s) -> str:
    """The share of all time that rows come to, in brackets; "" where the table has none."""
    if table.total is None:
        return ""
    share = table.total(rows).get("share")
    if isinstance(share, float):
        return f" ({units.percent(share, 1)})"
    return ""

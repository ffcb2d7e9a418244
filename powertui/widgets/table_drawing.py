"""A table as lines: titles, rows, headings of groups, totals and the count at the bottom.

A row becomes text when it is looked at.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from powertui.data.category import SHORT_NAMES, Category
from powertui.data.columns import Column, Value
from powertui.data.table import Table
from powertui.plain import plain, width
from powertui.view import table_order, table_rows, truncation
from powertui.view.table_order import RowGroup
from powertui.view.table_rows import GAP, FittedColumns
from powertui.widgets.listed_table import ListedTable

_TOTAL = "total of what is listed"
_BETWEEN_COLUMNS = " " * GAP


class TableDrawing(ListedTable):
    """Draws the lines of a table."""

    has_styled_cells = False  # whether cells of a row have colors of their own

    def render_line(self, y: int) -> Strip:
        """One line: titles, a row, or the count at the bottom."""
        table = self._listed
        size = self.content_size
        if table is None:
            return self._waiting_line(y)
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

    def _waiting_line(self, y: int) -> Strip:
        cells = max(20, self.content_size.width)
        lines = textwrap.wrap(plain(self.waiting), cells)
        if y < len(lines):
            return self._words(lines[y])
        return self._words("")

    def _listed_line(self, table: Table, at: int) -> Strip:
        """A row, the heading of a group, or nothing below the last of them."""
        line_count = len(self.lines)
        if not line_count and at == self.top:
            return self._words(self._why_empty(table))
        if at >= line_count:
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

    def _total(self, table: Table) -> Strip:
        """What the rows that are listed come to."""
        assert table.total is not None
        if self._totals is None or self._totals[0] is not self._stands:
            sums = table.total(self.rows)
            self._totals = (self._stands, sums)
        style = self.theme_colors.style("label")
        return self._sums(
            table,
            _TOTAL,
            self._totals[1],
            style,
        )

    def _legend(self, table: Table) -> Strip:
        """The letters of the rows in sight in words."""
        cells = self.content_size.width
        kinds = self._kinds_in_sight(table)
        names = [f" {SHORT_NAMES[kind]} " for kind in kinds]
        needed = sum(1 + width(name) for name in names)
        gap = ""
        if needed + len(names) <= cells:
            gap = " "
        dim = self.theme_colors.style("dim")
        segments: list[Segment] = []
        room = cells
        for kind, name in zip(kinds, names, strict=True):
            words = name + gap
            room -= 1 + width(words)
            if room < 0:
                break
            ink = self.theme_colors.category_ink(kind.value)
            segments.append(Segment(kind.code, ink))
            segments.append(Segment(words, dim))
        return Strip(segments).adjust_cell_length(cells)

    def _heading(
        self,
        table: Table,
        number: int,
        current: bool,
    ) -> Strip:
        """The first line of a group."""
        assert self._stands is not None
        group = self._stands.groups[number]
        mark = self.glyphs.closed
        if group.label in self._open:
            mark = self.glyphs.open
        count = f" ({len(group.rows):,})"
        room = self._name_cells(table) - width(mark + count) - 1
        label = self._group_label(table, group, room)
        role = "title"
        if current and self.has_focus:
            role = "gutter_focus"
        return self._sums(
            table,
            f"{mark} {label}{count}",
            group.total,
            self.theme_colors.style(role),
        )

    def _group_label(
        self,
        table: Table,
        group: RowGroup,
        room: int,
    ) -> str:
        label = plain(group.label, 300)
        scopes = self._scopes_of(table)
        is_layer = self.order.group == table_order.LAYER
        if is_layer and scopes is not None and width(label) > room:
            label = table_rows.layered(label, scopes)
        return truncation.middle(label, room, self.glyphs.ellipsis)

    def _sums(
        self,
        table: Table,
        label: str,
        values: Mapping[str, Value],
        style: Style,
    ) -> Strip:
        """A line with a label in the place of the name, and what rows come to beside it."""
        fit = self._fitted(table)
        ellipsis = self.glyphs.ellipsis
        name = table_order.name_of(table)
        texts = []
        for column, cells in zip(fit.columns, fit.cells, strict=True):
            if column is not name:
                value = values.get(column.id)
                text = table_rows.total_cell(
                    column,
                    value,
                    cells,
                    ellipsis,
                )
            elif label == _TOTAL and cells < len(_TOTAL):
                text = table_rows.fitted("total", cells, ellipsis)
            else:
                text = table_rows.fitted(label, cells, ellipsis)
            texts.append(text)
        indent = " " * self._indent(table)
        line = Segment(indent + _BETWEEN_COLUMNS.join(texts), style)
        return Strip([line]).adjust_cell_length(self.content_size.width, style)

    def _words(self, text: str) -> Strip:
        cells = self.content_size.width
        words = truncation.end(plain(text), cells, self.glyphs.ellipsis)
        style = self.theme_colors.style("dim")
        return Strip([Segment(words, style)]).adjust_cell_length(cells)

    def _titles(self, table: Table) -> Strip:
        fit = self._fitted(table)
        dim = self.theme_colors.style("dim")
        sorted_by = self.theme_colors.style("title")
        indent = " " * self._indent(table)
        segments = [Segment(indent, dim)]
        for column, cells in zip(fit.columns, fit.cells, strict=True):
            title = table_rows.title(column, cells, self.order)
            style = dim
            if column.id == self.order.column:
                style = sorted_by
            segments.append(Segment(title, style))
            segments.append(Segment(_BETWEEN_COLUMNS, dim))
        return Strip(segments).adjust_cell_length(self.content_size.width)

    def _row(
        self,
        table: Table,
        row: int,
        current: bool,
    ) -> Strip:
        fit = self._fitted(table)
        theme = self.theme_colors
        role = "text"
        if current:
            role = "gutter_focus" if self.has_focus else "title"
        style = theme.style(role)
        bar_ink = theme.style("overview")
        segments = []
        if table.kind_of_work is not None:
            work = table.kind_of_work(row)
            bar_ink = theme.category_ink(work)
            code = Category(work).code
            segments.append(Segment(f"{code} ", bar_ink))
        texts = self._texts(table, row, fit)
        segments += self._segments(table, row, texts, style, current)
        if fit.is_excess:
            bar_ink = theme.style("warn")
        if fit.share is not None:
            bar = table_rows.bar_of_share(fit, row, self.glyphs)
            segments.append(Segment(_BETWEEN_COLUMNS, style))
            segments.append(Segment(bar, style + bar_ink))
        return Strip(segments).adjust_cell_length(self.content_size.width, style)

    def _texts(
        self,
        table: Table,
        row: int,
        fit: FittedColumns,
    ) -> list[str]:
        """The cells of a row; the words that a filter found elsewhere are in the name's."""
        name = table_order.name_of(table)
        scopes = self._scopes_of(table)
        filter_text = self.order.text
        words = table_rows.matched_words(
            table,
            row,
            filter_text,
            fit,
        )
        texts = []
        for column, cells in zip(fit.columns, fit.cells, strict=True):
            is_name = column is name
            column_scopes = scopes if is_name else None
            text = self._cell(
                table,
                column,
                row,
                cells,
                column_scopes,
            )
            if is_name and words is not None:
                text = table_rows.with_found(
                    text,
                    words,
                    filter_text,
                    cells,
                    self.glyphs.ellipsis,
                )
            texts.append(text)
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
        has_faint = False
        if not is_current:
            has_faint = any(_is_faint(column, row) for column in columns)
        if not self.has_styled_cells and not has_faint:
            line = _BETWEEN_COLUMNS.join(texts)
            return [Segment(line, style)]
        faint = style
        if not is_current:
            faint = self.theme_colors.style("dim")
        segments: list[Segment] = []
        for column, text in zip(columns, texts, strict=True):
            shade = faint if _is_faint(column, row) else style
            segments += self._cell_segments(table, column, row, text, shade)
            segments.append(Segment(_BETWEEN_COLUMNS, style))
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


def _is_faint(column: Column, row: int) -> bool:
    """Whether a cell stands for a value that nobody looked up."""
    if column.faint is None:
        return False
    return bool(column.faint[row])

"""The table where rows lie in rows: those of one stand indented below it, and fold away."""

from __future__ import annotations

import numpy as np
from textual import events

from powertui.data.columns import Column
from powertui.data.table import Table
from powertui.plain import plain, width
from powertui.view import nested_rows, table_order, table_rows, truncation
from powertui.view.nested_rows import NestedRows
from powertui.view.table_rows import GAP
from powertui.widgets.table import TableView


class FoldingTable(TableView):
    """A click on the mark of a row folds or unfolds it."""

    @property
    def _folds(self) -> NestedRows | None:
        if self._stands is not None:
            return self._stands.folds
        return None

    @property
    def foldable(self) -> bool:
        """Whether there is something to fold around the cursor."""
        return self._folds is not None and self._folds.around(self.row) >= 0

    def fold(self, folded: bool | None = None) -> bool:
        """Fold or unfold the row around the cursor; None: the other way.

        False where nothing changes.
        """
        folds = self._folds
        table = self._listed
        if folds is None or table is None:
            return False
        row = folds.around(self.row)
        if row < 0 or folds.folded[row] == folded:
            return False
        is_inside = self.row != row
        self._unfold(nested_rows.turned(table, row, not folds.folded[row], self._open))
        if is_inside:
            self.cursor = self._line_of(row)
            self._scroll()
        self.post_message(self.Moved(self, self.row))
        return True

    def inwards(self) -> None:
        """Unfold the row under the cursor, or go to the first row inside of it."""
        folds = self._folds
        row = self.row
        if folds is None or row < 0 or not folds.held[row]:
            return
        has_unfolded = self.fold(False)
        if not has_unfolded:
            self.action_move(1)

    def outwards(self) -> None:
        """Fold the row under the cursor, or go to its parent."""
        folds = self._folds
        row = self.row
        if folds is None or row < 0:
            return
        if folds.held[row]:
            self.fold(True)
        elif folds.within[row] >= 0:
            self.action_move(self._line_of(int(folds.within[row])) - self.cursor)

    def _line_of(self, row: int) -> int:
        return int(np.flatnonzero(self.lines == row)[0])

    def _cell(
        self,
        table: Table,
        column: Column,
        row: int,
        cells: int,
        scopes: table_rows.Scopes | None,
    ) -> str:
        """The name of a row, indented below its parent, with a mark and a count of folded rows."""
        folds = self._folds
        if folds is None or column is not table_order.name_of(table):
            return super()._cell(
                table,
                column,
                row,
                cells,
                scopes,
            )
        mark = ""
        suffix = ""
        count = int(folds.held[row])
        if count and folds.folded[row]:
            mark = self.glyphs.closed
            suffix = f" ({count:,})"
        elif count:
            mark = self.glyphs.open
        prefix = mark.ljust(nested_rows.INDENT)
        if folds.within[row] >= 0:
            prefix = " " * nested_rows.INDENT + prefix
        room = max(1, cells - width(prefix + suffix))
        name = self._shortened(plain(column.text(row), table_rows.LIMIT_TEXT), room)
        return table_rows.fitted(
            prefix + name + suffix,
            cells,
            self.glyphs.ellipsis,
        )

    def _shortened(self, name: str, room: int) -> str:
        """A name in at most so many cells."""
        return truncation.middle(name, room, self.glyphs.ellipsis)

    def on_click(self, event: events.Click) -> None:
        """The mark folds and unfolds; all else is the table's."""
        offset = event.get_content_offset(self)
        folds = self._folds
        if offset is None or folds is None or self._listed is None:
            return
        if not 0 < offset.y < self.content_size.height - 1:
            return
        at = self.top + offset.y - 1
        row = self._line_at(at)
        if row >= 0 and folds.held[row] and self._on_mark(offset.x):
            event.prevent_default()  # else the table would take it as a click on the row
            self.action_move(at - self.cursor)
            self.fold()

    def _on_mark(self, x: int) -> bool:
        table = self._listed
        assert table is not None
        fit = self._fitted(table)
        name = table_order.name_of(table)
        start = self._indent(table)
        for column, cells in zip(fit.columns, fit.cells, strict=True):
            if column is name:
                return start <= x < start + nested_rows.INDENT
            start += cells + GAP
        return False

"""A table with verdicts: their words say it, and their color says it once more."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style

from powertui.data.columns import Column
from powertui.data.compare.figure import FigureVerdict
from powertui.data.table import Table
from powertui.widgets.table import TableView

_VERDICT_ROLES = {
    FigureVerdict.DIFFERS.value: "warn",
    FigureVerdict.WITHIN_NOISE.value: "ok",
    FigureVerdict.CANNOT_TELL.value: "dim",
}


class VerdictTable(TableView):
    """Colors the words of verdicts, whatever the column is called."""

    has_styled_cells = True

    def _cell_segments(
        self,
        table: Table,
        column: Column,
        row: int,
        text: str,
        style: Style,
    ) -> list[Segment]:
        role = _VERDICT_ROLES.get(text.strip())
        is_name = column is table.columns[0]
        is_current = style != self.theme_colors.style("text")
        if role is None or is_name or is_current:
            return super()._cell_segments(
                table,
                column,
                row,
                text,
                style,
            )
        return [Segment(text, self.theme_colors.style(role))]

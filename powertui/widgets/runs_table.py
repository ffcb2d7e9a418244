"""The list of runs: rows that fold, with marks and bars in color."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from rich.style import Style

from powertui.data.table import Column, Table
from powertui.report.runs import HEALTH, KnownRun
from powertui.view import run_columns
from powertui.widgets.folding import FoldingTable

_HEALTH_ROLES = dict(zip(HEALTH, ("error", "warn", "ok"), strict=True))
# Columns that one reads of a run that was chosen by the others.
_QUIET = frozenset(("when", "device", "framework", "steps", "took_s", "power", "hosts"))
_EMBER_OF_HEIGHT = (0, 1, 2, 3, 5, 6, 8, 9)  # power from low to high


class RunsTable(FoldingTable):
    """What is colored here says the same by its shape, its height or its words."""

    has_styled_cells = True
    name_share = 0.2  # its other columns say how a run is
    known: Mapping[str, KnownRun] = {}  # by the path of a run
    name_parts: Mapping[str, int] = {}  # how many names have each folder

    def show_runs(self, table: Table, known: Mapping[str, KnownRun]) -> None:
        """Show these rows, with what is known of their runs."""
        self.known = known
        self.name_parts = run_columns.name_parts(table["run"].values)
        self.show(table)

    def _shortened(self, name: str, room: int) -> str:
        return run_columns.fitting_name(name, self.name_parts, room, self.glyphs.ellipsis)

    def _cell_segments(
        self, table: Table, column: Column, row: int, text: str, style: Style
    ) -> list[Segment]:
        run = self.known.get(str(table["path"].values[row]))
        if run is None:
            return super()._cell_segments(table, column, row, text, style)
        theme = self.theme_colors
        if column.id == "health" and run.health:
            return [Segment(text, style + _ink(theme.style(_HEALTH_ROLES[run.health])))]
        if column.id == "bound" and run.bound and self.glyphs.name == "unicode":
            ink = theme.category_ink(run_columns.bound_hue(run))
            return [Segment("▪", style + _ink(ink)), Segment(text[1:], style)]
        if column.id == "bars" and run.bars:
            return self._bar_segments(run, text, style)
        if column.id == "unusual":
            return [Segment(text, style + _ink(theme.style("error")))]
        if column.id in _QUIET and style == theme.style("text"):
            return [Segment(text, theme.style("dim"))]
        return super()._cell_segments(table, column, row, text, style)

    def _bar_segments(self, run: KnownRun, text: str, style: Style) -> list[Segment]:
        if not run.has_power_bars:
            return [Segment(text, style + _ink(self.theme_colors.style("step_bars")))]
        segments: list[Segment] = []
        for char, height in zip(text, run.bars, strict=False):
            role = f"ember_{_EMBER_OF_HEIGHT[height]}"
            ink = style + _ink(self.theme_colors.style(role))
            if segments and segments[-1].style == ink:
                segments[-1] = Segment(segments[-1].text + char, ink)
            else:
                segments.append(Segment(char, ink))
        return [*segments, Segment(text[len(run.bars) :], style)]


def _ink(style: Style) -> Style:
    """Its color alone: the row keeps its ground."""
    return Style(color=style.color)

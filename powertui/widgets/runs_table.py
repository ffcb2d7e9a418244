"""The list of runs: rows that fold, with marks and bars in color."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from rich.style import Style

from powertui.data.columns import Column
from powertui.data.table import Table
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
    name_share = 0.19  # its other columns say how a run is
    known: Mapping[str, KnownRun] = {}  # by the path of a run
    name_parts: Mapping[str, int] = {}  # how many names have each folder

    def show_runs(self, table: Table, known: Mapping[str, KnownRun]) -> None:
        """Show these rows, with what is known of their runs."""
        self.known = known
        self.name_parts = run_columns.name_parts(table["run"].values)
        self.show(table)

    def _shortened(self, name: str, room: int) -> str:
        return run_columns.fitting_name(
            name,
            self.name_parts,
            room,
            self.glyphs.ellipsis,
        )

    def _cell_segments(
        self,
        table: Table,
        column: Column,
        row: int,
        text: str,
        style: Style,
    ) -> list[Segment]:
        run = self.known.get(str(table["path"].values[row]))
        if run is None:
            return super()._cell_segments(
                table,
                column,
                row,
                text,
                style,
            )
        theme = self.theme_colors
        if column.id == "health" and run.health:
            role = _HEALTH_ROLES[run.health]
            return [_inked(text, style, theme.style(role))]
        if column.id == "bound" and run.bound and self.glyphs.name == "unicode":
            hue = run_columns.bound_hue(run)
            square = _inked("▪", style, theme.category_ink(hue))
            return [square, Segment(text[1:], style)]
        if column.id == "bars" and run.bars:
            return self._bar_segments(run, text, style)
        if column.id == "unusual":
            role = "warn" if run.health == "look" else "error"
            return [_inked(text, style, theme.style(role))]
        if column.id in _QUIET and style == theme.style("text"):
            return [Segment(text, theme.style("dim"))]
        return super()._cell_segments(
            table,
            column,
            row,
            text,
            style,
        )

    def _bar_segments(
        self,
        run: KnownRun,
        text: str,
        style: Style,
    ) -> list[Segment]:
        theme = self.theme_colors
        bar_count = len(run.bars)
        bars = text[:bar_count]
        unit = Segment(text[bar_count:], style)
        if not run.has_power_bars:
            return [_inked(bars, style, theme.style("step_bars")), unit]
        segments: list[Segment] = []
        for char, height in zip(bars, run.bars, strict=False):
            ember = theme.style(f"ember_{_EMBER_OF_HEIGHT[height]}")
            segment = _inked(char, style, ember)
            # Cells of one color are one segment: fewer bytes on the line.
            if segments and segments[-1].style == segment.style:
                before = segments.pop()
                segment = Segment(before.text + char, segment.style)
            segments.append(segment)
        return [*segments, unit]


def _inked(text: str, style: Style, ink: Style) -> Segment:
    """Text in the color of the ink alone: the row keeps its ground."""
    return Segment(text, style + Style(color=ink.color))

"""The legend below the tracks, and what else is shown about the view where rows are free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style

from powertui.widgets.lines import LinesPane, StyledLine
from powertui.widgets.time_lane import fit_text

if TYPE_CHECKING:  # names alone: nothing is shown about the view before the first picture
    from powertui.view.legend_lines import Pieces
    from powertui.view.visible_content import VisibleContent

_LABEL = "self time in view"


class SightPane(LinesPane, can_focus=False):
    """The legend; below it as many lines as the pane is high."""

    DEFAULT_CSS = "SightPane { height: 1; width: 1fr; }"

    seen: VisibleContent | None = None
    label_width = 20
    with_panel = True  # below the legend, where there is room

    def show(self, content: VisibleContent | None) -> None:
        """Of this stretch from now on."""
        if content != self.seen:
            self.seen = content
            self.rebuild()

    def set_label_width(self, width: int) -> None:
        """As wide as the labels of the rows above."""
        if width != self.label_width:
            self.label_width = width
            self.rebuild()

    def on_resize(self) -> None:
        self.rebuild()

    def rebuild(self) -> None:
        """Make the lines again."""
        width, height = self.size
        gutter = self._style("gutter")
        label = fit_text(
            _LABEL if self.label_width > len(_LABEL) else "self time", self.label_width
        )
        lines: list[StyledLine] = [((label, gutter),)]
        if self.seen is not None and width > self.label_width:
            from powertui.view.content_lists import panel
            from powertui.view.legend_lines import legend

            told = legend(self.seen, width - self.label_width, height)
            lines = [
                (((" " * self.label_width if y else label), gutter), *self._styled(row))
                for y, row in enumerate(told)
            ] or lines
            if self.with_panel:
                rows = panel(
                    self.seen,
                    width,
                    height - len(lines),
                    self.glyphs,
                )
                lines += [self._styled(row) for row in rows]
        self.set_lines(lines)

    def _styled(self, pieces: Pieces) -> StyledLine:
        return tuple((text, self._style(role)) for text, role in pieces)

    def _style(self, role: str) -> Style:
        kind, _, name = role.partition(":")
        if kind == "category":
            return self.theme_colors.category(name)
        return self.theme_colors.style(role)

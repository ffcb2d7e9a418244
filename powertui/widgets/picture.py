"""A chart that somebody worked out elsewhere: shows what a pure function draws of it, or a sentence
where there is nothing.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from powertui import wrapping
from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.glyphs import Glyphs
from powertui.terminal.theme import Theme
from powertui.widgets.time_lane import fit_text

Shown = TypeVar("Shown")
SegmentRow = list[Segment]

_MARGIN_CELLS = 2  # one on each side of a sentence


class Picture(Widget, Generic[Shown]):
    """Subclasses say how a view is drawn; it is drawn once for each size."""

    DEFAULT_CSS = "Picture { height: 1fr; width: 1fr; }"

    def __init__(
        self,
        *,
        theme: Theme,
        glyphs: str = "unicode",
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.view: Shown | None = None
        self.sentence = ""
        self._rows: tuple[object, list[SegmentRow]] | None = None

    def picture(
        self,
        view: Shown,
        width: int,
        height: int,
        theme: Theme,
        glyphs: Glyphs,
    ) -> list[SegmentRow]:
        """All rows of the chart."""
        raise NotImplementedError

    def restyle(self, theme: Theme, glyphs: str) -> None:
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self._rows = None
        self.refresh()

    def show(self, view: Shown | None, sentence: str = "") -> None:
        self.view = view
        self.sentence = sentence
        self._rows = None
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if self.view is None:
            return self._sentence_line(y)
        key = (width, height)
        if self._rows is None or self._rows[0] != key:
            self._rows = (
                key,
                self.picture(self.view, width, height, self.theme_colors, self.glyphs),
            )
        rows = self._rows[1]
        return Strip(rows[y] if y < len(rows) else []).adjust_cell_length(width)

    def _sentence_line(self, y: int) -> Strip:
        """A row of the sentence that stands in place of the chart, in the middle of it."""
        width, height = self.size
        lines = wrapping.wrapped(self.sentence, width - _MARGIN_CELLS)
        row = y - (height // 2 - (len(lines) - 1) // 2)
        text = f" {lines[row]}" if 0 <= row < len(lines) else ""
        style = self.theme_colors.style("dim")
        return Strip([Segment(fit_text(text, width, self.glyphs.ellipsis), style)])

"""A pane of ready-made lines: repaints only those that changed, scrolls when there are more than fit."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.theme import Theme
from powertui.widgets.time_lane import fit_text

StyledLine = tuple[tuple[str, Style], ...]


class LinesPane(Widget, can_focus=True):
    """Shows lines of styled pieces. What is too wide is cut with an ellipsis."""

    DEFAULT_CSS = "LinesPane { height: 1fr; width: 1fr; }"

    def __init__(self, *, theme: Theme, glyphs: str = "unicode", id: str | None = None) -> None:
        super().__init__(id=id)
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.lines: tuple[StyledLine, ...] = ()
        self.top = 0

    def restyle(self, theme: Theme, glyphs: str) -> None:
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.rebuild()

    def rebuild(self) -> None:
        """Make the lines again (another theme, another width)."""
        self.refresh()

    def set_lines(self, lines: Sequence[StyledLine]) -> None:
        before, self.lines = self.lines, tuple(lines)
        height = self.size.height
        top = min(self.top, max(0, len(self.lines) - height))
        if top != self.top or not height:
            self.top = top
            self.refresh()
            return
        changed = [
            y for y in range(height)
            if (before[top + y] if top + y < len(before) else None) != (self.lines[top + y] if top + y < len(self.lines) else None)
        ]  # fmt: skip
        if changed:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    def scroll_lines(self, by: int) -> None:
        top = min(max(0, self.top + by), max(0, len(self.lines) - self.size.height))
        if top != self.top:
            self.top = top
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        number = self.top + y
        if number >= len(self.lines):
            return Strip.blank(width)
        return render(self.lines[number], width, self.glyphs.ellipsis)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_lines(-2)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_lines(2)


def render(line: StyledLine, width: int, ellipsis: str) -> Strip:
    """One line in exactly `width` cells."""
    whole = Strip([Segment(text, style) for text, style in line])
    if whole.cell_length <= width:
        return whole.adjust_cell_length(width)
    segments, room = [], width
    for text, style in line:
        piece = fit_text(text, room, ellipsis) if Strip([Segment(text)]).cell_length > room else text
        segments.append(Segment(piece, style))
        room -= Strip([Segment(piece)]).cell_length
        if room <= 0:
            break
    return Strip(segments).adjust_cell_length(width)

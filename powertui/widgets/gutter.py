"""The labels beside the timeline's rows, in a widget of their own: panning does not touch it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.theme import Theme
from powertui.view.time_navigation import State
from powertui.view.timeline_rows import Row, RowKind
from powertui.widgets.time_lane import fit_middle, fit_text


def shortened(label: str, width: int, ellipsis: str) -> str:
    """A label in `width` cells, cut where it loses least: prefixes that all have first, then what
    stands before a number.
    """
    if cell_len(label) > width:
        for prefix in ("/device:", "/host:", "Stream "):
            label = label.removeprefix(prefix)
    # Threads of one pool differ only in the digits at the end of their names.
    return (fit_middle if label[-1:].isdigit() else fit_text)(label, width, ellipsis)


class Gutter(Widget):
    """Names of processes and tracks, fold marks, and which row the cursor is in."""

    DEFAULT_CSS = "Gutter { height: 1fr; width: 20; }"

    class Folded(Message):
        """A click on a label: fold or unfold that row."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

    def __init__(self, *, theme: Theme, glyphs: str = "unicode", id: str | None = None) -> None:
        super().__init__(id=id)
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.rows: tuple[Row, ...] = ()
        self._row0 = 0
        self._cursor = 0
        self._below: tuple[tuple[str, bool], ...] = ()

    def restyle(self, theme: Theme, glyphs: str) -> None:
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.refresh()

    def update_rows(
        self, rows: tuple[Row, ...], state: State, below: Sequence[tuple[str, bool]] = ()
    ) -> None:
        """The rows, and what stands below them: (label, whether it is a profile's name)."""
        now = (rows, state.viewport.row0, state.cursor_row, tuple(below))
        if now[0] is not self.rows or now[1:] != (self._row0, self._cursor, self._below):
            self.rows, self._row0, self._cursor, self._below = now
            self.refresh()

    def render_line(self, y: int) -> Strip:
        number = self._row0 + y
        width = self.size.width
        theme = self.theme_colors
        glyphs = self.glyphs
        if 0 <= number - len(self.rows) < len(self._below) and width >= 2:
            label, named = self._below[number - len(self.rows)]
            text = (fit_middle if named else shortened)(
                label, width - 2 - (not named), glyphs.ellipsis
            )
            return Strip(
                [
                    Segment(
                        f"{'' if named else ' '}{text:<{width - (not named)}}"[:width],
                        theme.style("gutter_process" if named else "gutter"),
                    )
                ],
                width,
            )
        if number >= len(self.rows) or width < 2:
            return Strip([Segment(" " * width, theme.style("gutter"))], width)
        row = self.rows[number]
        fold = glyphs.leaf if row.folded is None else glyphs.closed if row.folded else glyphs.open
        indent = "" if row.kind is RowKind.PROCESS else " "
        above = self._hidden(y)
        head = indent + fold + " "
        text = head + shortened(row.label, max(0, width - 1 - len(head)), glyphs.ellipsis) + above
        if number == self._cursor:
            style = theme.style("gutter_focus")
        else:
            style = theme.style("gutter_process" if row.kind is RowKind.PROCESS else "gutter")
        return Strip([Segment(text, style)], width)

    def _hidden(self, y: int) -> str:
        """A hint in the first and last row that there are more."""
        if y == 0 and self._row0 > 0:
            return "^"
        if y == self.size.height - 1 and self._row0 + self.size.height < len(self.rows):
            return "v"
        return " "

    def on_click(self, event: events.Click) -> None:
        if self._row0 + event.y < len(self.rows):
            self.post_message(self.Folded(self._row0 + event.y))

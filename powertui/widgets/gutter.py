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
    if label[-1:].isdigit():
        return fit_middle(label, width, ellipsis)
    return fit_text(label, width, ellipsis)


class Gutter(Widget):
    """Names of processes and tracks, fold marks, and which row the cursor is in."""

    DEFAULT_CSS = "Gutter { height: 1fr; width: 20; }"

    class Folded(Message):
        """A click on a label: fold or unfold that row."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

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
        self.rows: tuple[Row, ...] = ()
        self._row0 = 0
        self._cursor = 0
        self._below: tuple[tuple[str, bool], ...] = ()

    def restyle(self, theme: Theme, glyphs: str) -> None:
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.refresh()

    def update_rows(
        self,
        rows: tuple[Row, ...],
        state: State,
        below: Sequence[tuple[str, bool]],
    ) -> None:
        """The rows, and what stands below them: (label, whether it is a profile's name)."""
        before = (self._row0, self._cursor, self._below)
        self._row0 = state.viewport.row0
        self._cursor = state.cursor_row
        self._below = tuple(below)
        if rows is not self.rows or before != (self._row0, self._cursor, self._below):
            self.rows = rows
            self.refresh()

    def render_line(self, y: int) -> Strip:
        row_count = len(self.rows)
        number = self._row0 + y
        number_below = number - row_count
        width = self.size.width
        text = ""
        role = "gutter"
        if width >= 2 and 0 <= number < row_count:
            text, role = self._text_of_row(number, y)
        elif width >= 2 and 0 <= number_below < len(self._below):
            label, is_profile = self._below[number_below]
            text, role = self._text_below(label, is_profile=is_profile)
        style = self.theme_colors.style(role)
        return Strip([Segment(text.ljust(width), style)], width)

    def _text_of_row(self, number: int, y: int) -> tuple[str, str]:
        """The text of a row of this profile, and its role."""
        row = self.rows[number]
        text = self._row_text(row, self.size.width - 1)
        text += self._scroll_hint(y)
        if number == self._cursor:
            return text, "gutter_focus"
        if row.kind is RowKind.PROCESS:
            return text, "gutter_process"
        return text, "gutter"

    def _text_below(self, label: str, *, is_profile: bool) -> tuple[str, str]:
        """The text of a row of another profile of the run, and its role."""
        width = self.size.width
        ellipsis = self.glyphs.ellipsis
        if is_profile:
            text = fit_middle(label, width - 2, ellipsis)
            return text[:width], "gutter_process"
        short = shortened(label, width - 3, ellipsis)
        text = f" {short}"
        return text[:width], "gutter"

    def _row_text(self, row: Row, width: int) -> str:
        """The fold mark and the label of a row."""
        if row.folded is None:
            mark = self.glyphs.leaf
        elif row.folded:
            mark = self.glyphs.closed
        else:
            mark = self.glyphs.open
        indent = "" if row.kind is RowKind.PROCESS else " "
        head = f"{indent}{mark} "
        room = max(0, width - len(head))
        return head + shortened(row.label, room, self.glyphs.ellipsis)

    def _scroll_hint(self, y: int) -> str:
        """A hint in the first and last row that there are more."""
        if y == 0 and self._row0 > 0:
            return self.glyphs.above
        height = self.size.height
        if y == height - 1 and self._row0 + height < len(self.rows):
            return self.glyphs.below
        return " "

    def on_click(self, event: events.Click) -> None:
        number = self._row0 + event.y
        if number < len(self.rows):
            self.post_message(self.Folded(number))

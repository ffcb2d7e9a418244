"""The first line of every page, as a widget: it is drawn when it says something else, and a click
on a page shows it.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from powertui.terminal.theme import Theme
from powertui.view import top_line
from powertui.view.top_line import Head, Tab


class TopLine(Widget):
    """One row. `show` is what a click asks for a page."""

    DEFAULT_CSS = "TopLine { height: 1; width: 100%; }"

    def __init__(self, *, theme: Theme, show: Callable[[str], None], id: str) -> None:
        super().__init__(id=id)
        self.look = theme
        self._show = show
        self.head = Head()
        self.tabs: tuple[Tab, ...] = ()

    def restyle(self, theme: Theme) -> None:
        """Draw with these styles from now on."""
        self.look = theme
        self.refresh()

    def tell(self, head: Head, tabs: tuple[Tab, ...]) -> None:
        """What is open, and the pages."""
        if (head, tabs) != (self.head, self.tabs):
            self.head = head
            self.tabs = tabs
            self.refresh()

    @property
    def text(self) -> str:
        """The line as it stands here."""
        return "".join(
            piece.text for piece in top_line.top_line_pieces(self.head, self.tabs, self.size.width)
        )

    def render_line(self, y: int) -> Strip:
        """The row."""
        width = self.size.width
        if y or width < 2:
            return Strip.blank(width)
        base = self.look.style("ruler")
        pieces = top_line.top_line_pieces(self.head, self.tabs, width)
        return Strip(
            [Segment(piece.text, base + self.look.style(piece.role)) for piece in pieces]
        ).adjust_cell_length(width, base)

    def on_click(self, event: events.Click) -> None:
        """A page was clicked."""
        event.stop()
        page = top_line.page_at(
            top_line.top_line_pieces(self.head, self.tabs, self.size.width), event.x
        )
        if page:
            self._show(page)

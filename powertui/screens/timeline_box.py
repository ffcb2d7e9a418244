"""The line of the timeline's page where a person types: a search, a filter, a note."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual.widgets import Input

if TYPE_CHECKING:
    from powertui.screens.timeline import TimelineScreen


class TimelineBox:
    """Opens for one purpose, and closes when something was typed or given up."""

    def __init__(self, page: TimelineScreen) -> None:
        self._page = page

    @property
    def _input(self) -> Input:
        return self._page.query_one("#box", Input)

    def open(
        self,
        purpose: Literal["search", "filter", "note"],
        placeholder: str,
        text: str = "",
    ) -> None:
        """Ask for something; `text` is what is typed already."""
        box = self._input
        self._page.asks_for = purpose
        box.placeholder = placeholder
        box.value = text
        box.cursor_position = len(text)
        box.display = True
        self._page.set_focus(box)
        self._page.footer()

    def submit(self, text: str) -> None:
        """Take what was typed."""
        page = self._page
        purpose = page.asks_for
        self.close()
        if purpose == "search":
            page.seeking.look_for(text)
        elif purpose == "filter":
            page.set_focus(page.below.table)
        elif purpose == "note":
            page.noting.write(text)

    def close(self) -> None:
        """Back to the timeline, whatever was typed."""
        page = self._page
        page.asks_for = ""
        self._input.display = False
        page.set_focus(page.timeline)
        page.footer()

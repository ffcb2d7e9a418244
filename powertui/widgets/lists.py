"""Textual's list, for windows of any size and for contents that change while one looks."""

from __future__ import annotations

from textual import events
from textual.widgets import OptionList


class Choices(OptionList):
    """Every list of ours.

    Keys and clicks work before it is laid out, where it has no room, and after its options changed.
    """

    def on_click(self, event: events.Click) -> None:
        """A click on a line that is gone by now chooses nothing: Textual takes what was drawn last
        for what there is.
        """
        option = event.style.meta.get("option")
        if option is not None and option >= self.option_count:
            event.prevent_default()

    def action_page_up(self) -> None:
        """As many options up as there is room for."""
        self.move_highlight(-self._page)

    def action_page_down(self) -> None:
        """As many options down as there is room for."""
        self.move_highlight(self._page)

    @property
    def _page(self) -> int:
        return max(1, self.scrollable_content_region.height)

    def move_highlight(self, by: int) -> None:
        """So many options down, to the nearest one that can be chosen.

        Textual counts in lines, which only a list with a size has: in one without, a page is a
        KeyError.
        """
        enabled = [number for number, option in enumerate(self.options) if not option.disabled]
        if not enabled:
            return
        if self.highlighted is None:
            self.highlighted = enabled[0 if by < 0 else -1]
            return
        target = min(max(0, self.highlighted + by), self.option_count - 1)
        ahead = [number for number in enabled if (number >= target if by > 0 else number <= target)]
        if ahead:
            self.highlighted = ahead[0] if by > 0 else ahead[-1]
        else:
            self.highlighted = enabled[-1] if by > 0 else enabled[0]

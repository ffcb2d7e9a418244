"""Textual's list for contents that change while one looks: a click on a line that is gone by now chooses nothing."""

from __future__ import annotations

from textual import events
from textual.widgets import OptionList


class Choices(OptionList):
    """Options that are found anew with every letter."""

    def on_click(self, event: events.Click) -> None:
        """Textual's own handler takes what was drawn last for what there is."""
        option = event.style.meta.get("option")
        if option is not None and option >= self.option_count:
            event.prevent_default()

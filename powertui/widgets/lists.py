"""Textual's lists for contents that change while one looks: a click on a line that is gone by now chooses nothing."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.widgets import DataTable, OptionList


class Choices(OptionList):
    """Options that are found anew with every letter."""

    def on_click(self, event: events.Click) -> None:
        """Textual's own handler takes what was drawn last for what there is."""
        option = event.style.meta.get("option")
        if option is not None and option >= self.option_count:
            event.prevent_default()


class Listing(DataTable[Any]):
    """Rows and columns that come and go with the filter and the width."""

    def on_click(self, event: events.Click) -> None:
        """Textual's own handler takes what was drawn last for what there is."""
        meta = event.style.meta
        if meta.get("row", -1) >= self.row_count or meta.get("column", -1) >= len(self.columns):
            event.prevent_default()

"""`M`: what could mark the steps, each with its score; Enter takes one, and the run is read again
by it.
"""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from powertui import units
from powertui.data.model import Marker, Steps
from powertui.plain import plain
from powertui.screens.base import Dialog
from powertui.widgets.lists import Choices


class MarkerDialog(Dialog):
    """Answers with the pattern of the marker that was chosen, or None."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self._steps = steps

    def compose(self) -> ComposeResult:
        with Vertical(id="markers"):
            yield Static(
                "What marks the steps. Enter uses a marker, Esc keeps the one in use",
                id="markers-title",
                markup=False,
            )
            yield Choices(
                *(Option(_line(marker)) for marker in self._steps.markers),
                markup=False,
                compact=True,
            )
            yield Static("", id="markers-note", markup=False)

    def on_mount(self) -> None:
        listed = self.query_one(OptionList)
        listed.highlighted = 0
        self.set_focus(listed)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Why the one under the cursor has its score."""
        event.stop()
        why = ""
        if event.option_index == 0:
            why = f"In use. {self._steps.confidence}"
        shown = f"{self._steps.markers[event.option_index].why}. {why}"
        self.query_one("#markers-note", Static).update(Text(plain(shown, 400)))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click."""
        event.stop()
        self.answer(self._steps.markers[event.option_index].pattern if event.option_index else None)


def _line(marker: Marker) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(f"{marker.score:.2f} ", "bold")
    return text.append(f"{units.count(marker.count):>8}  {plain(marker.name, 200)}")

"""A box to type in, above a list that it narrows.

The palette and the question where a run belongs are made of it.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from powertui.screens.base import Dialog
from powertui.widgets.lists import Choices


class ChoosingDialog(Dialog):
    """Narrows a list by what is typed.

    Subclasses compose an `Input` and an `OptionList`, fill the list, and answer with a row of it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", show=False),
        Binding("up", "move(-1)", show=False),
        Binding("pagedown", "move(10)", show=False),
        Binding("pageup", "move(-10)", show=False),
    ]

    # Textual's metaclass does not enforce abstract methods; the type checker does.

    @abstractmethod
    def fill(self, text: str) -> None:
        """Put what fits the text into the list."""

    @abstractmethod
    def choose(self, option: Option) -> None:
        """Answer with this row. A click comes late: the list may have been filled again since."""

    def on_mount(self) -> None:
        box = self.query_one(Input)
        box.cursor_blink = False
        self.set_focus(box)
        self.fill("")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow the list while typing."""
        event.stop()
        self.fill(event.value)

    def action_move(self, by: int) -> None:
        """The arrow keys move in the list while the cursor stays in the box."""
        listed = self.query_one(Choices)
        if listed.highlighted is not None:
            listed.move_highlight(by)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        event.stop()
        listed = self.query_one(OptionList)
        if listed.highlighted is not None:
            self.choose(listed.get_option_at_index(listed.highlighted))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        event.stop()
        self.choose(event.option)

"""`T`: which scalars, counters and rates are drawn above the timeline.

Space or Enter takes one or gives it up, Esc closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from powertui.plain import plain
from powertui.screens.base import Dialog
from powertui.widgets.lists import Choices

_TITLE = "Strips above the timeline. Enter shows or hides one, Esc closes"


class StripsDialog(Dialog):
    """Answers with the names that are chosen, in the order in which they were."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "take", show=False)]

    def __init__(self, names: Sequence[str], chosen: Sequence[str]) -> None:
        super().__init__()
        self._names = list(names)
        self._chosen = [name for name in chosen if name in self._names]
        self._before = list(self._chosen)

    def compose(self) -> ComposeResult:
        with Vertical(id="markers"):
            yield Static(_TITLE, id="markers-title", markup=False)
            yield Choices(
                *(Option(self._line(name)) for name in self._names),
                markup=False,
                compact=True,
            )

    def on_mount(self) -> None:
        listed = self.query_one(OptionList)
        listed.highlighted = 0
        self.set_focus(listed)

    def _line(self, name: str) -> Text:
        return Text(
            f"{'x' if name in self._chosen else '-'} {plain(name, 200)}",
            no_wrap=True,
            overflow="ellipsis",
        )

    def action_take(self) -> None:
        """Take the one under the cursor, or give it up."""
        listed = self.query_one(OptionList)
        if listed.highlighted is None:
            return
        name = self._names[listed.highlighted]
        if name in self._chosen:
            self._chosen.remove(name)
        else:
            self._chosen.append(name)
        listed.replace_option_prompt_at_index(listed.highlighted, self._line(name))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click."""
        event.stop()
        self.action_take()

    def action_dismiss_dialog(self) -> None:
        """Esc: as chosen; None where nothing changed."""
        self.answer(self._chosen if self._chosen != self._before else None)

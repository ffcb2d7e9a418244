"""The op table below the timeline: the one table, with the keys of the tools' pages that the
timeline uses for something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType

from powertui.terminal import keymap
from powertui.widgets.table import TableView

_PANE = "ops_pane"  # what the keymap calls it


class OpsTable(TableView):
    """While it has the focus, `g`, `d` and `x` are its own."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(",".join(action.keys), f"act('{action.id}')", action.title, show=False)
        for action in keymap.ACTIONS
        if _PANE in action.screens
    ]
    said: Callable[[str], None] = staticmethod(lambda _words: None)  # what shows a sentence
    pan: Callable[[], None] = staticmethod(
        lambda: None
    )  # what `d` does where there is nothing but the host

    def action_act(self, id: str) -> None:
        """What an action of the keymap carries."""
        action = keymap.get(id)
        if action.do is not None:
            action.do(self)

    def group_rows(self) -> None:
        """By the next thing that they have in common, and say by what."""
        self.said(self.next_group())

    def turn_part(self) -> None:
        """Devices, host, all; where there is only one of them, `d` pans as it does everywhere on
        the timeline.
        """
        if self.table is not None and len(self.table.parts) > 1:
            self.next_part()
            self.said(f"Listed: {self.table.parts[self.order.part % len(self.table.parts)].label}.")
        else:
            self.pan()

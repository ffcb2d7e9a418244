"""A question before something is given up that cannot be had for nothing: Enter or y does it, Esc
or n does not.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from powertui.plain import plain
from powertui.screens.base import Dialog


class QuestionDialog(Dialog):
    """Answers with True, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "agree", show=False),
        Binding("n", "dismiss_dialog", show=False),
    ]

    def __init__(self, question: str, does: str) -> None:
        super().__init__()
        self._question = question
        self._does = does

    def compose(self) -> ComposeResult:
        with Vertical(id="markers"):
            yield Static(plain(self._question, 400), id="markers-title", markup=False)
            yield Static(
                f"Enter {plain(self._does, 80)}, Esc leaves everything as it is.",
                id="markers-note",
                markup=False,
            )

    def action_agree(self) -> None:
        """Do it."""
        self.answer(True)

"""What was said on the bottom line, and in the log of a live page: kept, and shown in full."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from powertui.screens.base import Dialog
from powertui.terminal.theme import Theme
from powertui.value_types import dataclass

_MAX_MESSAGES = 200


@dataclass(frozen=True)
class Message:
    """One sentence, and when it was said."""

    at: float  # Unix time
    text: str
    warn: bool


class Messages:
    """The last ones, newest first. What is said twice in a row is kept once."""

    def __init__(self) -> None:
        self._kept: deque[Message] = deque(maxlen=_MAX_MESSAGES)

    def __iter__(self) -> Iterator[Message]:
        return reversed(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, text: str, *, warn: bool, at: float | None = None) -> None:
        """Another one, said at a moment (Unix s) or now; nothing is kept of an empty one."""
        if text and not (self._kept and self._kept[-1].text == text):
            self._kept.append(Message(time.time() if at is None else at, text, warn))


class MessagesDialog(Dialog):
    """All of them, wrapped. Esc closes it."""

    def __init__(self, messages: Messages, look: Theme) -> None:
        super().__init__()
        self._messages = messages
        self._theme = look

    def compose(self) -> ComposeResult:
        style = self._theme.style
        lines = Text()
        for message in self._messages:
            lines.append(time.strftime("%H:%M:%S  ", time.localtime(message.at)), style("dim"))
            lines.append(f"{message.text}\n", style("warn" if message.warn else "text"))
        if not len(self._messages):
            lines.append("No messages yet.", style("dim"))
        with VerticalScroll(id="messages"):
            yield Static("Messages, newest first (Esc closes)", id="messages-title", markup=False)
            yield Static(lines, markup=False)

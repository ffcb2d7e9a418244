"""The bottom line of every page: a message, or the keys that matter here; and on the right what goes on meanwhile."""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from powertui import plain
from powertui.terminal import keymap
from powertui.terminal.theme import Theme

HINTS = {
    "timeline": "W/S zoom  A/D pan  ←→ event  ↑↓ row  [ ] step  / search  m mark  t ops  i details  : go to  ? help  q quit",
    "open": "Enter opens  / filter  r rescan  ? help  q quit",
    "live": "W/S span  A/D scroll  Space pause  ↑↓ channel  m mark  0 all  ? help  q quit",
    "tool": "Enter shows it  o sort  / filter  [ ] tool  → table  y copy  ? help  q quit",
    "help": "↑↓ scroll  Esc back  q quit",
}
ANYWHERE = "? help  q quit"
MOST_HINTS = 6


def hints(page: str) -> str:
    """The keys of a page: chosen by hand where there are many, else its first actions."""
    if page in HINTS:
        return HINTS[page]
    own = [f"{action.keys_shown} {action.title.lower()}" for action in keymap.ACTIONS if page in action.screens]
    return "  ".join([*own[:MOST_HINTS], ANYWHERE])


class StatusLine(Widget):
    """One row. A message stays until the next one or until it is taken back."""

    DEFAULT_CSS = "StatusLine { height: 1; width: 100%; }"

    def __init__(self, page: str, *, theme: Theme, id: str) -> None:
        super().__init__(id=id)
        self.look = theme
        self._page = page
        self._message = ""
        self._warn = False
        self._right = ""

    def restyle(self, theme: Theme) -> None:
        """Draw with these styles from now on."""
        self.look = theme
        self.refresh()

    @property
    def message(self) -> str:
        """What is being said; "" for nothing."""
        return self._message

    def say(self, message: str, *, warn: bool = False) -> None:
        """Show a message; "" takes the last one back."""
        message = plain.plain(message.replace("\n", "  "))
        if (message, warn) != (self._message, self._warn):
            self._message, self._warn = message, warn
            self.refresh()

    @property
    def right(self) -> str:
        """What goes on meanwhile; "" for nothing."""
        return self._right

    def set_right(self, text: str) -> None:
        """What stands at the right end: progress while something loads."""
        if text != self._right:
            self._right = text
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The row."""
        width = self.size.width
        if y or width < 2:
            return Strip.blank(width)
        right = f" {self._right} " if self._right else ""
        room = max(0, width - 1 - plain.width(right))
        base = self.look.style("ruler")
        if self._message:
            style = self.look.style("warn") if self._warn else self.look.style("title")
            text = fit(self._message, room)
        else:
            style = self.look.style("dim")
            text = fit_words(hints(self._page), room)
        segments = [Segment(" ", base), Segment(text, base + style)]
        segments.append(Segment(" " * (room - plain.width(text)), base))
        segments.append(Segment(right, base + self.look.style("focus")))
        return Strip(segments).adjust_cell_length(width, base)


def fit(text: str, room: int) -> str:
    """As much as there is room for; an ellipsis says that there was more."""
    if plain.width(text) <= room:
        return text
    while text and plain.width(text) > max(0, room - 1):
        text = text[:-1]
    return text + "…" if room > 0 else ""


def fit_words(hints: str, room: int) -> str:
    """Whole hints only, and help and quit always: the ones in the middle give way."""
    parts = hints.split("  ")
    while len(parts) > 2 and len("  ".join(parts)) > room:
        del parts[-3]
    return fit("  ".join(parts), room)

"""The bottom line of every page: a message, or what this page and this selection can do; on the
right what goes on meanwhile.

Nothing is cut without a sign. A message that is longer than the line ends in an ellipsis and the
key that opens all messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.segment import Segment
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from powertui import plain
from powertui.terminal import keymap
from powertui.terminal.theme import Theme
from powertui.value_types import dataclass
from powertui.view import truncation

_APART = "   "  # between two hints
_MORE = " … "  # some hints had no room
_BEFORE = " ‹ "  # between the pages that Esc leads back along
_MAX_NAMED_PAGES = 3  # of them that are named
_OPENS = " … ! shows all of it"


@dataclass(frozen=True)
class Hint:
    """A key, or several, and what it does here."""

    keys: str
    words: str

    @property
    def cells(self) -> int:
        return plain.width(self.keys) + 1 + plain.width(self.words)


HELP = Hint("?", "help")


def hint(ids: str, words: str = "") -> Hint:
    """The hint of an action of the keymap; several that belong together are joined by a
    plus sign.
    """
    actions = [keymap.get(id) for id in ids.split("+")]
    keys = "/".join(keymap.shown(action.keys[0]) for action in actions)
    if not words:
        title = actions[0].title
        words = title[0].lower() + title[1:]
    return Hint(keys, words)


@dataclass(frozen=True)
class WayBack:
    """What Esc does: it closes something, or leads back along these pages, the nearest first."""

    closes: str = ""
    pages: tuple[str, ...] = ()

    @property
    def forms(self) -> Iterator[Hint]:
        """It in words, each time shorter. The nearest page is always named."""
        if self.closes:
            yield Hint("Esc", f"closes {self.closes}")
            return
        for count in range(min(len(self.pages), _MAX_NAMED_PAGES), 0, -1):
            pages = _BEFORE.join(self.pages[:count])
            yield Hint("Esc", f"back to {pages}")
        for nearest in self.pages[:1]:
            yield Hint("Esc", nearest)


def fitting(hints: Sequence[Hint], way_back: WayBack, room: int) -> list[Hint | None]:
    """As many hints as there is room for, then the way back and help.

    None is where some were left out.
    """
    forms: list[Hint | None] = [*way_back.forms] or [None]

    def cells(count: int, back: Hint | None) -> int:
        shown = [*hints[:count], HELP]
        if back is not None:
            shown.append(back)
        used = sum(hint.cells for hint in shown)
        used += len(_APART) * (len(shown) - 1)
        if count < len(hints):
            used += len(_MORE)
        return used

    # The way back in its shortest form: it is never given up for a hint.
    count = len(hints)
    while count and cells(count, forms[-1]) > room:
        count -= 1
    back = forms[-1]
    for form in forms:
        if cells(count, form) <= room:
            back = form
            break
    line: list[Hint | None] = list(hints[:count])
    if count < len(hints):
        line.append(None)
    if back is not None:
        line.append(back)
    line.append(HELP)
    return line


class StatusLine(Widget):
    """One row. A message stays until the next one or until it is taken back."""

    DEFAULT_CSS = "StatusLine { height: 1; width: 100%; }"

    def __init__(self, *, theme: Theme, id: str) -> None:
        super().__init__(id=id)
        self.look = theme
        self._hints: tuple[Hint, ...] = ()
        self._back = WayBack()
        self._message = ""
        self._shorter: tuple[str, ...] = ()  # the same in fewer words
        self._warn = False
        self._right = ""
        self._pointed_at = ""

    def restyle(self, theme: Theme) -> None:
        """Draw with these styles from now on."""
        self.look = theme
        self.refresh()

    @property
    def message(self) -> str:
        """What is being said; "" for nothing."""
        return self._message

    def say(self, message: str, *shorter: str, warn: bool = False) -> None:
        """Show a message, or the first of the `shorter` ones that has room.

        "" takes the last message back.
        """
        if (message, shorter, warn) != (self._message, self._shorter, self._warn):
            self._message = message
            self._shorter = shorter
            self._warn = warn
            self.refresh()

    def can(self, hints: Sequence[Hint], way_back: WayBack) -> None:
        """What can be done now, the most useful first, and where Esc leads."""
        if (tuple(hints), way_back) != (self._hints, self._back):
            self._hints = tuple(hints)
            self._back = way_back
            if not self._message:
                self.refresh()

    @property
    def right(self) -> str:
        """What goes on meanwhile; "" for nothing."""
        return self._right

    def set_right(self, text: str) -> None:
        """Show this at the right end: progress while something loads."""
        if text != self._right:
            self._right = text
            self.refresh()

    def name_under_pointer(self, text: str) -> None:
        """Show what the pointer is on at the right end, unless something loads; "" for nothing."""
        if text != self._pointed_at:
            self._pointed_at = text
            if not self._right:
                self.refresh()

    def _right_part(self) -> str:
        """The right end as it is drawn; the hints keep half of the line."""
        text = self._right or truncation.middle(self._pointed_at, self.size.width // 2)
        if not text:
            return ""
        return f" {text} "

    @property
    def text(self) -> str:
        """The line as it is drawn."""
        return self.render_line(0).text

    def render_line(self, y: int) -> Strip:
        """The row."""
        width = self.size.width
        if y or width < 2:
            return Strip.blank(width)
        right = self._right_part()
        room = max(0, width - 2 - plain.width(right))
        texts = self._said(room) if self._message else self._can(room)
        used = sum(plain.width(text) for text, _ in texts)
        gap = " " * (room - used + 1)
        base = self.look.style("ruler")
        segments = []
        for text, role in ((" ", ""), *texts, (gap, ""), (right, "focus")):
            style = base
            if role:
                style = base + self.look.style(role)
            segments.append(Segment(text, style))
        return Strip(segments).adjust_cell_length(width, base)

    async def on_click(self, event: events.Click) -> None:
        """A click on the way back goes it, one on help opens it."""
        if self._message:
            return
        action = {"Esc": "back", HELP.keys: "help"}.get(self._keys_at(event.x))
        if action is not None:
            event.stop()
            await self.app.run_action(action)

    def _keys_at(self, x: int) -> str:
        """The keys of the hint in this cell; "" beside them all."""
        if x < 1:
            return ""
        room = max(0, self.size.width - 2 - plain.width(self._right_part()))
        end = 1
        keys = ""
        for text, role in self._can(room):
            # The words behind a key belong to it, too.
            if role == "key":
                keys = text
            elif text == _APART:
                keys = ""
            end += plain.width(text)
            if x < end:
                return keys
        return ""

    def _said(self, room: int) -> list[tuple[str, str]]:
        role = "warn" if self._warn else "title"
        for text in (self._message, *self._shorter):
            if plain.width(text) <= room:
                return [(text, role)]
        beginning = truncation.words(self._message, room - len(_OPENS))
        return [(beginning, role), (_OPENS, "key")]

    def _can(self, room: int) -> list[tuple[str, str]]:
        line: list[tuple[str, str]] = []
        for hint in fitting(self._hints, self._back, room):
            if hint is None:
                line.append((_MORE.rstrip(), "dim"))
                continue
            if line:
                line.append((_APART, "dim"))
            line.append((hint.keys, "key"))
            line.append((f" {hint.words}", "dim"))
        return line

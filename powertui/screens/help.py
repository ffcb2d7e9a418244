"""The keys and words of the page that asked for help; behind Tab the keys of the other pages,
terminal and connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from powertui import __version__
from powertui.plain import width
from powertui.screens import SCREENS, spec
from powertui.screens.base import BaseScreen, bindings_for
from powertui.terminal import keymap
from powertui.terminal.capabilities import Capabilities
from powertui.terminal.keymap import Action
from powertui.terminal.pacing import PaintGate
from powertui.terminal.theme import Theme
from powertui.view import glossary, truncation

_MOUSE = "wheel scrolls, Ctrl+wheel zooms, click selects, drag marks a window"
_MIN_COLUMN_CELLS = 36  # cells of one column of keys
_GOOD_COLUMN_CELLS = 58  # as many as let most lines be read in full
_COLUMN_GAP_CELLS = 2
_EVERYWHERE = "Everywhere"


@dataclass(frozen=True)
class HelpLine:
    """A line of help: a heading, or a key with what it does."""

    keys: str
    title: str = ""
    more: str = ""


def _entries(actions: Iterable[Action]) -> list[list[HelpLine]]:
    """Groups of lines, each with its heading, in the order of the keymap."""
    groups: dict[str, list[HelpLine]] = {}
    for action in actions:
        groups.setdefault(action.group, [HelpLine(action.group)]).append(
            HelpLine(action.keys_shown, action.title, action.help)
        )
    return list(groups.values())


def page_lines(name: str) -> list[list[HelpLine]]:
    """What the keys of one page do, and those that work everywhere."""
    key = spec(name).acts_as if name else ""
    held = {key, *keymap.PANES.get(key, ())}
    own = [action for action in keymap.ACTIONS if held & set(action.screens)]
    pages = [
        HelpLine("Pages"),
        *(
            HelpLine(entry.key, entry.title)
            for entry in sorted(SCREENS, key=lambda one: one.key)
            if entry.key
        ),
    ]
    return [
        *_entries(own),
        pages,
        *_entries(action for action in keymap.ACTIONS if "*" in action.screens),
    ]


def _of_others(name: str) -> list[list[HelpLine]]:
    """What keys do on the other pages."""
    own = {entry.keys for group in page_lines(name) for entry in group if not entry.title}
    return [group for group in _entries(keymap.ACTIONS) if group[0].keys not in own]


def _columns(
    groups: Sequence[Sequence[HelpLine]], cells: int, rows: int
) -> tuple[list[list[HelpLine]], int]:
    """The groups in columns: as few as fit into the height, as many as the width has room for.

    Then the cells of each.
    """
    lines = sum(len(group) + 1 for group in groups)
    most = max(
        1, min(len(groups), (cells + _COLUMN_GAP_CELLS) // (_MIN_COLUMN_CELLS + _COLUMN_GAP_CELLS))
    )
    roomy = max(
        1, min(most, (cells + _COLUMN_GAP_CELLS) // (_GOOD_COLUMN_CELLS + _COLUMN_GAP_CELLS))
    )
    count = next(
        (n for n in range(roomy, most + 1) if max(map(len, _spread(groups, n, lines))) <= rows),
        most,
    )
    out = _spread(groups, count, lines)
    return out, (cells + _COLUMN_GAP_CELLS) // len(out) - _COLUMN_GAP_CELLS


def _spread(groups: Sequence[Sequence[HelpLine]], count: int, lines: int) -> list[list[HelpLine]]:
    """Into so many columns of about the same height.

    A group that is longer than a column goes on in the next.
    """
    height = -(-lines // count)
    out: list[list[HelpLine]] = [[]]
    for group in groups:
        if out[-1] and len(out[-1]) + min(len(group), 3) > height and len(out) < count:
            out.append([])
        for entry in group:
            if len(out[-1]) >= height and len(out) < count:
                out.append([])
            out[-1].append(entry)
        out[-1].append(HelpLine(""))
    for column in out:
        while column and not column[-1].keys:
            column.pop()
    return [column for column in out if column]


def _drawn(groups: Sequence[Sequence[HelpLine]], cells: int, rows: int, look: Theme) -> Text:
    """The columns side by side."""
    beside, each = _columns(groups, cells, rows)
    text = Text(no_wrap=True, end="")
    for y in range(max(map(len, beside), default=0)):
        for column in beside:
            entry = column[y] if y < len(column) else HelpLine("")
            used = _draw(text, entry, each, look)
            text.append("\n" if column is beside[-1] else " " * (each - used + _COLUMN_GAP_CELLS))
    return text


def _draw(text: Text, entry: HelpLine, cells: int, look: Theme) -> int:
    if not entry.title:
        text.append(truncation.end(entry.keys, cells), look.style("title"))
        return min(cells, width(entry.keys))
    keys = truncation.end(entry.keys, 12)
    text.append(keys, look.style("key"))
    text.append(" " * (14 - width(keys)))
    title = truncation.end(entry.title, cells - 14)
    text.append(title)
    used = 14 + width(title)
    if entry.more and (used + 2 + width(entry.more) <= cells or cells >= _GOOD_COLUMN_CELLS):
        more = truncation.end(entry.more, cells - used - 2)
        text.append(f"  {more}", look.style("dim"))
        used += 2 + width(more)
    return used


def _link_lines(capabilities: Capabilities, gate: PaintGate) -> list[tuple[str, str]]:
    """What is drawn with, and how fast the line is."""
    rows = [
        (
            "terminal",
            (
                f"TERM={capabilities.term}, {_colors(capabilities.color)}, {capabilities.glyphs} "
                f"glyphs, {capabilities.encoding}"
            ),
        ),
        ("mouse", _MOUSE if capabilities.mouse else "left to the terminal"),
        ("link", gate.describe()),
    ]
    if capabilities.remote and gate.wants_compression:
        rows.append(("advice", "this connection is slow; use `ssh -C` (compression)"))
    elif capabilities.remote:
        rows.append(("advice", "`ssh -C` compresses what still has to be sent"))
    return rows


def _colors(color: str) -> str:
    return {"none": "no colors", "true": "24-bit color"}.get(color, f"{color} colors")


def _terms_table(page: str, look: Theme) -> Table:
    """The words of the page that asked for help, each with its meaning."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=12)
    table.add_column()
    for term in glossary.terms_of(page if page in glossary.PAGES else spec(page).acts_as):
        table.add_row(Text(term.word, look.style("key")), Text(term.meaning))
    return table


class HelpScreen(BaseScreen):
    """One page of keys; Tab turns to the others."""

    NAME = "help"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("help")
    AUTO_FOCUS = "#page"

    def __init__(self) -> None:
        super().__init__()
        self._others = False

    def body(self) -> ComposeResult:
        with VerticalScroll(id="page"):
            yield Static(id="keys", markup=False)

    def session_changed(self) -> None:
        """The measured round trip is of now; the page that asked is another one, perhaps."""
        self._show()

    def on_mount(self) -> None:
        self._show()

    def useful(self) -> Iterable[str | tuple[str, str]]:
        """Tab alone: all else is on the page."""
        yield (
            "pane-next",
            "keys of this page" if self._others else "other pages, terminal, connection",
        )

    def next_pane(self, by: int) -> None:
        """Tab: this page's keys, or the others."""
        self._others = not self._others
        self._show()
        self.query_one("#page", VerticalScroll).scroll_home(animate=False)
        self.footer()

    def _show(self) -> None:
        shell = self.shell
        look = shell.look
        name = shell.before_help or "timeline"
        whole = Table.grid(expand=True)
        room = self.size.height - 4
        if self._others:
            facts = Table.grid(padding=(0, 2, 0, 0))
            facts.add_column(no_wrap=True, min_width=12)
            facts.add_column()
            for label, text in _link_lines(shell.capabilities, shell.gate):
                facts.add_row(Text(label, look.style("key")), Text(text))
            whole.add_row(
                Text(f"powertui {__version__}: this terminal and connection", look.style("title"))
            )
            whole.add_row(facts)
            whole.add_row("")
        groups = _of_others(name) if self._others else page_lines(name)
        whole.add_row(_drawn(groups, max(_MIN_COLUMN_CELLS, self.size.width - 3), room, look))
        if not self._others:
            whole.add_row("")
            whole.add_row(Text("Words on this page", look.style("title")))
            whole.add_row(_terms_table(name, look))
        self.query_one("#keys", Static).update(whole)

    def on_resize(self, event: object) -> None:
        super().on_resize(event)  # type: ignore[arg-type]
        self._show()

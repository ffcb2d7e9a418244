"""The keys and words of the page that asked for help; behind Tab the keys of the other pages,
terminal and connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from powertui.value_types import dataclass
from powertui.view import glossary, truncation

_MOUSE = "wheel scrolls, Ctrl+wheel zooms, click selects, drag marks a window"
_MIN_COLUMN_CELLS = 36  # cells of one column of keys
_GOOD_COLUMN_CELLS = 58  # as many as let most lines be read in full
_KEY_CELLS = 12  # of a line of help; what is longer is cut
_COLUMN_GAP_CELLS = 2


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
        group = groups.setdefault(action.group, [HelpLine(action.group)])
        group.append(HelpLine(action.keys_shown, action.title, action.help))
    return list(groups.values())


def _most_used(screens: set[str]) -> list[list[HelpLine]]:
    """The twelve keys that do most of the work, on the page that has them."""
    actions = [keymap.get(id) for id in keymap.MOST_USED]
    here = [action for action in actions if screens.intersection(action.screens)]
    if len(here) < len(actions) // 2:
        return []
    lines = [HelpLine("Most of the work")]
    for action in actions:
        lines.append(HelpLine(keymap.shown(action.keys[0]), action.title))
    return [lines]


def page_lines(name: str) -> list[list[HelpLine]]:
    """What the keys of one page do, and those that work everywhere."""
    key = spec(name).acts_as if name else ""
    screens = {key, *keymap.PANES.get(key, ())}
    of_page = []
    everywhere = []
    for action in keymap.ACTIONS:
        if screens.intersection(action.screens):
            of_page.append(action)
        if "*" in action.screens:
            everywhere.append(action)
    pages = [HelpLine("Pages")]
    for entry in sorted(SCREENS, key=lambda entry: entry.key):
        if entry.key:
            pages.append(HelpLine(entry.key, entry.title))
    return [*_most_used(screens), *_entries(of_page), pages, *_entries(everywhere)]


def _of_others(name: str) -> list[list[HelpLine]]:
    """What keys do on the other pages."""
    shown_headings = set()
    for heading, *_ in page_lines(name):
        shown_headings.add(heading.keys)
    others = []
    for group in _entries(keymap.ACTIONS):
        if group[0].keys not in shown_headings:
            others.append(group)
    return others


def _columns(
    groups: Sequence[Sequence[HelpLine]],
    cells: int,
    rows: int,
) -> tuple[list[list[HelpLine]], int]:
    """The groups in columns, as few as fit into the height, and the cells of each column."""

    def columns_of(column_cells: int) -> int:
        """How many columns of so many cells have room beside each other."""
        return (cells + _COLUMN_GAP_CELLS) // (column_cells + _COLUMN_GAP_CELLS)

    max_count = max(1, min(len(groups), columns_of(_MIN_COLUMN_CELLS)))
    # With fewer columns than this, what keys do is written in full: more only where they must be.
    min_count = max(1, min(max_count, columns_of(_GOOD_COLUMN_CELLS)))
    columns: list[list[HelpLine]] = []
    for count in range(min_count, max_count + 1):
        columns = _spread(groups, count)
        if max(map(len, columns)) <= rows:
            break
    cells_with_gap = (cells + _COLUMN_GAP_CELLS) // len(columns)
    return columns, cells_with_gap - _COLUMN_GAP_CELLS


def _spread(groups: Sequence[Sequence[HelpLine]], count: int) -> list[list[HelpLine]]:
    """The groups in so many columns of about the same height.

    A group that is longer than a column goes on in the next.
    """
    lines = sum(len(group) + 1 for group in groups)
    height = -(-lines // count)
    columns: list[list[HelpLine]] = [[]]
    for group in groups:
        # At least three lines of a group, or all of it, stay together with its heading.
        has_room = len(columns[-1]) + min(len(group), 3) <= height
        if columns[-1] and not has_room and len(columns) < count:
            columns.append([])
        for entry in group:
            if len(columns[-1]) >= height and len(columns) < count:
                columns.append([])
            columns[-1].append(entry)
        columns[-1].append(HelpLine(""))
    for column in columns:
        while column and not column[-1].keys:
            column.pop()
    return [column for column in columns if column]


def _drawn(
    groups: Sequence[Sequence[HelpLine]],
    cells: int,
    rows: int,
    look: Theme,
) -> Text:
    """The columns side by side."""
    columns, column_cells = _columns(groups, cells, rows)
    text = Text(no_wrap=True, end="")
    for y in range(max(map(len, columns), default=0)):
        for column in columns:
            if y < len(column):
                entry = column[y]
            else:
                entry = HelpLine("")
            used = _draw(text, entry, column_cells, look)
            gap = column_cells - used + _COLUMN_GAP_CELLS
            text.append("\n" if column is columns[-1] else " " * gap)
    return text


def _draw(
    text: Text,
    entry: HelpLine,
    cells: int,
    look: Theme,
) -> int:
    """Append a line to the text. Returns how many cells it takes."""
    if not entry.title:
        text.append(truncation.end(entry.keys, cells), look.style("title"))
        return min(cells, width(entry.keys))
    keys = truncation.end(entry.keys, _KEY_CELLS)
    used = _KEY_CELLS + 2
    text.append(keys, look.style("key"))
    text.append(" " * (used - width(keys)))
    title = truncation.end(entry.title, cells - used)
    text.append(title)
    used += width(title)
    if not entry.more:
        return used
    has_room = used + 2 + width(entry.more) <= cells
    # In a wide column the beginning of it is worth showing.
    if has_room or cells >= _GOOD_COLUMN_CELLS:
        more = truncation.end(entry.more, cells - used - 2)
        text.append(f"  {more}", look.style("dim"))
        used += 2 + width(more)
    return used


def _link_lines(capabilities: Capabilities, gate: PaintGate) -> list[tuple[str, str]]:
    """What is drawn with, and how fast the line is."""
    colors = _colors(capabilities.color)
    terminal = (
        f"TERM={capabilities.term}, {colors}, {capabilities.glyphs} glyphs, {capabilities.encoding}"
    )
    rows = [
        ("terminal", terminal),
        ("mouse", _MOUSE if capabilities.mouse else "left to the terminal"),
        ("link", gate.describe()),
    ]
    if capabilities.remote and gate.wants_compression:
        rows.append(("advice", "this connection is slow; use `ssh -C` (compression)"))
    elif capabilities.remote:
        rows.append(("advice", "`ssh -C` compresses what still has to be sent"))
    return rows


def _colors(color: str) -> str:
    if color == "none":
        return "no colors"
    if color == "true":
        return "24-bit color"
    return f"{color} colors"


def _facts_table(rows: Iterable[tuple[str, str]], look: Theme) -> Table:
    """Words in the first column, what belongs to them in the second."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=12)
    table.add_column()
    for label, text in rows:
        table.add_row(Text(label, look.style("key")), Text(text))
    return table


def _terms_table(page: str, look: Theme) -> Table:
    """The words of the page that asked for help, each with its meaning."""
    if page not in glossary.PAGES:
        page = spec(page).acts_as
    terms = glossary.terms_of(page)
    return _facts_table(((term.word, term.meaning) for term in terms), look)


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
        if self._others:
            yield "pane-next", "keys of this page"
        else:
            yield "pane-next", "other pages, terminal, connection"

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
        table = Table.grid(expand=True)
        rows = self.size.height - 4
        cells = max(_MIN_COLUMN_CELLS, self.size.width - 3)
        if self._others:
            title = f"powertui {__version__}: this terminal and connection"
            table.add_row(Text(title, look.style("title")))
            table.add_row(_facts_table(_link_lines(shell.capabilities, shell.gate), look))
            table.add_row("")
            table.add_row(_drawn(_of_others(name), cells, rows, look))
        else:
            table.add_row(_drawn(page_lines(name), cells, rows, look))
            table.add_row("")
            table.add_row(Text("Words on this page", look.style("title")))
            table.add_row(_terms_table(name, look))
        self.query_one("#keys", Static).update(table)

    def on_resize(self, event: object) -> None:
        super().on_resize(event)  # type: ignore[arg-type]
        self._show()

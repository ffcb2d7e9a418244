"""Every key, from the one table; and what this terminal and connection can do."""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from powertui import __version__
from powertui.screens import SCREENS
from powertui.screens.base import BaseScreen, bindings_for
from powertui.terminal import keymap
from powertui.terminal.capabilities import Capabilities
from powertui.terminal.pacing import PaintGate
from powertui.terminal.theme import Theme

MOUSE = "wheel scrolls, Ctrl+wheel zooms, click selects, drag marks a window"
NARROW = 100  # below so many columns the groups stand under one another


def keys_table(look: Theme, groups: tuple[str, ...]) -> Table:
    """The keys of some groups, as a person reads them."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=12)
    table.add_column()
    for group in groups:
        rows = [action for action in keymap.ACTIONS if action.group == group]
        if not rows:
            continue
        table.add_row(Text(group, look.style("title")), "")
        for action in rows:
            text = Text(action.title)
            if action.help:
                text.append(f"  {action.help}", look.style("dim"))
            table.add_row(Text("  " + action.keys_shown, look.style("key")), text)
        table.add_row("", "")
    return table


def groups_for(page: str) -> list[str]:
    """The groups of keys, those of the page that asked for help first."""
    groups = [*keymap.GROUPS, *sorted({action.group for action in keymap.ACTIONS} - set(keymap.GROUPS))]
    own = {action.group for action in keymap.ACTIONS if page in action.screens}
    return sorted(groups, key=lambda group: group not in own)


def balance(groups: list[str]) -> int:
    """Where to break the groups into two columns of about the same height."""
    heights = [sum(action.group == group for action in keymap.ACTIONS) + 2 for group in groups]
    return min(range(1, len(groups)), key=lambda cut: abs(sum(heights[:cut]) - sum(heights[cut:])))


def link_lines(capabilities: Capabilities, gate: PaintGate) -> list[tuple[str, str]]:
    """What is drawn with, and how fast the line is."""
    rows = [
        (
            "terminal",
            f"TERM={capabilities.term}, {_colors(capabilities.color)}, {capabilities.glyphs} glyphs, {capabilities.encoding}",
        ),
        ("mouse", MOUSE if capabilities.mouse else "left to the terminal"),
        ("link", gate.describe()),
    ]
    if capabilities.remote and gate.wants_compression:
        rows.append(("advice", "this connection is slow; use `ssh -C` (compression)"))
    elif capabilities.remote:
        rows.append(("advice", "`ssh -C` compresses what still has to be sent"))
    return rows


def _colors(color: str) -> str:
    return {"none": "no colours", "true": "24-bit colour"}.get(color, f"{color} colours")


class HelpScreen(BaseScreen):
    """Keys on the left, terminal and line below."""

    NAME = "help"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("help")
    AUTO_FOCUS = "#page"

    def body(self) -> ComposeResult:
        with VerticalScroll(id="page"):
            yield Static(id="keys", markup=False)

    def session_changed(self) -> None:
        """The measured round trip is of now."""
        self._show()

    def on_mount(self) -> None:
        self._show()

    def _show(self) -> None:
        shell = self.shell
        look = shell.look
        groups = groups_for(shell.before_help)
        page = Table.grid(padding=(0, 1), expand=True)
        if self.size.width >= NARROW:
            half = balance(groups)
            page.add_column(ratio=1)
            page.add_column(ratio=1)
            page.add_row(keys_table(look, tuple(groups[:half])), keys_table(look, tuple(groups[half:])))
        else:
            page.add_column()
            page.add_row(keys_table(look, tuple(groups)))
        facts = Table.grid(padding=(0, 2, 0, 0))
        facts.add_column(no_wrap=True, min_width=12)
        facts.add_column()
        for name, text in link_lines(shell.capabilities, shell.gate):
            facts.add_row(Text("  " + name, look.style("key")), Text(text))
        numbered = "  ".join(f"{entry.key} {entry.title}" for entry in SCREENS if entry.key)
        facts.add_row(Text("  screens", look.style("key")), Text(numbered))
        whole = Table.grid(expand=True)
        whole.add_row(Text(f"powertui {__version__}: this terminal and connection", look.style("title")))
        whole.add_row(facts)
        whole.add_row("")
        whole.add_row(page)
        self.query_one("#keys", Static).update(whole)

    def on_resize(self, event: object) -> None:
        super().on_resize(event)  # type: ignore[arg-type]
        self._show()

    def back(self) -> bool:
        """To where one came from."""
        return False

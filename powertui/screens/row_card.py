"""Enter on a row that has a card: all that is known of it, and where one can go from there."""

from __future__ import annotations

from rich.table import Table as Grid
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from powertui.data.row_card import Card, Lead
from powertui.data.table import Place
from powertui.plain import plain
from powertui.screens.base import Dialog
from powertui.terminal.theme import Theme
from powertui.widgets.lists import Choices

_LABEL_CELLS = 20
_MAX_CHARS = 4_000  # of one text; an HLO expression has a few hundred


class CardDialog(Dialog):
    """Answers with the place or the lead that was chosen, or None."""

    def __init__(self, card: Card, place: Place | None, look: Theme) -> None:
        super().__init__()
        self._card = card
        self._look = look
        self._ways: list[tuple[str, Place | Lead]] = []
        if place is not None and place.in_time:
            self._ways.append(("Show its longest event in the timeline", place))
        for lead in card.leads:
            self._ways.append((f"Show {lead.label}", lead))

    def compose(self) -> ComposeResult:
        end = "Enter goes on, Esc closes" if self._ways else "Esc closes"
        with Vertical(id="card"):
            yield Static(
                f"{plain(self._card.title, 200)}   ({end})", id="markers-title", markup=False
            )
            with VerticalScroll(id="card-facts"):
                yield Static(self._facts(), markup=False)
            yield Choices(*(Option(words) for words, _ in self._ways), markup=False, compact=True)

    def on_mount(self) -> None:
        listed = self.query_one(OptionList)
        listed.display = bool(self._ways)
        if self._ways:
            listed.highlighted = 0
            self.set_focus(listed)
        else:
            self.set_focus(self.query_one("#card-facts"))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click."""
        event.stop()
        self.answer(self._ways[event.option_index][1])

    def _facts(self) -> Grid:
        """Labels at the left; what is long goes on below its own beginning."""
        style = self._look.style
        grid = Grid.grid(padding=(0, 1, 0, 0))
        grid.add_column(width=_LABEL_CELLS, no_wrap=True)
        grid.add_column(overflow="fold")
        for fact in self._card.facts:
            role = "text" if fact.value is not None else "dim"
            grid.add_row(
                Text(plain(fact.label, 40), style("dim")),
                Text(plain(fact.text(), _MAX_CHARS), style(role)),
            )
        return grid

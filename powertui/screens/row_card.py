"""Enter on a row that has a card: all that is known of it, and where one can go from there."""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table as Grid
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
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
    """Answers with the place or the lead that was chosen, or None.

    The arrow keys choose where to go where there are several ways; else they scroll the card.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("enter", "choose", show=False),
    ]

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
                f"{plain(self._card.title, 200)}   ({end})",
                id="markers-title",
                markup=False,
            )
            with VerticalScroll(id="card-facts"):
                yield Static(self._facts(), markup=False)
            yield Choices(*(Option(words) for words, _ in self._ways), markup=False, compact=True)

    def on_mount(self) -> None:
        ways = self.query_one(Choices)
        ways.display = bool(self._ways)
        ways.can_focus = False  # the keys are the card's own: it scrolls, too
        self._facts_pane.can_focus = False
        if self._ways:
            ways.highlighted = 0

    @property
    def _facts_pane(self) -> VerticalScroll:
        return self.query_one("#card-facts", VerticalScroll)

    def action_move(self, by: int) -> None:
        """The way above or below; a line of the card where there is no other way."""
        if len(self._ways) > 1:
            self.query_one(Choices).move_highlight(by)
        else:
            self._facts_pane.scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        """A page of the card."""
        rows = max(1, self._facts_pane.size.height - 1)
        self._facts_pane.scroll_relative(y=by * rows, animate=False)

    def action_choose(self) -> None:
        """Go the way that is highlighted."""
        highlighted = self.query_one(Choices).highlighted
        if highlighted is not None:
            self.answer(self._ways[highlighted][1])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
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

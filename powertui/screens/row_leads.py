"""Where the rows of a tool's page lead: to a card, to the page of something else, into the
timeline; and the way back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from powertui.data.row_card import Lead
from powertui.data.table import Place, Table

if TYPE_CHECKING:
    from powertui.screens.tool import ToolScreen

_MAX_LEFT = 200  # choices that Esc leads back along


class RowLeads:
    """Of one page. A page of one tool keeps no choices: other tools have a page of their own."""

    def __init__(self, page: ToolScreen, *, is_fixed: bool) -> None:
        self._page = page
        self._is_fixed = is_fixed
        self._left: list[tuple[str, str]] = []  # (tool, choice)

    def choose(
        self,
        table: Table | None,
        row: int,
        place: Place | None,
    ) -> None:
        """Enter on a row: follow it, else show its card, else show it in the timeline."""
        if table is not None and table.lead is not None:
            lead = table.lead(row)
            if lead is not None:
                self.follow(lead)
                return
        if not self.show_card(table, row):
            self.go(place)

    def show_card(self, table: Table | None, row: int) -> bool:
        """All that is known of a row. False for a row without a card."""
        card = None
        if table is not None and table.card is not None and row >= 0:
            card = table.card(row)
        if table is None or card is None:
            return False
        from powertui.screens.row_card import CardDialog

        shell = self._page.shell
        shell.ask(CardDialog(card, table.place(row), shell.look), self.go)
        return True

    def card_of_row(self) -> None:
        """All that is known of the row under the cursor."""
        view = self._page.table
        if not self.show_card(view.table, view.row):
            self._page.say("There is no more to this row than its columns.")

    def go_to_place(self) -> None:
        """The row under the cursor in the timeline."""
        place = self._page.table.place
        if place is None or place.lo is None:
            self._page.say("This row has no place in the timeline.")
        else:
            self.go(place)

    def go(self, target: Place | Lead | None) -> None:
        """Where the person chose to go; None: nowhere."""
        if isinstance(target, Lead):
            self.follow(target)
        elif target is not None and target.lo is not None:
            hi = target.lo + 1  # a moment is shown as the shortest window
            if target.hi is not None and target.hi > target.lo:
                hi = target.hi
            self._page.goto(target.lo, hi, mark=True)

    def follow(self, lead: Lead) -> None:
        """The page of what a row or a card leads to; Esc comes back."""
        session = self._page.session
        if not self._is_fixed:
            self._left.append((session.tool, session.choices.get(session.tool, "")))
            del self._left[:-_MAX_LEFT]
        self._page.first_table()
        session.choices[lead.tool] = lead.choice
        self._page.shell.show_tool(lead.tool, how="into")

    @property
    def is_way_back(self) -> bool:
        """Whether Esc goes back to another choice of this page."""
        return bool(self._left)

    def back(self) -> bool:
        """What led here. False where nothing did."""
        if not self._left:
            return False
        session = self._page.session
        session.tool, choice = self._left.pop()
        session.choices[session.tool] = choice
        self._page.shell.tell()
        return True

    def forget(self) -> None:
        """Another tool was asked for by itself."""
        self._left.clear()

"""What the footer of a tool's page offers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from powertui.data.table import Table
from powertui.view import table_order

if TYPE_CHECKING:
    from powertui.screens.tool import ToolScreen

_NEXT_RESULTS = {  # what the key of recorded results shows next
    "ours": "as recorded",
    "recorded": "differences",
    "differences": "ours",
}
_Offer = str | tuple[str, str]


def useful(page: ToolScreen) -> Iterable[_Offer]:
    """What can be done now: of the row under the cursor first."""
    table = page.table.table
    yield from _for_row(page, table)
    if table is None:
        if not page.fixed_tool:
            yield "tool-previous+tool-next", "other tools"
        return
    if table.id == "steps" and page.table.row >= 0:
        yield "row-why", "what took longer"
    if page.table.group is not None:
        yield "row-show", "unfold"
    yield from _for_table(page, table)
    if page.result is not None and len(page.result.tables) > 1:
        yield "table-next", "next table"
    if page.recorded_sources():
        yield "tool-results", _NEXT_RESULTS[page.results_shown]
    yield "tool-previous+tool-next", "other tools"
    yield "table-copy", "copy"


def _for_row(page: ToolScreen, table: Table | None) -> Iterator[_Offer]:
    """Where the row under the cursor leads."""
    has_place = page.table.place is not None
    if table is not None and page.table.row >= 0 and table.lead is not None:
        yield "row-show", "go to it"
        if table.card is not None:
            yield "row-card", "all about it"
        if has_place:
            yield "row-timeline", "timeline"
    elif table is not None and page.table.row >= 0 and table.card is not None:
        yield "row-show", "all about it"
    elif has_place:
        yield "row-show", "show it in the timeline"


def _for_table(page: ToolScreen, table: Table) -> Iterator[_Offer]:
    """Other orders and other parts of the table."""
    order = page.table.order
    if len(table.parts) > 1:
        next_part = (order.part + 1) % len(table.parts)
        yield "table-part", table.parts[next_part].label
    yield "table-longest", "longest first"
    yield "table-sort", "sort"
    yield "table-filter", "filter"
    if table_order.groupings(table):
        yield "table-group", "group"
    if table.wrappers is not None:
        yield "table-wrappers", "hide wrappers" if order.wrappers else "show wrappers"

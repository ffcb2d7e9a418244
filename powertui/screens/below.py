"""The pane below the timeline: the details of an event, the ops of the window, or the hits of a
search by name; one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from textual.widgets import Input, Static

from powertui.view import truncation
from powertui.view.navigation import Navigator
from powertui.widgets import background
from powertui.widgets.ops_table import OpsTable
from powertui.widgets.table import TableView

if TYPE_CHECKING:
    from powertui.data.table import Result, Table
    from powertui.screens.timeline import TimelineScreen

OPS_AFTER_S = 0.25  # the op table follows the view once it has stood still for so long

Below = Literal["", "details", "ops", "hits"]


class PaneBelow:
    """What is open there, and of what it tells."""

    def __init__(self, page: TimelineScreen) -> None:
        self.page = page
        self.open: Below = ""
        self._ops_timer: Any = None
        self._table_of: object = None  # the trace that the table was counted in

    @property
    def is_behind(self) -> bool:
        """Whether the table is still to come, or is about what was in sight before."""
        if self.open not in ("ops", "hits"):
            return False
        counting = background.is_under_way(self.page, self.open) or (
            self.open == "ops" and self._ops_timer is not None
        )
        return counting or self.table.is_arranging

    @property
    def table(self) -> OpsTable:
        """The table of ops or hits."""
        return self.page.query_one("#ops", OpsTable)

    def arrange(self) -> None:
        """Show what is open."""
        self.page.details.display = self.open == "details"
        self.table.display = self.page.query_one("#of").display = self.open in ("ops", "hits")

    def toggle(self, which: Below) -> None:
        """Open one, or close it."""
        self.open = "" if self.open == which else which
        if self.open != "ops":  # nobody waits for a table that is closed
            background.cancel(self.page, "ops")
            self.table.show(None)
        self.page.fold_panes()
        if self.open not in ("ops", "hits"):
            # A hidden table would keep the keys until Textual looks who else could have them.
            self.page.set_focus(self.page.timeline)
        self.page.footer()

    def toggle_details(self) -> None:
        """All stats of the selected event."""
        self.toggle("details")
        self.show_details()

    def show_details(self) -> None:
        """Of what is selected now."""
        if self.open == "details" and self.page.timeline.model is not None:
            self.page.details.show(self.page.timeline.model, self.page.timeline.selection)

    # ── ops ──────────────────────────────────────────────────────────────────────────────────────

    def toggle_ops(self) -> None:
        """The op table; of a run that is nothing but power there is none."""
        session = self.page.session
        if self.open != "ops" and session.complete and session.trace is None:
            self.page.say("There are no ops to list: this run has no profile.")
            return
        self.toggle("ops")
        self._show_ops()
        if self.open == "ops":
            self.page.set_focus(self.table)

    def show_ops_soon(self) -> None:
        """Once the view stands still."""
        if self.open != "ops":
            return
        if self._ops_timer is not None:
            self._ops_timer.stop()
        self._ops_timer = self.page.set_timer(OPS_AFTER_S, self._show_ops)

    def _show_ops(self) -> None:
        if self._ops_timer is not None:
            self._ops_timer.stop()
            self._ops_timer = None
        page = self.page
        session = self.page.session
        window = page.timeline.window or page.in_sight()
        if self.open != "ops" or session.trace is None or window is None:
            return
        trace = session.trace
        lo, hi = window
        profile = session.profile
        if profile is not None:
            from powertui.screens import heading

            of = "Ops · " if page.timeline.window else "Ops in view · "
            self._say_of(
                of + heading.table_heading(profile, window, page.view.size.width - 2 - len(of))
            )
        from powertui.data.energy import op_energy
        from powertui.data.tools import op_stats

        aligning = session.aligning

        background.begin(
            page,
            "ops",
            lambda check: op_energy.op_result(
                op_stats.op_stats(trace, lo, hi, check), profile, aligning
            ),
            lambda result: self._got_ops(trace, result),
        )

    def _got_ops(self, trace: object, result: Result) -> None:
        self._show("ops", trace, result.table)

    # ── hits ─────────────────────────────────────────────────────────────────────────────────────

    def toggle_hits(self) -> None:
        """The hits of the search, by name."""
        page = self.page
        model = page.timeline.model
        state = page.timeline.state
        if model is None or state is None or state.hits is None:
            page.say("There is no search. Press / and type part of a name.", warn=True)
            return
        if self.open == "ops":
            self.toggle("ops")
        self.toggle("hits")
        if self.open != "hits":
            return
        trace = model.trace
        hits = state.hits
        from powertui.data import hit_table

        self._say_of(f"Hits of {hits.pattern} by name · whole profile")
        background.begin(
            page,
            "hits",
            lambda check: hit_table.hit_table(trace, hits, check),
            lambda table: self._show("hits", trace, table),
        )
        page.set_focus(self.table)

    def _say_of(self, words: str) -> None:
        """What the table is of."""
        self.page.query_one("#of", Static).update(
            f" {truncation.end(words, max(1, self.page.view.size.width - 2))}"
        )

    def _show(self, which: Below, trace: object, table: Table | None) -> None:
        if self.page.is_mounted and self.open == which and trace is self.page.session.trace:
            self._table_of = trace
            self.table.show(table)
            if self.page.asks_for == "filter":  # typed before the table was there
                self.table.filter(self.page.query_one("#box", Input).value)

    def chosen(self, event: TableView.Chosen) -> None:
        """Enter in the table: to the longest occurrence."""
        place = event.place
        model = self.page.timeline.model
        if model is None or model.trace is not self._table_of:
            return  # it was counted in another host's profile
        if place is not None and place.track is not None and place.event is not None:
            self.page.timeline.move(Navigator.select, place.track, place.event)
            self.page.set_focus(self.page.timeline)

    def useful(self) -> Iterable[str | tuple[str, str]]:
        """What can be done with the table."""
        if self.open == "hits":
            yield from (
                ("fold", "show the longest"),
                ("hit-next+hit-previous", "next hit, the one before"),
                ("hits", "close"),
            )
        if self.open != "ops":
            return
        table = self.table
        if not table.has_focus:
            yield from (("filter", "filter the ops"), ("sort", "sort"), ("ops", "close them"))
            return
        yield "fold", "unfold" if table.group is not None else "show the longest"
        yield from (("filter", "filter"), ("sort", "sort"), ("pane-group", "group"))
        if table.table is not None and len(table.table.parts) > 1:
            yield "pane-part", "devices or host"
        if table.table is not None and table.table.wrappers is not None:
            yield "pane-wrappers", "hide wrappers" if table.order.wrappers else "wrappers"
        yield "ops", "close"

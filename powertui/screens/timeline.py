"""The timeline page: the timeline itself, the context beside it, details and op table below on
demand.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Click, Resize
from textual.widget import Widget
from textual.widgets import Input, Static

from powertui import units
from powertui.data.model import PS_PER_S
from powertui.plain import plain
from powertui.screens import nudging, timeline_footer, timeline_waiting
from powertui.screens.base import bindings_for
from powertui.screens.below import PaneBelow
from powertui.screens.moving import Moving
from powertui.screens.noting import Noting
from powertui.screens.seeking import Seeking
from powertui.screens.sight import SightCounting
from powertui.screens.status import StatusLine
from powertui.screens.surrounding import SurroundingTraining
from powertui.terminal.theme import Theme
from powertui.view.context import Context
from powertui.view.navigation import Navigator
from powertui.view.time_navigation import State
from powertui.view.timeline_model import TimelineModel
from powertui.widgets import background
from powertui.widgets.context_pane import ContextPane, cells_of_pane
from powertui.widgets.details import DetailsPane
from powertui.widgets.lines import LinesPane
from powertui.widgets.ops_table import OpsTable
from powertui.widgets.table import TableView
from powertui.widgets.timeline import Timeline
from powertui.widgets.view import TimelineView

if TYPE_CHECKING:
    from powertui.screens.timeline_box import TimelineBox

# From so many columns on the pane beside the tracks is wide enough for lists of ops and steps, and
# the rows below the tracks are the tracks' own.
_WIDE_FROM = 150
_TALL_FROM = 31  # rows from which the pane has a dozen more than the context takes


class TimelineScreen(Moving):
    """Walk through one run."""

    NAME = "timeline"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("timeline")

    def __init__(self) -> None:
        super().__init__()
        self._context_wanted = True
        self._context_stale = False
        self._shown_path = ""
        self._footer_is_of_profile = True  # and not of the training around it
        self.below = PaneBelow(self)
        self.seeking = Seeking(self)
        self.sight = SightCounting(self)
        self.noting = Noting(self)
        self.surrounding = SurroundingTraining(self)
        self.asks_for: Literal["", "search", "filter", "note"] = ""  # what the input box is for

    def body(self) -> ComposeResult:
        look = self.shell.look
        glyphs = self.shell.capabilities.glyphs
        with Horizontal(id="main"):
            with Vertical(id="left"):
                yield Static(
                    "",
                    id="waiting",
                    markup=False,
                )  # over the view, which knows its size while it has nothing to show
                yield TimelineView(theme=look, glyphs=glyphs, id="view")
                yield DetailsPane(theme=look, glyphs=glyphs, id="details")
                yield Static("", id="of", markup=False)
                yield OpsTable(theme=look, glyphs=glyphs, id="ops")
            yield ContextPane(theme=look, glyphs=glyphs, id="context")
        yield LinesPane(theme=look, glyphs=glyphs, id="conclusion")
        yield Input(id="box", compact=True)

    @property
    def view(self) -> TimelineView:
        """The timeline with its strips and lanes."""
        return self.query_one("#view", TimelineView)

    @property
    def timeline(self) -> Timeline:
        """The part that has the cursor."""
        return self.view.timeline

    @property
    def details(self) -> DetailsPane:
        """The pane below, of the selected event."""
        return self.query_one("#details", DetailsPane)

    def on_mount(self) -> None:
        """Keys go to the timeline."""
        box = self.query_one("#box", Input)
        box.cursor_blink = box.display = box.select_on_focus = False
        conclusion = self.query_one("#conclusion", LinesPane)
        conclusion.styles.height = timeline_footer.foot_rows(self)
        conclusion.can_focus = False
        table = self.below.table
        table.said = self.say
        table.pan = lambda: self.timeline.pan_held(1)
        self.timeline.run_budget = self.shell.gate.quality.runs
        self.timeline.listeners.append(self._moved)
        self.fold_panes()
        self.set_focus(self.timeline)
        self._catch_up()

    def on_resize(self, event: Resize) -> None:
        """Panes fold away as space shrinks."""
        super().on_resize(event)
        self.fold_panes()
        self.news_came()

    def fold_panes(self) -> None:
        """Which panes there is room for."""
        width, height = self.size
        context = self.query_one("#context", ContextPane)
        context.display = self._context_wanted and width >= timeline_footer.CONTEXT_FROM
        is_wide = width >= _WIDE_FROM
        context.styles.width = cells_of_pane(width)
        has_free_rows = is_wide or height >= _TALL_FROM
        self.view.set_panel(not (context.display and has_free_rows))
        self.context_changed()
        room = height >= timeline_footer.BELOW_FROM
        self.below.arrange()
        # Without room for both, the pane below takes the place of the timeline until it is closed.
        self.view.display = room or not self.below.open

    def news_came(self) -> None:
        """Show the first conclusions at the foot, once they are known.

        Their rows are kept for them from before there is a run: nothing on the page moves, and is
        sent again, when they come.
        """
        timeline_footer.show_conclusions(self)

    # ── the session ──────────────────────────────────────────────────────────────────────────────

    def session_changed(self) -> None:
        """Another run, more of it, or a place to go to."""
        if self.is_mounted:
            self._catch_up()
            self.news_came()
            timeline_footer.look_further(self)

    def _catch_up(self) -> None:
        session = self.session
        waiting = self.query_one("#waiting", Static)
        model = session.model
        instead = timeline_waiting.shown_instead(session)
        waiting.display = bool(instead)
        if model is None or instead:
            waiting.update(instead)
            return
        if self.shell.runs.is_loading and not self.query_one("#status", StatusLine).right:
            super().show_progress("reading …")  # a part must never look like the whole
        self.fold_panes()
        if self.timeline.model is not model or session.complete:
            path = session.entry.path if session.entry else ""
            is_same_run = self.timeline.model is model or self._shown_path == path
            keeps_place = is_same_run or self._same_training(model)
            self.view.show(model, session.power, keep=keeps_place)
            pins = session.aligning.pins.pins
            self.view.set_pins(tuple(round(pin.trace_s * PS_PER_S) for pin in pins))
            self._shown_path = path
            if session.window is not None and session.view is None:
                session.window = self.timeline.window  # by this profile's own axis
            self.noting.show()
            self.surrounding.show_values()
            self.surrounding.accompany()
            self.surrounding.reach_soon()
            self.sight.soon()
            self.below.show_details()
        if session.view is not None:
            lo, hi = session.view
            session.view = None  # asked for once
            self.arrive(lo, hi)
        self.context_changed()
        self.below.show_ops_soon()

    def point_at(self, lo: int, hi: int, row: int | None = None) -> None:
        shell = self.shell
        if shell.capabilities.motion and shell.gate.allows_motion:
            self.view.outline(lo, hi, row)

    def _same_training(self, model: TimelineModel) -> bool:
        before = self.timeline.model
        return before is not None and model.axis_after(before) is not None

    # ── the training around the profile ──────────────────────────────────────────────────────────

    def awaits(self, action: str) -> str:
        return timeline_waiting.awaited(self, action)

    def action_strips(self) -> None:
        """Choose which scalars are drawn."""
        self.surrounding.choose_strips()

    def action_profile_next(self) -> None:
        """To the next profile of the training, around the end."""
        model = self.timeline.model
        if model is None or model.surroundings is None or not model.surroundings.profiles:
            has_profile = model is not None and len(model.tracks) > 0
            self.say(
                "This is the only profile." if has_profile else "There is no profile to go to."
            )
        self.timeline.move(Navigator.next_profile, 1)
        self.surrounding.reach_soon()

    # ── what is drawn ────────────────────────────────────────────────────────────────────────────

    @property
    def is_behind(self) -> bool:
        """Whether what is shown about the view is still about another one."""
        return self.sight.is_behind

    def in_sight(self) -> tuple[int, int] | None:
        """The stretch in sight."""
        viewport = self.timeline.viewport
        return None if viewport is None else (viewport.t0, viewport.t1)

    def show_progress(self, progress: str) -> None:
        """How far reading has come."""
        super().show_progress(progress)
        if self.session.model is None and progress and self.session.entry is not None:
            text = f"Reading {plain(self.session.entry.name)}: {progress}\n\nEsc stops."
            self.query_one("#waiting", Static).update(text)

    def adapt(self) -> None:
        super().adapt()
        self.timeline.set_run_budget(self.shell.gate.quality.runs)

    def restyle(self, look: Theme) -> None:
        glyphs = self.shell.capabilities.glyphs
        for pane in (
            self.view,
            self.query_one(ContextPane),
            self.query_one(DetailsPane),
            self.query_one("#conclusion", LinesPane),
            self.query_one(TableView),
        ):
            pane.restyle(look, glyphs)

    # ── what follows a move ──────────────────────────────────────────────────────────────────────

    def on_timeline_viewport_changed(self, event: Timeline.ViewportChanged) -> None:
        """The op table is of what is visible, and so is the profile that is read."""
        if self._footer_is_of_profile is not self.view.inside:
            self._footer_is_of_profile = self.view.inside
            self.footer()
        self.below.show_ops_soon()
        self.surrounding.reach_soon()
        self.sight.soon()

    def on_timeline_pointed(self, event: Timeline.Pointed) -> None:
        """Name what the pointer is on, where the line is quick."""
        model = self.timeline.model
        name = ""
        if event.event is not None and model is not None and self.shell.gate.allows_motion:
            facts = model.facts(event.event)
            name = f"{plain(facts.display, 200)} · {units.duration(facts.duration)}"
        self.query_one("#status", StatusLine).name_under_pointer(name)

    def on_timeline_cursor_moved(self, event: Timeline.CursorMoved) -> None:
        """Other pages ask where the cursor is."""
        self.session.cursor_ps = event.ps

    def on_timeline_selection_changed(self, event: Timeline.SelectionChanged) -> None:
        """The details are of what is selected."""
        self.below.show_details()
        self.footer()

    def on_timeline_window_marked(self, event: Timeline.WindowMarked) -> None:
        """A window was marked, or given up. `powertui export --marked` finds it later."""
        from powertui.screens import timeline_actions

        timeline_actions.take_window(self, event.window)

    def context_changed(self) -> None:
        """The context is worked out once a frame, however many keys came in since the last."""
        self._context_stale = True
        self.query_one("#context").refresh()

    def before_frame(self) -> Iterable[Widget]:
        """Bring the context pane up to date."""
        pane = self.query_one("#context", ContextPane)
        # The timeline's own model: the session may be further, with another host's, and a selection
        # is a number in one of them.
        model = self.timeline.model
        state = self.timeline.state
        if not self._context_stale or not pane.display or model is None or state is None:
            return ()
        self._context_stale = False
        context = Context.for_state(model, state, self.view.power)
        pane.show(context.with_notes(self.noting.texts_at(state)))
        timeline_footer.show_beside(self, pane)
        return (pane,)

    def _moved(self, before: State | None, after: State) -> None:
        self._context_stale = True

    # ── the box, and what can be done ────────────────────────────────────────────────────────────

    def on_click(self, event: Click) -> None:
        """A click on the sentence at the foot leads to all of them."""
        if event.widget is self.query_one("#conclusion", LinesPane):
            self.shell.show("symmetry")

    def action_search(self) -> None:
        """Names, by text or regular expression."""
        self.box.open("search", "search: text, or /regular expression/")

    def action_note(self) -> None:
        """On the marked window, else on the moment under the cursor."""
        self.noting.ask()

    def action_filter(self) -> None:
        """Rows of the op table."""
        if self.below.open != "ops":
            self.below.toggle_ops()
        self.box.open("filter", "filter the op table: part of a name, type or device")

    @cached_property
    def box(self) -> TimelineBox:
        """Where a person types: imported with the first key that opens it."""
        from powertui.screens.timeline_box import TimelineBox

        return TimelineBox(self)

    def on_input_changed(self, event: Input.Changed) -> None:
        """The table is filtered while one types; a search waits for Enter."""
        if self.asks_for == "filter":
            self.below.table.filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in the box."""
        self.box.submit(event.value)

    def useful(self) -> Iterable[str | tuple[str, str]]:
        """Of what is open or selected first, then how to move."""
        return timeline_footer.useful(self)

    def closes(self) -> str:
        """In the order in which `back` gives things up."""
        return timeline_footer.closes(self)

    def on_table_view_moved(self, event: TableView.Moved) -> None:
        """A heading can do other things than a row."""
        self.footer()

    def on_table_view_chosen(self, event: TableView.Chosen) -> None:
        """Enter in the table below."""
        self.below.chosen(event)

    # ── panes ────────────────────────────────────────────────────────────────────────────────────

    def action_fold(self) -> None:
        """On a heading: fold it. On an event: its details."""
        if self.timeline.selection is not None:
            self.below.toggle_details()
        else:
            self.timeline.move(Navigator.fold)

    def action_sort(self) -> None:
        """Of the op table."""
        if self.below.open == "ops":
            self.below.table.sort_next()

    def action_context(self) -> None:
        """The pane beside the timeline."""
        self._context_wanted = not self._context_wanted
        self.fold_panes()
        if self._context_wanted and self.size.width < timeline_footer.CONTEXT_FROM:
            self.say(f"The context pane needs {timeline_footer.CONTEXT_FROM} columns.", warn=True)
        self.context_changed()

    def action_host(self) -> None:
        """The profile of the other host; of many hosts or devices a list to choose from."""
        from powertui.screens import timeline_actions

        timeline_actions.choose_host(self)

    def show_device(self, process: int) -> None:
        """Put the cursor on a device's own row."""
        self.timeline.move(Navigator.go_process, process)

    def action_export(self) -> None:
        """Write the window, or a picture of the page, to a file."""
        if not self.session.complete:
            self.say("The run is still being read. Export it when it is complete.", warn=True)
            return
        self.ask_export(self.timeline.window or self.in_sight())

    def action_step_marker(self) -> None:
        """Choose among all that could mark the steps, and read the run again by it."""
        from powertui.screens import timeline_actions

        timeline_actions.choose_step_marker(self)

    def shift_power(self, refreshes: float) -> None:
        """To later times, in refreshes of its sensor."""
        self.say(nudging.shift(self.shell, refreshes * nudging.refresh_s(self.session)))

    def action_power_pin(self) -> None:
        """Tie the nearest edge of power to the cursor."""
        nudging.pin(self.shell, self.session.cursor_ps)

    def action_overlap(self) -> None:
        """What runs at the same time as the selected event: its stretch becomes the window."""
        from powertui.screens import timeline_actions

        timeline_actions.show_overlap(self)

    def action_copy(self) -> None:
        """The facts of what is selected, to the clipboard."""
        from powertui.screens import timeline_actions

        timeline_actions.copy_facts(self)

    def back(self) -> bool:
        """Close the box, then the pane below, then give up selection, window and hits."""
        if self.asks_for:
            self.box.close()
            return True
        if self.below.open:
            self.below.toggle(self.below.open)
            return True
        background.cancel(self, "search")
        self.say("")
        cleared = bool(self.timeline.move(Navigator.clear))
        self.footer()
        return cleared

"""The timeline page: the timeline itself, the context beside it, details and op table below on demand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Input, Static

from powertui import units
from powertui.data import hit_table, search
from powertui.data.model import PS_PER_S
from powertui.data.table import Result, Table
from powertui.data.texts import CancelCheck
from powertui.data.tools import event_sets, op_stats
from powertui.errors import PowertuiError, UsageError
from powertui.plain import plain
from powertui.screens import facts, heading, nudging
from powertui.screens.base import bindings_for
from powertui.screens.moving import Moving
from powertui.screens.status import StatusLine
from powertui.terminal import marked
from powertui.terminal.theme import Theme
from powertui.view import around, cut, in_sight
from powertui.view.context import Context
from powertui.view.navigation import State
from powertui.view.timeline_model import Selected, TimelineModel
from powertui.widgets import background
from powertui.widgets.context_pane import ContextPane
from powertui.widgets.details import DetailsPane
from powertui.widgets.ops_table import OpsTable
from powertui.widgets.table import TableView
from powertui.widgets.timeline import Timeline
from powertui.widgets.view import MOST_VALUES, TimelineView

CONTEXT_FROM = 100  # columns from which there is room for the context pane
BELOW_FROM = 20  # rows from which there is room for a pane below
WARNINGS = 6  # that fit on a page
REACH_AFTER_S = 0.15  # the view stands still for so long before another profile is read
SEEN_CELLS = 3  # an event that is narrower on screen cannot be seen
FRAME = 8  # how many times its own length is shown on either side of it
SIGHT_AFTER_S = 0.2  # what the view holds is counted once it has stood still for so long …
SIGHT_LATE_S = 1.0  # … or so long, where there is much to count
MUCH = 2_000_000  # events
OPS_AFTER_S = 0.25  # the op table follows the view once it has stood still for so long


class TimelineScreen(Moving):
    """Walk through one run."""

    NAME = "timeline"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("timeline")

    def __init__(self) -> None:
        super().__init__()
        self._context_wanted = True
        self._context_stale = False
        self._shown_finding: tuple[int, int] | None = None  # it says what it is itself
        self._below: str = ""  # "details", "ops" or ""
        self._shown_path = ""
        self._ops_timer: Any = None
        self._reach_timer: Any = None
        self._sight_timer: Any = None
        self._sight_of: tuple[object, int, int] | None = None  # the model and stretch that it is told of
        self._sight_asked: tuple[object, int, int] | None = None
        self._footed = True  # the footer is of a profile, and not of the training around it
        self._values: list[str] | None = None  # the strips that a person chose, by name
        self._ops_of: object = None  # the trace that the op table was counted in
        self._box: str = ""  # what the input box is for: "search" or "filter"

    def body(self) -> ComposeResult:
        look, glyphs = self.shell.look, self.shell.capabilities.glyphs
        with Horizontal(id="main"):
            with Vertical(id="left"):
                yield Static("", id="waiting", markup=False)  # over the view, which knows its size while it has nothing to show
                yield TimelineView(theme=look, glyphs=glyphs, id="view")
                yield DetailsPane(theme=look, glyphs=glyphs, id="details")
                yield Static("", id="of", markup=False)
                yield OpsTable(theme=look, glyphs=glyphs, id="ops")
            yield ContextPane(theme=look, glyphs=glyphs, id="context")
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
        box.cursor_blink = box.display = False
        table = self.query_one("#ops", OpsTable)
        table.said, table.pan = self.say, lambda: self.timeline.pan_held(1)
        self.timeline.run_budget = self.shell.gate.quality.runs
        self.timeline.listeners.append(self._moved)
        self._arrange()
        self.set_focus(self.timeline)
        self._catch_up()

    def on_resize(self, event: Resize) -> None:
        """Panes fold away as space shrinks."""
        super().on_resize(event)
        self._arrange()

    def _arrange(self) -> None:
        width, height = self.size
        self.query_one("#context").display = self._context_wanted and width >= CONTEXT_FROM
        room = height >= BELOW_FROM
        self.query_one("#details").display = self._below == "details"
        self.query_one("#ops").display = self.query_one("#of").display = self._below in ("ops", "hits")
        # Without room for both, the pane below takes the place of the timeline until it is closed.
        self.view.display = room or not self._below

    # ── the session ──────────────────────────────────────────────────────────────────────────────

    def session_changed(self) -> None:
        """Another run, more of it, or a place to go to."""
        if self.is_mounted:
            self._catch_up()

    def _catch_up(self) -> None:
        session = self.session
        waiting = self.query_one("#waiting", Static)
        model = session.model
        if model is None:
            name = plain(session.entry.name) if session.entry else ""
            if session.complete and session.run is not None:
                why = [plain(str(warn)) for warn in session.run.warnings[:WARNINGS]]
                waiting.update("\n\n".join([f"{name} holds no timeline.", *why, "`powertui doctor` lists what there is."]))
            else:
                waiting.update(f"Reading {name} …")
            waiting.display = True
            return
        waiting.display = False
        if self.shell.is_loading and not self.query_one("#status", StatusLine).right:
            super().show_progress("reading …")  # a part must never look like the whole
        self._arrange()
        if self.timeline.model is not model or session.complete:
            shown = session.entry.path if session.entry else ""
            keep = self._shown_path == shown or self._same_training(model)
            self.view.show(model, session.power, keep=keep)
            self.view.set_pins(tuple(round(pin.trace_s * PS_PER_S) for pin in session.aligning.pins.pins))
            self._shown_path = shown
            if session.window is not None and session.view is None:
                session.window = self.timeline.window  # by this profile's own axis
            self._show_values()
            self._reach_soon()
            self._sight_soon()
            self._show_details()
        if session.view is not None:
            (lo, hi), session.view = session.view, None
            if session.window is not None and session.window != self.timeline.window:
                self.timeline.set_window(*session.window)
            if (lo, hi) != self._visible():
                self._go(lo, hi)
        self._show_context()
        self._show_ops_soon()

    def _go(self, lo: int, hi: int) -> None:
        if lo == hi:
            self.timeline.goto(lo)
        else:
            self.timeline.show_window(lo, hi)

    def _same_training(self, model: TimelineModel) -> bool:
        before = self.timeline.model
        return before is not None and model.axis_after(before) is not None

    # ── the training around the profile ──────────────────────────────────────────────────────────

    def _reach_soon(self) -> None:
        """Once the view stands still: the profile that it came to."""
        if self._reach_timer is not None:
            self._reach_timer.stop()
        self._reach_timer = self.set_timer(REACH_AFTER_S, self._reach)

    def _reach(self) -> None:
        model, state = self.timeline.model, self.timeline.state
        if model is None or state is None or model.around is None or not self.is_mounted:
            return
        found = around.wanted(model.around, state.viewport, state.cursor_ps)
        if found is not None and self.shell.can_reach(model.around.islands[found].key[0]):
            self.shell.reach(*model.around.islands[found].key)

    def _show_values(self) -> None:
        """The strips that were chosen here; else the step rate, losses, and as many others as there is room for."""
        model = self.timeline.model
        strips = model.around.strips if model is not None and model.around is not None else ()
        offered = model.strips if model is not None else ()
        by_name = {strip.name: strip for strip in offered}
        if self._values is None:
            self.view.set_values(strips[:MOST_VALUES])
        else:
            self.view.set_values([by_name[name] for name in self._values if name in by_name], picked=True)

    def action_strips(self) -> None:
        """Choose which scalars are drawn."""
        from powertui.screens.strips import StripsDialog

        model = self.timeline.model
        strips = model.strips if model is not None else ()
        if not strips:
            self.say("Nothing was logged beside this profile: no scalars, no step rate, no counters.")
            return
        chosen = [strip.name for strip in self.view.chosen]
        self.shell.ask(StripsDialog([strip.name for strip in strips], chosen), self._choose_values)

    def _choose_values(self, names: list[str] | None) -> None:
        if names is not None:
            self._values = names
            self._show_values()

    def action_profile_next(self) -> None:
        """To the next profile of the training, around the end."""
        model = self.timeline.model
        if model is None or model.around is None or not model.around.islands:
            self.say("There is no profile to go to." if model is None or not len(model.tracks) else "This is the only profile.")
        self.timeline.island(1)
        self._reach_soon()

    # ── what the view holds ──────────────────────────────────────────────────────────────────────

    @property
    def is_behind(self) -> bool:
        """Whether what is told of the view is still of another one."""
        return self.view.sight.display and self._sight_of != self._sight_now()

    def _sight_now(self) -> tuple[object, int, int] | None:
        model, seen = self.timeline.model, self._visible()
        return None if model is None or seen is None else (model, *seen)

    def _sight_soon(self) -> None:
        """Once the view stands still. Whoever moves on waits for nothing: what is being counted is given up."""
        now = self._sight_now()
        if now is None or not self.view.sight.display or now in (self._sight_of, self._sight_asked):
            return
        self._sight_asked = now
        background.cancel(self, "sight")
        if self._sight_timer is not None:
            self._sight_timer.stop()
        model, lo, hi = self.timeline.model, now[1], now[2]
        assert model is not None
        much = model.trace.event_count > MUCH and event_sets.touching(model.trace, lo, hi) > MUCH
        self._sight_timer = self.set_timer(SIGHT_LATE_S if much else SIGHT_AFTER_S, self._count_sight)

    def _count_sight(self) -> None:
        model, now = self.timeline.model, self._sight_now()
        if model is None or now is None or now != self._sight_asked or not self.view.sight.display:
            self._sight_asked = None
            return
        if self.session.complete:
            self.view.use_free_rows()
        background.begin(
            self, "sight", lambda check: in_sight.of(model, now[1], now[2], check), lambda seen: self._got_sight(now, seen)
        )

    def _got_sight(self, now: tuple[object, int, int], seen: in_sight.InSight) -> None:
        if self.is_mounted and now == self._sight_now():
            self._sight_of, self._sight_asked = now, None
            self.view.sight.show(seen)

    def _visible(self) -> tuple[int, int] | None:
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
        for pane in (self.view, self.query_one(ContextPane), self.query_one(DetailsPane), self.query_one(TableView)):
            pane.restyle(look, glyphs)

    # ── what follows a move ──────────────────────────────────────────────────────────────────────

    def on_timeline_viewport_changed(self, event: Timeline.ViewportChanged) -> None:
        """The op table is of what is visible, and so is the profile that is read."""
        if self._footed is not self.view.inside:
            self._footed = self.view.inside
            self.footer()
        self._show_ops_soon()
        self._reach_soon()
        self._sight_soon()

    def on_timeline_cursor_moved(self, event: Timeline.CursorMoved) -> None:
        """Other pages ask where the cursor is."""
        self.session.cursor_ps = event.ps

    def on_timeline_selection_changed(self, event: Timeline.SelectionChanged) -> None:
        """The details are of what is selected."""
        self._show_details()
        self.footer()

    def on_timeline_window_marked(self, event: Timeline.WindowMarked) -> None:
        """A window was marked, or given up. `powertui export --marked` finds it later."""
        before, self.session.window = self.session.window, event.window
        trace = self.session.trace
        if trace is not None and event.window is not None:
            marked.save(trace.path, *event.window)
        elif trace is not None and before is not None:
            marked.forget(trace.path)
        self._show_context()
        self._show_ops_soon()
        self.footer()
        if event.window is not None and event.window != self._shown_finding:
            lo, hi = event.window
            drew = facts.in_short(self.view.power, lo, hi)
            self.say(f"Window of {units.duration(hi - lo)}{': ' if drew else ''}{drew}. Esc clears it.")

    def _show_context(self) -> None:
        """The context is worked out once a frame, however many keys came in since the last."""
        self._context_stale = True
        self.query_one("#context").refresh()

    def before_frame(self) -> Iterable[Widget]:
        """Bring the context pane up to date."""
        pane = self.query_one("#context", ContextPane)
        # The timeline's own model: the session may be further, with another host's, and a selection is a number in one of them.
        model, state = self.timeline.model, self.timeline.state
        if not self._context_stale or not pane.display or model is None or state is None:
            return ()
        self._context_stale = False
        pane.show(Context.of(model, state, self.view.power))
        return (pane,)

    def _moved(self, before: State | None, after: State) -> None:
        self._context_stale = True

    def _show_details(self) -> None:
        if self._below == "details" and self.timeline.model is not None:
            self.query_one("#details", DetailsPane).show(self.timeline.model, self.timeline.selection)

    def _show_ops_soon(self) -> None:
        if self._below != "ops":
            return
        if self._ops_timer is not None:
            self._ops_timer.stop()
        self._ops_timer = self.set_timer(OPS_AFTER_S, self._show_ops)

    def _show_ops(self) -> None:
        session = self.session
        window = self.timeline.window or self._visible()
        if self._below != "ops" or session.trace is None or window is None:
            return
        trace, (lo, hi) = session.trace, window
        profile = session.profile
        if profile is not None:
            of = "Ops · " if self.timeline.window else "Ops in view · "
            self._say_of(of + heading.words(profile, window, self.view.size.width - 2 - len(of)))
        background.begin(
            self, "ops", lambda check: op_stats.result(op_stats.of(trace, lo, hi, check)), lambda found: self._got_ops(trace, found)
        )

    def _say_of(self, words: str) -> None:
        """What the table below is of."""
        self.query_one("#of", Static).update(f" {cut.end(words, max(1, self.view.size.width - 2))}")

    def _got_ops(self, trace: object, found: Result) -> None:
        if self.is_mounted and self._below == "ops" and trace is self.session.trace:
            self._ops_of = trace
            self.query_one("#ops", TableView).show(found.table)

    def on_table_view_chosen(self, event: TableView.Chosen) -> None:
        """Enter in the op table: to the longest occurrence."""
        place, model = event.place, self.timeline.model
        if model is None or model.trace is not self._ops_of:
            return  # it was counted in another host's profile
        if place is not None and place.track is not None and place.event is not None:
            self.timeline.select(place.track, place.event)
            self.set_focus(self.timeline)

    # ── search and filter ────────────────────────────────────────────────────────────────────────

    def action_search(self) -> None:
        """Names, by text or regular expression."""
        self._open_box("search", "search: text, or /regular expression/")

    def action_filter(self) -> None:
        """Rows of the op table."""
        if self._below != "ops":
            self.action_ops()
        self._open_box("filter", "filter the op table: part of a name, type or device")

    def _open_box(self, purpose: str, placeholder: str) -> None:
        box = self.query_one("#box", Input)
        self._box = purpose
        box.placeholder = placeholder
        box.value = ""
        box.display = True
        self.set_focus(box)
        self.footer()

    def on_input_changed(self, event: Input.Changed) -> None:
        """The table is filtered while one types; a search waits for Enter."""
        if self._box == "filter":
            self.query_one("#ops", TableView).filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in the box."""
        purpose, text = self._box, event.value
        self._close_box()
        if purpose == "search":
            self._search(text)
        elif purpose == "filter":
            self.set_focus(self.query_one("#ops", TableView))

    def _close_box(self) -> None:
        self._box = ""
        self.query_one("#box", Input).display = False
        self.set_focus(self.timeline)
        self.footer()

    def _search(self, text: str) -> None:
        model = self.timeline.model
        if not text or model is None:
            background.cancel(self, "search")
            self.timeline.set_hits(None)
            self.say("")
            return
        regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
        self.say("Searching …")

        def find(check: CancelCheck) -> search.Hits | PowertuiError:
            try:
                return model.search(text[1:-1] if regex else text, regex=regex, check=check)
            except UsageError as error:
                return error

        background.begin(self, "search", find, lambda hits: self._found(model, text, hits))

    def _found(self, model: object, text: str, hits: search.Hits | PowertuiError) -> None:
        if isinstance(hits, PowertuiError):
            self.say(str(hits))
            return
        if model is not self.timeline.model:
            return
        self.timeline.set_hits(hits if len(hits) else None)
        self.footer()
        if not len(hits):
            self.say(f"No event name matches {text}.", warn=True)
            return
        self.timeline.next_hit(1)
        self._frame()
        self._say_hit()

    def _say_hit(self) -> None:
        state = self.timeline.state
        if state is not None and state.hits is not None:
            number = f"{state.hit + 1:,} of " if state.hit is not None else ""
            which = f"Hit {number}{len(state.hits):,} events that match" if number else f"{len(state.hits):,} events match"
            self.say(f"{which} {state.hits.pattern}: n next, N previous, b by name, Esc clears.")

    def _frame(self) -> None:
        """Show the selected event so that it can be seen: neither narrower than a few cells nor wider than the view."""
        model, selected, view = self.timeline.model, self.timeline.selection, self.timeline.viewport
        if model is None or selected is None or view is None:
            return
        lo, hi = model.extent(selected)
        if not SEEN_CELLS * view.cell_ps <= hi - lo <= view.t1 - view.t0:
            margin = max(1, hi - lo) * FRAME
            self.timeline.show_window(lo - margin, hi + margin)

    # ── findings and launches ────────────────────────────────────────────────────────────────────

    def finding(self, direction: int) -> None:
        """The next thing that stands out from the cursor on, around the end: exactly its stretch is the window."""
        model = self.timeline.model
        found = model.around.found if model is not None and model.around is not None else ()
        one = around.beside(found, self.timeline.cursor_ps, direction)
        if one is None:
            self.say("Nothing was found here. 3 tells what was looked for.")
            return
        margin = max(1, (one.hi - one.lo) // 2)
        self.timeline.show_window(one.lo - margin, one.hi + margin)
        self.timeline.goto(one.lo)
        self._shown_finding = (one.lo, one.hi)
        self.timeline.set_window(one.lo, one.hi)
        self.say(f"{found.index(one) + 1} of {len(found)}: {one.texts[0]}")

    def action_jump(self) -> None:
        """From a call on the host to the work that it launched on a device, and back."""
        model, selected, profile = self.timeline.model, self.timeline.selection, self.session.profile
        if model is None or selected is None or profile is None or profile.trace is not model.trace:
            self.say("Select a kernel, or the call that launched one, first.")
            return

        def look(_check: CancelCheck) -> tuple[int, int] | PowertuiError | None:
            from powertui.data.tools import kernels, launches

            try:
                found = launches.of(profile)
                return launches.across(found, kernels.of(profile), model.trace, *selected)
            except PowertuiError as error:
                return error

        background.begin(self, "jump", look, lambda there: self._jumped(model, there))

    def _jumped(self, model: object, there: tuple[int, int] | PowertuiError | None) -> None:
        if isinstance(there, PowertuiError):
            self.say(str(there), warn=True)
        elif model is not self.timeline.model:
            return
        elif there is None:
            self.say("Nothing in this profile ties this event to a launch: no other event has its correlation id.")
        else:
            self.timeline.select(*there)
            self._frame()
            name = self.timeline.model.facts(Selected(*there)).display if self.timeline.model is not None else ""
            self.say(f"{plain(name, 120)}. J leads back.")

    def action_hits(self) -> None:
        """The hits by name, below."""
        model, state = self.timeline.model, self.timeline.state
        if model is None or state is None or state.hits is None:
            self.say("There is no search. Press / and type part of a name.", warn=True)
            return
        if self._below == "ops":
            self._toggle_below("ops")
        self._toggle_below("hits")
        if self._below != "hits":
            return
        trace, hits = model.trace, state.hits
        self._say_of(f"Hits of {hits.pattern} by name · whole profile")
        background.begin(self, "hits", lambda check: hit_table.of(trace, hits, check), lambda table: self._got_hits(trace, table))
        self.set_focus(self.query_one("#ops", TableView))

    def _got_hits(self, trace: object, table: Table) -> None:
        if self.is_mounted and self._below == "hits" and trace is self.session.trace:
            self._ops_of = trace
            self.query_one("#ops", TableView).show(table)

    def hit(self, direction: int) -> None:
        """The next hit of the search, or the one before."""
        if self.timeline.next_hit(direction):
            self._frame()
            self._say_hit()
        else:
            self.say("There is no search to repeat. Press / and type part of a name.", warn=True)

    # ── what can be done ─────────────────────────────────────────────────────────────────────────

    def useful(self) -> Iterable[str | tuple[str, str]]:
        """Of what is open or selected first, then how to move."""
        state, model = self.timeline.state, self.timeline.model
        if state is None:
            return
        if self._below == "ops":
            yield from self._useful_of_table()
        if self._below == "hits":
            yield from (("fold", "show the longest"), ("hit-next+hit-previous", "next hit, the one before"), ("hits", "close"))
        if state.mark is not None:
            yield "mark", "end the window here"
        elif state.window is not None:
            yield from (("ops", "ops of the window"), ("export", "export it"), ("fit", "fit"), ("copy", "copy its facts"))
        elif state.selection is not None:
            yield from (
                ("details", "details"),
                ("fit", "fit"),
                ("event-previous+event-next", "event before, after"),
                ("copy", "copy"),
            )
            if model is not None and model.trace.devices:
                yield "jump", "launch or kernel"
        if state.hits is not None:
            yield from (("hit-next+hit-previous", "next hit, the one before"), ("hits", "hits by name"))
        around = model.around if model is not None else None
        if around is not None and not self.view.inside:
            if around.islands:
                yield "profile-next", "next profile"
            if around.strips:
                yield "strips", "choose the strips"
        elif around is not None and state.viewport.rung < state.viewport.widest:
            yield "whole", "the whole training"
        yield from (("zoom-in+zoom-out", "zoom"), ("pan-left+pan-right", "pan"))
        if model is None or not len(model.tracks):  # a power log, or scalars and power: nothing ran that could be told
            yield from (("time-left+time-right", "cursor"), ("mark", "mark a window"), ("export", "export"))
        else:
            yield from (("event-left+event-right", "event"), ("step-previous+step-next", "step"), ("search", "search"))
            yield from (("mark", "mark a window"), ("ops", "ops"))
        if around is not None and around.found:
            yield "found-previous+found-next", "finding"
        yield "palette", "go to a time or step"

    def _useful_of_table(self) -> Iterable[str | tuple[str, str]]:
        table = self.query_one("#ops", TableView)
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

    def on_table_view_moved(self, event: TableView.Moved) -> None:
        """A heading can do other things than a row."""
        self.footer()

    def closes(self) -> str:
        """In the order in which `back` gives things up."""
        state = self.timeline.state
        if self._box:
            return "the box"
        if self._below:
            return "the details" if self._below == "details" else "the table"
        if state is None:
            return ""
        held = (
            (state.mark, "the window's start"), (state.window, "the window"), (state.hits, "the search"),
            (state.selection, "the selection"),
        )  # fmt: skip
        return next((what for value, what in held if value is not None), "")

    # ── panes ────────────────────────────────────────────────────────────────────────────────────

    def action_mark(self) -> None:
        self.timeline.mark()
        self.footer()
        state = self.timeline.state
        if state is not None and state.mark is not None:
            self.say("The window starts here. Move the cursor and press m again.")

    def action_fold(self) -> None:
        """On a heading: fold it. On an event: its details."""
        if self.timeline.selection is not None:
            self.action_details()
        else:
            self.timeline.fold()

    def action_details(self) -> None:
        """All stats of the selected event, below."""
        self._toggle_below("details")
        self._show_details()

    def action_ops(self) -> None:
        """The op table, below."""
        self._toggle_below("ops")
        self._show_ops()
        if self._below == "ops":
            self.set_focus(self.query_one("#ops", TableView))

    def _toggle_below(self, name: str) -> None:
        self._below = "" if self._below == name else name
        if self._below != "ops":  # nobody waits for a table that is closed
            background.cancel(self, "ops")
            self.query_one("#ops", TableView).show(None)
        self._arrange()
        if not self._below:
            self.set_focus(self.timeline)
        self.footer()

    def action_sort(self) -> None:
        if self._below == "ops":
            self.query_one("#ops", TableView).sort_next()

    def action_context(self) -> None:
        """The pane beside the timeline."""
        self._context_wanted = not self._context_wanted
        self._arrange()
        if self._context_wanted and self.size.width < CONTEXT_FROM:
            self.say(f"The context pane needs {CONTEXT_FROM} columns.", warn=True)
        self._show_context()

    def action_host(self) -> None:
        """The profile of the next host."""
        run = self.session.run
        if run is None or len(run.traces) < 2:
            self.say("This run has only one host.")
            return
        self.shell.show_trace((self.session.trace_index + 1) % len(run.traces))

    def action_export(self) -> None:
        """Write the window to a file."""
        from powertui.screens.export import ExportDialog

        if not self.session.complete:
            self.say("The run is still being read. Export it when it is complete.", warn=True)
            return
        lo_hi = self.timeline.window or self._visible()
        if lo_hi is not None:
            self.shell.ask(ExportDialog(self.session, *lo_hi), lambda message: self.say(message) if message else None)

    def action_step_marker(self) -> None:
        """Choose among all that could mark the steps, and read the run again by it."""
        from powertui.screens.markers import MarkerDialog

        steps = self.session.steps
        if not self.session.complete or len(steps.markers) < 2:
            self.say("Nothing else could mark the steps. Name a marker: powertui open … --step-marker REGEX")
            return
        self.shell.ask(MarkerDialog(steps), self._mark_steps)

    def _mark_steps(self, pattern: str | None) -> None:
        if pattern is not None:
            self.session.mark_steps(pattern)
            self.shell.read_again()

    def shift_power(self, refreshes: float) -> None:
        """To later times, in refreshes of its sensor."""
        self.say(nudging.shift(self.shell, refreshes * nudging.refresh_s(self.session)))

    def action_power_pin(self) -> None:
        """Tie the nearest edge of power to the cursor."""
        nudging.pin(self.shell, self.session.cursor_ps)

    def action_copy(self) -> None:
        """The facts of what is selected, to the clipboard."""
        model, state = self.timeline.model, self.timeline.state
        if model is None or state is None:
            return
        text = facts.of(model, state, self.view.power)
        if self.shell.copy_text(text):
            self.say(f"Copied {len(text.splitlines())} lines to your terminal's clipboard, if it supports OSC 52.")
        else:
            self.say("That is too long for a terminal's clipboard.", warn=True)

    def back(self) -> bool:
        """Close the box, then the pane below, then give up selection, window and hits."""
        if self._box:
            self._close_box()
            return True
        if self._below:
            self._toggle_below(self._below)
            return True
        background.cancel(self, "search")
        self.say("")
        cleared = self.timeline.clear()
        self.footer()
        return cleared

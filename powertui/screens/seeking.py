"""Going to what is looked for in the timeline: events by name, what stands out, the other end of a
launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from powertui.data import search
from powertui.data.texts import CancelCheck
from powertui.errors import PowertuiError, UsageError
from powertui.plain import plain
from powertui.view.navigation import Navigator
from powertui.view.surroundings import next_span
from powertui.view.timeline_model import Selected, TimelineModel
from powertui.widgets import background
from powertui.widgets.timeline import Timeline

if TYPE_CHECKING:
    from powertui.data.row_card import Lead
    from powertui.screens.timeline import TimelineScreen

_MIN_EVENT_CELLS = 3  # an event that is narrower on screen cannot be seen
_FRAME_LENGTHS = 8  # how many times its own length is shown on either side of it
_TELL_AFTER_S = 0.1  # a jump that takes longer says what it does


class Seeking:
    """What takes long goes to a thread; an answer about a model that is gone is dropped."""

    def __init__(self, page: TimelineScreen) -> None:
        self.page = page
        self.shown_finding: tuple[int, int] | None = None  # it says what it is itself
        self._jumps: tuple[tuple[int, int] | None, int] = (
            None,
            0,
        )  # the event that J was pressed on last, and how often

    @property
    def _timeline(self) -> Timeline:
        return self.page.timeline

    def look_for(self, text: str) -> None:
        """All names, by text or regular expression between slashes."""
        model = self._timeline.model
        if not text or model is None:
            background.cancel(self.page, "search")
            self._timeline.move(Navigator.set_hits, None)
            self.page.say("")
            return
        regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
        self.page.say("Searching …")

        def find(check: CancelCheck) -> search.Hits | PowertuiError:
            try:
                return model.search(
                    text[1:-1] if regex else text,
                    regex=regex,
                    check=check,
                )
            except UsageError as error:
                return error

        background.begin(
            self.page,
            "search",
            find,
            lambda hits: self._found(model, text, hits),
        )

    def _found(
        self,
        model: object,
        text: str,
        hits: search.Hits | PowertuiError,
    ) -> None:
        if isinstance(hits, PowertuiError):
            self.page.say(str(hits))
            return
        if model is not self._timeline.model:
            self.look_for(
                text
            )  # more of the run is known by now, or another host's profile is shown
            return
        self._timeline.move(Navigator.set_hits, hits if len(hits) else None)
        self.page.footer()
        if not len(hits):
            self.page.say(f"No event name matches {text}.", warn=True)
            return
        self._timeline.move(Navigator.next_hit, 1)
        self._frame()
        self._say_hit()

    def _say_hit(self) -> None:
        state = self._timeline.state
        if state is not None and state.hits is not None:
            count = f"{len(state.hits):,}"
            match = f"match {state.hits.pattern}"
            if state.hits.kinds:  # no name has the word
                match = f"are {' or '.join(state.hits.kinds)} by their kind"
            which = f"{count} events {match}"
            if state.hit is not None:
                which = f"Hit {state.hit + 1:,} of {count} events that {match}"
            self.page.say(
                f"{which}: n next, N previous, b by name, Esc clears.",
                f"{which}: n next, b by name.",
                f"{which}.",
            )

    def _frame(self) -> None:
        """Show the selected event so that it can be seen: neither narrower than a few cells nor
        wider than the view.
        """
        model = self._timeline.model
        selected = self._timeline.selection
        view = self._timeline.viewport
        if model is None or selected is None or view is None:
            return
        lo, hi = model.extent(selected)
        if not _MIN_EVENT_CELLS * view.cell_ps <= hi - lo <= view.t1 - view.t0:
            margin = max(1, hi - lo) * _FRAME_LENGTHS
            self._timeline.move(Navigator.show_window, lo - margin, hi + margin)
        lane = model.lane_of(selected)
        rows = self._timeline.rows
        row = next((number for number, row in enumerate(rows) if lane in row.lanes), None)
        self.page.point_at(lo, hi, row)

    def hit(self, direction: int) -> None:
        """The next hit of the search, or the one before."""
        if self._timeline.move(Navigator.next_hit, direction):
            self._frame()
            self._say_hit()
        else:
            self.page.say(
                "There is no search to repeat. Press / and type part of a name.", warn=True
            )

    # ── findings and launches ────────────────────────────────────────────────────────────────────

    def finding(self, direction: int) -> None:
        """The next thing that stands out from the cursor on, around the end: exactly its stretch is
        the window.
        """
        model = self._timeline.model
        findings = model.findings if model is not None else ()
        span = next_span(findings, self._timeline.cursor_ps, direction)
        if span is None:
            self.page.say("Nothing was found here. 3 shows what was looked for, and what was not.")
            return
        margin = max(1, (span.hi - span.lo) // 2)
        self._timeline.move(
            Navigator.show_window,
            span.lo - margin,
            span.hi + margin,
        )
        self._timeline.move(Navigator.goto, span.lo)
        self.shown_finding = (span.lo, span.hi)
        self._timeline.move(Navigator.set_window, span.lo, span.hi)
        self.page.point_at(span.lo, span.hi)
        self.page.say(f"{findings.index(span) + 1} of {len(findings)}: {span.texts[0]}")

    def op_graph(self) -> None:
        """The operands and users of the XLA op under the cursor, on a page of their own."""
        model = self._timeline.model
        selected = self._timeline.selection
        profile = self.page.session.profile
        if model is None or selected is None or profile is None or profile.trace is not model.trace:
            self.page.say("Move to an event first.")
            return
        from powertui.data.tools import hlo_choice

        def find(_check: CancelCheck) -> Lead | None:
            return hlo_choice.event_lead(profile, selected.track, selected.row)

        background.begin(
            self.page,
            "op graph",
            find,
            self._to_graph,
        )

    def _to_graph(self, lead: Lead | None) -> None:
        if lead is None:
            self.page.say("This event names no op of a program that the profile holds.")
            return
        self.page.session.choices[lead.tool] = lead.choice
        self.page.shell.show_tool(lead.tool, how="into")

    def jump(self) -> None:
        """From a call on the host to the work that it launched on a device, along an arrow that the
        trace draws, and back.
        """
        model = self._timeline.model
        selected = self._timeline.selection
        profile = self.page.session.profile
        if model is None or selected is None or profile is None or profile.trace is not model.trace:
            self.page.say("First select a kernel, or the call that launched one.")
            return
        again = (
            self._jumps[1] + 1 if self._jumps[0] == selected else 0
        )  # once more from one event: its next end
        self._jumps = (selected, again)

        def look(_check: CancelCheck) -> tuple[int, int] | PowertuiError | None:
            from powertui.data.tools import arrows, kernels, launches

            try:
                launched = launches.across(
                    launches.kernel_launches(profile),
                    kernels.device_kernels(profile),
                    model.trace,
                    *selected,
                )
                drawn = arrows.tied_events(profile).across(*selected)
            except PowertuiError as error:
                return error
            ends = (
                [launched, *(end for end in drawn if end != launched)]
                if launched is not None
                else drawn
            )
            if ends:
                return ends[again % len(ends)]
            return None

        background.begin(
            self.page,
            "jump",
            look,
            lambda there: self._jumped(model, there),
        )
        self.page.set_timer(_TELL_AFTER_S, self._tell_of_jump)

    def _tell_of_jump(self) -> None:
        """A person who waits wants to know for what."""
        if background.is_under_way(self.page, "jump"):
            self.page.say("Looking up links …")

    def _jumped(
        self,
        model: TimelineModel,
        there: tuple[int, int] | PowertuiError | None,
    ) -> None:
        if isinstance(there, PowertuiError):
            self.page.say(str(there), warn=True)
        elif self._timeline.model is None or self._timeline.model.trace is not model.trace:
            return
        elif there is None:
            self.page.say(
                "Nothing in this profile ties this event to another: no correlation id, and no "
                "arrow."
            )
        else:
            self._timeline.move(Navigator.select, *there)
            self._frame()
            name = (
                self._timeline.model.facts(Selected(*there)).display
                if self._timeline.model is not None
                else ""
            )
            self.page.say(f"{plain(name, 120)}. J goes back.")

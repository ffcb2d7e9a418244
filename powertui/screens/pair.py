"""Two timelines above each other: A and B of the comparison, step laid on step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from powertui import units
from powertui.data.compare.part import ComparedPart
from powertui.data.model import PowerOnTrace
from powertui.errors import PowertuiError, UsageError
from powertui.plain import plain
from powertui.screens.base import BaseScreen, bindings_for
from powertui.screens.compare_choices import ComparedRun
from powertui.screens.loader import training_model
from powertui.screens.moving import Moving
from powertui.terminal.theme import Theme
from powertui.value_types import dataclass
from powertui.view.laid_steps import LaidSteps
from powertui.view.navigation import Navigator
from powertui.view.time_navigation import State
from powertui.view.timeline_model import TimelineModel
from powertui.widgets.lines import LinesPane
from powertui.widgets.time_lane import fit_middle
from powertui.widgets.timeline import Timeline
from powertui.widgets.view import TimelineView

_SHOWN_STEPS = 10  # at first: enough to see what repeats, and one step is still wide


@dataclass(frozen=True, eq=False)
class _Side:
    """One of the two, ready to be drawn."""

    name: str
    model: TimelineModel
    power: Sequence[PowerOnTrace]
    bounds: tuple[int, int]


class PairScreen(Moving):
    """Moving one timeline moves the other."""

    NAME = "pair"
    BINDINGS: ClassVar[list[BindingType]] = [*BaseScreen.BINDINGS, *bindings_for("pair")]

    def __init__(self) -> None:
        super().__init__()
        self._sides: tuple[_Side, _Side] | None = None
        self._laid: LaidSteps | None = None
        self._is_following = False  # a move of one is being made with the other
        self._request: object = None
        self._asked: tuple[ComparedRun, ComparedRun] | None = None

    def body(self) -> ComposeResult:
        look = self.shell.look
        glyphs = self.shell.capabilities.glyphs
        yield Static("", id="waiting", markup=False)
        with Vertical(id="pair"):
            for side in "ab":
                yield LinesPane(theme=look, glyphs=glyphs, id=f"head-{side}")
                yield TimelineView(theme=look, glyphs=glyphs, id=f"side-{side}", with_legend=False)

    @property
    def _views(self) -> tuple[TimelineView, TimelineView]:
        return self.query_one("#side-a", TimelineView), self.query_one("#side-b", TimelineView)

    @property
    def timeline(self) -> Timeline:
        """The one that has the focus; A to begin with."""
        first, second = self._views
        if self.focused is second.timeline:
            return second.timeline
        return first.timeline

    def on_mount(self) -> None:
        for side, view in enumerate(self._views):
            view.timeline.run_budget = self.shell.gate.quality.runs
            view.timeline.listeners.append(partial(self._moved, side))
        for name in ("#head-a", "#head-b"):
            pane = self.query_one(name, LinesPane)
            pane.styles.height = 1
            pane.can_focus = False
        self.set_focus(self._views[0].timeline)
        self._ask()

    def lay(self, runs: tuple[ComparedRun, ComparedRun]) -> None:
        """Show these two from now on."""
        self._asked = runs
        self._sides = self._laid = None
        if self.is_mounted:
            self._ask()

    def _ask(self) -> None:
        """Index both and place their power, in a thread."""
        runs = self._asked
        if runs is None or self._sides is not None:
            return
        request = self._request = object()
        self._say_waiting("Reading both …")
        shell = self.shell

        def work() -> None:
            try:
                first, second = (_side(run.part()) for run in runs)
                bounds = first.bounds, second.bounds
                laid = LaidSteps((first.model, second.model), bounds)
            except PowertuiError as error:
                shell.from_thread(self._refused, request, str(error))
            else:
                shell.from_thread(
                    self._ready,
                    request,
                    (first, second),
                    laid,
                )

        shell.run_worker(
            work,
            thread=True,
            group="pair",
            exclusive=True,
        )

    def _say_waiting(self, words: str) -> None:
        waiting = self.query_one("#waiting", Static)
        waiting.update(words)
        waiting.display = bool(words)
        self.query_one("#pair").display = not words

    def _refused(self, request: object, why: str) -> None:
        if request is self._request and self.is_mounted:
            self._say_waiting(plain(why.replace("\n", "  ")))

    def _ready(
        self,
        request: object,
        sides: tuple[_Side, _Side],
        laid: LaidSteps,
    ) -> None:
        if request is not self._request or not self.is_mounted:
            return
        self._sides = sides
        self._laid = laid
        self._say_waiting("")
        for view, side in zip(self._views, sides, strict=True):
            view.show(side.model, side.power, keep=False)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """The first steps of A, and B below them."""
        if self._sides is None:
            return
        side = self._sides[0]
        steps = side.model.steps
        inside = (steps.start >= side.bounds[0]) & (steps.start < side.bounds[1])
        starts = steps.start[inside]
        ends = steps.ends()[inside]
        last = min(len(starts), _SHOWN_STEPS) - 1
        timeline = self._views[0].timeline
        timeline.move(
            Navigator.show_window,
            int(starts[0]),
            int(ends[: last + 1].max()),
        )
        timeline.move(Navigator.goto, int(starts[0]))
        if timeline.state is not None:
            self._moved(0, None, timeline.state)
        for view in self._views:
            view.use_free_rows()

    # ── one moves with the other ─────────────────────────────────────────────────────────────────

    def _moved(
        self,
        side: int,
        before: State | None,
        after: State,
    ) -> None:
        laid = self._laid
        if laid is None or self._is_following:
            return
        self._is_following = True
        try:
            # Laid on each other at the cursor where that is in sight, else in the middle.
            view = after.viewport
            anchor = after.cursor_ps
            if not view.shows(anchor):
                anchor = view.time(view.width // 2)
            by = laid.moved(anchor, side) - anchor
            window = after.window
            if window is not None:
                window = (laid.moved(window[0], side), laid.moved(window[1], side))
            other = self._views[1 - side].timeline
            other.move(
                Navigator.lay_on, view.rung, view.t0 + by, laid.moved(after.cursor_ps, side), window
            )
            self._show_heads(anchor, side)
        finally:
            self._is_following = False

    def _show_heads(self, ps: int, side: int) -> None:
        laid, sides = self._laid, self._sides
        if laid is None or sides is None:
            return
        style = self.shell.look.style
        for letter, one, words in zip("ab", sides, laid.words(ps, side), strict=True):
            model = one.model
            view = self._views["ab".index(letter)]
            cursor_ps = view.timeline.cursor_ps
            step = model.step_at(cursor_ps)
            took = ""
            if step is not None:
                took = f": {units.duration(step.duration)}"
            step_words = f"{words}{took}  "
            cells = max(10, self.size.width - len(step_words) - 6)
            # Epoch and host are at its end.
            name = fit_middle(
                plain(one.name),
                cells,
                view.ruler.glyphs.ellipsis,
            )
            pane = self.query_one(f"#head-{letter}", LinesPane)
            pane.set_lines(
                [
                    (
                        (f" {letter.upper()}  ", style("title")),
                        (step_words, style("text")),
                        (name, style("dim")),
                    )
                ]
            )

    def restyle(self, look: Theme) -> None:
        glyphs = self.shell.capabilities.glyphs
        for view in self._views:
            view.restyle(look, glyphs)
        for name in ("#head-a", "#head-b"):
            self.query_one(name, LinesPane).restyle(look, glyphs)

    def step(self, direction: int) -> None:
        self.timeline.move(Navigator.next_step, direction)

    def back(self) -> bool:
        """Give up the window, then what is selected."""
        return bool(self.timeline.move(Navigator.clear))

    def action_fold(self) -> None:
        """Unfold the row under the cursor."""
        self.timeline.move(Navigator.fold)

    def action_profile_next(self) -> None:
        """Profiles of a training are turned in its own timeline."""
        self.say("The two timelines show the profiles that are compared. 2 shows the training.")

    def useful(self) -> Iterable[str | tuple[str, str]]:
        yield from (("zoom-in+zoom-out", "zoom both"), ("pan-left+pan-right", "pan both"))
        yield "step-previous+step-next", "step"
        yield "pane-next", "the other timeline"


def _side(part: ComparedPart) -> _Side:
    """Index and power of one side, its leading host; for a thread."""
    lead = part.lead
    if lead is None:
        raise UsageError(f"{plain(part.name, 80)} holds no profile.")
    opened = part.opened
    index = lead.profile.index
    model = opened.cached(("model", index), lambda: TimelineModel.from_run(opened.run, index))
    placed = training_model(
        opened,
        index,
        model,
        part.aligning,
    )
    model = placed.model or model
    return _Side(
        name=part.name,
        model=model,
        power=placed.power,
        bounds=lead.bounds,
    )

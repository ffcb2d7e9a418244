"""Where a person is in a timeline, and how the keys of time move them: a state that never changes,
and a navigator that replaces it.

No terminal and no drawing: the widget compares the states before and after, redraws what differs,
and tells others.
"""

from __future__ import annotations

from dataclasses import replace

from powertui.data.search import Hits
from powertui.value_types import dataclass
from powertui.view.timeline_model import Selected, TimelineModel
from powertui.view.timeline_rows import NO_FOLDS, Folds, Row
from powertui.view.viewport import FACTOR_TWO, Viewport


@dataclass(frozen=True)
class State:
    """Everything that decides what a timeline shows."""

    viewport: Viewport
    cursor_ps: int
    cursor_row: int = 0
    selection: Selected | None = None
    window: tuple[int, int] | None = None  # the marked stretch of time
    mark: int | None = None  # where a window was opened that is not closed yet
    folds: Folds = NO_FOLDS
    hits: Hits | None = None
    hit: int | None = None  # number of the hit that n and N came to


class TimeNavigator:
    """The stretch of time in sight, and the moment of the cursor; both stay inside the run."""

    def __init__(
        self,
        model: TimelineModel,
        width: int,
        height: int,
        state: State | None = None,
    ) -> None:
        self.model = model
        # False until the size of the screen is known: then the cursor goes to the middle
        self._placed = state is not None
        if state is None:
            all_time = Viewport.whole_of(model.span, width, height)
            state = State(all_time.fit(*model.home), model.home[0])
        self._rows: tuple[Folds, tuple[Row, ...]] | None = None
        # what is to be shown as soon as the size of the screen is known
        self._postponed_window: tuple[int, int] | None = None
        self._before_profile: Viewport | None = None  # what was in sight before the first profile
        self.state = state
        self.resize(width, height)

    @property
    def rows(self) -> tuple[Row, ...]:
        folds = self.state.folds
        if self._rows is None or self._rows[0] != folds:
            self._rows = (folds, self.model.rows(folds))
        return self._rows[1]

    @property
    def viewport(self) -> Viewport:
        return self.state.viewport

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        number = self.state.cursor_row
        if 0 <= number < len(self.rows):
            return self.rows[number]
        return None

    def _set(self, viewport: Viewport | None = None, **changes: object) -> None:
        if changes:
            self.state = replace(self.state, **changes)  # type: ignore[arg-type]
        if viewport is not None:
            self.state = replace(self.state, viewport=viewport)

    def resize(self, width: int, height: int) -> None:
        was_home = self._at_home or not self._placed
        view = self.viewport.resized(width, height)
        if was_home:
            view = view.fit(*self.model.home)
        self._set(view)
        if not self._placed and width > 1:
            self._placed = True
            self._set(cursor_ps=self._middle)
            if self._postponed_window is not None:
                self.show_window(*self._postponed_window)
        self._keep_cursor_in_sight()

    @property
    def _middle(self) -> int:
        """Where the cursor stands before anybody moves it."""
        view = self.viewport
        home_lo, home_hi = self.model.home
        lo = max(view.t0, home_lo)
        hi = min(view.t1, home_hi)
        return self._clamp((lo + hi) // 2)

    @property
    def _at_home(self) -> bool:
        """Whether the view is still the first one: it stays so while the run is read and the window
        changes its size.
        """
        return self.viewport == self.viewport.fit(*self.model.home)

    def move_to(self, model: TimelineModel, by: int) -> None:
        """Another profile of the same training, whose zero lies `by` ps after the one before: the
        same stretch stays in sight.
        """
        state = self.state
        view = state.viewport
        showed_all = view == view.whole()
        untouched = showed_all and self._placed and state.cursor_ps == self._middle
        self.model = model
        self._rows = None
        window = state.window
        if window is not None:
            window = (window[0] - by, window[1] - by)
        mark = state.mark
        if mark is not None:
            mark -= by
        if self._before_profile is not None:
            self._before_profile = _shifted(
                self._before_profile,
                model.span,
                by,
            )
        if showed_all:
            view = view.on(model.span).whole()
        else:
            view = _shifted(view, model.span, by)
        cursor_ps = self._clamp(state.cursor_ps - by)
        self.state = State(
            view,
            cursor_ps,
            window=window,
            mark=mark,
            folds=state.folds,
        )
        if untouched:
            self._set(cursor_ps=self._middle)
        self._keep_cursor_in_sight()

    # ── profiles ──────────────────────────────────────────────────────────────────────────────────

    def next_profile(self, direction: int) -> int | None:
        """Show the next profile of the training (or the one before); its number, None where there
        is none.
        """
        surroundings = self.model.surroundings
        if surroundings is None or not surroundings.profiles:
            if len(self.model.tracks):
                self.show_window(*self.model.profiled)
            return None
        number = surroundings.profile_beside(self.state.cursor_ps, direction)
        assert number is not None
        profile = surroundings.profiles[number]
        if self._before_profile is None:
            self._before_profile = self.viewport
        view = self.viewport.fit(profile.lo, profile.hi + 1)
        self._set(view, cursor_ps=self._clamp(profile.lo), selection=None)
        return number

    def leave_profile(self) -> None:
        """Back to what was in sight before a profile was gone to; else the whole training."""
        view = self.viewport
        before = self._before_profile
        self._before_profile = None
        if before is None or (before.rung, before.cell0) == (view.rung, view.cell0):
            self.whole()
            return
        resized = before.resized(view.width, view.height)
        back = replace(resized, span=self.model.span, row0=view.row0)
        self._set(back.pan(0))  # kept inside the run, which may have grown

    # ── the view ──────────────────────────────────────────────────────────────────────────────────

    def pan(self, cells: int) -> None:
        """Move the view; the cursor keeps its column, so that a zoom afterwards stays where one
        looks.
        """
        view = self.viewport
        moved = view.pan(cells)
        shift_ps = moved.t0 - view.t0
        cursor_ps = self._clamp(self.state.cursor_ps + shift_ps)
        self._set(moved, cursor_ps=cursor_ps)

    def zoom(self, rungs: int = FACTOR_TWO, column: int | None = None) -> None:
        """Zoom at a column, else at the cursor, else (the cursor is out of sight) in the middle."""
        view = self.viewport
        cursor_ps = self.state.cursor_ps
        if column is not None:
            anchor_ps = view.time(column) + view.cell_ps // 2
        elif view.shows(cursor_ps):
            anchor_ps = cursor_ps
        else:
            anchor_ps = view.time(view.width // 2)
        self._set(view.zoom(rungs, anchor_ps))

    def whole(self) -> None:
        self._set(self.viewport.whole())

    def fit(self) -> None:
        """Show what is selected, else the marked window, else the step under the cursor."""
        state = self.state
        if state.selection is not None:
            lo, hi = self.model.extent(state.selection)
        elif state.window is not None:
            lo, hi = state.window
        else:
            step = self.model.step_at(state.cursor_ps)
            if step is None:
                return
            lo = step.start
            hi = max(step.end, lo + 1)
        self.show_window(lo, hi, margin=True)

    def show_window(
        self,
        lo: int,
        hi: int,
        *,
        margin: bool = False,
    ) -> None:
        """Show [lo, hi) as large as it goes; a single moment is only brought into sight."""
        if hi <= lo:
            self.goto(lo)
            return
        if not self._placed:
            self._postponed_window = (lo, hi)
        cursor_ps = self.state.cursor_ps
        if not lo <= cursor_ps < hi:
            cursor_ps = self._clamp(lo)
        self._set(self.viewport.fit(lo, hi, margin=margin), cursor_ps=cursor_ps)

    def goto(self, ps: int) -> None:
        ps = self._clamp(ps)
        self._set(self.viewport.reveal(ps), cursor_ps=ps)

    def lay_on(
        self,
        rung: int,
        start_ps: int,
        cursor_ps: int,
        window: tuple[int, int] | None,
    ) -> None:
        """Cells of this length from this moment on: as another timeline above or below shows them,
        also where this run has ended.
        """
        view = replace(self.viewport, rung=rung)
        nearest_cell = (start_ps + view.cell_ps // 2) // view.cell_ps
        self._set(
            replace(view, cell0=nearest_cell),
            cursor_ps=self._clamp(cursor_ps),
            window=window,
        )

    def start(self) -> None:
        self.goto(self.model.span[0])

    def end(self) -> None:
        self.goto(self.model.span[1] - 1)

    def scroll(self, rows: int) -> None:
        """Move the rows under the screen; the cursor comes along only when it would leave."""
        row_count = len(self.rows)
        first_row = self.viewport.row0 + rows
        view = self.viewport.scrolled(first_row, row_count)
        self._set(view)
        last_visible = min(view.row0 + view.height, row_count) - 1
        row = max(self.state.cursor_row, view.row0)
        row = min(row, last_visible)
        self._set(cursor_row=max(0, row))

    def _shows_end(self) -> bool:
        """Whether the view is the end of a run, and not all of it: what comes is then followed."""
        view = self.viewport
        begin_ps, end_ps = self.model.span
        return view.t1 >= end_ps > view.t0 > begin_ps

    def next_step(self, direction: int) -> None:
        step = self.model.step_near(self.state.cursor_ps, direction)
        if step is not None:
            self._go_moment(step.start)

    def next_epoch(self, direction: int) -> None:
        starts = self.model.epoch_starts
        cursor_ps = self.state.cursor_ps
        if direction > 0:
            later = starts[starts > cursor_ps]
            if len(later):
                self._go_moment(int(later.min()))
        else:
            earlier = starts[starts < cursor_ps]
            if len(earlier):
                self._go_moment(int(earlier.max()))

    def _go_moment(self, ps: int, selected: Selected | None = None) -> None:
        """To a moment, and to the event that begins there; without one nothing is selected."""
        self._set(
            self.viewport.reveal(ps),
            cursor_ps=self._clamp(ps),
            selection=selected,
        )

    # ── windows ───────────────────────────────────────────────────────────────────────────────────

    def mark(self) -> None:
        """Open a window at the cursor; the second time, close it: what is under the cursor at
        either time belongs to it, a step as a whole.
        """
        mark = self.state.mark
        start, end = self._stretch_at(self.state.cursor_ps)
        if mark is None:
            self._set(mark=start, window=None)
            return
        mark_start, mark_end = self._stretch_at(mark)
        self.set_window(min(mark_start, start), max(mark_end, end))

    def _stretch_at(self, ps: int) -> tuple[int, int]:
        """The step that begins at a moment, where `[` and `]` go, else the cell that holds it."""
        steps = self.model.steps
        row = int(steps.start.searchsorted(ps))
        if row < len(steps) and steps.start[row] == ps:
            end = int(steps.ends()[row])
            return ps, end
        cell_ps = self.viewport.cell_ps
        start = ps // cell_ps * cell_ps
        return start, start + cell_ps

    def set_window(self, lo: int, hi: int) -> None:
        start, end = self.model.span
        first = max(min(lo, hi), start)
        last = min(max(lo, hi), end)
        window = None
        if first < last:
            window = (first, last)
        self._set(window=window, mark=None)

    # ── the parts of these ────────────────────────────────────────────────────────────────────────

    def _clamp(self, ps: int) -> int:
        start, end = self.model.span
        return min(max(ps, start), end - 1)

    def _keep_cursor_in_sight(self) -> None:
        rows = len(self.rows)
        row = self._existing_row(self.state.cursor_row)
        view = self.viewport
        min_row0 = row - view.height + 1
        row0 = min(max(view.row0, min_row0), row)
        self._set(view.scrolled(row0, rows), cursor_row=row)

    def _existing_row(self, row: int) -> int:
        """The row of this number, else the nearest that there is."""
        last = max(0, len(self.rows) - 1)
        return min(max(0, row), last)


def _shifted(view: Viewport, span: tuple[int, int], by: int) -> Viewport:
    """The same stretch by an axis whose zero lies `by` ps later."""
    start_ps = view.t0 - by
    half_cell_ps = view.cell_ps // 2
    nearest_cell = (start_ps + half_cell_ps) // view.cell_ps
    shifted = replace(view, span=span, cell0=nearest_cell)
    return shifted.pan(0)

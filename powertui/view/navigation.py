"""Where a person is in a timeline, and how every key moves them. A state that never changes, and a
Navigator that replaces it.

No terminal and no drawing: the widget compares the states before and after, redraws what differs,
and tells others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.search import Hits
from powertui.value_types import dataclass
from powertui.view.timeline_model import Selected, TimelineModel
from powertui.view.timeline_rows import NO_FOLDS, Folds, Row, RowKind
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


class Navigator:
    """Keeps the state of one model in order: the cursor on a row that exists, the view inside the
    run.
    """

    def __init__(
        self, model: TimelineModel, width: int, height: int, state: State | None = None
    ) -> None:
        self.model = model
        self._placed = (
            state is not None
        )  # False until the size of the screen is known: then the cursor goes to the middle
        if state is None:
            state = State(
                Viewport.whole_of(model.span, width, height).fit(*model.home), model.home[0]
            )
        self._rows: tuple[Folds, tuple[Row, ...]] | None = None
        self._wanted: tuple[int, int] | None = (
            None  # what is to be shown as soon as the size of the screen is known
        )
        self._before: Viewport | None = None  # what was in sight before a profile was gone to
        self.state = state
        self.resize(width, height)

    @property
    def rows(self) -> tuple[Row, ...]:
        if self._rows is None or self._rows[0] != self.state.folds:
            self._rows = (self.state.folds, self.model.rows(self.state.folds))
        return self._rows[1]

    @property
    def viewport(self) -> Viewport:
        return self.state.viewport

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return (
            self.rows[self.state.cursor_row]
            if 0 <= self.state.cursor_row < len(self.rows)
            else None
        )

    def _set(self, viewport: Viewport | None = None, **changes: object) -> None:
        state = replace(self.state, **changes) if changes else self.state  # type: ignore[arg-type]
        self.state = state if viewport is None else replace(state, viewport=viewport)

    def replace_model(self, model: TimelineModel) -> None:
        """A trace that has grown, or another one: keep the place, drop what may not exist
        any more.
        """
        same = model.trace is self.model.trace
        selected = self.state.selection if same else self._same_event(model)
        row = self.row
        at_home = self._at_home
        untouched = at_home and self._placed and self.state.cursor_ps == self._middle
        at_end = (
            same and self.viewport.t1 >= self.model.span[1] > self.viewport.t0 > self.model.span[0]
        )
        self.model = model
        self._rows = None
        cursor = self._clamp(self.state.cursor_ps)
        view = self.viewport.on(model.span)
        if at_end:  # a training that goes on is followed from its end
            view = view.pan(view.width + -(-(model.span[1] - view.t1) // view.cell_ps))
        self._set(view.fit(*model.home) if at_home else view, selection=selected, cursor_ps=cursor)
        if untouched:  # what comes when, while a run is read, makes no difference
            self._set(cursor_ps=self._middle)
        if not same:
            self._set(hits=None, hit=None)
        where = next(
            (
                i
                for i, r in enumerate(self.rows)
                if row and (r.kind, r.label, r.depth) == (row.kind, row.label, row.depth)
            ),
            0,
        )
        self._go_row(where)

    def _same_event(self, model: TimelineModel) -> Selected | None:
        selected = self.state.selection
        if selected is None:
            return None
        was = self.model.tracks[selected.track]
        same = next((info for info in model.tracks if info.id == was.id), None)
        if same is None:
            return None
        start = int(was.track.events.start[selected.row])
        name = self.model.trace.names.full(int(was.track.events.name[selected.row]))
        rows = np.flatnonzero(same.track.events.start == start)
        for row in rows.tolist():
            if model.trace.names.full(int(same.track.events.name[row])) == name:
                return Selected(same.number, row)
        return None

    # ── the view ─────────────────────────────────────────────────────────────────────────────────

    def resize(self, width: int, height: int) -> None:
        at_home = self._at_home or not self._placed
        view = self.viewport.resized(width, height)
        if at_home:
            view = view.fit(*self.model.home)
        self._set(view)
        if not self._placed and width > 1:
            self._placed = True
            self._set(cursor_ps=self._middle)
            if self._wanted is not None:
                self.show_window(*self._wanted)
        self._keep_cursor_in_sight()

    @property
    def _middle(self) -> int:
        """Where the cursor stands before anybody moves it."""
        view, (lo, hi) = self.viewport, self.model.home
        return self._clamp((max(view.t0, lo) + min(view.t1, hi)) // 2)

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
        was_whole = view == view.whole()
        untouched = was_whole and self._placed and state.cursor_ps == self._middle
        self.model = model
        self._rows = None
        window = (state.window[0] - by, state.window[1] - by) if state.window else None
        if self._before is not None:
            self._before = _shifted(self._before, model.span, by)
        self.state = State(
            view.on(model.span).whole() if was_whole else _shifted(view, model.span, by),
            self._clamp(state.cursor_ps - by),
            window=window,
            mark=None if state.mark is None else state.mark - by,
            folds=state.folds,
        )
        if untouched:
            self._set(cursor_ps=self._middle)
        self._keep_cursor_in_sight()

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
        if self._before is None:
            self._before = self.viewport
        self._set(
            self.viewport.fit(profile.lo, profile.hi + 1),
            cursor_ps=self._clamp(profile.lo),
            selection=None,
        )
        return number

    def leave_profile(self) -> None:
        """Back to what was in sight before a profile was gone to; else the whole training."""
        before = self._before
        self._before = None
        if before is None or (before.rung, before.cell0) == (
            self.viewport.rung,
            self.viewport.cell0,
        ):
            self.whole()
            return
        view = self.viewport
        self._set(
            replace(
                before.resized(view.width, view.height), span=self.model.span, row0=view.row0
            ).pan(0)
        )

    def pan(self, cells: int) -> None:
        """Move the view; the cursor keeps its column, so that a zoom afterwards stays where one
        looks.
        """
        view = self.viewport
        moved = view.pan(cells)
        shift = moved.t0 - view.t0
        self._set(moved, cursor_ps=self._clamp(self.state.cursor_ps + shift))

    def zoom(self, rungs: int = FACTOR_TWO, column: int | None = None) -> None:
        """Zoom at a column, else at the cursor, else (the cursor is out of sight) in the middle."""
        view = self.viewport
        if column is not None:
            anchor = view.time(column) + view.cell_ps // 2
        elif view.shows(self.state.cursor_ps):
            anchor = self.state.cursor_ps
        else:
            anchor = view.time(view.width // 2)
        self._set(view.zoom(rungs, anchor))

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
            hi = max(step.end, step.start + 1)
        self.show_window(lo, hi, margin=True)

    def show_window(self, lo: int, hi: int, *, margin: bool = False) -> None:
        """Show [lo, hi) as large as it goes; a single moment is only brought into sight."""
        if hi <= lo:
            self.goto(lo)
            return
        if not self._placed:
            self._wanted = (lo, hi)
        view = self.viewport.fit(lo, hi, margin=margin)
        cursor = self.state.cursor_ps
        self._set(view, cursor_ps=cursor if lo <= cursor < hi else self._clamp(lo))

    def goto(self, ps: int) -> None:
        ps = self._clamp(ps)
        self._set(self.viewport.reveal(ps), cursor_ps=ps)

    def start(self) -> None:
        self.goto(self.model.span[0])

    def end(self) -> None:
        self.goto(self.model.span[1] - 1)

    def scroll(self, rows: int) -> None:
        """Move the rows under the screen; the cursor comes along only when it would leave."""
        self._set(self.viewport.scrolled(self.viewport.row0 + rows, len(self.rows)))
        view = self.viewport
        row = min(
            max(self.state.cursor_row, view.row0), view.row0 + view.height - 1, len(self.rows) - 1
        )
        self._set(cursor_row=max(0, row))

    def _clamp(self, ps: int) -> int:
        return min(max(ps, self.model.span[0]), self.model.span[1] - 1)

    def _keep_cursor_in_sight(self) -> None:
        rows = len(self.rows)
        row = min(max(0, self.state.cursor_row), max(0, rows - 1))
        view = self.viewport
        row0 = min(max(view.row0, row - view.height + 1), row)
        self._set(view.scrolled(row0, rows), cursor_row=row)

    # ── the cursor ───────────────────────────────────────────────────────────────────────────────

    def under(self, row: int, column: int) -> Selected | None:
        """The event that stands in a cell: the one that it is painted after."""
        if not 0 <= row < len(self.rows) or not 0 <= column < self.viewport.width:
            return None
        lanes = self.rows[row].lanes
        if not lanes:
            return None
        edges = np.array([self.viewport.time(column), self.viewport.time(column + 1)], np.int64)
        frame = self.model.forest.summary(edges, lanes)
        if frame.dominant[0, 0] < 0:
            return None
        return Selected(
            self.model.forest.lanes[lanes[int(frame.lane[0, 0])]].track, int(frame.dominant[0, 0])
        )

    def _standing(self) -> Selected | None:
        """The selected event, as long as the cursor stands on it: whoever went elsewhere moves on
        from there.
        """
        selected = self.state.selection
        if selected is None:
            return None
        lo, hi = self.model.extent(selected)
        cell = self.viewport.cell_ps
        return (
            selected
            if lo // cell <= self.state.cursor_ps // cell <= max(lo, hi - 1) // cell
            else None
        )

    def _go_row(self, row: int) -> None:
        self._set(cursor_row=row)
        self._keep_cursor_in_sight()

    def go_process(self, process: int) -> None:
        """To the heading of a process, unfolded."""
        name = self.model.trace.processes[process].name
        if name in self.state.folds.processes:
            self._set(folds=self.state.folds.toggled_process(name))
        for number, row in enumerate(self.rows):
            if row.process == process:
                self._go_row(number)
                return

    def move_track(self, by: int) -> None:
        """The next row; the selection is what stands at the cursor there."""
        self._go_row(min(max(0, self.state.cursor_row + by), max(0, len(self.rows) - 1)))
        view = self.viewport
        if not view.shows(self.state.cursor_ps):
            self._set(cursor_ps=self._clamp(view.time(view.width // 2)))
        self._set(selection=self.under(self.state.cursor_row, view.column(self.state.cursor_ps)))

    def move_time(self, cells: int) -> None:
        """The cursor by so many cells along its row."""
        ps = self._clamp(self.viewport.time(self.viewport.column(self.state.cursor_ps) + cells))
        self._set(self.viewport.reveal(ps), cursor_ps=ps)
        self._set(selection=self.under(self.state.cursor_row, self.viewport.column(ps)))

    def move_event(self, direction: int) -> None:
        """The next or previous event of the lane under the cursor; on a row without events, one
        cell.
        """
        row = self.row
        if row is None or row.kind is not RowKind.LANE:
            self.move_time(direction)
            return
        lane = row.lanes[0]
        selected = self._standing()
        if selected is not None and self.model.lane_of(selected) == lane:
            track = self.model.tracks[selected.track].track
            depth = track.depth_of(selected.row)
            beside = selected.row + direction
            if int(track.lanes[depth]) <= beside < int(track.lanes[depth + 1]):
                self._take(Selected(selected.track, beside))
            return
        here = self.under(self.state.cursor_row, self.viewport.column(self.state.cursor_ps))
        if here is not None:
            self._take(here)
            return
        event = self.model.forest.step(lane, self.state.cursor_ps, direction)
        if event is not None:
            self._take(Selected(row.track, event))

    def next_event(self, direction: int) -> None:
        """The next or previous event of the track by start, whatever its lane."""
        row = self.row
        if row is None or row.track < 0:
            self.move_event(direction)
            return
        track = self.model.tracks[row.track].track
        selected = self._standing()
        if selected is not None and selected.track != row.track:
            selected = None
        if selected is not None:
            ps = int(track.events.start[selected.row])
        else:  # what starts in the cursor's own cell is still ahead, in both directions
            cell = self.state.cursor_ps // self.viewport.cell_ps
            ps = self.viewport.cell_ps * (cell + (direction < 0)) - (direction > 0)
        selected_depth = track.depth_of(selected.row) if selected is not None else -1
        best: tuple[int, int, int] | None = None
        for depth in range(track.lane_count):
            if selected is not None and depth == selected_depth:
                beside = selected.row + direction
                event = (
                    beside
                    if int(track.lanes[depth]) <= beside < int(track.lanes[depth + 1])
                    else None
                )
            else:
                # Of those that start together the outermost comes first: a deeper lane's is still
                # ahead.
                together = selected is not None and (depth - selected_depth) * direction > 0
                event = self.model.forest.step(
                    self.model.forest.lane_number(row.track, depth),
                    ps - direction * together,
                    direction,
                )
            if event is not None:
                key = (direction * int(track.events.start[event]), direction * depth, event)
                best = key if best is None or key < best else best
        if best is not None:
            self.select(row.track, best[2])

    def next_step(self, direction: int) -> None:
        step = self.model.step_near(self.state.cursor_ps, direction)
        if step is not None:
            self._set(
                self.viewport.reveal(step.start), cursor_ps=self._clamp(step.start), selection=None
            )

    def next_epoch(self, direction: int) -> None:
        starts = self.model.epoch_starts
        ahead = starts[
            starts > self.state.cursor_ps if direction > 0 else starts < self.state.cursor_ps
        ]
        if len(ahead):
            ps = int(ahead.min() if direction > 0 else ahead.max())
            self._set(self.viewport.reveal(ps), cursor_ps=self._clamp(ps), selection=None)

    # ── the selection ────────────────────────────────────────────────────────────────────────────

    def _take(self, selected: Selected) -> None:
        start, _ = self.model.extent(selected)
        self._set(self.viewport.reveal(start), cursor_ps=self._clamp(start), selection=selected)

    def select(self, track: int, row: int, *, reveal: bool = True) -> None:
        """Select an event; unfold what hides it, and bring it into sight."""
        selected = Selected(track, row)
        if not reveal:
            self._set(selection=selected)
            return
        lane = self.model.lane_of(selected)
        info = self.model.tracks[track]
        for _ in range(3):
            where = next(
                (i for i, r in enumerate(self.rows) if r.kind is RowKind.LANE and lane in r.lanes),
                None,
            )
            if where is not None:
                break
            self._unfold_for(info.process.name, info.id, track)
        self._take(selected)
        if where is not None:
            self._go_row(where)

    def _unfold_for(self, process: str, track_id: str, track: int) -> None:
        """One step of unfolding towards a lane that has no row."""
        folds = self.state.folds
        if process in folds.processes:
            self._set(folds=folds.toggled_process(process))
        elif any(r.track == track for r in self.rows):
            self._set(folds=folds.with_track(track_id, opened=True))
        elif process not in folds.quiet:
            self._set(folds=folds.toggled_quiet(process))

    def click(self, row: int, column: int) -> None:
        """What a pointer means: the cursor there, and what stands there selected."""
        if not 0 <= row < len(self.rows):
            return
        self._set(
            cursor_ps=self._clamp(self.viewport.time(column)), selection=self.under(row, column)
        )
        self._go_row(row)

    def clear(self) -> bool:
        """Take back the newest thing: an open mark, the window, the search, the selection.

        False when there is none.
        """
        state = self.state
        if state.mark is not None:
            self._set(mark=None)
        elif state.window is not None:
            self._set(window=None)
        elif state.hits is not None:
            self._set(hits=None, hit=None)
        elif state.selection is not None:
            self._set(selection=None)
        else:
            return False
        return True

    def mark(self) -> None:
        """Open a window at the cursor; the second time, close it: both cells belong to it."""
        cell = self.viewport.cell_ps
        here = self.state.cursor_ps // cell * cell
        if self.state.mark is None:
            self._set(mark=here, window=None)
        else:
            lo, hi = sorted((self.state.mark, here))
            self.set_window(lo, hi + cell)

    def set_window(self, lo: int, hi: int) -> None:
        lo, hi = max(min(lo, hi), self.model.span[0]), min(max(lo, hi), self.model.span[1])
        self._set(window=(lo, hi) if hi > lo else None, mark=None)

    # ── folding ──────────────────────────────────────────────────────────────────────────────────

    def fold(self) -> None:
        """Fold or unfold the row under the cursor."""
        row = self.row
        if row is None:
            return
        process = self.model.trace.processes[row.process].name
        folds = self.state.folds
        if row.kind is RowKind.PROCESS:
            folds = folds.toggled_process(process)
        elif row.kind is RowKind.MORE:
            folds = folds.toggled_quiet(process)
        else:
            head = next(r for r in self.rows if r.track == row.track)
            folds = folds.with_track(self.model.tracks[row.track].id, opened=bool(head.folded))
        self._set(folds=folds)
        same = [
            i
            for i, r in enumerate(self.rows)
            if (r.kind, r.process, r.track) == (row.kind, row.process, row.track)
        ]
        self._go_row(same[0] if same else self.state.cursor_row)

    def set_room(self, rows: int) -> None:
        """So many rows would fit: what is folded only for want of room opens.

        The cursor stays on its row.
        """
        if rows == self.state.folds.room:
            return
        row = self.row
        self._set(folds=replace(self.state.folds, room=rows))
        self._go_row(self._row_like(row))

    def _row_like(self, row: Row | None) -> int:
        """Where a row stands that was there under other folds: the same lane, else its track, else
        its process.
        """
        if row is None:
            return 0
        for same in (
            lambda r: (
                (r.kind, r.process, r.track, r.depth)
                == (row.kind, row.process, row.track, row.depth)
            ),
            lambda r: row.track >= 0 and r.track == row.track,
            lambda r: r.process == row.process,
        ):
            number = next((i for i, r in enumerate(self.rows) if same(r)), None)
            if number is not None:
                return number
        return 0

    def fold_all(self, folded: bool) -> None:
        """Every process folded to one row, or all open as at the start."""
        names = (
            frozenset(process.name for process in self.model.trace.processes)
            if folded
            else frozenset()
        )
        row = self.row
        self._set(folds=replace(self.state.folds, processes=names))
        same = [i for i, r in enumerate(self.rows) if row is not None and r.process == row.process]
        self._go_row(same[0] if same else 0)

    # ── the search ───────────────────────────────────────────────────────────────────────────────

    def set_hits(self, hits: Hits | None) -> None:
        self._set(hits=hits, hit=None)

    def next_hit(self, direction: int) -> bool:
        """The next or previous hit from the cursor, around the end. False when there is none."""
        hits = self.state.hits
        if hits is None or not len(hits):
            return False
        selected = self._standing()
        hit = None
        if selected is not None:
            start, _ = self.model.extent(selected)
            hit = hits.step(start, direction, selected.track, selected.row)
        else:
            hit = hits.step(self.state.cursor_ps, direction)
        if hit is None:
            return False
        self.select(hit.track, hit.row)
        self._set(hit=hit.number)
        return True


def _shifted(view: Viewport, span: tuple[int, int], by: int) -> Viewport:
    """The same stretch by an axis whose zero lies `by` ps later."""
    return replace(view, span=span, cell0=(view.t0 - by + view.cell_ps // 2) // view.cell_ps).pan(0)

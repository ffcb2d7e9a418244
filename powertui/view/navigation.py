"""How every key moves a person in a timeline: among rows and events, to what is selected, marked,
folded or searched for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from powertui.data.model import Track
from powertui.data.search import Hits
from powertui.view.time_navigation import TimeNavigator
from powertui.view.timeline_model import Selected, TimelineModel
from powertui.view.timeline_rows import Row, RowKind


class Navigator(TimeNavigator):
    """Keeps the state of one model in order: the cursor on a row that exists, the view inside the
    run.
    """

    def replace_model(self, model: TimelineModel) -> None:
        """A trace that has grown, or another one: keep the place, drop what may not exist
        any more.
        """
        # First what depends on the model before.
        is_same_trace = model.trace is self.model.trace
        if is_same_trace:
            selected = self.state.selection
        else:
            selected = self._same_event(model)
        row = self.row
        is_at_home = self._at_home
        is_cursor_in_middle = self._placed and self.state.cursor_ps == self._middle
        follows_end = is_same_trace and self._shows_end()
        self.model = model
        self._rows = None
        cursor_ps = self._clamp(self.state.cursor_ps)
        view = self.viewport.on(model.span)
        if follows_end:
            view = view.at_end()
        if is_at_home:
            view = view.fit(*model.home)
        self._set(view, selection=selected, cursor_ps=cursor_ps)
        if is_at_home and is_cursor_in_middle:
            # In the middle of a run that grew while it was read, whatever part came last.
            self._set(cursor_ps=self._middle)
        if not is_same_trace:
            self._set(hits=None, hit=None)
        # Numbers of processes and tracks may differ: rows are recognized by what is written there.
        same_row = None
        if row is not None:
            text = (row.kind, row.label, row.depth)
            same_row = self._find_row(lambda r: (r.kind, r.label, r.depth) == text)
        self._go_row(same_row or 0)

    def _find_row(self, is_match: Callable[[Row], bool]) -> int | None:
        """The number of the first row that matches."""
        for number, row in enumerate(self.rows):
            if is_match(row):
                return number
        return None

    def _same_event(self, model: TimelineModel) -> Selected | None:
        """The event of another model that has the place and the name of the selected one."""
        selected = self.state.selection
        if selected is None:
            return None
        info_before = self.model.tracks[selected.track]
        same_track = None
        for info in model.tracks:
            if info.id == info_before.id:
                same_track = info
                break
        if same_track is None:
            return None
        events_before = info_before.track.events
        start_ps = int(events_before.start[selected.row])
        name_number = int(events_before.name[selected.row])
        name = self.model.trace.names.full(name_number)
        events = same_track.track.events
        for row in np.flatnonzero(events.start == start_ps).tolist():
            if model.trace.names.full(int(events.name[row])) == name:
                return Selected(same_track.number, row)
        return None

    # ── the cursor ────────────────────────────────────────────────────────────────────────────────

    def under(self, row: int, column: int) -> Selected | None:
        """The event of a cell: the one that the cell has its color from, of all that are in it."""
        view = self.viewport
        is_in_sight = 0 <= row < len(self.rows) and 0 <= column < view.width
        if not is_in_sight:
            return None
        lanes = self.rows[row].lanes
        if not lanes:
            return None
        forest = self.model.forest
        cell_edges = [view.time(column), view.time(column + 1)]
        frame = forest.summary(np.array(cell_edges, np.int64), lanes)
        event = int(frame.dominant[0, 0])
        if event < 0:
            return None
        busiest = int(frame.lane[0, 0])
        lane = lanes[busiest]
        return Selected(forest.lanes[lane].track, event)

    def _selected_at_cursor(self) -> Selected | None:
        """The selected event, as long as the cursor stands on it: whoever went elsewhere moves on
        from there.
        """
        selected = self.state.selection
        if selected is None:
            return None
        lo, hi = self.model.extent(selected)
        cell_ps = self.viewport.cell_ps
        first_cell = lo // cell_ps
        last_cell = max(lo, hi - 1) // cell_ps
        if first_cell <= self.state.cursor_ps // cell_ps <= last_cell:
            return selected
        return None

    def _go_row(self, row: int) -> None:
        self._set(cursor_row=row)
        self._keep_cursor_in_sight()

    def go_process(self, process: int) -> None:
        """To the heading of a process, unfolded."""
        folds = self.state.folds
        name = self.model.trace.processes[process].name
        if name in folds.processes:
            self._set(folds=folds.toggled_process(name))
        row = self._row_of_process(process)
        if row is not None:
            self._go_row(row)

    def _row_of_process(self, process: int) -> int | None:
        return self._find_row(lambda row: row.process == process)

    def move_track(self, by: int) -> None:
        """The next row; the selection is what stands at the cursor there."""
        row = self._existing_row(self.state.cursor_row + by)
        self._go_row(row)
        view = self.viewport
        if not view.shows(self.state.cursor_ps):
            middle_ps = view.time(view.width // 2)
            self._set(cursor_ps=self._clamp(middle_ps))
        self._select_under_cursor()

    def _select_under_cursor(self) -> None:
        state = self.state
        column = self.viewport.column(state.cursor_ps)
        self._set(selection=self.under(state.cursor_row, column))

    def move_time(self, cells: int) -> None:
        """The cursor by so many cells along its row."""
        view = self.viewport
        column = view.column(self.state.cursor_ps)
        ps = self._clamp(view.time(column + cells))
        self._set(view.reveal(ps), cursor_ps=ps)
        self._select_under_cursor()

    def move_event(self, direction: int) -> None:
        """The next or previous event of the lane under the cursor; on a row without events, one
        cell. `next_event` goes through all lanes of the track.
        """
        row = self.row
        if row is None or row.kind is not RowKind.LANE:
            self.move_time(direction)
            return
        lane = row.lanes[0]
        selected = self._selected_at_cursor()
        if selected is not None and self.model.lane_of(selected) == lane:
            track = self.model.tracks[selected.track].track
            event = _event_beside(track, selected.row, direction)
            if event is not None:
                self._take(Selected(selected.track, event))
            return
        state = self.state
        column = self.viewport.column(state.cursor_ps)
        here = self.under(state.cursor_row, column)
        if here is not None:
            self._take(here)
            return
        event = self.model.forest.step(lane, state.cursor_ps, direction)
        if event is not None:
            self._take(Selected(row.track, event))

    def next_event(self, direction: int) -> None:
        """The next or previous event of the track by start, in all its lanes."""
        row = self.row
        if row is None or row.track < 0:
            self.move_event(direction)
            return
        selected = self._selected_at_cursor()
        if selected is not None and selected.track == row.track:
            event = self._event_after(selected, direction)
        else:
            # Searched from the edge of the cursor's cell that is behind: what starts in the cell
            # itself is still ahead, in both directions.
            cell_ps = self.viewport.cell_ps
            cell = self.state.cursor_ps // cell_ps
            if direction > 0:
                from_ps = cell * cell_ps - 1
            else:
                from_ps = (cell + 1) * cell_ps
            event = self._event_from(row.track, from_ps, direction)
        if event is not None:
            self.select(row.track, event)

    def _event_from(
        self,
        track_number: int,
        ps: int,
        direction: int,
    ) -> int | None:
        """The event of a track that starts next to a moment; of several the outermost."""
        track = self.model.tracks[track_number].track
        forest = self.model.forest
        candidates = []
        for depth in range(track.lane_count):
            lane = forest.lane_number(track_number, depth)
            event = forest.step(lane, ps, direction)
            if event is not None:
                candidates.append((depth, event))
        return _nearest_event(track, candidates, direction)

    def _event_after(self, selected: Selected, direction: int) -> int | None:
        """The event of a track that starts next to the selected one."""
        track = self.model.tracks[selected.track].track
        forest = self.model.forest
        selected_depth = track.depth_of(selected.row)
        start_ps = int(track.events.start[selected.row])
        candidates = []
        for depth in range(track.lane_count):
            if depth == selected_depth:
                event = _event_beside(track, selected.row, direction)
            else:
                # Of events that start together the outermost comes first: one in a deeper lane
                # (backward: less deep) is still ahead, and the search is to include its moment.
                is_tie_ahead = (depth - selected_depth) * direction > 0
                from_ps = start_ps
                if is_tie_ahead:
                    from_ps -= direction
                lane = forest.lane_number(selected.track, depth)
                event = forest.step(lane, from_ps, direction)
            if event is not None:
                candidates.append((depth, event))
        return _nearest_event(track, candidates, direction)

    # ── the selection ─────────────────────────────────────────────────────────────────────────────

    def _take(self, selected: Selected) -> None:
        start, _ = self.model.extent(selected)
        self._go_moment(start, selected)

    def select(
        self,
        track: int,
        row: int,
        *,
        reveal: bool = True,
    ) -> None:
        """Select an event; unfold what hides it, and bring it into sight."""
        selected = Selected(track, row)
        if not reveal:
            self._set(selection=selected)
            return
        lane = self.model.lane_of(selected)
        number = self._row_of_lane(lane)
        # A folded process, hidden tracks and a folded track: no lane is behind more than three.
        for _ in range(3):
            if number is not None:
                break
            self._unfold_for(track)
            number = self._row_of_lane(lane)
        self._take(selected)
        if number is not None:
            self._go_row(number)

    def _row_of_lane(self, lane: int) -> int | None:
        for number, row in enumerate(self.rows):
            if row.kind is RowKind.LANE and lane in row.lanes:
                return number
        return None

    def _unfold_for(self, track: int) -> None:
        """One step of unfolding towards a lane of a track that has no row."""
        info = self.model.tracks[track]
        process = info.process.name
        folds = self.state.folds
        has_row = any(row.track == track for row in self.rows)
        if process in folds.processes:
            unfolded = folds.toggled_process(process)
        elif has_row:
            unfolded = folds.with_track(info.id, opened=True)
        elif process not in folds.quiet:
            unfolded = folds.toggled_quiet(process)
        else:
            return
        self._set(folds=unfolded)

    def click(self, row: int, column: int) -> None:
        """What a pointer means: the cursor there, and what stands there selected."""
        if not 0 <= row < len(self.rows):
            return
        self._set(
            cursor_ps=self._clamp(self.viewport.time(column)),
            selection=self.under(row, column),
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

    # ── folding ───────────────────────────────────────────────────────────────────────────────────

    def fold(self) -> None:
        """Fold or unfold the row under the cursor."""
        row = self.row
        if row is None:
            return
        folds = self.state.folds
        process = self.model.trace.processes[row.process].name
        if row.kind is RowKind.PROCESS:
            folds = folds.toggled_process(process)
        elif row.kind is RowKind.MORE:
            folds = folds.toggled_quiet(process)
        else:
            head = next(r for r in self.rows if r.track == row.track)
            track_id = self.model.tracks[row.track].id
            folds = folds.with_track(track_id, opened=bool(head.folded))
        self._set(folds=folds)
        place = (row.kind, row.process, row.track)
        number = self._find_row(lambda r: (r.kind, r.process, r.track) == place)
        if number is None:
            number = self.state.cursor_row
        self._go_row(number)

    def set_room(self, rows: int) -> None:
        """So many rows would fit: what is folded only for want of room opens.

        The cursor stays on its row.
        """
        folds = self.state.folds
        if rows == folds.room:
            return
        row = self.row
        self._set(folds=replace(folds, room=rows))
        self._go_row(self._row_like(row))

    def _row_like(self, row: Row | None) -> int:
        """Where a row stands that was there under other folds: the same lane, else its track, else
        its process.
        """
        if row is None:
            return 0
        place = (row.kind, row.process, row.track, row.depth)
        number = self._find_row(lambda r: (r.kind, r.process, r.track, r.depth) == place)
        if number is None and row.track >= 0:
            number = self._find_row(lambda r: r.track == row.track)
        if number is None:
            number = self._row_of_process(row.process)
        return number or 0

    def fold_all(self, folded: bool) -> None:
        """Every process folded to one row, or all open as at the start."""
        names: frozenset[str] = frozenset()
        if folded:
            processes = self.model.trace.processes
            names = frozenset(process.name for process in processes)
        row = self.row
        self._set(folds=replace(self.state.folds, processes=names))
        number = None
        if row is not None:
            number = self._row_of_process(row.process)
        self._go_row(number or 0)

    # ── the search ────────────────────────────────────────────────────────────────────────────────

    def set_hits(self, hits: Hits | None) -> None:
        self._set(hits=hits, hit=None)

    def next_hit(self, direction: int) -> bool:
        """The next or previous hit from the cursor, around the end. False when there is none."""
        hits = self.state.hits
        if hits is None or not len(hits):
            return False
        selected = self._selected_at_cursor()
        if selected is None:
            hit = hits.step(self.state.cursor_ps, direction)
        else:
            start, _ = self.model.extent(selected)
            hit = hits.step(
                start,
                direction,
                selected.track,
                selected.row,
            )
        if hit is None:
            return False
        self.select(hit.track, hit.row)
        self._set(hit=hit.number)
        return True


def _event_beside(track: Track, event: int, direction: int) -> int | None:
    """The next or previous event of the same lane."""
    depth = track.depth_of(event)
    first = int(track.lanes[depth])
    end = int(track.lanes[depth + 1])
    beside = event + direction
    if first <= beside < end:
        return beside
    return None


def _nearest_event(
    track: Track,
    candidates: Sequence[tuple[int, int]],
    direction: int,
) -> int | None:
    """Of (depth, event) the event that comes first in this direction."""

    def rank(candidate: tuple[int, int]) -> tuple[int, int, int]:
        depth, event = candidate
        return direction * int(track.events.start[event]), direction * depth, event

    if not candidates:
        return None
    return min(candidates, key=rank)[1]

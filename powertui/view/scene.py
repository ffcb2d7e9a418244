"""The rows on screen as cells to be painted, from one query to the forest for each view.

Pure arithmetic, no terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from powertui.data.category import Category
from powertui.data.lod import Frame, busiest_lanes
from powertui.data.model import Bools, Int64s, UInt8s
from powertui.data.search import Hits
from powertui.view.cell_mixes import CellMixes
from powertui.view.labels import QUIET, SHADES
from powertui.view.paint import CURSOR, FOUND, NOTE, SELECTED, Cells, beside, cropped, levels
from powertui.view.time_navigation import State
from powertui.view.timeline_model import TimelineModel
from powertui.view.timeline_rows import Row
from powertui.view.viewport import Viewport

# An event with less self time than this share of its length only holds others. The op table has the
# same rule, so that both call the same events quiet.
_MIN_SELF_TIME_SHARE = 0.05
# Kinds that say little themselves: they give way in a folded row, too, where the work below them is
# out of sight.
_GIVES_WAY = np.isin(
    np.arange(QUIET) // SHADES,
    [kind.number for kind in (Category.RUNTIME, Category.OTHER, Category.IDLE)],
)
# Lanes of a folded track that are asked for its color. Python's stacks are deeper; what is below
# that counts for the lane above it.
_MAX_FOLDED_DEPTHS = 16


class Scene:
    """The cells of one model, drawn in `full` levels.

    Keeps the last answer: the cursor moves far more often than the view.
    """

    def __init__(self, model: TimelineModel, full: int) -> None:
        self.model = model
        self.full = full
        self.mixes = CellMixes(model)
        # the last query, its first cell, and its answer
        self._answer: tuple[Any, int, Cells] | None = None
        self._hit_starts: tuple[Hits, dict[int, Int64s]] | None = None
        # How many queries the forest had, and for how many columns: for tests and benchmarks.
        self.queries = 0
        self.columns = 0

    def cells(self, state: State, rows: tuple[Row, ...]) -> Cells:
        """These rows in the state's view, with cursor, selection and hits."""
        cells = self._unmarked(state.viewport, rows)
        return self._marked(cells, state, rows)

    def forget(self) -> None:
        """Ask anew next time."""
        self._answer = None

    def _unmarked(self, view: Viewport, rows: tuple[Row, ...]) -> Cells:
        """The cells without marks. After a pan only the columns that came into view are queried."""
        lanes = tuple(row.lanes for row in rows)
        query = (view.rung, view.width, lanes)
        if self._answer is None or self._answer[0] != query:
            cells = self._ask(view, view.edges(), rows)
        else:
            _, cell0, before = self._answer
            shift = view.cell0 - cell0
            if not shift:
                return before
            cells = self._panned(view, rows, before, shift)
        self._answer = (query, view.cell0, cells)
        return cells

    def _panned(
        self,
        view: Viewport,
        rows: tuple[Row, ...],
        before: Cells,
        shift: int,
    ) -> Cells:
        """The cells of a view that was moved by so many."""
        edges = view.edges()
        if abs(shift) >= view.width:
            return self._ask(view, edges, rows)
        if shift > 0:
            remaining = cropped(before, shift, view.width)
            new = self._ask(view, edges[-shift - 1 :], rows)
            return beside(remaining, new)
        remaining = cropped(before, 0, view.width + shift)
        new = self._ask(view, edges[: 1 - shift], rows)
        return beside(new, remaining)

    def _ask(
        self,
        view: Viewport,
        edges: Int64s,
        rows: tuple[Row, ...],
    ) -> Cells:
        """The cells between these edges: one query for all rows of a single lane, one for each of
        several.
        """
        columns = len(edges) - 1
        self.queries += 1
        self.columns += columns
        cells = _empty_cells(len(rows), columns)
        single = []
        for y, row in enumerate(rows):
            if len(row.lanes) == 1:
                single.append(y)
            elif row.lanes:
                level, name, event = self._folded_row(
                    edges,
                    row.lanes,
                    view.cell_ps,
                )
                cells.level[y] = level
                cells.name[y] = name
                cells.event[y] = event
        frame = None
        if single:
            frame = self._fill_single(
                cells,
                view,
                edges,
                rows,
                single,
            )
        if cells.level.any():
            self._color(cells, edges, rows, single, frame)
        for y, row in enumerate(rows):
            if not row.lanes:
                cells.ink[y] = NOTE
        return cells

    def _fill_single(
        self,
        cells: Cells,
        view: Viewport,
        edges: Int64s,
        rows: tuple[Row, ...],
        single: Sequence[int],
    ) -> Frame:
        """Level, name and event of the rows of a single lane, and what they were taken from."""
        lanes = [_only_lane(rows[y]) for y in single]
        frame = self.model.forest.frame(edges, lanes)
        cells.level[single] = levels(
            frame.busy,
            frame.count,
            view.cell_ps,
            self.full,
        )
        cells.event[single] = self.mixes.painted(frame, edges, lanes)
        for y, lane in zip(single, lanes, strict=True):
            cells.name[y] = self.model.names_of(lane, cells.event[y])
        return frame

    def _color(
        self,
        cells: Cells,
        edges: Int64s,
        rows: tuple[Row, ...],
        single: Sequence[int],
        frame: Frame | None,
    ) -> None:
        """The inks: by the event of a cell, or by the work inside of it."""
        labels = self.model.labels
        ink = cells.ink
        filled = cells.level > 0
        ink[filled] = labels.inks(cells.name[filled])
        by_work = self._folded_tracks(rows)
        for y, work in self._work_inside(edges, rows, by_work):
            has_work = filled[y]
            ink[y][has_work] = labels.inks(work[has_work])
        if frame is None:
            return
        # The bar of a call has its name written over it: the work in it takes no turns there.
        by_longest = ink.copy()
        for y, dominant in zip(single, frame.dominant, strict=True):
            names = self.model.names_of(_only_lane(rows[y]), dominant)
            has_event = filled[y]
            by_longest[y][has_event] = labels.inks(names[has_event])
        inside = self._inks_inside(
            rows,
            single,
            by_longest,
            frame.busy,
        )
        for y in set(single).difference(by_work):
            quiet = self._holds(rows[y], cells.event[y])
            if rows[y].folded and not _has_row_below(rows, y):
                # What it holds is out of sight: only kinds that say little give way.
                kind_and_shade = ink[y] & (QUIET - 1)
                quiet &= _GIVES_WAY[kind_and_shade]
            shaded = quiet & filled[y]
            ink_inside = inside[y][shaded] & (QUIET - 1)
            ink[y][shaded] = ink_inside | QUIET

    def _inks_inside(
        self,
        rows: tuple[Row, ...],
        single: Sequence[int],
        ink: UInt8s,
        busy: Int64s,
    ) -> dict[int, UInt8s]:
        """For each row the ink of what has most self time in it and in the rows of its track below
        it: what only holds others is shaded by what it holds.
        """
        inside: dict[int, UInt8s] = {}
        max_self_time = np.zeros(0, np.int64)
        # From the bottom up: a row takes over what the row below it has found.
        for number in range(len(single) - 1, -1, -1):
            y = single[number]
            inside[y] = ink[y].copy()
            self_time = busy[number]
            if not self._is_next_depth(rows, single[number : number + 2]):
                max_self_time = self_time
                continue
            below = busy[number + 1]
            self_time = self_time - below
            is_below = (max_self_time >= self_time) & (below > 0)
            inside[y][is_below] = inside[y + 1][is_below]
            max_self_time = np.where(is_below, max_self_time, self_time)
        return inside

    def _is_next_depth(self, rows: tuple[Row, ...], pair: Sequence[int]) -> bool:
        """Whether two rows of a lane each are neighbors on screen and in their track."""
        if len(pair) < 2:
            return False
        upper, lower = pair
        if lower != upper + 1:
            return False
        lanes = self.model.forest.lanes
        track, depth = lanes[_only_lane(rows[upper])]
        below = lanes[_only_lane(rows[lower])]
        return below == (track, depth + 1)

    def _folded_tracks(self, rows: tuple[Row, ...]) -> list[int]:
        """The rows that stand for a track with more lanes below."""
        folded = []
        for y, row in enumerate(rows):
            has_one_lane = len(row.lanes) == 1
            if not row.folded or not has_one_lane or _has_row_below(rows, y):
                continue
            lane_id = self.model.forest.lanes[_only_lane(row)]
            track = self.model.tracks[lane_id.track].track
            if lane_id.depth + 1 < track.lane_count:
                folded.append(y)
        return folded

    def _work_inside(
        self,
        edges: Int64s,
        rows: tuple[Row, ...],
        folded: Sequence[int],
    ) -> Iterator[tuple[int, Int64s]]:
        """For each of these rows the names of what its cells are painted as.

        A folded thread is colored by what it does, as its legend is, and not by the event around
        all of it.
        """
        for y in folded:
            lanes = self._lanes_from(_only_lane(rows[y]))
            yield y, self.mixes.names_inside(edges, lanes)

    def _lanes_from(self, lane: int) -> range:
        """A lane and those below it in its track, as many as are asked for a color."""
        lane_id = self.model.forest.lanes[lane]
        track = self.model.tracks[lane_id.track].track
        depths = min(track.lane_count - lane_id.depth, _MAX_FOLDED_DEPTHS)
        return range(lane, lane + depths)

    def _folded_row(
        self,
        edges: Int64s,
        lanes: Sequence[int],
        cell_ps: int,
    ) -> tuple[UInt8s, Int64s, Int64s]:
        """Level, name and event of each cell of a row that stands for several lanes.

        The event's number holds its lane too: event × number of lanes + lane.
        """
        frame = self.model.forest.frame(edges, lanes)
        painted = self.mixes.painted(frame, edges, lanes)
        busiest = busiest_lanes(frame)
        cells = np.arange(len(busiest))
        dominant = painted[busiest, cells]
        has_event = dominant >= 0
        busy = frame.busy[busiest, cells]
        count = frame.count.sum(axis=0)
        level = levels(busy, count, cell_ps, self.full)
        event = np.where(has_event, dominant * len(lanes) + busiest, -1)
        name = np.zeros(len(edges) - 1, np.int64)
        for number, lane in enumerate(lanes):
            of_lane = (busiest == number) & has_event
            if of_lane.any():
                name[of_lane] = self.model.names_of(lane, dominant[of_lane])
        return level, name, event

    def _holds(self, row: Row, event: Int64s) -> Bools:
        """Which cells of a row show an event that only holds others.

        Nearly all of its time is covered by the lane below.
        """
        model = self.model
        lane = _only_lane(row)
        # By the lane, not by the row: a folded process may be drawn from a single lane, and is the
        # row of no track.
        lane_id = model.forest.lanes[lane]
        track = model.tracks[lane_id.track].track
        if track.derived:
            return np.ones(len(event), np.bool_)
        holds = np.zeros(len(event), np.bool_)
        has_event = event >= 0
        shown = event[has_event]
        is_innermost = lane_id.depth + 1 >= track.lane_count
        if is_innermost or not len(shown):
            return holds
        # Neighboring cells often show one event: each is looked up once.
        is_first = np.ones(len(shown), np.bool_)
        is_first[1:] = shown[1:] != shown[:-1]
        events = shown[is_first]
        length = track.events.duration[events]
        start = track.events.start[events]
        edges = np.empty(2 * len(events), np.int64)
        edges[0::2] = start
        edges[1::2] = start + length
        covered = model.forest.busy(edges, lane + 1)
        self_time = length - covered[0::2]
        min_self_time = _MIN_SELF_TIME_SHARE * length
        only_holds = (length > 0) & (self_time < min_self_time)
        event_of_cell = np.cumsum(is_first) - 1
        holds[has_event] = only_holds[event_of_cell]
        return holds

    def _marked(
        self,
        cells: Cells,
        state: State,
        rows: tuple[Row, ...],
    ) -> Cells:
        """The same cells with hits, selection and cursor on them."""
        view = state.viewport
        mark: UInt8s = np.zeros_like(cells.mark)
        if state.hits is not None:
            self._mark_hits(
                mark,
                cells,
                state.hits,
                view,
                rows,
            )
        if state.selection is not None:
            lane = self.model.lane_of(state.selection)
            start, end = self.model.extent(state.selection)
            covered = view.covered(start, end)
            for y, row in enumerate(rows):
                if lane in row.lanes:
                    mark[y, covered.start : covered.stop] = SELECTED
        y = state.cursor_row - view.row0
        x = view.column(state.cursor_ps)
        is_in_sight = 0 <= y < len(rows) and 0 <= x < view.width
        if is_in_sight:
            mark[y, x] = CURSOR
        return Cells(
            level=cells.level,
            ink=cells.ink,
            name=cells.name,
            event=cells.event,
            mark=mark,
        )

    def _mark_hits(
        self,
        mark: UInt8s,
        cells: Cells,
        hits: Hits,
        view: Viewport,
        rows: tuple[Row, ...],
    ) -> None:
        edges = view.edges()
        for y, row in enumerate(rows):
            for lane in row.lanes:
                starts = self._hits_in(hits, lane)
                if not len(starts):
                    continue
                hits_in_cell = np.diff(starts.searchsorted(edges))
                mark[y][hits_in_cell > 0] = FOUND
                # A long event is found along all of its length, not only where it starts.
                is_hit = (cells.level[y] > 0) & hits.names[cells.name[y]]
                mark[y][is_hit] = FOUND

    def _hits_in(self, hits: Hits, lane: int) -> Int64s:
        """Starts of the hits in one lane: looked up once per search."""
        if self._hit_starts is None or self._hit_starts[0] is not hits:
            self._hit_starts = (hits, {})
        _, starts = self._hit_starts
        if lane not in starts:
            lane_id = self.model.forest.lanes[lane]
            track = self.model.tracks[lane_id.track].track
            events = track.lane(lane_id.depth)
            is_hit = hits.names[events.name]
            starts[lane] = events.start[is_hit]
        return starts[lane]


def _empty_cells(rows: int, columns: int) -> Cells:
    shape = (rows, columns)
    return Cells(
        level=np.zeros(shape, np.uint8),
        ink=np.zeros(shape, np.uint8),
        name=np.zeros(shape, np.int64),
        event=np.full(shape, -1, np.int64),
        mark=np.zeros(shape, np.uint8),
    )


def _has_row_below(rows: tuple[Row, ...], y: int) -> bool:
    """Whether the next row shows more of the same track."""
    track = rows[y].track
    below = y + 1
    if track < 0 or below >= len(rows):
        return False
    return rows[below].track == track


def _only_lane(row: Row) -> int:
    return row.lanes[0]

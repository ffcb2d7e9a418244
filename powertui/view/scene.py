"""The rows on screen as cells to be painted, from one query to the forest for each view.

Pure arithmetic, no terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from powertui.data.category import Category
from powertui.data.model import Bools, Int64s, UInt8s
from powertui.data.search import Hits
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
        # the last query, its first cell, and its answer
        self._answer: tuple[Any, int, Cells] | None = None
        self._hit_starts: tuple[Hits, dict[int, Int64s]] | None = None
        # How many queries the forest had, and for how many columns: for tests and benchmarks.
        self.queries = 0
        self.columns = 0

    def cells(self, state: State, rows: tuple[Row, ...]) -> Cells:
        """These rows in the state's view, with cursor, selection and hits."""
        return self._marked(self._unmarked(state.viewport, rows), state, rows)

    def forget(self) -> None:
        """Ask anew next time."""
        self._answer = None

    def _unmarked(self, view: Viewport, rows: tuple[Row, ...]) -> Cells:
        """The cells without marks. After a pan only the columns that came into view are queried."""
        query = (view.rung, view.width, tuple(row.lanes for row in rows))
        edges = view.edges()
        if self._answer is None or self._answer[0] != query:
            cells = self._ask(view, edges, rows)
        else:
            _, cell0, before = self._answer
            shift = view.cell0 - cell0
            if not shift:
                return before
            if abs(shift) >= view.width:
                cells = self._ask(view, edges, rows)
            elif shift > 0:
                new = self._ask(view, edges[-shift - 1 :], rows)
                cells = beside(cropped(before, shift, view.width), new)
            else:
                new = self._ask(view, edges[: 1 - shift], rows)
                cells = beside(new, cropped(before, 0, view.width + shift))
        self._answer = (query, view.cell0, cells)
        return cells

    def _ask(self, view: Viewport, edges: Int64s, rows: tuple[Row, ...]) -> Cells:
        """The cells between these edges: one query for all rows of a single lane, one for each of
        several.
        """
        self.queries += 1
        self.columns += len(edges) - 1
        shape = (len(rows), len(edges) - 1)
        level = np.zeros(shape, np.uint8)
        ink = np.zeros(shape, np.uint8)
        name = np.zeros(shape, np.int64)
        event = np.full(shape, -1, np.int64)
        single = [y for y, row in enumerate(rows) if len(row.lanes) == 1]
        if single:
            lanes = [rows[y].lanes[0] for y in single]
            frame = self.model.forest.frame(edges, lanes)
            level[single] = levels(frame.busy, frame.count, view.cell_ps, self.full)
            event[single] = frame.dominant
            for y, lane, dominant in zip(single, lanes, frame.dominant, strict=True):
                name[y] = self.model.names_of(lane, dominant)
        for y, row in enumerate(rows):
            if len(row.lanes) > 1:
                level[y], name[y], event[y] = self._folded_row(edges, row.lanes, view.cell_ps)
        filled = level > 0
        if filled.any():
            ink[filled] = self.model.labels.inks(name[filled])
            by_work = self._folded_tracks(rows)
            for y, work in self._work_inside(edges, rows, by_work):
                ink[y][filled[y]] = self.model.labels.inks(work[filled[y]])
            inside = self._inks_inside(rows, single, ink, frame.busy) if single else {}
            for y in set(single).difference(by_work):
                quiet = self._holds(rows[y], event[y])
                if rows[y].folded and not _has_row_below(rows, y):
                    # What it holds is out of sight: only kinds that say little give way.
                    quiet &= _GIVES_WAY[ink[y] & (QUIET - 1)]
                held = quiet & filled[y]
                ink[y][held] = (inside[y][held] & (QUIET - 1)) | QUIET
        ink[[y for y, row in enumerate(rows) if not row.lanes]] = NOTE
        return Cells(level, ink, name, event, np.zeros(shape, np.uint8))

    def _inks_inside(
        self, rows: tuple[Row, ...], single: Sequence[int], ink: UInt8s, busy: Int64s
    ) -> dict[int, UInt8s]:
        """For each row the ink of what has most self time in it and in the rows of its track below
        it: what only holds others is shaded by what it holds.
        """
        lanes = self.model.forest.lanes
        inside: dict[int, UInt8s] = {}
        most = np.zeros(0, np.int64)
        for number in range(len(single) - 1, -1, -1):
            y = single[number]
            own = busy[number]
            inside[y] = ink[y].copy()
            if number + 1 < len(single) and single[number + 1] == y + 1:
                track, depth = lanes[rows[y].lanes[0]]
                if lanes[rows[y + 1].lanes[0]] == (track, depth + 1):
                    own = own - busy[number + 1]
                    is_below = (most >= own) & (busy[number + 1] > 0)
                    inside[y][is_below] = inside[y + 1][is_below]
                    most = np.where(is_below, most, own)
                    continue
            most = own
        return inside

    def _folded_tracks(self, rows: tuple[Row, ...]) -> list[int]:
        """The rows that stand for a track with more lanes below."""
        forest = self.model.forest
        folded = []
        for y, row in enumerate(rows):
            if not row.folded or len(row.lanes) != 1 or _has_row_below(rows, y):
                continue
            lane_id = forest.lanes[row.lanes[0]]
            track = self.model.tracks[lane_id.track].track
            if lane_id.depth + 1 < track.lane_count:
                folded.append(y)
        return folded

    def _work_inside(
        self, edges: Int64s, rows: tuple[Row, ...], folded: Sequence[int]
    ) -> Iterator[tuple[int, Int64s]]:
        """For each of these rows the names of what has most self time in each cell.

        A folded thread is colored by what it does, as its legend is, and not by the event around
        all of it.
        """
        if not folded:
            return
        lanes: list[int] = []
        bounds = [0]
        for y in folded:
            first = rows[y].lanes[0]
            lane_id = self.model.forest.lanes[first]
            depths = self.model.tracks[lane_id.track].track.lane_count - lane_id.depth
            lanes.extend(range(first, first + min(depths, _MAX_FOLDED_DEPTHS)))
            bounds.append(len(lanes))
        frame = self.model.forest.frame(edges, lanes)
        for y, (lo, hi) in zip(folded, pairwise(bounds), strict=True):
            self_time = frame.busy[lo:hi].copy()
            self_time[:-1] -= frame.busy[lo + 1 : hi]
            self_time[frame.dominant[lo:hi] < 0] = -1
            deepest = self_time.argmax(axis=0)
            names = np.zeros(len(edges) - 1, np.int64)
            for depth in np.unique(deepest).tolist():
                cells = (deepest == depth) & (frame.dominant[lo + depth] >= 0)
                if cells.any():
                    shown = frame.dominant[lo + depth][cells]
                    names[cells] = self.model.names_of(lanes[lo + depth], shown)
            yield y, names

    def _folded_row(
        self, edges: Int64s, lanes: Sequence[int], cell_ps: int
    ) -> tuple[UInt8s, Int64s, Int64s]:
        """Level, name and event of each cell of a row that stands for several lanes.

        The event's number holds its lane too: event × number of lanes + lane.
        """
        frame = self.model.forest.summary(edges, lanes)
        dominant = frame.dominant[0]
        dominant_lane = frame.lane[0]
        level = levels(frame.busy, frame.count, cell_ps, self.full)[0]
        event = np.where(dominant >= 0, dominant * len(lanes) + dominant_lane, -1)
        name = np.zeros(len(edges) - 1, np.int64)
        for number, lane in enumerate(lanes):
            of_lane = (dominant_lane == number) & (dominant >= 0)
            if of_lane.any():
                name[of_lane] = self.model.names_of(lane, dominant[of_lane])
        return level, name, event

    def _holds(self, row: Row, event: Int64s) -> Bools:
        """Which cells of a row show an event that only holds others.

        Nearly all of its time is covered by the lane below.
        """
        model = self.model
        lane = row.lanes[0]
        # By the lane, not by the row: a folded process may be drawn from a single lane, and is the
        # row of no track.
        lane_id = model.forest.lanes[lane]
        track = model.tracks[lane_id.track].track
        depth = lane_id.depth
        if track.derived:
            return np.ones(len(event), np.bool_)
        holds = np.zeros(len(event), np.bool_)
        has_event = event >= 0
        shown = event[has_event]
        if depth + 1 >= track.lane_count or not len(shown):
            return holds
        # Neighboring cells often show one event: each is looked up once.
        is_first = np.ones(len(shown), np.bool_)
        is_first[1:] = shown[1:] != shown[:-1]
        events = shown[is_first]
        length = track.events.duration[events]
        edges = np.empty(2 * len(events), np.int64)
        edges[0::2] = track.events.start[events]
        edges[1::2] = edges[0::2] + length
        covered = model.forest.busy(edges, lane + 1)[0::2]
        only_holds = (length > 0) & (length - covered < _MIN_SELF_TIME_SHARE * length)
        holds[has_event] = only_holds[np.cumsum(is_first) - 1]
        return holds

    def _marked(self, cells: Cells, state: State, rows: tuple[Row, ...]) -> Cells:
        """The same cells with hits, selection and cursor on them."""
        model = self.model
        view = state.viewport
        mark: UInt8s = np.zeros_like(cells.mark)
        if state.hits is not None:
            edges = view.edges()
            for y, row in enumerate(rows):
                for lane in row.lanes:
                    starts = self._hits_in(state.hits, lane)
                    if len(starts):
                        mark[y][np.diff(starts.searchsorted(edges)) > 0] = FOUND
                        # A long event is found along all of its length, not only where it starts.
                        mark[y][(cells.level[y] > 0) & state.hits.names[cells.name[y]]] = FOUND
        if state.selection is not None:
            lane = model.lane_of(state.selection)
            lo, hi = model.extent(state.selection)
            covered = view.covered(lo, hi)
            for y, row in enumerate(rows):
                if lane in row.lanes:
                    mark[y, covered.start : covered.stop] = SELECTED
        y = state.cursor_row - view.row0
        x = view.column(state.cursor_ps)
        if 0 <= y < len(rows) and 0 <= x < view.width:
            mark[y, x] = CURSOR
        return Cells(cells.level, cells.ink, cells.name, cells.event, mark)

    def _hits_in(self, hits: Hits, lane: int) -> Int64s:
        """Starts of the hits in one lane: looked up once per search."""
        if self._hit_starts is None or self._hit_starts[0] is not hits:
            self._hit_starts = (hits, {})
        starts = self._hit_starts[1]
        if lane not in starts:
            track, depth = self.model.forest.lanes[lane]
            part = self.model.tracks[track].track.lane(depth)
            starts[lane] = part.start[hits.names[part.name]]
        return starts[lane]


def _has_row_below(rows: tuple[Row, ...], y: int) -> bool:
    """Whether the next row shows more of the same track."""
    track = rows[y].track
    return track >= 0 and y + 1 < len(rows) and rows[y + 1].track == track

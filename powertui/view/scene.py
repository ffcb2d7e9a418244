"""What the forest says of the rows on screen, as cells to be painted.

Asked once per view; pure arithmetic, no terminal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from powertui.data.category import Category
from powertui.data.model import Bools, Int64s, UInt8s
from powertui.data.search import Hits
from powertui.view.labels import QUIET, SHADES
from powertui.view.navigation import State
from powertui.view.paint import CURSOR, FOUND, NOTE, SELECTED, Cells, beside, cropped, levels
from powertui.view.timeline_model import TimelineModel
from powertui.view.timeline_rows import Row
from powertui.view.viewport import Viewport

_MIN_SELF_TIME_SHARE = (
    0.05  # an event whose own part of its time is smaller only holds others: the op table's rule
)
# Kinds that say little themselves: they give way in a folded row, too, where the work below them is
# out of sight.
_GIVES_WAY = np.isin(
    np.arange(QUIET) // SHADES,
    [one.number for one in (Category.RUNTIME, Category.OTHER, Category.IDLE)],
)


class Scene:
    """The cells of one model, drawn in `full` levels.

    Keeps the last answer: the cursor moves far more often than the view.
    """

    def __init__(self, model: TimelineModel, full: int) -> None:
        self.model, self.full = model, full
        self._known: tuple[Any, int, Cells] | None = (
            None  # what was asked, from which cell on, and the answer
        )
        self._hit_starts: tuple[Hits, dict[int, Int64s]] | None = None
        self.queries = 0  # questions asked of the forest, and for …
        self.columns = 0  # … how many columns: for tests and benchmarks

    def cells(self, state: State, rows: tuple[Row, ...]) -> Cells:
        """These rows in the state's view, with cursor, selection and hits."""
        return self._marked(self._unmarked(state.viewport, rows), state, rows)

    def forget(self) -> None:
        """Ask anew next time."""
        self._known = None

    def _unmarked(self, view: Viewport, rows: tuple[Row, ...]) -> Cells:
        """After a pan only the columns that came in are asked for: the others lie on the
        same grid.
        """
        asked = (view.rung, view.width, tuple(row.lanes for row in rows))
        known = self._known
        if known is not None and known[0] == asked and known[1] == view.cell0:
            return known[2]
        shift = view.cell0 - known[1] if known is not None and known[0] == asked else view.width
        edges = view.edges()
        if known is None or abs(shift) >= view.width:
            cells = self._ask(view, edges, rows)
        elif shift > 0:
            cells = beside(
                cropped(known[2], shift, view.width), self._ask(view, edges[-shift - 1 :], rows)
            )
        else:
            cells = beside(
                self._ask(view, edges[: 1 - shift], rows), cropped(known[2], 0, view.width + shift)
            )
        self._known = (asked, view.cell0, cells)
        return cells

    def _ask(self, view: Viewport, edges: Int64s, rows: tuple[Row, ...]) -> Cells:
        """One query for all rows that are a single lane, one for each folded process."""
        model = self.model
        self.queries += 1
        self.columns += len(edges) - 1
        shape = (len(rows), len(edges) - 1)
        level, ink = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
        name, event = np.zeros(shape, np.int64), np.full(shape, -1, np.int64)
        single = [y for y, row in enumerate(rows) if len(row.lanes) == 1]
        if single:
            lanes = [rows[y].lanes[0] for y in single]
            frame = model.forest.frame(edges, lanes)
            level[single] = levels(frame.busy, frame.count, view.cell_ps, self.full)
            event[single] = frame.dominant
            for i, y in enumerate(single):
                name[y] = model.names_of(lanes[i], frame.dominant[i])
        for y, row in enumerate(rows):
            if len(row.lanes) > 1:
                frame = model.forest.summary(edges, row.lanes)
                level[y] = levels(frame.busy, frame.count, view.cell_ps, self.full)[0]
                event[y] = np.where(
                    frame.dominant[0] >= 0, frame.dominant[0] * len(row.lanes) + frame.lane[0], -1
                )
                for i, lane in enumerate(row.lanes):
                    mine = (frame.lane[0] == i) & (frame.dominant[0] >= 0)
                    if mine.any():
                        name[y][mine] = model.names_of(lane, frame.dominant[0][mine])
        filled = level > 0
        if filled.any():
            ink[filled] = model.labels.inks(name[filled])
            for y in single:
                holds = self._holds(rows[y], event[y])
                track = rows[y].track
                has_row_below = track >= 0 and y + 1 < len(rows) and rows[y + 1].track == track
                if rows[y].folded and not has_row_below:
                    holds &= _GIVES_WAY[ink[y] & (QUIET - 1)]
                ink[y][holds & filled[y]] |= QUIET
        ink[[y for y, row in enumerate(rows) if not row.lanes]] = NOTE
        return Cells(level, ink, name, event, np.zeros(shape, np.uint8))

    def _holds(self, row: Row, event: Int64s) -> Bools:
        """Which cells of a row stand for something that only holds others: nearly all of it is what
        the lane below covers.
        """
        model, lane = self.model, row.lanes[0]
        # By the lane, not by the row: a folded process may be drawn from a single lane, and is the
        # row of no track.
        lane_id = model.forest.lanes[lane]
        track, depth = model.tracks[lane_id.track].track, lane_id.depth
        if track.derived:
            return np.ones(len(event), np.bool_)
        out = np.zeros(len(event), np.bool_)
        some = event >= 0
        known = event[some]
        if depth + 1 >= track.lane_count or not len(known):
            return out
        new = np.ones(len(known), np.bool_)
        new[1:] = known[1:] != known[:-1]
        events = known[new]
        length = track.events.duration[events]
        edges = np.empty(2 * len(events), np.int64)
        edges[0::2] = track.events.start[events]
        edges[1::2] = edges[0::2] + length
        inner = model.forest.busy(edges, lane + 1)[0::2]
        out[some] = ((length > 0) & (length - inner < _MIN_SELF_TIME_SHARE * length))[
            np.cumsum(new) - 1
        ]
        return out

    def _marked(self, cells: Cells, state: State, rows: tuple[Row, ...]) -> Cells:
        """The same cells with hits, selection and cursor on them."""
        model, view = self.model, state.viewport
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
        y, x = state.cursor_row - view.row0, view.column(state.cursor_ps)
        if 0 <= y < len(rows) and 0 <= x < view.width:
            mark[y, x] = CURSOR
        return Cells(cells.level, cells.ink, cells.name, cells.event, mark)

    def _hits_in(self, hits: Hits, lane: int) -> Int64s:
        """Starts of the hits in one lane: looked up once per search."""
        if self._hit_starts is None or self._hit_starts[0] is not hits:
            self._hit_starts = (hits, {})
        known = self._hit_starts[1]
        if lane not in known:
            track, depth = self.model.forest.lanes[lane]
            part = self.model.tracks[track].track.lane(depth)
            known[lane] = part.start[hits.names[part.name]]
        return known[lane]

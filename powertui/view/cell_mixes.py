"""What the cells of a view are painted as where several events share them: samples of what runs in
each, of which one is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from powertui.data import wire
from powertui.data.lod import Frame
from powertui.data.model import Bools, Events, Int64s
from powertui.view.cell_choice import chosen_samples

if TYPE_CHECKING:
    from powertui.view.timeline_model import TimelineModel

# Moments of a cell that are looked at. Three kinds in equal parts, on 60 to 130 cells, are painted
# within 3 % of the row; with 8 moments within 7 %. They take 2 to 4 ms of a zoom, and hardly more
# than 4 moments do.
_SAMPLES = 16
_FOLDED_SAMPLES = 8  # of a folded track each of up to 16 lanes is looked up for every moment
# An event this long in cells is drawn where it covers most of a cell, so that a bar and its name
# hold still; over many events that is as much as they last.
_MIN_LONG_CELLS = 2
# What covers this part of a cell's busy time is the cell (chosen: an eighth is one level of a
# glyph).
_ALONE = (7, 8)
# Neighboring lanes begin elsewhere among the thresholds, else their stripes would be columns.
_LANE_OFFSET = 23


class CellMixes:
    """Chooses for the cells of a model's lanes."""

    def __init__(self, model: TimelineModel) -> None:
        self.model = model

    def painted(
        self,
        frame: Frame,
        edges: Int64s,
        lanes: Sequence[int],
    ) -> Int64s:
        """[lane, cell]: the event that each cell shows."""
        painted: Int64s = frame.dominant.copy()
        is_mixed = self._mixed(frame, edges, lanes)
        if not is_mixed.any():
            return painted
        samples = self.model.forest.samples(frame.at_edges, is_mixed, _SAMPLES)
        row, cell = np.nonzero(is_mixed)
        names, usable = self._names_and_usable(
            samples.rows,
            row,
            edges,
            lanes,
        )
        lane_of_cell = np.asarray(lanes, np.int64)[row]
        numbers = _cell_numbers(edges)[cell] + _LANE_OFFSET * lane_of_cell
        sample = chosen_samples(self.model.labels.inks(names), usable, numbers)
        painted[row, cell] = samples.rows[np.arange(len(row)), sample]
        return painted

    def _names_and_usable(
        self,
        events: Int64s,
        row: Int64s,
        edges: Int64s,
        lanes: Sequence[int],
    ) -> tuple[Int64s, Bools]:
        """[cell, sample]: the names of sampled events, and which of them may be chosen.

        A long event has cells of its own beside this one: it is chosen where there is no other.
        """
        names = np.zeros(events.shape, np.int64)
        usable = np.ones(events.shape, np.bool_)
        for number in wire.distinct(row).tolist():
            lane = lanes[number]
            first, stop = row.searchsorted((number, number + 1)).tolist()
            in_lane = events[first:stop]
            names[first:stop] = self.model.names_of(lane, in_lane)
            usable[first:stop] = ~self._is_long(edges, lane, in_lane)
        has_usable = usable.any(axis=1, keepdims=True)
        return names, usable | ~has_usable

    def _mixed(
        self,
        frame: Frame,
        edges: Int64s,
        lanes: Sequence[int],
    ) -> Bools:
        """Which cells several events share, none of them a bar of its own."""
        has_event = frame.dominant >= 0
        stay = np.zeros(frame.shape, np.int64)  # ps of the longest event inside of its cell
        is_long = np.zeros(frame.shape, np.bool_)
        for row, lane in enumerate(lanes):
            shown = has_event[row]
            events = frame.dominant[row][shown]
            left = edges[:-1][shown]
            right = edges[1:][shown]
            stay[row, shown] = self._time_inside(
                lane,
                events,
                left,
                right,
            )
            is_long[row, shown] = self._is_long(edges, lane, events)
        part, whole = _ALONE
        is_alone = stay >= frame.busy // whole * part
        is_bar = is_long & (stay > frame.busy // 2)
        mixed: Bools = has_event & (frame.busy > 0) & ~is_alone & ~is_bar
        return mixed

    def _time_inside(
        self,
        lane: int,
        events: Int64s,
        left: Int64s,
        right: Int64s,
    ) -> Int64s:
        """How long (ps) each event lasts between two moments."""
        columns = self._columns(lane)
        start = columns.start[events]
        end = start + columns.duration[events]
        inside: Int64s = np.minimum(end, right) - np.maximum(start, left)
        return inside

    def _columns(self, lane: int) -> Events:
        track = self.model.forest.lanes[lane].track
        return self.model.tracks[track].track.events

    def _is_long(
        self,
        edges: Int64s,
        lane: int,
        events: Int64s,
    ) -> Bools:
        duration = self._columns(lane).duration[events]
        long: Bools = duration >= _MIN_LONG_CELLS * (edges[1] - edges[0])
        return long

    def names_inside(self, edges: Int64s, lanes: Sequence[int]) -> Int64s:
        """[cell]: the name of what a track works at in each cell, deepest calls first: what each
        has of its own time counts.
        """
        forest = self.model.forest
        outermost, *inner = lanes
        cells = len(edges) - 1
        all_cells = np.ones((1, cells), np.bool_)
        at_edges = forest.at_edges(edges, lanes[:1])
        samples = forest.samples(at_edges, all_cells, _FOLDED_SAMPLES)
        moments = samples.moments
        names = self.model.names_of(outermost, samples.rows)
        is_inside = samples.rows >= 0
        for lane in inner:
            if not is_inside.any():
                break
            # A call runs only while the one around it does.
            events = np.full(moments.shape, -1, np.int64)
            events[is_inside] = forest.running(lane, moments[is_inside])
            is_inside = events >= 0
            names[is_inside] = self.model.names_of(lane, events[is_inside])
        inks = self.model.labels.inks(names)
        usable = np.ones(inks.shape, np.bool_)
        numbers = _cell_numbers(edges) + _LANE_OFFSET * outermost
        choice = chosen_samples(inks, usable, numbers)
        return names[np.arange(cells), choice]


def _cell_numbers(edges: Int64s) -> Int64s:
    """The number of each cell, from the profile's zero."""
    cell_ps = edges[1] - edges[0]
    numbers: Int64s = edges[:-1] // cell_ps
    return numbers

"""Which events the arrows of a trace tie together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from powertui.data.model import Bools, Int32s, Int64s, Trace, Track
from powertui.data.opened import Profile
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class TiedEvents:
    """Each arrow that leads from one event to another: their lines (over Trace.tracks())
    and rows.
    """

    line: Int32s
    row: Int64s
    to_line: Int32s
    to_row: Int64s

    def across(self, line: int, row: int) -> list[tuple[int, int]]:
        """The events at the other ends of this one's arrows: first those that it leads to, then
        where it comes from.
        """
        out = np.flatnonzero((self.line == line) & (self.row == row))
        back = np.flatnonzero((self.to_line == line) & (self.to_row == row))
        ends = [
            *zip(self.to_line[out].tolist(), self.to_row[out].tolist(), strict=True),
            *zip(self.line[back].tolist(), self.row[back].tolist(), strict=True),
        ]
        return list(dict.fromkeys(ends))


def tied_events(profile: Profile) -> TiedEvents:
    """The events of a profile that arrows tie together, found at the first question."""
    return profile.cached("arrows", lambda: find_tied_events(profile.trace))


def find_tied_events(trace: Trace) -> TiedEvents:
    """Match both ends of each arrow of a trace with the events that they mean."""
    arrows = trace.arrows
    if arrows is None or not len(arrows):
        no_lines, no_rows = np.empty(0, np.int32), np.empty(0, np.int64)
        return TiedEvents(no_lines, no_rows, no_lines, no_rows)
    tracks = [track for _, track in trace.tracks()]
    row = _rows(tracks, arrows.line, arrows.at, np.zeros(len(arrows), np.bool_))
    to_row = _rows(tracks, arrows.to_line, arrows.to_at, arrows.next)
    to_itself = (row == to_row) & (arrows.line == arrows.to_line)
    valid = (row >= 0) & (to_row >= 0) & ~to_itself
    return TiedEvents(arrows.line[valid], row[valid], arrows.to_line[valid], to_row[valid])


def _rows(tracks: list[Track], line: Int32s, at: Int64s, later: Bools) -> Int64s:
    """The row on its line that each moment means; -1 for none.

    It is the event around the moment; where `later`, the next one if there is any.
    """
    rows = np.full(len(line), -1, np.int64)
    for number in np.unique(line).tolist():
        on_line = np.flatnonzero(line == number)
        around = _around_rows(tracks[number], at[on_line])
        after = _next_rows(tracks[number], at[on_line])
        rows[on_line] = np.where(later[on_line] & (after >= 0), after, around)
    return rows


def _around_rows(track: Track, at: Int64s) -> Int64s:
    """Of the events around each moment the one that began last, of those the innermost; -1 for
    none.
    """
    events = track.events
    best = np.full(len(at), -1, np.int64)
    best_start = np.full(len(at), np.iinfo(np.int64).min)
    for lo, hi in pairwise(track.lanes.tolist()):
        if lo == hi:
            continue
        lane_start = events.start[lo:hi]
        row = np.maximum(lane_start.searchsorted(at, side="right") - 1, 0)
        start = lane_start[row]
        end = start + events.duration[lo:hi][row]
        better = (start <= at) & (end >= at) & (start >= best_start)
        best[better] = row[better] + lo
        best_start[better] = start[better]
    return best


def _next_rows(track: Track, at: Int64s) -> Int64s:
    """The event that begins first at or after each moment, of those the outermost; -1 for none."""
    best = np.full(len(at), -1, np.int64)
    best_start = np.full(len(at), np.iinfo(np.int64).max)
    for lo, hi in pairwise(track.lanes.tolist()):
        if lo == hi:
            continue
        lane_start = track.events.start[lo:hi]
        row = lane_start.searchsorted(at, side="left")
        exists = row < len(lane_start)
        row = np.minimum(row, len(lane_start) - 1)
        better = exists & (lane_start[row] < best_start)
        best[better] = row[better] + lo
        best_start[better] = lane_start[row][better]
    return best

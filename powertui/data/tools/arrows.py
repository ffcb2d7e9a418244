"""Which events the arrows of a trace tie together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Int32s, Int64s, Trace, Track
from powertui.data.opened import Profile
from powertui.data.sorted_columns import last_begun
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
        is_from_here = (self.line == line) & (self.row == row)
        is_to_here = (self.to_line == line) & (self.to_row == row)
        leaving = np.flatnonzero(is_from_here)
        arriving = np.flatnonzero(is_to_here)
        lines = [
            *self.to_line[leaving].tolist(),
            *self.line[arriving].tolist(),
        ]
        rows = [
            *self.to_row[leaving].tolist(),
            *self.row[arriving].tolist(),
        ]
        places = zip(lines, rows, strict=True)
        return list(dict.fromkeys(places))


def tied_events(profile: Profile) -> TiedEvents:
    """The events of a profile that arrows tie together, found at the first question."""
    return profile.cached("arrows", lambda: find_tied_events(profile.trace))


def find_tied_events(trace: Trace) -> TiedEvents:
    """Match both ends of each arrow of a trace with the events that they mean."""
    arrows = trace.arrows
    if arrows is None or not len(arrows):
        no_lines = np.empty(0, np.int32)
        no_rows = np.empty(0, np.int64)
        return TiedEvents(
            line=no_lines,
            row=no_rows,
            to_line=no_lines,
            to_row=no_rows,
        )
    tracks = [track for _, track in trace.tracks()]
    never = np.zeros(len(arrows), np.bool_)
    row = _rows(tracks, arrows.line, arrows.at, never)
    to_row = _rows(tracks, arrows.to_line, arrows.to_at, arrows.next)
    # Both ends in one event say nothing that the event does not.
    is_same_line = arrows.line == arrows.to_line
    to_itself = (row == to_row) & is_same_line
    has_both_ends = (row >= 0) & (to_row >= 0)
    ties = has_both_ends & ~to_itself
    return TiedEvents(
        line=arrows.line[ties],
        row=row[ties],
        to_line=arrows.to_line[ties],
        to_row=to_row[ties],
    )


def _rows(tracks: list[Track], line: Int32s, at: Int64s, later: Bools) -> Int64s:
    """The row on its line that each moment means; -1 for none.

    It is the event around the moment; where `later`, the next one if there is any. (The Chrome
    format binds an arrow's end to the next event, unless it says `"bp": "e"`.)
    """
    rows = np.full(len(line), -1, np.int64)
    for number in wire.distinct(line).tolist():
        on_line = np.flatnonzero(line == number)
        moments = at[on_line]
        track = tracks[number]
        around = _around_rows(track, moments)
        after = _next_rows(track, moments)
        takes_next = later[on_line] & (after >= 0)
        rows[on_line] = np.where(takes_next, after, around)
    return rows


def _around_rows(track: Track, at: Int64s) -> Int64s:
    """Of the events around each moment the one that began last, of those the innermost; -1 for
    none.
    """
    best = np.full(len(at), -1, np.int64)
    earliest = np.iinfo(np.int64).min
    best_start = np.full(len(at), earliest)
    for lo, hi in pairwise(track.lanes.tolist()):
        if lo == hi:
            continue
        starts = track.events.start[lo:hi]
        durations = track.events.duration[lo:hi]
        any_begun, row = last_begun(starts, at)
        start = starts[row]
        end = start + durations[row]
        is_around = any_begun & (end >= at)
        # Of equal starts the deeper lane, which comes later, is the inner event.
        is_better = is_around & (start >= best_start)
        best[is_better] = row[is_better] + lo
        best_start[is_better] = start[is_better]
    return best


def _next_rows(track: Track, at: Int64s) -> Int64s:
    """The event that begins first at or after each moment, of those the outermost; -1 for none."""
    best = np.full(len(at), -1, np.int64)
    latest = np.iinfo(np.int64).max
    best_start = np.full(len(at), latest)
    for lo, hi in pairwise(track.lanes.tolist()):
        if lo == hi:
            continue
        starts = track.events.start[lo:hi]
        row = starts.searchsorted(at, side="left")
        exists = row < len(starts)
        last_row = len(starts) - 1
        row = np.minimum(row, last_row)
        start = starts[row]
        is_better = exists & (start < best_start)
        best[is_better] = row[is_better] + lo
        best_start[is_better] = start[is_better]
    return best

"""Which events the arrows of a trace tie together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from powertui.data.model import Bools, Int32s, Int64s, Trace, Track
from powertui.data.opened import Profile


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
    """The events of a profile, found at the first question."""
    return profile.cached("arrows", lambda: find(profile.trace))


def find(trace: Trace) -> TiedEvents:
    """The same of a trace, found now."""
    arrows = trace.arrows
    if arrows is None or not len(arrows):
        none = np.empty(0, np.int64)
        return TiedEvents(none.astype(np.int32), none, none.astype(np.int32), none)
    tracks = [track for _, track in trace.tracks()]
    row = _rows(tracks, arrows.line, arrows.at, np.zeros(len(arrows), np.bool_))
    to_row = _rows(tracks, arrows.to_line, arrows.to_at, arrows.next)
    good = (row >= 0) & (to_row >= 0) & ((row != to_row) | (arrows.line != arrows.to_line))
    return TiedEvents(arrows.line[good], row[good], arrows.to_line[good], to_row[good])


def _rows(tracks: list[Track], line: Int32s, at: Int64s, later: Bools) -> Int64s:
    """The row on its line that each of these moments means; -1 for none."""
    out = np.full(len(line), -1, np.int64)
    for number in np.unique(line).tolist():
        mine = np.flatnonzero(line == number)
        around, after = _around_rows(tracks[number], at[mine]), _next_rows(tracks[number], at[mine])
        out[mine] = np.where(later[mine] & (after >= 0), after, around)
    return out


def _around_rows(track: Track, at: Int64s) -> Int64s:
    """Of the events around each moment the one that began last, of those the innermost; -1 for
    none.
    """
    events = track.events
    best, began = np.full(len(at), -1, np.int64), np.full(len(at), np.iinfo(np.int64).min)
    for lo, hi in pairwise(track.lanes.tolist()):
        if lo == hi:
            continue
        start = events.start[lo:hi]
        row = np.maximum(start.searchsorted(at, side="right") - 1, 0)
        here = (
            (start[row] <= at)
            & (start[row] + events.duration[lo:hi][row] >= at)
            & (start[row] >= began)
        )
        best[here], began[here] = row[here] + lo, start[row][here]
    return best


def _next_rows(track: Track, at: Int64s) -> Int64s:
    """The event that begins first at or after each moment, of those the outermost; -1 for none."""
    best, begins = np.full(len(at), -1, np.int64), np.full(len(at), np.iinfo(np.int64).max)
    for lo, hi in pairwise(track.lanes.tolist()):
        if lo == hi:
            continue
        start = track.events.start[lo:hi]
        row = start.searchsorted(at, side="left")
        there = row < len(start)
        row = np.minimum(row, len(start) - 1)
        here = there & (start[row] < begins)
        best[here], begins[here] = row[here] + lo, start[row][here]
    return best

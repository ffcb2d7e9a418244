"""The level-of-detail forest: a frame costs the cells it shows, not the events behind it.

Over the durations of each track, lane by lane as its columns are, lie a sum and the longest event
of every 16 of them, and a sparse table: which of these blocks holds the longest event of 2^k groups
of four. Beside it lies every 64th start. Less than two bytes an event in all.

* Coverage of a cell is the difference of two sums up to an event, less what hangs over the cell's
  edges: exact, in integers, for a nanosecond and for an hour. A sum is that of the blocks before
  and of the few events of one block. (Sums run over lanes and may wrap around int64: a difference
  of two wrapped sums is still right.)
* The longest event of any range is that of two overlapping runs of blocks, or one of the events at
  the range's ends that make no whole block: a bounded number of looks, the same for every lane and
  cell.

Starts are looked up in the track's own column, durations read from it: nothing of the trace is
copied. `track_index` holds what is over one track, `data/wire` has the loops.

Perfetto's ImplicitSegmentForest has the same aim in O(log n); a sparse table over blocks has no
loop over levels, which in numpy would be one round of calls for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from powertui.data.model import Bools, Floats, Int32s, Int64s, Trace, Track
from powertui.data.track_index import TrackIndex, track_index
from powertui.data.wire.types import PlacedAtEdges
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass


class LaneId(NamedTuple):
    """One lane of one track: `track` counts the tracks of `Trace.tracks()`, `depth` its lanes."""

    track: int
    depth: int


class AtEdges(NamedTuple):
    """How events lie to the edges of a grid of cells."""

    edges: Int64s
    lanes: Int64s
    at: Int64s  # [lane, edge]: the first event that starts at or after the edge
    over: Int64s  # [lane, edge]: how far the one before it reaches past the edge …
    length: Int64s  # … and how long that one is
    passed: Int64s  # [lane, edge]: what the events of the track cover before the edge, in ps


@dataclass(frozen=True, eq=False)
class Frame:
    """What a grid of cells shows: one row per lane, one column per cell. Cells are [edge, next
    edge).

    A zero-duration event belongs to the cell that holds its start. `count` > 0 therefore says of
    every cell whether anything at all happened in it, however short.
    """

    busy: Int64s  # ps of the cell that events cover, exactly
    count: Int32s  # events that touch the cell
    # row (in its track's columns) of the event that covers most of the cell, the earliest of
    # equals; -1 for none
    dominant: Int64s
    # which lane (of those asked for) `dominant` is in: tells rows apart in a summary; equals the
    # row otherwise
    lane: Int32s
    at_edges: AtEdges  # of all lanes that were asked for

    @property
    def shape(self) -> tuple[int, int]:
        return (self.busy.shape[0], self.busy.shape[1])


class BusyMoments(NamedTuple):
    """Moments of the time that cells are busy, equally many of each cell."""

    rows: Int64s  # [cell, sample]: the event that runs then; -1 where the cell is not busy
    moments: Int64s  # [cell, sample]: when, in ps


class Forest:
    """The index of one trace (or of some tracks).

    Made once, asked once per frame; immutable after that.
    """

    def __init__(
        self,
        tracks: Sequence[Track],
        *,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.tracks = tuple(tracks)
        lanes: list[LaneId] = []
        first_lanes = [0]  # of each track, and the number of all
        for number, track in enumerate(self.tracks):
            for depth in range(track.lane_count):
                lanes.append(LaneId(number, depth))
            first_lanes.append(len(lanes))
        self.lanes: tuple[LaneId, ...] = tuple(lanes)
        self._first_lane = np.array(first_lanes, np.int64)
        # Where each lane begins and ends in its track's columns, and its starts and durations as
        # views of them.
        self._lo = np.empty(len(lanes), np.int64)
        self._hi = np.empty(len(lanes), np.int64)
        self._track_of = np.array([lane.track for lane in lanes], np.int64)
        self._starts: list[Int64s] = []
        self._lengths: list[Int64s] = []
        for lane, (number, depth) in enumerate(lanes):
            track = self.tracks[number]
            lo = int(track.lanes[depth])
            hi = int(track.lanes[depth + 1])
            self._lo[lane] = lo
            self._hi[lane] = hi
            self._starts.append(track.events.start[lo:hi])
            self._lengths.append(track.events.duration[lo:hi])
        self._indices: list[TrackIndex] = []
        done = 0
        for track in self.tracks:
            self._indices.append(track_index(track, done, progress))
            done += len(track.events)

    @classmethod
    def from_trace(
        cls,
        trace: Trace,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> Forest:
        """The index over every track of a trace.

        `progress` is told how many events are indexed, and may raise to stop.
        """
        tracks = [track for _, track in trace.tracks()]
        return cls(tracks, progress=progress)

    @property
    def events(self) -> int:
        """How many events are indexed."""
        return sum(len(track.events) for track in self.tracks)

    @property
    def nbytes(self) -> int:
        """What the index takes beside the trace's own columns."""
        return sum(index.nbytes for index in self._indices)

    # ── asking ───────────────────────────────────────────────────────────────────────────────────

    def lane_number(self, track: int, depth: int) -> int:
        """The number of a lane, as `frame` takes it."""
        return int(self._first_lane[track]) + depth

    def lane_busy(self, lane: int) -> int:
        """Everything that one lane holds, in ps."""
        lo = self._lo[lane]
        hi = self._hi[lane]
        if lo == hi:
            return 0
        index = self._indices[self.lanes[lane].track]
        sums = index.sums(np.array([lo, hi]))
        return int(np.diff(sums)[0])

    def track_busy(self, track: int) -> int:
        """Time that the outermost lane of a track covers, in ps: its nested lanes lie inside."""
        if not self.tracks[track].lane_count:
            return 0
        outermost = self.lane_number(track, 0)
        return self.lane_busy(outermost)

    def frame(self, edges: Int64s, lanes: Sequence[int] | Int64s) -> Frame:
        """Coverage, count and dominant event of every cell of every lane: one query for the whole
        screen.
        """
        at_edges = self.at_edges(edges, lanes)
        at = at_edges.at
        busy = np.diff(at_edges.passed, axis=1)
        # An event that reaches in from the cell before touches this one, too.
        starting = at[:, 1:] - at[:, :-1]
        reaching_in = at_edges.over[:, :-1] > 0
        count = (starting + reaching_in).astype(np.int32)
        dominant = self._dominant(at_edges)
        rows = np.arange(len(at_edges.lanes), dtype=np.int32)
        lane = np.broadcast_to(rows[:, None], busy.shape)
        return Frame(busy, count, dominant, lane, at_edges)

    def busy(self, edges: Int64s, lane: int) -> Int64s:
        """Coverage of every cell of one lane: `frame(edges, [lane]).busy[0]`, without looking for
        what covers it.
        """
        at_edges = self.at_edges(edges, [lane])
        covered: Int64s = np.diff(at_edges.passed[0])
        return covered

    def samples(self, at_edges: AtEdges, wanted: Bools, count: int) -> BusyMoments:
        """So many moments of each wanted cell's busy time, one in each of equal parts: what runs
        then has the shares of time that it has in the cell, however many events that are.

        `wanted` is [lane, cell]; cells are answered in the order of `np.nonzero` of it.
        """
        lane, cell = np.nonzero(wanted)
        next_cell = cell + 1
        begin = at_edges.passed[lane, cell]
        end = at_edges.passed[lane, next_cell]
        busy = (end - begin)[:, None]
        part = np.arange(count) + _unsteady(at_edges.edges[cell], count)
        within = part / count
        since_edge = (busy * within).astype(np.int64)
        np.minimum(since_edge, busy - 1, out=since_edge)
        positions = begin[:, None] + since_edge
        reaches_in = at_edges.over[lane, cell] > 0
        first = at_edges.at[lane, cell] - reaches_in
        last = np.maximum(at_edges.at[lane, next_cell] - 1, first)
        rows = np.full(positions.shape, -1, np.int64)
        moments = np.zeros(positions.shape, np.int64)
        is_busy = busy[:, 0] > 0
        for track, run in self._runs_of_track(at_edges.lanes):
            begin_cell, end_cell = np.searchsorted(lane, (run.start, run.stop))
            cells = begin_cell + np.flatnonzero(is_busy[begin_cell:end_cell])
            events_of_cell = (first[cells], last[cells])
            rows[cells], moments[cells] = self._indices[track].rows_at(
                events_of_cell, positions[cells]
            )
        return BusyMoments(rows, moments)

    def running(self, lane: int, moments: Int64s) -> Int64s:
        """The event of a lane that runs at each moment, -1 for none."""
        starts = self._starts[lane]
        if not len(starts):
            return np.full(moments.shape, -1, np.int64)
        row = starts.searchsorted(moments, side="right") - 1
        last_start = starts.take(row, mode="clip")
        last_length = self._lengths[lane].take(row, mode="clip")
        runs = (row >= 0) & (moments < last_start + last_length)
        row_of_track = row + self._lo[lane]
        running: Int64s = np.where(runs, row_of_track, -1)
        return running

    def at_edges(self, edges: Int64s, lanes: Sequence[int] | Int64s) -> AtEdges:
        """How the events of these lanes lie to the edges."""
        numbers = np.asarray(lanes, np.int64)
        lo = self._lo[numbers]
        hi = self._hi[numbers]
        placed = np.zeros((4, len(numbers), len(edges)), np.int64)
        for track, run in self._runs_of_track(numbers):
            part = PlacedAtEdges(*placed[:, run])
            self._indices[track].put_at_edges((lo[run], hi[run]), edges, part)
        at, over, length, passed = placed
        return AtEdges(
            edges=edges,
            lanes=numbers,
            at=at,
            over=over,
            length=length,
            passed=passed,
        )

    def summary(self, edges: Int64s, lanes: Sequence[int] | Int64s) -> Frame:
        """One row for many lanes: in each cell that lane which is busiest there (the first of
        equals).

        Lanes of different tracks run side by side, so their times must not be added up.
        """
        frame = self.frame(edges, lanes)
        if not len(frame.busy):
            empty = np.zeros((1, len(edges) - 1), np.int64)
            none = empty.astype(np.int32)
            return Frame(
                busy=empty,
                count=none,
                dominant=empty - 1,
                lane=none,
                at_edges=frame.at_edges,
            )
        busiest = busiest_lanes(frame)
        cells = np.arange(len(busiest))
        busy = frame.busy[busiest, cells]
        count = frame.count.sum(axis=0, dtype=np.int32)
        dominant = frame.dominant[busiest, cells]
        lane = busiest.astype(np.int32)
        return Frame(
            busy=busy[None, :],
            count=count[None, :],
            dominant=dominant[None, :],
            lane=lane[None, :],
            at_edges=frame.at_edges,
        )

    def _dominant(self, at_edges: AtEdges) -> Int64s:
        """The event with the longest stay in each cell.

        It reaches in from the cell before, is inside, or reaches out into the next cell.
        """
        edges, lanes, *placed = at_edges
        events = np.full((len(lanes), len(edges) - 1), -1, np.int64)
        for track, run in self._runs_of_track(lanes):
            part = PlacedAtEdges(*[column[run] for column in placed])
            self._indices[track].put_dominant(edges, part, events[run])
        return events

    def _runs_of_track(self, numbers: Int64s) -> Iterator[tuple[int, slice]]:
        """Lanes in a row that are of one track which holds events, as their places among these."""
        tracks = self._track_of[numbers].tolist()
        begin = 0
        for end in range(1, len(tracks) + 1):
            track = tracks[begin]
            if end == len(tracks) or tracks[end] != track:
                if len(self.tracks[track].events):
                    yield track, slice(begin, end)
                begin = end

    # ── single events ────────────────────────────────────────────────────────────────────────────

    def step(self, lane: int, ps: int, direction: int) -> int | None:
        """Row of the next event that starts after `ps` (direction > 0), or of the last that starts
        before it.
        """
        starts = self._starts[lane]
        if direction > 0:
            row = int(starts.searchsorted(ps, side="right"))
        else:
            row = int(starts.searchsorted(ps, side="left")) - 1
        if not 0 <= row < len(starts):
            return None
        return row + int(self._lo[lane])


def busiest_lanes(frame: Frame) -> Int64s:
    """Of each cell the row of the frame that is busiest there, the first of equals."""
    # A cell with an event of no length is busier than one without any.
    score = np.where(frame.count > 0, frame.busy, -1)
    busiest: Int64s = score.argmax(axis=0)
    return busiest


def _unsteady(moments: Int64s, count: int) -> Floats:
    """[moment, number]: numbers between 0 and 1 without any order, the same for a moment each time.

    Samples at even distances would keep step with a loop in the trace, and see one part of it.
    """
    seeds = moments[:, None] + np.arange(count)
    numbers = seeds.astype(np.uint64)
    # The steps of splitmix64; products wrap around, as is meant.
    numbers *= np.uint64(0x9E3779B97F4A7C15)
    numbers ^= numbers >> np.uint64(30)
    numbers *= np.uint64(0xBF58476D1CE4E5B9)
    numbers ^= numbers >> np.uint64(27)
    unsteady: Floats = numbers / float(1 << 64)
    return unsteady

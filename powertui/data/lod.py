"""The level-of-detail forest: a frame costs the cells it shows, not the events behind it.

All lanes of a trace stand one after the other in one numbering (tracks in drawing order, each track lane by
lane, as its columns are). Over that numbering lie, per event,

* `cum`, 8 bytes: durations summed up to each event. Coverage of a cell is the difference of two sums, less
  what hangs over its edges: exact, in integers, for a nanosecond and for an hour. (The sum runs over lanes
  and may wrap around int64: a difference of two wrapped sums is still right.)
* `pre` and `suf`, 1 byte each: inside a block of 32 events, which event up to here (from here) is the longest;
* a sparse table over whole blocks, about 2 bytes: which event is the longest in 2^k blocks.

The longest of any range is then the longest of at most four: O(1), and the same for every lane and cell at
once. Starts are looked up in the track's own column: nothing of the trace is copied.

Perfetto's ImplicitSegmentForest has the same aim in O(log n); a sparse table over blocks has no loop over
levels, which in numpy would be one round of calls for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from powertui.data.model import Int32s, Int64s, Trace, Track

BLOCK = 32
_SHIFT = 5
_CHUNK = 4096  # blocks handled at once while building: 1 MiB of durations stays in the cache, and no call holds the GIL for long


class LaneId(NamedTuple):
    """One lane of one track: `track` counts the tracks of `Trace.tracks()`, `depth` its lanes."""

    track: int
    depth: int


@dataclass(frozen=True, eq=False)
class Frame:
    """What a grid of cells shows: one row per lane, one column per cell. Cells are [edge, next edge).

    A zero-duration event belongs to the cell that holds its start. `count` > 0 therefore says of every
    cell whether anything at all happened in it, however short.
    """

    busy: Int64s  # ps of the cell that events cover, exactly
    count: Int32s  # events that touch the cell
    dominant: Int64s  # row (in its track's columns) of the event that covers most of the cell, the earliest of equals; -1 for none
    lane: Int32s  # which lane (of those asked for) `dominant` is in: tells rows apart in a summary; equals the row otherwise

    @property
    def shape(self) -> tuple[int, int]:
        return (self.busy.shape[0], self.busy.shape[1])


class Forest:
    """The index of one trace (or of some tracks). Made once, asked once per frame; immutable after that."""

    def __init__(self, tracks: Sequence[Track], *, progress: Callable[[int], None] | None = None) -> None:
        self.tracks = tuple(tracks)
        sizes = [len(track.events) for track in self.tracks]
        self.base: Int64s = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
        self.lanes: tuple[LaneId, ...] = tuple(
            LaneId(t, depth) for t, track in enumerate(self.tracks) for depth in range(track.lane_count)
        )
        self._first_lane = np.concatenate([[0], np.cumsum([t.lane_count for t in self.tracks], dtype=np.int64)])
        # Where each lane begins and ends in the common numbering, and its starts as a view of the track's column.
        self._lo = np.empty(len(self.lanes), np.int64)
        self._hi = np.empty(len(self.lanes), np.int64)
        self._starts: list[Int64s] = []
        for number, (t, depth) in enumerate(self.lanes):
            track = self.tracks[t]
            lo, hi = int(track.lanes[depth]), int(track.lanes[depth + 1])
            self._lo[number], self._hi[number] = self.base[t] + lo, self.base[t] + hi
            self._starts.append(track.events.start[lo:hi])
        total = int(self.base[-1])
        self._cum = np.zeros(total + 1, np.int64)
        self._pre = np.zeros(total, np.uint8)
        self._suf = np.zeros(total, np.uint8)
        self._build(progress)

    @classmethod
    def of(cls, trace: Trace, *, progress: Callable[[int], None] | None = None) -> Forest:
        """The index over every track of a trace. `progress` is told how many events are indexed, and may raise to stop."""
        return cls([track for _, track in trace.tracks()], progress=progress)

    # ── building ─────────────────────────────────────────────────────────────────────────────────

    def _build(self, progress: Callable[[int], None] | None) -> None:
        total = int(self.base[-1])
        carry = 0
        for t, track in enumerate(self.tracks):
            durations = track.events.duration
            for lo in range(0, len(durations), BLOCK * _CHUNK):
                part = durations[lo : lo + BLOCK * _CHUNK]
                at = int(self.base[t]) + lo + 1
                out = self._cum[at : at + len(part)]
                np.cumsum(part, out=out)
                out += carry
                carry = int(out[-1])
        blocks = -(-total // BLOCK)
        longest = np.full(blocks, -1, np.int64)
        where = np.zeros(blocks, np.int32 if total < 2**31 else np.int64)
        for lo in range(0, blocks, _CHUNK):
            hi = min(lo + _CHUNK, blocks)
            self._build_blocks(lo, hi, total, longest, where)
            if progress is not None:
                progress(min(hi * BLOCK, total))
        self._table = _sparse_table(longest, where, int((self._hi - self._lo).max(initial=0)) // BLOCK)

    def _build_blocks(self, lo: int, hi: int, total: int, longest: Int64s, where: npt.NDArray[Any]) -> None:
        """Prefix and suffix winners of the blocks [lo, hi), column by column over all of them at once."""
        first, last = lo * BLOCK, min(hi * BLOCK, total)
        flat = np.full((hi - lo) * BLOCK, -1, np.int64)
        flat[: last - first] = self._cum[first + 1 : last + 1] - self._cum[first:last]
        columns = np.ascontiguousarray(flat.reshape(-1, BLOCK).T)
        pre = np.zeros(columns.shape, np.uint8)
        suf = np.full(columns.shape, BLOCK - 1, np.uint8)
        best = columns[0].copy()
        for j in range(1, BLOCK):
            longer = columns[j] > best  # strictly: of equals the earliest wins
            np.copyto(pre[j], pre[j - 1])
            pre[j][longer] = j
            np.maximum(best, columns[j], out=best)
        longest[lo:hi] = best
        where[lo:hi] = pre[-1] + np.arange(lo, hi) * BLOCK
        best = columns[-1].copy()
        for j in range(BLOCK - 2, -1, -1):
            longer = columns[j] >= best
            np.copyto(suf[j], suf[j + 1])
            suf[j][longer] = j
            np.maximum(best, columns[j], out=best)
        self._pre[first:last] = pre.T.reshape(-1)[: last - first]
        self._suf[first:last] = suf.T.reshape(-1)[: last - first]

    @property
    def nbytes(self) -> int:
        """What the index takes beside the trace's own columns."""
        return int(self._cum.nbytes + self._pre.nbytes + self._suf.nbytes + self._table.nbytes)

    # ── asking ───────────────────────────────────────────────────────────────────────────────────

    def lane_number(self, track: int, depth: int) -> int:
        """The number of a lane, as `frame` takes it."""
        return int(self._first_lane[track]) + depth

    def lane_busy(self, lane: int) -> int:
        """Everything that one lane holds, in ps."""
        return int(self._cum[self._hi[lane]] - self._cum[self._lo[lane]])

    def track_busy(self, track: int) -> int:
        """Time that the outermost lane of a track covers, in ps: its nested lanes lie inside."""
        lane = self.lane_number(track, 0)
        return self.lane_busy(lane) if self.tracks[track].lane_count else 0

    def frame(self, edges: Int64s, lanes: Sequence[int] | Int64s) -> Frame:
        """Coverage, count and dominant event of every cell of every lane: one query for the whole screen."""
        numbers = np.asarray(lanes, np.int64)
        shape = (len(numbers), len(edges))
        at = np.empty(shape, np.int64)  # the first event of the lane that starts at or after the edge
        before = np.zeros(shape, np.int64)  # the start of the one before it
        for row, number in enumerate(numbers.tolist()):
            starts = self._starts[number]
            if len(starts):
                found = starts.searchsorted(edges)
                starts.take(found - 1, mode="clip", out=before[row])
                np.add(found, self._lo[number], out=at[row])
            else:
                at[row] = self._lo[number]
        first = self._lo[numbers][:, None]
        sums = _gather(self._cum, at)
        over = before + (sums - _gather(self._cum, np.maximum(at - 1, 0))) - edges
        over[at <= first] = 0
        np.maximum(over, 0, out=over)  # how far the event before each edge reaches past it
        busy = np.diff(sums - over, axis=1)
        hangs_in, hangs_out = over[:, :-1] > 0, over[:, 1:] > 0
        count = (at[:, 1:] - at[:, :-1] + hangs_in).astype(np.int32)
        dominant = self._dominant(at, over, hangs_in, hangs_out, np.diff(edges))
        track_base = self.base[[self.lanes[number].track for number in numbers.tolist()]][:, None]
        local = np.where(dominant >= 0, dominant - track_base, -1) if len(numbers) else dominant
        rows = np.broadcast_to(np.arange(len(numbers), dtype=np.int32)[:, None], busy.shape)
        return Frame(busy, count, local, rows)

    def summary(self, edges: Int64s, lanes: Sequence[int] | Int64s) -> Frame:
        """One row for many lanes: in each cell that lane which is busiest there (the first of equals).

        Lanes of different tracks run side by side, so their times must not be added up.
        """
        whole = self.frame(edges, lanes)
        if not len(whole.busy):
            empty = np.zeros((1, len(edges) - 1), np.int64)
            return Frame(empty, empty.astype(np.int32), empty - 1, empty.astype(np.int32))
        score = np.where(whole.count > 0, whole.busy, -1)
        pick = score.argmax(axis=0)
        cells = np.arange(score.shape[1])
        return Frame(
            whole.busy[pick, cells][None, :],
            whole.count.sum(axis=0, dtype=np.int32)[None, :],
            whole.dominant[pick, cells][None, :],
            pick.astype(np.int32)[None, :],
        )

    def _dominant(
        self, at: Int64s, over: Int64s, hangs_in: npt.NDArray[np.bool_], hangs_out: npt.NDArray[np.bool_], widths: Int64s
    ) -> Int64s:
        """The event with the longest stay in each cell: one that hangs in, one inside, or one that hangs out."""
        lo, hi = at[:, :-1], at[:, 1:]
        best = np.where(hangs_in, np.minimum(over[:, :-1], widths), -1)
        winner = np.where(hangs_in, lo - 1, -1)
        inside = hi - (hangs_out & (hi > lo))  # [lo, inside): events that start and end in the cell
        some = np.nonzero(inside > lo)
        if len(some[0]):
            found = self._longest(lo[some], inside[some])
            stay = self._duration(found)
            wins = stay > best[some]
            best[some] = np.where(wins, stay, best[some])
            winner[some] = np.where(wins, found, winner[some])
        last = np.nonzero(inside < hi)
        if len(last[0]):
            found = hi[last] - 1
            stay = self._duration(found) - over[:, 1:][last]
            wins = stay > best[last]
            winner[last] = np.where(wins, found, winner[last])
        return winner

    def _duration(self, rows: Int64s) -> Int64s:
        length: Int64s = _gather(self._cum, rows + 1) - _gather(self._cum, rows)
        return length

    def _longest(self, lo: Int64s, hi: Int64s) -> Int64s:
        """The longest event of each range [lo, hi), hi > lo; the earliest of equals."""
        winner: Int64s = lo.copy()
        first, last = lo >> _SHIFT, (hi - 1) >> _SHIFT
        near = np.flatnonzero((first == last) & (hi - lo > 1))
        if len(near):
            winner[near] = self._scan(lo[near], hi[near])
        far = np.flatnonzero(first != last)
        if len(far):
            a, b, fa, fb = lo[far], hi[far], first[far], last[far]
            pick = (fa << _SHIFT) + _gather(self._suf, a)
            stay = self._duration(pick)
            mid = np.flatnonzero(fb - fa > 1)
            if len(mid):
                blocks = fb[mid] - fa[mid] - 1
                level = np.frexp(blocks.astype(np.float64))[1] - 1  # floor(log2): exact for any count of blocks below 2^53
                for column in (fa[mid] + 1, fb[mid] - (np.int64(1) << level.astype(np.int64))):
                    self._better(pick, stay, mid, _gather(self._table, (level, column)).astype(np.int64))
            self._better(pick, stay, np.arange(len(far)), (fb << _SHIFT) + _gather(self._pre, b - 1))
            winner[far] = pick
        return winner

    def _better(self, pick: Int64s, stay: Int64s, rows: Int64s, other: Int64s) -> None:
        """Put `other` in where it is longer. Called from the earliest candidate to the latest: ties keep the earlier."""
        challenge = self._duration(other)
        wins = challenge > stay[rows]
        pick[rows] = np.where(wins, other, pick[rows])
        stay[rows] = np.where(wins, challenge, stay[rows])

    def _scan(self, lo: Int64s, hi: Int64s) -> Int64s:
        """Ranges inside one block: at most 32 events each, looked at side by side."""
        widest = int((hi - lo).max())
        steps = np.arange(widest + 1)
        rows = np.minimum(lo[:, None] + steps, len(self._cum) - 1)
        durations = np.diff(_gather(self._cum, rows), axis=1)
        durations[lo[:, None] + steps[:-1] >= hi[:, None]] = -1
        found: Int64s = lo + durations.argmax(axis=1)
        return found

    # ── single events ────────────────────────────────────────────────────────────────────────────

    def step(self, lane: int, ps: int, direction: int) -> int | None:
        """Row of the next event that starts after `ps` (direction > 0), or of the last that starts before it."""
        starts = self._starts[lane]
        if direction > 0:
            row = int(starts.searchsorted(ps, side="right"))
        else:
            row = int(starts.searchsorted(ps, side="left")) - 1
        if not 0 <= row < len(starts):
            return None
        return row + int(self._lo[lane] - self.base[self.lanes[lane].track])


def _gather(array: npt.NDArray[Any], index: Any) -> npt.NDArray[Any]:
    """Every look into the index goes through here, so that a test can count them."""
    return cast(npt.NDArray[Any], array[index])


def _sparse_table(longest: Int64s, where: npt.NDArray[Any], span: int) -> npt.NDArray[Any]:
    """Row k: the longest event of 2^k blocks, beginning at each. `span`: the most blocks that one range can hold."""
    levels = max(1, span.bit_length())
    table = np.zeros((levels, len(where)), where.dtype)
    if not len(where):
        return table
    table[0] = where
    for level in range(1, levels):
        half = 1 << (level - 1)
        keep = len(where) - (1 << level) + 1
        if keep <= 0:
            break
        left, right = longest[:keep], longest[half : half + keep]
        longer = right > left
        np.copyto(table[level, :keep], table[level - 1, :keep])
        np.copyto(table[level, :keep], table[level - 1, half : half + keep], where=longer)
        longest = np.maximum(left, right)
    return table

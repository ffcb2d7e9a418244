"""What lies over the times of one track, so that the events at a moment, sums and the longest event
of any rows are found by a few looks: less than two bytes an event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from powertui.data import wire
from powertui.data.model import Int32s, Int64s, Track, UInt8s
from powertui.data.wire.types import PlacedAtEdges
from powertui.value_types import dataclass

if TYPE_CHECKING or not wire.COMPILED:
    from powertui.data.wire.pure import cells
else:
    from powertui.data.wire import compiled_cells as cells

# Events indexed in one call, so that no call holds the GIL for long.
_CHUNK_EVENTS = 4096 * wire.BLOCK


@dataclass(frozen=True, eq=False)
class TrackIndex:
    """The durations of a track by blocks of 16, and every 64th start."""

    starts: Int64s
    durations: Int64s
    guide: Int64s  # the start of every GUIDE rows: a search looks at few that no cache holds
    before: Int64s  # durations summed up to each block, and to the end
    top: UInt8s  # which of its block is the longest
    table: Int32s  # row k: the block that holds the longest event of the 2^k groups from each on

    @property
    def nbytes(self) -> int:
        """What it takes beside starts and durations."""
        return self.guide.nbytes + self.before.nbytes + self.top.nbytes + self.table.nbytes

    def sums(self, rows: Int64s) -> Int64s:
        """Durations summed up to these rows."""
        return wire.sums(self.durations, self.before, rows)

    def put_at_edges(
        self, lanes: tuple[Int64s, Int64s], edges: Int64s, into: PlacedAtEdges
    ) -> None:
        """How the events of lanes, by their first rows and those behind their last ones, are placed
        at edges.
        """
        cells.at_edges((self.starts, self.durations), self.before, self.guide, lanes, edges, into)

    def put_dominant(self, edges: Int64s, placed: PlacedAtEdges, into: Int64s) -> None:
        """Of each cell between two edges the event that covers most of it, -1 for none."""
        cells.dominant(self.durations, (self.top, self.table), edges, placed, into)

    def rows_at(self, within: tuple[Int64s, Int64s], positions: Int64s) -> tuple[Int64s, Int64s]:
        """The events in which the durations, summed up, reach these positions of each cell, and the
        moments of that. `within`: the first and the last event of each cell.
        """
        return cells.rows_at((self.starts, self.durations), self.before, within, positions)


def track_index(
    track: Track,
    done: int,
    progress: Callable[[int], None] | None,
) -> TrackIndex:
    """`progress` hears how many events are indexed, with those `done` before this track."""
    durations = track.events.duration
    block_count = -(-len(durations) // wire.BLOCK)
    before = np.zeros(block_count + 1, np.int64)
    sums_of_blocks = before[1:]
    top = np.empty(block_count, np.uint8)
    longest = np.empty(block_count, np.int64)
    for begin in range(0, len(durations), _CHUNK_EVENTS):
        chunk = durations[begin : begin + _CHUNK_EVENTS]
        sums, top_rows = wire.blocks(chunk)
        chunk_blocks = len(top_rows)
        first_block = begin // wire.BLOCK
        blocks = slice(first_block, first_block + chunk_blocks)
        sums_of_blocks[blocks] = sums
        top[blocks] = top_rows
        first_events = np.arange(chunk_blocks) * wire.BLOCK
        longest[blocks] = chunk[first_events + top_rows]
        if progress is not None:
            progress(done + begin + len(chunk))
    np.cumsum(before, out=before)
    events_of_lanes = np.diff(track.lanes)
    largest_lane = int(events_of_lanes.max(initial=0))
    most_groups = largest_lane // (wire.BLOCK * wire.FAN)
    return TrackIndex(
        starts=track.events.start,
        durations=durations,
        guide=track.events.start[:: wire.GUIDE].copy(),
        before=before,
        top=top,
        table=sparse_table(longest, most_groups),
    )


def sparse_table(longest: Int64s, span: int) -> Int32s:
    """Which block has the longest of 1, 2, 4, 8 … groups, beginning at each.

    `span`: the most whole groups one range can hold.
    """
    group_count = -(-len(longest) // wire.FAN)
    # The last group is filled up with what is never the longest.
    shortest = np.iinfo(np.int64).min
    blocks = np.full((group_count, wire.FAN), shortest)
    blocks.reshape(-1)[: len(longest)] = longest
    levels = span.bit_length()
    table = np.zeros((levels, group_count), np.int32)
    if not levels:
        return table
    first_blocks = np.arange(group_count) * wire.FAN
    table[0] = blocks.argmax(axis=1) + first_blocks
    best = blocks.max(axis=1)
    for level in range(1, levels):
        # A run of 2^level groups is two runs of half of them, side by side.
        half = 1 << (level - 1)
        runs = len(best) - half
        lower = best[:runs]
        upper = best[half:]
        table_below = table[level - 1]
        upper_blocks = table_below[half : half + runs]
        runs_of_level = table[level, :runs]
        np.copyto(runs_of_level, table_below[:runs])
        np.copyto(runs_of_level, upper_blocks, where=upper > lower)
        best = np.maximum(lower, upper)
    return table

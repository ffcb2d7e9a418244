"""What lies over the durations of one track, so that sums and the longest event of any rows are
found by a few looks: less than two bytes an event.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from powertui.data import wire
from powertui.data.model import Int32s, Int64s, Track, UInt8s
from powertui.value_types import dataclass

# Events indexed in one call, so that no call holds the GIL for long.
_CHUNK_EVENTS = 4096 * wire.BLOCK


@dataclass(frozen=True, eq=False)
class TrackIndex:
    """The durations of a track by blocks of 16."""

    durations: Int64s
    before: Int64s  # durations summed up to each block, and to the end
    top: UInt8s  # which of its block is the longest
    table: Int32s  # row k: the block that holds the longest event of the 2^k groups from each on

    @property
    def nbytes(self) -> int:
        """What it takes beside the durations."""
        return self.before.nbytes + self.top.nbytes + self.table.nbytes

    def sums(self, rows: Int64s) -> Int64s:
        """Durations summed up to these rows."""
        return wire.sums(self.durations, self.before, rows)

    def longest(self, lo: Int64s, hi: Int64s) -> Int64s:
        """The longest event of each range of rows, the first of equals."""
        return wire.longest(self.durations, self.top, self.table, lo, hi)

    def row_at(self, position: Int64s) -> tuple[Int64s, Int64s]:
        """The event in which the durations, summed up, reach this position, and how far into it
        that is.
        """
        last_block = len(self.before) - 2
        block = self.before.searchsorted(position, side="right") - 1
        np.clip(block, 0, last_block, out=block)
        first_row = block * wire.BLOCK
        rows_of_block = first_row[..., None] + np.arange(wire.BLOCK)
        length = self.durations.take(rows_of_block, mode="clip")
        before_block = self.before[block]
        end = before_block[..., None] + length.cumsum(axis=-1)
        has_ended = end <= position[..., None]
        in_block = has_ended.sum(axis=-1)
        np.minimum(in_block, wire.BLOCK - 1, out=in_block)
        row = np.minimum(first_row + in_block, len(self.durations) - 1)
        begin = np.take_along_axis(end - length, in_block[..., None], axis=-1)
        return row, position - begin[..., 0]


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
        durations=durations,
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

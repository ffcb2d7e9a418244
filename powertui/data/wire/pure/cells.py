"""What the cells of a picture show of the events: how these are placed at the edges, which of them
covers most of a cell, and which runs at a moment.

    at_edges(times, before, guide, lanes, edges, made)
        How events are placed at edges, put into `made` (PlacedAtEdges). `times`: (starts,
        durations) of a track that holds events, `lanes`: the first row of each lane asked for, and
        the row behind its last; `guide` is the start of every GUIDE rows.
    dominant(duration, (top, table), edges, made, events)
        The event that covers most of each cell between two edges, the first of equals, -1 for none:
        put into `events`, [lane, cell]. table[k, g] is the block that holds the longest of 2**k
        groups from g on; a group is FAN blocks.
    rows_at(times, before, (first, last), positions) -> (rows, moments)
        [cell, number]: the event, from `first` to `last` of the cell, in which the durations summed
        up reach each position, and the moment of that.
"""

from __future__ import annotations

import numpy as np

from powertui.data.wire.pure import columns
from powertui.data.wire.types import BLOCK, Int32s, Int64s, PlacedAtEdges, UInt8s


def at_edges(
    times: tuple[Int64s, Int64s],
    before: Int64s,
    guide: Int64s,  # noqa: ARG001  for the compiled search alone
    lanes: tuple[Int64s, Int64s],
    edges: Int64s,
    made: PlacedAtEdges,
) -> None:
    """How the events of lanes are placed at edges. See the module's docstring."""
    start, duration = times
    at, over, length, passed = made
    for lane, (lo, hi) in enumerate(zip(*lanes, strict=True)):
        at[lane] = lo
        over[lane] = 0
        length[lane] = 0
        if lo == hi:
            continue
        starts = start[lo:hi]
        next_event = starts.searchsorted(edges)
        at[lane] += next_event
        duration[lo:hi].take(next_event - 1, mode="clip", out=length[lane])
        past_edge = starts.take(next_event - 1, mode="clip") + length[lane] - edges
        np.maximum(past_edge, 0, out=over[lane], where=next_event > 0)
    sums_of_all = columns.sums(duration, before, at.reshape(-1))
    passed[...] = sums_of_all.reshape(at.shape) - over


def dominant(
    duration: Int64s,
    index: tuple[UInt8s, Int32s],
    edges: Int64s,
    made: PlacedAtEdges,
    events: Int64s,
) -> None:
    """The event that covers most of each cell. See the module's docstring."""
    widths = np.diff(edges)
    over_left = made.over[:, :-1]
    over_right = made.over[:, 1:]
    hangs_in = over_left > 0
    hangs_out = over_right > 0
    lo = made.at[:, :-1]
    hi = made.at[:, 1:]
    best = np.where(hangs_in, np.minimum(over_left, widths), -1)
    events[...] = np.where(hangs_in, lo - 1, -1)
    inside = hi - (hangs_out & (hi > lo))  # [lo, inside): events that start and end in the cell
    cell = np.nonzero(inside > lo)
    if len(cell[0]):
        row = columns.longest(duration, *index, lo[cell], inside[cell])
        _keep_longer(events, best, cell, row, duration.take(row))
    last = np.nonzero(inside < hi)
    if len(last[0]):
        stay = made.length[:, 1:][last] - over_right[last]
        _keep_longer(events, best, last, hi[last] - 1, stay)


def _keep_longer(
    winner: Int64s, best: Int64s, cells: tuple[Int64s, ...], candidate: Int64s, stay: Int64s
) -> None:
    """Put an event in where it stays longer.

    Called from the earliest candidate to the latest: ties keep the earlier.
    """
    longest_stay = best[cells]
    wins = stay > longest_stay
    winner[cells] = np.where(wins, candidate, winner[cells])
    best[cells] = np.where(wins, stay, longest_stay)


def rows_at(
    times: tuple[Int64s, Int64s],
    before: Int64s,
    within: tuple[Int64s, Int64s],
    positions: Int64s,
) -> tuple[Int64s, Int64s]:
    """The events in which summed-up durations reach positions. See the module's docstring."""
    start, duration = times
    first, last = within
    block = before.searchsorted(positions, side="right") - 1
    # Sums that have wrapped around are not in order: the answer stays in its cell.
    np.clip(block, first[:, None] // BLOCK, last[:, None] // BLOCK, out=block)
    rows_of_block = block[..., None] * BLOCK + np.arange(BLOCK)
    length = duration.take(rows_of_block, mode="clip")
    end = before[block][..., None] + length.cumsum(axis=-1)
    inside = (end <= positions[..., None]).sum(axis=-1)
    np.minimum(inside, BLOCK - 1, out=inside)
    passed = np.take_along_axis(end - length, inside[..., None], axis=-1)[..., 0]
    row = np.clip(block * BLOCK + inside, first[:, None], last[:, None])
    return row, start[row] + positions - passed

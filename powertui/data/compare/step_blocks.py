"""A figure of a window, block by block of its steps, for ops and kernels that have calls in each.

How much the blocks differ shows how far two stretches of one run may be apart by drift alone
(`drift`). An op without a call in some block has no call in each step: what its blocks show is
when it was called, and no drift.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from powertui.data.compare.drift import block_edges
from powertui.data.compare.part import ComparedPart, HostWindow, step_bounds
from powertui.data.compare.values import ValueKey
from powertui.data.model import Floats, Int64s
from powertui.named_tuples import NamedTuple

# Of a whole run: windows of a seventh of it, the longest that its pairs can judge, are 16 pieces.
_MAX_PIECES = 112


class StepBlock(NamedTuple):
    """Consecutive steps of all hosts of a run, with what lies between them."""

    windows: tuple[HostWindow, ...]
    bounds: tuple[tuple[int, int], ...]  # ps; of each window
    steps: int  # of the host with most of them


def step_blocks(part: ComparedPart) -> tuple[StepBlock, ...]:
    """The blocks of a part; () where a host has too few steps, or another number of blocks."""
    return _joined_hosts(part.windows, block_edges)


def run_pieces(part: ComparedPart) -> tuple[StepBlock, ...]:
    """The whole run that a part is of, piece by piece; () where the part is the whole run."""
    if all(window.is_whole for window in part.windows):
        return ()
    windows = [HostWindow(window.profile) for window in part.windows]
    return _joined_hosts(windows, _piece_edges)


def _piece_edges(steps: int) -> Int64s:
    pieces = min(steps, _MAX_PIECES)
    edges = np.linspace(0, steps, pieces + 1).round()
    return np.asarray(edges, np.int64)


def _joined_hosts(
    windows: Sequence[HostWindow],
    edges_of: Callable[[int], Int64s],
) -> tuple[StepBlock, ...]:
    by_host = [list(_host_blocks(window, edges_of)) for window in windows]
    counts = {len(blocks) for blocks in by_host}
    if len(counts) != 1 or counts == {0}:
        return ()
    blocks = []
    for hosts in zip(*by_host, strict=True):
        blocks.append(
            StepBlock(
                windows=tuple(block.window for block in hosts),
                bounds=tuple(block.bounds for block in hosts),
                steps=max(block.steps for block in hosts),
            )
        )
    return tuple(blocks)


class _HostBlock(NamedTuple):
    window: HostWindow
    bounds: tuple[int, int]  # ps
    steps: int


def _host_blocks(window: HostWindow, edges_of: Callable[[int], Int64s]) -> Iterator[_HostBlock]:
    """Blocks without a gap: what runs between two epochs counts in the whole window, too."""
    rows = window.rows
    if not len(rows):
        return
    step_starts, _ = step_bounds(window.profile)
    _, end_of_window = window.bounds
    starts = [*step_starts[rows].tolist(), end_of_window]
    edges = edges_of(len(rows)).tolist()
    for first, last in itertools.pairwise(edges):
        lo = starts[first]
        hi = starts[last]
        block = HostWindow(window.profile, lo, hi)
        yield _HostBlock(block, (lo, hi), last - first)


def called_in_each(
    blocks: Sequence[Mapping[ValueKey, float]],
) -> dict[ValueKey, tuple[float, ...]]:
    """The values of each block, of the keys that all of them have."""
    if not blocks:
        return {}
    common = set(blocks[0]).intersection(*blocks[1:])
    by_key = {}
    for key in common:
        values = tuple(block[key] for block in blocks)
        if min(values) > 0:
            by_key[key] = values
    return by_key


def in_all_pieces(
    pieces: Sequence[StepBlock],
    values: Sequence[Mapping[ValueKey, float]],
) -> tuple[dict[ValueKey, Floats], float]:
    """The course of each value over the run, and how many steps a piece of it has."""
    keys = dict.fromkeys(key for piece in values for key in piece)
    series = {}
    for key in keys:
        course = [piece.get(key, 0.0) for piece in values]
        series[key] = np.array(course)
    steps = sum(piece.steps for piece in pieces)
    steps_of_piece = steps / max(1, len(pieces))
    return series, steps_of_piece

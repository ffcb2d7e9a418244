"""How far two stretches of one machine's steps may lie apart by its drift alone.

A machine drifts: on our recordings windows of 20 steps of one epoch differ by more than 5 % in up
to three of four neighboring pairs. Steps that follow each other are alike, so their scatter says
little of the scatter of their means. Each stretch is therefore cut into eight blocks, and the
blocks' means stand for it. How much they differ shows both noise and drift at the scale of the
stretch.

The interval is that of the worst steady drift, a random walk, in which each stretch goes on from
where the last one ended. `_RANDOM_WALK_REACH` is from 20,000 simulated pairs of it, and was fixed
before any recording was looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from powertui.data.model import Floats, Int64s

BLOCKS = 8  # of a stretch; 8, 10 and 16 give the same reach to 3 %
MIN_STEPS = 5  # of fewer nobody can say how they drift; below 16 a block is a single step
# Of 20,000 pairs of neighboring stretches of a random walk, 99 % are no further apart than so many
# standard deviations of their blocks' means (5 blocks: 5.1, 8 blocks: 4.8; 95 %: 3.9). White noise
# needs 1.5. With the 95 % value, runs whose level jumps, or that something slows for a while,
# differed by chance in up to 10 % of pairs.
_RANDOM_WALK_REACH = 5.1
# Of many figures the largest counts: of 300,000 such pairs the reach at which one of 10, 100 and
# 1,000 independent figures is beyond it by chance in 1 % grew by 1.33, 1.75 and 2.24 with 5 blocks,
# and by less with 8. A power of their number covers all of them.
_FIGURES_GROWTH = 0.12
# What lies between the two stretches lets them walk further apart: at a gap of 1, 3 and 7 lengths
# the same simulation gave 1.9, 3.0 and 4.4 times the reach.
_GAP_GROWTH = 2.75

MIN_WINDOWS = 7  # in a run; the 231 pairs of overlapping ones are the fewest that show 1 %
# Pairs that differ as much may be this share of all. Of 300 simulated runs that something slows for
# a while, so many had more than 5 % of their windows of 20 steps called different: 1 with this
# value, 24 with twice it, and with 5 % it was up to 16 % of the windows of one run.
MAX_PAIR_SHARE = 0.01


def block_edges(steps: int) -> Int64s:
    """Where the blocks of so many steps begin and end; a single 0 where the steps are too few."""
    if steps < MIN_STEPS:
        return np.zeros(1, np.int64)
    blocks = min(steps, BLOCKS)
    edges = np.linspace(0, steps, blocks + 1).round()
    return np.asarray(edges, np.int64)


def block_means(values: Floats) -> Floats:
    """The means of consecutive blocks of steps; empty where the steps are too few."""
    edges = block_edges(len(values))
    if len(edges) == 1:
        return np.empty(0, np.float64)
    totals = np.add.reduceat(values, edges[:-1])
    steps = np.diff(edges)
    return np.asarray(totals / steps)


def reach(
    a_blocks: Sequence[float],
    b_blocks: Sequence[float],
    gap: float = 0.0,
    figures: int = 1,
) -> float:
    """Half of the interval of the difference; `gap` is what lies between, in lengths of one.

    `figures` are judged together.
    """
    variance_a = float(np.var(a_blocks, ddof=1))
    variance_b = float(np.var(b_blocks, ddof=1))
    variance = (variance_a + variance_b) / 2
    growth = math.pow(max(1, figures), _FIGURES_GROWTH)
    widened = _RANDOM_WALK_REACH * growth
    variance_over_gap = (1 + _GAP_GROWTH * gap) * variance
    return widened * math.sqrt(variance_over_gap)


def share_as_far_apart(series: Floats, length: int, difference: float) -> float | None:
    """Of all pairs of windows of a run, the share whose means differ as much; None for too few.

    `difference` is a ratio's logarithm. What slows a machine for a while is rare in its blocks but
    usual in such a run: only this share shows it.
    """
    if length < 1 or len(series) < MIN_WINDOWS * length:
        return None
    stride = max(1, length // 4)
    logs = _window_logs(series, length, stride)
    # The pair that is asked about counts, too, whatever its rounding.
    least = abs(difference) * (1 - 1e-9)
    pairs = as_far = 0
    first_without_overlap = math.ceil(length / stride)
    for ahead in range(first_without_overlap, len(logs)):
        later = logs[ahead:]
        earlier = logs[:-ahead]
        differences = np.abs(later - earlier)
        pairs += len(differences)
        is_as_far = differences >= least
        as_far += int(is_as_far.sum())
    if not pairs:
        return None
    return as_far / pairs


def _window_logs(series: Floats, length: int, stride: int) -> Floats:
    """The logarithms of the sums of all windows, a stride apart."""
    sums_so_far = np.cumsum(series)
    sums = np.concatenate([[0.0], sums_so_far])
    last_start = len(series) - length
    starts = np.arange(0, last_start + 1, stride)
    ends = starts + length
    totals = sums[ends] - sums[starts]
    least = np.finfo(np.float64).tiny
    positive = np.maximum(totals, least)
    return np.asarray(np.log(positive))

"""The third witness: steps against their own neighbours. Stalls, shifts and drifts, with one epoch or none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.energy import scan
from powertui.data.energy.fold import TRACING
from powertui.data.model import PS_PER_S, Bools, Floats, Int64s, Steps

_LEAST = 20  # steps that tell what is usual
_CHANCE = 1e-3
_FIRST = 20  # steps at the beginning that may still trace


class Slow(NamedTuple):
    """Steps (rows, the second past the end) that took longer than those around them."""

    first: int
    last: int
    seconds: float  # longer, altogether
    p: float


def seconds(steps: Steps) -> Floats:
    """The length of every step: to the next one's start."""
    return np.asarray((steps.ends() - steps.start) / PS_PER_S, np.float64)


def groups(steps: Steps) -> list[Int64s]:
    """Rows of steps that follow one another: an epoch's, or all where no step belongs to one."""
    return [np.flatnonzero(steps.epoch == number) for number in np.unique(steps.epoch)] if len(steps) else []


def regular(length: Floats) -> Bools:
    """Which steps of a group are not tracing, and not the last, whose end is its own."""
    if not len(length):
        return np.zeros(0, np.bool_)
    usual = float(np.median(length))
    slow = length > TRACING * usual
    slow[min(_FIRST, len(slow)) :] = False
    good = ~np.logical_and.accumulate(slow)
    good[-1:] = False
    return np.asarray(good)


def sure(one: scan.ScannedStretch, looks: int = 1) -> bool:
    """Whether noise would not show such a stretch once in a thousand such series: what is told has to be worth a look."""
    return scan.tail(abs(one.mean) / max(one.error, 1e-12), one.blocks, looks) <= _CHANCE


def time(steps: Steps, rng: np.random.Generator) -> list[Slow]:
    """Stretches of steps that took longer than the usual step of their group."""
    found = []
    every = seconds(steps)
    for rows in groups(steps):
        length = every[rows]
        usable = regular(length)
        if usable.sum() < _LEAST:
            continue
        usual = float(np.median(length[usable]))
        for one in scan.stretches(length - usual, usable, 1, 1, 0.01 * usual, 1, rng):
            if one.mean > 0.05 * usual and sure(one):
                more = float((length[one.first : one.last] - usual).sum())
                found.append(Slow(int(rows[one.first]), int(rows[one.last - 1]) + 1, more, one.p))
    return found

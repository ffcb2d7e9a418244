"""Stalls that belong to how a program runs, every so many steps, and many stalls: one line tells of
them all.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from powertui.data.energy.findings import neighbours
from powertui.data.energy.findings.finding import NEIGHBOURS, Finding

_LEAST = 4  # stalls at equal distances that make a rhythm
_MOST = 8  # stalls that are listed one by one
_STANDS_OUT = 3  # times the usual stall: such a one is listed by itself
_LONGEST = 6  # steps: what is longer is a slower pace
_ALIKE = 1.5  # the longest stall of a rhythm against its shortest
_SLACK = 2  # steps by which distances may differ


def stalls(found: Sequence[Finding]) -> tuple[list[Finding], list[str]]:
    """(stalls that need not be listed one by one, a sentence for each kind of them)."""
    mine = [
        one
        for one in found
        if one.kind == "time" and one.witnesses == (NEIGHBOURS,) and _short(one)
    ]
    left, said = _at_intervals(mine)
    rest = [one for one in mine if one not in left]
    if len(rest) > _MOST:
        usual = float(np.median([one.delta_seconds or 0.0 for one in rest]))
        rest = [one for one in rest if (one.delta_seconds or 0.0) <= _STANDS_OUT * usual]
        left += rest
        count = (
            f"{len(rest)} stalls" if len(mine) < neighbours.MANY else f"At least {len(rest)} stalls"
        )
        said.append(
            f"{count} of {_seconds(rest)}, {_sum(rest):.2g} s in all: among the smaller differences"
        )
    return left, said


def _at_intervals(mine: Sequence[Finding]) -> tuple[list[Finding], list[str]]:
    """After the same number of steps again and again."""
    for longest in sorted(mine, key=lambda one: -(one.delta_seconds or 0.0)):
        most = longest.delta_seconds or 0.0
        alike = [
            one
            for one in mine
            if one.epoch == longest.epoch and most / _ALIKE <= (one.delta_seconds or 0.0) <= most
        ]
        group = sorted(alike, key=lambda one: one.start_ps)
        every = (
            _interval([one.step_hi for one in group if one.step_hi is not None])
            if len(group) >= _LEAST
            else 0
        )
        if every:
            from_step = f"every {every} steps from step {group[0].step_hi} on"
            return group, [
                (
                    f"{len(group)} stalls of {_seconds(group)}, {from_step}: among the smaller "
                    "differences"
                )
            ]
    return [], []


def _short(one: Finding) -> bool:
    return (
        one.step_lo is not None and one.step_hi is not None and one.step_hi - one.step_lo < _LONGEST
    )


def _interval(steps: Sequence[int]) -> int:
    """The number of steps between most of them, where the rest have one or two left out between
    them; 0 for none.
    """
    apart = [later - step for step, later in itertools.pairwise(steps)]
    if min(apart) <= 3 * _SLACK:
        return 0
    times = [round(steps_apart / min(apart)) for steps_apart in apart]
    every = sum(apart) / sum(times)
    regular = 2 * times.count(1) >= len(times) and max(times) <= 3
    return (
        round(every)
        if regular and all(abs(a - n * every) <= _SLACK for a, n in zip(apart, times, strict=True))
        else 0
    )


def _seconds(group: Sequence[Finding]) -> str:
    low, high = (f"{pick(one.delta_seconds or 0.0 for one in group):.2g}" for pick in (min, max))
    return f"{low} s" if low == high else f"{low} to {high} s"


def _sum(group: Sequence[Finding]) -> float:
    return sum(one.delta_seconds or 0.0 for one in group)

"""Stalls that belong to how a program runs, every so many steps, and many stalls: one line tells of
them all.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from powertui.data.energy import settings
from powertui.data.energy.findings import neighbours
from powertui.data.energy.findings.finding import NEIGHBOURS, Finding
from powertui.data.quantiles import median_of_column

# Stalls at equal distances that make a rhythm. This and the others here are chosen, not measured.
_MIN_RHYTHM_STALLS = settings.MIN_SPREAD_VALUES
_MAX_LISTED_STALLS = 8  # stalls that are listed one by one
_LISTED_TIMES_USUAL = 3  # times the usual stall: such a one is listed by itself
_MAX_STALL_STEPS = 6  # steps: what is longer is a slower pace
_MAX_LENGTH_RATIO = 1.5  # the longest stall of a rhythm against its shortest
_MAX_SLACK_STEPS = 2  # steps by which distances may differ


def stalls(findings: Sequence[Finding]) -> tuple[list[Finding], list[str]]:
    """(stalls that need not be listed one by one, a sentence for each kind of them)."""
    mine = [
        finding
        for finding in findings
        if finding.kind == "time" and finding.witnesses == (NEIGHBOURS,) and _short(finding)
    ]
    usual_stalls, sentences = _at_intervals(mine)
    rest = [finding for finding in mine if finding not in usual_stalls]
    if len(rest) > _MAX_LISTED_STALLS:
        usual = median_of_column([finding.delta_seconds or 0.0 for finding in rest])
        rest = [
            finding
            for finding in rest
            if (finding.delta_seconds or 0.0) <= _LISTED_TIMES_USUAL * usual
        ]
        usual_stalls += rest
        count = (
            f"{len(rest)} stalls"
            if len(mine) < neighbours.MAX_STALLS
            else f"At least {len(rest)} stalls"
        )
        sentences.append(
            f"{count} of {_seconds(rest)}, {_sum(rest):.2g} s in all: among the smaller differences"
        )
    return usual_stalls, sentences


def _at_intervals(mine: Sequence[Finding]) -> tuple[list[Finding], list[str]]:
    """After the same number of steps again and again."""
    for longest in sorted(mine, key=lambda finding: -(finding.delta_seconds or 0.0)):
        most = longest.delta_seconds or 0.0
        alike = [
            finding
            for finding in mine
            if finding.epoch == longest.epoch
            and most / _MAX_LENGTH_RATIO <= (finding.delta_seconds or 0.0) <= most
        ]
        group = sorted(alike, key=lambda finding: finding.start_ps)
        every = (
            _interval([finding.step_hi for finding in group if finding.step_hi is not None])
            if len(group) >= _MIN_RHYTHM_STALLS
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


def _short(finding: Finding) -> bool:
    if finding.step_lo is None or finding.step_hi is None:
        return False
    return finding.step_hi - finding.step_lo < _MAX_STALL_STEPS


def _interval(steps: Sequence[int]) -> int:
    """The number of steps between most of them, where the rest have one or two left out between
    them; 0 for none.
    """
    apart = [later - step for step, later in itertools.pairwise(steps)]
    shortest = min(apart)
    if shortest <= 3 * _MAX_SLACK_STEPS:
        return 0
    times = [round(steps_apart / shortest) for steps_apart in apart]
    if 2 * times.count(1) < len(times) or max(times) > 3:
        return 0
    every = sum(apart) / sum(times)
    for steps_apart, count in zip(apart, times, strict=True):
        if abs(steps_apart - count * every) > _MAX_SLACK_STEPS:
            return 0
    return round(every)


def _seconds(group: Sequence[Finding]) -> str:
    lengths = [finding.delta_seconds or 0.0 for finding in group]
    low = f"{min(lengths):.2g}"
    high = f"{max(lengths):.2g}"
    if low == high:
        return f"{low} s"
    return f"{low} to {high} s"


def _sum(group: Sequence[Finding]) -> float:
    return sum(finding.delta_seconds or 0.0 for finding in group)

"""The clocks of hosts corrected as their collectives show, for who asked with `--match-clocks`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from powertui import units
from powertui.data.model import PS_PER_NS, Clock, Trace, Warn
from powertui.data.run.rank_clocks import ClockDifference
from powertui.data.run.rank_collectives import rank_calls
from powertui.data.run.rank_matching import match_ranks


def with_matched_clocks(traces: Sequence[Trace]) -> tuple[list[Trace], list[Warn]]:
    """The traces on the clock of the first rank, and what could not be corrected."""
    matched = match_ranks(list(rank_calls(traces)))
    if matched is None:
        cause = "clocks are as recorded: too few collectives match between the ranks"
        return list(traces), [
            Warn(
                file=traces[0].path if traces else "",
                where="",
                cause=cause,
            )
        ]
    first = matched.ranks[0]
    # Of several devices of one host the first stands for its clock.
    clocks: dict[int, ClockDifference] = {}
    for rank, clock in zip(matched.ranks, matched.clocks, strict=True):
        clocks.setdefault(rank.host, clock)
    corrected, warnings = [], []
    for host, trace in enumerate(traces):
        difference = clocks.get(host)
        if difference is None or not trace.clock.known:
            cause = "its clock is as recorded: too few of its collectives match"
            warnings.append(Warn(file=trace.path, where="", cause=cause))
            corrected.append(trace)
        elif host == first.host:
            corrected.append(trace)
        else:
            matched_clock = _corrected(trace.clock, difference, first.name)
            corrected.append(trace.with_clock(matched_clock))
    return corrected, warnings


def _corrected(clock: Clock, difference: ClockDifference, first: str) -> Clock:
    assert clock.lo_ns is not None
    assert clock.hi_ns is not None
    ahead_ns = round(difference.ahead_ps / PS_PER_NS)
    by = units.duration(abs(round(difference.ahead_ps)), 3)
    half = units.duration(round(difference.whole_half_ps), 2)
    direction = "back" if ahead_ns > 0 else "forward"
    words = f"moved {by} ± {half} {direction}, to the clock of {first}, by collectives"
    if clock.detail:
        detail = f"{clock.detail}; {words}"
    else:
        detail = words
    return replace(clock, lo_ns=clock.lo_ns - ahead_ns, hi_ns=clock.hi_ns - ahead_ns, detail=detail)

"""Marks and windows of a recording: where they lie on a trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from powertui.data.energy import placing
from powertui.data.model import PS_PER_NS, Mark, PowerOnTrace


class MarkOnTrace(NamedTuple):
    """A mark on a trace's clock, ps; `end_ps` is None for a moment."""

    name: str
    start_ps: int
    end_ps: int | None


def on_trace(power: Iterable[PowerOnTrace]) -> tuple[MarkOnTrace, ...]:
    """The marks of all logs that lie on a trace, each once, by their start."""
    return tuple(sorted(by_log(power).values(), key=lambda mark: mark.start_ps))


def by_log(power: Iterable[PowerOnTrace]) -> dict[tuple[str, Mark], MarkOnTrace]:
    """The same by the log's path and the mark as it stands there."""
    marks: dict[tuple[str, Mark], MarkOnTrace] = {}
    for channel in power:
        if channel.status != "none":
            for mark in channel.series.marks:
                if (channel.series.path, mark) not in marks and (
                    placed := _placed(channel, mark)
                ) is not None:
                    marks[channel.series.path, mark] = placed
    return marks


def _placed(power: PowerOnTrace, mark: Mark) -> MarkOnTrace | None:
    start = _at(power, mark.start_ns)
    end = None if mark.end_ns is None else _at(power, mark.end_ns)
    if start is None or (mark.end_ns is not None and end is None):
        return None
    return MarkOnTrace(mark.name, start, end)


def _at(power: PowerOnTrace, ns: int) -> int | None:
    """A moment of the log on the trace's clock, moved with the readings beside it where the two
    clocks drift apart.
    """
    if not placing.fits(ns, power.offset_ps):
        return None
    plain = power.offset_ps + ns * PS_PER_NS
    times = power.series.times
    if len(times) != len(power.times) or len(times) < 2:
        return plain
    row = min(max(int(times.searchsorted(ns)), 1), len(times) - 1)
    drift = [
        int(power.times[at]) - power.offset_ps - int(times[at]) * PS_PER_NS for at in (row - 1, row)
    ]
    share = (ns - int(times[row - 1])) / max(1, int(times[row]) - int(times[row - 1]))
    return plain + round(drift[0] + (drift[1] - drift[0]) * min(max(share, 0.0), 1.0))

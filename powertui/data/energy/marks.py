"""Marks and windows of a recording: where they lie on a trace."""

from __future__ import annotations

from collections.abc import Iterable

from powertui.data.energy import placing
from powertui.data.model import PS_PER_NS, Mark, PowerOnTrace
from powertui.named_tuples import NamedTuple


class MarkOnTrace(NamedTuple):
    """A mark on a trace's clock, ps; `end_ps` is None for a moment."""

    name: str
    start_ps: int
    end_ps: int | None


def on_trace(power: Iterable[PowerOnTrace]) -> tuple[MarkOnTrace, ...]:
    """The marks of all logs that lie on a trace, each once, by their start."""
    marks = by_log(power).values()
    return tuple(sorted(marks, key=lambda mark: mark.start_ps))


def by_log(power: Iterable[PowerOnTrace]) -> dict[tuple[str, Mark], MarkOnTrace]:
    """The same by the log's path and the mark as it stands there."""
    marks: dict[tuple[str, Mark], MarkOnTrace] = {}
    for channel in power:
        if channel.status == "none":
            continue
        for mark in channel.series.marks:
            key = channel.series.path, mark
            if key in marks:
                continue
            placed = _placed(channel, mark)
            if placed is not None:
                marks[key] = placed
    return marks


def _placed(power: PowerOnTrace, mark: Mark) -> MarkOnTrace | None:
    start = _at(power, mark.start_ns)
    if start is None:
        return None
    end = None
    if mark.end_ns is not None:
        end = _at(power, mark.end_ns)
        if end is None:
            return None
    return MarkOnTrace(
        name=mark.name,
        start_ps=start,
        end_ps=end,
    )


def _at(power: PowerOnTrace, ns: int) -> int | None:
    """A moment of the log on the trace's clock, moved with the readings beside it where the two
    clocks drift apart.
    """
    if not placing.fits(ns, power.offset_ps):
        return None
    without_drift = power.offset_ps + ns * PS_PER_NS
    times = power.series.times
    if len(times) != len(power.times) or len(times) < 2:
        return without_drift
    after = int(times.searchsorted(ns))
    after = min(max(after, 1), len(times) - 1)
    before = after - 1
    drift_before = _drift_ps(power, before)
    drift_after = _drift_ps(power, after)
    before_ns = int(times[before])
    between_ns = int(times[after]) - before_ns
    share = (ns - before_ns) / max(1, between_ns)
    share = min(max(share, 0.0), 1.0)
    drift = drift_before + (drift_after - drift_before) * share
    return without_drift + round(drift)


def _drift_ps(power: PowerOnTrace, row: int) -> int:
    """How much later a reading is on the trace than by the log's clock and its offset alone."""
    by_offset = power.offset_ps + int(power.series.times[row]) * PS_PER_NS
    return int(power.times[row]) - by_offset

"""Power logs with local times that name no zone, where no run beside them tells it.

Several of them are taken to be of one zone: whoever logs a server's GPUs and its BMC at once has
both clocks set alike. Their times as written are their common clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from powertui.data.model import NS_PER_S, PowerSeries
from powertui.data.power import times


def has_local_times(series: PowerSeries) -> bool:
    """Whether its times have a date, and no zone."""
    return series.clock.known and series.clock.source == times.LOCAL


def common_zero_ns(logs: Iterable[PowerSeries]) -> int | None:
    """The earliest zero of those with local times, as the log writes it; None without any."""
    zeros = [times.written_zero_ns(log.clock) for log in logs if has_local_times(log)]
    return min(zeros, default=None)


def lag_s(series: PowerSeries, logs: Iterable[PowerSeries]) -> float:
    """How long after the earliest of them its zero is; 0 without local times."""
    first_ns = common_zero_ns(logs)
    if first_ns is None or not has_local_times(series):
        return 0.0
    return (times.written_zero_ns(series.clock) - first_ns) / NS_PER_S


def extent_with_zone(logs: Sequence[PowerSeries]) -> tuple[int, int] | None:
    """From the first to the last reading (Unix ns) of those whose zone is known."""
    spans = [
        (log.clock.mid_ns + int(log.times[0]), log.clock.mid_ns + int(log.times[-1]))
        for log in logs
        if len(log) and log.clock.known and not times.is_local(log.clock)
    ]
    if not spans:
        return None
    return min(first for first, _ in spans), max(last for _, last in spans)

"""Which of several power logs leads: is added up first, drawn first, and asked first where a log is
moved.

A log that does not meet the trace never leads one that does. Then the surer place wins: an exact
integral in the wrong place is worth nothing. Then whether the log covers the trace; whether clocks
or a person placed it, or only its own power; what it measures (the node before parts of it), how
much it covers, and how finely it resolves.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

import numpy as np

from powertui import units
from powertui.data.energy import log_alignment, meeting, placing, settings
from powertui.data.energy import sensor as sensors
from powertui.data.energy.meeting import Span
from powertui.data.model import PS_PER_NS, PS_PER_S, PowerOnTrace, Scope
from powertui.value_types import dataclass

STATUS_RANK = {"aligned": 0, "ambiguous": 1, "none": 2}
# A place that is open by so little is no reason to prefer a log that measures less of the machine:
# clocks of unknown machines are believed to ±2 s.
_MAX_NEAR_PS = int(settings.FOREIGN_OPEN_S * PS_PER_S)
# Share of the trace from which on coverage does not decide.
ENOUGH_COVERAGE = settings.NEARLY_ALL_SHARE
_SCOPE_RANK = {
    Scope.NODE: 0,
    Scope.PLUG: 0,
    Scope.GPU: 1,
    Scope.PACKAGE: 1,
    Scope.DRAM: 1,
    Scope.UNKNOWN: 2,
}
_OTHER_SCOPE_RANK = 3

_Key = tuple[bool, int, bool, bool, int, float, float, int]


@dataclass(frozen=True)
class Log:
    """The channels of one file on a trace, and what speaks for it."""

    path: str
    rows: tuple[int, ...]  # into the channels that were given
    meets: bool
    rank: int
    status_rank: int  # without the few seconds of doubt that `rank` leaves out
    coverage: float  # of the trace, by its best channel
    by_signal: bool  # nothing but its own power says where it lies
    scope: int
    resolves_s: float

    @property
    def key(self) -> _Key:
        """The least leads."""
        enough = self.coverage >= ENOUGH_COVERAGE
        covers = 0.0 if enough else -self.coverage
        return (
            not self.meets,
            self.rank,
            not enough,
            self.by_signal,
            self.scope,
            covers,
            self.resolves_s,
            self.status_rank,
        )


def placement_rank(power: PowerOnTrace) -> int:
    """How surely a channel is placed, 0 the surest: a few seconds of doubt do not count."""
    is_near = power.offset_hi_ps - power.offset_lo_ps <= _MAX_NEAR_PS
    return 0 if power.status == "ambiguous" and is_near else STATUS_RANK[power.status]


def coverage(power: PowerOnTrace, span: Span) -> float:
    """The share of the trace between readings; holes are not covered."""
    lo, hi = span
    if len(power.times) < 2 or power.status == "none" or hi <= lo:
        return 0.0
    at = np.clip(power.times, max(lo, -placing.FARTHEST_PS), min(hi, placing.FARTHEST_PS))
    series = power.series
    times_ns = power.times // PS_PER_NS
    is_known = ~sensors.holes(times_ns, power.watts, series.sensor, series.kind)
    return float(np.diff(at)[is_known].sum()) / (hi - lo)


def logs(power: Sequence[PowerOnTrace], span: Span) -> list[Log]:
    """All logs, the main one first."""
    unordered = [
        _log(path, rows, [power[row] for row in rows], span)
        for path, rows in _rows_by_file(power).items()
    ]
    return sorted(unordered, key=lambda log: log.key)


def _rows_by_file(power: Sequence[PowerOnTrace]) -> dict[str, list[int]]:
    files: dict[str, list[int]] = {}
    for row, channel in enumerate(power):
        files.setdefault(channel.series.path, []).append(row)
    return files


def _log(
    path: str,
    rows: Sequence[int],
    channels: Sequence[PowerOnTrace],
    span: Span,
) -> Log:
    sensors_of_log = [channel.series.sensor for channel in channels]
    refreshes = [sensor.refresh_s or sensor.poll_s for sensor in sensors_of_log]
    resolves = [refresh.value for refresh in refreshes if refresh is not None]
    return Log(
        path=path,
        rows=tuple(rows),
        meets=any(meeting.meets(channel, span) for channel in channels),
        rank=min(placement_rank(channel) for channel in channels),
        status_rank=min(STATUS_RANK[channel.status] for channel in channels),
        coverage=max(coverage(channel, span) for channel in channels),
        by_signal=all(channel.source == log_alignment.SIGNAL for channel in channels),
        scope=min(_SCOPE_RANK.get(sensor.scope, _OTHER_SCOPE_RANK) for sensor in sensors_of_log),
        resolves_s=min(resolves, default=float("inf")),
    )


def order(power: Sequence[PowerOnTrace], span: Span) -> list[int]:
    """The channels, those of the main log first; those of one log stay in its order.

    The order decides: of channels that overlap, sums take the first (`scopes`), and so does the
    pairing with devices (`devices.one_each`, which has the reason).
    """
    if len(_rows_by_file(power)) < 2:  # a week's readings are gone through to weigh a log
        return list(range(len(power)))
    return [row for log in logs(power, span) for row in log.rows]


def why(power: Sequence[PowerOnTrace], span: Span) -> str:
    """ "bmc.csv is the main log, not gpu.csv: it measures more of the machine"; "" where there is
    only one log.
    """
    if len(_rows_by_file(power)) < 2:
        return ""
    by_rank = logs(power, span)
    names = [PurePath(log.path).name or "the log" for log in by_rank]
    if len(set(names)) < len(names):
        names = [log.path for log in by_rank]
    if len(by_rank) == 2:
        rest = names[1]
    else:
        rest = f"{len(by_rank) - 1} others"
    return f"{names[0]} is the main log, not {rest}: {_because(by_rank[0], by_rank[1])}"


def _because(first: Log, second: Log) -> str:
    """The first thing in which they differ."""
    covers = (
        f"it covers {units.percent(first.coverage)} of the profile, "
        f"the other {units.percent(second.coverage)}"
    )
    reasons = (
        "the other does not overlap the profile",
        "its place is more certain",
        covers,
        "the other is aligned by its power alone",
        "it measures more of the machine",
        covers,
        f"it resolves {sensors.seconds(first.resolves_s)}",
        "its place is more certain",
    )
    for value, other_value, reason in zip(first.key, second.key, reasons, strict=True):
        if value != other_value:
            return reason
    return "they are otherwise equal, and it was read first"

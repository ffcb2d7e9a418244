"""What the machine draws when the trace shows no work: given by a person, or read from the quiet stretches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.energy import mixture, placing
from powertui.data.energy import sensor as sensors
from powertui.data.energy.curve import LONGEST_S
from powertui.data.model import PS_PER_S, Badge, Figure, Int64s, PowerOnTrace

REFRESHES = 3.0  # a pause must be so many refreshes long: its first readings still hold the work before
SAMPLES = 5


def power(
    on_trace: PowerOnTrace, busy_los: Sequence[int] | Int64s, busy_his: Sequence[int] | Int64s, given_w: float | None = None
) -> Figure | None:  # fmt: skip
    """Idle watts: the lower decile of the new readings inside pauses. None when nothing tells.

    `busy_los`/`busy_his` are stretches (ps, in any order) in which any op ran on a host or device.
    """
    if given_w is not None:
        return Figure(given_w, Badge.ASSUMED)
    series = on_trace.series
    sensor = series.sensor
    refresh = max((figure.value for figure in (sensor.refresh_s, sensor.window_s) if figure), default=0.0)
    if len(on_trace.times) != len(series) or not len(series):
        return None
    fresh = sensors.samples(series)
    refresh = min(refresh, LONGEST_S)
    late = round(sensors.centre_s(sensor) * PS_PER_S)
    at, watts = on_trace.times[fresh] - late, on_trace.watts[fresh]
    pauses = _pauses(
        np.asarray(busy_los, np.int64),
        np.asarray(busy_his, np.int64),
        int(at[0]) if len(at) else 0,
        int(at[-1]) + 1 if len(at) else 0,
    )
    guard = round(refresh * PS_PER_S)
    quiet = np.zeros(len(at), np.bool_)
    for lo, hi in pauses:
        if hi - lo >= REFRESHES * refresh * PS_PER_S:
            quiet |= (at >= lo + guard) & (at < hi - guard // 2)
    found = watts[quiet]
    return Figure(float(np.percentile(found, 10)), Badge.MEASURED) if len(found) >= SAMPLES else None


def of_all(channels: Sequence[PowerOnTrace], busy_los: Int64s, busy_his: Int64s) -> Figure | None:
    """Idle watts of several channels together, over all places where they may lie; None when one of them does not tell."""
    total = 0.0
    for channel in channels:
        found = [power(one, busy_los, busy_his) for one in placing.everywhere(channel)]
        known = [(place.weight, one.value) for place, one in zip(channel.places, found, strict=True) if one is not None]
        weight = sum(share for share, _ in known)
        if weight < 1 - mixture.LEFT_OUT:
            return None
        total += sum(share * value for share, value in known) / weight
    return Figure(total, Badge.MEASURED if all(len(one.places) == 1 for one in channels) else Badge.ESTIMATED)


def _pauses(los: Int64s, his: Int64s, first: int, last: int) -> list[tuple[int, int]]:
    """What lies between the busy stretches, from the first reading to the last."""
    if not len(los):
        return [(first, last)]
    order = np.argsort(los, kind="stable")
    los, ends = los[order], np.maximum.accumulate(his[order])
    opened = np.flatnonzero(los[1:] > ends[:-1])
    gaps = [(int(ends[i]), int(los[i + 1])) for i in opened]
    return [(lo, hi) for lo, hi in [(first, int(los[0])), *gaps, (int(ends[-1]), last)] if hi > lo]

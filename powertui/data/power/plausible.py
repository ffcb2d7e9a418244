"""What no device draws: readings that cannot be watts as they stand, and channels whose unit or
scale is therefore in question.

Asked of every channel after it was read. A single reading that cannot be is a gap; a whole channel
that cannot be keeps its readings, says what it looks like, and makes every figure that comes from
it an assumed one. Power below zero is no power drawn.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from powertui.data.model import Badge, PowerSeries, Scope, Warn
from powertui.data.power.outages import as_gaps
from powertui.data.quantiles import median_of_column, percentile_of_column
from powertui.patterns import late_pattern

# W that one channel of a scope stays below: twice what the largest device of its kind is built for,
# or more
_MAX_W = {
    Scope.GPU: 3e3,
    Scope.PACKAGE: 2e3,
    Scope.CORE: 2e3,
    Scope.DRAM: 2e3,
    Scope.RAIL: 2e4,
    Scope.NODE: 1e5,
    Scope.PLUG: 1e5,
    Scope.UNKNOWN: 1e5,
}
_MIN_W = {
    Scope.NODE: 0.5,
    Scope.PLUG: 0.0,
    Scope.GPU: 0.05,
    Scope.PACKAGE: 0.05,
    Scope.UNKNOWN: 0.05,
}  # and above, while busy
_WHAT = {
    Scope.GPU: "a GPU",
    Scope.PACKAGE: "a processor",
    Scope.CORE: "a processor's cores",
    Scope.DRAM: "memory",
    Scope.RAIL: "one rail",
    Scope.NODE: "a machine",
    Scope.PLUG: "one plug",
    Scope.UNKNOWN: "one device",
}
_SMALL_BOARD = late_pattern(
    r"jetson|tegra|\borin|xavier|\btx[12]\b|\bpom_|\bvdd_|vin_sys|raspberry", re.IGNORECASE
)
_SMALL_BOARD_MAX_W = 300.0  # W of a whole board of that kind
# Of the channel's own highest: so far below zero a sensor at rest may read. Chosen, not measured.
_MAX_NEGATIVE_SHARE = 0.001


def plausible_part(series: PowerSeries, *, told: bool) -> tuple[PowerSeries | None, Warn | None]:
    """The channel as it may be used, and why it is None when it may not.

    `told`: a person named the unit.
    """
    values = series.watts[np.isfinite(series.watts)]
    min_w, max_w = _limits(series)
    if not len(values) or (values.min() >= min_w and values.max() <= max_w):
        return series, None  # nearly always: nothing has to be put in order
    name = series.sensor.name or "the log"
    median_w = median_of_column(values)
    high_w = percentile_of_column(values, 99)
    if median_w < 0:
        cause = (
            f"{name} is below zero in most rows (median {median_w:.4g} W), which drawn power "
            "cannot be: its sign is reversed or it is something else; left out"
        )
        return None, Warn(series.path, "", cause)
    device = _WHAT[series.sensor.scope]
    min_negative_w = -max(_MAX_NEGATIVE_SHARE * high_w, 1e-9)
    series = as_gaps(series, series.watts < min_negative_w, "below zero, which no load draws")
    if median_w <= max_w:
        too_much = f"above {max_w:,.0f} W, more than {device} draws"
        series = as_gaps(series, series.watts > max_w, too_much)
    if told or high_w == 0:
        return series, None
    if median_w > max_w:
        unit = "microwatts" if median_w > 5e6 else "milliwatts"
        why = (
            f"{name} reads {median_w:,.4g} W, more than {device} draws; "
            f"perhaps these are {unit}: say so with --unit"
        )
        return _questioned(series, why), None
    if high_w < min_w:
        why = (
            f"{name} never reads more than {high_w:.2g} W, less than {device} draws; "
            "perhaps these are kilowatts: say so with --unit"
        )
        return _questioned(series, why), None
    return series, None


def _limits(series: PowerSeries) -> tuple[float, float]:
    """The least and the most watts that a channel of its scope reads while busy."""
    min_w = _MIN_W.get(series.sensor.scope, 0.0)
    max_w = _MAX_W[series.sensor.scope]
    if _SMALL_BOARD.search(f"{series.sensor.name} {series.sensor.source}"):
        max_w = min(max_w, _SMALL_BOARD_MAX_W)
    return min_w, max_w


def _questioned(series: PowerSeries, why: str) -> PowerSeries:
    warning = Warn(series.path, "", f"{why}. Its figures are assumed")
    return replace(
        series,
        sensor=replace(series.sensor, scale=Badge.ASSUMED),
        warnings=(*series.warnings, warning),
    )

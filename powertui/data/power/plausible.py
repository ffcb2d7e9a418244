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
_SMALL_BOARD = re.compile(
    r"jetson|tegra|\borin|xavier|\btx[12]\b|\bpom_|\bvdd_|vin_sys|raspberry", re.IGNORECASE
)
_SMALL_BOARD_MAX_W = 300.0  # W of a whole board of that kind
# Of the channel's own highest: so far below zero a sensor at rest may read. Chosen, not measured.
_MAX_NEGATIVE_SHARE = 0.001


def plausible_part(
    series: PowerSeries, *, told: bool = False
) -> tuple[PowerSeries | None, Warn | None]:
    """The channel as it may be used, and why it is None when it may not.

    `told`: a person named the unit.
    """
    watts = series.watts
    there = np.isfinite(watts)
    if not there.any():
        return series, None
    name = series.sensor.name or "the log"
    values = watts[there]
    most = _MAX_W[series.sensor.scope]
    if _SMALL_BOARD.search(f"{series.sensor.name} {series.sensor.source}"):
        most = min(most, _SMALL_BOARD_MAX_W)
    least = _MIN_W.get(series.sensor.scope, 0.0)
    if values.min() >= least and values.max() <= most:
        return series, None  # nearly always: nothing has to be put in order
    middle, high = float(np.median(values)), float(np.percentile(values, 99))
    if middle < 0:
        return None, Warn(
            series.path,
            "",
            f"{name} is below zero in most rows (median {middle:.4g} W), which drawn power "
            "cannot be: its sign is reversed or it is something else; left out",
        )
    series = as_gaps(
        series, watts < -max(_MAX_NEGATIVE_SHARE * high, 1e-9), "below zero, which no load draws"
    )
    if middle <= most:
        series = as_gaps(
            series,
            watts > most,
            f"above {most:,.0f} W, more than {_WHAT[series.sensor.scope]} draws",
        )
    if told or high == 0:
        return series, None
    if middle > most:
        what = f"{name} reads {middle:,.4g} W, more than {_WHAT[series.sensor.scope]} draws"
        return _questioned(series, what + _perhaps(middle)), None
    if high < least:
        return _questioned(
            series,
            f"{name} never reads more than {high:.2g} W, less than "
            f"{_WHAT[series.sensor.scope]} draws; "
            "perhaps these are kilowatts: say so with --unit",
        ), None
    return series, None


def _perhaps(watts: float) -> str:
    unit = "microwatts" if watts > 5e6 else "milliwatts"
    return f"; perhaps these are {unit}: say so with --unit"


def _questioned(series: PowerSeries, why: str) -> PowerSeries:
    warning = Warn(series.path, "", f"{why}. Its figures are assumed")
    return replace(
        series,
        sensor=replace(series.sensor, scale=Badge.ASSUMED),
        warnings=(*series.warnings, warning),
    )

"""Power logs beside which nothing tells what they are about: what they come to."""

from __future__ import annotations

from collections.abc import Sequence

from powertui import units
from powertui.data.energy import integrate, scopes
from powertui.data.energy import sensor as sensors
from powertui.data.energy.counted_energy import combined
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.scopes import Addends
from powertui.data.model import PowerSeries

_FOR_WANT_OF_A_PROFILE = "No profile is beside it: nothing shows what drew it."

_HOW_TO_RECORD = "Record more of it: powertui record --host BMC -o power.csv."


def described_sensor(series: PowerSeries) -> PowerSeries:
    """A channel with what its readings show of its sensor."""
    if series.sensor.poll_s is not None:
        return series
    return sensors.describe(series)


def total_of_logs(power: Sequence[PowerSeries]) -> Energy | None:
    """The energy of all channels that do not overlap, each over its whole log."""
    return _total(scopes.total(power))


def _total(counted: Addends) -> Energy | None:
    return combined([integrate.of_series(series) for series in counted.series])


def total_as_read(power: Sequence[PowerSeries]) -> Energy | None:
    """The same of channels whose sensors nobody looked at yet."""
    return total_of_logs([described_sensor(series) for series in power])


def headline(power: Sequence[PowerSeries]) -> str:
    """The first thing to say of them: joules, mean and highest watts."""
    counted = scopes.total([described_sensor(series) for series in power])
    total = _total(counted)
    if total is None or total.joules is None or total.mean_w is None:
        reason = ""
        if total is not None and total.reason:
            reason = f" ({total.reason})"
        return f"The joules of this log are not known{reason}. {_HOW_TO_RECORD}"
    joules = units.energy_interval(
        total.joules,
        total.joules - total.half,
        total.joules + total.half,
    )
    length = units.duration(total.hi_ps - total.lo_ps, 3)
    mean = units.quantity(total.mean_w, "W")
    watts = f"{mean} on average"
    if total.max_w is not None:
        highest = units.watts(total.max_w)
        watts += f", {highest} W at most"
    doubt = ""
    if counted.is_doubtful:
        doubt = f" That is {counted.text}."
    return f"{joules} in {length}, {watts}.{doubt} {_FOR_WANT_OF_A_PROFILE}"

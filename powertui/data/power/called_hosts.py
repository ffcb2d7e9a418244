"""What a person calls the hosts of a power log.

A log that was recorded by address names addresses. Where the command line or the config file has a
name for one, tables show that name; whose power it is, is still decided by the log's own words
(`energy/power_owners.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from powertui.data.model import PowerSeries


def with_names(power: Sequence[PowerSeries], pairs: Iterable[tuple[str, str]]) -> list[PowerSeries]:
    """The series with the names that `pairs` (as the log has it, as it is called) give."""
    names: dict[str, set[str]] = {}
    for logged, called in pairs:
        host = logged.strip().casefold()
        names.setdefault(host, set()).add(called.strip())
    if not names:
        return list(power)
    return [_named(series, names) for series in power]


def _named(series: PowerSeries, names: dict[str, set[str]]) -> PowerSeries:
    sensor = series.sensor
    if not sensor.host:
        return series
    called = names.get(sensor.host.casefold(), set())
    # One log that several hosts share has no single name.
    if len(called) != 1:
        return series
    (name,) = called
    return replace(series, sensor=replace(sensor, called=name))

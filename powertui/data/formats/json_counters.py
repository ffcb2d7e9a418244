"""Counters of Chrome-like traces (ph C): each named number in their args is a series of its own.

{"ph":"C","name":"GPU memory","pid":1,"ts":12.5,"args":{"used":1024,"free":4096}}
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from powertui.data.formats.builder import MAX_COUNTERS, TraceBuilder
from powertui.data.formats.json_stats import as_text, clean
from powertui.data.formats.json_times import picoseconds

BYTES = 16  # of memory for a reading
_UNIT = re.compile(r"^(.*\S)\s*[(\[]([A-Za-z%\u00b5][A-Za-z/%]{0,9})[)\]]$")


class CounterReadings:
    """All counters of a trace, as they come."""

    def __init__(self) -> None:
        self.count = 0
        self.left_out = 0  # of series beyond those that are kept
        self._series: dict[
            tuple[Any, str, str], tuple[array[float], array[float]]
        ] = {}  # by pid, name and unit

    def add(self, event: dict[str, Any]) -> None:
        """One event with ph C. Raises as `float` does for a ts or a value that is no number."""
        ts = float(event["ts"])
        name = as_text(event.get("name", ""))
        if "id" in event:
            name += f" {as_text(event['id'])}"
        args = event.get("args")
        if not isinstance(args, dict):
            return
        numbers = {key: value for key, value in args.items() if value is not None}
        for key, value in numbers.items():
            label, unit = _series_label(name, key, is_alone=len(numbers) == 1)
            self.put(event.get("pid"), label, unit, ts, float(value))

    def put(self, pid: Any, name: str, unit: str, ts: float, value: float) -> None:
        """One reading."""
        key = (pid, clean(name), unit)
        if key not in self._series and len(self._series) >= MAX_COUNTERS:
            self.left_out += 1
            return
        times, values = self._series.setdefault(key, (array("d"), array("d")))
        times.append(ts)
        values.append(value)
        self.count += 1

    @property
    def first_us(self) -> float:
        """The earliest ts; infinite without any."""
        return min((min(times) for times, _ in self._series.values()), default=math.inf)

    def build(
        self,
        builder: TraceBuilder,
        base_us: float,
        processes: Mapping[Any, str],
        digits: int = 6,
    ) -> None:
        """Give them to the trace."""
        builder.findings.add(
            f"counters beyond {MAX_COUNTERS:,} series were left out", count=self.left_out
        )
        for (pid, name, unit), (times, values) in self._series.items():
            us = np.array(times, np.float64)
            value = np.array(values, np.float64)
            good = np.isfinite(us) & (np.abs(us - base_us) < 9e12)
            value[~good] = np.nan
            builder.counter(
                name,
                unit,
                processes.get(pid, ""),
                picoseconds(np.where(good, us, base_us), base_us, digits),
                value,
            )


def _series_label(name: str, key: str, *, is_alone: bool) -> tuple[str, str]:
    """Label and unit of one series of a counter. Its key is left out where it says nothing more."""
    label, unit = split_unit(name)
    says_nothing = key in ("", "value", "name", name, unit) or key.lower() == label.lower()
    if is_alone and says_nothing:
        return label, unit
    if unit:
        return f"{label} {key}", unit
    return split_unit(f"{label} {key}")


def split_unit(name: str) -> tuple[str, str]:
    """A name and the unit that it ends with: "Total Power (W)"."""
    match = _UNIT.match(name)
    if match is not None:
        return (match[1], match[2])
    return (name, "")

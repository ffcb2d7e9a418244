"""A metric of Prometheus with its labels and readings, and how a reading is written."""

from __future__ import annotations

from typing import Any

from powertui.data.model import (
    Clock,
    Floats,
    Int64s,
)
from powertui.data.power import (
    table,
)
from powertui.named_tuples import NamedTuple


class Metric(NamedTuple):
    """One metric with one set of labels."""

    labels: dict[str, str]
    ns: Int64s
    values: Floats
    clock: Clock


def metric_value(text: Any) -> float:
    try:
        value = float(text)
    except (TypeError, ValueError, OverflowError):  # JSON's whole numbers have no end
        return float("nan")
    if abs(value) <= table.MAX_READING:
        return value
    return float("nan")

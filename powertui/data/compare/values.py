"""Figures by name, as each part of the measuring hands them over."""

from __future__ import annotations

from typing import NamedTuple

from powertui.data.compare import drift
from powertui.data.compare.figure import Family
from powertui.data.model import Floats, Int64s


class ValueKey(NamedTuple):
    """Which figure: the same on both sides where names match."""

    family: Family
    name: str
    unit: str
    within: str = ""  # of a kernel its operator; of an op "device" or "host"


class ComparedValue(NamedTuple):
    """The figure of one run, and what shows how it varies within the run."""

    value: float
    blocks: tuple[float, ...] = ()  # its means over blocks of the compared steps
    series: Floats | None = None  # its value at every step of the run, compared or not


Values = dict[ValueKey, ComparedValue]


def mean_of_steps(series: Floats, compared: Int64s) -> ComparedValue:
    """The mean of a figure that every step has, over the compared steps."""
    values = series[compared]
    return ComparedValue(float(values.mean()), tuple(drift.block_means(values).tolist()), series)

"""Figures by name, as each part of the measuring hands them over."""

from __future__ import annotations

from typing import NamedTuple

from powertui.data.compare import drift
from powertui.data.compare.figure import Family
from powertui.data.model import Floats


class Key(NamedTuple):
    """Which figure: the same on both sides where names match."""

    family: Family
    name: str
    unit: str
    within: str = ""  # of a kernel its operator; of an op "device" or "host"


class Value(NamedTuple):
    """The figure of one run, and the means of its blocks of steps where it has some."""

    value: float
    blocks: tuple[float, ...] = ()


Values = dict[Key, Value]


def mean_of_steps(values: Floats) -> Value:
    """The mean of a figure that every step has."""
    return Value(float(values.mean()), tuple(drift.block_means(values).tolist()))

"""The unit of readings by their size, for columns that name none."""

from __future__ import annotations

import numpy as np

from powertui.data.model import Floats, Scope
from powertui.data.power import units
from powertui.data.power.units import Unit
from powertui.data.quantiles import median_of_column

# All of these were chosen, not measured; each says what it was chosen for.
_MIN_MICROWATTS = 5e6  # a column of bare numbers beyond this is in µW: as mW it would be 5 kW
_MIN_MILLIWATTS = 5000.0  # a column of bare numbers beyond this is in mW
_MIN_RAIL_MILLIWATTS = 100.0  # so is a rail of a small board beyond this
# Bare numbers between these two are watts: as mW or kW no machine that trains would draw them. One
# GPU or processor reaches fewer watts, and as kW 3 would be more than any of them draws.
_MIN_CERTAIN_WATTS = 10.0
_MIN_CERTAIN_PART_WATTS = 3.0
_MAX_CERTAIN_WATTS = 1000.0
_MAX_PERCENT = 100.0
_MIN_GROWING_READINGS = 10  # of random readings one log in 3.6 million rises so
_MIN_COUNTED_STEP = 2.0  # J between two readings of a machine; in mJ or uJ they are far more
_MIN_MACHINE_WATTS = 1.0  # a board that trains draws more
_MAX_MACHINE_WATTS = 20_000.0  # a machine with 16 accelerators draws no more


def unit_by_size(name: str, values: Floats) -> tuple[Unit, bool]:
    """The unit that fits the size of a column's readings, and whether it can be no other."""
    middle = _typical_size(values)
    scope = units.scope_of(name)
    is_rail = units.BOARD_RAIL.search(name) is not None
    min_milliwatts = _MIN_RAIL_MILLIWATTS if is_rail else _MIN_MILLIWATTS
    if middle > _MIN_MICROWATTS:
        return units.UNITS["uW"], False
    # A smart plug reports watts, whatever a cluster behind it draws.
    if middle > min_milliwatts and scope is not Scope.PLUG:
        return units.UNITS["mW"], False
    is_part = scope in (Scope.GPU, Scope.PACKAGE)
    min_certain = _MIN_CERTAIN_PART_WATTS if is_part else _MIN_CERTAIN_WATTS
    return units.UNITS["W"], min_certain <= middle < _MAX_CERTAIN_WATTS


def exceed_percent(values: Floats) -> bool:
    """Whether readings are no shares and no temperatures."""
    return bool(np.isfinite(values).any()) and float(np.nanmax(values)) > _MAX_PERCENT


def only_grow(values: Floats) -> bool:
    """Whether readings never fall or stay, as those of a counter: power does not do so for long,
    unless it is a slow ramp.
    """
    steps = np.diff(values[np.isfinite(values)])
    if len(steps) + 1 < _MIN_GROWING_READINGS or not (steps > 0).all():
        return False
    return median_of_column(steps) >= _MIN_COUNTED_STEP


def may_be_thousands(watts: Floats) -> bool:
    """Whether readings could be a thousand times as large: 2.000 may be two or two thousand.

    So they are when they are less than any machine that trains draws, and a thousand times as much
    is not too much for one.
    """
    middle = _typical_size(watts)
    return middle < _MIN_CERTAIN_WATTS and 1000 * middle < _MAX_MACHINE_WATTS


def are_thousands(watts: Floats) -> bool:
    """Whether readings that may be thousands are none of a machine otherwise."""
    return _typical_size(watts) < _MIN_MACHINE_WATTS


def _typical_size(values: Floats) -> float:
    if not np.isfinite(values).any():
        return 0.0
    return float(np.nanmedian(np.abs(values)))

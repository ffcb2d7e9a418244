"""Values of many events that Python's `json` decoded, as columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from powertui.data.model import PS_PER_US, Bools, Floats, Int64s, UInt8s

MAX_TS_US = 1e17  # year 5138 in Unix time: a larger number is not a time
_MAX_DURATION_US = 8e12  # 93 days: in ps it fits an int64 (its limit is 9.2e12 µs)


_NUMBER_TYPES: set[type] = {int, float}


def values_of_types(values: list[Any], types: set[type], default: Any) -> list[Any]:
    """The values, those of other types replaced; mostly there are none, and the list is returned.

    The set of types is found without a loop in Python.
    """
    if set(map(type, values)) <= types:
        return values
    return [value if type(value) in types else default for value in values]


def times_of_digits(digits: list[tuple[str, str, str]]) -> tuple[Floats, Int64s, Int64s]:
    """(as a double, whole µs rounded down, the rest in ps) of each (sign, digits, decimals)."""
    values = []
    whole_us = []
    decimals_ps = []
    signs = []
    for sign, whole, decimals in digits:
        values.append(float(f"{sign}{whole}.{decimals}"))
        whole_us.append(int(whole))
        decimals_ps.append(int(decimals.ljust(6, "0")))
        signs.append(bool(sign))
    is_negative = np.array(signs)
    us = np.array(whole_us, np.int64)
    ps = np.array(decimals_ps, np.int64)
    has_decimals = ps > 0
    # Rounded down, −1.25 µs is −2 µs and 750,000 ps.
    floor_us = np.where(is_negative, -us - has_decimals, us)
    rest_ps = np.where(is_negative & has_decimals, PS_PER_US - ps, ps)
    return np.array(values, np.float64), floor_us, rest_ps


def floats_of_values(values: list[Any]) -> tuple[Floats, Bools]:
    """(the numbers, which of the values are finite numbers).

    Texts and truth values are none: events with them are read one by one.
    """
    good = np.ones(len(values), np.bool_)
    if not set(map(type, values)) <= _NUMBER_TYPES:
        are_numbers = [type(value) in _NUMBER_TYPES for value in values]
        good = np.array(are_numbers, np.bool_)
        values = values_of_types(values, _NUMBER_TYPES, 0)
    try:
        numbers = np.array(values, np.float64)
    except OverflowError:  # an integer of hundreds of digits
        values = [value if abs(value) < MAX_TS_US else np.nan for value in values]
        numbers = np.array(values, np.float64)
    good &= np.isfinite(numbers)
    numbers[~good] = 0.0
    return numbers, good


def lengths_of_values(values: list[Any], good: Bools) -> Int64s:
    """Durations in ps, 0 for None; `good` becomes False where a value is no duration."""
    if not set(map(type, values)) <= _NUMBER_TYPES:
        values = [0 if value is None else value for value in values]
    duration_us, valid = floats_of_values(values)
    valid &= np.abs(duration_us) <= _MAX_DURATION_US
    good &= valid
    duration_us[~valid] = 0.0
    whole_us = np.floor(duration_us)
    rest_us = duration_us - whole_us
    rest_ps = np.rint(rest_us * 1e6).astype(np.int64)
    length: Int64s = whole_us.astype(np.int64) * 1_000_000
    length += rest_ps
    return length


def letters_of_phases(phases: list[Any]) -> UInt8s:
    """The code of each phase's letter; 0 for a phase that is not one letter."""
    phases = values_of_types(phases, {str}, "")
    codes = {}
    for phase in set(phases):
        is_letter = len(phase) == 1 and phase.isascii()
        codes[phase] = ord(phase) if is_letter else 0
    return np.array([codes[phase] for phase in phases], np.uint8)

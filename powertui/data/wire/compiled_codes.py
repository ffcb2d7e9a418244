"""The calls of `pure.codes`, answered by scan/: what small numbers that events have say of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import powertui.data.wire._scan as _scan
from powertui.data.wire.compiled import united_events
from powertui.data.wire.types import Int64s, UInt8s


def united_kinds(
    start: Int64s,
    duration: Int64s,
    code: UInt8s,
    kinds: npt.NDArray[np.uint16],
) -> list[tuple[Int64s, Int64s]]:
    """The same moments as the events of each kind cover. See pure/codes.py."""
    made = _scan.united_kinds(
        np.ascontiguousarray(start, np.int64).data,
        np.ascontiguousarray(duration, np.int64).data,
        _bytes(code).data,
        np.ascontiguousarray(kinds, np.uint16).data,
    )
    stretches = []
    for kind, columns in enumerate(made):
        if columns is None:  # too many ascending runs
            is_of_kind = kinds >> kind & 1 != 0
            stretches.append(united_events(start, duration, is_of_kind.take(code)))
            continue
        first, last = columns
        stretches.append((np.frombuffer(first, np.int64), np.frombuffer(last, np.int64)))
    return stretches


def passed_on(
    above: tuple[Int64s, Int64s],
    codes_above: UInt8s,
    times: tuple[Int64s, Int64s],
    codes: UInt8s,
    table: UInt8s,
) -> UInt8s:
    """What events pass on to those inside them. See pure/codes.py."""
    start_above, duration_above = above
    start, duration = times
    passed = np.array(codes, np.uint8)
    _scan.pass_on(
        np.ascontiguousarray(start_above, np.int64).data,
        np.ascontiguousarray(duration_above, np.int64).data,
        _bytes(codes_above).data,
        np.ascontiguousarray(start, np.int64).data,
        np.ascontiguousarray(duration, np.int64).data,
        _bytes(table).reshape(-1).data,
        passed.data,
    )
    return passed


def _bytes(values: npt.NDArray[Any]) -> UInt8s:
    return np.ascontiguousarray(values, np.uint8)

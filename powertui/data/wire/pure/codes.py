"""What small numbers that events have say of them: which kinds of stretches they are of, and what
they pass on to the lane below.

`compiled_codes` answers the same calls.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from powertui.data.wire.pure.stretches import ranks, united_events
from powertui.data.wire.types import KINDS, Int64s, UInt8s


def united_kinds(
    start: Int64s,
    duration: Int64s,
    code: UInt8s,
    kinds: npt.NDArray[np.uint16],
) -> list[tuple[Int64s, Int64s]]:
    """(start, end) for each of KINDS: the same moments as the events of a kind cover, apart from
    each other and ascending; events of no length do not count.

    `code` is that of each event, and `kinds` has the kinds of each of 256 codes, as bits.
    """
    stretches = []
    for kind in range(KINDS):
        is_of_kind = kinds >> kind & 1 != 0
        stretches.append(united_events(start, duration, is_of_kind.take(code)))
    return stretches


def passed_on(
    above: tuple[Int64s, Int64s],
    codes_above: UInt8s,
    times: tuple[Int64s, Int64s],
    codes: UInt8s,
    table: UInt8s,
) -> UInt8s:
    """The codes of a lane's events: of those inside an event of the lane above what `table` [code
    above, code] makes of both.

    `above` and `times` are the (starts, durations) of both lanes, by start; `table` has a row and a
    column for each of CODES.
    """
    start_above, duration_above = above
    start, duration = times
    passed = np.array(codes, np.uint8)
    begun = ranks(start_above, start, equal_too=True)
    inner = np.flatnonzero(begun)
    holder = begun[inner] - 1
    end_of_holder = start_above[holder] + duration_above[holder]
    is_held = start[inner] + duration[inner] <= end_of_holder
    inner = inner[is_held]
    holder = holder[is_held]
    passed[inner] = table[codes_above[holder], passed[inner]]
    return passed

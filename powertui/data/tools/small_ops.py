"""Which operations of a thread are so short that calling them takes the time, and where such calls
follow each other closely: crowds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Events, Floats, Int64s, Track, UInt8s, UInt32s
from powertui.data.quantiles import median_of_rows, median_of_sorted
from powertui.data.sorted_columns import begins_run
from powertui.data.tools.covered_time import NO_TIME, CoveredTime, union
from powertui.data.wire.types import CODES

if TYPE_CHECKING or not wire.COMPILED:
    from powertui.data.wire.pure import codes as wire_codes
else:
    from powertui.data.wire import compiled_codes as wire_codes

# An operation shorter than that takes about as long as calling it does: TensorFlow 2.21, JAX 0.10
# and torch 2.13 call an operation of 16 numbers every 5 to 30 µs (make causes, tiny_ops).
_SHORT_OP_PS = 50_000_000
# A longer operation did not only wait for a core. Chosen, not measured; eight busy programs on two
# cores stopped operations of 2 µs for up to 14 ms.
_MAX_DELAYED_PS = 20_000_000_000
# Of an operation with this share of calls that take so many times its usual call, these have larger
# inputs, and did not wait for a core: of those that did, a name had at most 0.027 (torch 2.14, ten
# busy programs on two cores); Adam, one of whose six weights is large, has 0.17.
_MIN_LARGE_SHARE = 0.05
_LARGE_TIMES_USUAL = 10
# Calls in a row that are judged together: most of them have to be short, and to follow each other
# at once. Chosen, not measured; a step of 20 operations is no crowd then.
_CROWD_CALLS = 40
# From one small operation to the next: with Python between them 100 to 250 µs (make causes,
# keras_eager), and a machine with more threads than cores makes some of them a few ms long.
MAX_USUAL_PERIOD_PS = 500_000_000
_MAX_PERIOD_PS = 5_000_000_000
# A call shorter than this share of the mean one only cleans up after another: handles that are
# deleted take 0.03 of it, usage holds of JAX 0.01 (make causes, tiny_ops).
_MIN_CALL_SHARE = 0.1


# Whether an event is chosen: _OUTERMOST, or only inside one that is: _INSIDE.
_INSIDE = 1
_OUTERMOST = 2


def passed_down(track: Track, codes: UInt8s, table: UInt8s) -> UInt8s:
    """The codes of a line's events, of those inside another one what `table` [its code, code] makes
    of both: lane by lane from the outside, so that a code passes on through every depth.
    """
    codes = codes.copy()
    outer = track.rows_of_lane(0)
    start, duration = track.events.start, track.events.duration
    for depth in range(1, track.lane_count):
        lane = track.rows_of_lane(depth)
        codes[lane] = wire_codes.passed_on(
            (start[outer], duration[outer]),
            codes[outer],
            (start[lane], duration[lane]),
            codes[lane],
            table,
        )
        outer = lane
    return codes


def small_calls(track: Track, is_small: Bools, crowds: CoveredTime) -> int:
    """How many of the small calls in crowds are calls of operations."""
    rows = np.flatnonzero(_outermost(track, is_small))
    in_crowd = crowds.hold(track.events.start[rows])
    lengths = track.events.duration[rows[in_crowd]]
    if not len(lengths):
        return 0
    is_call = lengths > _MIN_CALL_SHARE * lengths.mean()
    return int(is_call.sum())


def _outermost(track: Track, chosen: Bools) -> Bools:
    """Which of the chosen events of a line lie in no other chosen one, however deep."""
    table: UInt8s = np.tile(np.arange(CODES, dtype=np.uint8), (CODES, 1))
    table[_INSIDE:] = _INSIDE
    codes = passed_down(track, chosen * np.uint8(_OUTERMOST), table)
    return np.asarray(codes == _OUTERMOST)


def long_by_name(events: Events, rows: Bools) -> Bools:
    """Which of these events run long; usually short ones that waited for a core do not. Small and
    large calls of one operation are told apart.
    """
    is_long = np.zeros(len(events), np.bool_)
    chosen = np.flatnonzero(rows)
    if not len(chosen):
        return is_long
    name = events.name.take(chosen)
    duration = events.duration.take(chosen)
    count = np.bincount(name)
    # No limit is below this: of all others nothing is asked any more.
    lasting = np.flatnonzero(duration >= _SHORT_OP_PS)
    lasting_name = name[lasting]
    long_count = np.bincount(lasting_name, minlength=len(count))
    short_count = count - long_count
    # The median is long where no more than half of all are short: nothing has to be sorted.
    usually_long = short_count <= count // 2
    limit = np.where(usually_long, _SHORT_OP_PS, _MAX_DELAYED_PS)
    has_long = long_count >= _MIN_LARGE_SHARE * count
    may_be_large = ~usually_long & has_long
    candidates = np.flatnonzero(may_be_large.take(name))
    for index, lengths in _lengths_by_name(name.take(candidates), duration.take(candidates)):
        large_ps = max(_SHORT_OP_PS, _LARGE_TIMES_USUAL * median_of_sorted(lengths))
        large_count = len(lengths) - int(lengths.searchsorted(large_ps))
        if large_count / len(lengths) >= _MIN_LARGE_SHARE:
            limit[index] = large_ps
    is_long[chosen[lasting]] = duration[lasting] >= limit[lasting_name]
    return is_long


def _lengths_by_name(name: UInt32s, duration: Int64s) -> Iterator[tuple[int, Int64s]]:
    """(each name, how long its events are, ascending), sorted all at once: a profile may have a
    million names.
    """
    order = np.lexsort((duration, name))
    name = name.take(order)
    duration = duration.take(order)
    first = np.flatnonzero(begins_run(name))
    for lo, hi in pairwise([*first.tolist(), len(name)]):
        yield int(name[lo]), duration[lo:hi]


def crowded_time(events: Events, rows: Int64s) -> CoveredTime:
    """Where small calls follow each other closely."""
    portions = len(rows) // _CROWD_CALLS
    if not portions:
        return NO_TIME
    by_start = np.argsort(events.start[rows], kind="stable")
    rows = rows[by_start]
    start = events.start[rows]
    duration = events.duration[rows]
    periods = np.diff(start)
    period = np.append(periods, duration[-1])
    in_portions = portions * _CROWD_CALLS
    is_short = _medians_in_turn(duration[:in_portions]) < _SHORT_OP_PS
    is_close = _medians_in_turn(period[:in_portions]) < MAX_USUAL_PERIOD_PS
    is_crowd = is_short & is_close
    is_member = np.zeros(len(rows), np.bool_)
    is_member[:in_portions] = np.repeat(is_crowd, _CROWD_CALLS)
    # Fewer calls than a portion at the end belong to what was going on before them.
    is_member[in_portions:] = is_member[in_portions - 1]
    takes_most = 2 * duration > period
    is_delayed = takes_most & (duration < _MAX_DELAYED_PS)
    is_member &= (period < _MAX_PERIOD_PS) | is_delayed
    next_start = start + period
    return union(start[is_member], next_start[is_member])


def _medians_in_turn(values: Int64s) -> Floats:
    """The median of each portion of calls in a row."""
    return median_of_rows(values.reshape(-1, _CROWD_CALLS))

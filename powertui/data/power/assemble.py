"""From columns to a `PowerSeries`: sorted, without doubles, zeroed, with its clock.

Every reader ends here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.model import Bools, Clock, Floats, Int64s, PowerKind, PowerSeries, Sensor
from powertui.data.power import steps_of_clock, times
from powertui.data.power.notes import Notes
from powertui.data.power.steps_of_clock import Joined

_MAX_POWER_W = 1e9


def power_series(
    sensor: Sensor,
    ns: Int64s,
    watts: Floats,
    *,
    clock: Clock,
    path: str,
    notes: Notes,
    kind: PowerKind = PowerKind.SAMPLED,
    joules: Floats | None = None,
    paused: bool = False,
    joined: Joined | None = None,
) -> PowerSeries:
    """One channel. `ns` counts from the zero that `clock` describes; NaN watts stay as gaps.

    Rows that repeat another one exactly are dropped (a buffer saved twice); different readings with
    one time (a log with whole seconds polled faster) become their mean, because nobody knows their
    order. A clock that was set while the log was written is told by its rows, unless another clock
    says that pauses are pauses (`paused`); `joined` is what they tell, where it was asked of these
    times before.
    """
    ns, watts = np.asarray(ns, np.int64), np.asarray(watts, np.float64)
    name = sensor.name or "the log"
    with np.errstate(invalid="ignore"):
        absurd = np.abs(watts) > _MAX_POWER_W
    if absurd.any():
        notes.say(
            f"{int(absurd.sum())} readings of {name} are more than any machine draws; dropped"
        )
        ns, watts = ns[~absurd], watts[~absurd]
        joules, joined = None if joules is None else joules[~absurd], None
    if joined is None:
        joined = steps_of_clock.join_rows(
            ns, paused=paused, joules=joules if kind is PowerKind.INTERVAL else None
        )
    clocks: tuple[int, ...] = ()
    if joined.steps_ns:
        watts = _lasted(watts, joules, ns, joined.ns)
        ns = joined.ns
        if _is_set(clock):
            clock, clocks = _either(clock, joined), joined.clocks_ns
        notes.say(_set(joined))
    if joined.least_ns < 0:
        order = np.argsort(ns, kind="stable")
        notes.say(
            f"{name}: time goes back at {int((np.diff(ns) < 0).sum())} of {len(ns)} rows; "
            "sorted by time"
        )
        ns, watts = ns[order], watts[order]
        joules = None if joules is None else joules[order]
    if joined.least_ns <= 0 and (np.diff(ns) == 0).any():
        ns, watts, joules = _one_per_time(ns, watts, joules, name, notes)
    return PowerSeries(
        sensor,
        ns,
        watts,
        kind,
        clock,
        path,
        joules,
        parted_s=joined.paused_ns / times.S,
        clocks_ns=clocks,
    )


def _lasted(watts: Floats, joules: Floats | None, ns: Int64s, joined: Int64s) -> Floats:
    """Watts of a counter's intervals whose true length is known now."""
    if joules is None:
        return watts
    apart = np.diff(joined)
    moved = np.flatnonzero((apart != np.diff(ns)) & (apart > 0)) + 1
    watts = watts.copy()
    watts[moved] = joules[moved] / (apart[moved - 1] / times.S)
    return watts


def _set(joined: Joined) -> str:
    steps_ns = joined.steps_ns
    words = steps_of_clock.in_words(steps_ns)
    if joined.paused_ns:
        return (
            f"the clock of the log was set while it ran, or the log paused ({words}); its "
            "place holds both"
        )
    if any(step == -steps_of_clock.HOUR for step in steps_ns):
        return (
            f"the log's times repeat an hour ({words}), as local time in autumn does; its "
            "rows follow one another"
        )
    return (
        f"the clock of the log was set while it ran ({words}); its rows follow one another, "
        "and its place holds both clocks"
    )


def _is_set(clock: Clock) -> bool:
    """Whether a step in its times moves what it tells of.

    An hour that local time repeats is the zone's business.
    """
    return clock.known and clock.source != times.LOCAL


def _either(clock: Clock, joined: Joined) -> Clock:
    """A zero that holds for the clock before a step and after it."""
    assert clock.lo_ns is not None
    assert clock.hi_ns is not None
    return replace(clock, lo_ns=clock.lo_ns + joined.early_ns, hi_ns=clock.hi_ns + joined.late_ns)


def _one_per_time(
    ns: Int64s, watts: Floats, joules: Floats | None, name: str, notes: Notes
) -> tuple[Int64s, Floats, Floats | None]:
    starts = np.flatnonzero(np.r_[True, np.diff(ns) > 0])
    valid = np.isfinite(watts)
    count = np.add.reduceat(valid.astype(np.int64), starts)
    total = np.add.reduceat(np.where(valid, watts, 0.0), starts)
    low = np.minimum.reduceat(np.where(valid, watts, np.inf), starts)
    high = np.maximum.reduceat(np.where(valid, watts, -np.inf), starts)
    mean = np.where(
        low == high, low, total / np.maximum(count, 1)
    )  # a double is the same number, not nearly the same
    mean[count == 0] = np.nan
    sizes = np.diff(np.r_[starts, len(ns)])
    same = (low == high) | (count == 0)
    doubles = int((sizes[same] - 1).sum())
    mixed = int((~same).sum())
    if doubles:
        notes.say(f"{doubles} rows of {name} repeat another row; dropped")
    if mixed:
        notes.say(f"{mixed} times in {name} have several readings; their mean is used")
    summed = None if joules is None else np.add.reduceat(joules, starts)
    return ns[starts], mean, summed


def zeroed(
    column: times.TimeColumn, rows: Bools, *, keep_zero: bool = False
) -> tuple[Int64s, Clock]:
    """Times of the good rows from their first on, and the clock of that zero.

    Elapsed times keep the log's own zero.
    """
    ns = column.ns[rows]
    if not len(ns):
        return ns, Clock()
    if keep_zero or (
        column.kind == "elapsed" and abs(int(ns.min())) < 400 * times.DAY and _starts_near_zero(ns)
    ):
        return ns, times.clock(column, 0)
    zero = int(ns.min())
    return ns - zero, times.clock(column, zero)


def _starts_near_zero(ns: Int64s) -> bool:
    """Elapsed since the log's own start, and not an uptime: the first row comes within the log's
    own length (or ten seconds).
    """
    first, last = int(ns.min()), int(ns.max())
    return 0 <= first <= max(10 * times.S, last - first)


def join_guess(parts: Sequence[str]) -> str:
    """Clauses of a guess as one line."""
    return "; ".join(part for part in parts if part)

"""From columns to a `PowerSeries`: sorted, without doubles, zeroed, with its clock.

Every reader ends here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.model import (
    Badge,
    Bools,
    Clock,
    Floats,
    Int64s,
    PowerKind,
    PowerSeries,
    Sensor,
    worst_badge,
)
from powertui.data.power import column_times, shared_moments, steps_of_clock, times
from powertui.data.power.notes import Notes
from powertui.data.power.steps_of_clock import Joined
from powertui.named_tuples import NamedTuple

_MAX_POWER_W = 1e9  # a gigawatt: beyond what one log can be of; chosen, not measured
# A log whose first time is further from zero counts from something else than its own start. Chosen,
# not measured.
_MAX_ELAPSED_NS = 400 * times.DAY
_MAX_FIRST_ROW_NS = 10 * times.S  # a logger's first row comes so soon; chosen, not measured


def power_series(
    sensor: Sensor,
    ns: Int64s,
    watts: Floats,
    *,
    clock: Clock,
    notes: Notes,
    joules: Floats | None = None,
    joined: Joined | None = None,
) -> PowerSeries:
    """One channel. `ns` counts from the zero that `clock` describes; NaN watts stay as gaps.

    `joules`, of a counter or of intervals, are those since the row before. `joined` shows where the
    log's clock was set, for a caller that has asked `steps_of_clock` already.

    Rows that repeat another one exactly are dropped (a buffer saved twice); different readings with
    one time (a log with whole seconds polled faster) become their mean, because nobody knows their
    order; whether they are one device's at all is assumed then.
    """
    name = sensor.name or "the log"
    rows = _Rows(np.asarray(ns, np.int64), np.asarray(watts, np.float64), joules)
    with np.errstate(invalid="ignore"):
        absurd = np.abs(rows.watts) > _MAX_POWER_W
    if absurd.any():
        count = int(absurd.sum())
        notes.say(f"{count} readings of {name} are more than any machine draws; dropped")
        rows = rows.take(~absurd)
        if joined is None:
            joined = None
        else:
            joined = replace(joined, ns=joined.ns[~absurd])
    if joined is None:
        joined = steps_of_clock.join_rows(rows.ns, joules=rows.joules)
    clocks: tuple[int, ...] = ()
    if joined.steps_ns:
        true_watts = _watts_on_true_lengths(rows, joined.ns)
        rows = _Rows(joined.ns, true_watts, rows.joules)
        if _moves_with_steps(clock):
            clock = _either_clock(clock, joined)
            clocks = joined.clocks_ns
        notes.say(_steps_in_words(joined))
    if joined.least_ns < 0:
        backward_count = int((np.diff(rows.ns) < 0).sum())
        notes.say(
            f"{name}: time goes back at {backward_count} of {len(rows.ns)} rows; sorted by time"
        )
        rows = rows.take(np.argsort(rows.ns, kind="stable"))
    if joined.least_ns <= 0 and (np.diff(rows.ns) == 0).any():
        rows, is_mean = _one_per_time(rows, name, notes)
        if is_mean:
            sensor = replace(sensor, scale=worst_badge((sensor.scale, Badge.ASSUMED)))
    return PowerSeries(
        sensor=sensor,
        times=rows.ns,
        watts=rows.watts,
        kind=PowerKind.SAMPLED if rows.joules is None else PowerKind.INTERVAL,
        clock=clock,
        path=notes.path,
        joules=rows.joules,
        parted_s=joined.paused_ns / times.S,
        clocks_ns=clocks,
    )


class _Rows(NamedTuple):
    """The rows of a channel on their way to a series."""

    ns: Int64s
    watts: Floats
    joules: Floats | None

    def take(self, rows: Bools | Int64s) -> _Rows:
        """Some of the rows."""
        if self.joules is None:
            joules = None
        else:
            joules = self.joules[rows]
        return _Rows(self.ns[rows], self.watts[rows], joules)


def sampled_channels(
    sensor: Sensor,
    ns: Int64s,
    watts: Floats,
    *,
    clock: Clock,
    notes: Notes,
) -> list[PowerSeries]:
    """The channels of readings that one name stands for: several where unequal readings of one
    moment show that they are several devices'.
    """
    ns = np.asarray(ns, np.int64)
    watts = np.asarray(watts, np.float64)
    devices = shared_moments.split_by_device(ns, watts)
    if not devices:
        return [power_series(sensor, ns, watts, clock=clock, notes=notes)]
    name = sensor.name or "the log"
    notes.say(
        f"{name} has {len(devices)} readings of each moment: as many devices, distinguished by "
        "their order"
    )
    return [
        power_series(
            replace(sensor, name=f"{sensor.name} {number}".strip(), device=None),
            ns[rows],
            watts[rows],
            clock=clock,
            notes=notes,
        )
        for number, rows in enumerate(devices, 1)
    ]


def _watts_on_true_lengths(rows: _Rows, true_ns: Int64s) -> Floats:
    """Watts of a counter's intervals whose true length is known now."""
    if rows.joules is None:
        return rows.watts
    true_lengths = np.diff(true_ns)
    is_changed = (true_lengths != np.diff(rows.ns)) & (true_lengths > 0)
    changed_rows = np.flatnonzero(is_changed) + 1
    watts: Floats = rows.watts.copy()
    watts[changed_rows] = rows.joules[changed_rows] / (true_lengths[changed_rows - 1] / times.S)
    return watts


def _steps_in_words(joined: Joined) -> str:
    """What a person has to know of a clock that was set."""
    steps_ns = joined.steps_ns
    words = steps_of_clock.in_words(steps_ns)
    if joined.paused_ns:
        return (
            f"the clock of the log was set while it ran, or the log paused ({words}); its "
            "alignment allows for both"
        )
    if any(step == -steps_of_clock.HOUR for step in steps_ns):
        return (
            f"the log's times repeat an hour ({words}), as local time in autumn does; its "
            "rows follow one another"
        )
    return (
        f"the clock of the log was set while it ran ({words}); its rows follow one another, "
        "and its alignment allows for both clocks"
    )


def _moves_with_steps(clock: Clock) -> bool:
    """Whether a step in a log's times moves its zero, too.

    Times of a zone that is not known have no such zero: an hour that they repeat is the zone's
    business.
    """
    return clock.known and clock.source != times.LOCAL


def _either_clock(clock: Clock, joined: Joined) -> Clock:
    """A zero that holds for the clock before a step and after it."""
    assert clock.lo_ns is not None
    assert clock.hi_ns is not None
    return replace(clock, lo_ns=clock.lo_ns + joined.early_ns, hi_ns=clock.hi_ns + joined.late_ns)


def _one_per_time(rows: _Rows, name: str, notes: Notes) -> tuple[_Rows, bool]:
    """Sorted rows with one row for each time: the mean of those that share it.

    At last whether that says something else than the rows: most of them are such means.
    """
    starts = np.flatnonzero(np.r_[True, np.diff(rows.ns) > 0])
    valid = np.isfinite(rows.watts)
    count = np.add.reduceat(valid.astype(np.int64), starts)
    total = np.add.reduceat(np.where(valid, rows.watts, 0.0), starts)
    low = np.minimum.reduceat(np.where(valid, rows.watts, np.inf), starts)
    high = np.maximum.reduceat(np.where(valid, rows.watts, -np.inf), starts)
    # Of equal readings the reading itself: a mean may differ from it in the last bit.
    mean = np.where(low == high, low, total / np.maximum(count, 1))
    mean[count == 0] = np.nan
    sizes = np.diff(np.r_[starts, len(rows.ns)])
    are_equal = (low == high) | (count == 0)
    repeated_count = int((sizes[are_equal] - 1).sum())
    mixed_count = int((~are_equal).sum())
    if repeated_count:
        notes.say(f"{repeated_count} rows of {name} repeat another row; dropped")
    if mixed_count:
        notes.say(f"{mixed_count} times in {name} have several readings; their mean is used")
    if rows.joules is None:
        joules = None
    else:
        joules = np.add.reduceat(rows.joules, starts)
    return _Rows(rows.ns[starts], mean, joules), mixed_count > len(starts) / 2


def zeroed(
    column: column_times.TimeColumn,
    rows: Bools,
    *,
    keep_zero: bool = False,
) -> tuple[Int64s, Clock]:
    """Times of the good rows from their first on, and the clock of that zero.

    Elapsed times keep the log's own zero. Rows of stretches count from where the first one began.
    """
    if rows.all():
        ns = column.ns
    else:
        ns = column.ns[rows]
    if not len(ns):
        return ns, Clock()
    zero = int(ns.min())
    if column.length_ns is not None:
        zero = int((ns - column.length_ns[rows]).min())
    is_elapsed = column.kind == "elapsed" and abs(zero) < _MAX_ELAPSED_NS
    if keep_zero or (is_elapsed and _starts_near_zero(ns)):
        return ns, times.clock(column, 0)
    return ns - zero, times.clock(column, zero)


def _starts_near_zero(ns: Int64s) -> bool:
    """Whether times count from the log's own start, and are no uptime: the first row comes within
    the log's own length (or ten seconds).
    """
    first = int(ns.min())
    last = int(ns.max())
    return 0 <= first <= max(_MAX_FIRST_ROW_NS, last - first)


def join_guess(parts: Sequence[str]) -> str:
    """Clauses of a guess as one line."""
    return "; ".join(part for part in parts if part)

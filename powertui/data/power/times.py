"""Where a log's times are in Unix time: the zones and clocks of columns of times.

Epochs and zoned stamps are absolute. A naive local stamp is kept as an interval: the zone of a
place lies between UTC-12 and UTC+14, so its zero lies within 26 hours until someone resolves it
(`with_offset`). Elapsed seconds, uptimes and ticks say nothing about Unix time.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, tzinfo

import numpy as np

from powertui.data.model import Clock, Int64s
from powertui.data.power.column_times import TimeColumn
from powertui.data.power.written_times import zone_offset
from powertui.errors import UsageError
from powertui.named_tuples import NamedTuple

S = 1_000_000_000
DAY = 86_400 * S
LOCAL = "local time without zone"
ABSOLUTE = "absolute timestamps"
COMPARED = "absolute timestamps, compared with the machine's clock"
BMC = "BMC clock"
_MIN_FALL_NS = 1800 * S  # stamps that fall by more are those of clocks that were put back
_EASTERNMOST_NS = 14 * 3600 * S  # UTC+14, the zone whose clocks are furthest ahead
_WESTERNMOST_NS = 12 * 3600 * S  # UTC-12
BMC_SLACK = 120 * S  # BMCs are often not synchronised: minutes have been seen


def in_zone(column: TimeColumn, tz: str | None) -> TimeColumn:
    """Local times in the zone that a person named become absolute ones.

    Others stay what they are.
    """
    if tz is None or column.kind != "local":
        return column
    offset = zone_offset(tz)
    if offset is not None:
        return replace(
            column,
            ns=column.ns - offset * S,
            kind="absolute",
            offset_s=offset,
            words=f"local time in {tz}",
        )
    rows = np.flatnonzero(column.ok)
    at_rows = _offsets(tz, column.ns[rows])
    if at_rows is None:
        problem = f"it holds times that clocks in {tz} never showed: check --tz"
        return replace(column, problem=problem)
    offsets = np.zeros(len(column.ns), np.int64)
    offsets[rows] = at_rows.offsets
    words = f"local time in {tz}"
    first_offset: int | None = None
    if at_rows.later_s:
        words += ", in the hour that its clocks showed twice"
    elif len(rows):
        first_offset = int(at_rows.offsets[0])
    return replace(
        column,
        ns=column.ns - offsets * S,
        kind="absolute",
        offset_s=first_offset,
        words=words,
        later_ns=at_rows.later_s * S,
    )


_MAX_PLAIN_SPAN_NS = 60 * DAY  # no zone sets its clocks twice in so short a time


class _Offsets(NamedTuple):
    """Seconds east of UTC for every row; and how much later all of them may be, where they are in
    doubt.
    """

    offsets: Int64s
    later_s: int = 0


def _zone(tz: str) -> tzinfo:
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(tz)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"--tz {tz}: this machine does not know that time zone",
            hint="Give a name like America/Sao_Paulo or an offset like -03:00.",
        ) from None


def _east_of_utc(zone: tzinfo, ns: int) -> tuple[int, int]:
    """The zone's offsets at a local time, s.

    The two differ in the hour that autumn repeats (the first is larger) and in the one that spring
    leaves out.
    """
    moment = (datetime(1970, 1, 1) + timedelta(microseconds=ns // 1000)).replace(tzinfo=zone)
    first, second = (moment.replace(fold=fold).utcoffset() or timedelta() for fold in (0, 1))
    return round(first.total_seconds()), round(second.total_seconds())


def _offsets(tz: str, ns: Int64s) -> _Offsets | None:
    """The offset of every row; None for times in spring's gap.

    Of the hour that autumn repeats, the fall of the stamps shows which time it was, or else what
    follows.
    """
    zone = _zone(tz)
    offsets = np.zeros(len(ns), np.int64)
    if not len(ns):
        return _Offsets(offsets)
    at_first = _east_of_utc(zone, int(ns[0]))
    at_last = _east_of_utc(zone, int(ns[-1]))
    at_ends = {*at_first, *at_last}
    if len(at_ends) == 1 and ns[-1] - ns[0] < _MAX_PLAIN_SPAN_NS:
        offsets[:] = at_ends.pop()
        return _Offsets(offsets)
    fold = 0
    previous = int(ns[0])
    # How many rows from the first on are in a repeated hour, before any fall of the stamps; None
    # once they fell.
    doubtful: int | None = 0
    for row, now in enumerate(ns.tolist()):
        first, second = _east_of_utc(zone, now)
        if first < second:
            return None
        if now < previous - _MIN_FALL_NS:
            fold, doubtful = 1, None
        elif now > previous + DAY:
            fold = 0
        if doubtful == row and first > second:
            doubtful = row + 1
        offsets[row] = second if fold else first
        previous = now
    return _with_doubtful_hour(zone, ns, offsets, doubtful or 0)


def _with_doubtful_hour(zone: tzinfo, ns: Int64s, offsets: Int64s, doubtful: int) -> _Offsets:
    """The offsets, where so many of the first rows are in an hour that the clocks showed twice."""
    if doubtful == len(ns):
        first, second = _east_of_utc(zone, int(ns[0]))
        return _Offsets(offsets, first - second)
    if doubtful and ns[doubtful] - ns[doubtful - 1] < _MIN_FALL_NS:
        # They went straight on into the next hour: it was the second time.
        offsets[:doubtful] = [_east_of_utc(zone, now)[1] for now in ns[:doubtful].tolist()]
    return _Offsets(offsets)


def clock(column: TimeColumn, zero_ns: int) -> Clock:
    """Where the log's zero lies, if `zero_ns` of this column is its zero."""
    if column.kind == "absolute":
        return Clock(
            lo_ns=zero_ns,
            hi_ns=zero_ns + column.later_ns,
            source=ABSOLUTE,
            detail=column.words,
            utc_offset_s=column.offset_s,
            assumed=column.assumed,
        )
    if column.kind == "local":
        return Clock(
            zero_ns - _EASTERNMOST_NS,
            zero_ns + _WESTERNMOST_NS,
            LOCAL,
            column.problem or "give --tz, or let the profile's own evidence resolve it",
            assumed=column.assumed,
        )
    if column.kind == "time of day":
        return Clock(detail=column.words, utc_offset_s=column.offset_s, of_day_ns=zero_ns % DAY)
    return Clock(detail=column.words)


def with_offset(naive: Clock, utc_offset_s: int, detail: str = "") -> Clock:
    """A clock of naive local times, once the zone is known (seconds east of UTC)."""
    if naive.source != LOCAL or naive.lo_ns is None:
        return naive
    zero = written_zero_ns(naive) - utc_offset_s * S
    return Clock(
        lo_ns=zero,
        hi_ns=zero,
        source=ABSOLUTE,
        detail=detail or f"local time at UTC{offset_words(utc_offset_s)}",
        utc_offset_s=utc_offset_s,
        assumed=naive.assumed,
    )


def written_zero_ns(clock: Clock) -> int:
    """The log's zero as the log writes it: local times of an unknown zone stay as they are.

    The middle of their interval is no time that the log contains: it is an hour before.
    """
    if clock.source == LOCAL and clock.lo_ns is not None:
        return clock.lo_ns + _EASTERNMOST_NS
    return clock.mid_ns


def day_words(ns: int) -> str:
    """ "2026-11-21" """
    return str(datetime(1970, 1, 1).date() + timedelta(days=ns // DAY))


def is_local(clock: Clock) -> bool:
    """Local times that name no zone, or times of day that name no date either: the run they belong
    to may tell.
    """
    return (clock.known and clock.source == LOCAL) or clock.of_day_ns is not None


def offset_words(seconds: int) -> str:
    """ "+02:00" """
    sign = "-" if seconds < 0 else "+"
    return f"{sign}{abs(seconds) // 3600:02}:{abs(seconds) // 60 % 60:02}"


def bmc(clock: Clock) -> Clock:
    """The clock of a BMC: seldom synchronised, so it is no better than a couple of minutes."""
    if clock.lo_ns is None or clock.hi_ns is None:
        return clock
    if clock.source == LOCAL:
        return replace(clock, detail="the BMC's own clock, no zone")
    return Clock(
        lo_ns=clock.lo_ns - BMC_SLACK,
        hi_ns=clock.hi_ns + BMC_SLACK,
        source=BMC,
        detail="BMC clocks are rarely synchronized; taken as ±2 min",
        utc_offset_s=clock.utc_offset_s,
        assumed=clock.assumed,
    )

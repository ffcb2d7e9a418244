"""What a log's time column means: Unix time, local time without a zone, time of day, or seconds
since something.

Epochs and zoned stamps are absolute. A naive local stamp is kept as an interval: the zone of a
place lies between UTC-12 and UTC+14, so its zero lies within 26 hours until someone resolves it
(`with_offset`). Elapsed seconds, uptimes and ticks say nothing about Unix time.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from typing import Literal, NamedTuple

import numpy as np

from powertui.data.model import Bools, Clock, Floats, Int64s
from powertui.errors import UsageError
from powertui.value_types import dataclass

S = 1_000_000_000
DAY = 86_400 * S
# From 1970 to 2103, or so long before: two such times, and a length, can be added in 64 bits.
MOST_NS = 4_200_000_000 * S
LONGEST_S = 1e9  # 32 years: no log and no machine runs that long
# A time further than this from the log's middle was damaged, or written before the clock was set.
_MAX_APART_NS = 400 * DAY
_ROWS_TOGETHER = 1 << 16  # of a column that is scaled: temporaries stay in the cache
_MAX_TIME_CHARS = 80  # characters of a written time
LOCAL = "local time without zone"
ABSOLUTE = "absolute timestamps"
BMC = "BMC clock"
_MIN_FALL_NS = 1800 * S  # stamps that fall by more are those of clocks that were put back
BMC_SLACK = 120 * S  # BMCs are often not synchronised: minutes have been seen

TimeKind = Literal["absolute", "local", "time of day", "elapsed"]

_ISO = re.compile(
    r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T _]+(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,:](\d{1,9}))?)?)?"
    r"\s*([AaPp][Mm])?\s*(Z|[A-Z]{3,5}|[a-z]{3,5}|[+-]\d\d(?::?\d\d)?)?"
)
_DMY = re.compile(
    r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4}),?[T ]+(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r"\s*([AaPp][Mm])?\s*([A-Z]{3,5}|[+-]\d\d:?\d\d)?"
)
_CTIME = re.compile(
    r"(?:[A-Z][a-z]{2},? )?\s*(?:([A-Z][a-z]{2}) +(\d{1,2})|(\d{1,2}) "
    r"([A-Z][a-z]{2})),?\s+(?:(\d{4}),?\s+(?:@\s+)?)?"
    r"(\d{1,2}):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
    r"\s*([AP]M)?\s*(?:([A-Z]{3,5}|[+-]\d\d:?\d\d)\s*)?(\d{4})?(?:\s+([A-Z]{3,5}|[+-]\d\d:?\d\d))?"
)
_DAY_NAMED = re.compile(  # 21-Nov-2026 17:48:12, 21/Nov/2026:17:48:12 +0000
    r"(\d{1,2})([-/ ])([A-Z][a-z]{2})\2(\d{4}|\d\d)[ "
    r":T]+(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r"\s*([AaPp][Mm])?\s*([A-Z]{3,5}|[+-]\d\d:?\d\d)?"
)
_DAY = re.compile(r"(\d{1,2}):(\d\d):(\d\d)(?:[.:,](\d{1,9}))?\s*([AaPp][Mm])?")
_COMPACT = re.compile(
    r"(\d{4})(\d\d)(\d\d)[ T_-]?(\d\d):?(\d\d):?(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?"
)
_SINCE = re.compile(r"elapsed|duration|since|uptime|run ?time|relative", re.IGNORECASE)
# A log whose first row comes so soon after midnight counts from its own start. Chosen, not
# measured.
_MAX_FIRST_ELAPSED_NS = 10 * S
_PLAIN = re.compile(r"\s*(?:19|20)\d\d([-/])\d\d\1\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?\s*")
_DECIMAL_COMMA = re.compile(r"\s*\d+,\d+\s*")
_MONTHS = {
    name: i
    for i, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}
_HOURS = {
    "UTC": 0,
    "GMT": 0,
    "Z": 0,
    "WET": 0,
    "WEST": 1,
    "BST": 1,
    "CET": 1,
    "CEST": 2,
    "MEZ": 1,
    "MESZ": 2,
    "EET": 2,
    "EEST": 3,
    "MSK": 3,
    "EST": -5,
    "EDT": -4,
    "CDT": -5,
    "MST": -7,
    "MDT": -6,
    "PST": -8,
    "PDT": -7,
    "BRT": -3,
    "BRST": -2,
    "JST": 9,
    "KST": 9,
    "AEST": 10,
    "AEDT": 11,
    "AWST": 8,
    "NZST": 12,
    "NZDT": 13,
    "HKT": 8,
    "SGT": 8,
    "WIB": 7,
    "ICT": 7,
    "PKT": 5,
    "SAST": 2,
    "EAT": 3,
    "WAT": 1,
    "CAT": 2,
    "ART": -3,
    "CLT": -4,
    "CLST": -3,
    "COT": -5,
    "HST": -10,
    "AKST": -9,
    "AKDT": -8,
    "TRT": 3,
}
_SHARED = frozenset(
    {"CST", "IST", "AST", "SST", "GST", "AMT", "WST", "ECT", "BDT", "MST"}
)  # of several zones: a local time


class WrittenTime(NamedTuple):
    """One written time, as if it were UTC, and the zone if it names one."""

    ns: int
    offset_s: int | None
    dated: bool


@dataclass(frozen=True, eq=False)
class TimeColumn:
    """A column of times in ns: since 1970 for the dated kinds, else since midnight or since the
    log's own zero.
    """

    ns: Int64s
    ok: Bools
    kind: TimeKind
    words: str  # "Unix seconds", for a person
    offset_s: int | None = None
    # All of it may be so much later: it was written in an hour that the clocks repeat.
    later_ns: int = 0
    problem: str = ""  # why the zone that was named cannot be right
    assumed: str = ""  # what of these times the file does not say itself

    def __post_init__(self) -> None:
        if self.ok.any():
            readable = self.ns if self.ok.all() else self.ns[self.ok]
            half = len(readable) // 2
            middle = np.int64(np.partition(readable, half)[half])
            farthest = max(int(readable.max()) - int(middle), int(middle) - int(readable.min()))
            if farthest >= _MAX_APART_NS - 2:  # else they are all near, which takes no columns
                is_near = np.abs(self.ns // 2 - middle // 2) < _MAX_APART_NS // 2
                object.__setattr__(self, "ok", self.ok & is_near)


def zone_offset(name: str) -> int | None:
    """Seconds east of UTC of "UTC", "+02:00", "-0300", "EDT". None when it is none of these."""
    match = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d\d)?", name.strip())
    if match:
        seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60
        return -seconds if match[1] == "-" else seconds
    hours = _HOURS.get(name.strip().upper())
    return None if hours is None else hours * 3600


def _ns(
    year: int, month: int, day: int, clock: tuple[str | None, ...], half: str | None = None
) -> int | None:
    """A date and a time of day as ns since 1970; None where they are impossible."""
    hour, minute, second = (int(text or 0) for text in clock[:3])
    if half:
        hour = hour % 12 + (12 if half.upper() == "PM" else 0)
    # Some loggers write 24:00 and leap seconds.
    if not (hour < 25 and minute < 60 and second < 62):
        return None
    if not (1900 <= year < 2100 and 1 <= month <= 12):
        return None
    if not 1 <= day <= calendar.monthrange(year, month)[1]:
        return None
    seconds = calendar.timegm((year, month, day, hour, minute, second, 0, 0, 0))
    return seconds * S + int((clock[3] or "0").ljust(9, "0"))


def parse(text: str, *, day_first: bool = False) -> WrittenTime | None:
    """One time as loggers and BMCs write it; None when it is none."""
    text = text.strip().strip('"')
    if len(text) > _MAX_TIME_CHARS:
        return None
    if match := _DMY.fullmatch(text):
        return _slashed(match, day_first)
    for pattern, read in _FORMS:
        if match := pattern.fullmatch(text):
            return read(match)
    return None


def _dated(ns: int | None, zone: str | None) -> WrittenTime | None:
    """A time with a date, and with the zone that is written behind it."""
    if ns is None:
        return None
    return WrittenTime(ns, zone_offset(zone) if zone else None, True)


def _iso(match: re.Match[str]) -> WrittenTime | None:
    zone = match[9]
    if zone and zone_offset(zone) is None and zone not in _SHARED:
        return None
    ns = _ns(int(match[1]), int(match[2]), int(match[3]), match.groups()[3:7], match[8])
    return _dated(ns, zone)


def _time_of_day(match: re.Match[str]) -> WrittenTime | None:
    ns = _ns(1970, 1, 1, match.groups()[:4], match[5])
    return None if ns is None else WrittenTime(ns, None, False)


def _slashed(match: re.Match[str], day_first: bool) -> WrittenTime | None:
    """MM/DD/YYYY, or DD/MM/YYYY where the column shows so; with points it is always the latter."""
    month, day = int(match[1]), int(match[3])
    is_day_first = day_first or match[2] == "."
    if month > 12 or (day <= 12 and is_day_first):
        month, day = day, month
    return _dated(_ns(int(match[4]), month, day, match.groups()[4:8], match[9]), match[10])


def _month_named(match: re.Match[str]) -> WrittenTime | None:
    if match[3] not in _MONTHS:
        return None
    year = int(match[4]) + (2000 if len(match[4]) == 2 else 0)
    ns = _ns(year, _MONTHS[match[3]], int(match[1]), match.groups()[4:8], match[9])
    return _dated(ns, match[10])


def _compact(match: re.Match[str]) -> WrittenTime | None:
    ns = _ns(int(match[1]), int(match[2]), int(match[3]), match.groups()[3:7])
    return _dated(ns, match[8])


def _ctime(match: re.Match[str]) -> WrittenTime | None:
    month, day = _MONTHS.get(match[1] or match[4]), int(match[2] or match[3])
    year = match[5] or match[12]
    if month is None or year is None:
        return None
    ns = _ns(int(year), month, day, match.groups()[5:9], match[10])
    return _dated(ns, match[11] or match[13])


# A text is read by the first of these that it fits.
_FORMS = (
    (_ISO, _iso),
    (_DAY, _time_of_day),
    (_DAY_NAMED, _month_named),
    (_COMPACT, _compact),
    (_CTIME, _ctime),
)


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────

_UNITS = {
    "s": S,
    "sec": S,
    "secs": S,
    "second": S,
    "seconds": S,
    "ms": S // 1000,
    "msec": S // 1000,
    "milliseconds": S // 1000,
    "us": 1000,
    "usec": 1000,
    "microseconds": 1000,
    "µs": 1000,
    "ns": 1,
    "nsec": 1,
    "nanoseconds": 1,
    "min": 60 * S,
    "minutes": 60 * S,
    "h": 3600 * S,
    "hours": 3600 * S,
}
_UNIT_WORDS = {
    S: "seconds",
    S // 1000: "milliseconds",
    1000: "microseconds",
    1: "nanoseconds",
    60 * S: "minutes",
    3600 * S: "hours",
}
# From 2001 on: what is less counts microseconds, or finer, since a machine was started.
_EPOCHS = (
    (1e9, 1e10, S, "Unix seconds"),
    (1e12, 1e13, S // 1000, "Unix milliseconds"),
    (1e15, 1e16, 1000, "Unix microseconds"),
    (1e18, 1e19, 1, "Unix nanoseconds"),
)


# Days as a column of times counts them: since 1899-12-30 in spreadsheets (here from 1970 to 2100),
# or since 1970 (here from 2015 on, and no spreadsheet's of our time).
_SPREADSHEET_1970 = 25_569.0
_SPREADSHEET_DAYS = (_SPREADSHEET_1970, 73_051.0)
_UNIX_DAYS = (16_436.0, _SPREADSHEET_1970)
_MAX_DAYS_STEP = 1.2e-4  # ten seconds; as seconds it would be thousands of rows in one


def unit_in(name: str) -> int | None:
    """ns per unit that a column's name tells ("time_ms", "Elapsed Time (sec)"); None when it tells
    none.
    """
    for word in reversed(re.split(r"[^a-zµ]+", name.lower())):
        if word in _UNITS and (
            word not in ("h", "min") or "time" in name.lower() or "elapsed" in name.lower()
        ):
            return _UNITS[word]
    return None


def from_numbers(values: Floats, name: str = "") -> TimeColumn:
    """Numbers as time: Unix time by its size, anything smaller is elapsed."""
    ok = np.isfinite(values)
    middle = float(np.median(values[ok])) if ok.any() else 0.0
    for low, high, factor, words in _EPOCHS:
        if low <= middle < high:
            return TimeColumn(_scaled(values, ok, factor), ok, "absolute", words)
    if not unit_in(name):
        if _are_days(values[ok], middle, _SPREADSHEET_DAYS):
            since_1970 = _whole_ms((values - _SPREADSHEET_1970) * 86_400.0, ok)
            words = "days of a spreadsheet, local time without a zone"
            return TimeColumn(since_1970, ok, "local", words)
        if _are_days(values[ok], middle, _UNIX_DAYS):
            return TimeColumn(_whole_ms(values * 86_400.0, ok), ok, "absolute", "Unix days")
    factor = unit_in(name) or S
    words = f"{_UNIT_WORDS[factor]} since a start that the log does not give"
    return TimeColumn(_scaled(values, ok, factor), ok, "elapsed", words)


def _are_days(values: Floats, middle: float, span: tuple[float, float]) -> bool:
    """Whether numbers are days within this span: a log's rows come seconds apart."""
    first, last = span
    if not first < middle < last or len(values) < 3:
        return False
    typical_step = float(np.median(np.abs(np.diff(values))))
    return 0 < typical_step < _MAX_DAYS_STEP and bool(values.min() > first)


def _whole_ms(seconds: Floats, ok: Bools) -> Int64s:
    """To ns, without the digits that days in a double cannot hold."""
    return _scaled(seconds, ok, S) // 1_000_000 * 1_000_000


def lengths(seconds: Floats) -> tuple[Int64s, Bools]:
    """Durations in ns, and which of them are some: longer than nothing, and than no log is long."""
    ok = (seconds > 0) & (seconds < LONGEST_S)
    return np.round(np.where(ok, seconds, 0.0) * S).astype(np.int64), ok


def _scaled(values: Floats, ok: Bools, factor: int) -> Int64s:
    """To ns without losing digits: whole units and the rest apart (1.8e9 s * 1e9 has no room in a
    double).
    """
    ns = np.empty(len(values), np.int64)
    for first in range(0, len(values), _ROWS_TOGETHER):
        rows = slice(first, first + _ROWS_TOGETHER)
        safe = np.where(ok[rows], values[rows], 0.0)
        ok[rows] &= np.abs(safe) < MOST_NS / factor
        safe = np.where(ok[rows], safe, 0.0)
        whole_units = np.floor(safe)
        parts = np.round((safe - whole_units) * factor).astype(np.int64)
        ns[rows] = whole_units.astype(np.int64) * factor + parts
    return ns


# ── columns ──────────────────────────────────────────────────────────────────────────────────────


def _fast(texts: Sequence[str]) -> Int64s | None:
    """A whole column of plain naive stamps at C speed; None when one of them is anything else."""
    if not _PLAIN.fullmatch(texts[0]) or not all(map(_PLAIN.fullmatch, texts)):
        return None
    try:
        array = np.array(
            [text.strip().replace("/", "-").replace(" ", "T") for text in texts],
            dtype="datetime64[ns]",
        )
    except ValueError:
        return None
    if np.isnat(array).any():
        return None
    return array.view(np.int64)


def from_texts(texts: Sequence[str], name: str = "", *, day_first: bool = False) -> TimeColumn:
    """A column of written times or numbers. Rows that are neither are not `ok`."""
    if texts and (fast := _fast(texts)) is not None:
        return TimeColumn(fast, np.ones(len(fast), np.bool_), "local", "local time without a zone")
    numbers = np.full(len(texts), np.nan)
    stamps: list[WrittenTime | None] = [None] * len(texts)
    number_count = 0
    for row, text in enumerate(texts):
        try:
            numbers[row] = float(text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text)
            number_count += 1
        except ValueError:
            stamps[row] = parse(text, day_first=day_first)
    if number_count * 2 >= len(texts):
        return from_numbers(numbers, name)
    return _from_stamps(stamps, name)


def _from_stamps(stamps: Sequence[WrittenTime | None], name: str) -> TimeColumn:
    """Written times; those with a date and those without one do not go together."""
    good = [stamp for stamp in stamps if stamp is not None]
    dated = [stamp for stamp in good if stamp.dated]
    is_dated = len(dated) * 2 > len(good)
    is_zoned = is_dated and all(stamp.offset_s is not None for stamp in dated)
    ok = np.array([stamp is not None and stamp.dated == is_dated for stamp in stamps], np.bool_)
    ns = np.zeros(len(stamps), np.int64)
    for row, stamp in enumerate(stamps):
        if stamp is not None:
            ns[row] = stamp.ns - (stamp.offset_s or 0) * S * is_zoned
    if is_zoned:
        return TimeColumn(ns, ok, "absolute", "dates with a zone", good[0].offset_s)
    if is_dated:
        return TimeColumn(ns, ok, "local", "local time without a zone")
    ns = _past_midnight(ns, ok)
    if good and (_SINCE.search(name) or good[0].ns < _MAX_FIRST_ELAPSED_NS):
        words = "time since a start that the log does not give"
        return TimeColumn(ns, ok, "elapsed", words)
    return TimeColumn(ns, ok, "time of day", "time of day, without a date")


def _past_midnight(ns: Int64s, ok: Bools) -> Int64s:
    """Times of day that fall back by more than half a day went past midnight."""
    out: Int64s = ns.copy()
    rows = np.flatnonzero(ok)
    if len(rows) > 1:
        falls = np.diff(ns[rows]) < -DAY // 2
        out[rows[1:]] += np.cumsum(falls) * DAY
    return out


def with_date(column: TimeColumn, year: int, month: int, day: int, place: str) -> TimeColumn:
    """Times of day on a date that something else tells (`place`: the file's name)."""
    start = calendar.timegm((year, month, day, 0, 0, 0, 0, 0, 0)) * S
    assumed = f"date {year:04}-{month:02}-{day:02} assumed from {place}"
    return replace(
        column,
        ns=column.ns + start,
        kind="local",
        words=f"time of day, without a zone; {assumed}",
        assumed=assumed,
    )


# ── zones and clocks ─────────────────────────────────────────────────────────────────────────────


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
        return replace(
            column, problem=f"it holds times that clocks in {tz} never showed: check --tz"
        )
    offsets = np.zeros(len(column.ns), np.int64)
    offsets[rows] = at_rows.offsets
    twice = ", in the hour that its clocks showed twice" if at_rows.later_s else ""
    return replace(
        column,
        ns=column.ns - offsets * S,
        kind="absolute",
        offset_s=int(at_rows.offsets[0]) if len(rows) and not at_rows.later_s else None,
        words=f"local time in {tz}{twice}",
        later_ns=at_rows.later_s * S,
    )


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
    at_ends = {*_east_of_utc(zone, int(ns[0])), *_east_of_utc(zone, int(ns[-1]))}
    if len(at_ends) == 1 and ns[-1] - ns[0] < 60 * DAY:
        offsets[:] = at_ends.pop()
        return _Offsets(offsets)
    fold, previous = 0, int(ns[0])
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
        offsets[row], previous = (first, second)[fold], now
    if not doubtful:
        return _Offsets(offsets)
    if doubtful == len(ns):
        first, second = _east_of_utc(zone, int(ns[0]))
        return _Offsets(offsets, first - second)
    if ns[doubtful] - ns[doubtful - 1] < _MIN_FALL_NS:
        # They went straight on into the next hour: it was the second time.
        offsets[:doubtful] = [_east_of_utc(zone, now)[1] for now in ns[:doubtful].tolist()]
    return _Offsets(offsets)


def clock(column: TimeColumn, zero_ns: int) -> Clock:
    """Where the log's zero lies, if `zero_ns` of this column is its zero."""
    if column.kind == "absolute":
        return Clock(
            zero_ns,
            zero_ns + column.later_ns,
            ABSOLUTE,
            column.words,
            column.offset_s,
            column.assumed,
        )
    if column.kind == "local":
        return Clock(
            zero_ns - 14 * 3600 * S,
            zero_ns + 12 * 3600 * S,
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
    zero = naive.lo_ns + 14 * 3600 * S - utc_offset_s * S
    return Clock(
        zero,
        zero,
        ABSOLUTE,
        detail or f"local time at UTC{offset_words(utc_offset_s)}",
        utc_offset_s,
        naive.assumed,
    )


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
        clock.lo_ns - BMC_SLACK,
        clock.hi_ns + BMC_SLACK,
        BMC,
        "BMC clocks are rarely synchronized; taken as ±2 min",
        clock.utc_offset_s,
    )

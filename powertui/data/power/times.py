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
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import numpy as np

from powertui.data.model import Bools, Clock, Floats, Int64s
from powertui.errors import UsageError

S = 1_000_000_000
DAY = 86_400 * S
MOST_NS = (
    4_200_000_000 * S
)  # from 1970 to 2103, or so long before: two such times, and a length, can be added in 64 bits
LONGEST_S = 1e9
_APART = (
    400 * DAY
)  # a time further than this from the log's middle was damaged, or written before the clock was set
_MAX_TIME_CHARS = 80  # characters of a written time
LOCAL = "local time without zone"
ABSOLUTE = "absolute timestamps"
BMC = "BMC clock"
_FALL = 1800 * S  # stamps that fall by more are those of clocks that were put back
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
    r"([A-Z][a-z]{2})),?\s+(?:(\d{4})\s+)?"
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
_AT_NOUGHT = 10 * S  # a log whose first row comes so soon after midnight counts from its own start
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
    later_ns: int = (
        0  # all of it may lie so much later: it was written in an hour that the clocks repeat
    )
    problem: str = ""  # why the zone that was named cannot be right
    assumed: str = ""  # what of these times the file does not say itself

    def __post_init__(self) -> None:
        if self.ok.any():
            middle = np.int64(np.sort(self.ns[self.ok])[int(self.ok.sum()) // 2])
            object.__setattr__(
                self, "ok", self.ok & (np.abs(self.ns // 2 - middle // 2) < _APART // 2)
            )


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
    hour, minute, second, fraction = clock
    h, m, s = int(hour or 0), int(minute or 0), int(second or 0)
    if half:
        h = h % 12 + (12 if half.upper() == "PM" else 0)
    if not (
        1 <= month <= 12 and 1 <= day <= 31 and h < 25 and m < 60 and s < 62 and 1900 <= year < 2100
    ):
        return None
    if day > calendar.monthrange(year, month)[1]:
        return None
    seconds = calendar.timegm((year, month, day, h, m, s, 0, 0, 0))
    return seconds * S + int((fraction or "0").ljust(9, "0"))


def parse(text: str, *, day_first: bool = False) -> WrittenTime | None:
    """One time as loggers and BMCs write it; None when it is none."""
    text = text.strip().strip('"')
    if len(text) > _MAX_TIME_CHARS:
        return None
    if match := _ISO.fullmatch(text):
        zone = match[9]
        offset = zone_offset(zone) if zone else None
        if zone and offset is None and zone not in _SHARED:
            return None
        ns = _ns(int(match[1]), int(match[2]), int(match[3]), match.groups()[3:7], match[8])
        return None if ns is None else WrittenTime(ns, offset, True)
    if match := _DAY.fullmatch(text):
        ns = _ns(1970, 1, 1, match.groups()[:4], match[5])
        return None if ns is None else WrittenTime(ns, None, False)
    if match := _DMY.fullmatch(text):
        a, b = int(match[1]), int(match[3])
        if a > 12 or (b <= 12 and (day_first or match[2] == ".")):
            a, b = b, a
        ns = _ns(int(match[4]), a, b, match.groups()[4:8], match[9])
        return (
            None
            if ns is None
            else WrittenTime(ns, zone_offset(match[10]) if match[10] else None, True)
        )
    if (match := _DAY_NAMED.fullmatch(text)) and match[3] in _MONTHS:
        ns = _ns(
            int(match[4]) + (2000 if len(match[4]) == 2 else 0),
            _MONTHS[match[3]],
            int(match[1]),
            match.groups()[4:8],
            match[9],
        )
        return (
            None
            if ns is None
            else WrittenTime(ns, zone_offset(match[10]) if match[10] else None, True)
        )
    if match := _COMPACT.fullmatch(text):
        ns = _ns(int(match[1]), int(match[2]), int(match[3]), match.groups()[3:7])
        return (
            None
            if ns is None
            else WrittenTime(ns, zone_offset(match[8]) if match[8] else None, True)
        )
    if match := _CTIME.fullmatch(text):
        month, day, year = (
            _MONTHS.get(match[1] or match[4]),
            int(match[2] or match[3]),
            match[5] or match[12],
        )
        if month is None or year is None:
            return None
        ns = _ns(int(year), month, day, match.groups()[5:9], match[10])
        zone = match[11] or match[13]
        return None if ns is None else WrittenTime(ns, zone_offset(zone) if zone else None, True)
    return None


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
# From 2001 on: what is less counts microseconds, or finer, since a machine was started.
_EPOCHS = (
    (1e9, 1e10, S, "Unix seconds"),
    (1e12, 1e13, S // 1000, "Unix milliseconds"),
    (1e15, 1e16, 1000, "Unix microseconds"),
    (1e18, 1e19, 1, "Unix nanoseconds"),
)


_SPREADSHEET = (
    25_569.0,
    73_051.0,
)  # days since 1899-12-30, as spreadsheets count them: from 1970 to 2100
_SPREADSHEET_1970 = 25_569.0
_DAYS = (16_436.0, 25_569.0)  # days since 1970: from 2015 on, and no spreadsheet's of our time
_SPREADSHEET_PACE = 1.2e-4  # days, ten seconds; as seconds it would be thousands of rows in one


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
    if _SPREADSHEET[0] < middle < _SPREADSHEET[1] and not unit_in(name) and ok.sum() > 2:
        paces = np.abs(np.diff(values[ok]))
        if 0 < float(np.median(paces)) < _SPREADSHEET_PACE and values[ok].min() > _SPREADSHEET[0]:
            since = _scaled((values - _SPREADSHEET_1970) * 86_400.0, ok, S)
            return TimeColumn(
                since // 1_000_000 * 1_000_000,
                ok,
                "local",
                "days of a spreadsheet, local time without a zone",
            )
    if _DAYS[0] < middle < _DAYS[1] and not unit_in(name) and ok.sum() > 2:
        paces = np.abs(np.diff(values[ok]))
        if 0 < float(np.median(paces)) < _SPREADSHEET_PACE and values[ok].min() > _DAYS[0]:
            return TimeColumn(
                _scaled(values * 86_400.0, ok, S) // 1_000_000 * 1_000_000,
                ok,
                "absolute",
                "Unix days",
            )
    factor = unit_in(name) or S
    plain = {
        S: "seconds",
        S // 1000: "milliseconds",
        1000: "microseconds",
        1: "nanoseconds",
        60 * S: "minutes",
        3600 * S: "hours",
    }
    return TimeColumn(
        _scaled(values, ok, factor),
        ok,
        "elapsed",
        f"{plain[factor]} since a start that the log does not give",
    )


def lengths(seconds: Floats) -> tuple[Int64s, Bools]:
    """Durations in ns, and which of them are some: longer than nothing, and than no log is long."""
    ok = (seconds > 0) & (seconds < LONGEST_S)
    return np.round(np.where(ok, seconds, 0.0) * S).astype(np.int64), ok


def _scaled(values: Floats, ok: Bools, factor: int) -> Int64s:
    """To ns without losing digits: whole units and the rest apart (1.8e9 s * 1e9 has no room in a
    double).
    """
    safe = np.where(ok, values, 0.0)
    ok &= np.abs(safe) < MOST_NS / factor
    safe = np.where(ok, safe, 0.0)
    whole = np.floor(safe)
    return whole.astype(np.int64) * factor + np.round((safe - whole) * factor).astype(np.int64)


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
    numeric = 0
    for i, text in enumerate(texts):
        try:
            numbers[i] = float(text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text)
            numeric += 1
        except ValueError:
            stamps[i] = parse(text, day_first=day_first)
    if numeric * 2 >= len(texts):
        return from_numbers(numbers, name)
    good = [stamp for stamp in stamps if stamp is not None]
    dated = sum(stamp.dated for stamp in good) * 2 > len(good)
    zoned = (
        dated and bool(good) and all(stamp.offset_s is not None for stamp in good if stamp.dated)
    )
    ok = np.array([stamp is not None and stamp.dated == dated for stamp in stamps], np.bool_)
    ns = np.array(
        [
            stamp.ns - (stamp.offset_s or 0) * S * zoned if stamp is not None else 0
            for stamp in stamps
        ],
        np.int64,
    ).reshape(len(texts))
    if not dated and good and (_SINCE.search(name) or good[0].ns < _AT_NOUGHT):
        return TimeColumn(
            _past_midnight(ns, ok), ok, "elapsed", "time since a start that the log does not give"
        )
    if not dated:
        return TimeColumn(_past_midnight(ns, ok), ok, "time of day", "time of day, without a date")
    if zoned:
        return TimeColumn(ns, ok, "absolute", "dates with a zone", good[0].offset_s)
    return TimeColumn(ns, ok, "local", "local time without a zone")


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
    found = _offsets(tz, column.ns[rows])
    if found is None:
        return replace(
            column, problem=f"it holds times that clocks in {tz} never showed: check --tz"
        )
    offsets = np.zeros(len(column.ns), np.int64)
    offsets[rows] = found.offsets
    twice = ", in the hour that its clocks showed twice" if found.later_s else ""
    return replace(
        column,
        ns=column.ns - offsets * S,
        kind="absolute",
        offset_s=int(found.offsets[0]) if len(rows) and not found.later_s else None,
        words=f"local time in {tz}{twice}",
        later_ns=found.later_s * S,
    )


class _Offsets(NamedTuple):
    """Seconds east of UTC for every row; and how much later all of them may lie, where they are in
    doubt.
    """

    offsets: Int64s
    later_s: int = 0


def _offsets(tz: str, ns: Int64s) -> _Offsets | None:
    """The hour that autumn repeats is told apart by the fall of the stamps, or by what follows;
    None for times in spring's gap.
    """
    import zoneinfo

    try:
        zone = zoneinfo.ZoneInfo(tz)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"--tz {tz}: this machine does not know that time zone",
            hint="Give a name like America/Sao_Paulo or an offset like -03:00.",
        ) from None
    out = np.zeros(len(ns), np.int64)
    if not len(ns):
        return _Offsets(out)

    def east(ns: int) -> tuple[int, int]:
        moment = (datetime(1970, 1, 1) + timedelta(microseconds=ns // 1000)).replace(tzinfo=zone)
        first, second = (moment.replace(fold=fold).utcoffset() or timedelta() for fold in (0, 1))
        return round(first.total_seconds()), round(second.total_seconds())

    ends = {*east(int(ns[0])), *east(int(ns[-1]))}
    if len(ends) == 1 and ns[-1] - ns[0] < 60 * DAY:
        out[:] = ends.pop()
        return _Offsets(out)
    fold, last = 0, int(ns[0])
    leading: int | None = (
        0  # how many rows from the first on lie in an hour that comes twice, before the stamps fell
    )
    for row, now in enumerate(ns.tolist()):
        both = east(now)
        if both[0] < both[1]:
            return None
        if now < last - _FALL:
            fold, leading = 1, None
        elif now > last + DAY:
            fold = 0
        if leading == row and both[0] > both[1]:
            leading = row + 1
        out[row], last = both[fold], now
    if not leading:
        return _Offsets(out)
    if leading == len(ns):
        return _Offsets(out, int(np.subtract(*east(int(ns[0])))))
    if (
        ns[leading] - ns[leading - 1] < _FALL
    ):  # it went straight on into the next hour: that was the second time round
        out[:leading] = [east(now)[1] for now in ns[:leading].tolist()]
    return _Offsets(out)


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

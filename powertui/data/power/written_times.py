"""One time as loggers and BMCs write it, and the zone that it may name."""

from __future__ import annotations

import calendar
import re

from powertui.data.model import NS_PER_S
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

_MAX_TIME_CHARS = 80  # characters of a written time
_ISO = late_pattern(
    r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T _]+(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,:](\d{1,9}))?)?)?"
    r"\s*([AaPp][Mm])?\s*(Z|[A-Z]{3,5}|[a-z]{3,5}|[+-]\d\d(?::?\d\d)?)?"
)
_DMY = late_pattern(
    r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d\d),?[T ]+(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r"\s*([AaPp][Mm])?\s*([A-Z]{3,5}|[+-]\d\d:?\d\d)?"
)
_CTIME = late_pattern(
    r"(?:[A-Z][a-z]{2},? )?\s*(?:([A-Z][a-z]{2}) +(\d{1,2})|(\d{1,2}) "
    r"([A-Z][a-z]{2})),?\s+(?:(\d{4}),?\s+(?:@\s+)?)?"
    r"(\d{1,2}):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
    r"\s*([AP]M)?\s*(?:([A-Z]{3,5}|[+-]\d\d:?\d\d)\s*)?(\d{4})?(?:\s+([A-Z]{3,5}|[+-]\d\d:?\d\d))?"
)
_DAY_NAMED = late_pattern(  # 21-Nov-2026 17:48:12, 21/Nov/2026:17:48:12 +0000
    r"(\d{1,2})([-/ ])([A-Z][a-z]{2})\2(\d{4}|\d\d)[ "
    r":T]+(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r"\s*([AaPp][Mm])?\s*([A-Z]{3,5}|[+-]\d\d:?\d\d)?"
)
_DAY = late_pattern(r"(\d{1,2}):(\d\d):(\d\d)(?:[.:,](\d{1,9}))?\s*([AaPp][Mm])?")
_COMPACT = late_pattern(
    r"(\d{4})(\d\d)(\d\d)[ T_-]?(\d\d):?(\d\d):?(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?"
)
# No form has a comma without a time of day.
_BEHIND_HOURS = (":", "時", "时", "시")
_MONTHS = {
    name: i
    for i, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}
# What `date` and spreadsheets write in German, French, Spanish, Italian, Portuguese, Dutch, Polish
# and Swedish, by the first letters that tell it from the other months.
_OTHER_MONTHS = (
    ("jan", "ene", "gen", "sty"),
    ("fév", "fev", "feb", "lut"),
    ("mär", "mae", "mar", "mrt", "maa", "mrz"),
    ("avr", "abr", "apr", "kwi"),
    ("mai", "may", "mag", "mei", "maj"),
    ("juin", "jun", "giu", "cze"),
    ("juil", "jul", "lug", "lip"),
    ("aoû", "aou", "ago", "aug", "sie"),
    ("sep", "set", "wrz"),
    ("okt", "oct", "ott", "out", "paź", "paz"),
    ("nov", "lis"),
    ("dez", "déc", "dec", "dic", "gru"),
)
_LOCALIZED = late_pattern(
    r"(?:[^\W\d_]{2,10}[.,]{0,2} +)?(\d{1,2})\.? +([^\W\d_]{3,10})\.?,?(?: +(\d{4}),?)? +"
    r"(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d{1,9}))?,?(?: +([A-Z]{3,5}|[+-]\d\d:?\d\d))?(?: +(\d{4}))?"
)
_EAST_ASIAN = late_pattern(  # 2026年11月21日 (土) 10:33:34, 2026. 11. 21. 10:33:34
    r"(\d{4})[年.년] ?(\d{1,2})[月.월] ?(\d{1,2})[日.일]? *"
    r"(?:[^\W\d_]{1,3}[曜期요][^\W\d_]|周[^\W\d_]|\([^\W\d_]\))? *"
    r"(\d{1,2})[:時时시] ?(\d\d)(?:[:分분] ?(\d\d)(?:[.,](\d{1,9}))?秒?초?)?"
    r"(?: +([A-Z]{3,5}|[+-]\d\d:?\d\d))?"
)
# Abbreviations that loggers and `date` print and that mean one zone worldwide, hours east of UTC.
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


def zone_offset(name: str) -> int | None:
    """Seconds east of UTC of "UTC", "+02:00", "-0300", "EDT". None when it is none of these."""
    match = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d\d)?", name.strip())
    if match:
        seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60
        return -seconds if match[1] == "-" else seconds
    hours = _HOURS.get(name.strip().upper())
    return None if hours is None else hours * 3600


def _ns(
    year: int,
    month: int,
    day: int,
    clock: tuple[str | None, ...],
    half: str | None = None,
) -> int | None:
    """A date and a time of day as ns since 1970; None where they are impossible."""
    hour, minute, second = (int(text or 0) for text in clock[:3])
    if half:
        hour = hour % 12
        if half.upper() == "PM":
            hour += 12
    if not _is_date(year, month, day):
        return None
    # Some loggers write 24:00 and leap seconds.
    if hour > 24 or minute > 59 or second > 61:
        return None
    seconds = calendar.timegm((year, month, day, hour, minute, second, 0, 0, 0))
    decimals = (clock[3] or "0").ljust(9, "0")
    return seconds * NS_PER_S + int(decimals)


def _is_date(year: int, month: int, day: int) -> bool:
    # Whatever is written for other years is a number, or a clock that was never set.
    if not (1900 <= year < 2100 and 1 <= month <= 12):
        return False
    return 1 <= day <= calendar.monthrange(year, month)[1]


def parse(text: str, *, day_first: bool = False) -> WrittenTime | None:
    """One time as loggers and BMCs write it; None when it is none."""
    text = text.strip().strip('"')
    if len(text) > _MAX_TIME_CHARS:
        return None
    if "," in text and not any(sign in text for sign in _BEHIND_HOURS):
        return None  # a row of numbers
    if match := _DMY.fullmatch(text):
        return _slashed(match, day_first) if _tells_year(match) else None
    for pattern, read in _FORMS:
        if (match := pattern.fullmatch(text)) and (time := read(match)) is not None:
            return time
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
    year, month, day = match.groups()[:3]
    clock = match.groups()[3:7]
    return _dated(_ns(int(year), int(month), int(day), clock, match[8]), zone)


def _time_of_day(match: re.Match[str]) -> WrittenTime | None:
    ns = _ns(1970, 1, 1, match.groups()[:4], match[5])
    if ns is None:
        return None
    return WrittenTime(ns, None, False)


def _tells_year(match: re.Match[str]) -> bool:
    """Whether the last number of a date is its year: of two digits it is behind a day and a month
    with points, and behind what can only be a month and a day. 25/11/21 may be of 2021 or of 2025.
    """
    return len(match[4]) == 4 or match[2] == "." or (match[2] == "/" and int(match[3]) > 12)


def _slashed(match: re.Match[str], day_first: bool) -> WrittenTime | None:
    """MM/DD/YYYY, or DD/MM/YYYY where the column shows so; with points it is always the latter."""
    month = int(match[1])
    day = int(match[3])
    is_day_first = day_first or match[2] == "."
    if month > 12 or (day <= 12 and is_day_first):
        month, day = day, month
    year = int(match[4]) + (2000 if len(match[4]) == 2 else 0)
    clock = match.groups()[4:8]
    ns = _ns(year, month, day, clock, match[9])
    return _dated(ns, match[10])


def _month_named(match: re.Match[str]) -> WrittenTime | None:
    if match[3] not in _MONTHS:
        return None
    # Some write the year with two digits.
    year = int(match[4]) + (2000 if len(match[4]) == 2 else 0)
    clock = match.groups()[4:8]
    ns = _ns(year, _MONTHS[match[3]], int(match[1]), clock, match[9])
    return _dated(ns, match[10])


def _compact(match: re.Match[str]) -> WrittenTime | None:
    year, month, day = match.groups()[:3]
    clock = match.groups()[3:7]
    ns = _ns(int(year), int(month), int(day), clock)
    return _dated(ns, match[8])


def _ctime(match: re.Match[str]) -> WrittenTime | None:
    month = _MONTHS.get(match[1] or match[4])
    day = int(match[2] or match[3])
    year = match[5] or match[12]
    if month is None or year is None:
        return None
    ns = _ns(int(year), month, day, match.groups()[5:9], match[10])
    return _dated(ns, match[11] or match[13])


def _localized(match: re.Match[str]) -> WrittenTime | None:
    """A date with the month in another language than English."""
    written = match[2].casefold()
    year = match[3] or match[9]
    for month, beginnings in enumerate(_OTHER_MONTHS, 1):
        if written.startswith(beginnings) and year is not None:
            return _dated(_ns(int(year), month, int(match[1]), match.groups()[3:7]), match[8])
    return None


def _east_asian(match: re.Match[str]) -> WrittenTime | None:
    year, month, day = match.groups()[:3]
    return _dated(_ns(int(year), int(month), int(day), match.groups()[3:7]), match[8])


# A text is read by the first of these that it fits.
_FORMS = (
    (_ISO, _iso),
    (_DAY, _time_of_day),
    (_DAY_NAMED, _month_named),
    (_COMPACT, _compact),
    (_CTIME, _ctime),
    (_LOCALIZED, _localized),
    (_EAST_ASIAN, _east_asian),
)

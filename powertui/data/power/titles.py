"""What the lines above a table say of it: the unit of its readings and of its times, a scale, a
date, a zone, a host.

They are prose, so a number before a unit is a value ("1100 W supply") and no unit, and what they
say of a scale is asked about and never applied.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from powertui.data.power import column_times, times, units
from powertui.data.power.units import Unit
from powertui.errors import UsageError
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

_MAX_LINE_CHARS = 400  # characters of a line that are looked at
_MARKS = "#;/%!*-\"' \t"
_WORD = late_pattern(r"(?<![\w.])(?:(\d[\d.,]*)\s*)?([A-Za-zµμ]{1,14})(?!\w)")
# Watts on such a line are what a part is built for, not the unit of the readings.
_RATED = late_pattern(
    r"limit|\bcap(?:ped)?\b|\bmax|\btdp\b|\brated|nominal|budget|psu|supply|range|resolution|accuracy",
    re.IGNORECASE,
)
_OF_UNIT = late_pattern(r"\bunits?\b", re.IGNORECASE)
_SCALE = late_pattern(
    r"(?<!power "
    r")\b(?:scale|scaling|scaled|factor|multiplier|multiply|multiplied|divide|divided|divisor)\b"
    r"\D{0,20}?(\d[\d.]*(?:e-?\d+)?)"
    r"|[x×*]\s?(\d[\d.]*)\b|\b(tenths?|hundredths?|thousandths?|centi)(?=\b|watts?)"
    r"|\bunits?\b\D{0,10}?(\d[\d.]*)\s*[kmµu]?[WJ]\b",
    re.IGNORECASE,
)
_TIME_UNIT = late_pattern(
    r"\b(?:time|timestamp|elapsed|t)s?\b(?:\s+(?:is|are|given|column))*\s*(?:in|[:=(\[,])?\s*[(\[]?"
    r"(ms|msec|milliseconds?|us|µs|usec|microseconds?|ns|nsec|nanoseconds?|s|sec|secs|seconds?|min|minutes?|h|hours?)\b",
    re.IGNORECASE,
)
_ZONE = late_pattern(
    r"(?:all\s+)?(?:times?|time ?stamps?|dates?|time ?zone|tz|zone)\b[^0-9]{0,30}?(?<![A-Za-z])"
    r"(UTC|GMT|[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+|(?:UTC|GMT)?[+-]\d\d:?\d\d)(?![\w/])",
    re.IGNORECASE,
)
# "Time Bucket (America/New_York)"
_ZONE_IN_NAME = late_pattern(r"[\[(]([A-Z][A-Za-z]+/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?)[\])]")
_HOST = late_pattern(
    r"(?:host|host[ _]?name|node|node[ _]?name)\s{0,3}[:=]\s{0,3}"
    r"([\w.:\[\]-]{1,253})",
    re.IGNORECASE,
)
# In a title or a file's name: with any sign between the numbers, or none.
_DATE = late_pattern(r"(?<!\d)(20\d\d)([-/._]?)(\d\d)\2(\d\d)(?!\d)")


@dataclass(frozen=True)
class Titles:
    """What the lines above a table say."""

    power: tuple[Unit, ...] = ()  # units of power that they name
    energy: tuple[Unit, ...] = ()
    scale: str = ""  # the line that gives a scale
    time_unit: str = ""
    zone: str = ""
    date: tuple[int, int, int] | None = None
    host: str = ""
    lines: tuple[str, ...] = ()

    def unit_of(self, name: str, quantity: units.Quantity) -> Unit | None:
        """The unit of a column that names none: the only one of its kind, or the one beside the
        column's name.
        """
        named = self.power if quantity == "power" else self.energy
        if len(named) == 1:
            return named[0]
        beside = re.compile(
            rf"(?<!\w){re.escape(name.strip())}\W{{1,3}}(?:(?:is|are|in)\W)*\W*([A-Za-zµμ]+)",
            re.IGNORECASE,
        )
        units_beside = {
            unit
            for line in self.lines
            if (m := beside.search(line)) and (unit := units.unit_of_symbol(m[1])) in named
        }
        if len(units_beside) == 1:
            return units_beside.pop()
        return None


NO_TITLES = Titles()


def read_titles(lines: Sequence[str]) -> Titles:
    """All that these lines say."""
    stripped = tuple(text for line in lines if (text := line[:_MAX_LINE_CHARS].strip(_MARKS)))
    named = dict.fromkeys(unit for line in stripped for unit in _units_in(line))
    return Titles(
        power=tuple(unit for unit in named if unit.quantity == "power"),
        energy=tuple(unit for unit in named if unit.quantity == "energy"),
        scale=next(filter(_scaled, stripped), ""),
        time_unit=_first_group(_TIME_UNIT.search, stripped),
        zone=_first_group(_ZONE.match, stripped),
        date=next(filter(None, map(date_in, stripped)), None),
        host=_first_group(_HOST.fullmatch, stripped),
        lines=stripped,
    )


def _units_in(line: str) -> Iterator[Unit]:
    """The units that a line gives for what is below it; none of a line about what is rated."""
    if _RATED.search(line) and not _OF_UNIT.search(line):
        return
    for number, word in _WORD.findall(line):
        unit = None if number else units.unit_of_symbol(word)
        # A letter alone ("j", "w") is a unit as units are written, and behind something that asks
        # for one.
        is_unit = len(word) > 1 or (word.isupper() and _announced(line, word))
        if unit is not None and is_unit:
            yield unit


def _first_group(find: Callable[[str], re.Match[str] | None], lines: Sequence[str]) -> str:
    """What a pattern finds in the first of these lines that fits it; "" where none does."""
    match = next(filter(None, map(find, lines)), None)
    return match[1] if match is not None else ""


def _announced(line: str, word: str) -> bool:
    return bool(re.search(rf"(?:\bin|\bunits?\b|[:=,(\[/])\W*(?:\w+\W+)?{word}\b", line))


def _scaled(line: str) -> bool:
    match = _SCALE.search(line)
    if match is None:
        return False
    try:
        return float(match[1] or match[2] or match[4] or "0") != 1
    except ValueError:
        return True


def date_in(text: str) -> tuple[int, int, int] | None:
    """The first date of a text (2026-11-21, 20261121)."""
    for match in _DATE.finditer(text):
        year = int(match[1])
        month = int(match[3])
        day = int(match[4])
        if 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]:
            return year, month, day
    return None


def dated(column: column_times.TimeColumn, path: str, above: Titles) -> column_times.TimeColumn:
    """Times of day on the date that a line above the table tells, else the file's name; others stay
    what they are.
    """
    if column.kind != "time of day":
        return column
    for date, place in (
        (above.date, "a line above the table"),
        (date_in(Path(path).name), "the file's name"),
    ):
        if date is not None:
            return column_times.with_date(column, *date, place)
    return column


def in_zone(
    column: column_times.TimeColumn,
    tz: str | None,
    above: Titles,
    names: Sequence[str],
) -> column_times.TimeColumn:
    """Local times in the zone that a person names, else the log: in the column's own name (`Time
    (UTC)`), or above the table.
    """
    if tz is not None or column.kind != "local":
        return times.in_zone(column, tz)
    if any({"utc", "gmt"} & set(units.tokens(name)) for name in names):
        return times.in_zone(column, "UTC")
    named = next(filter(None, map(_ZONE_IN_NAME.search, names)), None)
    try:
        return times.in_zone(column, named[1] if named is not None else above.zone or None)
    except UsageError:  # no zone that this machine knows
        return column

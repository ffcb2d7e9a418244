"""A column of times: Unix time, local time without a zone, time of day, or seconds since
something.

Which of them a column holds is told by the form of its cells, and by their size where they are
numbers.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from powertui.data.model import NS_PER_S, Bools, Floats, Int64s
from powertui.data.power.written_times import WrittenTime, parse
from powertui.data.quantiles import median_of_column
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

_DAY_NS = 86_400 * NS_PER_S
# From 1970 to 2103, or so long before: two such times, and a length, can be added in 64 bits.
MOST_NS = 4_200_000_000 * NS_PER_S
LONGEST_S = 1e9  # 32 years: no log and no machine runs that long
# A time further than this from the log's middle was damaged, or written before the clock was set.
_MAX_APART_NS = 400 * _DAY_NS
_ROWS_TOGETHER = 1 << 16  # of a column that is scaled: temporaries stay in the cache
TimeKind = Literal["absolute", "local", "time of day", "elapsed"]
_SINCE = late_pattern(r"elapsed|duration|since|uptime|run ?time|relative", re.IGNORECASE)
# A log whose first row comes so soon after midnight counts from its own start. Chosen, not
# measured.
_MAX_FIRST_ELAPSED_NS = 10 * NS_PER_S
_PLAIN = late_pattern(r"\s*(?:19|20)\d\d([-/])\d\d\1\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?\s*")
_DECIMAL_COMMA = late_pattern(r"\s*\d+,\d+\s*")


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
    length_ns: Int64s | None = None  # of the stretch that each row is of, where these are its ends

    def __post_init__(self) -> None:
        if not self.ok.any():
            return
        readable = self.ns
        if not self.ok.all():
            readable = self.ns[self.ok]
        half = len(readable) // 2
        middle = np.int64(np.partition(readable, half)[half])
        before = int(middle) - int(readable.min())
        after = int(readable.max()) - int(middle)
        if max(before, after) < _MAX_APART_NS - 2:
            return  # they are all near, which takes no columns
        half_distances = np.abs(self.ns // 2 - middle // 2)
        is_near = half_distances < _MAX_APART_NS // 2
        object.__setattr__(self, "ok", self.ok & is_near)


_UNITS = {
    "s": NS_PER_S,
    "sec": NS_PER_S,
    "secs": NS_PER_S,
    "second": NS_PER_S,
    "seconds": NS_PER_S,
    "ms": NS_PER_S // 1000,
    "msec": NS_PER_S // 1000,
    "milliseconds": NS_PER_S // 1000,
    "us": 1000,
    "usec": 1000,
    "microseconds": 1000,
    "µs": 1000,
    "ns": 1,
    "nsec": 1,
    "nanoseconds": 1,
    "min": 60 * NS_PER_S,
    "minutes": 60 * NS_PER_S,
    "h": 3600 * NS_PER_S,
    "hours": 3600 * NS_PER_S,
}
_UNIT_WORDS = {
    NS_PER_S: "seconds",
    NS_PER_S // 1000: "milliseconds",
    1000: "microseconds",
    1: "nanoseconds",
    60 * NS_PER_S: "minutes",
    3600 * NS_PER_S: "hours",
}
# From 2001 on: what is less counts microseconds, or finer, since a machine was started.
_EPOCHS = (
    (1e9, 1e10, NS_PER_S, "Unix seconds"),
    (1e12, 1e13, NS_PER_S // 1000, "Unix milliseconds"),
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
    lowered = name.lower()
    means_time = "time" in lowered or "elapsed" in lowered
    words = re.split(r"[^a-zµ]+", lowered)
    for word in reversed(words):
        # "h" and "min" may be hours and minutes, or a height and a minimum.
        is_clear = word not in ("h", "min") or means_time
        if word in _UNITS and is_clear:
            return _UNITS[word]
    return None


def from_numbers(values: Floats, name: str = "") -> TimeColumn:
    """Numbers as time: Unix time by its size, anything smaller is elapsed."""
    ok = np.isfinite(values)
    middle = median_of_column(values[ok]) if ok.any() else 0.0
    for low, high, factor, words in _EPOCHS:
        if low <= middle < high:
            ns = _scaled(values, ok, factor)
            return TimeColumn(ns, ok, "absolute", words)
    named_factor = unit_in(name)
    if not named_factor:
        if _are_days(values[ok], middle, _SPREADSHEET_DAYS):
            days = values - _SPREADSHEET_1970
            words = "days of a spreadsheet, local time without a zone"
            return TimeColumn(_whole_ms(days, ok), ok, "local", words)
        if _are_days(values[ok], middle, _UNIX_DAYS):
            return TimeColumn(_whole_ms(values, ok), ok, "absolute", "Unix days")
    factor = named_factor or NS_PER_S
    words = f"{_UNIT_WORDS[factor]} since a start that the log does not give"
    ns = _scaled(values, ok, factor)
    return TimeColumn(ns, ok, "elapsed", words)


def _are_days(values: Floats, middle: float, span: tuple[float, float]) -> bool:
    """Whether numbers are days within this span: a log's rows come seconds apart."""
    first, last = span
    if not first < middle < last or len(values) < 3:
        return False
    steps = np.abs(np.diff(values))
    if not 0 < median_of_column(steps) < _MAX_DAYS_STEP:
        return False
    return bool(values.min() > first)


def _whole_ms(days: Floats, ok: Bools) -> Int64s:
    """To ns, without the digits that days in a double cannot hold."""
    seconds = days * 86_400.0
    ns = _scaled(seconds, ok, NS_PER_S)
    return ns // 1_000_000 * 1_000_000


def lengths(seconds: Floats) -> tuple[Int64s, Bools]:
    """Durations in ns, and which of them are some: longer than nothing, and than no log is long."""
    ok = (seconds > 0) & (seconds < LONGEST_S)
    safe = np.where(ok, seconds, 0.0)
    ns = np.round(safe * NS_PER_S)
    return ns.astype(np.int64), ok


def _scaled(values: Floats, ok: Bools, factor: int) -> Int64s:
    """To ns without losing digits: whole units and the rest apart (1.8e9 s * 1e9 has no room in a
    double).
    """
    ns = np.empty(len(values), np.int64)
    for first in range(0, len(values), _ROWS_TOGETHER):
        rows = slice(first, first + _ROWS_TOGETHER)
        finite = np.where(ok[rows], values[rows], 0.0)
        ok[rows] &= np.abs(finite) < MOST_NS / factor
        safe = np.where(ok[rows], finite, 0.0)
        whole_units = np.floor(safe)
        rest = safe - whole_units
        rest_ns = np.round(rest * factor).astype(np.int64)
        whole_ns = whole_units.astype(np.int64) * factor
        ns[rows] = whole_ns + rest_ns
    return ns


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


def from_texts(
    texts: Sequence[str],
    name: str = "",
    *,
    day_first: bool = False,
) -> TimeColumn:
    """A column of written times or numbers. Rows that are neither are not `ok`."""
    fast = _fast(texts) if texts else None
    if fast is not None:
        ok = np.ones(len(fast), np.bool_)
        return TimeColumn(fast, ok, "local", "local time without a zone")
    numbers = np.full(len(texts), np.nan)
    stamps: list[WrittenTime | None] = [None] * len(texts)
    number_count = 0
    for row, text in enumerate(texts):
        try:
            numbers[row] = _written_number(text)
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
    ok = np.zeros(len(stamps), np.bool_)
    ns = np.zeros(len(stamps), np.int64)
    for row, stamp in enumerate(stamps):
        if stamp is None:
            continue
        ok[row] = stamp.dated == is_dated
        ns[row] = stamp.ns
        if is_zoned:
            ns[row] -= (stamp.offset_s or 0) * NS_PER_S
    if is_zoned:
        return TimeColumn(
            ns=ns,
            ok=ok,
            kind="absolute",
            words="dates with a zone",
            offset_s=good[0].offset_s,
        )
    if is_dated:
        return TimeColumn(ns, ok, "local", "local time without a zone")
    ns = _past_midnight(ns, ok)
    if good and (_SINCE.search(name) or good[0].ns < _MAX_FIRST_ELAPSED_NS):
        words = "time since a start that the log does not give"
        return TimeColumn(ns, ok, "elapsed", words)
    return TimeColumn(ns, ok, "time of day", "time of day, without a date")


def _written_number(text: str) -> float:
    """A number, with a point or a comma before its decimals. Raises `ValueError` for other text."""
    if _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    return float(text)


def _past_midnight(ns: Int64s, ok: Bools) -> Int64s:
    """Times of day that fall back by more than half a day went past midnight."""
    out: Int64s = ns.copy()
    rows = np.flatnonzero(ok)
    if len(rows) <= 1:
        return out
    falls = np.diff(ns[rows]) < -_DAY_NS // 2
    days_passed = np.cumsum(falls)
    later_rows = rows[1:]
    out[later_rows] += days_passed * _DAY_NS
    return out


def with_date(column: TimeColumn, year: int, month: int, day: int, place: str) -> TimeColumn:
    """Times of day on a date that something else tells (`place`: the file's name)."""
    midnight = (year, month, day, 0, 0, 0, 0, 0, 0)
    start_ns = calendar.timegm(midnight) * NS_PER_S
    assumed = f"date {year:04}-{month:02}-{day:02} assumed from {place}"
    return replace(
        column,
        ns=column.ns + start_ns,
        kind="local",
        words=f"time of day, without a zone; {assumed}",
        assumed=assumed,
    )

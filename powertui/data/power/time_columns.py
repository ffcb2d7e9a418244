"""Which column of a table is its time, and how its dates are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from powertui.data.asked import LogColumns
from powertui.data.power import column_times, table, times
from powertui.data.power.column_hint import column_hint, listed
from powertui.data.power.column_times import TimeColumn
from powertui.data.power.table_form import TableForm
from powertui.data.power.time_signs import counts_epochs, is_time, rises, time_score
from powertui.errors import UnreadableFile, UsageError
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

# Of several columns that could be the time, the one that says most of it is taken.
_KINDS = ("elapsed", "time of day", "local", "absolute")
# Shares of a column's rows, chosen, not measured.
_MIN_READABLE_SHARE = 0.5
_SCIENTIFIC = late_pattern(r"\s*\d\.?(\d{0,20})[eE]\+?(\d{1,2})\s*")
_MAX_PROBED_TIMES = 50  # cells that show how a column's times are written; chosen, not measured
_MAX_ROUNDING_NS = 1 * times.S  # of a written time, as of a log with whole seconds
_DATE = late_pattern(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{8}")
_TIME_OF_DAY = late_pattern(r"\d{1,2}:\d\d")
_DAY_AND_MONTH = late_pattern(r"(\d{1,2})[/.-](\d{1,2})[/.-]\d{4}")
_BEGIN = late_pattern(r"(?<![a-z])(?:start|begin|from)(?![a-z])", re.IGNORECASE)
_END = late_pattern(r"(?<![a-z])(?:end|stop|to|until)(?![a-z])", re.IGNORECASE)
# A date with points is written day first: only these two signs leave it open.
_EITHER_ORDER = late_pattern(r"(\d{1,2})([/-])(\d{1,2})\2\d{4}")


class _RankedColumn(NamedTuple):
    """A column that may be the log's time, and how likely it is."""

    rank: tuple[int, int, int]
    column: int
    times: TimeColumn


def pick_time(
    path: str,
    rows: table.FileCells,
    options: LogColumns,
    power: set[int],
    form: TableForm,
) -> tuple[list[int], TimeColumn]:
    """The column with the time (two, where one holds the date), and the times of all rows.

    `power` are the columns of readings.
    """
    if options.time_col:
        return _asked_column(path, rows, options.time_col, form)
    candidates = [column for column in range(len(rows.names)) if column not in power]
    named = [column for column in candidates if is_time(rows.names[column])]
    date_and_time = _date_and_time(rows, named, form)
    if date_and_time is not None:
        return date_and_time
    ranked: list[_RankedColumn] = []
    for column in named or candidates:
        read = _time_column(path, rows, column, form)
        if not _could_be_time(rows.names, column, read, is_named=bool(named)):
            continue
        kind_rank = _KINDS.index(read.kind)
        name_rank = time_score(rows.names[column])
        # Of equals the first column: that is where loggers write the time.
        rank = (kind_rank, name_rank, -column)
        ranked.append(_RankedColumn(rank, column, read))
    if not ranked:
        raise UnreadableFile(path, "has no column that can be read as time", hint=column_hint(rows))
    best = max(ranked, key=lambda candidate: candidate.rank)
    if _BEGIN.search(rows.names[best.column]):
        for candidate in ranked:
            is_end = _END.search(rows.names[candidate.column])
            ends = candidate.times
            if is_end and _follow_one_another(best.times, ends):
                lengths = ends.ns - best.times.ns
                return [candidate.column], replace(ends, length_ns=lengths)
    return [best.column], best.times


def _follow_one_another(begins: TimeColumn, ends: TimeColumn) -> bool:
    """Whether each row is of a stretch that ends where the next begins: then what it holds was
    drawn until its end.
    """
    if begins.kind != ends.kind or len(begins.ns) < 2:
        return False
    is_next = ends.ns[:-1] == begins.ns[1:]
    if is_next.mean() <= _MIN_READABLE_SHARE:
        return False
    return bool((ends.ns > begins.ns).all())


def _asked_column(
    path: str,
    rows: table.FileCells,
    name: str,
    form: TableForm,
) -> tuple[list[int], TimeColumn]:
    """The column that a person named for the time."""
    column = rows.find(name)
    if column is None:
        raise UsageError(
            f"{path}: there is no column {name!r}", hint=f"Its columns are: {listed(rows.names)}."
        )
    read = _time_column(path, rows, column, form)
    if not read.ok.any():
        raise UnreadableFile(
            path,
            f"column {name!r} has no time",
            hint="It must be Unix time, a date with time, or seconds.",
        )
    return [column], read


def _could_be_time(
    names: Sequence[str],
    column: int,
    read: TimeColumn,
    *,
    is_named: bool,
) -> bool:
    """Whether a column that was read as times is the log's time."""
    if read.ok.mean() < _MIN_READABLE_SHARE:
        return False
    is_dated = is_named and read.kind in ("absolute", "local")
    if not (is_dated or rises(read)):
        return False
    if read.kind != "elapsed":
        return True
    # Numbers that rise are seconds only in the first column of a table without names: elsewhere
    # they may count anything.
    is_first_of_nameless = column == 0 and names[0] == "column 1"
    if not is_named and not is_first_of_nameless:
        return False
    return not counts_epochs(names[column])


def _time_column(
    path: str,
    rows: table.FileCells,
    column: int,
    form: TableForm,
) -> TimeColumn:
    name = rows.names[column]
    unit_above = form.above.time_unit
    if unit_above and not column_times.unit_in(name):
        name = f"{name} ({unit_above})"
    if rows.is_numeric(column):
        numbers, _ = rows.floats(column)
        return column_times.from_numbers(numbers.copy(), name)
    texts = rows.texts(column)
    read = column_times.from_texts(
        texts,
        name,
        day_first=day_first(texts, form.day_first),
    )
    _refuse_rounded(path, texts, read)
    return read


def _refuse_rounded(path: str, texts: Sequence[str], read: TimeColumn) -> None:
    """Raise where a spreadsheet has rounded Unix times: 1.71456E+12 is right to three hours."""
    row, match = _first_scientific(texts)
    if match is None or read.kind != "absolute":
        return
    decimals = len(match[1])
    exponent = int(match[2])
    last_digit = 10.0 ** (exponent - decimals)
    ns_per_unit = abs(float(read.ns[row])) / abs(float(texts[row]))
    step_ns = last_digit * ns_per_unit
    if step_ns > _MAX_ROUNDING_NS:
        raise UnreadableFile(
            path,
            f"has rounded times: {texts[row].strip()} is right to {step_ns / times.S:,.0f} s",
            hint=(
                "A spreadsheet or %g wrote them so. Export the column as whole numbers, "
                "or take the log as it was recorded."
            ),
        )


def _first_scientific(texts: Sequence[str]) -> tuple[int, re.Match[str] | None]:
    """The first cell that is written as 1.71456E+12, with its row; None where there is none."""
    probed = texts[:_MAX_PROBED_TIMES]
    for row, text in enumerate(probed):
        match = _SCIENTIFIC.fullmatch(text)
        if match is not None:
            return row, match
    return 0, None


def _filled_down(days: Sequence[str], clocks: Sequence[str]) -> Sequence[str]:
    """The dates, with that of the cell above where a spreadsheet merged the cells of a day; as they
    are where a midnight without a date may be among these.
    """
    if all(days):
        return days
    filled: list[str] = []
    day_above = ""
    clock_above = ""
    for day, clock in zip(days, clocks, strict=True):
        padded_clock = clock.rjust(8, "0")
        if not day and filled and padded_clock < clock_above:
            return days
        day_above = day or day_above
        clock_above = padded_clock
        filled.append(day_above)
    return filled


def _date_and_time(
    rows: table.FileCells,
    named: Sequence[int],
    form: TableForm,
) -> tuple[list[int], TimeColumn] | None:
    """A date in one column and the time of day in another; None where there are no two such."""
    date = time = None
    for column in reversed(named):
        if rows.is_numeric(column):
            continue
        first_cell = next(iter(rows.texts(column)), "")
        if _DATE.fullmatch(first_cell):
            date = column
        if _TIME_OF_DAY.match(first_cell):
            time = column
    if date is None or time is None:
        return None
    clocks = rows.texts(time)
    days = _filled_down(rows.texts(date), clocks)
    texts = [f"{day} {clock}" for day, clock in zip(days, clocks, strict=True)]
    read = column_times.from_texts(
        texts,
        day_first=day_first(texts, form.day_first),
    )
    if read.ok.mean() > _MIN_READABLE_SHARE:
        return ([date, time], read)
    return None


# ── the order of a date's numbers ────────────────────────────────────────────────────────────────


def _matches(pattern: re.Pattern[str], texts: Sequence[str]) -> list[re.Match[str]]:
    """What a pattern finds at the beginning of texts."""
    stripped = map(str.strip, texts)
    return list(filter(None, map(pattern.match, stripped)))


def day_first(texts: Sequence[str], default: bool = False) -> bool:
    """Whether a column's dates are DD/MM and not MM/DD.

    A number above 12 somewhere in the column decides, else which of the two numbers keeps still for
    a day.
    """
    matches = _matches(_DAY_AND_MONTH, texts)
    firsts = {int(match[1]) for match in matches}
    seconds = {int(match[2]) for match in matches}
    if max(firsts, default=0) > 12:
        return True
    if max(seconds, default=0) > 12:
        return False
    if len(firsts) != len(seconds):
        return len(firsts) > len(seconds)
    if default or not texts:
        return default
    # Only countries that write the day first separate a date's numbers by points.
    return "." in texts[0][:3]


def ambiguous_date(texts: Sequence[str]) -> str:
    """A date of the column that may be read day first or month first, where nothing in the column
    says which; "" where something does.
    """
    matches = _matches(_EITHER_ORDER, texts)
    dates = {match[0] for match in matches}
    if len(dates) != 1:
        return ""  # two dates show which number is the day
    date, first, _, second = matches[0].group(0, 1, 2, 3)
    if first == second:
        return ""
    if max(int(first), int(second)) > 12:
        return ""
    return date

"""Times that stand before, above or within what a tool printed: `date` before each call, `ts`
before each line.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from powertui.data.power import written_times
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

_EPOCH = r"\d{9,10}(?:[.,]\d{1,9})?|\d{13}|\d{16}|\d{19}"
_LEADING = late_pattern(
    rf"\s*[\[(]?({_EPOCH}|\d{{4}}[-/]\d\d[-/]\d\d[T "
    rf"_]\d\d:\d\d:\d\d(?:[.,:]\d{{1,9}})?(?:\s?(?:Z|UTC|[+-]\d\d:?\d\d))?"
    r"|\d\d[-/]\d\d[-/]\d{4} "
    r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)[\])]?[\s,;|:]{1,9}(?=\S)"
)
# What `date` prints, and `ts` before each line: "Sat Nov 21 17:48:12 UTC 2026",
# "Sat 21 Nov 2026 05:48:12 PM UTC", "Nov 21 17:48:12".
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?\s{1,2}"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY = rf"(?:{_MONTH}\s{{1,2}}\d{{1,2}}|\d{{1,2}}\s{_MONTH})(?:\s\d{{4}})?"
_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?(?:\s[AP]M)?"
_CALLED = late_pattern(
    rf"\s*[\[(]?((?:{_WEEKDAY})?{_DAY}\s({_CLOCK})(?:\s(?:[A-Z]{{3,4}}|[+-]\d\d:?\d\d))?(?:\s\d{{4}})?)"
    r"[\])]?[\s,;|:]{1,9}(?=\S)"
)
_TITLE = late_pattern(r"(?:date|time|timestamp|ts|at|sample|now)\s{0,9}[:=]\s{0,9}", re.IGNORECASE)
_MAX_TIME_LINE_CHARS = 60  # characters of a line that is nothing but a time


def numbered_lines(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines that hold something, with their numbers from 1."""
    return ((number, line) for number, line in enumerate(lines, 1) if line and not line.isspace())


def time_of_line(line: str) -> str:
    """The time that a line is, where it is nothing else ("Sat Nov 21 22:02:26 UTC 2026", "#
    1700000000.25"); else "".
    """
    bare = line.strip()
    if not bare or len(bare) > _MAX_TIME_LINE_CHARS or not any(ch.isdigit() for ch in bare):
        return ""
    bare = bare.strip("#=*-[]\"' \t")
    if match := _TITLE.match(bare):
        bare = bare[match.end() :]
    if re.fullmatch(_EPOCH, bare):
        return bare
    return bare if written_times.parse(bare) is not None else ""


def split_time(line: str) -> tuple[str, str]:
    """(the time that a line begins with, the rest); ("", the line) where it begins with none."""
    if match := _LEADING.match(line):
        return match[1].replace(",", "."), line[match.end() :]
    if match := _CALLED.match(line):
        # Without a year, as `ts` and syslog write it, the time of day alone counts.
        if written_times.parse(match[1]) is not None:
            when = match[1]
        else:
            when = match[2]
        return when, line[match.end() :]
    return "", line


class TimedLine(NamedTuple):
    """A line of what a tool printed, with the time that is known for it."""

    number: int  # from 1
    when: str  # the time before it, else the one above; "" where none is
    above: str  # the last time that has a line of its own
    text: str  # without the time before it
    written: str  # as it is in the file
    is_last: bool  # it has no line end, and may be cut


def timed_lines(text: str) -> Iterator[TimedLine]:
    """The lines that hold something but a time, each with its time.

    Tools that tell no time themselves are recorded below `date`, in a loop, or through `ts`.
    """
    lines = text.split("\n")
    above = ""
    for number, line in numbered_lines(lines):
        if stamp := time_of_line(line):
            above = stamp
            continue
        when, rest = split_time(line)
        yield TimedLine(
            number=number,
            when=when or above,
            above=above,
            text=rest,
            written=line,
            is_last=number == len(lines),
        )


_Named = TypeVar("_Named", bound=Hashable)


def repeated_in_answers(names: Iterable[tuple[int, _Named]]) -> set[_Named]:
    """Of what is named in answers, each below its time, the names that all answers have several
    times: one reading of several modules.

    The last answer may be cut.
    """
    counts: defaultdict[_Named, Counter[int]] = defaultdict(Counter)
    for answer, name in names:
        counts[name][answer] += 1
    repeated = set()
    for name, in_answers in counts.items():
        complete = [count for answer, count in in_answers.items() if answer < max(in_answers)]
        if complete and min(complete) == max(complete) > 1:
            repeated.add(name)
    return repeated

"""A place in a run as one line of words: what `:` and `--at` take, and what `y` prints.

    place   = stretch [, view TIMES] [, cursor TIME] [, host NAME] [, page NAME]
    stretch = TIMES | step N | step N-N | epoch N | epoch N step N | epoch N step N-N
    TIMES   = TIME | TIME-TIME
    TIME    = 27.31s, 350ms, 1:02.5, or a wall time like 19:52:50

The stretch is what is marked; `view` is what is in sight, where that is something else. Each part
may be left out. A name with blanks or commas is written in double quotes, with JSON's escapes.
This file knows the words alone: where they are in a run is found by whoever has the run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from powertui.errors import UsageError
from powertui.plain import plain
from powertui.units import PS_PER_S, fixed, parse_time
from powertui.value_types import dataclass

_WALL_TIME = r"(\d{1,2}:\d\d:\d\d(?:\.\d+)?)"
_NUMBER = r"\d{1,18}"  # fits 64 bits
_TO = r"\s*(?:-|to|\.\.)\s*"
_PART = re.compile(r"(?:^|[\s,])(view|cursor|host|page)\s+", re.IGNORECASE)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_LEADING_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_BARE_NAME = re.compile(r"[\w.:@/+#-]+")  # needs no quotes
_MAX_CHARS = 1000  # of a place; a name of a host has at most 253
_SHOWN_CHARS = 80  # of what a person typed, in an error
EXAMPLES = "Try 27.31s-28.78s, step 12 or epoch 1 step 185-258."


@dataclass(frozen=True)
class StretchWords:
    """A stretch of time as it was written. `19:52:50` may be a time of the axis or a wall time."""

    text: str
    epoch: int | None = None
    steps: tuple[int, int] | None = None
    times: tuple[int, int] | None = None  # ps; a moment where both are the same
    wall: tuple[str, str] | None = None

    @property
    def is_moment(self) -> bool:
        if self.wall is not None:
            return self.wall[0] == self.wall[1]
        return self.times is not None and self.times[0] == self.times[1]


@dataclass(frozen=True)
class PlaceWords:
    """Everything that one line says of a place."""

    stretch: StretchWords | None = None
    view: tuple[int, int] | None = None  # ps
    cursor: int | None = None  # ps
    host: str | None = None
    page: str | None = None

    @property
    def is_stretch_alone(self) -> bool:
        """Whether nothing but a stretch of time is named."""
        others = (self.view, self.cursor, self.host, self.page)
        return self.stretch is not None and all(part is None for part in others)

    @property
    def window(self) -> StretchWords:
        """The stretch that is meant, for what counts in it. Raises `UsageError` without one."""
        if self.stretch is None and self.view is not None:
            return StretchWords("the view", times=self.view)
        if self.stretch is None:
            raise UsageError("This place names no stretch of time.", hint=EXAMPLES)
        if self.stretch.is_moment:
            moment = plain(self.stretch.text, _SHOWN_CHARS)
            raise UsageError(f"{moment} is a moment; a window has two ends.", hint=EXAMPLES)
        return self.stretch


# ── reading ──────────────────────────────────────────────────────────────────────────────────────


def parse_place(text: str) -> PlaceWords:
    """What a line says. Raises `UsageError` where it is no place."""
    if len(text) > _MAX_CHARS:
        raise UsageError(f"This place has more than {_MAX_CHARS:,} characters.", hint=EXAMPLES)
    first = _PART.search(text)
    stretch_text = text if first is None else text[: first.start()]
    stretch_text = stretch_text.strip().rstrip(",").rstrip()
    values = _named_parts(text, first)
    stretch = None
    if stretch_text or first is None:
        stretch = parse_stretch(stretch_text)
    view = _times_of(values, "view")
    if view is not None and view[0] == view[1]:
        raise UsageError("A view has two ends.", hint="Write it like view 27.31s-28.78s.")
    cursor = _times_of(values, "cursor")
    return PlaceWords(
        stretch=stretch,
        view=view,
        cursor=None if cursor is None else cursor[0],
        host=values.get("host"),
        page=values.get("page"),
    )


def parse_stretch(text: str) -> StretchWords:
    """What a stretch says. Raises `UsageError` where it is none."""
    words = text.strip().lower()
    steps = re.fullmatch(
        rf"(?:epoch\s*({_NUMBER}))?[\s,:]*(?:steps?\s*({_NUMBER})(?:{_TO}({_NUMBER}))?)?", words
    )
    if steps is not None and words and any(char.isdigit() for char in words):
        epoch, first, last = (int(digits) if digits else None for digits in steps.groups())
        numbers = None
        if first is not None:
            other = first if last is None else last
            numbers = min(first, other), max(first, other)
        return StretchWords(text.strip(), epoch=epoch, steps=numbers)
    wall = re.fullmatch(rf"{_WALL_TIME}(?:{_TO}{_WALL_TIME})?(?:\s*utc)?", words)
    times = _times(words)
    if times is None and wall is None:
        raise not_a_place(text)
    wall_times = None
    if wall is not None:
        wall_times = wall[1], wall[2] or wall[1]
    return StretchWords(text.strip(), times=times, wall=wall_times)


def not_a_place(text: str) -> UsageError:
    """The error for words that name no place."""
    shown = plain(text.strip(), _SHOWN_CHARS)
    return UsageError(f"This is not a time or a place: {shown}.", hint=EXAMPLES)


def _named_parts(text: str, first: re.Match[str] | None) -> dict[str, str]:
    """The parts that begin with their own word, by that word."""
    values: dict[str, str] = {}
    match = first
    while match is not None:
        name = match[1].lower()
        value, end = _value(text, match.end())
        if name in values:
            raise UsageError(f"This place names its {name} twice.")
        if not value:
            raise UsageError(f"This place does not say which {name}.")
        values[name] = value
        separator = re.compile(r"\s*,?\s*").match(text, end)
        begin = end if separator is None else separator.end()
        if begin == len(text):
            break
        match = _PART.match(text, max(end, begin - 1))
        if match is None:
            shown = plain(text[begin:], _SHOWN_CHARS)
            raise UsageError(
                f"This place ends with words that are not part of a place: {shown}.",
                hint="The parts are: a stretch, view, cursor, host and page, with commas between.",
            )
    return values


def _value(text: str, begin: int) -> tuple[str, int]:
    """The value that begins there, and where it ends."""
    quoted = _QUOTED.match(text, begin)
    if quoted is not None:
        import json

        try:
            return str(json.loads(quoted[0])), quoted.end()
        except ValueError:
            shown = plain(quoted[0], _SHOWN_CHARS)
            raise UsageError(f"This name in quotes cannot be read: {shown}.") from None
    end = text.find(",", begin)
    end = len(text) if end < 0 else end
    return text[begin:end].strip(), end


def _times_of(values: dict[str, str], name: str) -> tuple[int, int] | None:
    """The times of a part; None where it was not named."""
    value = values.get(name)
    if value is None:
        return None
    times = _times(value.lower())
    if times is None:
        raise UsageError(
            f"{plain(value, _SHOWN_CHARS)} is not a time.", hint=f"Write it like {name} 27.31s."
        )
    return times


def _times(text: str) -> tuple[int, int] | None:
    """A moment or a stretch on the timeline's own clock."""
    moment = parse_time(text)
    if moment is not None:
        return moment, moment
    for separator in ("..", " to ", "-", ","):
        head, sign, tail = text.partition(separator)
        lo = parse_time(head)
        hi = parse_time(tail)
        if not sign or lo is None or hi is None:
            continue
        unit = re.search(r"[a-zµμ]+$", tail.strip())
        has_no_unit = re.fullmatch(r"[\d.]+", head.strip())
        if unit and has_no_unit:
            lo = parse_time(head.strip() + unit[0]) or 0  # "27.31-28.78ms": the unit is of both
        return min(lo, hi), max(lo, hi)
    return None


# ── writing ──────────────────────────────────────────────────────────────────────────────────────


def time_words(ps: int) -> str:
    """A moment, to the picosecond and no longer than that takes: "27.31s"."""
    digits = fixed(ps, PS_PER_S, 12).rstrip("0").rstrip(".")
    return f"{digits}s"


def times_words(lo: int, hi: int) -> str:
    """A stretch of time: "27.31s-28.78s"."""
    sign = ".." if min(lo, hi) < 0 else "-"  # -1s-2s would be hard to read
    return f"{time_words(lo)}{sign}{time_words(hi)}"


def name_words(name: str) -> str:
    """A name that is read back as it is, whatever is in it."""
    if _BARE_NAME.fullmatch(name) and plain(name) == name:
        return name
    import json

    return json.dumps(name)


def host_word(hosts: Sequence[str], index: int) -> str:
    """What one of several hosts is called in a place: its name, or its number from 1 where
    another has the same name.
    """
    name = hosts[index]
    if not name or hosts.count(name) > 1 or name.startswith("#"):
        return f"#{index + 1}"
    return name


def host_named(hosts: Sequence[str], word: str) -> int | None:
    """Which of several hosts a place means; None where it is none of them.

    "node40" is node040 as well, where no other host is meant by it.
    """
    names = [host_word(hosts, index) for index in range(len(hosts))]
    if word in names:
        return names.index(word)
    short_names = [_without_zeros(name) for name in names]
    if not word.startswith("#") and short_names.count(_without_zeros(word)) == 1:
        return short_names.index(_without_zeros(word))
    number = word.removeprefix("#")
    if word.startswith("#") and number.isdecimal() and 1 <= int(number[:9]) <= len(hosts):
        return int(number[:9]) - 1
    return None


def _without_zeros(name: str) -> str:
    """A name whose numbers have no zeros in front."""
    return _LEADING_ZEROS.sub("", name)


def shell_word(text: str) -> str | None:
    """A text as one word of a shell's command; None where it holds what a terminal would obey.

    A line break or an escape in quotes is still read by the terminal that it is pasted into.
    """
    if plain(text) != text:
        return None
    return shlex.quote(text)

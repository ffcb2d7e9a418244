"""How every report is written: as aligned text, JSON, CSV or Markdown, to standard output.

Whatever comes from a file passes `plain` on its way to a terminal and `cell` on its way to a
spreadsheet; JSON escapes by itself. Nothing here knows what a run is.
"""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any

from powertui import units
from powertui.data.model import NS_PER_S, PS_PER_S
from powertui.errors import PowertuiError
from powertui.patterns import late_pattern
from powertui.plain import cell, plain, width
from powertui.wrapping import terminal_columns, wrapped

if TYPE_CHECKING:
    from powertui.data.host_parts import HostReader

# What a terminal or pipe without UTF-8 gets instead of the characters that we write ourselves.
_ASCII = str.maketrans(
    {
        "±": "+-",
        "–": "-",
        "—": "-",
        "−": "-",
        "…": "...",
        "µ": "u",
        "×": "x",
        "·": "-",
        "→": "->",
        "≤": "<=",
        "≥": ">=",
        "’": "'",
    }
)


def out(text: str) -> None:
    """Write to standard output, whatever its encoding can hold."""
    write(sys.stdout, text)


def write_error(stream: Any, error: PowertuiError) -> None:
    """What is wrong, and on a line of its own what to do."""
    for line in error_lines(error):
        write(stream, line)


def error_lines(error: PowertuiError) -> list[str]:
    """The same as lines, where another process is to write them."""
    lines = [f"powertui: {plain(error.message)}"]
    if error.hint:
        lines.append(f"  {plain(error.hint)}")
    return lines


def write_reader_warnings(reader: HostReader | None) -> None:
    """What went wrong where the runs of a list were read, beside answers that are the same."""
    if reader is None:
        return
    for warning in reader.warnings():
        write(sys.stderr, f"powertui: {plain(str(warning))}")


def write(stream: Any, text: str) -> None:
    """Write and end the line.

    Characters that the stream cannot encode are replaced, never an error.
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        text = in_ascii(text)
    stream.write(text if text.endswith("\n") else text + "\n")
    stream.flush()


def in_ascii(text: str) -> str:
    """The same in ASCII alone."""
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[int] = (),
    indent: str = "",
) -> list[str]:
    """Columns that line up.

    `right` names the columns that hold numbers. Empty columns are left out.
    """
    cells = [[plain(value) for value in row] for row in rows]
    numbers = set(right)
    columns = []
    for index, values in enumerate(zip(*cells, strict=True)):
        if any(values):
            column = (headers[index], *values)
            columns.append(_aligned(column, right=index in numbers))
    lines = []
    for row in zip(*columns, strict=True):
        line = indent + "  ".join(row)
        lines.append(line.rstrip())
    return lines


def _aligned(texts: Sequence[str], *, right: bool) -> list[str]:
    """Texts as wide as the widest of them."""
    widest = max(map(width, texts))
    return [_pad(text, widest, right) for text in texts]


def _pad(text: str, cells: int, right: bool) -> str:
    blank = " " * max(0, cells - width(text))
    if right:
        return blank + text
    return text + blank


def markdown(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[int] = (),
) -> list[str]:
    """A Markdown table. Names cannot break out of their cell or become markup."""
    numbers = set(right)
    rules = ["---:" if index in numbers else "---" for index in range(len(headers))]
    lines = [_markdown_row(headers), "|" + "|".join(rules) + "|"]
    for row in rows:
        lines.append(_markdown_row(map(markdown_text, row)))
    return lines


# What Markdown would take for markup, with a backslash before it.
_MARKDOWN_ESCAPES = str.maketrans({char: "\\" + char for char in "\\`*_{}[]<>#|~"} | {"&": "&amp;"})


# In a pull request `@name` calls a person, and `#12` is written into another thread. Neither an
# entity nor a backslash keeps GitHub from that: it looks at the text when both are resolved.
_CALLS_SOMEONE = late_pattern(r"(?<=@)(?=\w)|(?<=#)(?=\d)")
_NO_WIDTH = "\u200b"


def markdown_text(text: str) -> str:
    """Text from a file inside a Markdown document: shown, not interpreted."""
    return _CALLS_SOMEONE.sub(_NO_WIDTH, plain(text)).translate(_MARKDOWN_ESCAPES)


_FENCE_ESCAPES = str.maketrans("`<>", "'()")


def fenced_text(text: str, limit: int | None) -> str:
    """Text from a file inside a code fence, in ASCII: it ends no fence, and is no tag either."""
    return in_ascii(plain(text, limit)).translate(_FENCE_ESCAPES)


def labelled(rows: Iterable[tuple[str, str]], columns: int | None = None) -> list[str]:
    """`label   text` lines; a label that repeats is written once.

    Text is taken as it is: pass `plain` before. Long text continues below itself where the terminal
    ends; a pipe gets it on one line.
    """
    filled = [(label, text) for label, text in rows if text]
    label_width = max((width(label) for label, _ in filled), default=0)
    if columns is None:
        columns = terminal_columns()
    room = columns - label_width - 4  # two blanks before the label and two after it
    lines = []
    label_above = ""
    for label, text in filled:
        for part in wrapped(text, room):
            shown = "" if label == label_above else label
            lines.append(f"  {_pad(shown, label_width, False)}  {part}".rstrip())
            label_above = label
    return lines


def first_of(lines: Sequence[str], count: int) -> list[str]:
    """The first lines, and how many more there are: only of what JSON lists in full."""
    if len(lines) <= count:
        return list(lines)
    return [*lines[:count], f"… and {len(lines) - count:,} more (--json lists them)"]


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


# ── machines ─────────────────────────────────────────────────────────────────────────────────────


_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False)
_CONTAINERS = frozenset((dict, list, tuple))


def to_json(value: Any) -> str:
    """JSON that every parser takes: no NaN, no Infinity, ASCII only.

    Names may hold lone surrogates, which UTF-8 cannot encode. Lists and objects are on lines of
    their own down to those that hold plain values only: a row of a table is a line. (The library's
    `indent=` does not use its compiled encoder and takes five times as long.)
    """
    parts: list[str] = []
    try:
        _write(value, "\n", parts.append)
    except ValueError:  # a figure is NaN or infinite
        parts.clear()
        _write(_clean(value), "\n", parts.append)
    return "".join(parts)


def _write(value: Any, line: str, add: Callable[[str], None]) -> None:
    """Add the text of a value; `line` begins a new line at its depth."""
    kind = type(value)
    if kind is str:  # asking the encoder for a word or a number takes twice as long
        add(encode_basestring_ascii(value))
    elif kind is int:
        add(int.__repr__(value))
    elif value is None:
        add("null")
    elif kind not in _CONTAINERS or not value:
        add(_ENCODER.encode(value))
    elif _CONTAINERS.isdisjoint(map(type, value.values() if kind is dict else value)):
        add(_ENCODER.encode(value))  # plain values only
    elif kind is dict:
        deeper = line + " "
        separator = "{" + deeper
        for key, item in value.items():
            add(separator)
            add(encode_basestring_ascii(str(key)))
            add(": ")
            _write(item, deeper, add)
            separator = "," + deeper
        add(line + "}")
    else:
        deeper = line + " "
        separator = "[" + deeper
        for item in value:
            add(separator)
            _write(item, deeper, add)
            separator = "," + deeper
        add(line + "]")


def _clean(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value


class ExactNumber:
    """A number that is text already, with every digit.

    It may begin with a minus, which text from a file may not: a spreadsheet would take that for a
    formula.
    """

    __slots__ = ("digits",)

    def __init__(self, digits: str) -> None:
        self.digits = digits

    def __str__(self) -> str:
        return self.digits


def to_csv(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """RFC 4180: CRLF, quotes where needed.

    None is an empty field; text cannot become a formula; numbers stay numbers.
    """
    import csv  # only for this form

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(headers)
    for row in rows:
        writer.writerow(map(_csv_value, row))
    return buffer.getvalue()


def emit_csv(text: str) -> None:
    """To standard output without its own translation of line ends."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(text)
        return
    sys.stdout.flush()
    buffer.write(text.encode("utf-8", "backslashreplace"))
    buffer.flush()


# ── facts in words ───────────────────────────────────────────────────────────────────────────────


def _csv_value(value: object) -> object:
    if isinstance(value, str):
        return cell(value)
    return value  # None is written as an empty field


def plural(count: int, noun: str) -> str:
    """1 step, 20 steps, with thousands set apart."""
    if count != 1:
        noun += "s"
    return f"{count:,} {noun}"


def duration(seconds: float) -> str:
    """A length of time, as a person reads it."""
    return units.duration(round(seconds * PS_PER_S))


def wall(unix_ns: int, offset_s: int | None) -> str:
    """A moment with its zone: the profiled machine's own where that is known, else UTC."""
    from powertui.data.run import zones

    offset_s = offset_s or 0
    zone = timezone(timedelta(seconds=offset_s))
    seconds, ns = divmod(unix_ns, NS_PER_S)
    try:
        moment = datetime.fromtimestamp(seconds, zone)
    except (OverflowError, OSError, ValueError):
        return f"Unix ns {unix_ns}"
    milliseconds = ns // 1_000_000
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds:03d} {zones.name(offset_s)}"

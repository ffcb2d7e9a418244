"""How every report is written: aligned text, JSON, CSV and Markdown, and one way to standard
output.

Whatever comes from a file passes `plain` on its way to a terminal and `cell` on its way to a
spreadsheet; JSON escapes by itself. Nothing here knows what a run is.
"""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone
from json.encoder import encode_basestring_ascii
from typing import Any

from powertui.data.model import NS_PER_S
from powertui.plain import cell, plain, width

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


def write(stream: Any, text: str) -> None:
    """Write and end the line.

    Characters that the stream cannot encode are replaced, never an error.
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        text = text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
    stream.write(text if text.endswith("\n") else text + "\n")
    stream.flush()


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
    texts = [[plain(value) for value in row] for row in rows]
    keep = [i for i in range(len(headers)) if any(row[i] for row in texts)]
    wide = (
        {i: max(width(headers[i]), *(width(row[i]) for row in texts)) for i in keep}
        if texts
        else {}
    )
    numbers = set(right)

    def line(values: Sequence[str]) -> str:
        return (indent + "  ".join(_pad(values[i], wide[i], i in numbers) for i in keep)).rstrip()

    return [line(headers), *(line(row) for row in texts)] if texts else []


def _pad(text: str, cells: int, right: bool) -> str:
    blank = " " * max(0, cells - width(text))
    return blank + text if right else text + blank


def markdown(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()
) -> list[str]:
    """A Markdown table. Names cannot break out of their cell or become markup."""
    numbers = set(right)
    lines = [
        "| " + " | ".join(headers) + " |",
        "|" + "|".join("---:" if i in numbers else "---" for i in range(len(headers))) + "|",
    ]
    lines += ["| " + " | ".join(markdown_text(value) for value in row) + " |" for row in rows]
    return lines


def markdown_text(text: str) -> str:
    """Text from a file inside a Markdown document: shown, not interpreted."""
    shown = plain(text)
    return "".join("\\" + char if char in "\\`*_{}[]<>#|~" else char for char in shown).replace(
        "&", "&amp;"
    )


def labelled(rows: Iterable[tuple[str, str]], columns: int | None = None) -> list[str]:
    """`label   text` lines; a label that repeats is written once. Text is taken as it is: pass `plain` before.

    Long text continues below itself where the terminal ends; a pipe gets it on one line.
    """
    kept = [(label, text) for label, text in rows if text]
    column = max((width(label) for label, _ in kept), default=0)
    room = (columns if columns is not None else terminal_columns()) - column - 4
    lines = []
    before = ""
    for label, text in kept:
        parts = _wrapped(text, room) if room >= 30 else [text]
        for number, part in enumerate(parts):
            shown = "" if label == before or number else label
            lines.append(f"  {_pad(shown, column, False)}  {part}".rstrip())
        before = label
    return lines


def _wrapped(text: str, room: int) -> list[str]:
    """Text in lines of at most so many cells, broken at blanks.

    Paths longer than a line stay whole, to be copied.
    """
    lines: list[str] = []
    for word in text.split(" "):
        if lines and width(lines[-1]) + 1 + width(word) <= room:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def first_of(lines: Sequence[str], most: int) -> list[str]:
    """The first of many lines, and how many more there are. Not for what JSON leaves out, too."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[:most], f"… and {len(lines) - most:,} more (--json lists them)"]


def terminal_columns() -> int:
    """The terminal's width; 0 when output goes elsewhere."""
    try:
        return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 0
    except (AttributeError, ValueError):
        return 0


# ── machines ─────────────────────────────────────────────────────────────────────────────────────


_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False)
_CONTAINERS = frozenset((dict, list, tuple))


def to_json(value: Any) -> str:
    """JSON that every parser takes: no NaN, no Infinity, ASCII only (names may hold lone
    surrogates).

    Lists and objects stand on lines of their own down to those that hold plain values only: a row
    of a table is a line. (`indent=` of the library does not use its compiled encoder: five times
    the time.)
    """
    out: list[str] = []
    try:
        _write(value, "\n", out.append)
    except ValueError:  # a figure that is no number
        out.clear()
        _write(_clean(value), "\n", out.append)
    return "".join(out)


def _write(value: Any, line: str, add: Callable[[str], None]) -> None:
    """Add the text of a value; `line` begins a new line at its depth."""
    kind = type(value)
    if kind is str:  # what it costs to ask the encoder for a word or a number is as much again
        add(encode_basestring_ascii(value))
        return
    if kind is int:
        add(int.__repr__(value))
        return
    if (kind is not dict and kind is not list and kind is not tuple) or not value:
        add(_ENCODER.encode(value) if value is not None else "null")
        return
    deeper = line + " "
    if _CONTAINERS.isdisjoint(map(type, value.values() if kind is dict else value)):
        add(_ENCODER.encode(value))
    elif kind is dict:
        separator = "{" + deeper
        for key, item in value.items():
            add(f"{separator}{encode_basestring_ascii(str(key))}: ")
            _write(item, deeper, add)
            separator = "," + deeper
        add(line + "}")
    else:
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


def to_csv(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """RFC 4180: CRLF, quotes where needed.

    None is an empty field; text cannot become a formula; numbers stay numbers.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(headers)
    for row in rows:
        writer.writerow(["" if v is None else cell(v) if isinstance(v, str) else v for v in row])
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


def plural(count: int, noun: str) -> str:
    """1 step, 20 steps, with thousands set apart."""
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def wall(unix_ns: int, offset_s: int | None) -> str:
    """A moment in the profiled machine's own time when its zone is known, else in UTC; with the
    zone either way.
    """
    from powertui.data.run import zones

    zone = timezone(timedelta(seconds=offset_s or 0))
    try:
        moment = datetime.fromtimestamp(unix_ns // NS_PER_S, zone)
    except (OverflowError, OSError, ValueError):
        return f"Unix ns {unix_ns}"
    return (
        f"{moment:%Y-%m-%d %H:%M:%S}.{unix_ns // 1_000_000 % 1000:03d} {zones.name(offset_s or 0)}"
    )

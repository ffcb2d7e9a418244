"""JSON as loggers leave it: one document, one a line, one after the other, in a list that never
ends, with a banner, a topic or a time before each. Whole documents are read; cut ones are counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from powertui.data.power import stamps
from powertui.data.power.notes import Notes
from powertui.named_tuples import NamedTuple

# Documents that may be broken before reading ends: each costs a look at what follows, which may run
# to the end; after fewer of them not every bracket is looked at. Chosen, not measured.
_MAX_BROKEN = 200
_MAX_BROKEN_BRACKETS = 20
_MAX_DEPTH = 8  # of members whose names are joined; chosen, not measured
_START = re.compile(r"[{\[]")
_TIMES = (
    "timestamp",
    "time",
    "ts",
    "datetime",
    "date",
    "@timestamp",
    "sample_time",
    "timestamp_s",
    "timestamp_ms",
    "unixtime",
    "collected_at",
    "epoch",
    "unix",
    "_timestamp",
)


class Doc(NamedTuple):
    """One document, the time that is written before it, and its first line."""

    value: Any
    when: str
    line: int


def documents(text: str, notes: Notes) -> Iterator[Doc]:
    """Every whole document in a text."""
    decoder = json.JSONDecoder()
    position = line = counted = failures = 0
    when = ""
    while (match := _START.search(text, position)) is not None:
        start = match.start()
        before = text[position:start]
        line += text.count("\n", counted, start)
        counted = start
        when = _before(before) or when
        try:
            value, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            failures += 1
            if failures > _MAX_BROKEN:
                notes.say("too many damaged documents; the rest is not read")
                return
            if text[start] == "{":
                notes.drop(line + 1, "is not a whole JSON document")
            position = start + 1
            if failures > _MAX_BROKEN_BRACKETS:
                position = max(position, _line_end_behind(error, text, start))
            continue
        if isinstance(value, (dict, list)) and value:
            yield Doc(value, when, line + 1)


def _line_end_behind(error: Exception, text: str, start: int) -> int:
    """The end of the line in which a document breaks off; -1 in the last line."""
    broken = start
    if isinstance(error, json.JSONDecodeError):
        broken = min(error.pos, len(text) - 1)
    return text.find("\n", max(start, broken))


def _before(text: str) -> str:
    """The time in what stands before a document: a line of its own, or the beginning of the
    document's line.
    """
    last_lines = text.strip().split("\n")[-3:]
    for line in reversed(last_lines):
        if when := stamps.time_of_line(line):
            return when
        when, _ = stamps.split_time(line + " {")
        if when:
            return when
    return ""


def when_in(value: Any, default: str = "") -> str:
    """The time that an object names among its own members."""
    if not isinstance(value, dict):
        return default
    for key, member in value.items():
        if isinstance(member, bool) or not isinstance(member, (str, int, float)):
            continue
        if key.lower() in _TIMES:
            return str(member)
    return default


def records(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, a single object as a list of one, a table of columns as its rows."""
    if isinstance(value, list):
        return [entry for entry in value if isinstance(entry, dict)]
    if not isinstance(value, dict):
        return []
    rows = _rows_of_columns(value) or _rows_below_names(value)
    if rows:
        return rows
    lists = list(filter(_is_list_of_objects, value.values()))
    if len(lists) != 1:
        return [value]
    # The time and the host of them all.
    around = {}
    for key, member in value.items():
        if not isinstance(member, (list, dict)):
            around[key] = member
    return [{**around, **entry} for entry in lists[0]]


def _rows_of_columns(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of an object whose members are columns of equal length; none of any other object."""
    columns: list[list[Any]] = []
    for member in value.values():
        if isinstance(member, dict):
            member = list(member.values())
        if not member or not isinstance(member, list):
            return []
        if len(member) != len(columns[0] if columns else member):
            return []
        columns.append(member)
    if len(columns) < 2 or not all(map(_are_plain, columns)):
        return []
    rows = zip(*columns, strict=True)
    return [dict(zip(value, row, strict=True)) for row in rows]


def _are_plain(cells: list[Any]) -> bool:
    return not any(isinstance(cell, (list, dict)) for cell in cells)


def _rows_below_names(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of `{"columns": [names], "values": [[cells], …]}`, as InfluxDB and pandas write
    them, with what is said of them all; none of any other object.
    """
    for frame in _frames(value, 0):
        rows = frame.get("values") or frame.get("data")
        if not isinstance(rows, list):
            continue
        if not all(isinstance(row, list) for row in rows):
            continue
        return _named_rows(frame, rows)
    return []


def _frames(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """The objects with a list of names of columns, in an object or below it."""
    if isinstance(value, list):
        for member in value:
            yield from _frames(member, depth + 1)
    elif isinstance(value, dict) and depth < _MAX_DEPTH:
        if _are_names(value.get("columns")):
            yield value
            return
        for member in value.values():
            if isinstance(member, (dict, list)):
                yield from _frames(member, depth + 1)


def _named_rows(frame: dict[str, Any], rows: list[list[Any]]) -> list[dict[str, Any]]:
    """Rows of a frame by the names of its columns, each with what the frame says of them all."""
    around = {key: cell for key, cell in frame.items() if isinstance(cell, str)}
    tags = frame.get("tags")
    if isinstance(tags, dict):
        around |= tags
    names = frame["columns"]
    named_rows = []
    for row in rows:
        if len(row) == len(names):
            cells = dict(zip(names, row, strict=True))
            named_rows.append({**around, **cells})
    return named_rows


def _are_names(value: Any) -> bool:
    return _is_list_of(str, value)


def _is_list_of_objects(value: Any) -> bool:
    return _is_list_of(dict, value)


def _is_list_of(kind: type, value: Any) -> bool:
    """Whether something is a list with members, all of this type."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(member, kind) for member in value)


def flat(value: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Members of members under joined names: {"gpu": {"power": 3}} as {"gpu.power": 3}; `value` and
    `unit` join.
    """
    out: dict[str, Any] = {}
    for key, member in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if not isinstance(member, (list, dict)):
            out[name] = member
            continue
        if not isinstance(member, dict) or depth >= _MAX_DEPTH:
            continue
        if "value" in member and set(member) <= {"value", "unit"}:
            unit = member.get("unit")
            if unit:
                name = f"{name} [{unit}]"
            out[name] = member["value"]
        else:
            out.update(flat(member, name, depth + 1))
    return out

"""JSON as loggers leave it: one document, one a line, one after the other, in a list that never
ends, with a banner, a topic or a time before each. What is whole is read; what was cut is counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from powertui.data.power import stamps
from powertui.data.power.notes import Notes

_FAILURES = (
    200  # documents that may be broken before reading ends: each costs a look at what follows
)
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
    """One document, the time that stands before it, and its first line."""

    value: Any
    when: str
    line: int


def documents(text: str, notes: Notes) -> Iterator[Doc]:
    """Every whole document in a text."""
    decoder = json.JSONDecoder()
    at = line = counted = failures = 0
    when = ""
    while (match := _START.search(text, at)) is not None:
        start = match.start()
        before = text[at:start]
        line += text.count("\n", counted, start)
        counted = start
        when = _before(before) or when
        try:
            value, at = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            failures += 1
            if failures > _FAILURES:
                notes.say("too many damaged documents; the rest is not read")
                return
            if text[start] == "{":
                notes.drop(line + 1, "is not a whole JSON document")
            broken = error.pos if isinstance(error, json.JSONDecodeError) else start
            at = start + 1
            if failures > 20:  # each look may run to the end: no longer at each bracket
                at = max(at, text.find("\n", max(start, min(broken, len(text) - 1))))
                if at <= start:
                    return
            continue
        if isinstance(value, (dict, list)) and value:
            yield Doc(value, when, line + 1)


def _before(text: str) -> str:
    """The time in what stands before a document: a line of its own, or the beginning of the
    document's line.
    """
    for line in reversed(text.strip().split("\n")[-3:]):
        if when := stamps.time_of_line(line) or stamps.split_time(line + " {")[0]:
            return when
    return ""


def when_in(value: Any, default: str = "") -> str:
    """The time that an object names among its own members."""
    if isinstance(value, dict):
        for key, member in value.items():
            if (
                key.lower() in _TIMES
                and isinstance(member, (str, int, float))
                and not isinstance(member, bool)
            ):
                return str(member)
    return default


def records(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, a single object as a list of one, a table of columns as its rows."""
    if isinstance(value, list):
        return [entry for entry in value if isinstance(entry, dict)]
    if not isinstance(value, dict):
        return []
    columns = {
        key: member for key, member in value.items() if isinstance(member, (list, dict)) and member
    }
    if len(columns) > 1 and len(columns) == len(value):
        lengths = {len(member) for member in columns.values()}
        cells = [
            list(member.values()) if isinstance(member, dict) else member
            for member in columns.values()
        ]
        if len(lengths) == 1 and not any(
            isinstance(cell, (list, dict)) for member in cells for cell in member
        ):
            return [dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True)]
    lists = [
        member
        for member in value.values()
        if isinstance(member, list) and member and all(isinstance(entry, dict) for entry in member)
    ]
    if len(lists) != 1:
        return [value]
    around = {
        key: member for key, member in value.items() if not isinstance(member, (list, dict))
    }  # the time and the host of them all
    return [{**around, **entry} for entry in lists[0]]


def flat(value: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Members of members under joined names: {"gpu": {"power": 3}} as {"gpu.power": 3}; `value` and
    `unit` join.
    """
    out: dict[str, Any] = {}
    for key, member in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(member, dict) and depth < 8:
            if set(member) <= {"value", "unit"} and "value" in member:
                out[f"{name} [{member['unit']}]" if member.get("unit") else name] = member["value"]
            else:
                out.update(flat(member, name, depth + 1))
        elif not isinstance(member, (list, dict)):
            out[name] = member
    return out

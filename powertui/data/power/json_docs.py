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
        if found := stamps.time_of_line(line) or stamps.split_time(line + " {")[0]:
            return found
    return ""


def when_in(value: Any, default: str = "") -> str:
    """The time that an object names among its own members."""
    if isinstance(value, dict):
        for key, own in value.items():
            if (
                key.lower() in _TIMES
                and isinstance(own, (str, int, float))
                and not isinstance(own, bool)
            ):
                return str(own)
    return default


def records(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, a single object as a list of one, a table of columns as its rows."""
    if isinstance(value, list):
        return [one for one in value if isinstance(one, dict)]
    if not isinstance(value, dict):
        return []
    columns = {key: own for key, own in value.items() if isinstance(own, (list, dict)) and own}
    if len(columns) > 1 and len(columns) == len(value):
        lengths = {len(own) for own in columns.values()}
        cells = [list(own.values()) if isinstance(own, dict) else own for own in columns.values()]
        if len(lengths) == 1 and not any(
            isinstance(cell, (list, dict)) for own in cells for cell in own
        ):
            return [dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True)]
    lists = [
        own
        for own in value.values()
        if isinstance(own, list) and own and all(isinstance(one, dict) for one in own)
    ]
    if len(lists) != 1:
        return [value]
    around = {
        key: own for key, own in value.items() if not isinstance(own, (list, dict))
    }  # the time and the host of them all
    return [{**around, **one} for one in lists[0]]


def flat(value: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Members of members under joined names: {"gpu": {"power": 3}} as {"gpu.power": 3}; `value` and
    `unit` join.
    """
    out: dict[str, Any] = {}
    for key, own in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(own, dict) and depth < 8:
            if set(own) <= {"value", "unit"} and "value" in own:
                out[f"{name} [{own['unit']}]" if own.get("unit") else name] = own["value"]
            else:
                out.update(flat(own, name, depth + 1))
        elif not isinstance(own, (list, dict)):
            out[name] = own
    return out

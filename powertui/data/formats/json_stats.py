"""Names and args of events in Chrome-like JSON traces.

Args are kept as JSON text in one arena, where an event's position points, and are decoded when
someone asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from powertui.data.formats import stat_columns
from powertui.data.formats.json_args import ArgText
from powertui.data.model import (
    Int64s,
    Stat,
    StatColumn,
    StatKind,
    UInt64s,
)
from powertui.data.texts import Texts

__all__ = ["ArgStats", "PairNames", "as_text", "clean", "stat"]

# Halves of surrogate pairs that do not stand for a byte.
_HALF_SURROGATES = re.compile("[\ud800-\udc7f\udd00-\udfff]")
# Positions from here on are those of args that are kept in memory; positions below are places in
# the file.
_FIRST_KEPT_POSITION = 1 << 62


class ArgStats:
    """The `args` of all events (model.StatSource), by their place in the file's text.

    They are read again when someone asks for them. Args of events that Python read itself are kept
    as text, one after the other, at positions beyond any file.
    """

    def __init__(self, text: ArgText | None = None) -> None:
        self._arena = bytearray()
        self._text = text

    def add(self, args: dict[str, Any], raw: str) -> int:
        """Keep these args of an event; returns their position.

        They are cut out of the event's text `raw`, with whatever follows them: five times as fast
        as writing them anew.
        """
        position = len(self._arena)
        key = '"args"' if '"args"' in raw else '"attr"'
        if raw.count(key) == 1 and "\0" not in raw:
            text = raw[raw.index(key) + 6 :].lstrip(" \t\r\n:")
        else:
            text = json.dumps(args, ensure_ascii=True)
        self._arena += text.encode("utf-8", "replace")
        self._arena += b"\0"
        return _FIRST_KEPT_POSITION + position

    @property
    def memory(self) -> int:
        """How many bytes are kept."""
        return len(self._arena)

    def _json_text(self, position: int) -> bytes:
        end = self._arena.find(b"\0", position - _FIRST_KEPT_POSITION)
        if end >= 0:
            return bytes(self._arena[position - _FIRST_KEPT_POSITION : end])
        return b"{}"

    def event_stats(self, position: int) -> tuple[Stat, ...]:
        """All args of the event at this position, in file order."""
        if not position:
            return ()
        if position >= _FIRST_KEPT_POSITION:
            args = _args(self._json_text(int(position)))
        else:
            if self._text is not None:
                args = self._text.one(int(position))
            else:
                args = {}
        return tuple(stat(name, value) for name, value in args.items())

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """Each named arg for each of these events; numbers written as text count as numbers."""
        columns = stat_columns.TextColumns(names, len(positions))
        # Args whose text does not contain a name need no decoding. An odd name may be escaped in
        # JSON: its mark is empty, which every text contains.
        marks = {}
        for name in names:
            is_plain = name.isidentifier() and name.isascii()
            marks[name] = name.encode() if is_plain else b""
        for row in np.flatnonzero(positions >= _FIRST_KEPT_POSITION).tolist():
            text = self._json_text(int(positions[row]))
            mentioned = [name for name, mark in marks.items() if mark in text]
            args = _args(text) if mentioned else {}
            for name in mentioned:
                if name in args:
                    columns.put(row, name, args[name], as_text(args[name]))
        stored = np.flatnonzero((positions > 0) & (positions < _FIRST_KEPT_POSITION))
        if len(stored) and self._text is not None:
            for row, name, value in self._text.values(positions[stored].astype(np.int64), names):
                columns.put(int(stored[row]), name, value, as_text(value))
        return columns.columns()


_decode = json.JSONDecoder(strict=False).raw_decode


def _args(line: bytes) -> dict[str, Any]:
    try:
        args = _decode(line.decode("utf-8", "replace"))[0]
    except (ValueError, RecursionError):
        return {}
    return args if isinstance(args, dict) else {}


def stat(name: str, value: Any) -> Stat:
    """One arg, by the kind that its value has."""
    kind: StatKind = "str"
    if isinstance(value, int) and not isinstance(value, bool):
        if -(1 << 63) <= value < 1 << 63:
            kind = "int64"
        else:
            kind = "uint64"
        return Stat(name, value, kind)
    if isinstance(value, float):
        return Stat(name, value, "double")
    return Stat(name, as_text(value), kind)


def as_text(value: Any) -> str:
    """An arg as text; true and false as TensorFlow writes them into stats."""
    if isinstance(value, str):
        return clean(value)
    return json.dumps(value)


def event_name(event: dict[str, Any]) -> str:
    """The name of an event as text; empty without one."""
    name = event.get("name")
    if name is None:
        return ""
    return name if isinstance(name, str) else as_text(name)


def clean(text: str) -> str:
    """Text that can be written anywhere.

    Half a surrogate pair, which JSON allows, becomes "?", and a byte that is no UTF-8 becomes
    U+FFFD. Readers keep such bytes as surrogates from DC80 on (`surrogateescape`), so that text can
    become the same bytes again.
    """
    if text.isascii():
        return text
    return (
        _HALF_SURROGATES.sub("?", text)
        .encode("utf-8", "surrogateescape")
        .decode("utf-8", "replace")
    )


class PairNames:
    """Event names (model.Names), each with the long name that TensorFlow puts into the args."""

    def __init__(self) -> None:
        self._index: dict[tuple[str, str], int] = {}
        self._pairs: list[tuple[str, str]] = []

    def index(self, display: str, full: str) -> int:
        """The index of this name; a new index for a new name."""
        pair = (display, full)
        index = self._index.get(pair)
        if index is None:
            index = self._index[pair] = self.add(display, full)
        return index

    def add(self, display: str, full: str) -> int:
        """The index of a new name, even where there is an equal one."""
        self._pairs.append((clean(display), clean(full)))
        return len(self._pairs) - 1

    def __len__(self) -> int:
        return len(self._pairs)

    def full(self, index: int) -> str:
        """The name as recorded in `long_name`, else as shown."""
        return self._pairs[index][1]

    def display(self, index: int) -> str:
        """The short name."""
        return self._pairs[index][0]

    def texts(self, indices: Int64s, *, display: bool = False) -> Texts:
        """The full names at once; or the short ones, each empty where it is the full one."""
        pairs = [self._pairs[index] for index in indices.tolist()]
        if display:
            return Texts.from_strings([short if short != full else "" for short, full in pairs])
        return Texts.from_strings([full for _, full in pairs])

    def stats(self, index: int) -> tuple[Stat, ...]:
        """Chrome traces say nothing of a name."""
        return ()

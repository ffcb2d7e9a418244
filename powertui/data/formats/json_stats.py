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
_HALF_PAIR = re.compile("[\ud800-\udc7f\udd00-\udfff]")
FIRST_KEPT_POSITION = 1 << 62  # positions of args that are kept; those below are places in the file


class ArgStats:
    """The `args` of all events (model.StatSource): where they stand in the text, which is read
    again when someone asks.

    Those of events that Python read itself are kept as text, one after the other: a position beyond
    any file.
    """

    def __init__(self, text: ArgText | None = None) -> None:
        self._arena = bytearray()
        self._text = text

    def add(self, args: dict[str, Any], raw: str) -> int:
        """Keep these, which stand somewhere in the event's text `raw`; where they lie now.

        The text is cut out rather than written anew: that is five times as fast. It may have a
        tail.
        """
        position = len(self._arena)
        own = '"args"' if '"args"' in raw else '"attr"'
        if raw.count(own) == 1 and "\0" not in raw:
            text = raw[raw.index(own) + 6 :].lstrip(" \t\r\n:")
        else:
            text = json.dumps(args, ensure_ascii=True)
        self._arena += text.encode("utf-8", "replace")
        self._arena += b"\0"
        return FIRST_KEPT_POSITION + position

    @property
    def memory(self) -> int:
        """How many bytes are kept."""
        return len(self._arena)

    def _line(self, position: int) -> bytes:
        end = self._arena.find(b"\0", position - FIRST_KEPT_POSITION)
        return bytes(self._arena[position - FIRST_KEPT_POSITION : end]) if end >= 0 else b"{}"

    def event_stats(self, position: int) -> tuple[Stat, ...]:
        """All args of the event at this position, in file order."""
        if not position:
            return ()
        if position >= FIRST_KEPT_POSITION:
            args = _args(self._line(int(position)))
        else:
            args = self._text.one(int(position)) if self._text is not None else {}
        return tuple(stat(name, value) for name, value in args.items())

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """Each named arg for each of these events.

        Numbers that were written as text count as numbers.
        """
        texts: dict[str, list[str | None]] = {name: [None] * len(positions) for name in names}
        floats: dict[str, list[tuple[int, float]]] = {name: [] for name in names}

        def put(row: int, name: str, value: Any) -> None:
            texts[name][row] = as_text(value)
            if isinstance(value, float):
                floats[name].append((row, value))

        kept = np.flatnonzero(positions >= FIRST_KEPT_POSITION)
        marks = {
            name: name.encode() if name.isidentifier() and name.isascii() else b"" for name in names
        }
        for row in kept.tolist():
            line = self._line(int(positions[row]))
            wanted = [name for name, mark in marks.items() if mark in line]
            args = _args(line) if wanted else {}
            for name in wanted:
                if name in args:
                    put(row, name, args[name])
        stored = np.flatnonzero((positions > 0) & (positions < FIRST_KEPT_POSITION))
        if len(stored) and self._text is not None:
            for row, name, value in self._text.values(positions[stored].astype(np.int64), names):
                put(int(stored[row]), name, value)
        out = {}
        for name in texts:
            column = stat_columns.from_texts(texts[name])
            for row, value in floats[name]:  # exactly, and infinities too
                column.floats[row] = value
            out[name] = column
        return out


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
        kind = "int64" if -(1 << 63) <= value < 1 << 63 else "uint64"
        return Stat(name, value, kind)
    if isinstance(value, float):
        return Stat(name, value, "double")
    return Stat(name, as_text(value), kind)


def as_text(value: Any) -> str:
    """An arg as text; true and false as TensorFlow writes them into stats."""
    return clean(value) if isinstance(value, str) else json.dumps(value)


def clean(text: str) -> str:
    """Text that can be written anywhere: half a surrogate pair (JSON allows it) shows as ?, a byte
    that is no UTF-8 as U+FFFD.

    Where text has to become the same bytes again, such bytes are kept as surrogates from DC80 on
    (`surrogateescape`).
    """
    if text.isascii():
        return text
    return _HALF_PAIR.sub("?", text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class PairNames:
    """Event names with the long name that TensorFlow puts into args beside the short one
    (model.Names).
    """

    def __init__(self) -> None:
        self._index: dict[tuple[str, str], int] = {}
        self._pairs: list[tuple[str, str]] = []

    def index(self, display: str, full: str) -> int:
        """The index of this name; a new one when it is new."""
        pair = (display, full)
        found = self._index.get(pair)
        if found is None:
            found = self._index[pair] = self.add(display, full)
        return found

    def add(self, display: str, full: str) -> int:
        """A name more, whether there is one like it or not."""
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
        """Many full names at once; or the short ones, each empty where it is the full one."""
        pairs = [self._pairs[i] for i in indices.tolist()]
        return Texts.from_strings(
            [short if short != full else "" for short, full in pairs]
            if display
            else [full for _, full in pairs]
        )

    def stats(self, index: int) -> tuple[Stat, ...]:
        """Chrome traces say nothing of a name."""
        return ()

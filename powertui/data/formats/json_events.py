"""What readers of Chrome-like JSON traces share: names, args, threads and times of events.

`args` are kept as JSON text in one arena, where an event's position points, and are decoded when someone asks.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from powertui.data.formats import stat_columns
from powertui.data.model import PS_PER_US, Floats, Int64s, Stat, StatColumn, StatKind, UInt64s
from powertui.data.texts import Texts

__all__ = ["ArgStats", "PairNames", "as_text", "clean", "number_of", "picoseconds"]

# ── args ─────────────────────────────────────────────────────────────────────────────────────────


class ArgStats:
    """The `args` of all events as JSON text, one after the other (model.StatSource)."""

    def __init__(self) -> None:
        self._arena = bytearray(b"{}\0")  # position 0: an event without args

    def add(self, args: dict[str, Any], raw: str) -> int:
        """Keep these, which stand somewhere in the event's text `raw`; where they lie now.

        The text is cut out rather than written anew: that is five times as fast. It may have a tail.
        """
        position = len(self._arena)
        if raw.count('"args"') == 1 and "\0" not in raw:
            text = raw[raw.index('"args"') + 6 :].lstrip(" \t\r\n:")
        else:
            text = json.dumps(args, ensure_ascii=True)
        self._arena += text.encode("utf-8", "replace")
        self._arena += b"\0"
        return position

    @property
    def memory(self) -> int:
        """How many bytes are kept."""
        return len(self._arena)

    def _line(self, position: int) -> bytes:
        end = self._arena.find(b"\0", position)
        return bytes(self._arena[position:end]) if 0 <= position < end else b"{}"

    def of(self, position: int) -> tuple[Stat, ...]:
        """All args of the event at this position, in file order."""
        return tuple(_stat(name, value) for name, value in _args(self._line(int(position))).items())

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """Each named arg for each of these events. Numbers that were written as text count as numbers."""
        texts: dict[str, list[str | None]] = {name: [None] * len(positions) for name in names}
        floats: dict[str, list[tuple[int, float]]] = {name: [] for name in names}
        marks = {name: name.encode() if name.isidentifier() and name.isascii() else b"" for name in names}
        for row, position in enumerate(positions.tolist()):
            line = self._line(position)
            wanted = [name for name, mark in marks.items() if mark in line]
            args = _args(line) if wanted else {}
            for name in wanted:
                if name in args:
                    value = args[name]
                    texts[name][row] = as_text(value)
                    if isinstance(value, float):
                        floats[name].append((row, value))
        out = {}
        for name in texts:
            column = stat_columns.from_texts(texts[name])
            for row, value in floats[name]:  # exactly, and infinities too
                column.floats[row] = value
            out[name] = column
        return out


_decode = json.JSONDecoder(strict=False).raw_decode


def _args(line: bytes) -> dict[str, Any]:
    args: dict[str, Any] = _decode(line.decode("utf-8", "replace"))[0]
    return args


def _stat(name: str, value: Any) -> Stat:
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
    """Text that can be written anywhere: half a surrogate pair (JSON allows it) shows as ?."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


# ── names ────────────────────────────────────────────────────────────────────────────────────────


class PairNames:
    """Event names with the long name that TensorFlow puts into args beside the short one (model.Names)."""

    def __init__(self) -> None:
        self._index: dict[tuple[str, str], int] = {}
        self._pairs: list[tuple[str, str]] = []

    def index(self, display: str, full: str) -> int:
        """The index of this name; a new one when it is new."""
        pair = (display, full)
        found = self._index.get(pair)
        if found is None:
            found = self._index[pair] = len(self._pairs)
            self._pairs.append((clean(display), clean(full)))
        return found

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
        return Texts.of([short if short != full else "" for short, full in pairs] if display else [full for _, full in pairs])

    def stats(self, index: int) -> tuple[Stat, ...]:
        """Chrome traces say nothing of a name."""
        return ()


# ── times and threads ────────────────────────────────────────────────────────────────────────────


def picoseconds(us: Floats, base: float = 0.0) -> Int64s:
    """µs as exact ps: the whole part and the fraction apart, because their product would lose digits after 2**53 ps."""
    whole = np.floor(us)
    fraction = np.rint((us - whole) * PS_PER_US).astype(np.int64)
    result: Int64s = (whole - base).astype(np.int64) * PS_PER_US + fraction
    return result


def number_of(tid: Any) -> int:
    """A number for any tid: Chrome traces name threads by text, too."""
    if isinstance(tid, int):
        return tid if -(1 << 63) <= tid < 1 << 63 else stat_columns.wrap(tid)
    text = str(tid)
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 18 else zlib.crc32(text.encode("utf-8", "replace"))

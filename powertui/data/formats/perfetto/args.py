"""Debug annotations of Perfetto's track events, decoded when someone asks (model.StatSource).

A position is where the event's message lies: its first byte, its length above bit 40, and bit 63
for those that were unpacked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from powertui.data import wire
from powertui.data.formats import stat_columns
from powertui.data.formats.json_stats import as_text, clean
from powertui.data.model import Int64s, Stat, StatColumn, UInt64s
from powertui.data.wire import schemas
from powertui.data.wire.stored import Stored

_LENGTH, _UNPACKED = 40, 63
_MOST = (1 << _UNPACKED - _LENGTH) - 1  # bytes of an event whose annotations can be read
_ANNOTATIONS = wire.tag(4, wire.LEN)
_DEPTH = 20

Meaning = Callable[[int, str, int], str]
"""(position, "event" | "name" | "text", interned id) → the text that stood for it then."""


def positions(lo: Int64s, hi: Int64s, unpacked: bool) -> UInt64s:
    """Where these messages lie."""
    length = np.minimum(hi - lo, _MOST).astype(np.uint64)
    where: UInt64s = lo.astype(np.uint64) | length << np.uint64(_LENGTH)
    return where | np.uint64(1 << _UNPACKED) if unpacked else where


class Annotations:
    """All annotations of a file."""

    def __init__(self, stored: Stored, unpacked: Stored, meaning: Meaning) -> None:
        self._stored, self._unpacked, self._meaning = stored, unpacked, meaning

    def _bytes(self, position: int) -> bytes:
        at, length = position & (1 << _LENGTH) - 1, position >> _LENGTH & _MOST
        of = self._unpacked if position >> _UNPACKED else self._stored
        return of.read(at, at + length).tobytes() if at + length <= of.size else b""

    def _named(self, position: int) -> Iterator[tuple[str, Any]]:
        try:
            event = schemas.parsed("PerfettoEvent", self._bytes(position))
        except schemas.Undecodable:
            return
        for one in event.debug_annotations:
            name = one.name or (
                self._meaning(position, "name", one.name_iid) if one.name_iid else ""
            )
            yield clean(name), self._value(position, one, _DEPTH)

    def _value(self, position: int, one: Any, depth: int) -> Any:
        kind = one.WhichOneof("value")
        if kind == "string_value_iid":
            return self._meaning(position, "text", one.string_value_iid)
        if kind is not None:
            return getattr(one, kind)
        if depth and one.dict_entries:
            inner = (
                (each.name or self._meaning(position, "name", each.name_iid), each)
                for each in one.dict_entries
            )
            return {name: self._value(position, each, depth - 1) for name, each in inner}
        if depth and one.array_values:
            return [self._value(position, each, depth - 1) for each in one.array_values]
        return None

    def event_stats(self, position: int) -> tuple[Stat, ...]:
        """All annotations of the event at this position, in file order."""
        return tuple(
            _stat(name, value) for name, value in self._named(position) if value is not None
        )

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """Each named annotation for each of these events; the first where it is repeated."""
        texts: dict[str, list[str | None]] = {name: [None] * len(positions) for name in names}
        floats: dict[str, list[tuple[int, float]]] = {name: [] for name in names}
        for row in np.flatnonzero(positions).tolist():
            for name, value in self._named(int(positions[row])):
                if name in texts and texts[name][row] is None and value is not None:
                    texts[name][row] = _text(value)
                    if isinstance(value, float):
                        floats[name].append((row, value))
        out = {}
        for name, column in texts.items():
            made = out[name] = stat_columns.from_texts(column)
            for row, value in floats[name]:
                made.floats[row] = value
        return out


def _text(value: Any) -> str:
    return (
        as_text(value)
        if isinstance(value, (str, bool, int, float))
        else json.dumps(value, ensure_ascii=False)
    )


def _stat(name: str, value: Any) -> Stat:
    if isinstance(value, int) and not isinstance(value, bool):
        return Stat(name, value, "uint64" if value >> 63 > 0 else "int64")
    if isinstance(value, float):
        return Stat(name, value, "double")
    return Stat(name, clean(_text(value)), "str")

"""Debug annotations of Perfetto's track events, decoded when someone asks (model.StatSource).

A position is the place of the event's first byte, with its length above bit 40, and bit 63 for
events that were unpacked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from powertui.data.formats import stat_columns
from powertui.data.formats.json_stats import as_text, clean
from powertui.data.model import Int64s, Stat, StatColumn, UInt64s
from powertui.data.wire import schemas
from powertui.data.wire.stored import Stored

_LENGTH_SHIFT, _UNPACKED_BIT = 40, 63
_MAX_EVENT_BYTES = (1 << _UNPACKED_BIT - _LENGTH_SHIFT) - 1  # a longer event loses its last ones
_MAX_DEPTH = 20  # of dictionaries and lists in each other; chosen, not measured

Meaning = Callable[[int, str, int], str]
"""(position, "event" | "name" | "text", interned id) → the text that stood for it then."""


def positions(lo: Int64s, hi: Int64s, unpacked: bool) -> UInt64s:
    """The positions of these messages."""
    length = np.minimum(hi - lo, _MAX_EVENT_BYTES).astype(np.uint64)
    where: UInt64s = lo.astype(np.uint64) | length << np.uint64(_LENGTH_SHIFT)
    return where | np.uint64(1 << _UNPACKED_BIT) if unpacked else where


class Annotations:
    """All annotations of a file."""

    def __init__(self, stored: Stored, unpacked: Stored, meaning: Meaning) -> None:
        self._stored = stored
        self._unpacked = unpacked
        self._meaning = meaning

    def _bytes(self, position: int) -> bytes:
        at = position & (1 << _LENGTH_SHIFT) - 1
        length = position >> _LENGTH_SHIFT & _MAX_EVENT_BYTES
        stored = self._unpacked if position >> _UNPACKED_BIT else self._stored
        if at + length <= stored.size:
            return stored.read(at, at + length).tobytes()
        return b""

    def _named(self, position: int) -> Iterator[tuple[str, Any]]:
        try:
            event = schemas.parsed("PerfettoEvent", self._bytes(position))
        except schemas.Undecodable:
            return
        for annotation in event.debug_annotations:
            name = annotation.name
            if not name and annotation.name_iid:
                name = self._meaning(position, "name", annotation.name_iid)
            yield clean(name), self._value(position, annotation, _MAX_DEPTH)

    def _value(self, position: int, annotation: Any, depth: int) -> Any:
        kind = annotation.WhichOneof("value")
        if kind == "string_value_iid":
            return self._meaning(position, "text", annotation.string_value_iid)
        if kind is not None:
            return getattr(annotation, kind)
        if depth and annotation.dict_entries:
            values = {}
            for entry in annotation.dict_entries:
                name = entry.name or self._meaning(position, "name", entry.name_iid)
                values[name] = self._value(position, entry, depth - 1)
            return values
        if depth and annotation.array_values:
            return [self._value(position, entry, depth - 1) for entry in annotation.array_values]
        return None

    def event_stats(self, position: int) -> tuple[Stat, ...]:
        """All annotations of the event at this position, in file order."""
        return tuple(
            _stat(name, value) for name, value in self._named(position) if value is not None
        )

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """Each named annotation for each of these events; the first where it is repeated."""
        columns = stat_columns.TextColumns(names, len(positions))
        for row in np.flatnonzero(positions).tolist():
            for name, value in self._named(int(positions[row])):
                if value is not None and columns.lacks(row, name):
                    columns.put(row, name, value, _text(value))
        return columns.columns()


def _text(value: Any) -> str:
    if isinstance(value, (str, bool, int, float)):
        return as_text(value)
    return json.dumps(value, ensure_ascii=False)


def _stat(name: str, value: Any) -> Stat:
    if isinstance(value, int) and not isinstance(value, bool):
        return Stat(name, value, "uint64" if value >> 63 > 0 else "int64")
    if isinstance(value, float):
        return Stat(name, value, "double")
    return Stat(name, clean(_text(value)), "str")

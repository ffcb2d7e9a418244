"""The stats of an XPlane file's events: they stay in the file until someone asks for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data import wire
from powertui.data.formats import stat_columns
from powertui.data.model import Int64s, Stat, StatColumn, StatKind, UInt64s
from powertui.data.wire import schemas, windows
from powertui.data.wire.stored import Stored
from powertui.data.wire.types import Bytes, RawStat

_KINDS: dict[int, StatKind] = {
    wire.DOUBLE: "double",
    wire.UINT64: "uint64",
    wire.INT64: "int64",
    wire.STR: "str",
    wire.BYTES: "bytes",
    wire.REF: "ref",
}

_IS_TEXT = np.zeros(256, np.bool_)  # by kind
_IS_TEXT[[wire.REF, wire.STR, wire.BYTES]] = True
_FIRST_TEXT_KIND = min(wire.REF, wire.STR, wire.BYTES)

# Keys of texts up to here have a row in a table; those of known files are below 100,000. Beyond,
# which no writer does, they are looked for one by one.
_MAX_TABLE_KEYS = 1 << 20


class TextTable:
    """A map<int64, {2: name}> of the file: keys, sorted, and their texts as ranges of one arena."""

    def __init__(self, arena: Bytes, keys: Int64s, lo: Int64s, hi: Int64s) -> None:
        order = np.argsort(keys, kind="stable")
        self._data = arena
        self._keys = keys[order]
        self._lo = lo[order]
        self._hi = hi[order]
        self._decoded: dict[int, str] = {}
        self._keys_by_text: dict[str, list[int]] | None = None

    @classmethod
    def of_map(cls, stored: Stored, lo: Int64s, hi: Int64s) -> TextTable:
        """From the entries of a map field: 1 key, 2 message with 2 name."""
        entries = windows.texts(stored, lo, hi, (2,))
        return cls(entries.arena, entries.keys, entries.text_lo[0], entries.text_hi[0])

    def __len__(self) -> int:
        return len(self._keys)

    def text(self, key: int) -> str | None:
        """The text of this key; None for a key that the file does not explain."""
        text = self._decoded.get(key)
        if text is None:
            if not -(1 << 63) <= key < 1 << 63:  # the keys are int64
                return None
            # Of repeated keys the last counts.
            row = int(np.searchsorted(self._keys, key, side="right")) - 1
            if row < 0 or int(self._keys[row]) != key:
                return None
            text = wire.text(self._data, int(self._lo[row]), int(self._hi[row]))
            self._decoded[key] = text
        return text

    def keys(self, text: str) -> Sequence[int]:
        """All keys with this text."""
        if self._keys_by_text is None:
            self._keys_by_text = {}
            for key, lo, hi in zip(
                self._keys.tolist(), self._lo.tolist(), self._hi.tolist(), strict=True
            ):
                self._keys_by_text.setdefault(wire.text(self._data, lo, hi), []).append(key)
        return self._keys_by_text.get(text, ())


def decode(raw: Sequence[RawStat], names: TextTable) -> tuple[Stat, ...]:
    """Stats as a person would see them: names instead of numbers, references resolved."""
    return tuple(_decoded(name, kind, value, names) for name, kind, value in raw)


def _decoded(key: int, kind: int, value: int | float | bytes, names: TextTable) -> Stat:
    name = names.text(key)
    if name is None:
        name = f"stat {key}"
    if kind == wire.REF and isinstance(value, int):
        text = names.text(value)
        if text is None:
            text = f"ref {value}"
        return Stat(name, text, "ref")
    if kind == wire.STR and isinstance(value, bytes):
        return Stat(name, value.decode("utf-8", "replace"), "str")
    if kind in _KINDS:
        return Stat(name, value, _KINDS[kind])
    return Stat(name, "", "str")


class PlaneStats:
    """The stats of one plane's events (model.StatSource)."""

    def __init__(self, stored: Stored, stat_names: TextTable) -> None:
        self._stored = stored
        self.stat_names = stat_names
        self.names = range(0)  # this plane's stretch of Trace.names
        self._refs = _RefTexts(stat_names)

    def event_stats(self, position: int) -> tuple[Stat, ...]:
        """All stats of the event at this position, in file order.

        Raises `FileChanged` when they cannot be read any more.
        """
        self._stored.check()
        return decode(windows.event_stats(self._stored, position), self.stat_names)

    def event_offset(self, position: int) -> int | None:
        """How long after the beginning of its line (ps) the event at this position began; None
        where it is no event.

        Raises `FileChanged` when it cannot be read any more.
        """
        self._stored.check()
        data = windows.event_record(self._stored, position)
        try:
            return int(schemas.parsed("XEvent", data).offset_ps)
        except schemas.Undecodable:
            return None

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """The first value of each named stat for each of these events.

        The bytes are read once, whatever the number of names.
        """
        rows = len(positions)
        keys_by_name = {name: self.stat_names.keys(name) for name in dict.fromkeys(names)}
        keys = [key for name_keys in keys_by_name.values() for key in name_keys]
        # Most of the names that are asked for are not in this plane: they share one empty column.
        columns = dict.fromkeys(keys_by_name, stat_columns.absent(rows))
        if not keys or not rows:
            return columns
        self._stored.check()
        fillers = {
            name: stat_columns.Filler(rows) for name, name_keys in keys_by_name.items() if name_keys
        }
        order, places = self._in_file_order(wire.types.as_positions(positions))
        for batch_rows, data, offsets in windows.records(self._stored, places):
            scan = wire.scan_stats(data, offsets.view(np.uint64), keys)
            filled_rows = batch_rows if order is None else order[batch_rows]
            first = 0
            for name, filler in fillers.items():
                count = len(keys_by_name[name])
                kind, bits, end = _first_values(scan, first, count)
                # Most parts hold no value of most stats, which a new filler says already.
                if kind.any():
                    filler.put_numbers(filled_rows, kind, bits)
                    self._put_texts(
                        filler=filler,
                        rows=filled_rows,
                        data=data,
                        kind=kind,
                        bits=bits,
                        end=end,
                    )
                first += count
        self._stored.check()
        for name, filler in fillers.items():
            columns[name] = filler.column()
        return columns

    def _in_file_order(self, places: Int64s) -> tuple[Int64s | None, Int64s]:
        """(the rows in the order of the file, their places); rows outside the file are left out.

        The order is None where it is the given one already.
        """
        ascending = not (places[1:] < places[:-1]).any()
        if ascending and int(places[0]) >= 0 and int(places[-1]) < self._stored.size:
            return None, places
        # The lanes of a track are a few ascending runs, which a stable sort merges quickly.
        order = np.argsort(places, kind="stable")
        order = order[(places[order] >= 0) & (places[order] < self._stored.size)]
        return order, places[order]

    def _put_texts(
        self,
        filler: stat_columns.Filler,
        rows: slice | Int64s,
        data: Bytes,
        kind: wire.types.UInt8s,
        bits: Int64s,
        end: Int64s,
    ) -> None:
        """The values that are texts, and the numbers that these stand for.

        References are decoded once for each distinct text, not once for each event.
        """
        if int(kind.max()) < _FIRST_TEXT_KIND:  # quicker than to look for texts
            return
        textual = np.flatnonzero(_IS_TEXT[kind])
        if not len(textual):
            return
        if isinstance(rows, slice):
            textual_rows = textual + rows.start
        else:
            textual_rows = rows[textual]
        kind = kind[textual]
        bits = bits[textual]
        end = end[textual]
        refs = np.flatnonzero(kind == wire.REF)
        if len(refs):
            slot = self._refs.slots(bits[refs])
            filler.put_pooled(
                rows=textual_rows[refs],
                pool=self._refs.pool,
                slots=slot,
                ints=self._refs.ints[slot],
                floats=self._refs.floats[slot],
            )
        if len(refs) == len(textual):
            return
        others = np.flatnonzero(kind != wire.REF)
        texts = [
            wire.text(data, lo, hi) if value_kind == wire.STR else f"{hi - lo} bytes"
            for value_kind, lo, hi in zip(
                kind[others].tolist(), bits[others].tolist(), end[others].tolist(), strict=True
            )
        ]
        column = stat_columns.from_texts(
            [
                text if value_kind == wire.STR else None
                for text, value_kind in zip(texts, kind[others].tolist(), strict=True)
            ]
        )
        filler.put_texts(textual_rows[others], np.array(texts, object), column.ints, column.floats)


class _RefTexts:
    """The texts that stats refer to, each decoded once: what it says, and as numbers."""

    def __init__(self, names: TextTable) -> None:
        self._names = names
        self._slot_by_key = np.full(0, -1, np.int64)
        self.pool = stat_columns.RepeatedTexts()
        self.ints, self.floats = stat_columns.empty(0)

    def slots(self, keys: Int64s) -> Int64s:
        """Where each key's text is in the columns."""
        last = int(keys.max())
        if int(keys.min()) < 0 or last >= _MAX_TABLE_KEYS:
            targets, which = np.unique(keys, return_inverse=True)
            return self._add(targets)[which.ravel()]
        if last >= len(self._slot_by_key):
            longer = np.full(min(2 * last + 64, _MAX_TABLE_KEYS), -1, np.int64)
            longer[: len(self._slot_by_key)] = self._slot_by_key
            self._slot_by_key = longer
        slots = self._slot_by_key[keys]
        missing = slots < 0
        if missing.any():
            targets = wire.distinct(keys[missing])
            self._slot_by_key[targets] = self._add(targets)
            slots = self._slot_by_key[keys]
        return slots

    def _add(self, keys: Int64s) -> Int64s:
        """The slots of further keys."""
        texts = [self._names.text(key) or "" for key in keys.tolist()]
        column = stat_columns.from_texts(texts)
        first = len(self.ints)
        self.pool.add(texts)
        self.ints = np.append(self.ints, column.ints)
        self.floats = np.append(self.floats, column.floats)
        return np.arange(first, first + len(keys))


def _first_values(
    scan: wire.StatScan,
    first: int,
    count: int,
) -> tuple[wire.types.UInt8s, Int64s, Int64s]:
    """The values of a name that has several numbers: those under the first number that has any."""
    kind = scan.kind[first]
    bits = scan.bits[first]
    end = scan.end[first]
    for key in range(first + 1, first + count):
        missing = (kind == wire.NO_VALUE) & (scan.kind[key] != wire.NO_VALUE)
        kind[missing] = scan.kind[key][missing]
        bits[missing] = scan.bits[key][missing]
        end[missing] = scan.end[key][missing]
    return kind, bits, end

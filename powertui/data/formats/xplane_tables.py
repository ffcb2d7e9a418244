"""Names and stats of an XPlane file.

Names are kept as bytes and become text when someone asks for them; stats stay in the file.

Names are numbered per plane in the file and come after the events that use them. Here every plane
gets a stretch of one global numbering, `PlaneStats.names`, which also says which names (the HLO
modules of `/host:metadata`, say) belong to which plane.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from powertui.data import wire
from powertui.data.formats import stat_columns
from powertui.data.model import Int64s, Stat, StatColumn, StatKind, UInt32s, UInt64s
from powertui.data.texts import Texts
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

# Keys of texts up to here have a row in a table; those of known files are below 100,000. Beyond,
# which no writer does, they are looked for one by one.
_MAX_TABLE_KEYS = 1 << 20

# What a metadata id becomes that no metadata explains: larger than the index of any name.
_UNNAMED_INDEX = (1 << 32) - 1


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
            scan = wire.scan_stats(data, offsets.astype(np.uint64), keys)
            filled_rows = batch_rows if order is None else order[batch_rows]
            first = 0
            for name, filler in fillers.items():
                count = len(keys_by_name[name])
                kind, bits, end = _first_values(scan, first, count)
                # Most parts hold no value of most stats, which a new filler says already.
                if kind.any():
                    filler.put_numbers(filled_rows, kind, bits)
                    self._put_texts(filler, filled_rows, data, kind, bits, end)
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
        textual = np.flatnonzero(_IS_TEXT[kind])
        if not len(textual):
            return
        textual_rows = textual + rows.start if isinstance(rows, slice) else rows[textual]
        kind, bits, end = kind[textual], bits[textual], end[textual]
        refs = np.flatnonzero(kind == wire.REF)
        if len(refs):
            slot = self._refs.slots(bits[refs])
            filler.put_texts(
                textual_rows[refs],
                self._refs.texts[slot],
                self._refs.ints[slot],
                self._refs.floats[slot],
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
        self.texts: stat_columns.Objects = np.empty(0, object)
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
        first = len(self.texts)
        self.texts = np.append(self.texts, np.array(texts, object))
        self.ints = np.append(self.ints, column.ints)
        self.floats = np.append(self.floats, column.floats)
        return np.arange(first, first + len(keys))


def _first_values(
    scan: wire.StatScan, first: int, count: int
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


class EventNames:
    """The event names of all planes in one numbering (model.Names)."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._parts: list[_PlaneNames] = []
        self._firsts: list[int] = []
        self._count = 0
        self._by_plane: dict[int, _PlaneNames] = {}
        self._unknown: dict[tuple[int, int], int] = {}  # (first index of the plane, id) → index
        self._unknown_ids: list[int] = []
        # A name that was asked for once is asked for again in every frame.
        self._full: dict[int, str] = {}
        self._display: dict[int, str] = {}

    def extend(self, entries: tuple[Int64s, Int64s], source: PlaneStats) -> None:
        """The event metadata of one more plane: it gets the next stretch of the numbering."""
        part = _PlaneNames(self._stored, *entries, source)
        source.names = range(self._count, self._count + len(part))
        self._parts.append(part)
        self._firsts.append(self._count)
        self._by_plane[id(source)] = part
        self._count = source.names.stop

    def translate(self, ids: UInt32s, source: PlaneStats, wide: Int64s, wide_ids: Int64s) -> None:
        """Turn a plane's metadata ids into indices, in place. Call it when all planes are known.

        The rows `wide` stand for ids that 32 bits cannot hold: `wide_ids`.
        """
        part = self._by_plane[id(source)]
        if not len(wide) and part.quick(ids, source.names.start):
            return
        rows = part.rows(ids)
        if len(wide):
            rows[wide] = part.rows(wide_ids)
        lost = np.flatnonzero(rows < 0)
        if len(lost):
            true = ids.astype(np.int64)
            true[wide] = wide_ids
            for row in lost.tolist():
                rows[row] = self._nameless(source.names.start, int(true[row])) - source.names.start
        ids[:] = rows + source.names.start

    def table(self, source: PlaneStats) -> UInt32s | None:
        """What turns a plane's metadata ids into indices: all ones where nothing explains an id.

        None for ids too far apart.
        """
        return self._by_plane[id(source)].indices(source.names.start)

    def _nameless(self, first: int, key: int) -> int:
        """An index for an id that no metadata explains, as in a truncated file."""
        index = self._unknown.get((first, key))
        if index is None:
            index = self._count + len(self._unknown_ids)
            self._unknown[first, key] = index
            self._unknown_ids.append(key)
        return index

    def __len__(self) -> int:
        return self._count + len(self._unknown_ids)

    def _find(self, index: int) -> tuple[_PlaneNames, int] | None:
        if not 0 <= index < len(self):
            raise IndexError(f"no event name {index}; there are {len(self)}")
        if index >= self._count:
            return None
        # np.searchsorted would turn the list into an array first, for every name.
        part = bisect_right(self._firsts, index) - 1
        return self._parts[part], index - self._firsts[part]

    def full(self, index: int) -> str:
        """The name as recorded."""
        text = self._full.get(index)
        if text is None:
            place = self._find(index)
            if place is None:
                text = f"event {self._unknown_ids[index - self._count]}"
            else:
                names, row = place
                text = names.full(row)
            self._full[index] = text
        return text

    def display(self, index: int) -> str:
        """The short name that viewers show; the full one where there is none."""
        text = self._display.get(index)
        if text is None:
            place = self._find(index)
            text = ""
            if place is not None:
                names, row = place
                text = names.display(row)
            text = text or self.full(index)
            self._display[index] = text
        return text

    def texts(self, indices: Int64s, *, display: bool = False) -> Texts:
        """Many full names at once; or the short ones, each empty where there is none."""
        if len(indices) and int(indices.max()) >= self._count:  # a damaged file
            return Texts.from_strings(
                [self.display(i) if display else self.full(i) for i in indices.tolist()]
            )
        pieces, places = [], []
        for first, part in zip(self._firsts, self._parts, strict=True):
            rows = np.flatnonzero((indices >= first) & (indices < first + len(part)))
            if len(rows):
                pieces.append(part.texts(indices[rows] - first, display))
                places.append(rows)
        if len(pieces) == 1:
            return pieces[0]
        asked_rows = np.concatenate([np.empty(0, np.int64), *places])
        return Texts.joined(pieces).take(np.argsort(asked_rows, kind="stable"))

    def stats(self, index: int) -> tuple[Stat, ...]:
        """Stats that hold for every event of this name."""
        place = self._find(index)
        if place is None:
            return ()
        names, row = place
        return names.stats(row)


class _PlaneNames:
    """The event metadata of one plane."""

    def __init__(self, stored: Stored, lo: Int64s, hi: Int64s, source: PlaneStats) -> None:
        entries = windows.texts(stored, lo, hi, (2, 4))
        order = np.argsort(entries.keys, kind="stable")
        keys = entries.keys[order]
        last = np.ones(len(keys), np.bool_)
        last[:-1] = keys[1:] != keys[:-1]  # of repeated keys the last counts
        keys = keys[last]
        order = order[last]
        self._stored = stored
        self._source = source
        self._keys = keys
        self._lo = entries.lo[order]
        self._hi = entries.hi[order]
        self._texts = entries.arena
        self._text_lo = entries.text_lo[:, order]
        self._text_hi = entries.text_hi[:, order]
        # Ids are dense in every known file: then a table is faster than a search.
        dense = len(keys) and int(keys[0]) >= 0 and int(keys[-1]) < 4 * len(keys) + 1024
        self._table: Int64s | None = None
        self._indices: UInt32s | None = None
        if dense:
            self._table = np.full(int(keys[-1]) + 1, -1, np.int64)
            self._table[keys] = np.arange(len(keys))

    def __len__(self) -> int:
        return len(self._keys)

    def rows(self, ids: UInt32s | Int64s) -> Int64s:
        """The row of each id; -1 for ids that are not explained."""
        if not len(self._keys):
            return np.full(len(ids), -1, np.int64)
        if self._table is None:
            return self._searched_rows(ids)
        size = len(self._table)
        # Nearly always: two passes cost less than a mask and two choices.
        if not len(ids) or (int(ids.max()) < size and int(ids.min()) >= 0):
            return self._table[ids]
        is_inside = (ids >= 0) & (ids < size)
        row = self._table[np.where(is_inside, ids, 0)]
        return np.where(is_inside, row, -1)

    def _searched_rows(self, ids: UInt32s | Int64s) -> Int64s:
        row = np.searchsorted(self._keys, ids.astype(np.int64))
        row = np.minimum(row, len(self._keys) - 1)
        return np.where(self._keys[row] == ids, row, -1)

    def indices(self, first: int) -> UInt32s | None:
        """The table with `first` added, made once."""
        if self._indices is None and self._table is not None:
            indices = np.where(self._table >= 0, self._table + first, _UNNAMED_INDEX)
            self._indices = indices.astype(np.uint32)
        return self._indices

    def quick(self, ids: UInt32s, first: int) -> bool:
        """Translate in one gather when all ids are dense and explained, as in every whole file.

        Else do nothing.
        """
        indices = self.indices(first)
        if indices is None or not len(ids) or int(ids.max()) >= len(indices):
            return False
        translated = indices[ids]
        if int(translated.max()) == _UNNAMED_INDEX:
            return False
        ids[:] = translated
        return True

    def full(self, row: int) -> str:
        return wire.text(self._texts, int(self._text_lo[0, row]), int(self._text_hi[0, row]))

    def display(self, row: int) -> str:
        return wire.text(self._texts, int(self._text_lo[1, row]), int(self._text_hi[1, row]))

    def texts(self, rows: Int64s, display: bool) -> Texts:
        return Texts.gathered(
            self._texts, self._text_lo[int(display), rows], self._text_hi[int(display), rows]
        )

    def stats(self, row: int) -> tuple[Stat, ...]:
        self._stored.check()
        raw = windows.stats(self._stored, int(self._lo[row]), int(self._hi[row]), 5)
        return decode(raw, self._source.stat_names)

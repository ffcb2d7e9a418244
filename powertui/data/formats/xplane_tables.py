"""Names and stats of an XPlane file. Names are kept, and become text when someone asks; stats stay
in the file.

Names are numbered per plane in the file and stand behind the events that use them. Here every plane
gets a stretch of one global numbering, `PlaneStats.names`, which also says which names (the HLO
modules of `/host:metadata`, say) belong to which plane.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from powertui.data import wire
from powertui.data.formats import stat_columns
from powertui.data.model import Floats, Int64s, Stat, StatColumn, StatKind, UInt32s, UInt64s
from powertui.data.texts import Texts
from powertui.data.wire import windows
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

_LOST = (1 << 32) - 1


class TextTable:
    """A map<int64, {2: name}> of the file: keys, sorted, and their texts as ranges of one arena."""

    def __init__(self, arena: Bytes, keys: Int64s, lo: Int64s, hi: Int64s) -> None:
        order = np.argsort(keys, kind="stable")
        self._data = arena
        self._keys, self._lo, self._hi = keys[order], lo[order], hi[order]
        self._known: dict[int, str] = {}
        self._ids: dict[str, list[int]] | None = None

    @classmethod
    def of_map(cls, stored: Stored, lo: Int64s, hi: Int64s) -> TextTable:
        """From the entries of a map field: 1 key, 2 message with 2 name."""
        found = windows.texts(stored, lo, hi, (2,))
        return cls(found.arena, found.keys, found.text_lo[0], found.text_hi[0])

    def __len__(self) -> int:
        return len(self._keys)

    def text(self, key: int) -> str | None:
        """The text of this key; None for a key that the file does not explain."""
        found = self._known.get(key)
        if found is None:
            if not -(1 << 63) <= key < 1 << 63:
                return None
            row = (
                int(np.searchsorted(self._keys, key, side="right")) - 1
            )  # of repeated keys the last counts
            if row < 0 or int(self._keys[row]) != key:
                return None
            found = wire.text(self._data, int(self._lo[row]), int(self._hi[row]))
            self._known[key] = found
        return found

    def keys(self, text: str) -> Sequence[int]:
        """All keys with this text."""
        if self._ids is None:
            self._ids = {}
            for key, lo, hi in zip(
                self._keys.tolist(), self._lo.tolist(), self._hi.tolist(), strict=True
            ):
                self._ids.setdefault(wire.text(self._data, lo, hi), []).append(key)
        return self._ids.get(text, ())


def decode(raw: Sequence[RawStat], names: TextTable) -> tuple[Stat, ...]:
    """Stats as a person would see them: names instead of numbers, references resolved."""
    return tuple(_decoded(name, kind, value, names) for name, kind, value in raw)


def _decoded(key: int, kind: int, value: int | float | bytes, names: TextTable) -> Stat:
    name = names.text(key)
    name = f"stat {key}" if name is None else name
    if kind == wire.REF and isinstance(value, int):
        text = names.text(value)
        return Stat(name, f"ref {value}" if text is None else text, "ref")
    if kind == wire.STR and isinstance(value, bytes):
        return Stat(name, value.decode("utf-8", "replace"), "str")
    return Stat(name, value, _KINDS[kind]) if kind in _KINDS else Stat(name, "", "str")


class PlaneStats:
    """The stats of one plane's events (model.StatSource)."""

    def __init__(self, stored: Stored, stat_names: TextTable) -> None:
        self._stored = stored
        self.stat_names = stat_names
        self.names = range(0)  # this plane's stretch of Trace.names

    def event_stats(self, position: int) -> tuple[Stat, ...]:
        """All stats of the event at this position, in file order.

        Raises `FileChanged` when they cannot be read any more.
        """
        self._stored.check()
        return decode(windows.event_stats(self._stored, position), self.stat_names)

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """The first value of each named stat for each of these events, in one pass over the
        bytes.
        """
        rows = len(positions)
        wanted = {name: self.stat_names.keys(name) for name in dict.fromkeys(names)}
        keys = [key for found in wanted.values() for key in found]
        told = dict.fromkeys(
            wanted, stat_columns.absent(rows)
        )  # one for all that the plane does not name, which are most
        if not keys or not rows:
            return told
        self._stored.check()
        out = {name: stat_columns.Filler(rows) for name, found in wanted.items() if found}
        at = wire.types.as_positions(positions)
        order: Int64s | None = None
        if (at[1:] < at[:-1]).any() or int(at[0]) < 0 or int(at[-1]) >= self._stored.size:
            order = np.argsort(at, kind="stable")  # the lanes of a track: a few ascending runs
            order = order[(at[order] >= 0) & (at[order] < self._stored.size)]
            at = at[order]
        for rows_of, data, places in windows.records(self._stored, at):
            scan = wire.scan_stats(data, places.astype(np.uint64), keys)
            into = rows_of if order is None else order[rows_of]
            first = 0
            for name, found in wanted.items():
                if found:
                    out[name].put(into, self._column(data, *_first_of(scan, first, len(found))))
                first += len(found)
        self._stored.check()
        return told | {name: filler.column() for name, filler in out.items()}

    def _column(
        self, data: Bytes, kind: wire.types.UInt8s, bits: Int64s, end: Int64s
    ) -> StatColumn:
        present = kind != wire.NO_VALUE
        ints, floats = stat_columns.empty(len(kind))
        whole = (kind == wire.INT64) | (kind == wire.UINT64)
        ints[whole] = bits[whole]
        floats[whole] = bits[whole]
        huge = (kind == wire.UINT64) & (bits < 0)
        floats[huge] = bits[huge].view(np.uint64)
        real = np.flatnonzero(kind == wire.DOUBLE)
        if len(real):
            values = bits[real].view(np.float64)
            floats[real] = values
            exact = np.isfinite(values) & (np.abs(values) < 2.0**62) & (values == np.trunc(values))
            ints[real[exact]] = values[exact].astype(np.int64)
        texts = self._texts(data, kind, bits, end, ints, floats)
        return StatColumn(present, ints, floats, texts)

    def _texts(
        self,
        data: Bytes,
        kind: wire.types.UInt8s,
        bits: Int64s,
        end: Int64s,
        ints: Int64s,
        floats: Floats,
    ) -> list[str | None] | None:
        """Texts of the rows that hold some, and the numbers that those texts stand for.

        No step per event for refs.
        """
        textual = np.flatnonzero((kind == wire.REF) | (kind == wire.STR) | (kind == wire.BYTES))
        if not len(textual):
            return None
        texts = np.full(len(kind), None, object)
        refs = np.flatnonzero(kind == wire.REF)
        if len(refs):
            targets, which = np.unique(bits[refs], return_inverse=True)
            found = [self.stat_names.text(int(t)) or "" for t in targets.tolist()]
            column = stat_columns.from_texts(found)
            texts[refs] = np.array(found, object)[which]
            ints[refs], floats[refs] = column.ints[which], column.floats[which]
        for row in np.flatnonzero(kind == wire.STR).tolist():
            texts[row] = text = wire.text(data, int(bits[row]), int(end[row]))
            number = stat_columns.number(text)
            if number is not None:
                ints[row], floats[row] = number
        for row in np.flatnonzero(kind == wire.BYTES).tolist():
            texts[row] = f"{int(end[row]) - int(bits[row])} bytes"
        out: list[str | None] = texts.tolist()
        return out


def _first_of(
    scan: wire.StatScan, first: int, count: int
) -> tuple[wire.types.UInt8s, Int64s, Int64s]:
    """One name under several numbers: what is found under the first of them."""
    kind, bits, end = scan.kind[first], scan.bits[first], scan.end[first]
    for k in range(first + 1, first + count):
        other = (kind == wire.NO_VALUE) & (scan.kind[k] != wire.NO_VALUE)
        kind[other], bits[other], end[other] = (
            scan.kind[k][other],
            scan.bits[k][other],
            scan.end[k][other],
        )
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
        self._full: dict[int, str] = {}  # what was asked for once is asked for every frame
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
        """An index for an id that no metadata explains: a truncated file has events without
        names.
        """
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
        part = (
            bisect_right(self._firsts, index) - 1
        )  # searchsorted would turn the list into an array first, for every name
        return self._parts[part], index - self._firsts[part]

    def full(self, index: int) -> str:
        """The name as recorded."""
        text = self._full.get(index)
        if text is None:
            found = self._find(index)
            text = (
                f"event {self._unknown_ids[index - self._count]}"
                if found is None
                else found[0].full(found[1])
            )
            self._full[index] = text
        return text

    def display(self, index: int) -> str:
        """The short name that viewers show; the full one where there is none."""
        text = self._display.get(index)
        if text is None:
            found = self._find(index)
            text = (found[0].display(found[1]) if found is not None else "") or self.full(index)
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
        return Texts.joined(pieces).take(
            np.argsort(np.concatenate([np.empty(0, np.int64), *places]), kind="stable")
        )

    def stats(self, index: int) -> tuple[Stat, ...]:
        """Stats that hold for every event of this name."""
        found = self._find(index)
        return () if found is None else found[0].stats(found[1])


class _PlaneNames:
    """The event metadata of one plane."""

    def __init__(self, stored: Stored, lo: Int64s, hi: Int64s, source: PlaneStats) -> None:
        found = windows.texts(stored, lo, hi, (2, 4))
        order = np.argsort(found.keys, kind="stable")
        keys = found.keys[order]
        last = np.ones(len(keys), np.bool_)
        last[:-1] = keys[1:] != keys[:-1]  # of repeated keys the last counts
        keys, order = keys[last], order[last]
        self._stored, self._source = stored, source
        self._keys = keys
        self._lo, self._hi = found.lo[order], found.hi[order]
        self._texts = found.arena
        self._text_lo, self._text_hi = found.text_lo[:, order], found.text_hi[:, order]
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
        """Where these ids stand; -1 for those that are not explained."""
        if not len(self._keys):
            return np.full(len(ids), -1, np.int64)
        if self._table is not None:
            if not len(ids) or (int(ids.max()) < len(self._table) and int(ids.min()) >= 0):
                return self._table[ids]
            inside = (ids >= 0) & (ids < len(self._table))
            return np.where(inside, self._table[np.where(inside, ids, 0)], -1)
        row = np.minimum(np.searchsorted(self._keys, ids.astype(np.int64)), len(self._keys) - 1)
        return np.where(self._keys[row] == ids, row, -1)

    def indices(self, first: int) -> UInt32s | None:
        """The table with `first` added, made once."""
        if self._indices is None and self._table is not None:
            self._indices = np.where(self._table >= 0, self._table + first, _LOST).astype(np.uint32)
        return self._indices

    def quick(self, ids: UInt32s, first: int) -> bool:
        """Translate in one gather when all ids are dense and explained, as in every whole file.

        Else do nothing.
        """
        indices = self.indices(first)
        if indices is None or not len(ids) or int(ids.max()) >= len(indices):
            return False
        found = indices[ids]
        if int(found.max()) == _LOST:
            return False
        ids[:] = found
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

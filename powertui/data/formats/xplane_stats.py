"""The stats of an XPlane file's events: they stay in the file until someone asks for them."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from powertui.data import wire
from powertui.data.formats import stat_columns
from powertui.data.model import Floats, Int64s, Stat, StatColumn, StatKind, UInt64s
from powertui.data.wire import schemas, windows
from powertui.data.wire.stored import Stored
from powertui.data.wire.types import Bytes, RawStat
from powertui.named_tuples import NamedTuple

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
        (text_lo,) = entries.text_lo
        (text_hi,) = entries.text_hi
        return cls(entries.arena, entries.keys, text_lo, text_hi)

    def __len__(self) -> int:
        return len(self._keys)

    def text(self, key: int) -> str | None:
        """The text of this key; None for a key that the file does not explain."""
        text = self._decoded.get(key)
        if text is not None:
            return text
        if not -(1 << 63) <= key < 1 << 63:  # the keys are int64
            return None
        # Of repeated keys the last counts.
        row = int(np.searchsorted(self._keys, key, side="right")) - 1
        if row < 0 or int(self._keys[row]) != key:
            return None
        text = self._text_between(int(self._lo[row]), int(self._hi[row]))
        self._decoded[key] = text
        return text

    def _text_between(self, lo: int, hi: int) -> str:
        return wire.text(self._data, lo, hi)

    def keys(self, text: str) -> Sequence[int]:
        """All keys with this text."""
        if self._keys_by_text is None:
            # Another thread finds all of them, or none and looks itself.
            self._keys_by_text = self._all_by_text()
        return self._keys_by_text.get(text, ())

    def _all_by_text(self) -> dict[str, list[int]]:
        keys_by_text: dict[str, list[int]] = {}
        texts = map(self._text_between, self._lo.tolist(), self._hi.tolist())
        for key, text in zip(self._keys.tolist(), texts, strict=True):
            keys_by_text.setdefault(text, []).append(key)
        return keys_by_text


def decode(raw: Sequence[RawStat], names: TextTable) -> tuple[Stat, ...]:
    """Stats as a person would see them: names instead of numbers, references resolved."""
    stats = []
    for key, kind, value in raw:
        stats.append(_decoded(key, kind, value, names))
    return tuple(stats)


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
        text = value.decode("utf-8", "replace")
        return Stat(name, text, "str")
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
        raw = windows.event_stats(self._stored, position)
        return decode(raw, self.stat_names)

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
        row_count = len(positions)
        keys_by_name = {name: self.stat_names.keys(name) for name in dict.fromkeys(names)}
        # Most of the names that are asked for are not in this plane: they share one empty column.
        columns = dict.fromkeys(keys_by_name, stat_columns.absent(row_count))
        keys: list[int] = []
        fillers = {}
        for name, name_keys in keys_by_name.items():
            if name_keys:
                keys += name_keys
                fillers[name] = stat_columns.Filler(row_count)
        if not keys or not row_count:
            return columns
        self._stored.check()
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
        size = self._stored.size
        falls = places[1:] < places[:-1]
        if not falls.any() and int(places[0]) >= 0 and int(places[-1]) < size:
            return None, places
        # The lanes of a track are a few ascending runs, which a stable sort merges quickly.
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        is_inside = (ordered >= 0) & (ordered < size)
        return order[is_inside], ordered[is_inside]

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
            found = self._refs.find(bits[refs])
            filler.put_pooled(
                rows=textual_rows[refs],
                pool=self._refs.pool,
                slots=found.slots,
                ints=found.ints,
                floats=found.floats,
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


class _FoundTexts(NamedTuple):
    """Where texts are in their pool, and what each says as a number."""

    slots: Int64s
    ints: Int64s
    floats: Floats


class _RefTexts:
    """The texts that stats refer to, each decoded once: what it says, and as numbers.

    They are added as they come up, and several threads ask at once: the screen's, and those that
    count and conclude beside it.
    """

    def __init__(self, names: TextTable) -> None:
        self._names = names
        self._lock = threading.Lock()
        self._slot_by_key = np.full(0, -1, np.int64)
        self._ints, self._floats = stat_columns.empty(0)
        self.pool = stat_columns.RepeatedTexts()

    def find(self, keys: Int64s) -> _FoundTexts:
        """The texts with these keys."""
        with self._lock:
            slots = self._slots(keys)
            return _FoundTexts(slots, self._ints[slots], self._floats[slots])

    def _slots(self, keys: Int64s) -> Int64s:
        last = int(keys.max())
        if int(keys.min()) < 0 or last >= _MAX_TABLE_KEYS:
            targets, which = np.unique(keys, return_inverse=True)
            slot_of_target = self._add(targets)
            return slot_of_target[which.ravel()]
        table_size = len(self._slot_by_key)
        if last >= table_size:
            longer_size = min(2 * last + 64, _MAX_TABLE_KEYS)
            longer = np.full(longer_size, -1, np.int64)
            longer[:table_size] = self._slot_by_key
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
        texts = []
        for key in keys.tolist():
            texts.append(self._names.text(key) or "")
        column = stat_columns.from_texts(texts)
        first = len(self._ints)
        self.pool.add(texts)
        self._ints = np.append(self._ints, column.ints)
        self._floats = np.append(self._floats, column.floats)
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
        further_kind = scan.kind[key]
        missing = kind == wire.NO_VALUE
        missing &= further_kind != wire.NO_VALUE
        kind[missing] = further_kind[missing]
        bits[missing] = scan.bits[key][missing]
        end[missing] = scan.end[key][missing]
    return kind, bits, end

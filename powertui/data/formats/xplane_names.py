"""The event names of an XPlane file: kept as bytes, they become text when someone asks for them.

Names are numbered per plane in the file and come after the events that use them. Here every plane
gets a stretch of one global numbering, `PlaneStats.names`, which also says which names (the HLO
modules of `/host:metadata`, say) belong to which plane.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from powertui.data import wire
from powertui.data.formats.xplane_stats import PlaneStats, decode
from powertui.data.model import Int64s, Stat, UInt32s
from powertui.data.sorted_columns import ends_run
from powertui.data.texts import Texts
from powertui.data.wire import windows
from powertui.data.wire.stored import Stored

# What a metadata id becomes that no metadata explains: larger than the index of any name.
_UNNAMED_INDEX = (1 << 32) - 1


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
        first = self._count
        end = first + len(part)
        source.names = range(first, end)
        self._parts.append(part)
        self._firsts.append(first)
        self._by_plane[id(source)] = part
        self._count = end

    def translate(self, ids: UInt32s, source: PlaneStats, wide: Int64s, wide_ids: Int64s) -> None:
        """Turn a plane's metadata ids into indices, in place. Call it when all planes are known.

        The rows `wide` stand for ids that 32 bits cannot hold: `wide_ids`.
        """
        part = self._by_plane[id(source)]
        first = source.names.start
        if not len(wide) and part.quick(ids, first):
            return
        rows = part.rows(ids)
        if len(wide):
            rows[wide] = part.rows(wide_ids)
        lost = np.flatnonzero(rows < 0)
        if len(lost):
            true_ids = ids.astype(np.int64)
            true_ids[wide] = wide_ids
            for row, key in zip(lost.tolist(), true_ids[lost].tolist(), strict=True):
                rows[row] = self._nameless(first, key) - first
        ids[:] = rows + first

    def table(self, source: PlaneStats) -> UInt32s | None:
        """What turns a plane's metadata ids into indices: all ones where nothing explains an id.

        None for ids too far apart.
        """
        part = self._by_plane[id(source)]
        return part.indices(source.names.start)

    def _nameless(self, first: int, key: int) -> int:
        """An index for an id that no metadata explains, as in a truncated file."""
        place = (first, key)
        index = self._unknown.get(place)
        if index is None:
            index = self._count + len(self._unknown_ids)
            self._unknown[place] = index
            self._unknown_ids.append(key)
        return index

    def __len__(self) -> int:
        return self._count + len(self._unknown_ids)

    @property
    def lost(self) -> range:
        """The indices that stand for ids which no metadata explains."""
        return range(self._count, len(self))

    def _find(self, index: int) -> tuple[_PlaneNames, int] | None:
        if not 0 <= index < len(self):
            raise IndexError(f"no event name {index}; there are {len(self)}")
        if index >= self._count:
            return None
        # np.searchsorted would turn the list into an array first, for every name.
        place = bisect_right(self._firsts, index) - 1
        row = index - self._firsts[place]
        return self._parts[place], row

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
            name_of = self.display if display else self.full
            return Texts.from_strings(list(map(name_of, indices.tolist())))
        pieces = []
        places = [np.empty(0, np.int64)]
        for first, part in zip(self._firsts, self._parts, strict=True):
            is_here = indices >= first
            is_here &= indices < first + len(part)
            rows = np.flatnonzero(is_here)
            if len(rows):
                piece = part.texts(indices[rows] - first, display)
                pieces.append(piece)
                places.append(rows)
        if len(pieces) == 1:
            return pieces[0]
        asked_rows = np.concatenate(places)
        in_order = np.argsort(asked_rows, kind="stable")
        return Texts.joined(pieces).take(in_order)

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
        last = ends_run(keys)  # of repeated keys the last counts
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
        self._table: Int64s | None = None
        self._indices: UInt32s | None = None
        if not len(keys):
            return
        first_key = int(keys[0])
        last_key = int(keys[-1])
        # Ids are dense in every known file: then a table is faster than a search.
        if first_key >= 0 and last_key < 4 * len(keys) + 1024:
            self._table = np.full(last_key + 1, -1, np.int64)
            self._table[keys] = np.arange(len(keys))

    def __len__(self) -> int:
        return len(self._keys)

    def rows(self, ids: UInt32s | Int64s) -> Int64s:
        """The row of each id; -1 for ids that are not explained."""
        table = self._table
        if not len(self._keys):
            return np.full(len(ids), -1, np.int64)
        if table is None:
            return self._searched_rows(ids)
        if not len(ids):
            return table[ids]
        size = len(table)
        # Nearly always: two passes cost less than a mask and two choices.
        if int(ids.max()) < size and int(ids.min()) >= 0:
            return table[ids]
        is_inside = (ids >= 0) & (ids < size)
        safe_ids = np.where(is_inside, ids, 0)
        return np.where(is_inside, table[safe_ids], -1)

    def _searched_rows(self, ids: UInt32s | Int64s) -> Int64s:
        row = np.searchsorted(self._keys, ids.astype(np.int64))
        row = np.minimum(row, len(self._keys) - 1)
        is_explained = self._keys[row] == ids
        return np.where(is_explained, row, -1)

    def indices(self, first: int) -> UInt32s | None:
        """The table with `first` added, made once."""
        table = self._table
        if self._indices is None and table is not None:
            is_explained = table >= 0
            indices = np.where(is_explained, table + first, _UNNAMED_INDEX)
            self._indices = indices.astype(np.uint32)
        return self._indices

    def quick(self, ids: UInt32s, first: int) -> bool:
        """Translate in one gather when all ids are dense and explained, as in every whole file.

        Else do nothing.
        """
        indices = self.indices(first)
        if indices is None or not len(ids):
            return False
        if int(ids.max()) >= len(indices):
            return False
        translated = indices[ids]
        if int(translated.max()) == _UNNAMED_INDEX:
            return False
        ids[:] = translated
        return True

    def full(self, row: int) -> str:
        return self._text(0, row)

    def display(self, row: int) -> str:
        return self._text(1, row)

    def _text(self, kind: int, row: int) -> str:
        """A full name (0), or the name that is shown (1)."""
        lo = int(self._text_lo[kind, row])
        hi = int(self._text_hi[kind, row])
        return wire.text(self._texts, lo, hi)

    def texts(self, rows: Int64s, display: bool) -> Texts:
        kind = int(display)
        return Texts.gathered(
            self._texts,
            self._text_lo[kind, rows],
            self._text_hi[kind, rows],
        )

    def stats(self, row: int) -> tuple[Stat, ...]:
        self._stored.check()
        lo = int(self._lo[row])
        hi = int(self._hi[row])
        raw = windows.stats(self._stored, lo, hi, 5)
        return decode(raw, self._source.stat_names)

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
        # Ids are dense in every known file: then a table is faster than a search.
        most = 4 * len(keys) + 1024
        dense = len(keys) and int(keys[0]) >= 0 and int(keys[-1]) < most
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

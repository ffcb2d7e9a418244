"""Long columns in as few bytes as hold them exactly: what a week of power and scalars takes of
memory.

A week of ten channels at 1 Hz takes 19 MB so, and 68 MB as plain arrays.

Columns are packed in pieces of `PIECE` rows, each in the smallest form that gives every value back
to the bit:

    whole numbers    the differences of neighbors, less their least, in 0, 1, 2 or 4 bytes
    numbers          as they were written (245.3 is 2453 tenths), less their least, in 1, 2 or 4
                     bytes; else as float32; else as they are

A dataclass says which of its fields are kept so (`packs`). Whoever asks for one gets the array: the
one that was unpacked lately, or it is unpacked again. Such an array cannot be written to. Whoever
wants but some rows asks the column as it is kept (`kept`): packed or not, it answers `len`,
`column[rows]` and `searchsorted`, and unpacks no more than the pieces that hold them.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, overload

import numpy as np

from powertui.data import wire
from powertui.data.packed_pieces import Array, PackedPiece, pack_piece, search_piece

# Chosen, not measured, where no other reason is given.
_MIN_PACKED_ROWS = 1 << 14  # shorter columns stay as they are
PIECE_ROWS = 1 << 14
_MAX_UNPACKED_ROWS = 1 << 17  # up to here a column is unpacked at once for whoever needs many rows
CACHE_BYTES = 12 << 20  # unpacked columns that nobody holds any more


class Packed:
    """A column of int64 or float64, packed."""

    def __init__(self, pieces: Sequence[PackedPiece], dtype: np.dtype[Any]) -> None:
        self.pieces = tuple(pieces)
        self.dtype = dtype
        self.rows = sum(piece.rows for piece in self.pieces)

    def __len__(self) -> int:
        return self.rows

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return sum(piece.nbytes for piece in self.pieces)

    def unpack(self) -> Array:
        """The column as an array that cannot be written to, from the cache where it is there."""
        return _CACHE.unpacked(self)

    @overload
    def __getitem__(self, rows: int) -> Any: ...
    @overload
    def __getitem__(self, rows: slice | Array) -> Array: ...
    def __getitem__(self, rows: Any) -> Any:
        """Some of the rows, as of an array: only the pieces that hold them are looked at."""
        if isinstance(rows, slice):
            lo, hi, step = rows.indices(self.rows)
            if step == 1:
                return self._between(lo, max(lo, hi))
            return self[np.arange(lo, hi, step)]
        if isinstance(rows, int):
            row = range(self.rows)[rows]  # counts from the end, and complains, as a list does
            return self[np.array([row])][0]
        rows = np.asarray(rows)
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        else:
            rows = rows.astype(np.int64, copy=False)
        values = self._rows(rows.ravel())
        return values.reshape(rows.shape)

    def _rows(self, rows: Array) -> Array:
        values = np.empty(len(rows), self.dtype)
        if not len(rows):
            return values
        number, within = np.divmod(rows, PIECE_ROWS)
        touched = np.flatnonzero(np.bincount(number)).tolist()
        if len(touched) == 1:  # nothing has to be chosen
            values[:] = self.pieces[touched[0]].at(within)
            return values
        for piece in touched:
            in_piece = number == piece
            values[in_piece] = self.pieces[piece].at(within[in_piece])
        return values

    def searchsorted(self, values: Any, side: Literal["left", "right"] = "left") -> Any:
        """As of an array, where the column ascends: only the pieces in which values lie are looked
        at.
        """
        if not self.rows:
            return np.zeros(np.shape(values), np.int64)[()]
        sought = np.atleast_1d(values)
        pieces_before = self._firsts.searchsorted(sought, side=side) - 1
        number = np.maximum(pieces_before, 0)
        rows = np.empty(len(sought), np.int64)
        for piece in wire.distinct(number).tolist():
            in_piece = number == piece
            rows_in_piece = search_piece(self.pieces[piece], sought[in_piece], side)
            rows[in_piece] = piece * PIECE_ROWS + rows_in_piece
        if np.ndim(values):
            return rows
        return rows[0]

    @functools.cached_property
    def _firsts(self) -> Array:
        """The first row of each piece."""
        return self[np.arange(0, self.rows, PIECE_ROWS)]

    def made(self) -> Array:
        """A new array."""
        return self._between(0, self.rows)

    def _between(self, lo: int, hi: int) -> Array:
        """The rows [lo, hi): all pieces but the last have as many rows."""
        values = np.empty(hi - lo, self.dtype)
        if lo >= hi:
            return values
        end_piece = -(-hi // PIECE_ROWS)
        for number in range(lo // PIECE_ROWS, end_piece):
            piece = self.pieces[number]
            first = number * PIECE_ROWS
            begin = max(lo, first)
            end = min(hi, first + piece.rows)
            piece.part(begin - first, end - first, values[begin - lo : end - lo])
        return values


class GrowingColumn:
    """A column that rows are appended to, packed as it grows."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._pieces: list[PackedPiece] = []
        self._rest: list[Array] = []
        self._waiting = 0

    def add(self, values: Array) -> None:
        """More rows. The array is kept until a piece is full."""
        self._rest.append(values)
        self._waiting += len(values)
        if self._waiting < PIECE_ROWS:
            return
        rows = self._rest[0]
        if len(self._rest) > 1:
            rows = np.concatenate(self._rest)
        full = len(rows) // PIECE_ROWS * PIECE_ROWS
        for first in range(0, full, PIECE_ROWS):
            self._pieces.append(pack_piece(rows[first : first + PIECE_ROWS]))
        # A copy: what is waiting must not hold on to the whole array.
        self._rest = [rows[full:].copy()]
        self._waiting = len(rows) - full

    def column(self) -> Packed | Array:
        """All rows so far: as they are while they are few."""
        rest = np.empty(0, self._dtype)
        if self._rest:
            rest = np.concatenate(self._rest)
        if not self._pieces and len(rest) < _MIN_PACKED_ROWS:
            return rest
        pieces = list(self._pieces)
        if len(rest):
            pieces.append(pack_piece(rest))
        return Packed(pieces, self._dtype)


def pack(values: Array) -> Packed:
    """A column of int64 or float64."""
    pieces = []
    for first in range(0, len(values), PIECE_ROWS):
        pieces.append(pack_piece(values[first : first + PIECE_ROWS]))
    return Packed(pieces, values.dtype)


# ── arrays that were unpacked lately ─────────────────────────────────────────────────────────────


class _UnpackedCache:
    """Columns that are unpacked now: as long as somebody holds them, and the last `KEPT` bytes of
    them.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a weak reference may end while it is held
        self._arrays: weakref.WeakKeyDictionary[Packed, weakref.ref[Array]] = (
            weakref.WeakKeyDictionary()
        )
        self._packed: dict[int, tuple[weakref.ref[Array], Packed]] = {}
        self._held: OrderedDict[int, Array] = OrderedDict()
        self._bytes = 0

    def unpacked(self, packed: Packed) -> Array:
        """The column as an array."""
        with self._lock:
            array = self.cached_array(packed)
            if array is None:
                array = packed.made()
                self._know(array, packed)
                self._hold(array)
            return array

    def cached_array(self, packed: Packed) -> Array | None:
        """The same where it is unpacked now."""
        with self._lock:
            reference = self._arrays.get(packed)
            array = reference() if reference is not None else None
            if array is not None:
                self._hold(array)
            return array

    def packed(self, array: Array) -> Packed:
        """The array packed: the column that it was unpacked from, where it was."""
        with self._lock:
            entry = self._packed.get(id(array))
            if entry is not None and entry[0]() is array:
                return entry[1]
        return pack(array)

    def _know(self, array: Array, packed: Packed) -> None:
        array.flags.writeable = False
        number = id(array)

        def gone(which: weakref.ref[Array]) -> None:
            with self._lock:
                if (entry := self._packed.get(number)) is not None and entry[0] is which:
                    del self._packed[number]

        reference = weakref.ref(array, gone)
        self._arrays[packed] = reference
        self._packed[number] = (reference, packed)

    def clear(self) -> None:
        """Of what nobody holds."""
        with self._lock:
            self._held.clear()
            self._bytes = 0

    def _hold(self, array: Array) -> None:
        if id(array) in self._held:
            self._held.move_to_end(id(array))
            return
        self._held[id(array)] = array
        self._bytes += array.nbytes
        while self._bytes > CACHE_BYTES and self._held:
            _, old = self._held.popitem(last=False)
            self._bytes -= old.nbytes


_CACHE = _UnpackedCache()


def give_back() -> None:
    """Free what was unpacked, and hand free memory back to the system; call it after a long answer.

    glibc keeps free memory in holes: after a week of ten channels at 1 Hz it holds 53 MB where the
    columns take 19 MB. With another C library nothing is handed back.
    """
    import ctypes

    _CACHE.clear()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        return


KeptColumn: TypeAlias = Array | Packed
"""Rows that can be asked for, packed or not."""


def at_once(column: KeptColumn, rows: int) -> KeptColumn:
    """The column for whoever needs so many of its rows.

    An array where it is unpacked already, or where unpacking it costs little more than the rows.
    """
    if not isinstance(column, Packed):
        return column
    if rows > PIECE_ROWS and len(column) <= _MAX_UNPACKED_ROWS:
        return column.unpack()
    unpacked = _CACHE.cached_array(column)
    if unpacked is None:
        return column
    return unpacked


def pack_column(values: Array) -> KeptColumn:
    """The column, packed where it is long and that saves a quarter of it."""
    if len(values) < _MIN_PACKED_ROWS or values.ndim != 1:
        return values
    if values.dtype not in (np.int64, np.float64):
        return values
    packed = _CACHE.packed(values)
    if packed.nbytes <= values.nbytes * 3 // 4:
        return packed
    return values


def packed_column(instance: object, name: str) -> KeptColumn:
    """A field that `packs` names, as it is kept."""
    column: KeptColumn = instance.__dict__[name]
    return column


# ── fields of a dataclass ────────────────────────────────────────────────────────────────────────

_Kind = TypeVar("_Kind", bound=type)


def packs(*names: str) -> Callable[[_Kind], _Kind]:
    """Put over a dataclass: these of its fields keep long columns packed. What is set is an array
    or a packed column; what is asked for is an array.
    """

    def decorate(kind: _Kind) -> _Kind:
        for name in names:
            setattr(kind, name, _Column(name))
        return kind

    return decorate


class _Column:
    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        column = instance.__dict__[self._name]
        if isinstance(column, Packed):
            return column.unpack()
        return column

    def __set__(self, instance: Any, value: Any) -> None:
        if isinstance(value, Packed) and len(value) < _MIN_PACKED_ROWS:
            value = value.made()
        elif isinstance(value, np.ndarray):
            value = pack_column(value)
        instance.__dict__[self._name] = value

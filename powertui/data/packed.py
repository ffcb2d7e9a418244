"""Long columns in as few bytes as hold them exactly: what a week of power and scalars takes of
memory.

A week of ten channels at 1 Hz takes 19 MB so, and 68 MB as plain arrays.

Columns are packed in pieces of `PIECE` rows, each in the smallest form that gives every value back
to the bit:

    whole numbers    the differences of neighbours, less their least, in 0, 1, 2 or 4 bytes
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
from typing import Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt

# Chosen, not measured, where no other reason is given.
_MIN_PACKED_ROWS = 1 << 14  # shorter columns stay as they are
PIECE_ROWS = 1 << 14
_MAX_UNPACKED_ROWS = 1 << 17  # up to here a column is unpacked at once for whoever needs many rows
CACHE_BYTES = 12 << 20  # unpacked columns that nobody holds any more
_MAX_DECIMALS = 6  # decimals that are tried
_PROBE_ROWS = 256  # these rows are tried before the whole column
_MAX_EXACT_INT = float(1 << 53)  # beyond it a double does not hold every integer

Array = npt.NDArray[Any]


class _Deltas(NamedTuple):
    """Row i is `first`, plus i times `least`, plus the sum of `rest` up to there.

    Without `rest` all steps are equal.
    """

    first: int
    least: int
    rest: Array | None
    rows: int

    def part(self, lo: int, hi: int, out: Array) -> None:
        """The rows [lo, hi), into a column of int64."""
        values = out if not lo else np.empty(hi, np.int64)
        values[0] = self.first
        values[1:] = self.least
        if self.rest is not None:
            values[1:] += self.rest[: hi - 1]
        np.cumsum(values, out=values)
        if lo:
            out[:] = values[lo:]

    def at(self, rows: npt.NDArray[np.int64]) -> Array:
        """Some of its rows."""
        if self.rest is None:
            return self.first + rows * self.least
        out = np.empty(int(rows.max()) + 1, np.int64)
        out[0] = self.first
        out[1:] = self.least
        out[1:] += self.rest[: len(out) - 1]
        return np.asarray(np.cumsum(out, out=out)[rows])

    @property
    def nbytes(self) -> int:
        return 0 if self.rest is None else self.rest.nbytes


class _Decimals(NamedTuple):
    """Row i is (least + code[i]) / scale.

    With `gaps`, code 0 stands for no value, and all other codes are one more.
    """

    least: int
    scale: float
    code: Array
    gaps: bool

    @property
    def rows(self) -> int:
        return len(self.code)

    def part(self, lo: int, hi: int, out: Array) -> None:
        """The rows [lo, hi), into a column of float64."""
        self._values(self.code[lo:hi], out)

    def at(self, rows: npt.NDArray[np.int64]) -> Array:
        """Some of its rows."""
        return self._values(self.code[rows], np.empty(len(rows)))

    def _values(self, code: Array, out: Array) -> Array:
        np.add(code, float(self.least - self.gaps), out=out)
        if self.scale != 1.0:
            out /= self.scale
        if self.gaps:
            out[code == 0] = np.nan
        return out

    @property
    def nbytes(self) -> int:
        return self.code.nbytes


class _Plain(NamedTuple):
    """As they are, or as float32 where that is the same."""

    values: Array

    @property
    def rows(self) -> int:
        return len(self.values)

    def part(self, lo: int, hi: int, out: Array) -> None:
        """The rows [lo, hi), into a column of either kind."""
        out[:] = self.values[lo:hi]

    def at(self, rows: npt.NDArray[np.int64]) -> Array:
        """Some of its rows."""
        return self.values[rows]

    @property
    def nbytes(self) -> int:
        return self.values.nbytes


_Piece = _Deltas | _Decimals | _Plain


def _search(piece: _Piece, values: Array, side: Literal["left", "right"]) -> Array:
    """Where values belong in a piece that ascends; by division where all its steps are equal."""
    if isinstance(piece, _Deltas):
        if piece.rest is None and piece.least > 0 and values.dtype.kind == "i":
            past = values - piece.first
            rows = -(-past // piece.least) if side == "left" else past // piece.least + 1
            return np.asarray(np.minimum(np.maximum(rows, 0), piece.rows))
        column: Array = np.empty(piece.rows, np.int64)
    else:
        column = np.empty(piece.rows)
    piece.part(0, piece.rows, column)
    return column.searchsorted(values, side=side)


class Packed:
    """A column of int64 or float64, packed."""

    def __init__(self, pieces: Sequence[_Piece], dtype: np.dtype[Any]) -> None:
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
            return self._between(lo, max(lo, hi)) if step == 1 else self[np.arange(lo, hi, step)]
        if isinstance(rows, int):
            return self[np.array([range(self.rows)[rows]])][0]
        rows = np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.int64, copy=False)
        flat = rows.ravel()
        out = np.empty(len(flat), self.dtype)
        number, within = np.divmod(flat, PIECE_ROWS)
        touched = np.flatnonzero(np.bincount(number, minlength=1)).tolist() if len(flat) else []
        for piece in touched:
            in_piece = number == piece if len(touched) > 1 else slice(None)
            out[in_piece] = self.pieces[piece].at(within[in_piece])
        return out.reshape(rows.shape)

    def searchsorted(self, values: Any, side: Literal["left", "right"] = "left") -> Any:
        """As of an array, where the column ascends: only the pieces in which values lie are looked
        at.
        """
        wanted_values = np.atleast_1d(values)
        if not self.rows:
            return np.zeros(np.shape(values), np.int64)[()]
        number = np.maximum(self._firsts.searchsorted(wanted_values, side=side) - 1, 0)
        out = np.empty(len(wanted_values), np.int64)
        for piece in np.unique(number).tolist():
            in_piece = number == piece
            out[in_piece] = piece * PIECE_ROWS + _search(
                self.pieces[piece], wanted_values[in_piece], side
            )
        return out if np.ndim(values) else out[0]

    @functools.cached_property
    def _firsts(self) -> Array:
        """The first row of each piece."""
        return self[np.arange(0, self.rows, PIECE_ROWS)]

    def made(self) -> Array:
        """A new array."""
        return self._between(0, self.rows)

    def _between(self, lo: int, hi: int) -> Array:
        """The rows [lo, hi): all pieces but the last have as many rows."""
        out = np.empty(hi - lo, self.dtype)
        for number in range(lo // PIECE_ROWS, -(-hi // PIECE_ROWS)) if lo < hi else ():
            piece, first = self.pieces[number], number * PIECE_ROWS
            begin, end = max(lo, first), min(hi, first + piece.rows)
            piece.part(begin - first, end - first, out[begin - lo : end - lo])
        return out


class GrowingColumn:
    """A column that rows are appended to, packed as it grows."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._pieces: list[_Piece] = []
        self._rest: list[Array] = []
        self._waiting = 0

    def add(self, values: Array) -> None:
        """More rows. The array is kept until a piece is full."""
        self._rest.append(values)
        self._waiting += len(values)
        if self._waiting >= PIECE_ROWS:
            rows = np.concatenate(self._rest) if len(self._rest) > 1 else self._rest[0]
            full = len(rows) // PIECE_ROWS * PIECE_ROWS
            self._pieces += [_pack(rows[at : at + PIECE_ROWS]) for at in range(0, full, PIECE_ROWS)]
            self._rest, self._waiting = [rows[full:].copy()], len(rows) - full

    def column(self) -> Packed | Array:
        """All rows so far: as they are while they are few."""
        rest = np.concatenate(self._rest) if self._rest else np.empty(0, self._dtype)
        if not self._pieces and len(rest) < _MIN_PACKED_ROWS:
            return rest
        return Packed([*self._pieces, *([_pack(rest)] if len(rest) else [])], self._dtype)


def pack(values: Array) -> Packed:
    """A column of int64 or float64."""
    return Packed(
        [_pack(values[at : at + PIECE_ROWS]) for at in range(0, len(values), PIECE_ROWS)],
        values.dtype,
    )


def _pack(values: Array) -> _Piece:
    piece = _deltas(values) if values.dtype.kind == "i" else _decimals(values)
    if piece is not None:
        return piece
    if values.dtype == np.float64:
        with np.errstate(over="ignore"):
            short = values.astype(np.float32)
        if np.array_equal(short.astype(np.float64), values, equal_nan=True):
            return _Plain(short)
    return _Plain(values.copy())


def _deltas(values: npt.NDArray[np.int64]) -> _Deltas | None:
    if not len(values):
        return None
    low, high = int(values.min()), int(values.max())
    if high - low >= 1 << 61:  # differences of differences would not fit
        return None
    steps = np.diff(values)
    least = int(steps.min()) if len(steps) else 0
    rest = steps - least
    most = int(rest.max()) if len(rest) else 0
    if not most:
        return _Deltas(int(values[0]), least, None, len(values))
    kind = _smallest_type(most)
    return None if kind is None else _Deltas(int(values[0]), least, rest.astype(kind), len(values))


def _decimals(values: npt.NDArray[np.float64]) -> _Decimals | None:
    finite = np.isfinite(values)
    gaps = not finite.all()
    if gaps and (np.isinf(values).any() or not finite.any()):
        return None
    numbers = values[finite] if gaps else values
    with np.errstate(over="ignore"):
        for digits in range(_MAX_DECIMALS + 1):
            scale = 10.0**digits
            if not _is_scaled_integer(numbers[:_PROBE_ROWS], scale) or not _is_scaled_integer(
                numbers, scale
            ):
                continue
            integers = np.rint(numbers * scale)
            low, high = int(integers.min()), int(integers.max())
            kind = _smallest_type(high - low + gaps)
            if kind is None:
                return None
            code = (integers - low).astype(kind)
            if gaps:
                spread = np.zeros(len(values), kind)
                spread[finite] = code + kind.type(1)
                code = spread
            return _Decimals(low, scale, code, gaps)
    return None


def _is_scaled_integer(values: npt.NDArray[np.float64], scale: float) -> bool:
    """Whether these are whole numbers divided by the scale, to the bit."""
    integers = np.rint(values * scale)
    return bool((np.abs(integers) < _MAX_EXACT_INT).all() and (integers / scale == values).all())


def _smallest_type(most: int) -> np.dtype[Any] | None:
    for kind in (np.uint8, np.uint16, np.uint32):
        if most <= np.iinfo(kind).max:
            return np.dtype(kind)
    return None


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


KeptColumn = Array | Packed
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
    return column if unpacked is None else unpacked


def pack_column(values: Array) -> KeptColumn:
    """The column, packed where it is long and that saves a quarter of it."""
    if (
        len(values) < _MIN_PACKED_ROWS
        or values.ndim != 1
        or values.dtype not in (np.int64, np.float64)
    ):
        return values
    packed = _CACHE.packed(values)
    return packed if packed.nbytes <= values.nbytes * 3 // 4 else values


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
        return column.unpack() if isinstance(column, Packed) else column

    def __set__(self, instance: Any, value: Any) -> None:
        if isinstance(value, Packed):
            value = value if len(value) >= _MIN_PACKED_ROWS else value.made()
        elif isinstance(value, np.ndarray):
            value = pack_column(value)
        instance.__dict__[self._name] = value

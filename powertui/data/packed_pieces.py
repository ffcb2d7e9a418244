"""Pieces of a packed column (`packed.py`), each in the smallest form that gives every value back to
the bit.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from powertui.named_tuples import NamedTuple

# Chosen, not measured, where no other reason is given.
_MAX_DECIMALS = 6  # decimals that are tried
_PROBE_ROWS = 256  # these rows are tried before the whole column
_MAX_EXACT_INT = float(1 << 53)  # beyond it a double does not hold every integer
Array: TypeAlias = npt.NDArray[Any]


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
        if self.rest is None:
            return 0
        return self.rest.nbytes


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


PackedPiece = _Deltas | _Decimals | _Plain


def search_piece(piece: PackedPiece, values: Array, side: Literal["left", "right"]) -> Array:
    """Where values belong in a piece that ascends; by division where all its steps are equal."""
    column: Array
    if not isinstance(piece, _Deltas):
        column = np.empty(piece.rows)
    elif piece.rest is None and piece.least > 0 and values.dtype.kind == "i":
        past = values - piece.first
        if side == "left":
            rows = -(-past // piece.least)
        else:
            rows = past // piece.least + 1
        return np.asarray(np.minimum(np.maximum(rows, 0), piece.rows))
    else:
        column = np.empty(piece.rows, np.int64)
    piece.part(0, piece.rows, column)
    return column.searchsorted(values, side=side)


def pack_piece(values: Array) -> PackedPiece:
    """These rows in the smallest form that holds them."""
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
    low = int(values.min())
    high = int(values.max())
    if high - low >= 1 << 61:  # differences of differences would not fit
        return None
    first = int(values[0])
    steps = np.diff(values)
    least = int(steps.min()) if len(steps) else 0
    rest = steps - least
    most = int(rest.max()) if len(rest) else 0
    if not most:
        return _Deltas(
            first=first,
            least=least,
            rest=None,
            rows=len(values),
        )
    kind = _smallest_type(most)
    if kind is None:
        return None
    return _Deltas(
        first=first,
        least=least,
        rest=rest.astype(kind),
        rows=len(values),
    )


def _decimals(values: npt.NDArray[np.float64]) -> _Decimals | None:
    is_finite = np.isfinite(values)
    has_gaps = not is_finite.all()
    # An infinite value is none that somebody wrote with decimals.
    if has_gaps and (np.isinf(values).any() or not is_finite.any()):
        return None
    numbers = values[is_finite] if has_gaps else values
    scale = _decimal_scale(numbers)
    if scale is None:
        return None
    with np.errstate(over="ignore"):
        integers = np.rint(numbers * scale)
    low = int(integers.min())
    high = int(integers.max())
    kind = _smallest_type(high - low + has_gaps)
    if kind is None:
        return None
    code = (integers - low).astype(kind)
    if has_gaps:
        spread = np.zeros(len(values), kind)
        spread[is_finite] = code + kind.type(1)
        code = spread
    return _Decimals(
        least=low,
        scale=scale,
        code=code,
        gaps=has_gaps,
    )


def _decimal_scale(numbers: npt.NDArray[np.float64]) -> float | None:
    """The power of ten of which all numbers are whole parts; None where it is none of a few."""
    with np.errstate(over="ignore"):
        for digits in range(_MAX_DECIMALS + 1):
            scale = 10.0**digits
            # A few rows first: most scales fit none of them.
            if not _is_scaled_integer(numbers[:_PROBE_ROWS], scale):
                continue
            if _is_scaled_integer(numbers, scale):
                return scale
    return None


def _is_scaled_integer(values: npt.NDArray[np.float64], scale: float) -> bool:
    """Whether these are whole numbers divided by the scale, to the bit."""
    integers = np.rint(values * scale)
    if not (np.abs(integers) < _MAX_EXACT_INT).all():
        return False
    return bool((integers / scale == values).all())


def _smallest_type(most: int) -> np.dtype[Any] | None:
    for kind in (np.uint8, np.uint16, np.uint32):
        if most <= np.iinfo(kind).max:
            return np.dtype(kind)
    return None

"""Stats: all of one message, or chosen ones of many events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from powertui.data.wire.pure import fields
from powertui.data.wire.pure.fields import field_at, inside, rounds, signed, varint, varints
from powertui.data.wire.types import (
    BYTES,
    DOUBLE,
    EVENT_STATS_FIELD,
    FIXED64,
    INT64,
    LEN,
    NO_VALUE,
    REF,
    STR,
    UINT64,
    VARINT,
    Bytes,
    Int64s,
    RawStat,
    StatScan,
    UInt8s,
    as_positions,
)

_FORM = {DOUBLE: FIXED64, UINT64: VARINT, INT64: VARINT, STR: LEN, BYTES: LEN, REF: VARINT}


def stats(data: Bytes, lo: int, hi: int, field: int) -> list[RawStat]:
    """The stats in one message. See the package's docstring."""
    view = data.data
    at, hi = inside(data, lo, hi)
    values: list[RawStat] = []
    while at < hi:
        outer = field_at(view, at, hi)
        if outer is None or outer.hi > hi:
            break
        if outer.number == field and outer.wire == LEN:
            stat = _stat(view, outer.lo, outer.hi)
            if stat is not None:
                values.append(stat)
        at = outer.hi
    return values


def _stat(view: memoryview, at: int, end: int) -> RawStat | None:
    """One XStat; None when it is malformed."""
    name = kind = 0
    value: int | float | bytes = 0
    while at < end:
        field = field_at(view, at, end)
        if field is None or field.hi > end:
            return None
        if field.number == 1 and field.wire == VARINT:
            name = signed(field.value)
        elif _FORM.get(field.number) == field.wire:
            kind = field.number
            if kind == DOUBLE:
                value = float(np.array(field.value, np.uint64).view(np.float64))
            elif kind in (STR, BYTES):
                value = bytes(view[field.lo : field.hi])
            else:
                value = signed(field.value) if kind == INT64 else field.value
        at = field.hi
    return name, kind, value


def event_stats(data: Bytes, position: int) -> list[RawStat]:
    """The stats of one event. See the package's docstring."""
    if not 0 <= position < len(data):
        return []
    length, lo = varint(data.data, position, len(data))
    return (
        [] if lo < 0 or length > len(data) - lo else stats(data, lo, lo + length, EVENT_STATS_FIELD)
    )


def scan_stats(data: Bytes, positions: npt.NDArray[np.uint64], ids: Sequence[int]) -> StatScan:
    """Chosen stats of many events. See the package's docstring."""
    n = len(positions)
    kind = np.zeros((len(ids), n), np.uint8)
    bits = np.zeros((len(ids), n), np.int64)
    end = np.zeros((len(ids), n), np.int64)
    for first in range(0, n, fields.BATCH):
        rows = slice(first, first + fields.BATCH)
        _scan_batch(
            data, as_positions(positions[rows]), ids, kind[:, rows], bits[:, rows], end[:, rows]
        )
    return StatScan(kind, bits, end)


def _scan_batch(
    data: Bytes, at: Int64s, ids: Sequence[int], kind: UInt8s, bits: Int64s, end: Int64s
) -> None:
    size = np.full(len(at), len(data), np.int64)
    inside = (at >= 0) & (at < size)
    length, lo, ok = varints(data, np.where(inside, at, size), size)
    ok &= inside
    ok[ok] = length[ok] <= (size[ok] - lo[ok]).astype(np.uint64)
    hi = np.where(ok, lo + length.astype(np.int64), lo)
    for part in rounds(data, lo, hi, np.zeros(len(at), np.bool_)):
        stats = np.flatnonzero((part.number == EVENT_STATS_FIELD) & (part.wire == LEN))
        if not len(stats):
            continue
        # Backwards: of several stats of one event in this part, the first is written last and
        # stays.
        stats = stats[::-1]
        row = part.row[stats]
        name, stat_kind, value, stop = _decode_stats(data, part.lo[stats], part.hi[stats])
        for column, id in enumerate(ids):
            new = np.flatnonzero((name == id) & (stat_kind != NO_VALUE))
            new = new[kind[column, row[new]] == NO_VALUE]
            kind[column, row[new]] = stat_kind[new]
            bits[column, row[new]] = value[new]
            end[column, row[new]] = stop[new]


def _decode_stats(data: Bytes, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    n = len(lo)
    name, kind, value, stop = (np.zeros(n, np.int64) for _ in range(4))
    malformed = np.zeros(n, np.bool_)
    for part in rounds(data, lo, hi, malformed):
        matching = np.flatnonzero((part.number == 1) & (part.wire == VARINT))
        name[part.row[matching]] = part.value[matching]
        form = np.isin(
            part.number << 3 | part.wire, [number << 3 | wire for number, wire in _FORM.items()]
        )
        matching = np.flatnonzero(form)
        row, is_len = part.row[matching], part.wire[matching] == LEN
        kind[row] = part.number[matching]
        value[row] = np.where(is_len, part.lo[matching], part.value[matching])
        stop[row] = np.where(is_len, part.hi[matching], 0)
    kind[malformed] = NO_VALUE
    return name, kind, value, stop

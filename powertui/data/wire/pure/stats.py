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
    Bools,
    Bytes,
    Floats,
    Int64s,
    RawStat,
    StatScan,
    UInt8s,
    as_positions,
    tag,
)

_FORM = {DOUBLE: FIXED64, UINT64: VARINT, INT64: VARINT, STR: LEN, BYTES: LEN, REF: VARINT}
_NAME_TAG = tag(1, VARINT)
_VALUE_TAGS = [tag(number, wire) for number, wire in _FORM.items()]


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
    if lo < 0 or length > len(data) - lo:
        return []
    return stats(data, lo, lo + length, EVENT_STATS_FIELD)


def scan_stats(data: Bytes, positions: npt.NDArray[np.uint64], ids: Sequence[int]) -> StatScan:
    """Chosen stats of many events. See the package's docstring."""
    n = len(positions)
    kind = np.zeros((len(ids), n), np.uint8)
    bits = np.zeros((len(ids), n), np.int64)
    end = np.zeros((len(ids), n), np.int64)
    for first in range(0, n, fields.BATCH):
        rows = slice(first, first + fields.BATCH)
        _scan_batch(
            data=data,
            at=as_positions(positions[rows]),
            ids=ids,
            kind=kind[:, rows],
            bits=bits[:, rows],
            end=end[:, rows],
        )
    return StatScan(kind, bits, end)


def _scan_batch(
    data: Bytes, at: Int64s, ids: Sequence[int], kind: UInt8s, bits: Int64s, end: Int64s
) -> None:
    lo, hi = _payloads(data, at)
    for part in rounds(data, lo, hi, np.zeros(len(at), np.bool_)):
        is_stat = (part.number == EVENT_STATS_FIELD) & (part.wire == LEN)
        stats = np.flatnonzero(is_stat)
        if not len(stats):
            continue
        # Backwards: of several stats of one event in this part, the first is written last and
        # stays.
        stats = stats[::-1]
        row = part.row[stats]
        name, stat_kind, value, stop = _decode_stats(data, part.lo[stats], part.hi[stats])
        has_value = stat_kind != NO_VALUE
        for column, id in enumerate(ids):
            new = np.flatnonzero((name == id) & has_value)
            new = new[kind[column, row[new]] == NO_VALUE]
            event = row[new]
            kind[column, event] = stat_kind[new]
            bits[column, event] = value[new]
            end[column, event] = stop[new]


def _payloads(data: Bytes, at: Int64s) -> tuple[Int64s, Int64s]:
    """The bytes of the events whose length prefixes lie here; none where there is no whole one."""
    size = np.full(len(at), len(data), np.int64)
    is_inside = (at >= 0) & (at < size)
    length, lo, ok = varints(data, np.where(is_inside, at, size), size)
    ok &= is_inside
    room = (size[ok] - lo[ok]).astype(np.uint64)
    ok[ok] = length[ok] <= room
    hi = np.where(ok, lo + length.astype(np.int64), lo)
    return lo, hi


def _decode_stats(data: Bytes, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """(name, kind, value, end of a payload) of each stat."""
    name, kind, value, stop = np.zeros((4, len(lo)), np.int64)
    malformed = np.zeros(len(lo), np.bool_)
    for part in rounds(data, lo, hi, malformed):
        tag_of_field = part.number << 3 | part.wire
        named = np.flatnonzero(tag_of_field == _NAME_TAG)
        name[part.row[named]] = part.value[named]
        valued = np.flatnonzero(np.isin(tag_of_field, _VALUE_TAGS))
        row = part.row[valued]
        is_payload = part.wire[valued] == LEN
        kind[row] = part.number[valued]
        value[row] = np.where(is_payload, part.lo[valued], part.value[valued])
        stop[row] = np.where(is_payload, part.hi[valued], 0)
    kind[malformed] = NO_VALUE
    return name, kind, value, stop


def put_numbers(
    kind: UInt8s, bits: Int64s, rows: Int64s | None, present: Bools, ints: Int64s, floats: Floats
) -> None:
    """The numbers of one stat's values. See the package's docstring."""
    given = np.flatnonzero(kind != NO_VALUE)
    present[given if rows is None else rows[given]] = True
    for number_kind in (INT64, UINT64, DOUBLE):
        places = np.flatnonzero(kind == number_kind)
        if not len(places):
            continue
        values = bits[places]
        targets = places if rows is None else rows[places]
        if number_kind == INT64:
            ints[targets] = values
            floats[targets] = values
        elif number_kind == UINT64:
            ints[targets] = values  # as an int64 it may wrap
            floats[targets] = values.view(np.uint64)
        else:
            doubles = values.view(np.float64)
            floats[targets] = doubles
            exact = np.abs(doubles) < 2.0**62
            exact &= doubles == np.trunc(doubles)
            ints[targets[exact]] = doubles[exact].astype(np.int64)

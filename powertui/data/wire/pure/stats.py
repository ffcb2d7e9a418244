"""Stats: all of one message, or chosen ones of many events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from powertui.data.wire.pure import fields
from powertui.data.wire.pure.fields import Round, field_at, inside, rounds, signed, varint, varints
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
from powertui.named_tuples import NamedTuple

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
    data: Bytes,
    at: Int64s,
    ids: Sequence[int],
    kind: UInt8s,
    bits: Int64s,
    end: Int64s,
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
        decoded = _decode_stats(data, part.lo[stats], part.hi[stats])
        has_value = decoded.kind != NO_VALUE
        for column, id in enumerate(ids):
            is_first = kind[column, row] == NO_VALUE
            new = (decoded.name == id) & has_value & is_first
            event = row[new]
            kind[column, event] = decoded.kind[new]
            bits[column, event] = decoded.value[new]
            end[column, event] = decoded.end[new]


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


class _Stats(NamedTuple):
    """Stats, a row for each."""

    name: Int64s
    kind: Int64s
    value: Int64s  # the number itself, or where the payload begins
    end: Int64s  # of the payload; 0 for a number

    def put(self, fields: Round) -> None:
        """Take over what the fields of one round hold."""
        tag_of_field = fields.number << 3 | fields.wire
        is_name = tag_of_field == _NAME_TAG
        self.name[fields.row[is_name]] = fields.value[is_name]
        is_payload = fields.wire == LEN
        value = np.where(is_payload, fields.lo, fields.value)
        end = np.where(is_payload, fields.hi, 0)
        is_value = np.isin(tag_of_field, _VALUE_TAGS)
        row = fields.row[is_value]
        self.kind[row] = fields.number[is_value]
        self.value[row] = value[is_value]
        self.end[row] = end[is_value]


def _decode_stats(data: Bytes, lo: Int64s, hi: Int64s) -> _Stats:
    """The stats in these ranges of bytes; a malformed one has no value."""
    stats = _Stats(*np.zeros((4, len(lo)), np.int64))
    malformed = np.zeros(len(lo), np.bool_)
    for fields_of_round in rounds(data, lo, hi, malformed):
        stats.put(fields_of_round)
    stats.kind[malformed] = NO_VALUE
    return stats


def put_numbers(
    kind: UInt8s,
    bits: Int64s,
    rows: Int64s | None,
    present: Bools,
    ints: Int64s,
    floats: Floats,
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

"""Fields of one message by hopping over it, and fields of many messages at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from powertui.data.wire.types import (
    FIXED32,
    FIXED64,
    LEN,
    VARINT,
    Bools,
    Bytes,
    Hop,
    Int64s,
    PickedFields,
)
from powertui.named_tuples import NamedTuple

BATCH = 1 << 15  # records decoded at once: their columns stay in the processor's cache
MIN_VECTOR_RECORDS = (
    16  # with fewer records than this left, numpy costs more than walking through them
)
_MASK64 = (1 << 64) - 1


def signed(value: int) -> int:
    """64 bits, as int64 reads them."""
    return value - (1 << 64) if value >> 63 else value


def varint(view: memoryview, at: int, end: int) -> tuple[int, int]:
    """One varint and where the next byte lies; (0, -1) when there is none.

    Bits beyond 64 are dropped.
    """
    value = 0
    for step in range(min(10, end - at)):
        byte = view[at + step]
        value |= (byte & 0x7F) << 7 * step
        if byte < 0x80:
            return value & _MASK64, at + step + 1
    return 0, -1


class OneField(NamedTuple):
    """One field of one message."""

    number: int
    wire: int
    value: int  # unsigned
    lo: int
    hi: int  # may lie past the message's end: a cut payload


def field_at(view: memoryview, at: int, end: int) -> OneField | None:
    """The field at this byte, None when there is none.

    Groups are obsolete and never in profiles: none either.
    """
    tag, lo = varint(view, at, end)
    number = tag >> 3
    wire = tag & 7
    if lo < 0 or not 0 < number < 1 << 29:
        return None
    if wire == VARINT:
        value, hi = varint(view, lo, end)
        if hi < 0:
            return None
        return OneField(
            number=number,
            wire=wire,
            value=value,
            lo=lo,
            hi=hi,
        )
    if wire == LEN:
        length, lo = varint(view, lo, end)
        if lo < 0:
            return None
        return OneField(
            number=number,
            wire=wire,
            value=0,
            lo=lo,
            hi=lo + length,
        )
    if wire not in (FIXED64, FIXED32):
        return None
    hi = lo + (8 if wire == FIXED64 else 4)
    if hi > end:
        return None
    return OneField(
        number=number,
        wire=wire,
        value=int.from_bytes(view[lo:hi], "little"),
        lo=lo,
        hi=hi,
    )


def hop(data: Bytes, lo: int, hi: int, skip: int = 0) -> Hop:
    """The fields of one message. See the package's docstring."""
    view = data.data
    lo, hi = inside(data, lo, hi)
    numbers: list[int] = []
    wires: list[int] = []
    values: list[int] = []
    los: list[int] = []
    his: list[int] = []
    skipped = 0
    at = lo
    bad = -1
    skip_tag = skip << 3 | LEN
    while at < hi:
        if view[at] == skip_tag and skip:
            count, at = _over(view, at, hi, skip_tag)
            skipped += count
            if count:
                continue
        field = field_at(view, at, hi)
        if field is None:
            bad = at
            break
        complete = field.hi <= hi
        if field.number == skip and field.wire == LEN and skip:
            skipped += complete
        else:
            numbers.append(field.number)
            wires.append(field.wire)
            values.append(signed(field.value))
            los.append(field.lo)
            his.append(min(field.hi, hi))
        if not complete:
            bad = at
            break
        at = field.hi
    return Hop(
        number=int64s(numbers),
        wire=np.array(wires, np.uint8),
        value=int64s(values),
        lo=int64s(los),
        hi=int64s(his),
        skipped=skipped,
        bad=bad,
    )


def _over(view: memoryview, at: int, hi: int, tag: int) -> tuple[int, int]:
    """How many payloads with a tag of one byte and a length of at most two follow each other, and
    what comes then.
    """
    count = 0
    while hi - at > 2 and view[at] == tag:
        length = view[at + 1]
        after = at + 2 + length
        if length >= 0x80:
            second = view[at + 2]
            if second >= 0x80:
                break
            after += (second << 7) - 0x7F
        if after > hi:
            break
        at = after
        count += 1
    return count, at


def int64s(values: Sequence[int]) -> Int64s:
    """Numbers as a column."""
    return np.array(values, np.int64)


def inside(data: Bytes, lo: int, hi: int) -> tuple[int, int]:
    """The part of a range that lies in the file."""
    lo = min(max(lo, 0), len(data))
    return lo, max(lo, min(hi, len(data)))


# ── many messages at once ────────────────────────────────────────────────────────────────────────


class Round(NamedTuple):
    """Fields of messages.

    A message comes up once a round, or several times in a row (in file order) in the last.
    """

    row: Int64s
    number: Int64s
    wire: Int64s
    value: Int64s
    lo: Int64s
    hi: Int64s


def varints(data: Bytes, at: Int64s, end: Int64s) -> tuple[npt.NDArray[np.uint64], Int64s, Bools]:
    """A varint at each place: values, where the next byte lies, and whether there was a whole one
    before `end`.
    """
    ok = at < end
    if len(data):
        byte = data.take(at, mode="clip")
    else:
        byte = np.zeros(len(at), np.uint8)
    value = (byte & 0x7F).astype(np.uint64)
    after = at + 1
    more = np.flatnonzero((byte >= 0x80) & ok)
    for step in range(1, 10):
        if not len(more):
            break
        place = after[more]
        inside = place < end[more]
        if not inside.all():
            ok[more[~inside]] = False
            more = more[inside]
            place = place[inside]
        byte = data[place]
        digits = (byte & 0x7F).astype(np.uint64)
        value[more] |= digits << np.uint64(7 * step)
        after[more] = place + 1
        more = more[byte >= 0x80]
    ok[more] = False
    return value, after, ok


def rounds(data: Bytes, lo: Int64s, hi: Int64s, malformed: Bools) -> Iterator[Round]:
    """Field after field of each message.

    A message that turns out malformed is marked and comes up no more.
    """
    row = np.arange(len(lo))
    going_on = lo < hi
    row = row[going_on]
    at = lo[going_on]
    end = hi[going_on]
    while len(row) > MIN_VECTOR_RECORDS:
        fields, ok = _next_fields(data, row, at, end)
        if not ok.all():
            malformed[row[~ok]] = True
            end = end[ok]
            fields = Round(*(column[ok] for column in fields))
        yield fields
        going_on = fields.hi < end
        row = fields.row[going_on]
        at = fields.hi[going_on]
        end = end[going_on]
    if len(row):
        yield _walk(data, row, at, end, malformed)


def _next_fields(data: Bytes, row: Int64s, at: Int64s, end: Int64s) -> tuple[Round, Bools]:
    """The field at each place, and which of them are as they should be."""
    tag, place, ok = varints(data, at, end)
    number = (tag >> np.uint64(3)).astype(np.int64)
    wire = (tag & np.uint64(7)).astype(np.int64)
    ok &= (number > 0) & (number < 1 << 29)
    is_len = wire == LEN
    is_varint = wire == VARINT
    value = np.zeros(len(row), np.int64)
    coded = np.flatnonzero(is_len | is_varint)
    if len(coded) == len(row):
        coded_value, after, whole = varints(data, place, end)
        ok &= whole
    else:
        coded_value = np.zeros(len(row), np.uint64)
        after = place.copy()
        coded_value[coded], after[coded], whole = varints(data, place[coded], end[coded])
        ok[coded] &= whole
        size = np.where(wire == FIXED64, 8, 4)
        is_fixed = (wire == FIXED64) | (wire == FIXED32)
        ok &= is_len | is_varint | is_fixed
        fixed = np.flatnonzero(ok & is_fixed)
        inside = end[fixed] - place[fixed] >= size[fixed]
        ok[fixed[~inside]] = False
        fixed = fixed[inside]
        value[fixed] = _fixed(data, place[fixed], wire[fixed])
        after[fixed] = place[fixed] + size[fixed]
    value[is_varint] = coded_value[is_varint].astype(np.int64)
    # A length is compared before it is added: it may be anything up to 2**64.
    room = (end - after).astype(np.uint64)
    fits = (coded_value <= room) & (after <= end)
    ok &= ~is_len | fits
    start = np.where(is_len, after, place)
    payload_end = after + coded_value.astype(np.int64)
    after = np.where(is_len & ok, payload_end, after)
    return Round(
        row=row,
        number=number,
        wire=wire,
        value=value,
        lo=start,
        hi=after,
    ), ok


def _fixed(data: Bytes, at: Int64s, wire: Int64s) -> Int64s:
    value = np.zeros(len(at), np.uint64)
    every = np.arange(len(at))
    wide = np.flatnonzero(wire == FIXED64)
    for step in range(8):
        rows = every if step < 4 else wide
        byte = data[at[rows] + step].astype(np.uint64)
        value[rows] |= byte << np.uint64(8 * step)
    return value.astype(np.int64)


def _walk(data: Bytes, rows: Int64s, at: Int64s, end: Int64s, malformed: Bools) -> Round:
    """What is left of a few messages, one after the other."""
    view = data.data
    fields: list[tuple[int, int, int, int, int, int]] = []
    for row, place, stop in zip(rows.tolist(), at.tolist(), end.tolist(), strict=True):
        while place < stop:
            field = field_at(view, place, stop)
            if field is None or field.hi > stop:
                malformed[row] = True
                break
            fields.append((row, field.number, field.wire, signed(field.value), field.lo, field.hi))
            place = field.hi
    return Round(*np.array(fields, np.int64).reshape(-1, 6).T)


def _clipped(data: Bytes, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int64s]:
    """These ranges, as far as they lie in the file."""
    first = np.clip(lo, 0, len(data)).astype(np.int64)
    after = np.minimum(hi, len(data)).astype(np.int64)
    return first, after


def pick(data: Bytes, lo: Int64s, hi: Int64s, tags: Sequence[int]) -> PickedFields:
    """Chosen fields of many messages. See the package's docstring."""
    lo, hi = _clipped(data, lo, hi)
    shape = (len(tags), len(lo))
    present = np.zeros(shape, np.bool_)
    value = np.zeros(shape, np.int64)
    end = np.zeros(shape, np.int64)
    malformed = np.zeros(len(lo), np.bool_)
    for fields in rounds(data, lo, hi, malformed):
        tag_of_field = fields.number << 3 | fields.wire
        for index, tag in enumerate(tags):
            matching = np.flatnonzero(tag_of_field == tag)
            if not len(matching):
                continue
            row = fields.row[matching]
            present[index, row] = True
            if tag & 7 == LEN:
                value[index, row] = fields.lo[matching]
                end[index, row] = fields.hi[matching]
            else:
                value[index, row] = fields.value[matching]
    broken = np.flatnonzero(malformed)
    if len(broken):
        bad = int(lo[broken[0]])
    else:
        bad = -1
    return PickedFields(present, value, end, bad)

"""Fields of one message by hopping over it, and fields of many messages at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
    number, wire = tag >> 3, tag & 7
    if lo < 0 or not 0 < number < 1 << 29:
        return None
    if wire == VARINT:
        value, hi = varint(view, lo, end)
        return None if hi < 0 else OneField(number, wire, value, lo, hi)
    if wire == LEN:
        length, lo = varint(view, lo, end)
        return None if lo < 0 else OneField(number, wire, 0, lo, lo + length)
    size = 8 if wire == FIXED64 else 4
    if wire not in (FIXED64, FIXED32) or lo + size > end:
        return None
    return OneField(number, wire, int.from_bytes(view[lo : lo + size], "little"), lo, lo + size)


def hop(data: Bytes, lo: int, hi: int, skip: int = 0) -> Hop:
    """The fields of one message. See the package's docstring."""
    view = data.data
    lo, hi = inside(data, lo, hi)
    numbers: list[int] = []
    wires: list[int] = []
    values: list[int] = []
    los: list[int] = []
    his: list[int] = []
    skipped, at, bad = 0, lo, -1
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
        int64s(numbers),
        np.array(wires, np.uint8),
        int64s(values),
        int64s(los),
        int64s(his),
        skipped,
        bad,
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
    byte = data.take(at, mode="clip") if len(data) else np.zeros(len(at), np.uint8)
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
            more, place = more[inside], place[inside]
        byte = data[place]
        value[more] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * step)
        after[more] = place + 1
        more = more[byte >= 0x80]
    ok[more] = False
    return value, after, ok


def rounds(data: Bytes, lo: Int64s, hi: Int64s, malformed: Bools) -> Iterator[Round]:
    """Field after field of each message.

    A message that turns out malformed is marked and comes up no more.
    """
    row = np.arange(len(lo))
    keep = lo < hi
    row, at, end = row[keep], lo[keep], hi[keep]
    while len(row) > MIN_VECTOR_RECORDS:
        tag, after, ok = varints(data, at, end)
        number = (tag >> np.uint64(3)).astype(np.int64)
        wire = (tag & np.uint64(7)).astype(np.int64)
        ok &= (number > 0) & (number < 1 << 29)
        is_len, is_varint = wire == LEN, wire == VARINT
        value, place = np.zeros(len(row), np.int64), after
        coded = np.flatnonzero(is_len | is_varint)
        after = after.copy()
        if len(coded) == len(row):
            number64, after, fine = varints(data, place, end)
            ok &= fine
        else:
            number64 = np.zeros(len(row), np.uint64)
            number64[coded], after[coded], fine = varints(data, place[coded], end[coded])
            ok[coded] &= fine
            size = np.where(wire == FIXED64, 8, 4)
            ok &= is_len | is_varint | (wire == FIXED64) | (wire == FIXED32)
            fixed = np.flatnonzero(ok & ~is_len & ~is_varint)
            inside = end[fixed] - place[fixed] >= size[fixed]
            ok[fixed[~inside]] = False
            fixed = fixed[inside]
            value[fixed] = _fixed(data, place[fixed], wire[fixed])
            after[fixed] = place[fixed] + size[fixed]
        value[is_varint] = number64[is_varint].astype(np.int64)
        # A length is compared before it is added: it may be anything up to 2**64.
        room = (end - after).astype(np.uint64)
        ok &= ~is_len | ((number64 <= room) & (after <= end))
        start = np.where(is_len, after, place)
        after = np.where(is_len & ok, after + number64.astype(np.int64), after)
        if not ok.all():
            malformed[row[~ok]] = True
            row, number, wire, value, start, after, end = (
                c[ok] for c in (row, number, wire, value, start, after, end)
            )
        yield Round(row, number, wire, value, start, after)
        keep = after < end
        row, at, end = row[keep], after[keep], end[keep]
    if len(row):
        yield _walk(data, row, at, end, malformed)


def _fixed(data: Bytes, at: Int64s, wire: Int64s) -> Int64s:
    value = np.zeros(len(at), np.uint64)
    for step in range(8):
        rows = np.flatnonzero(wire == FIXED64) if step >= 4 else np.arange(len(at))
        value[rows] |= data[at[rows] + step].astype(np.uint64) << np.uint64(8 * step)
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
    return np.clip(lo, 0, len(data)).astype(np.int64), np.minimum(hi, len(data)).astype(np.int64)


def pick(data: Bytes, lo: Int64s, hi: Int64s, tags: Sequence[int]) -> PickedFields:
    """Chosen fields of many messages. See the package's docstring."""
    n = len(lo)
    lo, hi = _clipped(data, lo, hi)
    present = np.zeros((len(tags), n), np.bool_)
    value = np.zeros((len(tags), n), np.int64)
    end = np.zeros((len(tags), n), np.int64)
    malformed = np.zeros(n, np.bool_)
    for part in rounds(data, lo, hi, malformed):
        tag = part.number << 3 | part.wire
        for k, wanted in enumerate(tags):
            of = np.flatnonzero(tag == wanted)
            if not len(of):
                continue
            row, is_len = part.row[of], wanted & 7 == LEN
            present[k, row] = True
            value[k, row] = part.lo[of] if is_len else part.value[of]
            if is_len:
                end[k, row] = part.hi[of]
    broken = np.flatnonzero(malformed)
    return PickedFields(present, value, end, int(lo[broken[0]]) if len(broken) else -1)

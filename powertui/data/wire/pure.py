"""The decoder for machines without a compiler: records are found by hopping in Python, their fields decoded by numpy.

Python hops over some million length prefixes a second, and that is the only thing it does once per event. All
else is done for a batch of records at a time: one field of each, then the next field of each that has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from powertui.data.wire.crc32c import crc32c, masked
from powertui.data.wire.types import (
    BLOCK,
    BYTES,
    DOUBLE,
    EVENT_STATS_FIELD,
    EVENTS_FIELD,
    FAN,
    FIXED32,
    FIXED64,
    INT64,
    LEN,
    MAX_LANES,
    NO_VALUE,
    REF,
    STR,
    UINT64,
    VARINT,
    Bools,
    Bytes,
    EventColumns,
    Hop,
    Int32s,
    Int64s,
    PickedFields,
    RawStat,
    RecordFrames,
    Scan,
    StatScan,
    UInt8s,
    UInt32s,
    as_positions,
)

BATCH = 1 << 15  # records decoded at once: their columns stay in the processor's cache
FEW = 16  # with fewer records than this left, numpy costs more than walking through them
_MASK64 = (1 << 64) - 1
_FORM = {DOUBLE: FIXED64, UINT64: VARINT, INT64: VARINT, STR: LEN, BYTES: LEN, REF: VARINT}


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _varint(view: memoryview, at: int, end: int) -> tuple[int, int]:
    """One varint and where the next byte lies; (0, -1) when there is none. Bits beyond 64 are dropped."""
    value = 0
    for step in range(min(10, end - at)):
        byte = view[at + step]
        value |= (byte & 0x7F) << 7 * step
        if byte < 0x80:
            return value & _MASK64, at + step + 1
    return 0, -1


class _Field(NamedTuple):
    number: int
    wire: int
    value: int  # unsigned
    lo: int
    hi: int  # may lie past the message's end: a cut payload


def _field(view: memoryview, at: int, end: int) -> _Field | None:
    """The field at this byte, None when there is none. Groups are obsolete and never in profiles: none either."""
    tag, lo = _varint(view, at, end)
    number, wire = tag >> 3, tag & 7
    if lo < 0 or not 0 < number < 1 << 29:
        return None
    if wire == VARINT:
        value, hi = _varint(view, lo, end)
        return None if hi < 0 else _Field(number, wire, value, lo, hi)
    if wire == LEN:
        length, lo = _varint(view, lo, end)
        return None if lo < 0 else _Field(number, wire, 0, lo, lo + length)
    size = 8 if wire == FIXED64 else 4
    if wire not in (FIXED64, FIXED32) or lo + size > end:
        return None
    return _Field(number, wire, int.from_bytes(view[lo : lo + size], "little"), lo, lo + size)


def hop(data: Bytes, lo: int, hi: int, skip: int = 0) -> Hop:
    """The fields of one message. See the package's docstring."""
    view = data.data
    lo, hi = _range(data, lo, hi)
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
        field = _field(view, at, hi)
        if field is None:
            bad = at
            break
        whole = field.hi <= hi
        if field.number == skip and field.wire == LEN and skip:
            skipped += whole
        else:
            numbers.append(field.number)
            wires.append(field.wire)
            values.append(_signed(field.value))
            los.append(field.lo)
            his.append(min(field.hi, hi))
        if not whole:
            bad = at
            break
        at = field.hi
    return Hop(_i64(numbers), np.array(wires, np.uint8), _i64(values), _i64(los), _i64(his), skipped, bad)


def _over(view: memoryview, at: int, hi: int, tag: int) -> tuple[int, int]:
    """How many payloads with a tag of one byte and a length of at most two follow each other, and what comes then."""
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


def _i64(values: Sequence[int]) -> Int64s:
    return np.array(values, np.int64)


def _range(data: Bytes, lo: int, hi: int) -> tuple[int, int]:
    """The part of a range that lies in the file."""
    lo = min(max(lo, 0), len(data))
    return lo, max(lo, min(hi, len(data)))


# ── many messages at once ────────────────────────────────────────────────────────────────────────


class _Round(NamedTuple):
    """Fields of messages. A message comes up once a round, or several times in a row (in file order) in the last."""

    row: Int64s
    number: Int64s
    wire: Int64s
    value: Int64s
    lo: Int64s
    hi: Int64s


def _varints(data: Bytes, at: Int64s, end: Int64s) -> tuple[npt.NDArray[np.uint64], Int64s, Bools]:
    """A varint at each place: values, where the next byte lies, and whether there was a whole one before `end`."""
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


def _rounds(data: Bytes, lo: Int64s, hi: Int64s, malformed: Bools) -> Iterator[_Round]:
    """Field after field of each message. A message that turns out malformed is marked and comes up no more."""
    row = np.arange(len(lo))
    keep = lo < hi
    row, at, end = row[keep], lo[keep], hi[keep]
    while len(row) > FEW:
        tag, after, ok = _varints(data, at, end)
        number = (tag >> np.uint64(3)).astype(np.int64)
        wire = (tag & np.uint64(7)).astype(np.int64)
        ok &= (number > 0) & (number < 1 << 29)
        is_len, is_varint = wire == LEN, wire == VARINT
        value, place = np.zeros(len(row), np.int64), after
        coded = np.flatnonzero(is_len | is_varint)
        after = after.copy()
        if len(coded) == len(row):
            number64, after, fine = _varints(data, place, end)
            ok &= fine
        else:
            number64 = np.zeros(len(row), np.uint64)
            number64[coded], after[coded], fine = _varints(data, place[coded], end[coded])
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
            row, number, wire, value, start, after, end = (c[ok] for c in (row, number, wire, value, start, after, end))
        yield _Round(row, number, wire, value, start, after)
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


def _walk(data: Bytes, rows: Int64s, at: Int64s, end: Int64s, malformed: Bools) -> _Round:
    """What is left of a few messages, one after the other."""
    view = data.data
    found: list[tuple[int, int, int, int, int, int]] = []
    for row, place, stop in zip(rows.tolist(), at.tolist(), end.tolist(), strict=True):
        while place < stop:
            field = _field(view, place, stop)
            if field is None or field.hi > stop:
                malformed[row] = True
                break
            found.append((row, field.number, field.wire, _signed(field.value), field.lo, field.hi))
            place = field.hi
    return _Round(*np.array(found, np.int64).reshape(-1, 6).T)


def _clip(data: Bytes, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int64s]:
    return np.clip(lo, 0, len(data)).astype(np.int64), np.minimum(hi, len(data)).astype(np.int64)


def pick(data: Bytes, lo: Int64s, hi: Int64s, tags: Sequence[int]) -> PickedFields:
    """Chosen fields of many messages. See the package's docstring."""
    n = len(lo)
    lo, hi = _clip(data, lo, hi)
    present = np.zeros((len(tags), n), np.bool_)
    value = np.zeros((len(tags), n), np.int64)
    end = np.zeros((len(tags), n), np.int64)
    malformed = np.zeros(n, np.bool_)
    for part in _rounds(data, lo, hi, malformed):
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


# ── events ───────────────────────────────────────────────────────────────────────────────────────


def _records(data: Bytes, lo: int, hi: int, limit: int) -> tuple[Int64s, int, int]:
    """Up to `limit` events of a line: where their length prefixes lie; the next byte; the bad one.

    Other fields are hopped over until the next event, so that a line whose last event is read is done.
    """
    view = data.data
    prefixes: list[int] = []
    append = prefixes.append
    at = lo
    event = EVENTS_FIELD << 3 | LEN
    while at < hi:
        # nearly every event: a tag of one byte, a length of one or two
        for _ in range(limit - len(prefixes)):
            if hi - at < 3 or view[at] != event:
                break
            length = view[at + 1]
            after = at + 2 + length
            if length >= 0x80:
                second = view[at + 2]
                if second >= 0x80:
                    break
                after += (second << 7) - 0x7F
            if after > hi:
                break
            append(at + 1)
            at = after
        if at == hi:
            break
        field = _field(view, at, hi)
        if field is None or field.hi > hi:
            return _i64(prefixes), hi, at
        if field.number == EVENTS_FIELD and field.wire == LEN:
            if len(prefixes) == limit:
                break
            append(_varint(view, at, hi)[1])
        at = field.hi
    return _i64(prefixes), at, -1


def scan_events(data: Bytes, lo: int, hi: int, base: int, columns: EventColumns, at: int, limit: int = 1 << 62) -> Scan:
    """Events of one line into columns. See the package's docstring."""
    lo, hi = _range(data, lo, hi)
    if not 0 <= at <= len(columns.id):
        raise ValueError("the first row lies outside the columns")
    limit = min(limit, len(columns.id) - at)
    rows = dropped = 0
    bad, place = -1, lo
    counted: list[Int64s] = []
    wide: list[Int64s] = []
    wide_ids: list[Int64s] = []
    while place < hi:
        prefix, place, stopped = _records(data, place, hi, min(BATCH, limit - rows))
        length, first, _ = _varints(data, prefix, np.full(len(prefix), hi, np.int64))
        ids, start, duration, occurs, malformed = _decode_events(data, first, first + length.astype(np.int64))
        position = prefix.astype(np.uint64)
        start = np.where(occurs, start, start + np.int64(base))
        if malformed.any():
            dropped += int(malformed.sum())
            if bad < 0:
                bad = int(position[malformed][0])
            fine = ~malformed
            ids, start, duration = ids[fine], start[fine], duration[fine]
            occurs, position = occurs[fine], position[fine]
        if bad < 0:
            bad = stopped
        if not len(ids):
            if rows >= limit:
                break
            continue
        row, n = at + rows, len(ids)
        columns.id[row : row + n] = ids.astype(np.uint64) & np.uint64(0xFFFFFFFF)
        columns.start[row : row + n] = start
        columns.duration[row : row + n] = duration
        columns.position[row : row + n] = position
        large = (ids < 0) | (ids > 0xFFFFFFFF)
        counted.append(np.flatnonzero(occurs) + row)
        wide.append(np.flatnonzero(large) + row)
        wide_ids.append(ids[large])
        rows += n
    return Scan(rows, place, _joined(counted), _joined(wide), _joined(wide_ids), dropped, bad)


def _joined(parts: list[Int64s]) -> Int64s:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _decode_events(data: Bytes, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int64s, Int64s, Bools, Bools]:
    n = len(lo)
    ids, start, duration = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    occurs, malformed = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for part in _rounds(data, lo, hi, malformed):
        tag = part.number << 3 | part.wire
        # offset_ps and num_occurrences are one oneof: the last one given counts
        of = np.flatnonzero((tag == 2 << 3) | (tag == 5 << 3))
        start[part.row[of]] = part.value[of]
        occurs[part.row[of]] = tag[of] == 5 << 3
        of = np.flatnonzero(tag == 1 << 3)
        ids[part.row[of]] = part.value[of]
        of = np.flatnonzero(tag == 3 << 3)
        duration[part.row[of]] = part.value[of]
    return ids, start, duration, occurs, malformed


# ── stats ────────────────────────────────────────────────────────────────────────────────────────


def stats(data: Bytes, lo: int, hi: int, field: int) -> list[RawStat]:
    """The stats in one message. See the package's docstring."""
    view = data.data
    at, hi = _range(data, lo, hi)
    found: list[RawStat] = []
    while at < hi:
        outer = _field(view, at, hi)
        if outer is None or outer.hi > hi:
            break
        if outer.number == field and outer.wire == LEN:
            stat = _stat(view, outer.lo, outer.hi)
            if stat is not None:
                found.append(stat)
        at = outer.hi
    return found


def _stat(view: memoryview, at: int, end: int) -> RawStat | None:
    """One XStat; None when it is malformed."""
    name = kind = 0
    value: int | float | bytes = 0
    while at < end:
        field = _field(view, at, end)
        if field is None or field.hi > end:
            return None
        if field.number == 1 and field.wire == VARINT:
            name = _signed(field.value)
        elif _FORM.get(field.number) == field.wire:
            kind = field.number
            if kind == DOUBLE:
                value = float(np.array(field.value, np.uint64).view(np.float64))
            elif kind in (STR, BYTES):
                value = bytes(view[field.lo : field.hi])
            else:
                value = _signed(field.value) if kind == INT64 else field.value
        at = field.hi
    return name, kind, value


def event_stats(data: Bytes, position: int) -> list[RawStat]:
    """The stats of one event. See the package's docstring."""
    if not 0 <= position < len(data):
        return []
    length, lo = _varint(data.data, position, len(data))
    return [] if lo < 0 or length > len(data) - lo else stats(data, lo, lo + length, EVENT_STATS_FIELD)


def scan_stats(data: Bytes, positions: npt.NDArray[np.uint64], ids: Sequence[int]) -> StatScan:
    """Chosen stats of many events. See the package's docstring."""
    n = len(positions)
    kind = np.zeros((len(ids), n), np.uint8)
    bits = np.zeros((len(ids), n), np.int64)
    end = np.zeros((len(ids), n), np.int64)
    for first in range(0, n, BATCH):
        rows = slice(first, first + BATCH)
        _scan_batch(data, as_positions(positions[rows]), ids, kind[:, rows], bits[:, rows], end[:, rows])
    return StatScan(kind, bits, end)


def _scan_batch(data: Bytes, at: Int64s, ids: Sequence[int], kind: UInt8s, bits: Int64s, end: Int64s) -> None:
    size = np.full(len(at), len(data), np.int64)
    inside = (at >= 0) & (at < size)
    length, lo, ok = _varints(data, np.where(inside, at, size), size)
    ok &= inside
    ok[ok] = length[ok] <= (size[ok] - lo[ok]).astype(np.uint64)
    hi = np.where(ok, lo + length.astype(np.int64), lo)
    for part in _rounds(data, lo, hi, np.zeros(len(at), np.bool_)):
        of = np.flatnonzero((part.number == EVENT_STATS_FIELD) & (part.wire == LEN))
        if not len(of):
            continue
        # Backwards: of several stats of one event in this part, the first is written last and stays.
        of = of[::-1]
        row = part.row[of]
        name, found, value, stop = _decode_stats(data, part.lo[of], part.hi[of])
        for k, wanted in enumerate(ids):
            mine = np.flatnonzero((name == wanted) & (found != NO_VALUE))
            mine = mine[kind[k, row[mine]] == NO_VALUE]
            kind[k, row[mine]] = found[mine]
            bits[k, row[mine]] = value[mine]
            end[k, row[mine]] = stop[mine]


def _decode_stats(data: Bytes, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    n = len(lo)
    name, kind, value, stop = (np.zeros(n, np.int64) for _ in range(4))
    malformed = np.zeros(n, np.bool_)
    for part in _rounds(data, lo, hi, malformed):
        of = np.flatnonzero((part.number == 1) & (part.wire == VARINT))
        name[part.row[of]] = part.value[of]
        form = np.isin(part.number << 3 | part.wire, [number << 3 | wire for number, wire in _FORM.items()])
        of = np.flatnonzero(form)
        row, is_len = part.row[of], part.wire[of] == LEN
        kind[row] = part.number[of]
        value[row] = np.where(is_len, part.lo[of], part.value[of])
        stop[row] = np.where(is_len, part.hi[of], 0)
    kind[malformed] = NO_VALUE
    return name, kind, value, stop


# ── lanes ────────────────────────────────────────────────────────────────────────────────────────


def nest(start: Int64s, duration: Int64s) -> UInt8s:
    """How deep each event of a line lies. See the package's docstring."""
    n = len(start)
    if not n:
        return np.empty(0, np.uint8)
    start = np.ascontiguousarray(start, np.int64)
    end = start + np.maximum(duration, 0)
    end = np.where(end < start, np.iinfo(np.int64).max, end)
    index = np.arange(n)
    # Open at start[i]: the i events before, less those that have ended. The search also counts the events of
    # no length that start right here and come later (or are event i itself): they have not been before.
    instant = np.concatenate(([0], np.cumsum(end == start)))
    ended = np.searchsorted(np.sort(end), start, side="right")
    later = instant[np.searchsorted(start, start, side="right")] - instant[index]
    depth = index - (ended - later)
    lanes: UInt8s = np.minimum(depth, MAX_LANES - 1).astype(np.uint8)
    for lo, hi in _improper(start, end, depth):
        lanes[lo:hi] = _first_fit(start[lo:hi].tolist(), end[lo:hi].tolist())
    return lanes


def _improper(start: Int64s, end: Int64s, depth: Int64s) -> Iterator[tuple[int, int]]:
    """Stretches between two moments of rest in which some event outlives the one it began in (or is too deep)."""
    wrong = depth >= MAX_LANES
    deepest = int(depth.max())
    above = np.flatnonzero(depth == 0)
    for level in range(1, min(deepest, MAX_LANES - 1) + 1):
        here = np.flatnonzero(depth == level)
        if not len(here):
            continue
        if not len(above):
            wrong[here] = True
            continue
        parent = above[np.maximum(np.searchsorted(above, here) - 1, 0)]
        wrong[here] |= (parent > here) | (end[parent] < end[here])
        above = here
    rest = np.flatnonzero(depth == 0)
    last = -1
    for stretch in np.unique(np.searchsorted(rest, np.flatnonzero(wrong), side="right") - 1).tolist():
        if stretch != last:
            yield int(rest[stretch]), int(rest[stretch + 1]) if stretch + 1 < len(rest) else len(start)
        last = stretch


def _first_fit(start: list[int], end: list[int]) -> list[int]:
    """The rule itself: below the deepest event that holds this one whole, the first lane that is free."""
    lanes: list[int] = []
    until: list[int] = []
    for s, e in zip(start, end, strict=True):
        while until and until[-1] <= s:
            until.pop()
        lane = len(until)
        while lane and not (until[lane - 1] > s and until[lane - 1] >= e):
            lane -= 1
        while lane < len(until) and until[lane] > s:
            lane += 1
        if lane >= MAX_LANES:
            lane = MAX_LANES - 1
            until[lane] = max(until[lane], e)
        elif lane == len(until):
            until.append(e)
        else:
            until[lane] = e
        lanes.append(lane)
    return lanes


# ── columns ──────────────────────────────────────────────────────────────────────────────────────


def blocks(duration: Int64s) -> tuple[Int64s, UInt8s]:
    """Sums and longest events of blocks. See the package's docstring."""
    count, whole = -(-len(duration) // BLOCK), len(duration) // BLOCK
    total, top = np.empty(count, np.int64), np.empty(count, np.uint8)
    for lo in range(0, whole, BATCH):
        part = duration[lo * BLOCK : min(lo + BATCH, whole) * BLOCK].reshape(-1, BLOCK)
        part.sum(axis=1, out=total[lo : lo + len(part)])
        top[lo : lo + len(part)] = part.argmax(axis=1)
    if count > whole:
        rest = duration[whole * BLOCK :]
        total[whole], top[whole] = rest.sum(), rest.argmax()
    return total, top


def sums(duration: Int64s, before: Int64s, at: Int64s) -> Int64s:
    """Durations summed up to these rows. See the package's docstring."""
    block = at // BLOCK
    inside = np.arange(BLOCK)
    looked = _gather(duration, block[:, None] * BLOCK + inside)
    looked *= inside < (at - block * BLOCK)[:, None]
    total: Int64s = before[block] + looked.sum(axis=1)
    return total


def longest(duration: Int64s, top: UInt8s, table: Int32s, lo: Int64s, hi: Int64s) -> Int64s:
    """The longest event of each range of rows. See the package's docstring."""
    first, last = -(-lo // BLOCK), hi // BLOCK  # whole blocks
    last = np.maximum(first, last)
    begin, end = -(-first // FAN), last // FAN  # whole groups of them
    end = np.maximum(begin, end)
    best = _Best(duration, np.full(len(lo), -1, np.int64), np.full(len(lo), np.iinfo(np.int64).min))
    # from the first row to the last, so that of equals the first stays
    best.of_rows(lo, np.minimum(hi, first * BLOCK), BLOCK)
    best.of_blocks(first, np.minimum(last, begin * FAN), top)
    some = np.flatnonzero(end > begin)
    if len(some):
        level = np.frexp((end - begin)[some].astype(np.float64))[1] - 1  # floor(log2): exact for any count below 2^53
        for group in (begin[some], end[some] - (np.int64(1) << level.astype(np.int64))):
            block = table[level, group].astype(np.int64)
            best.put(some, (block * BLOCK + top[block])[:, None], None)
    best.of_blocks(np.where(last >= end * FAN, np.maximum(first, end * FAN), last), last, top)
    best.of_rows(np.minimum(hi, last * BLOCK), hi, BLOCK)
    return best.row


class _Best(NamedTuple):
    """The longest event of each range so far."""

    duration: Int64s
    row: Int64s
    stay: Int64s

    def of_rows(self, lo: Int64s, hi: Int64s, most: int) -> None:
        """These rows, at most so many in each range."""
        some = np.flatnonzero(hi > lo)
        if len(some):
            step = np.arange(min(most, int((hi - lo)[some].max())))
            self.put(some, lo[some, None] + step, step < (hi - lo)[some, None])

    def of_blocks(self, lo: Int64s, hi: Int64s, top: UInt8s) -> None:
        """The longest events of these blocks, fewer than a group."""
        some = np.flatnonzero(hi > lo)
        if len(some):
            step = np.arange(FAN - 1)
            block = lo[some, None] + step
            self.put(some, block * BLOCK + top.take(block, mode="clip"), step < (hi - lo)[some, None])

    def put(self, ranges: Int64s, rows: Int64s, inside: Bools | None) -> None:
        """Candidates for these ranges, side by side; those not `inside` do not count."""
        looked = _gather(self.duration, rows)
        if inside is not None:
            looked[~inside] = np.iinfo(np.int64).min
        which = looked.argmax(axis=1)
        which += np.arange(len(rows)) * rows.shape[1]
        row, stay = rows.reshape(-1)[which], looked.reshape(-1)[which]
        known = self.stay[ranges]
        wins = (stay > known) | (self.row[ranges] < 0)
        self.row[ranges] = np.where(wins, row, self.row[ranges])
        self.stay[ranges] = np.where(wins, stay, known)


def _gather(column: Int64s, rows: Int64s) -> Int64s:
    """Every look at a duration goes through here, so that a test can count them."""
    return column.take(rows, mode="clip")


def ends(name: UInt32s, names: int) -> tuple[Int64s, Int64s]:
    """The first and the last row of each name. See the package's docstring."""
    first, last = np.full(names, -1, np.int64), np.full(names, -1, np.int64)
    for lo in range(0, len(name), BATCH):
        part, rows = name[lo : lo + BATCH], np.arange(lo, min(lo + BATCH, len(name)))
        last[part] = rows
        new = np.flatnonzero(first[part] < 0)[::-1]  # backwards: the first of several is written last
        first[part[new]] = rows[new]
    return first, last


def records(data: Bytes, lo: int, most: int) -> RecordFrames:
    """Whole TFRecords. See the package's docstring."""
    view, at = data.data, lo
    heads: list[int] = []
    while len(heads) < most and at + 12 <= len(data):
        heads.append(at)
        length = int.from_bytes(view[at : at + 8], "little")
        if at + 16 + length > len(data):
            break
        at += 16 + length
    if not heads:
        none = np.empty(0, np.int64)
        return RecordFrames(none, none, none.astype(np.bool_), lo, False)
    right = _stored(data, [head + 8 for head in heads]) == masked(crc32c(view, heads, [8] * len(heads)))
    whole = len(heads) - (heads[-1] == at)
    rows = min(whole, int(np.argmin(right)) if not right.all() else whole)
    begin = np.array(heads[:rows], np.int64) + 12
    stop = np.array([*heads[1:rows], heads[rows] if rows < len(heads) else at][:rows], np.int64) - 4
    good = _stored(data, stop) == masked(crc32c(view, begin.tolist(), (stop - begin).tolist()))
    after = heads[rows] if rows < len(heads) else at
    return RecordFrames(begin, stop, good, after, bool(rows < len(heads) and not right[rows]))


def _stored(data: Bytes, at: Sequence[int] | Int64s) -> UInt32s:
    """Checksums as they lie there."""
    places = np.asarray(at, np.int64)[:, None] + np.arange(4)
    return np.asarray(np.ascontiguousarray(data[places]).view("<u4").ravel(), np.uint32)

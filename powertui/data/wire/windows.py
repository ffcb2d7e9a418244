"""The calls of the wire on a `Stored` file: the same answers, with a window of the file in memory
at a time.

All positions given and taken are those of the file. A window is about as large as a processor's
cache, so that bytes are still warm when the decoder comes to them; a payload that nobody asks for
is jumped over and never read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data import wire
from powertui.data.wire.stored import Stored
from powertui.data.wire.types import Bytes, Hop, Int64s, PickedFields, RawStat
from powertui.named_tuples import NamedTuple

WINDOW = 1 << 20  # bytes of a file in memory at once
# The same of events whose stats are wanted: where few are, a window holds too few for numpy. With
# 1 MiB, 300,000 of 10 M events took a third longer; 8 MiB gained no more than the noise.
_STATS_WINDOW = 1 << 22
_OUTLINE = 1 << 16  # of a message whose payloads are jumped over
_GAP = 1 << 18  # reading on over so many bytes costs less than beginning a new window
_RECORD = 1 << 12  # an event with its stats is nearly always smaller
_FIELD = 200  # bytes of memory for a field that is kept: its columns twice, and what is made of it
_PREFIX = 10  # the longest varint


class MessagePart(NamedTuple):
    """A part of a message that begins and ends between two fields."""

    lo: int
    hi: int


class Outline(NamedTuple):
    """A message as fields, and where it can be cut into pieces."""

    hop: Hop
    stretches: list[MessagePart]  # those that hold fields which were only counted


def hop(stored: Stored, lo: int, hi: int, skip: int = 0, *, empty: bool = True) -> Outline:
    """`wire.hop`, window by window. Fields numbered `skip` are counted; other payloads that are
    large are not read.

    Without `empty`, messages of no bytes are dropped as they come: two bytes of the file, of which
    columns would make sixty.
    """
    hi = min(hi, stored.size)
    width = WINDOW if skip else _OUTLINE
    buffer = np.empty(min(width, max(hi - lo, 0)), np.uint8)
    parts: list[Hop] = []
    stretches: list[MessagePart] = []
    at = lo
    skipped = 0
    field_count = 0
    bad = -1
    while at < hi:
        end = min(at + width, hi)
        data = stored.read(at, end, buffer)
        fields = wire.hop(data, 0, len(data), skip)
        skipped += fields.skipped
        if not empty:
            fields = _filled(fields)
        field_count += len(fields.number)
        stored.admit(field_count * _FIELD)
        if fields.bad < 0 or end == hi:
            parts.append(_moved(fields, at))
            after = end
            if fields.bad >= 0:
                bad = at + fields.bad
        else:  # the window's end cuts a field, or it makes no sense
            parts.append(_moved(_until(fields, fields.bad), at))
            after = at + fields.bad
        if fields.skipped:
            stretches.append(MessagePart(at, after))
        if bad >= 0:
            break
        if after == at:  # a field of its own that is larger than a window
            field = _payload(data, at)
            if field is None:
                bad = at
                break
            number, first, after = field
            complete = after <= hi
            if number == skip:
                skipped += complete
                if complete:
                    stretches.append(MessagePart(at, after))
            else:
                parts.append(_single_field(number, first, min(after, hi)))
            if not complete:
                bad = at
                break
        at = after
    return Outline(_joined(parts, skipped, bad), stretches)


def _payload(data: Bytes, base: int) -> tuple[int, int, int] | None:
    """Number, first byte and last byte of the payload whose field begins here; None when there is
    none.
    """
    tag, after = _varint(data, 0)
    number = tag >> 3
    if after < 0 or tag & 7 != wire.LEN or not 0 < number < 1 << 29:
        return None
    length, after = _varint(data, after)
    if after < 0:
        return None
    begin = base + after
    return number, begin, begin + length


def announced_end(stored: Stored, at: int) -> int:
    """Where the payload ends whose field begins at this byte, which may be behind the file's end;
    -1 where no field begins.
    """
    field = _payload(stored.read(at, min(at + 2 * _PREFIX, stored.size)), at)
    return field[2] if field is not None else -1


def _varint(data: Bytes, at: int) -> tuple[int, int]:
    """One varint and where the next byte lies; (0, -1) when there is none."""
    value = 0
    for step, byte in enumerate(data[at : at + _PREFIX].tolist()):
        value |= (byte & 0x7F) << 7 * step
        if byte < 0x80:
            return value & (1 << 64) - 1, at + step + 1
    return 0, -1


def _filled(fields: Hop) -> Hop:
    """Without messages of no bytes."""
    is_empty = (fields.wire == wire.LEN) & (fields.hi <= fields.lo)
    if not is_empty.any():
        return fields
    rows = np.flatnonzero(~is_empty)
    return fields._replace(
        number=fields.number[rows],
        wire=fields.wire[rows],
        value=fields.value[rows],
        lo=fields.lo[rows],
        hi=fields.hi[rows],
    )


def _moved(fields: Hop, by: int) -> Hop:
    if not by:
        return fields
    return fields._replace(lo=fields.lo + by, hi=fields.hi + by)


def _until(fields: Hop, bad: int) -> Hop:
    """Without the field that begins at `bad`."""
    keep = int(np.searchsorted(fields.lo, bad, side="right"))  # a value lies behind its tag
    return Hop(
        number=fields.number[:keep],
        wire=fields.wire[:keep],
        value=fields.value[:keep],
        lo=fields.lo[:keep],
        hi=fields.hi[:keep],
        skipped=fields.skipped,
        bad=-1,
    )


def _intact(fields: Hop) -> Hop:
    return fields if fields.bad < 0 else _until(fields, fields.bad)


def _single_field(number: int, lo: int, hi: int) -> Hop:
    return Hop(
        number=np.array([number], np.int64),
        wire=np.array([wire.LEN], np.uint8),
        value=np.array([0], np.int64),
        lo=np.array([lo], np.int64),
        hi=np.array([hi], np.int64),
        skipped=0,
        bad=-1,
    )


def _joined(parts: Sequence[Hop], skipped: int, bad: int) -> Hop:
    if len(parts) == 1:
        return parts[0]._replace(skipped=skipped, bad=bad)
    if not parts:
        none = np.empty(0, np.int64)
        return Hop(
            number=none,
            wire=np.empty(0, np.uint8),
            value=none,
            lo=none,
            hi=none,
            skipped=skipped,
            bad=bad,
        )
    return Hop(
        number=np.concatenate([part.number for part in parts]),
        wire=np.concatenate([part.wire for part in parts]),
        value=np.concatenate([part.value for part in parts]),
        lo=np.concatenate([part.lo for part in parts]),
        hi=np.concatenate([part.hi for part in parts]),
        skipped=skipped,
        bad=bad,
    )


# ── texts of many messages ───────────────────────────────────────────────────────────────────────


class MapTexts(NamedTuple):
    """What the entries of a map<int64, message> hold: their keys, where the messages lie, and some
    of their texts.
    """

    keys: Int64s
    lo: Int64s  # of the messages, in the file
    hi: Int64s
    arena: Bytes  # the texts themselves, kept
    text_lo: Int64s  # [fields × entries], in the arena
    text_hi: Int64s


def _joined_ranges(data: Bytes, begin: Int64s, end: Int64s) -> Bytes:
    """The bytes of these ranges, one behind another."""
    length = end - begin
    place = np.cumsum(length) - length
    # How far each byte of the result is from its place in `data`.
    shift = np.repeat(begin - place, length)
    return data[shift + np.arange(len(shift))]


def texts(stored: Stored, lo: Int64s, hi: Int64s, fields: Sequence[int]) -> MapTexts:
    """Map entries (1 key, 2 message) with these fields of their messages."""
    entry_tags = (wire.tag(1, wire.VARINT), wire.tag(2, wire.LEN))
    text_tags = [wire.tag(number, wire.LEN) for number in fields]
    keys, begins, ends = (np.zeros(len(lo), np.int64) for _ in range(3))
    text_lo, text_hi = (np.zeros((len(fields), len(lo)), np.int64) for _ in range(2))
    pieces: list[Bytes] = []
    arena_bytes = 0
    for rows, window, base in _ranges(stored, lo, hi):
        if window is None:
            entry, inner, data = _large(stored, int(lo[rows.start]), int(hi[rows.start]), fields)
        else:
            data = window
            entry = wire.pick(data, lo[rows] - base, hi[rows] - base, entry_tags)
            inner = wire.pick(data, entry.value[1], entry.end[1], text_tags)
        shift = base * entry.present[1]
        keys[rows] = entry.value[0]
        begins[rows] = entry.value[1] + shift
        ends[rows] = entry.end[1] + shift
        for field in range(len(fields)):
            begin = inner.value[field]
            end = inner.end[field]
            text_end = np.cumsum(end - begin) + arena_bytes
            text_lo[field, rows] = text_end - (end - begin)
            text_hi[field, rows] = text_end
            pieces.append(_joined_ranges(data, begin, end))
            arena_bytes = int(text_end[-1])
    if pieces:
        arena = np.concatenate(pieces)
    else:
        arena = np.empty(0, np.uint8)
    return MapTexts(
        keys=keys,
        lo=begins,
        hi=ends,
        arena=arena,
        text_lo=text_lo,
        text_hi=text_hi,
    )


def pick(stored: Stored, lo: Int64s, hi: Int64s, tags: Sequence[int]) -> PickedFields:
    """`wire.pick` of many messages, in file order.

    Malformed ones have what stands before the trouble.
    """
    shape = (len(tags), len(lo))
    present = np.zeros(shape, np.bool_)
    value = np.zeros(shape, np.int64)
    end = np.zeros(shape, np.int64)
    is_payload = np.array([tag & 7 == wire.LEN for tag in tags])[:, None]
    bad = -1
    for rows, data, base in _ranges(stored, lo, hi):
        if data is None:
            base = int(lo[rows.start])
            data = stored.read(base, int(hi[rows.start]))
        fields = wire.pick(data, lo[rows] - base, hi[rows] - base, tags)
        shift = base * (fields.present & is_payload)
        present[:, rows] = fields.present
        value[:, rows] = fields.value + shift
        end[:, rows] = fields.end + shift
        if bad < 0 and fields.bad >= 0:
            bad = fields.bad + base
    return PickedFields(present, value, end, bad)


def _ranges(stored: Stored, lo: Int64s, hi: Int64s) -> Iterator[tuple[slice, Bytes | None, int]]:
    """Neighboring ranges (in file order) that share a window; a range larger than a window comes
    alone, without data.
    """
    buffer = np.empty(min(WINDOW, stored.size), np.uint8)
    row = 0
    while row < len(lo):
        base = int(lo[row])
        after = int(np.searchsorted(hi, base + WINDOW, side="right"))
        if after <= row:
            yield slice(row, row + 1), None, 0
            row += 1
            continue
        yield slice(row, after), stored.read(base, int(hi[after - 1]), buffer), base
        row = after


def _large(
    stored: Stored,
    lo: int,
    hi: int,
    fields: Sequence[int],
) -> tuple[PickedFields, PickedFields, Bytes]:
    """One entry of any size: only its key and the wanted texts are read."""
    # An HLO program in such an entry may have hundreds of megabytes that nobody asked for.
    entry = _intact(hop(stored, lo, hi).hop)
    at, end = entry.payload(2)
    inner = _intact(hop(stored, at, end).hop)
    payloads = [stored.read(*inner.payload(number)) for number in fields]
    text_end = np.cumsum([len(payload) for payload in payloads])
    text_begin = np.concatenate(([0], text_end[:-1]))
    outer = PickedFields(
        np.array([[True], [end > at]]),
        np.array([[entry.integer(1)], [at]], np.int64),
        np.array([[0], [end]], np.int64),
        -1,
    )
    within = PickedFields(
        np.ones((len(fields), 1), np.bool_),
        text_begin[:, None].astype(np.int64),
        text_end[:, None].astype(np.int64),
        -1,
    )
    return outer, within, np.concatenate(payloads)


# ── stats ────────────────────────────────────────────────────────────────────────────────────────


def stats(stored: Stored, lo: int, hi: int, field: int) -> list[RawStat]:
    """`wire.stats` of a message that is not too large to be read whole."""
    data = stored.read(lo, hi)
    return wire.stats(data, 0, len(data), field)


def each_stat(stored: Stored, ranges: tuple[Int64s, Int64s]) -> list[RawStat]:
    """The XStats with these payloads."""
    tag = wire.tag(1, wire.LEN)
    message = bytearray()
    for lo, hi in zip(ranges[0].tolist(), ranges[1].tolist(), strict=True):
        message.append(tag)
        message += _written_varint(hi - lo)
        message += stored.read(lo, hi).tobytes()
    return wire.stats(np.frombuffer(bytes(message), np.uint8), 0, len(message), 1)


def _written_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def event_stats(stored: Stored, position: int) -> list[RawStat]:
    """`wire.event_stats`: the stats of the event whose length prefix lies at this position."""
    data, after, length = _prefixed(stored, position)
    return wire.event_stats(data, 0) if after + length else []


def event_record(stored: Stored, position: int) -> bytes:
    """The bytes of the event whose length prefix lies at this position; none where none does."""
    data, after, length = _prefixed(stored, position)
    return data[after : after + length].tobytes()


def _prefixed(stored: Stored, position: int) -> tuple[Bytes, int, int]:
    """(bytes from here on, where in them the event begins, how long it is); nothing of no event."""
    nothing = (np.empty(0, np.uint8), 0, 0)
    if not 0 <= position < stored.size:
        return nothing
    data = stored.read(position, min(position + _RECORD, stored.size))
    length, after = _varint(data, 0)
    if after < 0 or length > stored.size - position - after:
        return nothing
    if after + length > len(data):
        data = stored.read(position, position + after + length)
    return data, after, length


class Records(NamedTuple):
    """Some of the wanted events, and the bytes that hold them whole."""

    rows: slice
    data: Bytes
    positions: Int64s  # in data


def records(stored: Stored, positions: Int64s) -> Iterator[Records]:
    """Events in windows, for `wire.scan_stats`. Positions ascend and lie in the file."""
    buffer = np.empty(min(_STATS_WINDOW + 2 * _RECORD, stored.size), np.uint8)
    # A read ends where no event is wanted for long, or where the window is full.
    before_gap = np.flatnonzero(positions[1:] - positions[:-1] > _GAP)
    after_cluster = np.append(before_gap + 1, len(positions))
    row = 0
    while row < len(positions):
        base = int(positions[row])
        after_window = int(positions.searchsorted(base + _STATS_WINDOW))
        cluster = after_cluster.searchsorted(row, side="right")
        after = min(after_window, int(after_cluster[cluster]))
        last = int(positions[after - 1])
        data = stored.read(base, _record_end(stored, last), buffer)
        yield Records(slice(row, after), data, positions[row:after] - base)
        row = after


def _record_end(stored: Stored, at: int) -> int:
    """Where the event ends whose length prefix lies here; of one that is cut, where the prefix
    does.
    """
    prefix_end = min(at + _PREFIX, stored.size)
    length, size = _varint(stored.read(at, prefix_end), 0)
    room = stored.size - at - size
    if size <= 0 or room < 0 or length > room:
        return prefix_end
    return at + size + length

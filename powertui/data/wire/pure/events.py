"""Events of one line, as columns."""

from __future__ import annotations

import numpy as np

from powertui.data.wire.pure import fields
from powertui.data.wire.pure.fields import field_at, inside, int64s, rounds, varint, varints
from powertui.data.wire.types import (
    EVENTS_FIELD,
    LEN,
    VARINT,
    Bools,
    Bytes,
    EventColumns,
    Int64s,
    Scan,
    tag,
)

_ID_TAG = tag(1, VARINT)
_OFFSET_TAG = tag(2, VARINT)
_DURATION_TAG = tag(3, VARINT)
_OCCURRENCES_TAG = tag(5, VARINT)
_MAX_ID = 0xFFFFFFFF  # of the column of ids; larger ones are given beside it (`Scan.wide`)


def _records(data: Bytes, lo: int, hi: int, limit: int) -> tuple[Int64s, int, int]:
    """Up to `limit` events of a line: where their length prefixes lie; the next byte; the bad one.

    Other fields are hopped over until the next event, so that a line whose last event is read is
    done.
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
        field = field_at(view, at, hi)
        if field is None or field.hi > hi:
            return int64s(prefixes), hi, at
        if field.number == EVENTS_FIELD and field.wire == LEN:
            if len(prefixes) == limit:
                break
            append(varint(view, at, hi)[1])
        at = field.hi
    return int64s(prefixes), at, -1


def scan_events(
    data: Bytes,
    lo: int,
    hi: int,
    base: int,
    columns: EventColumns,
    at: int,
    limit: int = 1 << 62,
) -> Scan:
    """Events of one line into columns. See the package's docstring."""
    lo, hi = inside(data, lo, hi)
    if not 0 <= at <= len(columns.id):
        raise ValueError("the first row lies outside the columns")
    limit = min(limit, len(columns.id) - at)
    rows = 0
    dropped = 0
    bad = -1
    place = lo
    counted: list[Int64s] = []
    wide: list[Int64s] = []
    wide_ids: list[Int64s] = []
    while place < hi:
        prefix, place, stopped = _records(data, place, hi, min(fields.BATCH, limit - rows))
        length, first, _ = varints(data, prefix, np.full(len(prefix), hi, np.int64))
        after = first + length.astype(np.int64)
        ids, start, duration, occurs, malformed = _decode_events(data, first, after)
        position = prefix.astype(np.uint64)
        start = np.where(occurs, start, start + np.int64(base))
        if malformed.any():
            dropped += int(malformed.sum())
            if bad < 0:
                bad = int(position[malformed][0])
            fine = ~malformed
            ids = ids[fine]
            start = start[fine]
            duration = duration[fine]
            occurs = occurs[fine]
            position = position[fine]
        if bad < 0:
            bad = stopped
        if not len(ids):
            if rows >= limit:
                break
            continue
        row = at + rows
        into = slice(row, row + len(ids))
        columns.id[into] = ids.astype(np.uint64) & np.uint64(_MAX_ID)
        columns.start[into] = start
        columns.duration[into] = duration
        columns.position[into] = position
        is_wide = (ids < 0) | (ids > _MAX_ID)
        counted.append(np.flatnonzero(occurs) + row)
        wide.append(np.flatnonzero(is_wide) + row)
        wide_ids.append(ids[is_wide])
        rows += len(ids)
    return Scan(
        rows=rows,
        next=place,
        counted=_joined(counted),
        wide=_joined(wide),
        wide_ids=_joined(wide_ids),
        dropped=dropped,
        bad=bad,
    )


def _joined(parts: list[Int64s]) -> Int64s:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _decode_events(
    data: Bytes,
    lo: Int64s,
    hi: Int64s,
) -> tuple[Int64s, Int64s, Int64s, Bools, Bools]:
    """(id, start, duration, whether it occurs without a time, malformed) of each event."""
    n = len(lo)
    ids = np.zeros(n, np.int64)
    start = np.zeros(n, np.int64)
    duration = np.zeros(n, np.int64)
    occurs = np.zeros(n, np.bool_)
    malformed = np.zeros(n, np.bool_)
    for part in rounds(data, lo, hi, malformed):
        tag_of_field = part.number << 3 | part.wire
        # offset_ps and num_occurrences are one oneof: the last one given counts
        is_occurrence = tag_of_field == _OCCURRENCES_TAG
        matching = np.flatnonzero(is_occurrence | (tag_of_field == _OFFSET_TAG))
        row = part.row[matching]
        start[row] = part.value[matching]
        occurs[row] = is_occurrence[matching]
        matching = np.flatnonzero(tag_of_field == _ID_TAG)
        ids[part.row[matching]] = part.value[matching]
        matching = np.flatnonzero(tag_of_field == _DURATION_TAG)
        duration[part.row[matching]] = part.value[matching]
    return ids, start, duration, occurs, malformed

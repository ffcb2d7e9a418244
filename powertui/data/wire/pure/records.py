"""Whole TFRecords with their checksums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.wire.crc32c import crc32c, masked
from powertui.data.wire.types import (
    Bytes,
    Int64s,
    RecordFrames,
    UInt32s,
)


def records(data: Bytes, lo: int, most: int) -> RecordFrames:
    """Whole TFRecords. See the package's docstring."""
    heads, whole_end = _heads(data, lo, most)
    if not heads:
        none = np.empty(0, np.int64)
        return RecordFrames(
            begin=none,
            end=none,
            good=none.astype(np.bool_),
            next=lo,
            damaged=False,
        )
    length_sums = masked(crc32c(data.data, heads, [8] * len(heads)))
    is_length_good = _stored(data, [head + 8 for head in heads]) == length_sums
    rows = len(heads)
    if heads[-1] == whole_end:  # the last one is cut
        rows -= 1
    if not is_length_good.all():
        rows = min(rows, int(np.argmin(is_length_good)))
    # What follows a record: the next head, or where the last whole one ends.
    heads.append(whole_end)
    begin = np.array(heads[:rows], np.int64) + 12
    end = np.array(heads[1 : rows + 1], np.int64) - 4
    payload_sums = masked(crc32c(data.data, begin.tolist(), (end - begin).tolist()))
    is_payload_good = _stored(data, end) == payload_sums
    is_damaged = rows < len(is_length_good) and not is_length_good[rows]
    return RecordFrames(
        begin=begin,
        end=end,
        good=is_payload_good,
        next=heads[rows],
        damaged=bool(is_damaged),
    )


def _heads(data: Bytes, lo: int, most: int) -> tuple[list[int], int]:
    """Where records begin, and where the last whole one ends: there the last head is, if its record
    is cut.
    """
    heads: list[int] = []
    at = lo
    while len(heads) < most and at + 12 <= len(data):
        heads.append(at)
        length = int.from_bytes(data.data[at : at + 8], "little")
        after = at + 16 + length
        if after > len(data):
            break
        at = after
    return heads, at


def _stored(data: Bytes, at: Sequence[int] | Int64s) -> UInt32s:
    """Checksums as they lie there."""
    places = np.asarray(at, np.int64)[:, None] + np.arange(4)
    return np.asarray(np.ascontiguousarray(data[places]).view("<u4").ravel(), np.uint32)

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
    view, at = data.data, lo
    heads: list[int] = []
    while len(heads) < most and at + 12 <= len(data):
        heads.append(at)
        length = int.from_bytes(view[at : at + 8], "little")
        if at + 16 + length > len(data):
            break
        at += 16 + length
    if not heads:
        empty = np.empty(0, np.int64)
        return RecordFrames(empty, empty, empty.astype(np.bool_), lo, False)
    right = _stored(data, [head + 8 for head in heads]) == masked(
        crc32c(view, heads, [8] * len(heads))
    )
    complete = len(heads) - (heads[-1] == at)
    rows = min(complete, int(np.argmin(right)) if not right.all() else complete)
    begin = np.array(heads[:rows], np.int64) + 12
    stop = np.array([*heads[1:rows], heads[rows] if rows < len(heads) else at][:rows], np.int64) - 4
    good = _stored(data, stop) == masked(crc32c(view, begin.tolist(), (stop - begin).tolist()))
    after = heads[rows] if rows < len(heads) else at
    return RecordFrames(begin, stop, good, after, bool(rows < len(heads) and not right[rows]))


def _stored(data: Bytes, at: Sequence[int] | Int64s) -> UInt32s:
    """Checksums as they lie there."""
    places = np.asarray(at, np.int64)[:, None] + np.arange(4)
    return np.asarray(np.ascontiguousarray(data[places]).view("<u4").ravel(), np.uint32)

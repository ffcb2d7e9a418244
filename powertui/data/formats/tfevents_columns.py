"""Records that hold one scalar each, which is nearly all of a long training's: whole windows of
them at once, as columns.

What is anything else (graphs, several values, tensors of another form, what is malformed) is told
by its row, for protobuf to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Floats, Int64s
from powertui.data.wire import FIXED32, FIXED64, LEN, VARINT

_SCALARS = b"scalars"
_LONGEST = 256  # bytes of a tag
_FEW = 64  # rows that are looked at one by one
_WALL = (3e8, 7.3e9)  # Unix seconds: anything else is no time of a run
_S = 1_000_000_000


class ScalarColumns(NamedTuple):
    """One tag's scalars of one window."""

    tag: str
    row: Int64s  # of the window's records
    step: Int64s
    wall_ns: Int64s
    value: Floats
    bare: Bools  # it names no plugin: then what an earlier record of its tag says holds


class WindowRecords(NamedTuple):
    """What the records of a window are."""

    scalars: list[ScalarColumns]
    rest: Int64s  # rows that are none of these


def scan(data: wire.types.Bytes, lo: Int64s, hi: Int64s) -> WindowRecords:
    """The records that lie from `lo` to `hi`."""
    rows = np.arange(len(lo))
    event = wire.pick(data, lo, hi, [wire.tag(1, FIXED64), wire.tag(2, VARINT), wire.tag(5, LEN)])
    wall = event.value[0].view(np.float64)
    good = (
        event.present[0]
        & event.present[2]
        & np.isfinite(wall)
        & (wall > _WALL[0])
        & (wall < _WALL[1])
    )
    good &= (
        event.end[2] == hi
    )  # the summary stands last, and it stands in for all else that an event may hold
    good &= data[lo] == 0x09
    step = np.where(event.present[1], event.value[1], 0)
    behind = lo + 9 + np.where(event.present[1], 1 + _varint_length(event.value[1]), 0)
    start, stop = event.value[2], event.end[2]
    good &= start - 1 - _varint_length(stop - start) == behind  # nothing lies between
    good &= step >= 0
    rows, start, stop = rows[good], start[good], stop[good]
    if not len(rows):
        return WindowRecords([], np.flatnonzero(~good))
    inner = wire.pick(data, start, stop, [wire.tag(1, LEN)])
    one = (
        inner.present[0]
        & (inner.end[0] == stop)
        & (start + 1 + _varint_length(inner.end[0] - inner.value[0]) == inner.value[0])
    )
    rows, start, stop = rows[one], inner.value[0][one], inner.end[0][one]
    value, known, tag_lo, tag_hi, bare = _values(data, start, stop)
    rows, value, tag_lo, tag_hi, bare = (
        rows[known],
        value[known],
        tag_lo[known],
        tag_hi[known],
        bare[known],
    )
    found: list[ScalarColumns] = []
    taken = np.zeros(len(lo), np.bool_)
    seconds = np.floor(wall)
    for tag, mine in _by_tag(data, tag_lo, tag_hi):
        at = rows[mine]
        taken[at] = True
        whole = seconds[at].astype(np.int64) * _S + np.rint((wall[at] - seconds[at]) * _S).astype(
            np.int64
        )
        found.append(
            ScalarColumns(tag, at, step[at].astype(np.int64), whole, value[mine], bare[mine])
        )
    return WindowRecords(found, np.flatnonzero(~taken))


def _values(
    data: wire.types.Bytes, lo: Int64s, hi: Int64s
) -> tuple[Floats, Bools, Int64s, Int64s, Bools]:
    """(the number of each summary value, whether it is a plain one, where its tag lies, whether it
    names no plugin).
    """
    tags = [
        wire.tag(1, LEN),
        wire.tag(2, FIXED32),
        wire.tag(8, LEN),
        wire.tag(9, LEN),
        wire.tag(4, LEN),
        wire.tag(5, LEN),
        wire.tag(6, LEN),
    ]
    found = wire.pick(data, lo, hi, tags)
    name, simple, tensor, metadata = found.present[:4]
    known = (
        name
        & ~found.present[4:].any(axis=0)
        & (simple ^ tensor)
        & (found.end[0] - found.value[0] <= _LONGEST)
    )
    value = np.full(len(lo), np.nan)
    value[simple] = (
        found.value[1][simple].astype(np.uint32).view(np.float32) if simple.any() else value[simple]
    )
    bare = ~metadata
    if metadata.any():
        rows = np.flatnonzero(metadata)
        known[rows] &= _is_scalars(data, found.value[3][rows], found.end[3][rows])
    if tensor.any():
        rows = np.flatnonzero(tensor & known)
        numbers, good = _tensors(data, found.value[2][rows], found.end[2][rows])
        value[rows] = numbers
        known[rows] &= good
    return value, known, found.value[0], found.end[0], bare


def _is_scalars(data: wire.types.Bytes, lo: Int64s, hi: Int64s) -> Bools:
    """Whether each metadata names the plugin of scalars."""
    plugin = wire.pick(data, lo, hi, [wire.tag(1, LEN)])
    name = wire.pick(data, plugin.value[0], plugin.end[0], [wire.tag(1, LEN)])
    good = plugin.present[0] & name.present[0] & (name.end[0] - name.value[0] == len(_SCALARS))
    at = np.where(good, name.value[0], 0)
    for offset, byte in enumerate(_SCALARS):
        good &= data[np.minimum(at + offset, len(data) - 1)] == byte
    return np.asarray(good)


def _tensors(data: wire.types.Bytes, lo: Int64s, hi: Int64s) -> tuple[Floats, Bools]:
    """The number of each tensor that is a scalar of 32 or 64 bits, and whether it is one."""
    tags = [
        wire.tag(1, VARINT),
        wire.tag(2, LEN),
        wire.tag(4, LEN),
        wire.tag(5, LEN),
        wire.tag(6, LEN),
        wire.tag(5, FIXED32),
    ]
    found = wire.pick(data, lo, hi, tags)
    plain = ~found.present[1] | (found.end[1] == found.value[1])  # a shape without dimensions
    out = np.full(len(lo), np.nan)
    good = np.zeros(len(lo), np.bool_)
    for row, kind, width in (
        (2, 1, 4),
        (2, 2, 8),
        (3, 1, 4),
        (4, 2, 8),
    ):  # content or values; float or double
        mine = (
            found.present[row]
            & plain
            & (found.value[0] == kind)
            & (found.end[row] - found.value[row] == width)
            & ~good
        )
        if mine.any():
            at = found.value[row][mine][:, None] + np.arange(width)
            out[mine] = data[at].copy().view("<f4" if width == 4 else "<f8").ravel()
            good |= mine
    single = found.present[5] & plain & (found.value[0] == 1) & ~good
    if single.any():
        out[single] = found.value[5][single].astype(np.uint32).view(np.float32)
        good |= single
    return out, good


def _varint_length(value: Int64s) -> Int64s:
    """Bytes of each number, written as short as it goes."""
    out = np.ones(len(value), np.int64)
    left = value.view(np.uint64) >> np.uint64(7)
    while left.any():
        out += left > 0
        left >>= np.uint64(7)
    return out


def _by_tag(data: wire.types.Bytes, lo: Int64s, hi: Int64s) -> list[tuple[str, Int64s]]:
    """Rows of each tag, in their order; tags by length, and by their letters."""
    if len(lo) <= _FEW:
        return _by_tag_of_few(data, lo.tolist(), hi.tolist())
    length = hi - lo
    found: dict[str, list[Int64s]] = {}
    for size in np.unique(length).tolist():
        rows = np.flatnonzero(length == size)
        if not size:
            found.setdefault("", []).append(rows)
            continue
        letters = np.ascontiguousarray(data[lo[rows][:, None] + np.arange(size)])
        first, inverse = _same(letters)
        order = np.argsort(inverse, kind="stable")
        bounds = np.searchsorted(inverse[order], np.arange(len(first) + 1))
        for number, row in enumerate(first.tolist()):
            text = letters[row].tobytes().decode(errors="replace")
            found.setdefault(text, []).append(rows[order[bounds[number] : bounds[number + 1]]])
    return [
        (tag, np.concatenate(parts) if len(parts) > 1 else parts[0]) for tag, parts in found.items()
    ]


def _by_tag_of_few(
    data: wire.types.Bytes, lo: Sequence[int], hi: Sequence[int]
) -> list[tuple[str, Int64s]]:
    """The same, row by row: what is made ready for many takes longer than to look at a few."""
    rows: dict[bytes, list[int]] = {}
    for row, (first, end) in enumerate(zip(lo, hi, strict=True)):
        rows.setdefault(data[first:end].tobytes(), []).append(row)
    found: dict[str, list[int]] = {}
    for tag in sorted(rows, key=lambda tag: (len(tag), tag)):
        found.setdefault(tag.decode(errors="replace"), []).extend(rows[tag])
    return [(tag, np.array(mine, np.int64)) for tag, mine in found.items()]


def _same(letters: wire.types.Bytes) -> tuple[Int64s, Int64s]:
    """(a row of each text, which of them every row is)."""
    keys = letters.view([("", f"V{letters.shape[1]}")]).ravel()
    _, first, inverse = np.unique(
        keys.view(f"S{letters.shape[1]}") if 0 not in letters else keys,
        return_index=True,
        return_inverse=True,
    )
    return first.astype(np.int64), inverse.ravel().astype(np.int64)

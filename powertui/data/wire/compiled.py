"""The calls of `pure`, answered by scan.c: this side makes the columns, that side fills them without the GIL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import powertui.data.wire._scan as _scan  # not `from …`: a missing scanner must be told from one that does not load
from powertui.data.wire.types import (
    Bytes,
    Columns,
    Hop,
    Int64s,
    Picked,
    RawStat,
    Scan,
    StatScan,
    UInt8s,
    as_positions,
)


def hop(data: Bytes, lo: int, hi: int, skip: int = 0) -> Hop:
    """The fields of one message. See the package's docstring."""
    fields, skipped, bad = _scan.hop(data.data, lo, hi, skip)
    number, wire, value, start, end = np.frombuffer(fields, np.int64).reshape(-1, 5).T
    return Hop(number, wire.astype(np.uint8), value, start, end, skipped, bad)


def pick(data: Bytes, lo: Int64s, hi: Int64s, tags: Sequence[int]) -> Picked:
    """Chosen fields of many messages. See the package's docstring."""
    shape = (len(tags), len(lo))
    present, value, end = np.zeros(shape, np.bool_), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    bad = _scan.pick(data.data, _i64(lo).data, _i64(hi).data, _i64(tags).data, _flat(present), _flat(value), _flat(end))
    return Picked(present, value, end, bad)


def scan_events(data: Bytes, lo: int, hi: int, base: int, columns: Columns, at: int, limit: int = 1 << 62) -> Scan:
    """Events of one line into columns. See the package's docstring."""
    into = (columns.id.data, columns.start.data, columns.duration.data, columns.position.data)
    rows, place, counted, wide, wide_ids, dropped, bad = _scan.scan_events(data.data, lo, hi, base, *into, at, limit)
    return Scan(rows, place, _column(counted), _column(wide), _column(wide_ids), dropped, bad)


def stats(data: Bytes, lo: int, hi: int, field: int) -> list[RawStat]:
    """The stats in one message. See the package's docstring."""
    return _scan.stats(data.data, lo, hi, field)


def event_stats(data: Bytes, position: int) -> list[RawStat]:
    """The stats of one event. See the package's docstring."""
    return _scan.event_stats(data.data, position)


def scan_stats(data: Bytes, positions: npt.NDArray[np.uint64], ids: Sequence[int]) -> StatScan:
    """Chosen stats of many events. See the package's docstring."""
    shape = (len(ids), len(positions))
    kind, bits, end = np.zeros(shape, np.uint8), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    _scan.scan_stats(data.data, as_positions(positions).data, _i64(ids).data, _flat(kind), _flat(bits), _flat(end))
    return StatScan(kind, bits, end)


def nest(start: Int64s, duration: Int64s) -> UInt8s:
    """How deep each event of a line lies. See the package's docstring."""
    lanes = np.empty(len(start), np.uint8)
    _scan.nest(_i64(start).data, _i64(duration).data, lanes.data)
    return lanes


def _i64(values: Sequence[int] | npt.NDArray[Any]) -> Int64s:
    return np.ascontiguousarray(values, np.int64)


def _column(packed: bytes) -> Int64s:
    return np.frombuffer(packed, np.int64)


def _flat(table: npt.NDArray[Any]) -> memoryview:
    return table.reshape(-1).view(np.uint8).data

"""The calls of `pure.cells`, answered by scan/: what the cells of a picture show of the events."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import powertui.data.wire._scan as _scan
from powertui.data.wire.types import Int32s, Int64s, PlacedAtEdges, UInt8s


def at_edges(
    times: tuple[Int64s, Int64s],
    before: Int64s,
    guide: Int64s,
    lanes: tuple[Int64s, Int64s],
    edges: Int64s,
    made: PlacedAtEdges,
) -> None:
    """How the events of lanes are placed at edges. See pure/cells.py."""
    start, duration = times
    lo, hi = lanes
    _scan.at_edges(
        _i64(start).data,
        _i64(duration).data,
        before.data,
        guide.data,
        _i64(lo).data,
        _i64(hi).data,
        _i64(edges).data,
        *[_flat(column) for column in made],
    )


def dominant(
    duration: Int64s,
    index: tuple[UInt8s, Int32s],
    edges: Int64s,
    made: PlacedAtEdges,
    events: Int64s,
) -> None:
    """The event that covers most of each cell. See pure/cells.py."""
    top, table = index
    _scan.dominant(
        _i64(duration).data,
        top.data,
        _flat(table),
        _i64(edges).data,
        _flat(made.at),
        _flat(made.over),
        _flat(made.length),
        _flat(events),
    )


def rows_at(
    times: tuple[Int64s, Int64s],
    before: Int64s,
    within: tuple[Int64s, Int64s],
    positions: Int64s,
) -> tuple[Int64s, Int64s]:
    """The events in which summed-up durations reach positions. See pure/cells.py."""
    start, duration = times
    first, last = within
    row = np.empty(positions.shape, np.int64)
    moment = np.empty(positions.shape, np.int64)
    _scan.rows_at(
        _i64(start).data,
        _i64(duration).data,
        before.data,
        _i64(first).data,
        _i64(last).data,
        _flat(_i64(positions)),
        _flat(row),
        _flat(moment),
    )
    return row, moment


def _i64(values: Int64s) -> Int64s:
    return np.ascontiguousarray(values, np.int64)


def _flat(table: npt.NDArray[Any]) -> memoryview:
    return table.reshape(-1).view(np.uint8).data

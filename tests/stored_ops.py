"""Op and kernel tables that TensorFlow or TensorBoard's profiler stored beside a profile: what ours
are held against.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from powertui.data import wire
from powertui.data.wire.types import Bytes
from tests.stored import text_at


class Op(NamedTuple):
    """One row of tensorflow_stats, or of today's framework_op_stats."""

    side: str
    type: str
    name: str
    occurrences: int
    total_us: float
    self_us: float
    eager: bool
    device_share: float
    host_share: float


class Kernel(NamedTuple):
    """One row of kernel_stats. Geometry is left out: the files of TensorFlow hold none."""

    name: str
    op: str
    uses: bool
    eligible: bool
    occurrences: int
    total_ns: int
    min_ns: int
    max_ns: int


def ops(path: Path, table: int = 0) -> list[Op]:
    """The rows of `*.tensorflow_stats.pb` or of the tool's JSON: those with idle time (0), or those
    without (1).
    """
    if path.suffix == ".json":
        found = json.loads(path.read_text())[table]
        at = {column["id"]: place for place, column in enumerate(found["cols"])}
        rows = [[cell["v"] for cell in row["c"]] for row in found["rows"]]
        return [
            Op(
                row[at["host_or_device"]],
                row[at["type"]],
                row[at["operation"]],
                int(row[at["occurrences"]]),
                row[at["total_time"]],
                row[at["total_self_time"]],
                row[at["eager"]] == "Eager",
                row[at["device_total_self_time_percent"]],
                row[at["host_total_self_time_percent"]],
            )
            for row in rows
        ]
    data = np.frombuffer(path.read_bytes(), np.uint8)
    whole = wire.hop(data, 0, len(data))
    out = []
    for at, end in _messages(data, *whole.payload(4 + table), 1):
        row = wire.hop(data, at, end)
        number = {field: _double(row, field) for field in (6, 8, 10, 12)}
        text = {field: text_at(data, *row.payload(field)) for field in (2, 3, 4)}
        out.append(
            Op(
                text[2],
                text[3],
                text[4],
                row.integer(5),
                number[6],
                number[8],
                bool(row.integer(18)),
                number[10],
                number[12],
            )
        )
    return out


def kernels(path: Path) -> list[Kernel]:
    """The rows of `*.kernel_stats.pb`."""
    data = np.frombuffer(path.read_bytes(), np.uint8)
    out = []
    for at, end in _messages(data, 0, len(data), 1):
        row = wire.hop(data, at, end)
        out.append(
            Kernel(
                text_at(data, *row.payload(1)),
                text_at(data, *row.payload(12)),
                bool(row.integer(10)),
                bool(row.integer(11)),
                row.integer(13),
                row.integer(7),
                row.integer(8),
                row.integer(9),
            )
        )
    return out


def _messages(data: Bytes, lo: int, hi: int, field: int) -> list[tuple[int, int]]:
    first, last = wire.hop(data, lo, hi).ranges(field)
    return list(zip(first.tolist(), last.tolist(), strict=True))


def _double(message: Any, field: int) -> float:
    found = message.value[message.number == field]
    return float(found[-1:].view(np.float64)[0]) if len(found) else 0.0

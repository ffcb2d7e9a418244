"""What an export sampled or counted over time: metrics of GPUs, and memory in use."""

from __future__ import annotations

import re

import numpy as np

from powertui.data.formats.builder import MAX_COUNTERS, TraceBuilder
from powertui.data.formats.nsys.database import MISSING, NsysDatabase
from powertui.data.formats.nsys.identities import Identities
from powertui.data.formats.registry import Progress
from powertui.data.model import PS_PER_NS, Int64s

_METRICS, _METRIC_NAMES = "GPU_METRICS", "TARGET_INFO_GPU_METRICS"
_MEMORY = "CUDA_GPU_MEMORY_USAGE_EVENTS"
_GPU_MASK = 0xFF  # of a metric's type: the GPU that it was sampled on
_ALLOCATED, _FREED = 0, 1  # of `memoryOperationType`
_DEVICE_MEMORY = (2, 3, 5)  # of `memKind`: device, array, static of the device
_LONGEST_NS = 1 << 51  # as builder.LIMIT_PS
_UNIT = re.compile(r"^(.*\S)\s*\[([^\]]*)\]$")
_UNITS = {"Throughput %": "%", "%": "%", "MHz": "MHz", "W": "W", "mW": "mW", "Watts": "W"}


def add_counters(
    database: NsysDatabase, builder: TraceBuilder, identities: Identities, progress: Progress
) -> None:
    """All of them, to the trace."""
    if database.has(_METRICS, "timestamp", "metricId", "value"):
        _add_metrics(database, builder, progress)
    if database.has(_MEMORY, "start", "bytes", "memoryOperationType"):
        _add_memory(database, builder, identities, progress)


def _add_metrics(database: NsysDatabase, builder: TraceBuilder, progress: Progress) -> None:
    names: dict[tuple[int, int], str] = {}
    columns = ["typeId", "metricId", "metricName"]
    for row in database.rows(_METRIC_NAMES, columns, MAX_COUNTERS):
        if isinstance(row.get("metricId"), int) and isinstance(row.get("metricName"), str):
            type_id = row.get("typeId")
            key = type_id if isinstance(type_id, int) else MISSING
            names[key, row["metricId"]] = row["metricName"]
    read = database.integers(_METRICS, ["timestamp", "typeId", "metricId", "value"], progress)
    type_ids, type_of = np.unique(read["typeId"], return_inverse=True)
    metric_ids, metric_of = np.unique(read["metricId"], return_inverse=True)
    code = type_of.ravel().astype(np.int64) * len(metric_ids) + metric_of.ravel()
    is_possible = np.abs(read["timestamp"]) < _LONGEST_NS
    for number in np.unique(code)[:MAX_COUNTERS].tolist():
        rows = np.flatnonzero((code == number) & is_possible)
        type_id = int(type_ids[number // len(metric_ids)])
        metric = int(metric_ids[number % len(metric_ids)])
        title = names.get((type_id, metric)) or names.get((MISSING, metric)) or f"metric {metric}"
        label, unit = _named(title)
        gpu = type_id & _GPU_MASK if type_id != MISSING else 0
        builder.counter(
            label,
            unit,
            f"/device:GPU:{gpu}",
            read["timestamp"][rows] * PS_PER_NS,
            read["value"][rows].astype(np.float64),
        )


def _named(title: str) -> tuple[str, str]:
    """A metric's name and its unit: "SMs Active [Throughput %]"."""
    match = _UNIT.match(title)
    if match is None:
        return title, ""
    unit = _UNITS.get(match[2])
    if unit is not None:
        return (match[1], unit)
    return (title, "")


def _add_memory(
    database: NsysDatabase, builder: TraceBuilder, identities: Identities, progress: Progress
) -> None:
    wanted = ["start", "globalPid", "deviceId", "bytes", "memKind", "memoryOperationType"]
    read = database.integers(_MEMORY, wanted, progress)
    operation = read["memoryOperationType"]
    sign = np.where(operation == _ALLOCATED, 1, np.where(operation == _FREED, -1, 0))
    kind = read["memKind"]
    on_device = (kind == MISSING) | np.isin(kind, _DEVICE_MEMORY)
    is_counted = (sign != 0) & on_device & (np.abs(read["start"]) < _LONGEST_NS)
    gpus = identities.gpus(read["globalPid"], read["deviceId"])
    for gpu in np.unique(gpus[is_counted]).tolist():
        rows = np.flatnonzero(is_counted & (gpus == gpu))
        rows = rows[np.argsort(read["start"][rows], kind="stable")]
        changes: Int64s = (sign * read["bytes"])[rows]
        builder.counter(
            f"allocated GPU {gpu} since the start",
            "bytes",
            "memory",
            read["start"][rows] * PS_PER_NS,
            np.cumsum(changes.astype(np.float64)),
        )

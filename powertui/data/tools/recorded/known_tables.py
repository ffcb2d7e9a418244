"""Tables of recorded results that a page of powertui has too: there they have the same ids, so that
both can be held side by side.
"""

from __future__ import annotations

from powertui.data.columns import ColumnKind
from powertui.data.model import PS_PER_NS, PS_PER_US
from powertui.value_types import dataclass

PS_PER_MS = 1000 * PS_PER_US


@dataclass(frozen=True)
class KnownColumn:
    """How a field is shown: its id and label here, its kind, and what turns its value into the unit
    that columns of that kind have.
    """

    id: str
    label: str
    kind: ColumnKind
    scale: float = 1.0
    unit: str = ""
    weight: int = 3


@dataclass(frozen=True)
class KnownTable:
    """A table that a page has too."""

    id: str
    title: str
    noun: str
    key: tuple[str, ...]
    columns: dict[str, KnownColumn]


def _text(id: str, label: str, weight: int) -> KnownColumn:
    return KnownColumn(id, label, "text", weight=weight)


def _us(id: str, label: str, weight: int) -> KnownColumn:
    return KnownColumn(id, label, "duration", PS_PER_US, "us", weight)


def _ms(id: str, label: str, weight: int = 4) -> KnownColumn:
    return KnownColumn(id, label, "duration", PS_PER_MS, "ms", weight)


def _ns(id: str, label: str, weight: int) -> KnownColumn:
    return KnownColumn(id, label, "duration", PS_PER_NS, "us", weight)


def _count(id: str, label: str, weight: int) -> KnownColumn:
    return KnownColumn(id, label, "integer", weight=weight)


def _share(id: str, label: str, weight: int) -> KnownColumn:
    return KnownColumn(id, label, "share", weight=weight)


_FRAMEWORK_OPS = {
    "rank": _count("rank", "rank", 1),
    "host_or_device": _text("host_or_device", "side", 6),
    "op_type": _text("type", "type", 5),
    "op_name": _text("operation", "op", 9),
    "occurrences": _count("occurrences", "count", 7),
    "total_time_in_us": _us("total_time", "total", 6),
    "avg_time_in_us": _us("avg_time", "average", 3),
    "total_self_time_in_us": _us("total_self_time", "self", 9),
    "avg_self_time_in_us": _us("avg_self_time", "average self", 2),
    "device_total_self_time_as_fraction": _share("device_total_self_time_percent", "of device", 5),
    "device_cumulative_total_self_time_as_fraction": _share(
        "device_cumulative_total_self_time_percent", "summed up", 2
    ),
    "host_total_self_time_as_fraction": _share("host_total_self_time_percent", "of host", 5),
    "host_cumulative_total_self_time_as_fraction": _share(
        "Host_cumulative_total_self_time_percent", "summed up", 2
    ),
    "measured_flop_rate": KnownColumn("measured_gflop_rate", "GFLOP/s", "number"),
    "measured_memory_bw": KnownColumn("measured_memory_bw_recorded", "memory", "number"),
    "operational_intensity": KnownColumn("operational_intensity", "FLOP/B", "number", weight=2),
    "bound_by": _text("bound_by", "bound by", 2),
    "is_eager": KnownColumn("is_eager", "eager", "flag", weight=2),
    "gpu_tensorcore_utilization": _share("gpu_tensorcore_utilization", "tensor cores", 2),
}
_KERNELS = {
    "name": _text("kernel_name", "kernel", 9),
    "registers_per_thread": _count("registers_per_thread", "registers", 2),
    "static_shmem_bytes": _count("static_shmem_bytes", "static shared", 1),
    "dynamic_shmem_bytes": _count("dynamic_shmem_bytes", "dynamic shared", 1),
    "block_dim": _text("block_dim", "block", 2),
    "grid_dim": _text("grid_dim", "grid", 2),
    "total_duration_ns": _ns("total_duration_us", "total", 9),
    "min_duration_ns": _ns("min_duration_us", "shortest", 3),
    "max_duration_ns": _ns("max_duration_us", "longest", 4),
    "is_kernel_using_tensor_core": KnownColumn("is_kernel_using_tensor_core", "uses TC", "flag"),
    "is_op_tensor_core_eligible": KnownColumn(
        "is_op_tensor_core_eligible", "could use TC", "flag", weight=1
    ),
    "op_name": _text("op_name", "op", 5),
    "occurrences": _count("occurrences", "count", 7),
    "occupancy_pct": KnownColumn("occupancy_pct", "occupancy", "share", 0.01, "%", 2),
}
_STEPS = {
    "step_number": _count("step_number", "step", 9),
    "step_name": _text("step_name", "name", 5),
    "step_time_ms": _ms("stepTimeMs", "step time", 9),
    "unknown_time_ms": _ms("otherTimeMs", "all others", 7),
    "host_wait_input_ms": _ms("hostWaitInputMs", "waits for input", 6),
    "host_to_device_ms": _ms("hostToDeviceMs", "to the device", 5),
    "output_ms": _ms("outfeedTimeMs", "output"),
    "device_compute_ms": _ms("deviceComputeTimeMs", "device compute", 8),
    "device_to_device_ms": _ms("deviceToDeviceTimeMs", "device to device"),
    "device_collectives_ms": _ms("deviceCollectivesTimeMs", "collectives"),
    "host_compute_ms": _ms("hostComputeTimeMs", "host compute", 6),
    "host_prepare_ms": _ms("kernelLaunchTimeMs", "kernel launch", 5),
    "host_compile_ms": _ms("compileTimeMs", "compilation"),
}
_INPUT_OPS = {
    "op_name": _text("opName", "op", 9),
    "count": _count("count", "count", 6),
    "time_in_ms": _ms("timeInMs", "total", 5),
    "time_in_percent": KnownColumn("timeInPercent", "share of total", "share", 0.01, "", 3),
    "self_time_in_ms": _ms("selfTimeInMs", "self", 8),
    "self_time_in_percent": KnownColumn("selfTimeInPercent", "share of self", "share", 0.01, "", 4),
    "category": _text("category", "category", 5),
}
_TOP_OPS = {
    "name": _text("operation", "op", 9),
    "category": _text("category", "category", 4),
    "self_time_fraction": KnownColumn("selfTimePercent", "time", "share", 1.0, "%", 8),
    "cumulative_time_fraction": KnownColumn(
        "cumulativeTimePercent", "summed up", "share", 1.0, "%", 4
    ),
    "flop_rate": KnownColumn("flopRate", "GFLOP/s", "number"),
    "is_op_tensorcore_eligible": KnownColumn("tcEligibility", "could use TC", "flag", weight=1),
    "is_op_using_tensorcore": KnownColumn("tcUtilization", "uses TC", "flag", weight=2),
}

# By the path to the table in its document.
_KNOWN_TABLES = {
    "with_idle.tf_stats_record": KnownTable(
        "with_idle", "With idle time", "op", ("host_or_device", "operation"), _FRAMEWORK_OPS
    ),
    "without_idle.tf_stats_record": KnownTable(
        "without_idle", "Without idle time", "op", ("host_or_device", "operation"), _FRAMEWORK_OPS
    ),
    "reports": KnownTable(
        "kernels", "Kernels, longest total first", "kernel", ("kernel_name", "op_name"), _KERNELS
    ),
    "step_details": KnownTable("steps", "Steps by category", "step", ("step_number",), _STEPS),
    "input_op_details": KnownTable(
        "host_ops", "What the host does for the input", "op", ("opName",), _INPUT_OPS
    ),
    "top_device_ops": KnownTable(
        "top_ops", "The ops that took most time on the device", "op", ("operation",), _TOP_OPS
    ),
}


def known_table(path: str) -> KnownTable | None:
    """The table of this path; the overview holds that of the input pipeline one level down."""
    last_part = path.rpartition(".")[2]
    return _KNOWN_TABLES.get(path) or _KNOWN_TABLES.get(last_part)

"""Which tables of which tools are compared: what identifies a row, and when two cells are equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

# The cells of a row by column: texts, numbers, yes or no, None.
Cell: TypeAlias = "str | float | bool | None"
Row: TypeAlias = "Mapping[str, Any]"
# The tables of one profile, by "tool/table".
Tables: TypeAlias = "dict[str, list[Row]]"

# Cells may differ by this much and are equal. The converter rounds times to whole nanoseconds, and
# the figures of its overview to one decimal.
EXACT = 0.0
NS_IN_MS = 2e-6
NS_IN_US = 2e-3
NS_IN_PS = 2e3
ONE_DECIMAL = 0.0501


@dataclass(frozen=True)
class ComparedTable:
    """One table that both sides have."""

    tool: str
    name: str
    key: tuple[str, ...]  # the columns that identify a row
    tolerance: Mapping[str, float]  # of each compared column; the key's are among them
    in_order: bool = False  # rows that no key pairs are paired by their order

    @property
    def id(self) -> str:
        """Its name among all tables."""
        return f"{self.tool}/{self.name}"


_STEPS = MappingProxyType(
    {
        "stepnum": EXACT,
        "deviceComputeTimeMs": NS_IN_MS,
        "deviceToDeviceTimeMs": NS_IN_MS,
        "deviceCollectivesTimeMs": NS_IN_MS,
        "hostComputeTimeMs": NS_IN_MS,
        "kernelLaunchTimeMs": NS_IN_MS,
        "infeedTimeMs": NS_IN_MS,
        "outfeedTimeMs": NS_IN_MS,
        "compileTimeMs": NS_IN_MS,
        "otherTimeMs": NS_IN_MS,
        "stepTimeMs": NS_IN_MS,
    }
)
_FIGURES = MappingProxyType({"value": ONE_DECIMAL})
_FRAMEWORK_OPS = MappingProxyType(
    {
        "host_or_device": EXACT,
        "type": EXACT,
        "operation": EXACT,
        "occurrences": EXACT,
        "total_time": NS_IN_US,
        "avg_time": NS_IN_US,
        "total_self_time": NS_IN_US,
        "avg_self_time": NS_IN_US,
        "device_total_self_time_percent": EXACT,
        "host_total_self_time_percent": EXACT,
        "measured_flop_rate": EXACT,
        "model_flop_rate": EXACT,
        "measured_memory_bw": EXACT,
        "operational_intensity": EXACT,
        "gpu_tensorcore_utilization": EXACT,
        "bound_by": EXACT,
        "eager": EXACT,
    }
)
_TREE = MappingProxyType({"path": EXACT, "time_ps": NS_IN_PS, "occurrences": EXACT})
# Bytes at most, in the window and ever.
_ALLOCATORS = MappingProxyType(
    {"allocator": EXACT, "peak_bytes": EXACT, "lifetime_peak_bytes": EXACT}
)
# Bytes of a program as XLA planned them; the converter answers in MiB.
_PROGRAMS = MappingProxyType(
    {
        "program": EXACT,
        "peak": EXACT,
        "peak_unpadded": EXACT,
        "parameters": EXACT,
        "outputs": EXACT,
        "allocated": EXACT,
        "fixed": EXACT,
    }
)
# The converter puts buffers at the peak that are smaller into one row.
MIN_BUFFER_BYTES = 16_384

TABLES = (
    ComparedTable("overview_page", "figures", ("figure",), _FIGURES),
    ComparedTable("overview_page", "steps", ("stepnum",), _STEPS, in_order=True),
    ComparedTable(
        "overview_page",
        "top_ops",
        ("category", "operation"),
        {
            "category": EXACT,
            "operation": EXACT,
            "selfTimePercent": EXACT,
            "flopRate": EXACT,
            "tcEligibility": EXACT,
            "tcUtilization": EXACT,
        },
    ),
    ComparedTable("input_pipeline_analyzer", "figures", ("figure",), _FIGURES),
    ComparedTable("input_pipeline_analyzer", "steps", ("stepnum",), _STEPS, in_order=True),
    ComparedTable(
        "input_pipeline_analyzer",
        "host_ops",
        ("opName", "category"),
        {
            "opName": EXACT,
            "count": EXACT,
            "timeInMs": NS_IN_MS,
            "timeInPercent": EXACT,
            "selfTimeInMs": NS_IN_MS,
            "selfTimeInPercent": EXACT,
            "category": EXACT,
        },
    ),
    ComparedTable(
        "framework_op_stats", "with_idle", ("host_or_device", "type", "operation"), _FRAMEWORK_OPS
    ),
    ComparedTable(
        "framework_op_stats",
        "without_idle",
        ("host_or_device", "type", "operation"),
        _FRAMEWORK_OPS,
    ),
    ComparedTable(
        "kernel_stats",
        "kernels",
        ("kernel_name", "block_dim", "grid_dim", "op_name"),
        {
            "kernel_name": EXACT,
            "registers_per_thread": EXACT,
            "shmem_bytes": EXACT,
            "block_dim": EXACT,
            "grid_dim": EXACT,
            "occupancy_pct": EXACT,
            "is_op_tensor_core_eligible": EXACT,
            "is_kernel_using_tensor_core": EXACT,
            "op_name": EXACT,
            "occurrences": EXACT,
            "total_duration_us": NS_IN_US,
            "avg_duration_us": NS_IN_US,
            "min_duration_us": NS_IN_US,
            "max_duration_us": NS_IN_US,
        },
    ),
    ComparedTable(
        "hlo_stats",
        "hlo_stats",
        ("program_id", "hlo_op_name"),
        {
            "program_id": EXACT,
            "category": EXACT,
            "hlo_op_name": EXACT,
            "hlo_op_expression": EXACT,
            "tf_op_name": EXACT,
            "occurrences": EXACT,
            "total_time": NS_IN_US,
            "avg_time": NS_IN_US,
            "total_self_time": NS_IN_US,
            "avg_self_time": NS_IN_US,
            "total_self_time_percent": EXACT,
            "dma_stall_percent": EXACT,
            "model_flop_rate": EXACT,
            "normalized_flop_rate": EXACT,
            "measured_memory_bw": EXACT,
            "hbm_bw": EXACT,
            "cmem_read_bw": EXACT,
            "cmem_write_bw": EXACT,
            "operational_intensity": EXACT,
            "bound_by": EXACT,
            "hlo_rematerialization": EXACT,
            "outside_compilation": EXACT,
            "autotuned": EXACT,
            "source_info": EXACT,
        },
    ),
    ComparedTable("op_profile", "by_program", ("path",), _TREE),
    ComparedTable("op_profile", "by_category", ("path",), _TREE),
    ComparedTable(
        "memory_profile",
        "peak",
        ("allocator", "op", "bytes", "requested_bytes", "region", "dtype", "shape"),
        {
            "allocator": EXACT,
            "op": EXACT,
            "bytes": EXACT,
            "occurrences": EXACT,
            "requested_bytes": EXACT,
            "region": EXACT,
            "dtype": EXACT,
            "shape": EXACT,
        },
    ),
    ComparedTable("memory_profile", "allocators", ("allocator",), _ALLOCATORS),
    ComparedTable("memory_viewer", "programs", ("program",), _PROGRAMS),
    ComparedTable(
        "memory_viewer",
        "buffers",
        ("program", "id"),
        {
            "buffer": EXACT,
            "size_bytes": EXACT,
            "unpadded_bytes": EXACT,
            "kind": EXACT,
            "shape": EXACT,
            "opcode": EXACT,
            "provenance": EXACT,
        },
    ),
    # Not by_provenance: the converter's begins with the program, powertui's with the scopes.
)
TOOLS = tuple(dict.fromkeys(table.tool for table in TABLES))

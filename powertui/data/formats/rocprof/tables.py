"""Which tables a capture of rocprofv3 consists of, by the names of their files."""

from __future__ import annotations

import re
from pathlib import Path

from powertui.patterns import late_pattern

# The tables that hold records with times, the most telling first; and the one that tells of the
# GPUs.
TABLES = (
    "kernel_trace",
    "counter_collection",
    "memory_copy_trace",
    "marker_api_trace",
    "hip_api_trace",
    "rccl_api_trace",
    "hsa_api_trace",
    "memory_allocation_trace",
    "scratch_memory_trace",
    "rocdecode_api_trace",
    "rocjpeg_api_trace",
)
AGENTS = "agent_info"

_TABLE = late_pattern(
    rf"(?:(?P<prefix>.*)_)?(?P<table>{'|'.join((*TABLES, AGENTS))})\.csv", re.DOTALL
)


def split_table_name(name: str) -> tuple[str, str] | None:
    """(prefix, table) of a CSV's file name; None for other names."""
    match = _TABLE.fullmatch(name)
    if match is not None:
        return (match["prefix"] or "", match["table"])
    return None


def capture_tables(path: str) -> dict[str, Path]:
    """The tables of the capture that a CSV belongs to, by table."""
    here = Path(path)
    split = split_table_name(here.name)
    if split is None:
        return {}
    return {
        table: table_path
        for table in (*TABLES, AGENTS)
        if (
            table_path := here.with_name(f"{split[0]}_{table}.csv" if split[0] else f"{table}.csv")
        ).is_file()
    }

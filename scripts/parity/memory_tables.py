"""What the converter answers about memory, as tables: allocators, and the plans of programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scripts.parity.tables import MIN_BUFFER_BYTES, Row, Tables

_MIB = 1 << 20
# Figures of a program: as we name them, and as the converter does, in MiB.
_FIGURES = {
    "peak": "peakHeapMib",
    "peak_unpadded": "peakUnpaddedHeapMib",
    "parameters": "entryComputationParametersMib",
    "outputs": "maybeLiveOutMib",
    "allocated": "totalBufferAllocationMib",
    "fixed": "nonReusableMib",
}


def memory_profile(answer: Mapping[str, Any]) -> Tables:
    """The allocators of a host, and what is in each at its peak."""
    peak: list[Row] = []
    allocators: list[Row] = []
    for name, allocator in answer.get("memoryProfilePerAllocator", {}).items():
        peak += _peak_rows(name, allocator)
        summary = allocator["profileSummary"]
        allocators.append(
            {
                "allocator": name,
                "peak_bytes": int(summary["peakStats"]["peakBytesInUse"]),
                "lifetime_peak_bytes": int(summary["peakBytesUsageLifetime"]),
            }
        )
    return {"memory_profile/peak": peak, "memory_profile/allocators": allocators}


def _peak_rows(name: str, allocator: Mapping[str, Any]) -> Iterator[Row]:
    for active in allocator["activeAllocations"]:
        snapshot, special = int(active["snapshotIndex"]), int(active["specialIndex"])
        if snapshot >= 0:
            allocation = allocator["memoryProfileSnapshots"][snapshot]["activityMetadata"]
        else:
            allocation = allocator["specialAllocations"][special]
        yield {
            "allocator": name,
            "op": allocation["tfOpName"],
            "bytes": int(allocation["allocationBytes"]),
            "occurrences": int(active["numOccurrences"]),
            "requested_bytes": int(allocation["requestedBytes"]),
            "region": allocation["regionType"],
            "dtype": allocation["dataType"],
            "shape": allocation["tensorShape"],
        }


def memory_viewer(answers: Mapping[str, Mapping[str, Any]]) -> Tables:
    """The plan of each program, and its large buffers at the peak."""
    programs: list[Row] = []
    buffers: list[Row] = []
    for program, answer in answers.items():
        figures = {ours: answer.get(theirs, 0.0) * _MIB for ours, theirs in _FIGURES.items()}
        programs.append({"program": program, **figures})
        buffers += _buffer_rows(program, answer)
    return {"memory_viewer/programs": programs, "memory_viewer/buffers": buffers}


def _buffer_rows(program: str, answer: Mapping[str, Any]) -> Iterator[Row]:
    for buffer in answer.get("maxHeap", ()):
        size = round(buffer["logicalBufferSizeMib"] * _MIB)
        if size < MIN_BUFFER_BYTES or "instructionName" not in buffer:
            continue
        yield {
            "program": program,
            "id": buffer.get("logicalBufferId", 0),
            "buffer": buffer["instructionName"],
            "size_bytes": size,
            "unpadded_bytes": round(buffer.get("unpaddedShapeMib", 0.0) * _MIB),
            "kind": buffer["groupName"],
            "shape": buffer.get("shapeString", ""),
            "opcode": buffer.get("opCode", ""),
            "provenance": buffer.get("tfOpName", ""),
        }

"""GPU kernels, as TensorBoard's `kernel_stats`: one row for each kernel, launch shape and op.

A kernel is an event of a stream that says how it was launched (`kernel_details`) and took at least a nanosecond. Rows are told
apart by name, grid, block, registers, shared memory and op; times are whole nanoseconds, as the profiler's own table has them.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from powertui.data.model import PS_PER_NS, Events, Int64s, ProcessKind, Trace, TrackKind
from powertui.data.table import Column, Place, Result, Table, text_column
from powertui.data.tools.registry import Question
from powertui.data.window import touches

ROWS = 1000  # as TensorBoard keeps them

# Parts of kernel names that only kernels on tensor cores have.
_TENSOR_CORE = re.compile(
    "16816|c1688|conv1x1|conv2d_c1_k1|dgrad_1x1_stride_2x2|direct_group|first_layer_wgrad_kernel|h1688|h884|hmma|i16832|i8816|"
    "s884|s1688|xmma_gemm|xmma_implicit_gemm|xmma_sparse_conv|xmma_sparse_gemm|xmma_warp_specialized_implicit_gemm"
)
# Ops whose work tensor cores could do.
_ELIGIBLE = re.compile(
    "(Conv2D|Conv2DBackpropFilter|Conv2DBackpropInput|Conv3D|DepthwiseConv2dNative|DepthwiseConv2dNativeBackpropFilter|"
    "DepthwiseConv2dNativeBackpropInput|/MatMul|FusedMatMul|/CudnnRNN|XlaDot|XlaDotV2)$"
    "|BatchMatMul|CudnnRNNV|CudnnRNNForward|CudnnRNNBackprop"
)
_TF_OP = re.compile(r"([A-Za-z0-9.][A-Za-z0-9_./>-]*):[A-Z_][A-Za-z0-9_]*")
_EINSUM_OF_TWO = re.compile(r"^[^,]+,[^,]+->[^,]*$")


class Launch(NamedTuple):
    """How a kernel was launched. Shapes are texts like "256,1,1"."""

    registers: int = 0
    shared: int = 0  # bytes, static and dynamic
    block: str = "1,1,1"
    grid: str = "1,1,1"
    occupancy: float | None = None  # theoretical, a share


class _Row(NamedTuple):
    """What tells one row from another."""

    kernel: str
    launch: Launch
    op: str
    eligible: bool
    tensor_core: bool


def launch(details: str) -> Launch:
    """From the profiler's text: `regs:32 static_shared:0 dynamic_shared:0 grid:4,1,1 block:64,1,1 occ_pct:50`."""
    found: dict[str, str] = {}
    for token in details.split():
        key, colon, value = token.partition(":")
        if colon and ":" not in value:
            found[key] = value
    shared = sum(_whole(found.get(key)) for key in ("static_shared", "dynamic_shared", "shm", "group_mem"))
    occupancy = found.get("occ_pct")
    return Launch(
        _whole(found.get("regs")), shared, found.get("block", "1,1,1"), found.get("grid", "1,1,1"),
        _real(occupancy) / 100 if occupancy is not None else None,
    )  # fmt: skip


def _whole(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else 0


def _real(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        return float("nan")
    return found if 0 <= found <= 100 else float("nan")


def op_of(annotation: str) -> str:
    """The op that launched a kernel, from its annotation `name:Type`; the text itself where it is no such pair."""
    found = _TF_OP.fullmatch(annotation)
    return found[1] if found else annotation


def answer(question: Question) -> Result:
    """The kernels of the window, those that took most time first."""
    trace = question.profile.trace
    found = _gather(trace, *question.window)
    table = _table(question, found)
    notes = [] if any(p.kind is ProcessKind.DEVICE for p in trace.processes) else ["This profile has no device, only the host."]
    if len(found.rows) > ROWS:
        notes.append(f"These are the {ROWS:,} rows with the most time, of {len(found.rows):,}.")
    return Result("kernel_stats", "GPU kernels", (table,), notes=tuple(notes))


class _Found(NamedTuple):
    """Rows and their figures (ns), in step; the longest occurrence of each is where the row lies."""

    rows: list[_Row]
    occurrences: Int64s
    total: Int64s
    shortest: Int64s
    longest: Int64s
    track: Int64s
    event: Int64s


def _gather(trace: Trace, lo: int, hi: int) -> _Found:
    keys: dict[_Row, int] = {}
    which: list[Int64s] = []
    times: list[Int64s] = []
    tracks: list[Int64s] = []
    places: list[Int64s] = []
    for number, (process, track) in enumerate(trace.tracks()):
        if process.kind is not ProcessKind.DEVICE or track.kind is not TrackKind.STREAM or track.derived:
            continue
        rows, ns = _inside(track.events, lo, hi)
        if not len(rows):
            continue
        stats = process.source.columns(track.events.position[rows], ("kernel_details", "tf_op", "annotation", "equation"))
        texts = [stats[name].texts for name in ("kernel_details", "tf_op", "annotation", "equation")]
        if texts[0] is None:
            continue
        known: dict[tuple[Any, ...], int] = {}
        numbers = np.full(len(rows), -1, np.int64)
        names = track.events.name[rows].tolist()
        for i, details in enumerate(texts[0]):
            if not details:
                continue
            said = (names[i], details, *(column[i] if column is not None else None for column in texts[1:]))
            if said not in known:
                known[said] = keys.setdefault(_row(trace.names.full(names[i]), *said[1:]), len(keys))
            numbers[i] = known[said]
        kept = numbers >= 0
        which.append(numbers[kept])
        times.append(ns[kept])
        tracks.append(np.full(int(kept.sum()), number, np.int64))
        places.append(rows[kept])
    return _summed(list(keys), which, times, tracks, places)


def _inside(events: Events, lo: int, hi: int) -> tuple[Int64s, Int64s]:
    """Rows that touch the window and how many whole ns of each lie in it; events below a nanosecond are none."""
    rows = np.flatnonzero(touches(events.start, events.end, lo, hi))
    ns = (np.minimum(events.end[rows], hi) - np.maximum(events.start[rows], lo)) // PS_PER_NS
    return rows[ns > 0], ns[ns > 0]


def _row(kernel: str, details: str, tf_op: str | None, annotation: str | None, equation: str | None) -> _Row:
    op = op_of(tf_op or annotation or "")
    tensor_core = _TENSOR_CORE.search(kernel) is not None
    einsum = bool(equation and _EINSUM_OF_TWO.match(equation))
    eligible = _ELIGIBLE.search(op) is not None or einsum or (bool(op) and tensor_core)
    return _Row(kernel, launch(details), op, eligible, tensor_core)


def _summed(rows: list[_Row], which: list[Int64s], times: list[Int64s], tracks: list[Int64s], places: list[Int64s]) -> _Found:
    size = len(rows)
    count, total, longest = (np.zeros(size, np.int64) for _ in range(3))
    shortest = np.full(size, np.iinfo(np.int64).max, np.int64)
    track, event = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for number, ns, on, place in zip(which, times, tracks, places, strict=True):
        np.add.at(count, number, 1)
        np.add.at(total, number, ns)
        np.minimum.at(shortest, number, ns)
        before = longest.copy()
        np.maximum.at(longest, number, ns)
        best = np.flatnonzero((ns == longest[number]) & (ns > before[number]))[::-1]
        track[number[best]], event[number[best]] = on[best], place[best]
    order = sorted(range(size), key=lambda i: (-int(total[i]), rows[i]))
    at = np.array(order, np.int64)
    return _Found([rows[i] for i in order], count[at], total[at], shortest[at], longest[at], track[at], event[at])


def _table(question: Question, found: _Found) -> Table:
    rows = found.rows[:ROWS]
    cut = slice(0, ROWS)
    occupancy = np.array([np.nan if r.launch.occupancy is None else r.launch.occupancy for r in rows], np.float64)
    average = np.divide(found.total[cut], found.occurrences[cut]).astype(np.int64) if rows else found.total[cut]
    whole = max(1, int(found.total.sum()))
    columns = (
        Column("rank", "rank", "integer", np.arange(1, len(rows) + 1), weight=1),
        text_column("kernel_name", "kernel", [r.kernel for r in rows], weight=9),
        text_column("op_name", "op", [r.op for r in rows], weight=5),
        Column("occurrences", "count", "integer", found.occurrences[cut], weight=7),
        Column("total_duration_s", "total", "duration", found.total[cut] * PS_PER_NS, weight=9),
        Column("share", "share", "share", found.total[cut] / whole, weight=8),
        Column("avg_duration_s", "average", "duration", average * PS_PER_NS, weight=6),
        Column("min_duration_s", "shortest", "duration", found.shortest[cut] * PS_PER_NS, weight=3),
        Column("max_duration_s", "longest", "duration", found.longest[cut] * PS_PER_NS, weight=4),
        Column("registers_per_thread", "registers", "integer", np.array([r.launch.registers for r in rows], np.int64), weight=2),
        Column("shmem_bytes", "shared", "integer", np.array([r.launch.shared for r in rows], np.int64), "B", weight=2),
        text_column("block_dim", "block", [r.launch.block for r in rows], weight=2),
        text_column("grid_dim", "grid", [r.launch.grid for r in rows], weight=2),
        Column("occupancy", "occupancy", "share", occupancy, weight=2),
        Column("is_op_tensor_core_eligible", "could use TC", "flag", np.array([r.eligible for r in rows], np.bool_), weight=1),
        Column("is_kernel_using_tensor_core", "uses TC", "flag", np.array([r.tensor_core for r in rows], np.bool_), weight=3),
    )

    def place(row: int) -> Place:
        track, event = int(found.track[row]), int(found.event[row])
        events = list(question.profile.trace.tracks())[track][1].events
        lo = int(events.start[event])
        return Place(question.opened.name, question.host, lo, lo + int(events.duration[event]), track, event)

    empty = "No device event says how it was launched."
    return Table("kernels", "Kernels, longest total first", columns, place, ("total_duration_s", True), empty, noun="kernel")

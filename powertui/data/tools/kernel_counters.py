"""What a GPU's hardware counters measured of each kernel: occupancy, bytes, FLOP/s, and every
counter as it was recorded.

A counter of each dispatch (rocprofv3, CUPTI's range profiler) belongs to the kernel that ran alone
between its two ends. A sampler's readings belong to a kernel as far as they lie inside it and
nothing else ran on the device meanwhile: kernels shorter than two samples have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from powertui.data.model import (
    PS_PER_S,
    Bools,
    CountedEvents,
    Counter,
    Floats,
    Int64s,
    Process,
    ProcessKind,
    Trace,
)
from powertui.data.run.device_intervals import work_tracks
from powertui.data.table import Place, Table, int_column, optional, text_column
from powertui.data.tools.registry import Question
from powertui.data.window import touches
from powertui.plain import plain
from powertui.value_types import dataclass

_MAX_KERNELS = 1_000
_MAX_COUNTERS = 16  # columns that a person can still look through; the counters tool lists all
# A longer distance between two samples is a pause of the sampler: nothing is known of it. Chosen,
# not measured; recorded samples follow each other at a fixed interval.
_MAX_SAMPLE_DISTANCES = 3

# Units of what a sampler measures as a level; of a count no one knows since when it counts.
_LEVELS = frozenset(("%", "bytes/s", "Hz", "1/s", "W", "mW", "MHz", "°C"))
_OCCUPANCY = re.compile(r"(?i)occupancy|warps_active\S*pct")
_ALL_BYTES_RATE = re.compile(r"(?i)^dram__bytes\.sum\.per_second$")
_ALL_BYTES = {"dram__bytes.sum": 1.0}
_PART_BYTES = {
    "dram__bytes_read.sum": 1.0,
    "dram__bytes_write.sum": 1.0,
    "FETCH_SIZE": 1024.0,
    "WRITE_SIZE": 1024.0,
}
# AMD counts the operations of its matrix units in 512s, those of a lane in 64 lanes of a wave.
_FLOPS = {
    re.compile(r"^SQ_INSTS_VALU_MFMA_MOPS_(?:F8|F6F4|F16|BF16|XF32|F32|F64)$"): 512.0,
    re.compile(r"^SQ_INSTS_VALU_(?:ADD|MUL|TRANS)_F(?:16|32|64)$"): 64.0,
    re.compile(r"^SQ_INSTS_VALU_FMA_F(?:16|32|64)$"): 128.0,
    re.compile(r"^smsp?__sass_thread_inst_executed_op_[dfh](?:add|mul)_pred_on\.sum$"): 1.0,
    re.compile(r"^smsp?__sass_thread_inst_executed_op_[dfh]fma_pred_on\.sum$"): 2.0,
}


@dataclass(frozen=True, eq=False)
class _DeviceKernels:
    """The kernels of one device in a window, by start."""

    process: Process
    name: Int64s
    start: Int64s
    end: Int64s
    place: tuple[Int64s, Int64s]  # the track, and the row in its columns
    alone: Bools  # nothing else ran on the device meanwhile


class _Measured(NamedTuple):
    """What one counter measured of each kernel; 0 with a weight of 0 where it did not."""

    value: Floats
    weight: Floats  # ps that the value was measured over


def kernel_counters(question: Question) -> Table | None:
    """A row for each kernel that any counter measured; None where nothing did."""
    trace = question.profile.trace
    if not trace.counters:
        return None
    lo, hi = question.window
    parts: list[_Kernel] = []
    for process in trace.processes:
        counters = [counter for counter in trace.counters if counter.process == process.name]
        if process.kind is ProcessKind.DEVICE and counters:
            ran = _device_kernels(trace, process, lo, hi)
            if ran is not None:
                parts += _kernels(ran, counters)
    if not parts:
        return None
    parts.sort(key=lambda kernel: -kernel.ran_ps)
    return _table(question, parts[:_MAX_KERNELS])


def _device_kernels(trace: Trace, process: Process, lo: int, hi: int) -> _DeviceKernels | None:
    numbers = {id(track): number for number, (_, track) in enumerate(trace.tracks())}
    columns: list[tuple[Int64s, ...]] = []
    for track in work_tracks(process):
        events = track.events
        rows = np.flatnonzero(touches(events.start, events.end, lo, hi))
        columns.append(
            (
                events.name[rows].astype(np.int64),
                events.start[rows],
                events.end[rows],
                np.full(len(rows), numbers[id(track)]),
                rows,
            )
        )
    if not sum(len(column[0]) for column in columns):
        return None
    name, start, end, track_number, row = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    order = np.lexsort((end, start))
    name, start, end, track_number, row = (
        column[order] for column in (name, start, end, track_number, row)
    )
    alone = np.ones(len(start), np.bool_)
    alone[1:] &= np.maximum.accumulate(end)[:-1] <= start[1:]
    alone[:-1] &= start[1:] >= end[:-1]
    return _DeviceKernels(process, name, start, end, (track_number, row), alone)


# ── from readings to kernels ─────────────────────────────────────────────────────────────────────


def _measured(ran: _DeviceKernels, counter: Counter) -> _Measured | None:
    """What a counter measured; None for what a sampler counted: no one knows since when."""
    if counter.counted is not None:
        return _counted(ran, counter.counted)
    if counter.unit in _LEVELS and len(counter) > 1:
        return _sampled(ran, counter)
    return None


def _counted(ran: _DeviceKernels, counted: CountedEvents) -> _Measured:
    """The values of what was counted while one kernel ran, and nothing else."""
    at = np.searchsorted(counted.start, ran.start, side="right") - 1
    lo, hi = counted.start[at], counted.end[at]
    inside = (at >= 0) & (hi >= ran.end) & ran.alone
    inside &= np.searchsorted(ran.start, hi) - np.searchsorted(ran.start, lo) == 1
    length = np.maximum(1, ran.end - ran.start)
    return _Measured(np.where(inside, counted.value[at], 0.0), np.where(inside, length, 0.0))


def _sampled(ran: _DeviceKernels, counter: Counter) -> _Measured:
    """The mean of the samples that lie inside a kernel from end to end."""
    times = counter.times
    length = np.diff(times).astype(np.float64)
    length[length > _MAX_SAMPLE_DISTANCES * np.median(length)] = 0
    before = np.concatenate(([0.0], np.cumsum(length)))
    sums = np.concatenate(([0.0], np.cumsum(counter.values[:-1] * length)))
    first = np.minimum(np.searchsorted(times, ran.start), len(times) - 1)
    last = np.maximum(np.searchsorted(times, ran.end, side="right") - 1, first)
    weight = np.where(ran.alone, before[last] - before[first], 0.0)
    value = np.divide(sums[last] - sums[first], weight, out=np.zeros(len(weight)), where=weight > 0)
    return _Measured(value, weight)


@dataclass(frozen=True)
class _Kernel:
    """One kernel of a device: means over the runs that were measured."""

    name: int
    device: str
    runs: int
    ran_ps: int
    longest: tuple[int, int, int, int]  # track, row, start, end
    values: dict[tuple[str, str], tuple[float, int]]  # of a counter's name and unit: mean, runs
    rates: dict[str, float]  # by the name of a counter of each kernel: a second of its runs


def _kernels(ran: _DeviceKernels, counters: Sequence[Counter]) -> Iterator[_Kernel]:
    """The kernels of a device that any of its counters measured."""
    names, kernel = np.unique(ran.name, return_inverse=True)
    size = len(names)
    values: list[dict[tuple[str, str], tuple[float, int]]] = [{} for _ in range(size)]
    rates: list[dict[str, float]] = [{} for _ in range(size)]
    for counter in counters:
        measured = _measured(ran, counter)
        if measured is None:
            continue
        runs = np.bincount(kernel, measured.weight > 0, size)
        weight = np.bincount(kernel, measured.weight, size)
        # A sampler's level counts by its time, a count of a kernel by its run.
        by_run = counter.counted is not None and counter.unit not in _LEVELS
        share = (measured.weight > 0).astype(np.float64) if by_run else measured.weight
        sums = np.bincount(kernel, measured.value * share, size)
        shares = np.bincount(kernel, share, size)
        for row in np.flatnonzero(runs > 0).tolist():
            mean = float(sums[row] / shares[row])
            values[row][counter.name, counter.unit] = (mean, int(runs[row]))
            if by_run:
                rates[row][counter.name] = float(sums[row] / weight[row] * PS_PER_S)
    length = ran.end - ran.start
    total, count = np.bincount(kernel, length, size), np.bincount(kernel, minlength=size)
    by_length = np.lexsort((length, kernel))
    longest = by_length[np.append(np.flatnonzero(np.diff(kernel[by_length])), len(kernel) - 1)]
    for row in range(size):
        if values[row]:
            at = int(longest[row])
            yield _Kernel(
                name=int(names[row]),
                device=ran.process.name,
                runs=int(count[row]),
                ran_ps=int(total[row]),
                longest=(
                    int(ran.place[0][at]),
                    int(ran.place[1][at]),
                    int(ran.start[at]),
                    int(ran.end[at]),
                ),
                values=values[row],
                rates=rates[row],
            )


# ── what they come to ────────────────────────────────────────────────────────────────────────────


def _occupancy(kernel: _Kernel) -> float | None:
    """Achieved occupancy, 0 to 1."""
    for (name, unit), (value, _) in kernel.values.items():
        if unit == "%" and _OCCUPANCY.search(name):
            return value / 100
    return None


def _bytes_per_s(kernel: _Kernel) -> float | None:
    """Bytes a second to and from the device's memory."""
    for (name, unit), (value, _) in kernel.values.items():
        if unit == "bytes/s" and _ALL_BYTES_RATE.search(name):
            return value
    for names in (_ALL_BYTES, _PART_BYTES):
        rates = [
            factor * kernel.rates[name] for name, factor in names.items() if name in kernel.rates
        ]
        # Only what was read, or only what was written, is not what the kernel moved.
        if len(rates) in (1, 2) and (names is _ALL_BYTES or len(rates) == 2):
            return sum(rates)
    return None


def _flops(kernel: _Kernel) -> float | None:
    """Floating-point operations a second, of those kinds that were counted."""
    rates = [
        rate * factor
        for name, rate in kernel.rates.items()
        for pattern, factor in _FLOPS.items()
        if pattern.search(name)
    ]
    return sum(rates) if rates else None


def _table(question: Question, kernels: list[_Kernel]) -> Table:
    trace = question.profile.trace
    names = [plain(trace.names.display(kernel.name), 300) for kernel in kernels]
    counters = list(dict.fromkeys(counter for kernel in kernels for counter in kernel.values))
    columns = [
        text_column("kernel", "kernel", names, weight=9),
        text_column("device", "device", [kernel.device for kernel in kernels], weight=3),
        int_column("runs", "runs", "integer", [kernel.runs for kernel in kernels], weight=6),
        int_column(
            "measured_runs",
            "measured",
            "integer",
            [max(runs for _, runs in kernel.values.values()) for kernel in kernels],
            weight=5,
        ),
        int_column("total_s", "total", "duration", [kernel.ran_ps for kernel in kernels], weight=8),
    ]
    occupancies = [_occupancy(kernel) for kernel in kernels]
    if any(value is not None for value in occupancies):
        columns.append(optional("occupancy", "occupancy", "share", occupancies, weight=7))
    moved = [_bytes_per_s(kernel) for kernel in kernels]
    if any(value is not None for value in moved):
        columns.append(
            optional("bytes_per_s", "bytes/s", "number", moved, unit="bytes/s", weight=7)
        )
    flops = [_flops(kernel) for kernel in kernels]
    if any(value is not None for value in flops):
        columns.append(optional("flops", "FLOP/s", "number", flops, unit="FLOP/s", weight=7))
    for name, unit in counters[:_MAX_COUNTERS]:
        means = [kernel.values.get((name, unit)) for kernel in kernels]
        columns.append(
            optional(
                f"counter_{plain(name, 80)}",
                plain(f"{name} ({unit})" if unit else name, 80),
                "number",
                [None if mean is None else mean[0] for mean in means],
                unit=unit,
                weight=4,
            )
        )

    def place(row: int) -> Place:
        track, event, lo, hi = kernels[row].longest
        return Place(question.opened.name, question.host, lo, hi, track=track, event=event)

    return Table(
        "hardware_counters",
        "Kernels by hardware counters",
        tuple(columns),
        place=place,
        order=("total_s", True),
        key=("kernel", "device"),
        noun="kernel",
        summary="measured: means over the runs that ran alone on their device",
    )

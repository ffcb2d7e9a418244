"""What a GPU's hardware counters measured of each kernel: occupancy, bytes, FLOP/s, and every
counter as it was recorded.

A counter of each dispatch (rocprofv3, CUPTI's range profiler) belongs to the kernel that ran alone
between its two ends. A sampler's readings belong to a kernel as far as they lie inside it and
nothing else ran on the device meanwhile: kernels shorter than two samples have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data.columns import Column, int_column, optional, text_column
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
from powertui.data.sorted_columns import ends_run, last_begun
from powertui.data.table import Place, Table
from powertui.data.tools.registry import Question
from powertui.data.window import touches
from powertui.named_tuples import NamedTuple
from powertui.plain import plain
from powertui.value_types import dataclass

_MAX_KERNELS = 1_000  # rows of the table, those with most time
_MAX_NAME_CHARACTERS = 300
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
    measured: list[_Kernel] = []
    for process in trace.processes:
        counters = [counter for counter in trace.counters if counter.process == process.name]
        if process.kind is not ProcessKind.DEVICE or not counters:
            continue
        ran = _device_kernels(trace, process, *question.window)
        if ran is not None:
            measured += _kernels(ran, counters)
    if not measured:
        return None
    measured.sort(key=lambda kernel: -kernel.ran_ps)
    return _table(question, measured[:_MAX_KERNELS])


def _device_kernels(trace: Trace, process: Process, lo: int, hi: int) -> _DeviceKernels | None:
    track_numbers = trace.track_numbers()
    parts: list[tuple[Int64s, ...]] = []
    for track in work_tracks(process):
        events = track.events
        is_inside = touches(events.start, events.end, lo, hi)
        rows = np.flatnonzero(is_inside)
        name = events.name[rows].astype(np.int64)
        number = track_numbers[id(track)]
        columns_of_track = (
            name,
            events.start[rows],
            events.end[rows],
            np.full(len(rows), number),
            rows,
        )
        parts.append(columns_of_track)
    if not any(len(rows) for *_, rows in parts):
        return None
        return None
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    _, start, end, _, _ = columns
    by_start = np.lexsort((end, start))
    name, start, end, track_number, row = (column[by_start] for column in columns)
    alone = np.ones(len(start), np.bool_)
    # Alone is what begins after all before it ended, and ends before the next begins.
    busy_until = np.maximum.accumulate(end)
    next_start = start[1:]
    alone[1:] &= busy_until[:-1] <= next_start
    alone[:-1] &= next_start >= end[:-1]
    return _DeviceKernels(
        process=process,
        name=name,
        start=start,
        end=end,
        place=(track_number, row),
        alone=alone,
    )


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
    any_begun, interval = last_begun(counted.start, ran.start)
    lo = counted.start[interval]
    hi = counted.end[interval]
    holds_kernel = any_begun & (hi >= ran.end)
    kernels_before = np.searchsorted(ran.start, lo)
    kernels_inside = np.searchsorted(ran.start, hi) - kernels_before
    is_measured = holds_kernel & ran.alone & (kernels_inside == 1)
    length_ps = np.maximum(1, ran.end - ran.start)
    return _Measured(
        value=np.where(is_measured, counted.value[interval], 0.0),
        weight=np.where(is_measured, length_ps, 0.0),
    )


def _sampled(ran: _DeviceKernels, counter: Counter) -> _Measured:
    """The mean of the samples that lie inside a kernel from end to end."""
    times = counter.times
    lasts_ps = np.diff(times).astype(np.float64)
    is_pause = lasts_ps > _MAX_SAMPLE_DISTANCES * np.median(lasts_ps)
    lasts_ps[is_pause] = 0
    # Prefix sums: what lies between two samples is the difference of two of them.
    time_so_far = np.cumsum(lasts_ps)
    integral_so_far = np.cumsum(counter.values[:-1] * lasts_ps)
    time_before = np.concatenate(([0.0], time_so_far))
    integral_before = np.concatenate(([0.0], integral_so_far))
    last_sample = len(times) - 1
    next_sample = np.searchsorted(times, ran.start)
    first = np.minimum(next_sample, last_sample)
    last_inside = np.searchsorted(times, ran.end, side="right") - 1
    last = np.maximum(last_inside, first)
    integral = integral_before[last] - integral_before[first]
    sampled_ps = time_before[last] - time_before[first]
    # Beside another kernel nobody knows whose the samples are.
    weight = np.where(ran.alone, sampled_ps, 0.0)
    mean = np.divide(
        integral,
        weight,
        out=np.zeros(len(weight)),
        where=weight > 0,
    )
    return _Measured(mean, weight)


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

    @property
    def measured_runs(self) -> int:
        """How many runs the counter that measured most of them measured."""
        return max(runs for _, runs in self.values.values())


def _kernels(ran: _DeviceKernels, counters: Sequence[Counter]) -> Iterator[_Kernel]:
    """The kernels of a device that any of its counters measured."""
    names, kernel = np.unique(ran.name, return_inverse=True)
    values: list[dict[tuple[str, str], tuple[float, int]]] = [{} for _ in names]
    rates: list[dict[str, float]] = [{} for _ in names]
    for counter in counters:
        _add_counter(ran, counter, kernel, values, rates)
    length = ran.end - ran.start
    total = np.bincount(kernel, length, len(names))
    count = np.bincount(kernel, minlength=len(names))
    by_length = np.lexsort((length, kernel))
    longest = by_length[ends_run(kernel[by_length])]
    track_number, track_row = ran.place
    for number, name in enumerate(names.tolist()):
        if not values[number]:
            continue
        row = int(longest[number])
        yield _Kernel(
            name=name,
            device=ran.process.name,
            runs=int(count[number]),
            ran_ps=int(total[number]),
            longest=(
                int(track_number[row]),
                int(track_row[row]),
                int(ran.start[row]),
                int(ran.end[row]),
            ),
            values=values[number],
            rates=rates[number],
        )


def _add_counter(
    ran: _DeviceKernels,
    counter: Counter,
    kernel: Int64s,
    values: list[dict[tuple[str, str], tuple[float, int]]],
    rates: list[dict[str, float]],
) -> None:
    """Put what a counter measured of each kernel into `values`, and into `rates` what it counted
    for each.
    """
    measured = _measured(ran, counter)
    if measured is None:
        return
    size = len(values)
    has_weight = measured.weight > 0
    runs = np.bincount(kernel, has_weight, size)
    weight = np.bincount(kernel, measured.weight, size)
    # A sampler's level counts by its time, a count of a kernel by its run.
    by_run = counter.counted is not None and counter.unit not in _LEVELS
    share = measured.weight
    if by_run:
        share = has_weight.astype(np.float64)
    sums = np.bincount(kernel, measured.value * share, size)
    shares = np.bincount(kernel, share, size)
    for number in np.flatnonzero(runs > 0).tolist():
        mean = float(sums[number] / shares[number])
        key = (counter.name, counter.unit)
        values[number][key] = (mean, int(runs[number]))
        if by_run:
            per_second = float(sums[number] / weight[number] * PS_PER_S)
            rates[number][counter.name] = per_second


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
    for name, factor in _ALL_BYTES.items():
        if name in kernel.rates:
            return kernel.rates[name] * factor
    part_rates = [
        kernel.rates[name] * factor for name, factor in _PART_BYTES.items() if name in kernel.rates
    ]
    # Only what was read, or only what was written, is not what the kernel moved.
    if len(part_rates) == 2:
        return sum(part_rates)
    return None


def _flops(kernel: _Kernel) -> float | None:
    """Floating-point operations a second, of those kinds that were counted."""
    rates: list[float] = []
    for name, rate in kernel.rates.items():
        for pattern, factor in _FLOPS.items():
            if pattern.search(name):
                rates.append(rate * factor)
    return sum(rates) if rates else None


def _table(question: Question, kernels: list[_Kernel]) -> Table:
    trace = question.profile.trace
    names = [plain(trace.names.display(kernel.name), _MAX_NAME_CHARACTERS) for kernel in kernels]
    devices = [kernel.device for kernel in kernels]
    runs = [kernel.runs for kernel in kernels]
    measured_runs = [kernel.measured_runs for kernel in kernels]
    ran_ps = [kernel.ran_ps for kernel in kernels]
    columns = [
        text_column("kernel", "kernel", names, weight=9),
        text_column("device", "device", devices, weight=3),
        int_column("runs", "runs", "integer", runs, weight=6),
        int_column("measured_runs", "measured", "integer", measured_runs, weight=5),
        int_column("total_s", "total", "duration", ran_ps, weight=8),
        *_derived_columns(kernels),
        *_counter_columns(kernels),
    ]

    def place(row: int) -> Place:
        track, event, lo, hi = kernels[row].longest
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=lo,
            hi=hi,
            track=track,
            event=event,
        )

    return Table(
        id="hardware_counters",
        title="Kernels by hardware counters",
        columns=tuple(columns),
        place=place,
        order=("total_s", True),
        key=("kernel", "device"),
        noun="kernel",
        summary="measured: means over the runs that ran alone on their device",
    )


def _derived_columns(kernels: list[_Kernel]) -> Iterator[Column]:
    """What several counters come to, as far as any kernel has it."""
    occupancies = [_occupancy(kernel) for kernel in kernels]
    if _any_value(occupancies):
        yield optional("occupancy", "occupancy", "share", occupancies, weight=7)
    moved = [_bytes_per_s(kernel) for kernel in kernels]
    if _any_value(moved):
        yield optional("bytes_per_s", "bytes/s", "number", moved, unit="bytes/s", weight=7)
    flops = [_flops(kernel) for kernel in kernels]
    if _any_value(flops):
        yield optional("flops", "FLOP/s", "number", flops, unit="FLOP/s", weight=7)


def _any_value(values: Sequence[float | None]) -> bool:
    return any(value is not None for value in values)


def _counter_columns(kernels: list[_Kernel]) -> Iterator[Column]:
    """Every counter as it was recorded, in the order in which they first come up."""
    counters = dict.fromkeys(counter for kernel in kernels for counter in kernel.values)
    for name, unit in list(counters)[:_MAX_COUNTERS]:
        means: list[float | None] = []
        for kernel in kernels:
            measured = kernel.values.get((name, unit))
            means.append(None if measured is None else measured[0])
        if unit:
            label = f"{name} ({unit})"
        else:
            label = name
        yield optional(
            id=f"counter_{plain(name, 80)}",
            label=plain(label, 80),
            kind="number",
            values=means,
            unit=unit,
            weight=4,
        )

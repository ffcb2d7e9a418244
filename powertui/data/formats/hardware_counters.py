"""Counters of a GPU's hardware that collectors put among the events: the units of their values, and
the readings of CUPTI's and ROCm's samplers and of CUPTI's range profiler in an XPlane.

    line `_counters_` of a device   one event a sample and metric, without a length; its only stat
                                    is the value, named after the metric (XLA's PM samplers, CUPTI's
                                    environment records)
    a line named after its range    one event a metric, as long as the range, with `counter_value`
                                    (CUPTI's range profiler, counters of TPUs)

rocprofv3 writes the counters of each dispatch beside its kernel.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from powertui.data.formats.builder import MAX_COUNTERS
from powertui.data.formats.json_counters import split_unit
from powertui.data.formats.json_stats import clean
from powertui.data.model import (
    CountedEvents,
    Counter,
    Floats,
    Int64s,
    Names,
    Process,
    ProcessKind,
    StatColumn,
    Trace,
    Track,
    TrackKind,
)
from powertui.data.sorted_columns import rows_of_each
from powertui.named_tuples import NamedTuple

_VALUE = "counter_value"

# What the names of metrics say of their unit, the first that is found. NVIDIA's are
# unit__quantity.rollup.submetric, AMD's derived ones are listed in rocprofiler's metrics.xml.
_UNITS = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (r"\.pct(?:$|_of_|\.)|_pct$|Utilization$|Busy$|Stalled$|HitRate$|CacheHit$|Percent$", "%"),
        (r"(?i)util$|BankConflict$", "%"),
        (r"bytes[\w.]*\.per_second$", "bytes/s"),
        (r"cycles[\w.]*\.per_second$", "Hz"),
        (r"\.per_second$", "1/s"),
        (r"\.ratio$", ""),
        (r"^(?:FETCH_SIZE|WRITE_SIZE)$", "KiB"),
        (r"bytes", "bytes"),
        (r"(?i)cycles|^GRBM_|^GRBM|_BUSY$", "cycles"),
        (r"(?i)inst_executed|_INSTS?_|inst_executed|^SQ_INSTS", "instructions"),
        (r"(?i)^SQ_WAVES|^Wavefronts$|OccupancyPer|warps_active|warps_launched", "waves"),
        (r"_mw$", "mW"),
        (r"_mhz$", "MHz"),
        (r"_temp_c$", "°C"),
        (r"(?i)RDREQ|WRREQ|requests", "requests"),
    )
)


def counter_unit(metric: str) -> str:
    """The unit that a metric's name stands for; "" where it does not say one."""
    for pattern, unit in _UNITS:
        if pattern.search(metric):
            return unit
    return ""


def counter_label(shown: str, metric: str) -> tuple[str, str]:
    """(name, unit) of a metric that a collector shows under a name of its own."""
    name, unit = split_unit(shown)
    if unit:
        return name, unit.lower() if unit == "Count" else unit
    return shown, counter_unit(metric) or counter_unit(shown)


def with_counters(trace: Trace) -> Trace:
    """The trace with what the hardware counters of its devices counted.

    Lines that hold nothing else are marked as such: no work is in them.
    """
    processes: list[Process] = []
    counters: list[Counter] = []
    for process in trace.processes:
        if process.kind is ProcessKind.DEVICE:
            process = replace(process, tracks=tuple(_marked(process, t) for t in process.tracks))
            counters += _counters(process, trace.names)
        processes.append(process)
    if not counters:
        return trace
    return replace(
        trace,
        processes=tuple(processes),
        counters=(*trace.counters, *counters[: max(0, MAX_COUNTERS - len(trace.counters))]),
    )


def _marked(process: Process, track: Track) -> Track:
    """A line as one of counters where its events are those of a range profiler."""
    if track.kind is TrackKind.COUNTER or track.derived or not len(track.events):
        return track
    # A range profiler writes nothing else on its lines, so the first event decides.
    first = process.source.columns(track.events.positions(slice(0, 1)), (_VALUE,))[_VALUE]
    if first.present.any():
        return replace(track, kind=TrackKind.COUNTER)
    return track


def _counters(process: Process, names: Names) -> Iterator[Counter]:
    """What one device counted, metric by metric."""
    readings: dict[_CounterKey, list[tuple[Int64s, Int64s, Floats]]] = {}
    for track in process.tracks:
        if track.kind is not TrackKind.COUNTER:
            continue
        events = track.events
        for rows in rows_of_each(events.name):
            metric = int(events.name[rows[0]])
            stat_count = len(_stats(process, track, rows))
            for stat, column in _values(process, track, rows).items():
                key = _counter_key(names.full(metric), stat, stat_count)
                good = column.present & np.isfinite(column.floats)
                good_rows = rows[good]
                start = events.start[good_rows]
                end = events.end[good_rows]
                readings.setdefault(key, []).append((start, end, column.floats[good]))
    for key, parts in readings.items():
        start, end, value = (np.concatenate(column) for column in zip(*parts, strict=True))
        if not len(start):
            continue
        label = clean(key.name)
        if key.per_event:
            yield _event_counter(
                name=label,
                unit=key.unit,
                process=process.name,
                start=start,
                end=end,
                value=value,
            )
        else:
            order = np.argsort(start, kind="stable")
            yield Counter(
                name=label,
                unit=key.unit,
                process=process.name,
                times=start[order],
                values=value[order],
            )


class _CounterKey(NamedTuple):
    """Which counter a reading belongs to."""

    name: str
    unit: str
    per_event: bool  # counted over each event, and not read at a moment


def _counter_key(metric: str, stat: str, stat_count: int) -> _CounterKey:
    """The counter of a number that events of this metric carry, among so many."""
    name, unit = counter_label(metric, metric if stat == _VALUE else stat)
    if stat_count > 1 and stat not in (_VALUE, metric):
        name = f"{name} {stat}"
    return _CounterKey(name, unit, stat == _VALUE)


def _stats(process: Process, track: Track, rows: Int64s) -> list[str]:
    """The numbers that the first of these events carries."""
    position = int(track.events.positions(rows[:1])[0])
    stats = process.source.event_stats(position)
    return [stat.name for stat in stats if isinstance(stat.value, (int, float))]


def _values(process: Process, track: Track, rows: Int64s) -> dict[str, StatColumn]:
    numbers = _stats(process, track, rows)
    if _VALUE in numbers:
        numbers = [_VALUE]
    return process.source.columns(track.events.positions(rows), numbers)


def counters_of_kernels(process: Process, metrics: Sequence[str]) -> Iterator[Counter]:
    """What was counted over each kernel of a device, where its events carry that as stats."""
    tracks = [track for track in process.tracks if len(track.events)]
    if not tracks or not metrics:
        return
    start = np.concatenate([track.events.start for track in tracks])
    end = np.concatenate([track.events.end for track in tracks])
    position = np.concatenate([track.events.position for track in tracks])
    columns = process.source.columns(position, metrics)
    for metric in metrics:
        column = columns[metric]
        value = _with_texts(column)
        good = column.present & np.isfinite(value)
        if good.any():
            yield _event_counter(
                name=clean(metric),
                unit=counter_unit(metric),
                process=process.name,
                start=start[good],
                end=end[good],
                value=value[good],
            )


def _with_texts(column: StatColumn) -> Floats:
    """The numbers of a column, also those that are written as text."""
    value: Floats = column.floats.copy()
    for row, text in enumerate(column.texts or ()):
        if text is not None:
            value[row] = _as_number(text)
    return value


def _as_number(text: str) -> float:
    """A value that is written as text; NaN where it is no number."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _event_counter(
    name: str,
    unit: str,
    process: str,
    start: Int64s,
    end: Int64s,
    value: Floats,
) -> Counter:
    """What was counted over each of some events of a device: nothing runs between them."""
    order = np.lexsort((end, start))
    start = start[order]
    end = end[order]
    value = value[order]
    # Where one event ends as the next begins, the reading of the next one holds.
    ends = end[:-1] < start[1:]
    ends = np.append(ends, True)[: len(end)]
    times = np.concatenate((start, end[ends]))
    values = np.concatenate((value, np.zeros(int(ends.sum()))))
    in_time = np.argsort(times, kind="stable")
    counted = CountedEvents(start, end, value)
    return Counter(
        name=name,
        unit=unit,
        process=process,
        times=times[in_time],
        values=values[in_time],
        counted=counted,
    )

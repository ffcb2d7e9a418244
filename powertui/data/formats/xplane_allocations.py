"""Allocators of TensorFlow and XLA in XPlanes: MemoryAllocation and MemoryDeallocation events.

Each carries how full its allocator was afterwards and, where TensorFlow knows it, for which op the
memory is. They are instants on the lines of threads; here they become one log an allocator, and
counters of the bytes in use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from powertui.data import name_shapes, wire
from powertui.data.formats.stat_columns import PooledTexts
from powertui.data.model import (
    Bools,
    Counter,
    Floats,
    Int64s,
    Names,
    Process,
    ProcessKind,
    StatColumn,
    Trace,
)
from powertui.data.model.allocations import AllocationTexts, AllocatorLog, Deferred, TextPool
from powertui.named_tuples import NamedTuple

_TAKEN, _GIVEN_BACK = "MemoryAllocation", "MemoryDeallocation"
_COUNTER_PROCESS = "memory"  # what counters of memory belong to
_NAMES = ("allocator_name", "index_on_host", "device_ordinal")  # the later, the rarer
_TEXTS = ("tf_op", "region_type", "data_type", "shape", "tensor_shapes")
_NUMBERS = (
    "bytes_allocated",
    "bytes_reserved",
    "bytes_available",
    "fragmentation",
    "peak_bytes_in_use",
    "requested_bytes",
    "allocation_bytes",
    "addr",
    "group_id",
)
_STATS = (*_NAMES, *_TEXTS, *_NUMBERS)
# TensorFlow's DataType, by number; types.proto.
_TYPES = {
    0: "INVALID",
    1: "float",
    2: "double",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    7: "string",
    8: "complex64",
    9: "int64",
    10: "bool",
    11: "qint8",
    12: "quint8",
    13: "qint32",
    14: "bfloat16",
    15: "qint16",
    16: "quint16",
    17: "uint16",
    18: "complex128",
    19: "half",
    20: "resource",
    21: "variant",
    22: "uint32",
    23: "uint64",
    24: "float8_e5m2",
    25: "float8_e4m3fn",
    29: "int4",
    30: "uint4",
}
_REFERENCE = 100  # added to the number of a type: a reference to such a tensor
_MAX_ALLOCATORS = 1000  # no machine has so many; what is beyond is one log together
_UNNAMED = "unnamed"


class _Part(NamedTuple):
    """The events of one line."""

    track: int
    rows: Int64s  # of the line's events
    times: Int64s
    taken: Bools
    order: Int64s  # the place in the file
    columns: dict[str, StatColumn]


def with_allocations(trace: Trace) -> Trace:
    """The trace with the logs of its allocators and counters of each."""
    memory = _Memory(trace.names, trace.processes)
    return replace(
        trace,
        allocators=Deferred(lambda: memory.logs),
        memory_counters=Deferred(memory.counters),
    )


class _Memory:
    """What the allocators of a trace did: read when somebody asks.

    Nothing else asks for these stats, and of 10 M events they were a third of the reading.
    """

    def __init__(self, names: Names, processes: Sequence[Process]) -> None:
        # Not the trace: a circle would keep all events until garbage is collected.
        self._names = names
        self._processes = processes

    @cached_property
    def logs(self) -> tuple[AllocatorLog, ...]:
        """One log an allocator, by name. Raises `FileChanged`."""
        parts = _parts(self._names, self._processes)
        if not parts:
            return ()
        return _logs(parts)

    def counters(self) -> tuple[Counter, ...]:
        """What the logs say of bytes."""
        counters: list[Counter] = []
        for log in self.logs:
            counters += counters_of_log(log)
        return tuple(counters)


def counters_of_log(log: AllocatorLog) -> tuple[Counter, ...]:
    """What a log says of bytes, as counters."""
    times, levels = _known(log.times, log.allocated)
    if not len(levels):
        return ()
    counters = [
        Counter(
            name=f"allocated {log.allocator}",
            unit="bytes",
            process=_COUNTER_PROCESS,
            times=times,
            values=levels,
        )
    ]
    times, levels = _known(log.times, log.reserved)
    if (levels > 0).any():
        name = f"reserved {log.allocator}"
        counters.append(
            Counter(
                name=name,
                unit="bytes",
                process=_COUNTER_PROCESS,
                times=times,
                values=levels,
            )
        )
    return tuple(counters)


def _known(times: Int64s, levels: Floats) -> tuple[Int64s, Floats]:
    """The levels that are known: the log's own columns where all are, and no copies of them."""
    known = np.isfinite(levels)
    if known.all():
        return (times, levels)
    return (times[known], levels[known])


def _parts(names: Names, processes: Sequence[Process]) -> list[_Part]:
    """The events of memory of all host lines, in the order of the file."""
    is_taken = name_shapes.beginning(names, _TAKEN, whole=True)
    is_given_back = name_shapes.beginning(names, _GIVEN_BACK, whole=True)
    if not is_taken.any() and not is_given_back.any():
        return []
    is_asked = is_taken | is_given_back
    parts = []
    lines = ((process, track) for process in processes for track in process.tracks)
    for number, (process, track) in enumerate(lines):
        if process.kind is not ProcessKind.HOST:
            continue
        events = track.events
        rows = np.flatnonzero(is_asked.take(events.name))
        if not len(rows):
            continue
        positions = events.positions(rows)
        parts.append(
            _Part(
                track=number,
                rows=rows,
                times=events.start.take(rows),
                taken=is_taken.take(events.name.take(rows)),
                order=positions.astype(np.int64),
                columns=process.source.columns(positions, _STATS),
            )
        )
    return parts


def _logs(parts: list[_Part]) -> tuple[AllocatorLog, ...]:
    """One log an allocator, by name."""
    pool = TextPool()
    names = TextPool()
    allocator_parts = [_allocator_numbers(part, names) for part in parts]
    allocator = np.concatenate(allocator_parts)
    times = np.concatenate([part.times for part in parts])
    taken = np.concatenate([part.taken for part in parts])
    order = np.concatenate([part.order for part in parts])
    track = np.concatenate([np.full(len(part.times), part.track, np.int32) for part in parts])
    event = np.concatenate([part.rows for part in parts]).astype(np.int32)
    op, region, dtype, shape = (
        np.concatenate([_text_numbers(part, name, pool) for part in parts])
        for name in ("tf_op", "region_type", "data_type", "shape")
    )
    ints, floats = {}, {}
    for name in _NUMBERS:
        ints[name] = np.concatenate([part.columns[name].ints for part in parts])
        floats[name] = np.concatenate([part.columns[name].floats for part in parts])
    has_step = np.concatenate([part.columns["group_id"].present for part in parts])
    step = np.where(has_step, ints["group_id"], -1)
    logs = []
    for number, name in enumerate(names.texts):
        rows = np.flatnonzero(allocator == number)
        rows = rows[np.lexsort((order[rows], times[rows]))]
        words = AllocationTexts(
            texts=pool.texts,
            op=op[rows],
            region=region[rows],
            dtype=dtype[rows],
            shape=shape[rows],
        )
        logs.append(
            AllocatorLog(
                allocator=name,
                times=times[rows],
                taken=taken[rows],
                size=ints["allocation_bytes"][rows],
                address=ints["addr"][rows],
                allocated=floats["bytes_allocated"][rows],
                reserved=floats["bytes_reserved"][rows],
                stated_free=floats["bytes_available"][rows],
                stated_fragmentation=floats["fragmentation"][rows],
                lifetime_peak=floats["peak_bytes_in_use"][rows],
                requested=floats["requested_bytes"][rows],
                step=step[rows],
                words=words,
                track=track[rows],
                event=event[rows],
                order=order[rows],
                reserved_beside=True,
            )
        )
    return tuple(sorted(logs, key=lambda log: log.allocator))


class _CodedWords(NamedTuple):
    """What each event says in words, as rows of a list of all words."""

    words: list[str]  # the first one is "", for events that say nothing
    codes: Int64s

    def renumbered(self, numbers: Callable[[str], int]) -> Int64s:
        """The number of each event's word, asked for in the order in which the words first come."""
        first, _ = wire.ends(self.codes.astype(np.uint32), len(self.words))
        used = np.flatnonzero(first >= 0)
        number_of_code = np.full(len(self.words), -1, np.int64)
        for code in used[np.argsort(first[used])].tolist():
            number_of_code[code] = numbers(self.words[code])
        return number_of_code.take(self.codes)


def _coded(column: StatColumn) -> _CodedWords:
    """A column as words. Millions of events hold a handful of them."""
    texts = column.texts
    if not column.present.any():
        return _CodedWords([""], np.zeros(len(column), np.int64))
    if isinstance(texts, PooledTexts) and texts.count(None) == np.count_nonzero(~column.present):
        return _CodedWords(["", *texts.pool.texts.tolist()], texts.slots.astype(np.int64) + 1)
    words = _words(column)
    distinct = list(dict.fromkeys(["", *words]))
    code_of = {word: code for code, word in enumerate(distinct)}
    codes = np.fromiter(map(code_of.__getitem__, words), np.int64, len(words))
    return _CodedWords(distinct, codes)


def _allocator_numbers(part: _Part, names: TextPool) -> Int64s:
    """The number of each event's allocator: by its name, else by its device."""
    name = _coded(part.columns[_NAMES[0]])
    for stat in _NAMES[1:]:
        rest = _coded(part.columns[stat])
        is_unnamed = np.array([not word for word in name.words])[name.codes]
        codes = np.where(is_unnamed, len(name.words) + rest.codes, name.codes)
        name = _CodedWords([*name.words, *rest.words], codes)

    def number(word: str) -> int:
        called = word or _UNNAMED
        if called not in names and len(names) >= _MAX_ALLOCATORS:
            called = _UNNAMED
        return names.number(called)

    return name.renumbered(number)


def _text_numbers(part: _Part, stat: str, pool: TextPool) -> Int64s:
    """The number of what each event says in words."""
    column = part.columns[stat]
    if stat == "shape" and not column.present.any():
        column = part.columns["tensor_shapes"]
    if stat == "data_type" and column.texts is None:
        types = wire.distinct(column.ints)
        numbers = np.array([pool.number(_type_name(number)) for number in types.tolist()], np.int64)
        return np.where(column.present, numbers[types.searchsorted(column.ints)], -1)
    return _coded(column).renumbered(pool.number)


def _words(column: StatColumn) -> list[str]:
    """A column as words, "" where an event has none."""
    if column.texts is not None:
        words = [text or "" for text in column.texts]
        text_count = len(words) - column.texts.count(None)
        if text_count < np.count_nonzero(column.present):  # nearly never: a number among texts
            for row in np.flatnonzero(column.present).tolist():
                words[row] = column.text(row) or ""
        return words
    words = [""] * len(column)
    for row in np.flatnonzero(column.present).tolist():
        words[row] = column.text(row) or ""
    return words


def _type_name(number: int) -> str:
    """TensorFlow's name of a data type."""
    name = _TYPES.get(number % _REFERENCE)
    if name is None:
        return f"type {number}"
    return name if number < _REFERENCE else f"{name}_ref"

"""The work of a trace's devices, event by event, with the facts that its collector recorded.

It is read once for all tools that ask. Facts repeat: a training runs the same few hundred kernels
in every step. So each different set of facts is stored once, and an event holds its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from powertui.data import wire
from powertui.data.model import (
    Events,
    Int32s,
    Int64s,
    Process,
    ProcessKind,
    StatColumn,
    Trace,
    Track,
)
from powertui.data.opened import Profile
from powertui.data.run.device_intervals import work_tracks
from powertui.data.tools import torch_links
from powertui.data.window import touches
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_CHUNK = 1 << 16  # events whose stats are read in one go; chosen, not measured
# Field of `KernelFacts` → the stat that holds it. A stat of the event itself goes before one of its
# name.
_TEXT_STATS = {
    "details": "kernel_details",
    "copy": "memcpy_details",
    "tf_op": "tf_op",
    "level": "level 0",
    "annotation": "annotation",
    "equation": "equation",
    "provenance": "name",
    "hlo_op": "hlo_op",
    "hlo_module": "hlo_module",
    "program": "program_id",
    "category": "hlo_category",
    "dedup": "deduplicated_name",
    "source": "source",
    "shape": "shape",
    "graph": "cuda_graph_exec_id",
}
_NUMBER_STATS = {
    "flops": "flops",
    "bytes": "bytes_accessed",
    "model_flops": "model_flops",
    "occupancy": "theoretical_occupancy_pct",
    "energy": "vdd_energy_j",
    "stalled": "dma_stall_duration_ps",
}
_STATS = (*_TEXT_STATS.values(), *_NUMBER_STATS.values(), "is_eager")


class KernelFacts(NamedTuple):
    """What is known of a kind of work.

    Texts are empty and numbers None where the collector says nothing.
    """

    name: str  # as recorded
    short: str  # as displayed
    eager: bool
    details: str  # how it was launched
    copy: str  # what was copied
    tf_op: str  # "dense/MatMul:MatMul"
    level: str  # the same, in old files
    annotation: str
    equation: str
    provenance: str  # JAX: "jit(f)/jit(main)/dot_general"
    hlo_op: str
    hlo_module: str
    program: str  # XLA's number of the program
    category: str  # of an HLO op
    dedup: str  # the op that this one is a copy of
    source: str  # "train.py:17"
    shape: str
    graph: str  # the CUDA graph that launched it
    flops: float | None
    bytes: float | None
    model_flops: float | None
    occupancy: float | None  # percent
    energy: float | None  # J
    stalled: float | None  # ps that it waited for a transfer
    operator: str = ""  # PyTorch's, that launched it


@dataclass(frozen=True, eq=False)
class DeviceLine:
    """One line of real work: `facts[i]` is the index in `Kernels.facts` of its event i."""

    number: int  # over Trace.tracks()
    process: Process
    track: Track
    facts: Int32s


@dataclass(frozen=True, eq=False)
class Kernels:
    """The work of all devices, and each different set of facts about it."""

    lines: tuple[DeviceLine, ...]
    facts: tuple[KernelFacts, ...]

    def __len__(self) -> int:
        return sum(len(line.facts) for line in self.lines)


def device_kernels(profile: Profile) -> Kernels:
    """The work of the devices of a profile, read at the first question."""
    return profile.cached("kernels", lambda: _read(profile.trace, _operators(profile)))


def _operators(profile: Profile) -> dict[int, Int64s]:
    """Return, for each line of PyTorch's devices, the operator (a name) that launched each event.

    It is -1 for an event that no operator launched.
    """
    links = torch_links.torch_links(profile)
    if links is None:
        return {}
    name = np.full(len(links.operator), -1, np.int64)
    launched = links.operator >= 0
    name[launched] = links.host.name[links.operator[launched]]
    return {
        line: name[links.device.line == line] for line in wire.distinct(links.device.line).tolist()
    }


class _FactsReader:
    """Reads the facts of events, and numbers each different set once."""

    def __init__(self, trace: Trace) -> None:
        self.facts: list[KernelFacts] = []
        self._trace = trace
        self._indexes: dict[tuple[object, ...], int] = {}  # what events recorded → index in facts
        self._stats_of_names: dict[int, dict[str, object]] = {}

    def indexes(
        self,
        process: Process,
        events: Events,
        rows: slice,
        operators: list[int],
    ) -> list[int]:
        """Return the index in `facts` of each event of `rows`.

        `operators` holds the name of the operator that launched each, -1 for none.
        """
        names = events.name[rows].tolist()
        columns = process.source.columns(events.positions(rows), _STATS)
        values = (_values(columns[stat]) for stat in _STATS)
        indexes = []
        for key in zip(names, operators, *values, strict=True):
            index = self._indexes.get(key)
            if index is None:
                index = self._indexes[key] = len(self.facts)
                name, operator, *recorded = key
                self.facts.append(self._kernel_facts(name, operator, recorded))
            indexes.append(index)
        return indexes

    def _kernel_facts(self, name: int, operator: int, recorded: list[object]) -> KernelFacts:
        names = self._trace.names
        common = self._stats_of_name(name)
        stats = {
            stat: common.get(stat) if value is None else value
            for stat, value in zip(_STATS, recorded, strict=True)
        }
        fields: dict[str, Any] = {}
        for field, stat in _TEXT_STATS.items():
            if stats[stat] is None:
                fields[field] = ""
            else:
                fields[field] = str(stats[stat])
        for field, stat in _NUMBER_STATS.items():
            fields[field] = _number(stats[stat])
        return KernelFacts(
            name=names.full(name),
            short=names.display(name),
            eager=str(stats["is_eager"]).lower() in ("1", "true"),
            operator=names.full(operator) if operator >= 0 else "",
            **fields,
        )

    def _stats_of_name(self, name: int) -> dict[str, object]:
        stats = self._stats_of_names.get(name)
        if stats is None:
            stats = self._stats_of_names[name] = {
                stat.name: stat.value
                for stat in self._trace.names.stats(name)
                if not isinstance(stat.value, bytes)
            }
        return stats


def _read(trace: Trace, operators: dict[int, Int64s]) -> Kernels:
    """Read the work of a trace's devices.

    `operators` holds, by line, the name of the operator that launched each event.
    """
    reader = _FactsReader(trace)
    lines = []
    for number, process, track in _lines(trace):
        count = len(track.events)
        indexes = np.empty(count, np.int32)
        no_launchers = np.full(count, -1, np.int64)
        launchers = operators.get(number, no_launchers)
        for at in range(0, count, _CHUNK):
            rows = slice(at, min(at + _CHUNK, count))
            launchers_of_rows = launchers[rows].tolist()
            indexes[rows] = reader.indexes(process, track.events, rows, launchers_of_rows)
        lines.append(
            DeviceLine(
                number=number,
                process=process,
                track=track,
                facts=indexes,
            )
        )
    return Kernels(tuple(lines), tuple(reader.facts))


def _lines(trace: Trace) -> Iterator[tuple[int, Process, Track]]:
    numbers = trace.track_numbers()
    for process in trace.processes:
        if process.kind is not ProcessKind.DEVICE:
            continue
        for track in work_tracks(process):
            if len(track.events):
                yield numbers[id(track)], process, track


def _values(column: StatColumn) -> list[object]:
    """The values of a column, None where there is none.

    Texts are shared, numbers small: nothing is copied.
    """
    if column.texts is not None and not np.isfinite(column.floats[column.present]).any():
        return list(column.texts)
    if not column.present.any():
        return [None] * len(column)
    return [
        column.text(row) if present else None for row, present in enumerate(column.present.tolist())
    ]


def _number(value: object) -> float | None:
    try:
        if isinstance(value, (int, float, str)):
            return float(value)
        return None
    except ValueError:
        return None


def inside(track: Track, lo: int, hi: int) -> tuple[Int64s, Int64s]:
    """(rows of a line that touch [lo, hi), how many ps of each are in it)."""
    events = track.events
    end = events.end
    rows = np.flatnonzero(touches(events.start, end, lo, hi))
    inside_lo = np.maximum(events.start[rows], lo)
    inside_hi = np.minimum(end[rows], hi)
    return rows, inside_hi - inside_lo

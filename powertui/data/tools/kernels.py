"""The work of a trace's devices, event by event, each with what its collector says of it: read once
for all tools that ask.

What kernels say repeats: a training runs the same few hundred in every step. So each different
saying is kept once, and an event holds its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from powertui.data.model import Int32s, Int64s, Process, ProcessKind, StatColumn, Trace, Track
from powertui.data.opened import Profile
from powertui.data.run.device_intervals import working
from powertui.data.tools import torch_links
from powertui.data.window import touches

_CHUNK = 1 << 16
# Field of `KernelFacts` → the stat that holds it. The event's own value goes before that of its
# name.
_TEXTS = {
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
_NUMBERS = {
    "flops": "flops",
    "bytes": "bytes_accessed",
    "model_flops": "model_flops",
    "occupancy": "theoretical_occupancy_pct",
    "energy": "vdd_energy_j",
    "stalled": "dma_stall_duration_ps",
}
_SAID = (*_TEXTS.values(), *_NUMBERS.values(), "is_eager")


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
    """One line of real work: `said[i]` is the number of what is known of its event i."""

    number: int  # over Trace.tracks()
    process: Process
    track: Track
    said: Int32s


@dataclass(frozen=True, eq=False)
class Kernels:
    """The work of all devices."""

    lines: tuple[DeviceLine, ...]
    said: tuple[KernelFacts, ...]

    def __len__(self) -> int:
        return sum(len(line.said) for line in self.lines)


def device_kernels(profile: Profile) -> Kernels:
    """The work of the devices of a profile, read at the first question."""
    return profile.cached("kernels", lambda: _read(profile.trace, _operators(profile)))


def _operators(profile: Profile) -> dict[int, Int64s]:
    """For each line of PyTorch's devices the name of the operator that launched each event; -1 for
    none.
    """
    links = torch_links.torch_links(profile)
    if links is None:
        return {}
    name = np.where(
        links.operator >= 0,
        links.host.name[np.maximum(links.operator, 0)] if len(links.host) else -1,
        -1,
    )
    return {line: name[links.device.line == line] for line in np.unique(links.device.line).tolist()}


def _read(trace: Trace, operators: dict[int, Int64s] | None = None) -> Kernels:
    """The same of a trace, read now. `operators`: who launched the events of a line, by name."""
    known: dict[tuple[object, ...], int] = {}
    said: list[KernelFacts] = []
    of_name: dict[int, dict[str, object]] = {}
    lines = []
    for number, process, track in _lines(trace):
        codes = np.empty(len(track.events), np.int32)
        launchers = operators.get(number) if operators else None
        for at in range(0, len(track.events), _CHUNK):
            rows = slice(at, min(at + _CHUNK, len(track.events)))
            names = track.events.name[rows].tolist()
            columns = process.source.columns(track.events.positions(rows), _SAID)
            some = []
            launcher = [-1] * len(names) if launchers is None else launchers[rows].tolist()
            for key in zip(
                names, launcher, *(_values(columns[stat]) for stat in _SAID), strict=True
            ):
                code = known.get(key)
                if code is None:
                    code = known[key] = len(said)
                    one = _said(trace, key[0], dict(zip(_SAID, key[2:], strict=True)), of_name)
                    said.append(
                        one if key[1] < 0 else one._replace(operator=trace.names.full(key[1]))
                    )
                some.append(code)
            codes[rows] = some
        lines.append(DeviceLine(number, process, track, codes))
    return Kernels(tuple(lines), tuple(said))


def _lines(trace: Trace) -> Iterator[tuple[int, Process, Track]]:
    numbers = {id(track): number for number, (_, track) in enumerate(trace.tracks())}
    for process in trace.processes:
        if process.kind is ProcessKind.DEVICE:
            for track in working(process):
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
        column.text(row) if there else None for row, there in enumerate(column.present.tolist())
    ]


def _said(
    trace: Trace, name: int, own: dict[str, object], of_name: dict[int, dict[str, object]]
) -> KernelFacts:
    common = of_name.get(name)
    if common is None:
        common = of_name[name] = {
            stat.name: stat.value
            for stat in trace.names.stats(name)
            if not isinstance(stat.value, bytes)
        }
    told = {stat: common.get(stat) if value is None else value for stat, value in own.items()}
    texts = {field: "" if told[stat] is None else str(told[stat]) for field, stat in _TEXTS.items()}
    numbers = {field: _number(told[stat]) for field, stat in _NUMBERS.items()}
    eager = str(told["is_eager"]).lower() in ("1", "true")
    fields: dict[str, Any] = {**texts, **numbers}
    return KernelFacts(trace.names.full(name), trace.names.display(name), eager, **fields)


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, (int, float, str)) else None
    except ValueError:
        return None


def inside(track: Track, lo: int, hi: int) -> tuple[Int64s, Int64s]:
    """(rows of a line that touch [lo, hi), how many ps of each lie in it)."""
    events = track.events
    end = events.end
    rows = np.flatnonzero(touches(events.start, end, lo, hi))
    return rows, np.minimum(end[rows], hi) - np.maximum(events.start[rows], lo)

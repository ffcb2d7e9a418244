"""From records to a trace: GPUs with their streams, processes with their threads."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from powertui.data.formats.builder import MAX_COUNTERS, LineEvents, ProcessBuilder, TraceBuilder
from powertui.data.formats.file_warnings import FileWarnings, LineQuota
from powertui.data.formats.hardware_counters import counters_of_kernels
from powertui.data.formats.json_stats import PairNames, clean, stat
from powertui.data.formats.rocprof.records import (
    COPIES,
    KERNELS,
    Agent,
    RecordStats,
    RocprofRecords,
)
from powertui.data.formats.source import OpenedFile
from powertui.data.model import PS_PER_NS, Int64s, ProcessKind, Stat, Trace, UInt32s, UInt64s

_Place = tuple[Any, ...]
_LineParts = dict[_Place, list[tuple[Int64s, Int64s, UInt32s, UInt64s]]]


def assembled(source: OpenedFile, records: RocprofRecords) -> Trace:
    """The whole trace. Its zero is the earliest record."""
    builder = TraceBuilder(source.path, "rocprof", size=source.size)
    stats = RecordStats([table for _, table in records.tables])
    names = PairNames()
    numbers = _numbers(records)
    lines = _lines(records, numbers, stats, names, builder.findings)
    for cause, count in records.lost.items():
        builder.findings.add(cause, count=count)
    if records.cut:
        builder.findings.lose(records.cut)
    devices = _devices(records, numbers)
    hosts = {place[1] for place in lines if place[0] == "host"}
    processes: dict[_Place, ProcessBuilder] = {}
    for place in sorted(lines, key=_order):
        owner = place[:2]
        key = place[2]
        label = place[3]
        if owner not in processes:
            name, facts = (
                devices[owner[1]] if owner[0] == "device" else _host(owner[1], len(hosts) > 1)
            )
            processes[owner] = builder.process(name, facts, stats)
        start, length, name_code, position = (
            np.concatenate(column) for column in zip(*lines[place], strict=True)
        )
        processes[owner].add(key, label, LineEvents(start, length, name_code, position))
    trace = builder.build(names, complete=True, warnings=source.warnings)
    counters = [
        counter
        for process in trace.processes
        if process.kind is ProcessKind.DEVICE
        for counter in counters_of_kernels(process, list(records.counters)[:MAX_COUNTERS])
    ]
    return replace(trace, counters=tuple(counters))


def _lines(
    records: RocprofRecords,
    numbers: dict[str, int],
    stats: RecordStats,
    names: PairNames,
    findings: FileWarnings,
) -> _LineParts:
    """(start, duration, name, position) of the events of each line, from one or more tables."""
    zero = min((int(table["start"].min()) for _, table in records.tables if len(table)), default=0)
    lines: _LineParts = {}
    quota = LineQuota()
    for index, (kind, table) in enumerate(records.tables):
        if not len(table):
            continue
        start = (table["start"].to_numpy(np.int64) - zero) * PS_PER_NS
        length = (table["end"].to_numpy(np.int64) - table["start"].to_numpy(np.int64)) * PS_PER_NS
        called, which = np.unique(
            table["name"].astype(str).to_numpy(object).astype(str), return_inverse=True
        )
        name = np.array([names.index(str(text), str(text)) for text in called.tolist()], np.uint32)[
            which.ravel()
        ]
        position = (np.arange(len(table)) + stats.begins[index]).astype(np.uint64)
        for place, rows in _places(kind, table, numbers):
            if place not in lines:
                if not quota.admits(place[:2]):
                    quota.left_out += len(rows)
                    continue
                lines[place] = []
            lines[place].append((start[rows], length[rows], name[rows], position[rows]))
    quota.say(findings)
    return lines


def _places(
    kind: str,
    table: pd.DataFrame,
    numbers: dict[str, int],
) -> Iterator[tuple[_Place, Int64s]]:
    """Which rows lie on which line: (device or host, its number, the line's number, its name).

    A line may come more than once.
    """
    if kind in (KERNELS, COPIES):
        agent = _texts(table, "agent")
        stream = _texts(table, "stream")
        queue = _texts(table, "queue")
        keys = list(zip(agent, stream, queue, strict=True))
    else:
        keys = list(zip(_texts(table, "pid"), _texts(table, "tid"), [""] * len(table), strict=True))
    codes, distinct = pd.factorize(pd.Series(keys, dtype=object))
    order = np.argsort(codes, kind="stable")
    bounds = codes[order].searchsorted(np.arange(len(distinct) + 1))
    for number, (first, second, third) in enumerate(distinct):
        rows = order[bounds[number] : bounds[number + 1]].astype(np.int64)
        if kind in (KERNELS, COPIES):
            yield _stream(kind, numbers.get(first, 0), second, third), rows
        else:
            yield ("host", first, _integer(second, 0), f"thread {second}" if second else ""), rows


def _stream(kind: str, device: int, stream: str, queue: str) -> _Place:
    if stream not in ("", "0"):
        return ("device", device, _integer(stream, 0), f"Stream #{stream}")
    if queue:
        return ("device", device, 1 << 32 | _integer(queue, 0) & 0xFFFFFFFF, f"Queue #{queue}")
    return ("device", device, 1 << 33, "Copies" if kind == COPIES else "Kernels")


def _numbers(records: RocprofRecords) -> dict[str, int]:
    """Which GPU an agent's name stands for.

    Where nothing distinguishes the GPUs, they are counted as they come by their names.
    """
    agent_names: dict[str, None] = {}
    for kind, table in records.tables:
        if kind in (KERNELS, COPIES):
            agent_names.update(dict.fromkeys(_texts(table, "agent")))
    out = {
        name: agent.gpu
        for name in agent_names
        if (agent := records.agents.get(name)) is not None and agent.gpu is not None
    }
    used = set(out.values())
    free = 0  # no number below it can be given: each GPU is asked about once
    for name in sorted(
        (name for name in agent_names if name not in out), key=lambda name: (len(name), name)
    ):
        if name.startswith("GPU "):
            number = _integer(name.removeprefix("GPU "), -1)
        else:
            number = -1
        if number < 0:
            while free in used:
                free += 1
            number = free
        out[name] = number
        used.add(number)
    return out


def _devices(
    records: RocprofRecords,
    numbers: dict[str, int],
) -> dict[int, tuple[str, tuple[Stat, ...]]]:
    """Name and stats of the process that stands for each GPU."""
    called: dict[int, str] = {}
    agents: dict[int, Agent] = {}
    for name, number in numbers.items():
        called.setdefault(number, name)
        if name in records.agents:
            agents.setdefault(number, records.agents[name])
    out = {}
    for number in {0, *called}:  # 0 is the GPU of records that name none
        if number in agents:
            facts = agents[number].facts
        else:
            facts = ()
        stats = (
            *(stat(clean(key), value) for key, value in facts),
            stat("agent", called.get(number, "")),
        )
        out[number] = (f"/device:GPU:{number}", stats)
    return out


def _host(number: str, several: bool) -> tuple[str, tuple[Stat, ...]]:
    return f"/host:CPU process {number}" if several else "/host:CPU", ()


def _texts(table: pd.DataFrame, name: str) -> list[str]:
    if name not in table.columns:
        return [""] * len(table)
    return [_text(value) for value in table[name].tolist()]


def _text(value: Hashable) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _integer(text: str, otherwise: int) -> int:
    if text.lstrip("-").isdecimal() and len(text) < 19:
        return int(text)
    return otherwise


def _order(where: _Place) -> tuple[Any, ...]:
    return (where[0] != "device", str(where[1]).zfill(20), where[2])

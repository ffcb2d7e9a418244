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
from powertui.data.model import (
    PS_PER_NS,
    Counter,
    Int64s,
    ProcessKind,
    Stat,
    Trace,
    UInt32s,
    UInt64s,
)

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
    has_several_hosts = len(hosts) > 1
    processes: dict[_Place, ProcessBuilder] = {}
    for place in sorted(lines, key=_order):
        side, number, key, label = place
        owner = (side, number)
        if owner not in processes:
            if side == "device":
                name, facts = devices[number]
            else:
                name, facts = _host(number, has_several_hosts)
            processes[owner] = builder.process(name, facts, stats)
        columns = zip(*lines[place], strict=True)
        start, length, name_codes, position = map(np.concatenate, columns)
        events = LineEvents(start, length, name_codes, position)
        processes[owner].add(key, label, events)
    trace = builder.build(names, complete=True, warnings=source.warnings)
    counter_names = list(records.counters)[:MAX_COUNTERS]
    counters: list[Counter] = []
    for process in trace.processes:
        if process.kind is ProcessKind.DEVICE:
            counters += counters_of_kernels(process, counter_names)
    return replace(trace, counters=tuple(counters))


def _lines(
    records: RocprofRecords,
    numbers: dict[str, int],
    stats: RecordStats,
    names: PairNames,
    findings: FileWarnings,
) -> _LineParts:
    """(start, duration, name, position) of the events of each line, from one or more tables."""
    firsts = [int(table["start"].min()) for _, table in records.tables if len(table)]
    zero = min(firsts, default=0)
    lines: _LineParts = {}
    quota = LineQuota()
    for index, (kind, table) in enumerate(records.tables):
        if not len(table):
            continue
        start_ns = table["start"].to_numpy(np.int64)
        end_ns = table["end"].to_numpy(np.int64)
        start = (start_ns - zero) * PS_PER_NS
        length = (end_ns - start_ns) * PS_PER_NS
        name = _name_codes(table, names)
        position = np.arange(len(table)) + stats.begins[index]
        position = position.astype(np.uint64)
        for place, rows in _places(kind, table, numbers):
            if place not in lines:
                if not quota.admits(place[:2]):
                    quota.left_out += len(rows)
                    continue
                lines[place] = []
            part = (start[rows], length[rows], name[rows], position[rows])
            lines[place].append(part)
    quota.say(findings)
    return lines


def _name_codes(table: pd.DataFrame, names: PairNames) -> UInt32s:
    """An index for the name of each record."""
    texts = table["name"].astype(str).to_numpy(object)
    distinct, text_of_row = np.unique(texts.astype(str), return_inverse=True)
    codes = []
    for text in distinct.tolist():
        codes.append(names.index(str(text), str(text)))
    return np.array(codes, np.uint32)[text_of_row.ravel()]


def _places(
    kind: str,
    table: pd.DataFrame,
    numbers: dict[str, int],
) -> Iterator[tuple[_Place, Int64s]]:
    """Which rows lie on which line: (device or host, its number, the line's number, its name).

    A line may come more than once.
    """
    is_work = kind in (KERNELS, COPIES)
    names = ("agent", "stream", "queue") if is_work else ("pid", "tid")
    columns = [_texts(table, name) for name in names]
    keys = list(zip(*columns, strict=True))
    codes, distinct = pd.factorize(pd.Series(keys, dtype=object))
    order = np.argsort(codes, kind="stable")
    bounds = codes[order].searchsorted(np.arange(len(distinct) + 1))
    for number, key in enumerate(distinct):
        rows = order[bounds[number] : bounds[number + 1]].astype(np.int64)
        if is_work:
            agent, stream, queue = key
            place = _stream(kind, numbers.get(agent, 0), stream, queue)
        else:
            pid, tid = key
            label = f"thread {tid}" if tid else ""
            place = ("host", pid, _integer(tid, 0), label)
        yield place, rows


def _stream(kind: str, device: int, stream: str, queue: str) -> _Place:
    if stream not in ("", "0"):
        return ("device", device, _integer(stream, 0), f"Stream #{stream}")
    if queue:
        queue_number = _integer(queue, 0) & 0xFFFFFFFF
        return ("device", device, 1 << 32 | queue_number, f"Queue #{queue}")
    label = "Copies" if kind == COPIES else "Kernels"
    return ("device", device, 1 << 33, label)


def _numbers(records: RocprofRecords) -> dict[str, int]:
    """Which GPU an agent's name stands for.

    Where nothing distinguishes the GPUs, they are counted as they come by their names.
    """
    agent_names: dict[str, None] = {}
    for kind, table in records.tables:
        if kind in (KERNELS, COPIES):
            agent_names.update(dict.fromkeys(_texts(table, "agent")))
    numbers = {}
    unnumbered = []
    for name in agent_names:
        agent = records.agents.get(name)
        if agent is not None and agent.gpu is not None:
            numbers[name] = agent.gpu
        else:
            unnumbered.append(name)
    used = set(numbers.values())
    free = 0  # no number below it can be given: each GPU is asked about once
    unnumbered.sort(key=lambda name: (len(name), name))
    for name in unnumbered:
        number = -1
        if name.startswith("GPU "):
            number = _integer(name.removeprefix("GPU "), -1)
        if number < 0:
            while free in used:
                free += 1
            number = free
        numbers[name] = number
        used.add(number)
    return numbers


def _devices(
    records: RocprofRecords,
    numbers: dict[str, int],
) -> dict[int, tuple[str, tuple[Stat, ...]]]:
    """Name and stats of the process that stands for each GPU."""
    agent_names: dict[int, str] = {}
    agents: dict[int, Agent] = {}
    for name, number in numbers.items():
        agent_names.setdefault(number, name)
        if name in records.agents:
            agents.setdefault(number, records.agents[name])
    devices = {}
    for number in {0, *agent_names}:  # 0 is the GPU of records that name none
        stats = []
        if number in agents:
            for key, fact in agents[number].facts:
                stats.append(stat(clean(key), fact))
        stats.append(stat("agent", agent_names.get(number, "")))
        devices[number] = (f"/device:GPU:{number}", tuple(stats))
    return devices


def _host(number: str, several: bool) -> tuple[str, tuple[Stat, ...]]:
    if several:
        return f"/host:CPU process {number}", ()
    return "/host:CPU", ()


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


def _order(place: _Place) -> tuple[Any, ...]:
    side, number, key, _ = place
    return (side != "device", str(number).zfill(20), key)

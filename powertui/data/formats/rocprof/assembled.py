"""From records to a trace: GPUs with their streams, processes with their threads."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from powertui.data.formats.builder import LineEvents, TraceBuilder
from powertui.data.formats.json_stats import PairNames, clean, stat
from powertui.data.formats.rocprof.records import COPIES, KERNELS, Agent, RecordStats, RocprofRecords
from powertui.data.formats.source import OpenedFile
from powertui.data.model import PS_PER_NS, Int64s, Trace, UInt32s, UInt64s

_Place = tuple[Any, ...]


def assembled(source: OpenedFile, records: RocprofRecords) -> Trace:
    """The whole trace. Its zero is the earliest record."""
    builder = TraceBuilder(source.path, "rocprof", size=source.size)
    tables = [table for _, table in records.tables]
    stats, names = RecordStats(tables), PairNames()
    zero = min((int(table["start"].min()) for table in tables if len(table)), default=0)
    lines: dict[_Place, list[tuple[Int64s, Int64s, UInt32s, UInt64s]]] = {}
    numbers = _numbers(records)
    for index, (kind, table) in enumerate(records.tables):
        if not len(table):
            continue
        start = (table["start"].to_numpy(np.int64) - zero) * PS_PER_NS
        length = (table["end"].to_numpy(np.int64) - table["start"].to_numpy(np.int64)) * PS_PER_NS
        called, which = np.unique(table["name"].astype(str).to_numpy(object).astype(str), return_inverse=True)
        name = np.array([names.index(str(one), str(one)) for one in called.tolist()], np.uint32)[which.ravel()]
        place = (np.arange(len(table)) + stats.begins[index]).astype(np.uint64)
        for where, rows in _places(kind, table, numbers).items():
            lines.setdefault(where, []).append((start[rows], length[rows], name[rows], place[rows]))
    for cause, count in records.lost.items():
        builder.findings.add(cause, count=count)
    owners: dict[_Place, Any] = {}
    for where in sorted(lines, key=_order):
        owner, key, label = where[:2], where[2], where[3]
        if owner not in owners:
            owners[owner] = builder.process(*_process(owner, lines, records, numbers), stats)
        parts = lines[where]
        events = LineEvents(
            np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]),
            np.concatenate([part[2] for part in parts]), np.concatenate([part[3] for part in parts]),
        )  # fmt: skip
        owners[owner].add(key, label, events)
    return builder.build(names, complete=True, warnings=source.warnings)


def _places(kind: str, table: pd.DataFrame, numbers: dict[str, int]) -> dict[_Place, Int64s]:
    """Which rows lie on which line: (device or host, its number, the line's number, its name)."""
    if kind in (KERNELS, COPIES):
        agent = _texts(table, "agent")
        stream, queue = _texts(table, "stream"), _texts(table, "queue")
        keys = list(zip(agent, stream, queue, strict=True))
    else:
        keys = list(zip(_texts(table, "pid"), _texts(table, "tid"), [""] * len(table), strict=True))
    codes, seen = pd.factorize(pd.Series(keys, dtype=object))
    out: dict[_Place, Int64s] = {}
    order = np.argsort(codes, kind="stable")
    bounds = codes[order].searchsorted(np.arange(len(seen) + 1))
    for number, (first, second, third) in enumerate(seen):
        rows = order[bounds[number] : bounds[number + 1]].astype(np.int64)
        if kind in (KERNELS, COPIES):
            where = _stream(kind, numbers.get(first, 0), second, third)
        else:
            where = ("host", first, _whole(second, 0), f"thread {second}" if second else "")
        out[where] = np.concatenate([out[where], rows]) if where in out else rows
    return out


def _stream(kind: str, device: int, stream: str, queue: str) -> _Place:
    if stream not in ("", "0"):
        return ("device", device, _whole(stream, 0), f"Stream #{stream}")
    if queue:
        return ("device", device, 1 << 32 | _whole(queue, 0) & 0xFFFFFFFF, f"Queue #{queue}")
    return ("device", device, 1 << 33, "Copies" if kind == COPIES else "Kernels")


def _numbers(records: RocprofRecords) -> dict[str, int]:
    """Which GPU an agent's name stands for. Where nothing distinguishes the GPUs, they are counted as they come by their names."""
    seen: dict[str, None] = {}
    for kind, table in records.tables:
        if kind in (KERNELS, COPIES):
            seen.update(dict.fromkeys(_texts(table, "agent")))
    out = {name: agent.gpu for name in seen if (agent := records.agents.get(name)) is not None and agent.gpu is not None}
    taken = set(out.values())
    for name in sorted((name for name in seen if name not in out), key=lambda name: (len(name), name)):
        named = _whole(name.removeprefix("GPU "), -1) if name.startswith("GPU ") else -1
        number = named if named >= 0 else next(i for i in range(len(seen) + len(taken) + 1) if i not in taken)
        out[name] = number
        taken.add(number)
    return {name: number for name, number in out.items() if number is not None}


def _process(
    owner: _Place, lines: dict[_Place, Any], records: RocprofRecords, numbers: dict[str, int]
) -> tuple[str, tuple[Any, ...]]:
    what, number = owner
    if what == "device":
        found = next((records.agents[name] for name, one in numbers.items() if one == number and name in records.agents), None)
        agent = found or Agent(number, ())
        called = next((name for name, one in numbers.items() if one == number), "")
        return f"/device:GPU:{number}", (*(stat(clean(key), value) for key, value in agent.facts), stat("agent", called))
    several = len({where[1] for where in lines if where[0] == "host"}) > 1
    return f"/host:CPU process {number}" if several else "/host:CPU", ()


def _texts(table: pd.DataFrame, name: str) -> list[str]:
    if name not in table.columns:
        return [""] * len(table)
    return [_text(value) for value in table[name].tolist()]


def _text(value: Hashable) -> str:
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def _whole(text: str, otherwise: int) -> int:
    return int(text) if text.lstrip("-").isdecimal() and len(text) < 19 else otherwise


def _order(where: _Place) -> tuple[Any, ...]:
    return (where[0] != "device", str(where[1]).zfill(20), where[2])

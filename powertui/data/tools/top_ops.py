"""The ops that took most time: of the devices, by the framework's op where kernels say which; else of the host's threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from powertui.data import category
from powertui.data.model import Int64s, ProcessKind, Trace, TrackKind
from powertui.data.tools import event_types, op_stats
from powertui.data.tools.kernel_stats import op_of
from powertui.data.window import touches

SHOWN = 10
_NAMING = ("tf_op", "level 0")  # the framework's op that launched a kernel; the second in old files


class Top(NamedTuple):
    """One op, and its part of all ops' time."""

    name: str
    type: str
    occurrences: int
    self_time: int  # ps
    share: float
    category: str


def of(trace: Trace, lo: int, hi: int) -> list[Top]:
    """All ops of the window by time: of devices where there are some, else of the host."""
    if any(process.kind is ProcessKind.DEVICE and process.event_count for process in trace.processes):
        sums = list(_on_devices(trace, lo, hi))
    else:
        sums = list(_on_host(trace, lo, hi))
    whole = max(1, sum(time for _, _, _, time in sums))
    sums.sort(key=lambda one: (-one[3], one[0]))
    return [Top(name, kind, count, time, time / whole, category.of(f"{name}:{kind}" if kind else name).value)
            for name, kind, count, time in sums]  # fmt: skip


def _on_host(trace: Trace, lo: int, hi: int) -> Iterator[tuple[str, str, int, int]]:
    """Without Python's frames and threads that wait."""
    found = op_stats.of(trace, lo, hi)
    rows = found.order("self")[:400]
    for row in rows.tolist():
        op = found[row]
        if not event_types.waits(op.full) and op.self_time > 0:
            name, _, kind = op.full.partition(":") if op.full.endswith(":" + op.type) else (op.name, "", op.type)
            yield name, kind, op.count, op.self_time


def _on_devices(trace: Trace, lo: int, hi: int) -> Iterator[tuple[str, str, int, int]]:
    names: dict[str, int] = {}
    counts: list[Int64s] = []
    for process, track in trace.tracks():
        if process.kind is not ProcessKind.DEVICE or track.derived or not len(track.events):
            continue
        if track.kind is not TrackKind.STREAM and not (track.kind is TrackKind.OPS and not _streams(process.tracks)):
            continue
        events = track.events
        rows = np.flatnonzero(touches(events.start, events.end, lo, hi))
        if not len(rows):
            continue
        own = np.minimum(events.end[rows], hi) - np.maximum(events.start[rows], lo)
        columns = process.source.columns(events.positions(rows), _NAMING)
        told = [columns[name].texts or [None] * len(rows) for name in _NAMING]
        texts = [new or old for new, old in zip(*told, strict=True)]
        index = np.empty(len(rows), np.int64)
        known: dict[tuple[str | None, int], int] = {}
        for i, (text, name) in enumerate(zip(texts, events.name[rows].tolist(), strict=True)):
            key = (text, -1) if text else (None, name)
            if key not in known:
                known[key] = names.setdefault(text or trace.names.full(name), len(names))
            index[i] = known[key]
        counts.append(np.stack([index, own]))
    if not counts:
        return
    every = np.concatenate(counts, axis=1)
    count = np.bincount(every[0], minlength=len(names))
    total = np.zeros(len(names), np.int64)
    np.add.at(total, every[0], every[1])
    for text, number in names.items():
        name = op_of(text)
        kind = text[len(name) + 1 :] if text.startswith(name + ":") else ""
        yield name, kind, int(count[number]), int(total[number])


def _streams(tracks: tuple[object, ...]) -> bool:
    return any(getattr(track, "kind", None) is TrackKind.STREAM for track in tracks)

"""What ran on the devices of a trace, as columns, and which call on the host asked for it.

Real work only: streams; where a device has none (a TPU), its ops, else its modules. Lines that a
collector drew from those are left out. A kernel and the call that launched it share a
`correlation_id`; a module and the call that enqueued it a `run_id`; old files say the step itself
(`group_id`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from powertui.data.model import (
    Bools,
    Events,
    Int32s,
    Int64s,
    Process,
    ProcessKind,
    Trace,
    Track,
    TrackKind,
)
from powertui.data.run.marks import carried, carriers, whole_numbers
from powertui.value_types import dataclass

_Time = TypeVar("_Time", np.int64, np.float64)

_STATS = ("group_id", "correlation_id", "run_id")
_NEVER = np.iinfo(np.int64).min  # no launch is known


@dataclass(frozen=True, eq=False)
class DeviceWork:
    """Every event of real work on devices, device by device."""

    devices: tuple[str, ...]
    device: Int32s  # index into devices
    start: Int64s
    duration: Int64s
    group: Int64s  # the collector's group_id, -1 for none
    launch: Int64s  # when the call that asked for it began; `launched` says where that is known
    launch_line: Int32s  # on which line, over Trace.tracks()
    launched: Bools
    link: str  # what ties work to calls: "launch", "run id"; "" for nothing

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> Int64s:
        return self.start + self.duration


def device_intervals(trace: Trace) -> DeviceWork | None:
    """The work of all devices; None for a profile without any."""
    parts: list[tuple[int, Process, Track]] = []
    devices: list[str] = []
    for process in trace.processes:
        if process.kind is ProcessKind.DEVICE:
            tracks = [track for track in work_tracks(process) if len(track.events)]
            if tracks:
                parts += [(len(devices), process, track) for track in tracks]
                devices.append(process.name)
    if not parts:
        return None
    device = np.concatenate(
        [np.full(len(track.events), index, np.int32) for index, _, track in parts]
    )
    start = np.concatenate([track.events.start for _, _, track in parts])
    duration = np.concatenate([track.events.duration for _, _, track in parts])
    stats = _decoded(trace, parts)
    group = stats.get("group_id", np.full(len(start), -1, np.int64))
    for link, stat in (("launch", "correlation_id"), ("run id", "run_id")):
        ids = stats.get(stat)
        if stat == "run_id":
            ids = _by_module(parts, ids)
        if ids is None:
            continue
        calls = _calls(trace, stat)
        if not len(calls[0]):
            continue
        place = np.minimum(calls[0].searchsorted(ids), len(calls[0]) - 1)
        launched = (calls[0][place] == ids) & (ids >= 0)
        if launched.any():
            return DeviceWork(
                tuple(devices),
                device,
                start,
                duration,
                group,
                calls[1][place],
                calls[2][place],
                launched,
                link,
            )
    no = np.zeros(len(start), np.bool_)
    return DeviceWork(
        tuple(devices),
        device,
        start,
        duration,
        group,
        np.full(len(start), _NEVER),
        np.zeros(len(start), np.int32),
        no,
        "",
    )


def work_tracks(process: Process) -> Iterator[Track]:
    """The lines that hold what a device really did."""
    for kind in (TrackKind.STREAM, TrackKind.OPS, TrackKind.MODULES):
        tracks = [track for track in process.tracks if track.kind is kind and len(track.events)]
        real = [track for track in tracks if not track.derived]
        if real or (tracks and kind is not TrackKind.STREAM):
            yield from real or tracks[:1]
            return


def _decoded(trace: Trace, parts: Sequence[tuple[int, Process, Track]]) -> dict[str, Int64s]:
    """Those of the linking stats that any of this work carries."""
    by_process: dict[int, tuple[Process, list[Track]]] = {}
    for _, process, track in parts:
        by_process.setdefault(id(process), (process, []))[1].append(track)
    carriers_of = [
        carried(trace, process, tracks, _STATS) for process, tracks in by_process.values()
    ]
    stats = [stat for stat in _STATS if any(names[stat].any() for names in carriers_of)]
    if not stats:
        return {}
    parts_of: dict[str, list[Int64s]] = {stat: [] for stat in stats}
    for _, process, track in parts:
        columns = process.source.columns(track.events.position, stats)
        for stat in stats:
            parts_of[stat].append(whole_numbers(columns[stat]))
    return {stat: np.concatenate(values) for stat, values in parts_of.items()}


def _by_module(parts: Sequence[tuple[int, Process, Track]], ids: Int64s | None) -> Int64s | None:
    """Run ids of work that carries none itself: those of the module that ran on its device at the
    time.
    """
    out = []
    any_id = False
    first = 0
    for _, process, track in parts:
        count = len(track.events)
        run_ids = ids[first : first + count] if ids is not None else np.full(count, -1, np.int64)
        first += count
        modules = next(
            (
                line
                for line in process.tracks
                if line.kind is TrackKind.MODULES and len(line.events)
            ),
            None,
        )
        if modules is not None and (run_ids < 0).any():
            lane = modules.lane(0)
            run = whole_numbers(process.source.columns(lane.position, ("run_id",))["run_id"])
            if (run >= 0).any():
                place, inside = _within(lane, track.events.start)
                run_ids = np.where((run_ids < 0) & inside, run[place], run_ids)
        any_id = any_id or bool((run_ids >= 0).any())
        out.append(run_ids)
    return np.concatenate(out) if any_id else None


def _within(lane: Events, moments: Int64s) -> tuple[Int64s, Bools]:
    """(the event of a lane that is open at each moment, whether there is one)."""
    place = lane.start.searchsorted(moments, side="right") - 1
    at = np.maximum(place, 0)
    return at, (place >= 0) & (moments < lane.start[at] + lane.duration[at])


def host_lines(trace: Trace) -> Iterator[tuple[Process, list[tuple[int, Track]]]]:
    """Each host that has events, with its lines that hold some, numbered over all lines of the
    trace.
    """
    number = 0
    for process in trace.processes:
        numbered = list(enumerate(process.tracks, number))
        number += len(numbered)
        lines = [
            (line, track) for line, track in numbered if len(track.events) and not track.derived
        ]
        if process.kind is ProcessKind.HOST and lines:
            yield process, lines


def _calls(trace: Trace, stat: str) -> tuple[Int64s, Int64s, Int32s]:
    """(ids ascending, when the call with each began, on which line): of several calls with one id
    the last counts.
    """
    ids, starts, lines = [], [], []
    for process, tracks in host_lines(trace):
        carrying = carriers(trace, process, [track for _, track in tracks], (stat,))
        for line, track in tracks:
            rows = np.flatnonzero(carrying[track.events.name])
            if not len(rows):
                continue
            call_ids = whole_numbers(
                process.source.columns(track.events.positions(rows), (stat,))[stat]
            )
            has = call_ids >= 0
            ids.append(call_ids[has])
            starts.append(track.events.start[rows[has]])
            lines.append(np.full(int(has.sum()), line, np.int32))
    if not sum(len(part) for part in ids):
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32)
    every_id, when, where = np.concatenate(ids), np.concatenate(starts), np.concatenate(lines)
    # A run is enqueued once and its completion told later: the first call counts. A launch's id is
    # used anew: the last.
    order = np.lexsort((when if stat == "correlation_id" else -when, every_id))
    last = np.append(every_id[order][1:] != every_id[order][:-1], True)
    chosen = order[last]
    return every_id[chosen], when[chosen], where[chosen]


# ── each moment once ─────────────────────────────────────────────────────────────────────────────


def covered_ps(key: Int64s, start: Int64s, end: Int64s, count: int) -> Int64s:
    """For each of `count` keys how long at least one of its events ran; -1 for keys without any."""
    out = np.full(count, -1, np.int64)
    if not len(key):
        return out
    same_key = key[1:] == key[:-1]
    is_disordered = (key[1:] < key[:-1]) | (same_key & (start[1:] < start[:-1]))
    if is_disordered.any():
        order = np.lexsort((start, key))
        key, start, end = key[order], start[order], end[order]
        same_key = key[1:] == key[:-1]
    is_first = np.append(True, ~same_key)
    until = end
    if (same_key & (end[1:] < end[:-1])).any():
        until = furthest(key, end)
    # Up to where the events before have covered the time already.
    before = np.empty_like(until)
    before[1:] = until[:-1]
    before[is_first] = start[is_first]
    added = np.maximum(0, end - np.maximum(start, before))
    firsts = np.flatnonzero(is_first)
    out[key[firsts]] = np.add.reduceat(added, firsts)
    return out


def furthest(key: Int64s, end: npt.NDArray[_Time]) -> npt.NDArray[_Time]:
    """The furthest end so far of the same key; keys ascend."""
    # Ranks instead of times, so that a key can be put before them.
    by_end = np.argsort(end, kind="stable")
    rank = np.empty(len(end), np.int64)
    rank[by_end] = np.arange(len(end))
    return end[by_end][np.maximum.accumulate(key * len(end) + rank) - key * len(end)]


def extents(key: Int64s, start: Int64s, end: Int64s, count: int) -> tuple[Int64s, Int64s]:
    """(first start, last end) of each of `count` keys; the last end lies before the first start for
    keys without any.
    """
    lo, hi = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(lo, key, start)
    np.maximum.at(hi, key, end)
    return lo, hi

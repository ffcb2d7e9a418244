"""What ran on the devices of a trace, as columns, and which call on the host asked for it.

Real work only: streams; where a device has none (a TPU), its ops, else its modules. Lines that a
collector drew from those are left out. A kernel and the call that launched it share a
`correlation_id`; a module and the call that enqueued it a `run_id`; old files say the step itself
(`group_id`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from powertui.data.model import (
    Bools,
    Int32s,
    Int64s,
    Process,
    ProcessKind,
    Trace,
    Track,
    TrackKind,
)
from powertui.data.run.stat_carriers import carried, numbers_of_carriers, whole_numbers
from powertui.data.sorted_columns import begins_run, ends_run, open_at, places_among, places_in
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_Time = TypeVar("_Time", np.int64, np.float64)

_STATS = ("group_id", "correlation_id", "run_id")
_NO_LAUNCH_PS = np.iinfo(np.int64).min
# By which stat work is tied to calls, the surest first, and what that link is called.
_LINKS = (("correlation_id", "launch"), ("run_id", "run id"))


class _WorkLine(NamedTuple):
    """One line with real work of a device."""

    device: int  # index among the devices with work
    process: Process
    track: Track


class _Calls(NamedTuple):
    """Calls on the host by the id that ties work to them, ascending."""

    id: Int64s
    start: Int64s
    line: Int32s


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

    @cached_property
    def end(self) -> Int64s:
        """When each ended."""
        return self.start + self.duration


def device_intervals(trace: Trace) -> DeviceWork | None:
    """The work of all devices; None for a profile without any."""
    lines: list[_WorkLine] = []
    devices: list[str] = []
    for process in trace.processes:
        if process.kind is not ProcessKind.DEVICE:
            continue
        tracks = [track for track in work_tracks(process) if len(track.events)]
        if not tracks:
            continue
        for track in tracks:
            lines.append(_WorkLine(len(devices), process, track))
        devices.append(process.name)
    if not lines:
        return None
    stats = _decoded(trace, lines)
    unlinked = _unlinked_work(devices, lines, stats)
    for stat, link in _LINKS:
        ids = stats.get(stat)
        if stat == "run_id":
            ids = _by_module(lines, ids)
        if ids is None:
            continue
        calls = _calls(trace, stat)
        place, launched = places_among(calls.id, ids)
        launched &= ids >= 0
        if launched.any():
            return replace(
                unlinked,
                launch=calls.start.take(place),
                launch_line=calls.line.take(place),
                launched=launched,
                link=link,
            )
    return unlinked


def _unlinked_work(
    devices: list[str],
    lines: Sequence[_WorkLine],
    stats: dict[str, Int64s],
) -> DeviceWork:
    """All work, while nothing ties it to calls."""
    event_counts = [len(line.track.events) for line in lines]
    device_of_line = np.array([line.device for line in lines], np.int32)
    total = sum(event_counts)
    return DeviceWork(
        devices=tuple(devices),
        device=np.repeat(device_of_line, event_counts),
        start=np.concatenate([line.track.events.start for line in lines]),
        duration=np.concatenate([line.track.events.duration for line in lines]),
        group=stats.get("group_id", np.full(total, -1, np.int64)),
        launch=np.full(total, _NO_LAUNCH_PS),
        launch_line=np.zeros(total, np.int32),
        launched=np.zeros(total, np.bool_),
        link="",
    )


def work_tracks(process: Process) -> Iterator[Track]:
    """The lines that hold what a device really did."""
    for kind in (TrackKind.STREAM, TrackKind.OPS, TrackKind.MODULES):
        tracks = [track for track in process.tracks if track.kind is kind and len(track.events)]
        real = [track for track in tracks if not track.derived]
        if real or (tracks and kind is not TrackKind.STREAM):
            yield from real or tracks[:1]
            return


def _occurring_stats(trace: Trace, lines: Sequence[_WorkLine]) -> list[str]:
    """Those of the linking stats that the name of any of this work may carry."""
    lines_of_process: dict[int, list[_WorkLine]] = {}
    for line in lines:
        lines_of_process.setdefault(id(line.process), []).append(line)
    occurring: set[str] = set()
    for process_lines in lines_of_process.values():
        tracks = [line.track for line in process_lines]
        names_with = carried(trace, process_lines[0].process, tracks, _STATS)
        occurring.update(stat for stat in _STATS if names_with[stat].any())
    return [stat for stat in _STATS if stat in occurring]


def _decoded(trace: Trace, lines: Sequence[_WorkLine]) -> dict[str, Int64s]:
    """Those of the linking stats that any of this work carries."""
    stats = _occurring_stats(trace, lines)
    if not stats:
        return {}
    parts: dict[str, list[Int64s]] = {stat: [] for stat in stats}
    for line in lines:
        columns = line.process.source.columns(line.track.events.position, stats)
        for stat in stats:
            parts[stat].append(whole_numbers(columns[stat]))
    return {stat: np.concatenate(values) for stat, values in parts.items()}


def _by_module(lines: Sequence[_WorkLine], ids: Int64s | None) -> Int64s | None:
    """Run ids of work that carries none itself: those of the module that ran on its device at the
    time.
    """
    parts = []
    first = 0
    for line in lines:
        count = len(line.track.events)
        run_ids = np.full(count, -1, np.int64)
        if ids is not None:
            run_ids = ids[first : first + count]
        first += count
        if (run_ids < 0).any():
            run_ids = _with_ids_of_modules(line, run_ids)
        parts.append(run_ids)
    every_id = np.concatenate(parts)
    if (every_id >= 0).any():
        return every_id
    return None


def _with_ids_of_modules(line: _WorkLine, run_ids: Int64s) -> Int64s:
    for track in line.process.tracks:
        if track.kind is TrackKind.MODULES and len(track.events):
            modules = track.lane(0)
            columns = line.process.source.columns(modules.position, ("run_id",))
            module_ids = whole_numbers(columns["run_id"])
            work_start = line.track.events.start
            runs, module = open_at(modules.start, modules.end, work_start)
            is_missing = run_ids < 0
            return np.where(is_missing & runs, module_ids[module], run_ids)
    return run_ids


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


def _calls(trace: Trace, stat: str) -> _Calls:
    """The calls that carry this stat: of several with one id one counts."""
    parts: list[_Calls] = []
    for process, lines in host_lines(trace):
        tracks = [track for _, track in lines]
        carrying = carried(trace, process, tracks, (stat,))[stat]
        for line, track in lines:
            rows = np.flatnonzero(carrying.take(track.events.name))
            if not len(rows):
                continue
            ids = numbers_of_carriers(process, track, rows, stat)
            has_id = ids >= 0
            if not has_id.all():
                ids = ids[has_id]
                rows = rows[has_id]
            parts.append(
                _Calls(
                    id=ids,
                    start=track.events.start.take(rows),
                    line=np.full(len(ids), line, np.int32),
                )
            )
    calls = _joined_calls(parts)
    if (calls.id[1:] > calls.id[:-1]).all():  # as on a thread that alone launches
        return calls
    if stat == "correlation_id":  # a launch's id is used anew: the last call counts
        order = np.lexsort((calls.start, calls.id))
    else:  # a run is enqueued once and its completion reported later: the first call counts
        order = np.lexsort((-calls.start, calls.id))
    is_last = ends_run(calls.id[order])
    chosen = order[is_last]
    return _Calls(
        id=calls.id[chosen],
        start=calls.start[chosen],
        line=calls.line[chosen],
    )


def _joined_calls(parts: list[_Calls]) -> _Calls:
    if len(parts) == 1:
        return parts[0]
    no_ids = np.empty(0, np.int64)
    no_lines = np.empty(0, np.int32)
    return _Calls(
        id=np.concatenate([no_ids, *(part.id for part in parts)]),
        start=np.concatenate([no_ids, *(part.start for part in parts)]),
        line=np.concatenate([no_lines, *(part.line for part in parts)]),
    )


# ── each moment once ─────────────────────────────────────────────────────────────────────────────


def covered_ps(
    key: Int64s,
    start: Int64s,
    end: Int64s,
    count: int,
) -> Int64s:
    """For each of `count` keys how long at least one of its events ran; -1 for keys without any."""
    out = np.full(count, -1, np.int64)
    if not len(key):
        return out
    falls = key[1:] < key[:-1]
    same_key = key[1:] == key[:-1]
    starts_earlier = start[1:] < start[:-1]
    is_out_of_order = falls | (same_key & starts_earlier)
    if is_out_of_order.any():
        order = np.lexsort((start, key))
        key = key[order]
        start = start[order]
        end = end[order]
    is_first = begins_run(key)
    reached = end
    ends_earlier = end[1:] < end[:-1]
    if ends_earlier.any() and (ends_earlier & ~is_first[1:]).any():
        reached = furthest(key, end)
    # Up to where the events before have covered the time already.
    before = np.empty_like(reached)
    before[1:] = reached[:-1]
    before[is_first] = start[is_first]
    np.maximum(start, before, out=before)
    added = np.subtract(end, before, out=before)
    np.maximum(0, added, out=added)
    firsts = np.flatnonzero(is_first)
    keys = key[firsts]
    out[keys] = np.add.reduceat(added, firsts)
    return out


def any_ps(start: Int64s, end: Int64s) -> int:
    """How long at least one of these events ran."""
    if not len(start):
        return 0
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start = start[order]
        end = end[order]
    # Without what the events before have covered already.
    added = end - start
    reached = np.maximum.accumulate(end)
    added[1:] -= np.maximum(reached[:-1] - start[1:], 0)
    return int(np.maximum(added, 0).sum())


def furthest(key: Int64s, end: npt.NDArray[_Time]) -> npt.NDArray[_Time]:
    """The furthest end so far of the same key; keys ascend."""
    # Ranks instead of times, so that a key can be put before them.
    by_end = np.argsort(end, kind="stable")
    rank = places_in(by_end)
    first_rank = key * len(end)
    highest = np.maximum.accumulate(first_rank + rank) - first_rank
    return end[by_end][highest]


def extents(key: Int64s, start: Int64s, end: Int64s, count: int) -> tuple[Int64s, Int64s]:
    """(first start, last end) of each of `count` keys; the last end lies before the first start for
    keys without any.
    """
    first_start = np.full(count, np.iinfo(np.int64).max)
    last_end = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(first_start, key, start)
    np.maximum.at(last_end, key, end)
    return first_start, last_end

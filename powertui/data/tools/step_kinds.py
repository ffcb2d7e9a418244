"""What kinds of work ran during each step: the self time of each kind there, as the op table counts
it.

TensorBoard's categories say that a step computes; of a training on a host alone nearly all of it.
The kinds say what it computes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data import category, wire
from powertui.data.category import Category
from powertui.data.model import Floats, Int64s, Names, Process, ProcessKind, Track
from powertui.data.opened import Profile
from powertui.data.sorted_columns import rows_of_ranges
from powertui.data.tools import launched_kinds, op_sums, op_types, thread_time
from powertui.named_tuples import NamedTuple

# Of a program with more names the kinds stay unknown: each name is looked at (chosen).
_MAX_NAMES = 20_000
_MAX_SUMS = 4_000_000  # steps × kinds; beyond, ops are told apart by kind alone
_CHUNK_EVENTS = 1 << 20


class OpKind(NamedTuple):
    """A kind of work, or one type of op of that kind: "Conv2DBackpropInput"."""

    category: Category
    op_type: str = ""  # "" where names say none


class StepKinds(NamedTuple):
    """What ran during each step."""

    kinds: tuple[OpKind, ...]
    self_ps: Floats  # [steps × kinds]


class _Names(NamedTuple):
    """What the names of a trace stand for."""

    kinds: tuple[OpKind, ...]
    number: Int64s  # into the kinds, for each name; their count: of what only waits for others


class _Pieces(NamedTuple):
    """The parts of a lane's events inside of steps, in the order of time."""

    step: Int64s
    name: Int64s
    start: Int64s
    end: Int64s


def step_kinds(
    profile: Profile,
    start: Int64s,
    length: Int64s,
    *,
    devices: bool,
) -> StepKinds | None:
    """The self time of each kind of work during each step, on all devices or on the host. None
    where that is not known.

    The steps come in the order of time; of two that overlap the first one ends where the second
    begins.
    """
    trace = profile.trace
    processes = []
    for process in trace.processes:
        if (process.kind is ProcessKind.DEVICE) == devices:
            processes.append(process)
    tracks = list(_counted_tracks(processes))
    if tracks and not devices and any(thread_time.framed_threads(row) for row in processes):
        return None  # frames of Python lie on lines of their own: lanes do not say what is inside
    if not len(start) or not tracks:
        return None
    names = _kinds(profile, tracks, len(start))
    if names is None:
        return None
    borders = _borders(start, length)
    width = len(names.kinds) + 1
    sums = np.zeros(len(start) * width)
    for track in tracks:
        for depth in range(track.lane_count):
            for pieces in _pieces(track, depth, borders):
                self_time = pieces.end - pieces.start
                if depth + 1 < track.lane_count:
                    inner = track.lane(depth + 1)
                    covered_ps = op_sums.covered(inner, pieces.start, pieces.end)
                    self_time = self_time - covered_ps
                column = names.number[pieces.name]
                cell = pieces.step * width + column
                sums += np.bincount(cell, self_time, len(sums))
    self_ps = sums.reshape(len(start), width)
    return StepKinds(names.kinds, self_ps[:, :-1])


def _counted_tracks(processes: list[Process]) -> Iterator[Track]:
    """The lines whose events are work of their own."""
    for process in processes:
        for track in process.tracks:
            if op_sums.counts(track) and len(track.events):
                yield track


def _kinds(profile: Profile, tracks: list[Track], steps: int) -> _Names | None:
    """What each name stands for; None where there are too many names."""
    trace = profile.trace
    names_by_track = [wire.distinct(track.events.name) for track in tracks]
    used = wire.distinct(np.concatenate(names_by_track))
    if len(used) > _MAX_NAMES:
        return None
    launched = launched_kinds.launched_kinds(trace)
    kind_of_name: dict[int, OpKind] = {}
    for name in used.tolist():
        kind = _kind(trace.names, name, launched.get(name))
        if kind is not None:
            kind_of_name[name] = kind
    kinds_in_use = set(kind_of_name.values())
    if len(kinds_in_use) * steps > _MAX_SUMS:
        for name, kind in kind_of_name.items():
            kind_of_name[name] = OpKind(kind.category)
        kinds_in_use = set(kind_of_name.values())
    kinds = tuple(sorted(kinds_in_use))
    number_of_kind = {kind: number for number, kind in enumerate(kinds)}
    no_kind = len(kinds)
    number_of_name = np.full(len(trace.names), no_kind, np.int64)
    for name, kind in kind_of_name.items():
        number_of_name[name] = number_of_kind[kind]
    return _Names(kinds, number_of_name)


def _kind(names: Names, name: int, launched: Category | None) -> OpKind | None:
    """The kind of a name; None of what only waits for work of other threads."""
    full = names.full(name)
    if full in category.HAND_OVER:
        return None
    if launched is not None:
        return OpKind(launched)
    display = names.display(name)
    _, kind = op_types.kind_of(full, display)
    return OpKind(kind, category.op_type(full))


def _borders(start: Int64s, length: Int64s) -> Int64s:
    """Where steps begin and end, in turns."""
    borders = np.empty(2 * len(start), np.int64)
    borders[0::2] = start
    end = start + length
    next_start = start[1:]
    end[:-1] = np.minimum(end[:-1], next_start)
    borders[1::2] = end
    return borders


def _pieces(track: Track, depth: int, borders: Int64s) -> Iterator[_Pieces]:
    """The events of a lane, cut where a step begins or ends; what lies in no step is left out."""
    first, last = op_sums.touching(
        track,
        depth,
        int(borders[0]),
        int(borders[-1]),
    )
    for begin in range(first, last, _CHUNK_EVENTS):
        chunk = slice(begin, min(begin + _CHUNK_EVENTS, last))
        events = track.events[chunk]
        end = events.start + events.duration
        first_bin = borders.searchsorted(events.start, side="right") - 1
        last_bin = borders.searchsorted(end, side="left") - 1
        last_bin = np.maximum(last_bin, first_bin)
        bin_counts = last_bin - first_bin + 1
        row, bin_number = rows_of_ranges(first_bin, bin_counts)
        # Every other bin lies between two steps.
        is_in_step = (bin_number >= 0) & (bin_number % 2 == 0)
        row = row[is_in_step]
        bin_number = bin_number[is_in_step]
        if len(row):
            yield _Pieces(
                step=bin_number // 2,
                name=events.name[row].astype(np.int64),
                start=np.maximum(events.start[row], borders[bin_number]),
                end=np.minimum(end[row], borders[bin_number + 1]),
            )

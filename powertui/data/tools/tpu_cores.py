"""What the cores of a TPU did in each step, and what that comes to over all of them: TensorBoard's
breakdown for TPUs.

Of each core the self times of its ops are added by what they do; what no op covers of a step is
idle. A step counts where all cores have it. Over the cores: computing is the least of a step less
its waiting, infeed and copies to and from the host are the most, outfeed is the mean; an all-reduce
computes as long as the fastest core needs, the rest is waiting for the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from powertui.data import texts
from powertui.data.model import Bools, Int64s, Process, ProcessKind, Trace, Track, TrackKind
from powertui.data.opened import Profile
from powertui.data.run.device_intervals import covered_ps
from powertui.data.run.marks import rows_named, whole_numbers
from powertui.data.tools import device_ops, event_types, kernels
from powertui.data.tools.event_types import EventType
from powertui.data.tools.kernels import DeviceLine, KernelFacts

_CORE = re.compile(r"/device:TPU:(\d+)$")
# What an op does, by its category; of files that tell none by the name of its instruction.
_KINDS = (
    "infeed",
    "outfeed",
    "host",
    "sparse_wait",
    "all_reduce",
    "send_recv",
    "megacore",
    "high_flop",
    "other",
)
_OF_CATEGORY = {
    "infeed": "infeed",
    "outfeed": "outfeed",
    "host send": "host",
    "host send-done": "host",
    "host recv": "host",
    "host recv-done": "host",
    "sparsecorev0 infeed": "sparse_wait",
    "sparsecorev0 infeed wait": "sparse_wait",
    "sparsecorev0 infeed transform": "sparse_wait",
    "all-reduce": "all_reduce",
    "all-reduce fusion": "all_reduce",
    "all-to-all": "all_reduce",
    "all-reduce-scatter fusion": "all_reduce",
    "send": "send_recv",
    "send-done": "send_recv",
    "recv": "send_recv",
    "recv-done": "send_recv",
    "megacore fusion": "megacore",
    "convolution": "high_flop",
    "convolution fusion": "high_flop",
    "output fusion": "high_flop",
    "convolution base-dilated": "high_flop",
    "convolution window-dilated": "high_flop",
}
_OF_NAME = (
    (re.compile(r"^%?infeed"), "infeed"),
    (re.compile(r"^%?outfeed"), "outfeed"),
    (re.compile(r"^%?(?:all-reduce|all-to-all)"), "all_reduce"),
    (re.compile(r"^%?(?:send|recv)\b"), "send_recv"),
    (re.compile(r"^%?(?:convolution|dot)\b"), "high_flop"),
)
_OFF_DUTY = frozenset(("infeed", "outfeed", "host", "megacore"))
_BARRIER, _PRINT, _ENQUEUE = "barrier-cores", "debug_print", "EnqueueDevice"


@dataclass(frozen=True, eq=False)
class TpuSteps:
    """The common steps of all cores. Times in ps, a row for each step."""

    cores: tuple[str, ...]
    row: Int64s  # of the run's steps
    length: Int64s  # of the longest core
    compute: Int64s
    infeed: Int64s
    outfeed: Int64s
    host: Int64s  # copies to and from the host
    sparse: Int64s  # waiting for the sparse cores
    idle: Int64s
    all_reduce: Int64s  # what of computing all-reduce computes
    all_reduce_wait: Int64s  # … and waits for the other cores
    send_recv: Int64s
    high_flop: Int64s
    infeed_told: bool  # by infeed ops; False: by the time that the host waited for input
    barrier: float  # of the steps' time, on all cores
    printing: float

    def share(self, times: Int64s) -> float:
        """Of all steps' time."""
        return float(times.sum()) / max(1.0, float(self.length.sum()))


def _kind(said: KernelFacts) -> str:
    """What an op does."""
    if said.category:
        return _OF_CATEGORY.get(said.category.lower(), "other")
    name = (said.short or said.name).lower()
    return next((kind for pattern, kind in _OF_NAME if pattern.match(name)), "other")


def _cores(trace: Trace) -> list[Process]:
    """The tensor cores of a trace."""
    return [
        process
        for process in trace.processes
        if process.kind is ProcessKind.DEVICE and _CORE.search(process.name)
    ]


def steps(profile: Profile) -> TpuSteps | None:
    """The steps over all cores; None without a TPU, or where no step is common to all of them.

    Made once.
    """
    return profile.cached("tpu steps", lambda: _steps(profile))


def _steps(profile: Profile) -> TpuSteps | None:
    there = [process for process in _cores(profile.trace) if process.event_count]
    on = {one.name: one for one in profile.steps.on if one.kind == "device"}
    each = [on[process.name] for process in there if process.name in on and len(on[process.name])]
    if not each or len(each) != len(there):
        return None
    common = each[0].row
    for one in each[1:]:
        common = common[np.isin(common, one.row)]
    common = np.unique(common)
    if not len(common):
        return None
    work = kernels.device_kernels(profile)
    start, length = np.zeros((2, len(each), len(common)), np.int64)
    sums = {
        name: np.zeros((len(each), len(common)), np.int64) for name in (*_KINDS, "barrier", "print")
    }
    reduces: dict[str, Int64s] = {}
    for core, one in enumerate(each):
        order = np.argsort(one.row, kind="stable")
        at = order[one.row[order].searchsorted(common)]
        start[core], length[core] = one.start[at], one.duration[at]
        mine = {name: times[core] for name, times in sums.items()}
        for line in _lines(work.lines, one.name):
            _add(line, work.facts, start[core], length[core], mine, reduces, core, len(each))
    busy = sum(sums[name] for name in _KINDS)
    idle = np.maximum(0, length - busy)
    infeed, told = sums["infeed"], bool(sums["infeed"].any())
    if not told:
        waited = _host_input(profile, start.min(axis=0), length.max(axis=0))
        infeed = np.minimum(idle, waited[None, :])
        idle = idle - infeed
    waits = infeed + sums["outfeed"] + sums["host"] + sums["sparse_wait"] + idle
    compute = (length - waits).min(axis=0)
    parts = {
        "infeed": infeed.max(axis=0),
        "outfeed": sums["outfeed"].mean(axis=0).round().astype(np.int64),
        "host": sums["host"].max(axis=0),
        "sparse": sums["sparse_wait"].max(axis=0),
    }
    rest = np.maximum(0, length.min(axis=0) - compute - sum(parts.values()))
    shared = sum((times.min(axis=0) for times in reduces.values()), np.zeros(len(common), np.int64))
    whole_time = float(length.sum())
    return TpuSteps(
        cores=tuple(one.name for one in each),
        row=common,
        length=length.max(axis=0),
        compute=compute,
        infeed=parts["infeed"],
        outfeed=parts["outfeed"],
        host=parts["host"],
        sparse=parts["sparse"],
        idle=rest,
        all_reduce=shared,
        all_reduce_wait=(sums["all_reduce"] - shared[None, :]).max(axis=0),
        send_recv=sums["send_recv"].max(axis=0),
        high_flop=sums["high_flop"].mean(axis=0).round().astype(np.int64),
        infeed_told=told,
        barrier=float(sums["barrier"].sum()) / max(1.0, whole_time),
        printing=float(sums["print"].sum()) / max(1.0, whole_time),
    )


def _lines(lines: tuple[DeviceLine, ...], core: str) -> list[DeviceLine]:
    """The line of a core's ops: what runs asynchronously beside it takes none of its time."""
    of_core = [line for line in lines if line.process.name == core]
    return [line for line in of_core if line.track.name == "XLA Ops"] or of_core


def _add(
    line: DeviceLine,
    said: tuple[KernelFacts, ...],
    start: Int64s,
    length: Int64s,
    sums: dict[str, Int64s],
    reduces: dict[str, Int64s],
    core: int,
    count: int,
) -> None:
    """The ops of one line of one core, each for the step in which it begins."""
    events = line.track.events
    rows = np.arange(len(events))
    own = device_ops.selfs(line.track, rows, events.duration)
    order = np.argsort(start, kind="stable")
    at = start[order].searchsorted(events.start, side="right") - 1
    step = order[np.maximum(at, 0)]
    inside = (at >= 0) & (events.start < start[step] + length[step])
    for code in np.unique(line.facts[inside]).tolist():
        one = said[code]
        mine = rows[inside & (line.facts == code)]
        what = _kind(one)
        np.add.at(sums[what], step[mine], own[mine])
        name = one.short or one.name
        if _BARRIER in name:
            np.add.at(sums["barrier"], step[mine], events.duration[mine])
        if _PRINT in name:
            np.add.at(sums["print"], step[mine], events.duration[mine])
        if what == "all_reduce":
            ids = whole_numbers(
                line.process.source.columns(events.positions(mine), ("all_reduce_id",))[
                    "all_reduce_id"
                ]
            )
            for id in np.unique(ids).tolist():
                key = str(id) if id >= 0 else name
                times = reduces.setdefault(key, np.zeros((count, len(start)), np.int64))
                some = mine[ids == id]
                np.add.at(times[core], step[some], own[some])


def _host_input(profile: Profile, start: Int64s, length: Int64s) -> Int64s:
    """How long the host waited for input, or enqueued it, in each step: each moment once."""
    _, hosts = event_types.typed_events(profile.trace, "corrected")
    parts = []
    for line in hosts:
        rows = line.telling()
        parts.append(
            (
                line.track,
                rows[
                    np.isin(line.types_for(rows), (EventType.WAIT_INPUT, EventType.HOST_TO_DEVICE))
                ],
            )
        )
    return _covered(parts, start, length)


def enqueuing(profile: Profile, found: TpuSteps) -> float:
    """The part of the steps' time in which the host is in EnqueueDevice."""
    wanted = texts.beginning(profile.trace.names, _ENQUEUE)
    start = profile.steps.start[found.row]
    parts = [
        (track, rows_named(track.events.name, wanted))
        for process, track in profile.trace.tracks()
        if process.kind is ProcessKind.HOST and wanted.any()
    ]
    return found.share(_covered(parts, start, found.length))


def _covered(parts: list[tuple[Track, Int64s]], start: Int64s, length: Int64s) -> Int64s:
    """How long any of these events ran in each step in which it begins."""
    none = np.empty(0, np.int64)
    keys, begins, ends = [none], [none], [none]
    until = start + length
    order = np.argsort(start, kind="stable")
    for track, rows in parts:
        begin = track.events.start[rows]
        end = begin + track.events.duration[rows]
        at = start[order].searchsorted(begin, side="right") - 1
        step = order[np.maximum(at, 0)]
        here = (at >= 0) & (begin < until[step])
        keys.append(step[here])
        begins.append(begin[here])
        ends.append(np.minimum(end[here], until[step[here]]))
    found = covered_ps(
        np.concatenate(keys), np.concatenate(begins), np.concatenate(ends), len(start)
    )
    return np.maximum(found, 0)


# ── duty ─────────────────────────────────────────────────────────────────────────────────────────


def duty_cycle(profile: Profile, lo: int, hi: int) -> float | None:
    """The part of their programs' time in which the cores compute: not that in infeed, outfeed and
    copies to and from the host.
    """
    work = kernels.device_kernels(profile)
    active = every = 0
    for process in _cores(profile.trace):
        duty = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        whole_ = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        for line in work.lines:
            if line.process is process:
                off = np.array([_kind(one) in _OFF_DUTY for one in work.facts], np.bool_)[
                    line.facts
                ]
                whole_.append(
                    _within(
                        line.track.events.start,
                        line.track.events.end,
                        lo,
                        hi,
                        np.ones(len(off), np.bool_),
                    )
                )
                duty.append(_within(line.track.events.start, line.track.events.end, lo, hi, ~off))
        for track in process.tracks:
            if track.kind is TrackKind.MODULES and len(track.events):
                some = np.ones(len(track.events), np.bool_)
                whole_.append(_within(track.events.start, track.events.end, lo, hi, some))
        active += _length(duty)
        every += _length(whole_)
    return active / every if every else None


def _within(start: Int64s, end: Int64s, lo: int, hi: int, rows: Bools) -> tuple[Int64s, Int64s]:
    a, b = np.maximum(start[rows], lo), np.minimum(end[rows], hi)
    return a[b > a], b[b > a]


def _length(parts: list[tuple[Int64s, Int64s]]) -> int:
    start, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    return (
        max(0, int(covered_ps(np.zeros(len(start), np.int64), start, end, 1)[0]))
        if len(start)
        else 0
    )
